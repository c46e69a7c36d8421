// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuBLAS's element and compute types in rocBLAS's numbers, and which combinations of them a product may have.
#pragma once

#include <cstddef>

#include "abi/cublas.h"
#include "abi/rocblas.h"
#include "base/result.hpp"

namespace rb::blas {

/// rocBLAS's number of an element type; rocblas_datatype_invalid for a type it has not.
rocblas_datatype amd_type(cudaDataType type);
/// Bytes of one element; 0 for a value that cudaDataType does not list or that is smaller than a byte.
std::size_t element_bytes(cudaDataType type);
/// Whether cudaDataType lists the value.
bool is_type(cudaDataType type);
/// Bytes of a scalar (alpha, beta) of a compute type.
std::size_t scalar_bytes(rocblas_datatype compute);

/// The rocBLAS compute type for a product, from the table of supported types (cuBLAS documentation, cublasGemmEx; the
/// common part with rocBLAS documentation, rocblas_gemm_ex). `compute` is a cublasComputeType_t or, from programs built
/// before CUDA 11, a cudaDataType. Faults: invalid_value for a number that neither lists, not_supported otherwise.
Result<rocblas_datatype> compute_type_of(cudaDataType a, cudaDataType b, cudaDataType c, int compute);

/// cublasGemmAlgo_t is a hint that rocBLAS has no use for; only its range is checked.
Status check_algorithm(cublasGemmAlgo_t algo);

}  // namespace rb::blas
