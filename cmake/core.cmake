# SPDX-License-Identifier: Apache-2.0
# What runs inside the application: static parts, the core librocbridge.so, and one shim per CUDA library.

function(rb_part name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  string(REPLACE "/" "_" target rb_${name})
  if(sources)
    add_library(${target} STATIC ${sources} ${ARGN})
  else()
    add_library(${target} INTERFACE)
    return()
  endif()
  add_dependencies(${target} generate)
endfunction()

rb_part(base ${GEN}/base/controls.cpp)
rb_part(objfile)
rb_part(trace)
rb_part(rocm ${GEN}/rocm/table.cpp)
rb_part(integrity)
rb_part(kernels)
set(WRAPPERS)
foreach(ns ${BRIDGE_NAMESPACES})
  list(APPEND WRAPPERS ${GEN}/bridge/${ns}_wrappers.cpp)
endforeach()
# The one place that knows the version is project() in CMakeLists.txt.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/bridge/call_trace.cpp ${CMAKE_SOURCE_DIR}/src/shim/core.cpp
                            PROPERTIES COMPILE_DEFINITIONS "ROCBRIDGE_VERSION=\"${PROJECT_VERSION}\"")
rb_part(bridge ${WRAPPERS} ${GEN}/bridge/trap_table.cpp ${GEN}/bridge/entry_names.cpp)
set_target_properties(rb_integrity PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=off")

# libstdc++ inside and hidden: a host program brings its own. libgcc_s stays shared, so that forced unwinding
# (pthread_cancel, pthread_exit) passes our frames.
set(RB_PROCESS_LINK -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined)
if(NOT ROCBRIDGE_SANITIZE)
  list(APPEND RB_PROCESS_LINK -static-libstdc++)
else()
  list(REMOVE_ITEM RB_PROCESS_LINK -Wl,--no-undefined)
endif()
set(CUDA_OUT ${CMAKE_BINARY_DIR}/lib/cuda)

file(WRITE ${CMAKE_BINARY_DIR}/core.map "{ global: rb_*; local: *; };\n")
add_library(rocbridge SHARED src/shim/core.cpp)
add_dependencies(rocbridge generate)
target_link_libraries(rocbridge PRIVATE -Wl,--whole-archive rb_bridge -Wl,--no-whole-archive
                      rb_kernels rb_integrity rb_rocm rb_trace rb_objfile rb_base Threads::Threads dl)
target_link_options(rocbridge PRIVATE ${RB_PROCESS_LINK} -Wl,--version-script=${CMAKE_BINARY_DIR}/core.map)
set_target_properties(rocbridge PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CUDA_OUT} BUILD_RPATH "$ORIGIN" LINK_DEPENDS ${CMAKE_BINARY_DIR}/core.map)

# A library of jump stubs: no C or C++ runtime of its own, one version node, exactly the names of its list.
function(rb_stub_library key soname target_library out)
  set(target shim_${key})
  add_library(${target} SHARED ${GEN}/shim/${key}.S)
  add_dependencies(${target} generate)
  string(REGEX MATCH "^lib(.*)\\.so(.*)$" unused ${soname})
  set(stem ${CMAKE_MATCH_1})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE C PREFIX "" SUFFIX "" OUTPUT_NAME ${soname} NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${out} BUILD_RPATH "$ORIGIN" LINK_DEPENDS ${GEN}/shim/${key}.map)
  target_link_libraries(${target} PRIVATE ${target_library})
  target_link_options(${target} PRIVATE -nostdlib -Wl,--no-undefined -Wl,-soname,${soname} -Wl,-z,nodelete -Wl,-z,now -Wl,--no-as-needed
    -Wl,--version-script=${GEN}/shim/${key}.map -fno-sanitize=all)
  # The name programs open without a version. Where two generations exist the newer one has it.
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND}
    -DDIR=${out} -DSONAME=${soname} -DLINK=lib${stem}.so -P ${CMAKE_SOURCE_DIR}/cmake/link.cmake)
  add_dependencies(shims ${target})
endfunction()

add_custom_target(shims ALL)
set(CUDA_SHIMS)
foreach(pair ${CUDA_LIBRARIES})
  string(REGEX MATCH "^([^=]+)=(.*)$" unused ${pair})
  set(shim_key ${CMAKE_MATCH_1})
  rb_stub_library(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} rocbridge ${CUDA_OUT})
  list(APPEND CUDA_SHIMS shim_${shim_key})
endforeach()
