// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Matrix products (cuBLAS documentation, cublas<t>gemm, its batched and strided forms, cublasGemmEx and relatives).
// Only the argument lists differ: each becomes a Product.
#include "bridge/blas/product.hpp"
#include "bridge/blas_entries.hpp"

namespace rb::blas {
namespace {

using Op = cublasOperation_t;

/// What the functions with a fixed element type share. The scalars have the element's type.
template <cudaDataType kType>
Product typed(Op ta, Op tb, std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
              std::int64_t lda, const void* b, std::int64_t ldb, const void* beta, const void* c, std::int64_t ldc) {
  Product p;
  p.trans_a = ta;
  p.trans_b = tb;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = {a, kType, lda, 0};
  p.b = {b, kType, ldb, 0};
  p.c = {c, kType, ldc, 0};
  p.alpha = alpha;
  p.beta = beta;
  p.compute = amd_type(kType);
  return p;
}

Product strided(Product p, long long stride_a, long long stride_b, long long stride_c, std::int64_t count) {
  p.batch = Batch::strided;
  p.a.stride = stride_a;
  p.b.stride = stride_b;
  p.c.stride = stride_c;
  p.count = count;
  return p;
}

Product array(Product p, std::int64_t count) {
  p.batch = Batch::array;
  p.count = count;
  return p;
}

/// The Ex functions: element types and compute type are arguments.
Status run_ex(cublasHandle_t handle, Product p, cudaDataType a, cudaDataType b, cudaDataType c, int compute,
              cublasGemmAlgo_t algo) {
  p.a.type = a;
  p.b.type = b;
  p.c.type = c;
  RB_TRY(check_handle(handle));
  RB_ASSIGN(p.compute, compute_type_of(a, b, c, compute));
  RB_TRY(check_algorithm(algo));
  return run_product(handle, p);
}

}  // namespace

// The int and the 64-bit form of one function: same code, other argument types (cuBLAS documentation, "64-bit integer
// interface").
#define GEMM_PAIR(define, name, T, type) define(name, T, type, int) define(name##_64, T, type, std::int64_t)

#define GEMM(name, T, type, Int)                                                                                     \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const T* alpha, const T* A, Int lda, \
              const T* B, Int ldb, const T* beta, T* C, Int ldc) {                                                   \
    return run_product(handle, typed<type>(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc));           \
  }

#define GEMM_STRIDED(name, T, type, Int)                                                                             \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const T* alpha, const T* A, Int lda, \
              long long strideA, const T* B, Int ldb, long long strideB, const T* beta, T* C, Int ldc,               \
              long long strideC, Int batchCount) {                                                                   \
    return run_product(handle, strided(typed<type>(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc),    \
                                       strideA, strideB, strideC, batchCount));                                      \
  }

#define GEMM_ARRAY(name, T, type, Int)                                                                                \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const T* alpha,                       \
              const T* const* Aarray, Int lda, const T* const* Barray, Int ldb, const T* beta, T* const* Carray,      \
              Int ldc, Int batchCount) {                                                                              \
    return run_product(                                                                                               \
        handle,                                                                                                       \
        array(typed<type>(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc), batchCount)); \
  }

GEMM_PAIR(GEMM, sgemm_v2, float, CUDA_R_32F)
GEMM_PAIR(GEMM, dgemm_v2, double, CUDA_R_64F)
GEMM_PAIR(GEMM, cgemm_v2, cuComplex, CUDA_C_32F)
GEMM_PAIR(GEMM, zgemm_v2, cuDoubleComplex, CUDA_C_64F)
GEMM_PAIR(GEMM, hgemm, __half, CUDA_R_16F)
// The 3m forms save multiplications at the price of accuracy; the plain product is at least as accurate.
GEMM_PAIR(GEMM, cgemm3m, cuComplex, CUDA_C_32F)
GEMM_PAIR(GEMM, zgemm3m, cuDoubleComplex, CUDA_C_64F)

GEMM_PAIR(GEMM_STRIDED, sgemm_strided_batched, float, CUDA_R_32F)
GEMM_PAIR(GEMM_STRIDED, dgemm_strided_batched, double, CUDA_R_64F)
GEMM_PAIR(GEMM_STRIDED, cgemm_strided_batched, cuComplex, CUDA_C_32F)
GEMM_PAIR(GEMM_STRIDED, zgemm_strided_batched, cuDoubleComplex, CUDA_C_64F)
GEMM_PAIR(GEMM_STRIDED, hgemm_strided_batched, __half, CUDA_R_16F)

GEMM_PAIR(GEMM_ARRAY, sgemm_batched, float, CUDA_R_32F)
GEMM_PAIR(GEMM_ARRAY, dgemm_batched, double, CUDA_R_64F)
GEMM_PAIR(GEMM_ARRAY, cgemm_batched, cuComplex, CUDA_C_32F)
GEMM_PAIR(GEMM_ARRAY, zgemm_batched, cuDoubleComplex, CUDA_C_64F)
GEMM_PAIR(GEMM_ARRAY, hgemm_batched, __half, CUDA_R_16F)

#define GEMM_EX(name, Int)                                                                                        \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const void* alpha, const void* A, \
              cudaDataType Atype, Int lda, const void* B, cudaDataType Btype, Int ldb, const void* beta, void* C, \
              cudaDataType Ctype, Int ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {              \
    return run_ex(handle, typed<CUDA_R_32F>(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc), Atype, \
                  Btype, Ctype, computeType, algo);                                                               \
  }
GEMM_EX(gemm_ex, int)
GEMM_EX(gemm_ex_64, std::int64_t)

#define GEMM_STRIDED_EX(name, Int)                                                                                  \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const void* alpha, const void* A,   \
              cudaDataType Atype, Int lda, long long strideA, const void* B, cudaDataType Btype, Int ldb,           \
              long long strideB, const void* beta, void* C, cudaDataType Ctype, Int ldc, long long strideC,         \
              Int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                             \
    return run_ex(handle,                                                                                           \
                  strided(typed<CUDA_R_32F>(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc), strideA, \
                          strideB, strideC, batchCount),                                                            \
                  Atype, Btype, Ctype, computeType, algo);                                                          \
  }
GEMM_STRIDED_EX(gemm_strided_batched_ex, int)
GEMM_STRIDED_EX(gemm_strided_batched_ex_64, std::int64_t)

#define GEMM_ARRAY_EX(name, Int)                                                                                     \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const void* alpha,                   \
              const void* const* Aarray, cudaDataType Atype, Int lda, const void* const* Barray, cudaDataType Btype, \
              Int ldb, const void* beta, void* const* Carray, cudaDataType Ctype, Int ldc, Int batchCount,           \
              cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                                              \
    return run_ex(                                                                                                   \
        handle,                                                                                                      \
        array(typed<CUDA_R_32F>(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc),        \
              batchCount),                                                                                           \
        Atype, Btype, Ctype, computeType, algo);                                                                     \
  }
GEMM_ARRAY_EX(gemm_batched_ex, int)
GEMM_ARRAY_EX(gemm_batched_ex_64, std::int64_t)

// cublasSgemmEx and cublasCgemmEx: the compute type is the name's, the element types are arguments.
#define TYPED_EX(name, T, Int)                                                                                    \
  Status name(cublasHandle_t handle, Op transa, Op transb, Int m, Int n, Int k, const T* alpha, const void* A,    \
              cudaDataType Atype, Int lda, const void* B, cudaDataType Btype, Int ldb, const T* beta, void* C,    \
              cudaDataType Ctype, Int ldc) {                                                                      \
    return run_ex(handle, typed<CUDA_R_32F>(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc), Atype, \
                  Btype, Ctype, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);                                         \
  }
TYPED_EX(sgemm_ex, float, int)
TYPED_EX(sgemm_ex_64, float, std::int64_t)
TYPED_EX(cgemm_ex, cuComplex, int)
TYPED_EX(cgemm_ex_64, cuComplex, std::int64_t)

}  // namespace rb::blas
