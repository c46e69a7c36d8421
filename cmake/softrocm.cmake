# SPDX-License-Identifier: Apache-2.0
# The software AMD device: the front (libsoftrocm.so behind AMD's library names) in the application, the engine in
# rocbridge-device.
set(ROCM_OUT ${CMAKE_BINARY_DIR}/lib/rocm/6)

file(GLOB_RECURSE WIRE CONFIGURE_DEPENDS src/softrocm/wire/*.cpp)
file(GLOB_RECURSE FRONT CONFIGURE_DEPENDS src/softrocm/front/*.cpp)
file(GLOB_RECURSE ENGINE CONFIGURE_DEPENDS src/softrocm/engine/*.cpp)
list(FILTER ENGINE EXCLUDE REGEX "main\\.cpp$")

add_library(soft_wire STATIC ${WIRE} ${GEN}/soft/profiles.cpp)
add_dependencies(soft_wire generate)

file(WRITE ${CMAKE_BINARY_DIR}/soft.map "{ global: soft_*; local: *; };\n")
# The front's objects are linked a second time into the unit tests, beside the engine (soft.engine=inprocess).
add_library(soft_front OBJECT ${FRONT} ${GEN}/soft/unimplemented.cpp)
add_dependencies(soft_front generate)
add_library(softrocm SHARED $<TARGET_OBJECTS:soft_front>)
target_link_libraries(softrocm PRIVATE soft_wire rb_base Threads::Threads dl)
target_link_options(softrocm PRIVATE ${RB_PROCESS_LINK} -Wl,--version-script=${CMAKE_BINARY_DIR}/soft.map)
set_target_properties(softrocm PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ROCM_OUT} BUILD_RPATH "$ORIGIN")
foreach(pair ${AMD_LIBRARIES})
  string(REGEX MATCH "^([^=]+)=(.*)$" unused ${pair})
  rb_stub_library(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} softrocm ${ROCM_OUT})
endforeach()

add_library(soft_engine STATIC ${ENGINE})
add_dependencies(soft_engine generate)
set_target_properties(soft_engine PROPERTIES COMPILE_OPTIONS "-O3")
find_library(DNNL dnnl REQUIRED)
find_library(OPENBLAS openblas REQUIRED)
# The same OpenMP runtime that oneDNN uses: one team of threads, not two that compete.
find_package(OpenMP REQUIRED)
target_link_libraries(soft_engine PUBLIC soft_wire rb_base ${DNNL} ${OPENBLAS} OpenMP::OpenMP_CXX Threads::Threads dl)
add_executable(rocbridge-device src/softrocm/engine/main.cpp)
target_link_libraries(rocbridge-device PRIVATE -Wl,--whole-archive soft_engine -Wl,--no-whole-archive)
