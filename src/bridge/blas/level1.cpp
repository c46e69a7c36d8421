// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Dot products (cuBLAS documentation, cublas<t>dot, cublasDotEx) as a product of one row and one column.
#include <cinttypes>
#include <cstring>

#include "bridge/blas/memory.hpp"
#include "bridge/blas/product.hpp"
#include "bridge/blas/state.hpp"
#include "bridge/blas_entries.hpp"

namespace rb::blas {

using bridge::amd;

namespace {

constexpr std::size_t kScratchBytes = 16;

/// Device memory of the handle for a result that goes to the host.
Result<void*> scratch_of(cublasHandle_t handle) {
  Session session;
  RB_TRY(session.open(handle, false));
  BlasHandle& object = session.handle();
  if (object.scratch == nullptr) {
    void* memory = nullptr;
    RB_TRY(RB_HIP(hipMalloc, &memory, kScratchBytes));
    object.scratch = memory;
  }
  return object.scratch;
}

Status zero_result(cublasHandle_t handle, void* result, std::size_t bytes, bool on_device) {
  if (!on_device) {
    std::memset(result, 0, bytes);
    return {};
  }
  Session session;
  RB_TRY(session.open(handle, true));
  return RB_HIP(hipMemsetAsync, result, 0, bytes, session.stream());
}

Status dot(cublasHandle_t handle, std::int64_t n, const void* x, cudaDataType x_type, std::int64_t incx, const void* y,
           cudaDataType y_type, std::int64_t incy, void* result, cudaDataType result_type, rocblas_datatype compute) {
  RB_ASSIGN(const BlasHandle* object, handles().get(handle, "handle"));
  const bool on_device = object->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  if (result == nullptr) {
    Fault fault = fail(Errc::invalid_value, "null-pointer", "result is null");
    fault.native = CUBLAS_STATUS_MAPPING_ERROR;  // as measured with the genuine library
    return fault;
  }
  RB_TRY(bridge::device_ready());
  const std::size_t bytes = element_bytes(result_type);
  RB_TRY(check_scalar(result, bytes, on_device, "result"));
  if (n <= 0) return zero_result(handle, result, bytes, on_device);
  // Both vectors backwards are the same pairs as both forwards.
  if (incx == 0 || incy == 0 || (incx < 0) != (incy < 0))
    return fail(Errc::not_supported, "vector-increment", "incx %" PRId64 ", incy %" PRId64, incx, incy);
  const double one = 1;
  const float one_single = 1;
  const double zero = 0;
  const bool wide = compute == rocblas_datatype_f64_r;
  Product p;
  p.m = p.n = 1;
  p.k = n;
  p.trans_b = CUBLAS_OP_T;
  p.a = {x, x_type, incx < 0 ? -incx : incx, 0};
  p.b = {y, y_type, incy < 0 ? -incy : incy, 0};
  p.c = {result, result_type, 1, 0};
  p.alpha = wide ? static_cast<const void*>(&one) : &one_single;
  p.beta = &zero;
  p.compute = compute;
  if (on_device) return run_product_with_host_scalars(handle, p);

  RB_ASSIGN(void* const scratch, scratch_of(handle));
  p.c.data = scratch;
  p.own_output = true;
  RB_TRY(run_product_with_host_scalars(handle, p));
  Session session;
  RB_TRY(session.open(handle, false));
  RB_TRY(RB_HIP(hipMemcpyAsync, result, scratch, bytes, hipMemcpyDeviceToHost, session.stream()));
  return RB_HIP(hipStreamSynchronize, session.stream());
}

Status run_dot_ex(cublasHandle_t handle, std::int64_t n, const void* x, cudaDataType x_type, std::int64_t incx,
                  const void* y, cudaDataType y_type, std::int64_t incy, void* result, cudaDataType result_type,
                  cudaDataType execution_type) {
  RB_TRY(check_handle(handle));
  RB_ASSIGN(const rocblas_datatype compute, compute_type_of(x_type, y_type, result_type, execution_type));
  const bool real = compute == rocblas_datatype_f32_r || compute == rocblas_datatype_f64_r;
  if (!real || x_type != result_type)
    return fail(Errc::not_supported, "gemm-types", "xType %d, yType %d, resultType %d, executionType %d",
                static_cast<int>(x_type), static_cast<int>(y_type), static_cast<int>(result_type),
                static_cast<int>(execution_type));
  return dot(handle, n, x, x_type, incx, y, y_type, incy, result, result_type, compute);
}

}  // namespace

Status sdot_v2(cublasHandle_t handle, int n, const float* x, int incx, const float* y, int incy, float* result) {
  return dot(handle, n, x, CUDA_R_32F, incx, y, CUDA_R_32F, incy, result, CUDA_R_32F, rocblas_datatype_f32_r);
}

Status sdot_v2_64(cublasHandle_t handle, std::int64_t n, const float* x, std::int64_t incx, const float* y,
                  std::int64_t incy, float* result) {
  return dot(handle, n, x, CUDA_R_32F, incx, y, CUDA_R_32F, incy, result, CUDA_R_32F, rocblas_datatype_f32_r);
}

Status ddot_v2(cublasHandle_t handle, int n, const double* x, int incx, const double* y, int incy, double* result) {
  return dot(handle, n, x, CUDA_R_64F, incx, y, CUDA_R_64F, incy, result, CUDA_R_64F, rocblas_datatype_f64_r);
}

Status ddot_v2_64(cublasHandle_t handle, std::int64_t n, const double* x, std::int64_t incx, const double* y,
                  std::int64_t incy, double* result) {
  return dot(handle, n, x, CUDA_R_64F, incx, y, CUDA_R_64F, incy, result, CUDA_R_64F, rocblas_datatype_f64_r);
}

Status dot_ex(cublasHandle_t handle, int n, const void* x, cudaDataType xType, int incx, const void* y,
              cudaDataType yType, int incy, void* result, cudaDataType resultType, cudaDataType executionType) {
  return run_dot_ex(handle, std::int64_t{n}, x, xType, std::int64_t{incx}, y, yType, std::int64_t{incy}, result,
                    resultType, executionType);
}

Status dot_ex_64(cublasHandle_t handle, std::int64_t n, const void* x, cudaDataType xType, std::int64_t incx,
                 const void* y, cudaDataType yType, std::int64_t incy, void* result, cudaDataType resultType,
                 cudaDataType executionType) {
  return run_dot_ex(handle, n, x, xType, incx, y, yType, incy, result, resultType, executionType);
}

}  // namespace rb::blas
