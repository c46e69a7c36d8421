// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Matrix-vector products (cuBLAS documentation, cublas<t>gemv) as matrix products: a vector with increment i is a
// matrix of one row and leading dimension i.
#include <cinttypes>

#include "bridge/blas/product.hpp"
#include "bridge/blas_entries.hpp"

namespace rb::blas {
namespace {

Status gemv(cublasHandle_t handle, cublasOperation_t trans, std::int64_t m, std::int64_t n, const void* alpha,
            const void* a, std::int64_t lda, const void* x, std::int64_t incx, const void* beta, void* y,
            std::int64_t incy, cudaDataType type) {
  RB_TRY(check_handle(handle));
  if (trans < CUBLAS_OP_N || trans > CUBLAS_OP_C)
    return fail(Errc::invalid_value, "unknown-enum", "trans is %d", static_cast<int>(trans));
  if (m < 0 || n < 0 || incx == 0 || incy == 0 || lda < m || lda < 1)
    return fail(Errc::invalid_value, "bad-dimension",
                "m %" PRId64 ", n %" PRId64 ", lda %" PRId64 ", incx %" PRId64 ", incy %" PRId64, m, n, lda, incx,
                incy);
  if (m == 0 || n == 0) return {};
  const bool complex = type == CUDA_C_32F || type == CUDA_C_64F;
  const bool conjugate = complex && trans == CUBLAS_OP_C;
  const std::int64_t length_x = trans == CUBLAS_OP_N ? n : m;
  const std::int64_t length_y = trans == CUBLAS_OP_N ? m : n;
  if (incx < 0 || incy < 0 || (conjugate && (incx != 1 || incy != 1)))
    return fail(Errc::not_supported, "vector-increment", "incx %" PRId64 ", incy %" PRId64, incx, incy);
  Product p;
  p.alpha = alpha;
  p.beta = beta;
  p.compute = amd_type(type);
  if (conjugate) {
    // y = A^H x, both vectors one column
    p.trans_a = CUBLAS_OP_C;
    p.m = length_y;
    p.n = 1;
    p.a = {a, type, lda, 0};
    p.b = {x, type, length_x, 0};
    p.c = {y, type, length_y, 0};
  } else {
    // y^T = x^T op(A)^T, both vectors one row
    p.m = 1;
    p.n = length_y;
    p.trans_b = trans == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
    p.a = {x, type, incx, 0};
    p.b = {a, type, lda, 0};
    p.c = {y, type, incy, 0};
  }
  p.k = length_x;
  return run_product(handle, p);
}

}  // namespace

#define GEMV(name, T, type, Int)                                                                                 \
  Status name(cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const T* alpha, const T* A, Int lda, \
              const T* x, Int incx, const T* beta, T* y, Int incy) {                                             \
    return gemv(handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy, type);                               \
  }

GEMV(sgemv_v2, float, CUDA_R_32F, int)
GEMV(dgemv_v2, double, CUDA_R_64F, int)
GEMV(cgemv_v2, cuComplex, CUDA_C_32F, int)
GEMV(zgemv_v2, cuDoubleComplex, CUDA_C_64F, int)
GEMV(sgemv_v2_64, float, CUDA_R_32F, std::int64_t)
GEMV(dgemv_v2_64, double, CUDA_R_64F, std::int64_t)
GEMV(cgemv_v2_64, cuComplex, CUDA_C_32F, std::int64_t)
GEMV(zgemv_v2_64, cuDoubleComplex, CUDA_C_64F, std::int64_t)

}  // namespace rb::blas
