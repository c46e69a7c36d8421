// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS's functions for the tests.
#pragma once

#include "soft/rocblas_entries.h"
#include "tests/soft/library_support.hpp"

AMD_FUNCTION(rocblas_create_handle)
AMD_FUNCTION(rocblas_destroy_handle)
AMD_FUNCTION(rocblas_set_stream)
AMD_FUNCTION(rocblas_get_stream)
AMD_FUNCTION(rocblas_set_pointer_mode)
AMD_FUNCTION(rocblas_get_pointer_mode)
AMD_FUNCTION(rocblas_set_atomics_mode)
AMD_FUNCTION(rocblas_get_atomics_mode)
AMD_FUNCTION(rocblas_set_math_mode)
AMD_FUNCTION(rocblas_get_math_mode)
AMD_FUNCTION(rocblas_set_workspace)
AMD_FUNCTION(rocblas_set_device_memory_size)
AMD_FUNCTION(rocblas_get_device_memory_size)
AMD_FUNCTION(rocblas_is_managing_device_memory)
AMD_FUNCTION(rocblas_is_user_managing_device_memory)
AMD_FUNCTION(rocblas_start_device_memory_size_query)
AMD_FUNCTION(rocblas_stop_device_memory_size_query)
AMD_FUNCTION(rocblas_pointer_to_mode)
AMD_FUNCTION(rocblas_get_version_string)
AMD_FUNCTION(rocblas_get_version_string_size)
AMD_FUNCTION(rocblas_status_to_string)
AMD_FUNCTION(rocblas_hgemm)
AMD_FUNCTION(rocblas_sgemm)
AMD_FUNCTION(rocblas_sgemm_64)
AMD_FUNCTION(rocblas_sgemm_batched)
AMD_FUNCTION(rocblas_sgemm_strided_batched)
AMD_FUNCTION(rocblas_dgemm)
AMD_FUNCTION(rocblas_cgemm)
AMD_FUNCTION(rocblas_zgemm)
AMD_FUNCTION(rocblas_zgemm_strided_batched_64)
AMD_FUNCTION(rocblas_gemm_ex)
AMD_FUNCTION(rocblas_gemm_batched_ex)
AMD_FUNCTION(rocblas_gemm_strided_batched_ex)
AMD_FUNCTION(rocblas_gemm_strided_batched_ex_64)

namespace soft_test {

struct RocblasHandle {
  RocblasHandle() { EXPECT_EQ(rocblas_status_success, rocblas_create_handle(&handle)); }
  RocblasHandle(const RocblasHandle&) = delete;
  RocblasHandle& operator=(const RocblasHandle&) = delete;
  ~RocblasHandle() { EXPECT_EQ(rocblas_status_success, rocblas_destroy_handle(handle)); }
  operator rocblas_handle() const { return handle; }
  rocblas_handle handle = nullptr;
};

}  // namespace soft_test
