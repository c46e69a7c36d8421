# SPDX-License-Identifier: Apache-2.0
# tests/unit: one program over the static parts. tests/api: one program per file, linked to the shims like an
# application. tools/check/run_tests.py runs them all, with the Python tests, and prints the closing line.
find_package(GTest REQUIRED)
set(TEST_OUT ${CMAKE_BINARY_DIR}/tests)

file(GLOB UNIT_TESTS CONFIGURE_DEPENDS tests/unit/*_test.cpp)
if(UNIT_TESTS)
add_executable(unit_tests ${UNIT_TESTS} $<TARGET_OBJECTS:soft_front>)
add_dependencies(unit_tests generate)
target_include_directories(unit_tests PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(unit_tests PRIVATE ROCBRIDGE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
target_link_libraries(unit_tests PRIVATE rb_cli rb_inspect rb_bridge rb_kernels rb_integrity rb_rocm rb_trace rb_objfile
                      soft_engine rb_base GTest::gtest GTest::gtest_main Threads::Threads dl)
set_target_properties(unit_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TEST_OUT})
endif()

file(GLOB API_TESTS CONFIGURE_DEPENDS tests/api/*_test.cpp)
add_custom_target(api_tests ALL)
foreach(source ${API_TESTS})
  get_filename_component(name ${source} NAME_WE)
  add_executable(api_${name} ${source})
  add_dependencies(api_${name} generate)
  add_dependencies(api_tests api_${name})
  target_include_directories(api_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(api_${name} PRIVATE ROCBRIDGE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
                             ROCBRIDGE_BUILD="${CMAKE_BINARY_DIR}")
  target_link_libraries(api_${name} PRIVATE rb_base GTest::gtest GTest::gtest_main Threads::Threads dl
                        shim_cuda shim_cudart12 shim_cudnn8 shim_cublas12 shim_cublaslt12)
  target_link_options(api_${name} PRIVATE -Wl,-rpath-link,${CUDA_OUT})
  set_target_properties(api_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TEST_OUT} BUILD_RPATH ${CUDA_OUT})
endforeach()

# tests/soft: the same for programs that call AMD's libraries directly, as a plain HIP program does.
file(GLOB SOFT_TESTS CONFIGURE_DEPENDS tests/soft/*_test.cpp)
foreach(source ${SOFT_TESTS})
  get_filename_component(name ${source} NAME_WE)
  add_executable(soft_${name} ${source})
  add_dependencies(soft_${name} generate)
  add_dependencies(api_tests soft_${name})
  target_include_directories(soft_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(soft_${name} PRIVATE ROCBRIDGE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
                             ROCBRIDGE_BUILD="${CMAKE_BINARY_DIR}")
  target_link_libraries(soft_${name} PRIVATE rb_base GTest::gtest GTest::gtest_main Threads::Threads dl
                        shim_hip shim_miopen shim_rocblas)
  target_link_options(soft_${name} PRIVATE -Wl,-rpath-link,${ROCM_OUT})
  set_target_properties(soft_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TEST_OUT} BUILD_RPATH ${ROCM_OUT})
endforeach()
