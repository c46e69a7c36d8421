// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/blas/types.hpp"

namespace rb::blas {

rocblas_datatype amd_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return rocblas_datatype_f16_r;
    case CUDA_R_16BF:
      return rocblas_datatype_bf16_r;
    case CUDA_R_32F:
      return rocblas_datatype_f32_r;
    case CUDA_R_64F:
      return rocblas_datatype_f64_r;
    case CUDA_C_32F:
      return rocblas_datatype_f32_c;
    case CUDA_C_64F:
      return rocblas_datatype_f64_c;
    case CUDA_R_8I:
      return rocblas_datatype_i8_r;
    case CUDA_R_32I:
      return rocblas_datatype_i32_r;
    default:
      return rocblas_datatype_invalid;
  }
}

std::size_t element_bytes(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_16I:
    case CUDA_R_16U:
    case CUDA_C_8I:
    case CUDA_C_8U:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_32U:
    case CUDA_C_16F:
    case CUDA_C_16BF:
    case CUDA_C_16I:
    case CUDA_C_16U:
      return 4;
    case CUDA_R_64F:
    case CUDA_R_64I:
    case CUDA_R_64U:
    case CUDA_C_32F:
    case CUDA_C_32I:
    case CUDA_C_32U:
      return 8;
    case CUDA_C_64F:
    case CUDA_C_64I:
    case CUDA_C_64U:
      return 16;
    default:
      return 0;
  }
}

bool is_type(cudaDataType type) {
  return type >= CUDA_R_32F && type <= CUDA_R_4F_E2M1;
}

std::size_t scalar_bytes(rocblas_datatype compute) {
  switch (compute) {
    case rocblas_datatype_f16_r:
      return 2;
    case rocblas_datatype_f64_r:
    case rocblas_datatype_f32_c:
      return 8;
    case rocblas_datatype_f64_c:
      return 16;
    default:
      return 4;
  }
}

namespace {

/// The compute type asked for, as cublasComputeType_t; programs built before CUDA 11 pass a cudaDataType in its place
/// (the numbers do not meet). 0 if it is neither.
int modern_compute_type(int compute) {
  switch (compute) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_32F:
    case CUDA_C_32F:
      return CUBLAS_COMPUTE_32F;
    case CUDA_R_64F:
    case CUDA_C_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUBLAS_COMPUTE_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return CUBLAS_COMPUTE_32F;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUBLAS_COMPUTE_32I;
    default:
      return 0;
  }
}

rocblas_datatype supported(int compute, cudaDataType in, cudaDataType out) {
  const bool same = in == out;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
      return same && in == CUDA_R_16F ? rocblas_datatype_f16_r : rocblas_datatype_invalid;
    case CUBLAS_COMPUTE_32F:
      if ((in == CUDA_R_16F || in == CUDA_R_16BF) && (same || out == CUDA_R_32F)) return rocblas_datatype_f32_r;
      [[fallthrough]];
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      // The fast forms allow less precision; rocBLAS computes them in full fp32.
      if (same && in == CUDA_R_32F) return rocblas_datatype_f32_r;
      return same && in == CUDA_C_32F ? rocblas_datatype_f32_c : rocblas_datatype_invalid;
    case CUBLAS_COMPUTE_64F:
      if (same && in == CUDA_R_64F) return rocblas_datatype_f64_r;
      return same && in == CUDA_C_64F ? rocblas_datatype_f64_c : rocblas_datatype_invalid;
    case CUBLAS_COMPUTE_32I:
      return in == CUDA_R_8I && out == CUDA_R_32I ? rocblas_datatype_i32_r : rocblas_datatype_invalid;
    default:
      return rocblas_datatype_invalid;
  }
}

}  // namespace

Result<rocblas_datatype> compute_type_of(cudaDataType a, cudaDataType b, cudaDataType c, int compute) {
  const struct {
    const char* name;
    cudaDataType type;
  } types[] = {{"Atype", a}, {"Btype", b}, {"Ctype", c}};
  for (const auto& [name, type] : types)
    if (!is_type(type)) return fail(Errc::invalid_value, "unknown-enum", "%s is %d", name, static_cast<int>(type));
  const int modern = modern_compute_type(compute);
  if (modern == 0) return fail(Errc::invalid_value, "unknown-enum", "computeType is %d", compute);
  const rocblas_datatype found = a == b ? supported(modern, a, c) : rocblas_datatype_invalid;
  if (found == rocblas_datatype_invalid)
    return fail(Errc::not_supported, "gemm-types", "Atype %d, Btype %d, Ctype %d with computeType %d",
                static_cast<int>(a), static_cast<int>(b), static_cast<int>(c), compute);
  return found;
}

Status check_algorithm(cublasGemmAlgo_t algo) {
  if ((algo >= CUBLAS_GEMM_DEFAULT && algo <= CUBLAS_GEMM_ALGO23) ||
      (algo >= CUBLAS_GEMM_DEFAULT_TENSOR_OP && algo <= CUBLAS_GEMM_ALGO15_TENSOR_OP))
    return {};
  return fail(Errc::invalid_value, "unknown-enum", "algo is %d", static_cast<int>(algo));
}

}  // namespace rb::blas
