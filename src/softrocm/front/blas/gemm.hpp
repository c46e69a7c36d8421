// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One checked way for all matrix products of rocBLAS's C interface.
#pragma once

#include "softrocm/front/blas/handle.hpp"
#include "softrocm/wire/blas.hpp"

namespace soft::rocblas {

struct Operand {
  const void* data;  ///< the matrix, or with `is_array` the array of pointers in device memory
  wire::Element element;
  std::int64_t leading;
  std::int64_t stride = 0;  ///< elements between the matrices of a strided batch
};

struct Product {
  const char* entry;
  rocblas_handle handle;
  rocblas_operation trans_a, trans_b;
  std::int64_t m, n, k;
  const void *alpha, *beta;
  Operand a, b, c, d;
  std::int64_t batch = 1;
  bool is_array = false;
  wire::Element compute;
};

/// Checks as rocBLAS does, in its order (rocBLAS 4, rocblas_gemm_arg_check and rocblas_gemm_ex_arg_check): handle,
/// values, sizes, quick return, pointers; then puts the product on the handle's stream. Success and nothing done for an
/// empty product. not-implemented for a type combination that rocBLAS lacks.
rocblas_status submit_product(const Product& product);

}  // namespace soft::rocblas
