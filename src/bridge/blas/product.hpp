// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One matrix product as all of cuBLAS's product functions describe it, its checks, and the way to rocBLAS. gemm, gemv
// and dot of every type come here: rocblas_gemm_ex and its two batched forms have every type that they need.
#pragma once

#include <cstdint>

#include "abi/cublas.h"
#include "abi/rocblas.h"
#include "base/result.hpp"
#include "bridge/blas/types.hpp"

namespace rb::blas {

struct Operand {
  const void* data = nullptr;  ///< first matrix, or with Product::array a device array of pointers
  cudaDataType type = CUDA_R_32F;
  std::int64_t ld = 0;      ///< elements from column to column
  std::int64_t stride = 0;  ///< elements from matrix to matrix
};

enum class Batch : std::uint8_t { single, strided, array };

/// C = alpha op(A) op(B) + beta C, column-major, `count` times.
struct Product {
  cublasOperation_t trans_a = CUBLAS_OP_N, trans_b = CUBLAS_OP_N;
  std::int64_t m = 0, n = 0, k = 0;
  Operand a, b, c;
  Batch batch = Batch::single;
  std::int64_t count = 1;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  rocblas_datatype compute = rocblas_datatype_f32_r;  ///< also the type of alpha and beta
  bool scalars_on_device = false;
  bool own_output = false;  ///< C is memory of the bridge, which the program's allocations do not list
};

/// Argument checks of the cuBLAS documentation (cublas<t>gemm and its batched forms, "possible error values"), which
/// read no memory: dimensions, leading dimensions, transposes, null pointers.
/// Faults: invalid_value with the argument's name.
Status check_arguments(const Product& product);

/// Elements from the first to one past the last that the batch of an operand touches, as offsets from its pointer.
struct Extent {
  __int128 begin, end;
};
Extent extent(const Operand& operand, std::int64_t rows, std::int64_t columns, std::int64_t count);

/// Level 0: the memory behind the pointers. `reads_inputs`: false when alpha or k is 0, A and B are then not looked at.
/// Of a pointer batch the arrays alone are checked. Faults: invalid_value.
Status check_memory(const Product& product, bool reads_inputs);

/// Sizes of the parts that a product is cut into, so that AMD's kernels neither meet more than 2^19 rows or columns
/// (rocm-libraries issue 8645: work-groups beyond that are not launched) nor a 32-bit element offset overflow
/// (rocm-libraries pull request 12145).
struct Parts {
  std::int64_t m, n, k;
};
Parts parts_of(const Product& product);

/// Whether the handle is a live one of ours. Faults: invalid_handle.
Status check_handle(cublasHandle_t handle);

/// Checks, then runs the product on the handle's stream; asynchronous. With beta 0, C is not read; with alpha 0 or
/// k 0, A and B are neither read nor checked. Zero m, n or count is success without work.
/// Where the scalars lie is told by the handle's pointer mode.
Status run_product(cublasHandle_t handle, Product product);

/// The same with alpha and beta in host memory whatever the pointer mode, for functions that have no such arguments.
Status run_product_with_host_scalars(cublasHandle_t handle, Product product);

}  // namespace rb::blas
