# SPDX-License-Identifier: Apache-2.0
# tools/apigen turns api/ into build/generated. One stamp: the generator writes only files whose content changed, so
# that an edit of one row does not recompile everything.

file(GLOB_RECURSE APIGEN_SOURCES CONFIGURE_DEPENDS tools/apigen/*.cpp)
add_executable(apigen ${APIGEN_SOURCES} src/base/result.cpp)
set_target_properties(apigen PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
# It runs for half a second, and everything waits until it is built.
target_compile_options(apigen PRIVATE -O1)

file(GLOB_RECURSE API_FILES CONFIGURE_DEPENDS api/*.toml)
# `explain` shows where an entry is implemented and tested: the generator looks it up in these.
file(GLOB_RECURSE API_EVIDENCE CONFIGURE_DEPENDS src/bridge/*.cpp src/softrocm/front/*.cpp tests/api/*.cpp tests/unit/*.cpp tests/e2e/*)

# The outputs that CMake must know by name. Library keys are read from the database.
function(read_library_keys file out)
  file(STRINGS ${file} lines REGEX "^(\\[[a-z0-9_]+\\]|soname = .*)$")
  set(pairs)
  set(key)
  foreach(line ${lines})
    if(line MATCHES "^\\[([a-z0-9_]+)\\]$")
      set(key ${CMAKE_MATCH_1})
    elseif(line MATCHES "^soname = \"(.*)\"$")
      list(APPEND pairs "${key}=${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(${out} ${pairs} PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()
read_library_keys(${CMAKE_SOURCE_DIR}/api/libraries.toml CUDA_LIBRARIES)
read_library_keys(${CMAKE_SOURCE_DIR}/api/amd/libraries.toml AMD_LIBRARIES)

set(GEN ${CMAKE_BINARY_DIR}/generated)
set(BRIDGE_NAMESPACES driver runtime dnn blas lt solver misc)
set(GENERATED_OUTPUTS ${GEN}/bridge/trap_table.cpp ${GEN}/bridge/entry_names.cpp ${GEN}/rocm/table.cpp
    ${GEN}/soft/unimplemented.cpp ${GEN}/base/controls.cpp ${GEN}/tools/coverage_data.cpp ${GEN}/soft/profiles.cpp)
foreach(ns ${BRIDGE_NAMESPACES})
  list(APPEND GENERATED_OUTPUTS ${GEN}/bridge/${ns}_wrappers.cpp)
endforeach()
foreach(pair ${CUDA_LIBRARIES} ${AMD_LIBRARIES})
  string(REGEX REPLACE "=.*" "" key ${pair})
  list(APPEND GENERATED_OUTPUTS ${GEN}/shim/${key}.S ${GEN}/shim/${key}.map)
endforeach()

add_custom_command(
  OUTPUT ${GEN}/stamp
  BYPRODUCTS ${GENERATED_OUTPUTS}
  COMMAND apigen ${CMAKE_SOURCE_DIR} ${GEN}
  COMMAND ${CMAKE_COMMAND} -E touch ${GEN}/stamp
  DEPENDS apigen ${API_FILES} ${API_EVIDENCE}
  COMMENT "Generating from api/")
add_custom_target(generate DEPENDS ${GEN}/stamp)
