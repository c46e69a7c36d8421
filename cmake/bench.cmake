# SPDX-License-Identifier: Apache-2.0
find_package(benchmark REQUIRED)
file(GLOB BENCHES CONFIGURE_DEPENDS bench/*_bench.cpp)
foreach(source ${BENCHES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  add_dependencies(${name} generate)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE benchmark::benchmark rb_base ${DNNL} ${OPENBLAS} Threads::Threads dl
                        shim_cuda shim_cudart12 shim_cudnn8 shim_cublas12)
  target_link_options(${name} PRIVATE -Wl,-rpath-link,${CUDA_OUT})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench BUILD_RPATH ${CUDA_OUT})
endforeach()
