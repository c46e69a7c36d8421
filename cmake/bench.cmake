# SPDX-License-Identifier: Apache-2.0
find_package(benchmark REQUIRED)
file(GLOB BENCHES CONFIGURE_DEPENDS bench/*_bench.cpp)
foreach(source ${BENCHES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  add_dependencies(${name} generate)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ROCBRIDGE_BUILD="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE benchmark::benchmark rb_trace rb_base ${DNNL} ${OPENBLAS} Threads::Threads dl
                        shim_cuda shim_cudart12 shim_cudnn8 shim_cublas12)
  target_link_options(${name} PRIVATE -Wl,-rpath-link,${CUDA_OUT})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench BUILD_RPATH ${CUDA_OUT})
endforeach()

# AMD libraries that do nothing, for what the bridge itself costs.
foreach(soname libamdhip64.so.6 libMIOpen.so.1 librocblas.so.4)
  add_library(null_${soname} SHARED bench/null_amd/null_amd.cpp)
  add_dependencies(null_${soname} generate)
  set_target_properties(null_${soname} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${soname} NO_SONAME ON
    CXX_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench/null_amd)
  target_link_options(null_${soname} PRIVATE -Wl,-soname,${soname})
  add_dependencies(entry_bench null_${soname})
endforeach()
