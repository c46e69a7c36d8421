// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The typed matrix products of rocBLAS: plain, batched, strided batched, with 32 and 64-bit lengths.
#include "softrocm/front/blas/gemm.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "soft/rocblas_entries.h"
#include "softrocm/front/core.hpp"
#include "softrocm/front/scalar.hpp"

namespace soft::rocblas {
namespace {

using wire::Element;

bool to_wire(rocblas_operation operation, wire::Transpose* result) {
  switch (operation) {
    case rocblas_operation_none:
      *result = wire::Transpose::none;
      return true;
    case rocblas_operation_transpose:
      *result = wire::Transpose::transpose;
      return true;
    case rocblas_operation_conjugate_transpose:
      *result = wire::Transpose::conjugate;
      return true;
  }
  return false;
}

/// Whether a host scalar of the compute type is the real number `wanted`.
bool equals(Element compute, const void* scalar, double wanted) {
  const auto read = [&](auto type) {
    std::memcpy(&type, scalar, sizeof type);
    return type;
  };
  switch (compute) {
    case Element::half:
      return rb::half_to_float(read(std::uint16_t{})) == wanted;
    case Element::single:
      return read(float{}) == wanted;
    case Element::real64:
      return read(double{}) == wanted;
    case Element::int32:
      return read(std::int32_t{}) == wanted;
    case Element::complex32: {
      const auto value = read(std::array<float, 2>{});
      return value[0] == wanted && value[1] == 0;
    }
    case Element::complex64: {
      const auto value = read(std::array<double, 2>{});
      return value[0] == wanted && value[1] == 0;
    }
    default:
      return false;
  }
}

/// Whether all matrices of the operand lie in device memory (for pointer arrays: the array; the engine checks the
/// rest).
bool is_device_memory(const Product& p, const Operand& operand, std::int64_t rows, std::int64_t columns) {
  if (!operand.data) return false;
  if (p.is_array) return device_can_touch(operand.data, static_cast<std::size_t>(p.batch) * sizeof(void*));
  // 128 bits: strides and leading dimensions are the caller's.
  const __int128 size = static_cast<__int128>(wire::size_of(operand.element));
  const __int128 matrix = (static_cast<__int128>(columns - 1) * operand.leading + rows) * size;
  const __int128 reach = static_cast<__int128>(p.batch - 1) * operand.stride * size;
  const __int128 first =
      static_cast<__int128>(reinterpret_cast<std::uintptr_t>(operand.data)) + std::min<__int128>(reach, 0);
  const __int128 bytes = (reach < 0 ? -reach : reach) + matrix;
  if (first < 0 || bytes > std::numeric_limits<std::int64_t>::max()) return false;
  return device_can_touch(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(first)),
                          static_cast<std::size_t>(bytes));
}

wire::Scalar to_wire(Element compute, const void* scalar, bool on_device) {
  wire::Scalar result{};
  if (on_device)
    result.address = reinterpret_cast<std::uint64_t>(scalar);
  else if (scalar)
    std::memcpy(result.bytes.data(), scalar, wire::size_of(compute));
  return result;
}

wire::Matrix to_wire(const Product& p, const Operand& operand) {
  return {reinterpret_cast<std::uint64_t>(operand.data), operand.leading, operand.stride, operand.element,
          p.is_array ? 1u : 0u};
}

}  // namespace

rocblas_status submit_product(const Product& p) {
  Handle* handle = find(p.handle);
  if (!handle) return refuse(rocblas_status_invalid_handle, p.entry, "%p is no live handle", p.handle);
  wire::Gemm gemm{};
  if (!to_wire(p.trans_a, &gemm.trans_a) || !to_wire(p.trans_b, &gemm.trans_b))
    return refuse(rocblas_status_invalid_value, p.entry, "operations %d and %d", p.trans_a, p.trans_b);
  const bool none_a = gemm.trans_a == wire::Transpose::none, none_b = gemm.trans_b == wire::Transpose::none;
  const std::int64_t a_rows = none_a ? p.m : p.k, b_rows = none_b ? p.k : p.n;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || p.a.leading < std::max<std::int64_t>(a_rows, 1) ||
      p.b.leading < std::max<std::int64_t>(b_rows, 1) || p.c.leading < std::max<std::int64_t>(p.m, 1) ||
      p.d.leading < std::max<std::int64_t>(p.m, 1))
    return refuse(rocblas_status_invalid_size, p.entry,
                  "m %lld, n %lld, k %lld, leading %lld %lld %lld %lld, batch %lld", static_cast<long long>(p.m),
                  static_cast<long long>(p.n), static_cast<long long>(p.k), static_cast<long long>(p.a.leading),
                  static_cast<long long>(p.b.leading), static_cast<long long>(p.c.leading),
                  static_cast<long long>(p.d.leading), static_cast<long long>(p.batch));
  if (handle->is_size_query) return rocblas_status_size_unchanged;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return rocblas_status_success;
  if ((p.k > 0 && !p.alpha) || !p.beta) return refuse(rocblas_status_invalid_pointer, p.entry, "alpha or beta is null");
  const bool in_place = p.c.data == p.d.data;
  if (in_place && (p.c.element != p.d.element || p.c.leading != p.d.leading || p.c.stride != p.d.stride))
    return refuse(p.c.element != p.d.element ? rocblas_status_invalid_value : rocblas_status_invalid_size, p.entry,
                  "C and D are one matrix with two descriptions");
  if (!wire::is_gemm_supported(p.a.element, p.b.element, p.c.element, p.d.element, p.compute))
    return refuse(rocblas_status_not_implemented, p.entry, "no kernel for the combination of types");

  const bool on_device = handle->pointer_mode == rocblas_pointer_mode_device;
  bool reads_inputs = p.k > 0, reads_c = true;
  if (on_device) {
    const std::size_t size = wire::size_of(p.compute);
    if ((p.k > 0 && !device_can_touch(p.alpha, size)) || !device_can_touch(p.beta, size))
      return refuse(rocblas_status_invalid_pointer, p.entry, "alpha or beta is not device memory");
  } else {
    if ((p.k > 0 && !host_can_read(p.alpha)) || !host_can_read(p.beta))
      return refuse(rocblas_status_invalid_pointer, p.entry, "alpha or beta is device memory in pointer mode host");
    reads_inputs = p.k > 0 && !equals(p.compute, p.alpha, 0);
    reads_c = !equals(p.compute, p.beta, 0);
    if (in_place && !reads_inputs && equals(p.compute, p.beta, 1)) return rocblas_status_success;
  }
  // With scalars on the device only the engine knows what will be read; it checks the addresses then.
  const std::int64_t a_columns = none_a ? p.k : p.m, b_columns = none_b ? p.n : p.k;
  if (!on_device && reads_inputs &&
      (!is_device_memory(p, p.a, a_rows, a_columns) || !is_device_memory(p, p.b, b_rows, b_columns)))
    return refuse(rocblas_status_invalid_pointer, p.entry, "A %p or B %p is not device memory of its size", p.a.data,
                  p.b.data);
  if (!on_device && reads_c && !in_place && !is_device_memory(p, p.c, p.m, p.n))
    return refuse(rocblas_status_invalid_pointer, p.entry, "C %p is not device memory of its size", p.c.data);
  if (!is_device_memory(p, p.d, p.m, p.n))
    return refuse(rocblas_status_invalid_pointer, p.entry, "the result %p is not device memory of its size", p.d.data);
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t value : {p.m, p.n, p.k, p.a.leading, p.b.leading, p.c.leading, p.d.leading})
    if (value > kLimit) return refuse(rocblas_status_not_implemented, p.entry, "a length is beyond 31 bits");

  gemm.compute = p.compute;
  gemm.m = p.m;
  gemm.n = p.n;
  gemm.k = p.k;
  gemm.batch = p.batch;
  gemm.a = to_wire(p, p.a);
  gemm.b = to_wire(p, p.b);
  gemm.c = to_wire(p, p.c);
  gemm.d = to_wire(p, p.d);
  gemm.alpha = to_wire(p.compute, p.alpha, on_device && p.k > 0);
  gemm.beta = to_wire(p.compute, p.beta, on_device);
  return from_hip(submit(handle->stream, wire::kGemm, &gemm, sizeof gemm), p.entry);
}

}  // namespace soft::rocblas

using namespace soft::rocblas;

extern "C" {

// One letter's entries with lengths of one width: `T` is the C type, `E` the element.
#define GEMM_FAMILY(letter, T, E, Int, suffix)                                                                         \
  rocblas_status soft_rocblas_##letter##gemm##suffix(                                                                  \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k, const T* alpha,  \
      const T* A, Int lda, const T* B, Int ldb, const T* beta, T* C, Int ldc) {                                        \
    return submit_product({.entry = "rocblas_" #letter "gemm" #suffix,                                                 \
                           .handle = handle,                                                                           \
                           .trans_a = transA,                                                                          \
                           .trans_b = transB,                                                                          \
                           .m = m,                                                                                     \
                           .n = n,                                                                                     \
                           .k = k,                                                                                     \
                           .alpha = alpha,                                                                             \
                           .beta = beta,                                                                               \
                           .a = {A, E, lda},                                                                           \
                           .b = {B, E, ldb},                                                                           \
                           .c = {C, E, ldc},                                                                           \
                           .d = {C, E, ldc},                                                                           \
                           .compute = E});                                                                             \
  }                                                                                                                    \
  rocblas_status soft_rocblas_##letter##gemm_batched##suffix(                                                          \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k, const T* alpha,  \
      const T* const A[], Int lda, const T* const B[], Int ldb, const T* beta, T* const C[], Int ldc,                  \
      Int batch_count) {                                                                                               \
    return submit_product({.entry = "rocblas_" #letter "gemm_batched" #suffix,                                         \
                           .handle = handle,                                                                           \
                           .trans_a = transA,                                                                          \
                           .trans_b = transB,                                                                          \
                           .m = m,                                                                                     \
                           .n = n,                                                                                     \
                           .k = k,                                                                                     \
                           .alpha = alpha,                                                                             \
                           .beta = beta,                                                                               \
                           .a = {A, E, lda},                                                                           \
                           .b = {B, E, ldb},                                                                           \
                           .c = {C, E, ldc},                                                                           \
                           .d = {C, E, ldc},                                                                           \
                           .batch = batch_count,                                                                       \
                           .is_array = true,                                                                           \
                           .compute = E});                                                                             \
  }                                                                                                                    \
  rocblas_status soft_rocblas_##letter##gemm_strided_batched##suffix(                                                  \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k, const T* alpha,  \
      const T* A, Int lda, rocblas_stride stride_a, const T* B, Int ldb, rocblas_stride stride_b, const T* beta, T* C, \
      Int ldc, rocblas_stride stride_c, Int batch_count) {                                                             \
    return submit_product({.entry = "rocblas_" #letter "gemm_strided_batched" #suffix,                                 \
                           .handle = handle,                                                                           \
                           .trans_a = transA,                                                                          \
                           .trans_b = transB,                                                                          \
                           .m = m,                                                                                     \
                           .n = n,                                                                                     \
                           .k = k,                                                                                     \
                           .alpha = alpha,                                                                             \
                           .beta = beta,                                                                               \
                           .a = {A, E, lda, stride_a},                                                                 \
                           .b = {B, E, ldb, stride_b},                                                                 \
                           .c = {C, E, ldc, stride_c},                                                                 \
                           .d = {C, E, ldc, stride_c},                                                                 \
                           .batch = batch_count,                                                                       \
                           .compute = E});                                                                             \
  }

#define GEMM_LETTER(letter, T, E)          \
  GEMM_FAMILY(letter, T, E, rocblas_int, ) \
  GEMM_FAMILY(letter, T, E, int64_t, _64)

GEMM_LETTER(h, rocblas_half, soft::wire::Element::half)
GEMM_LETTER(s, float, soft::wire::Element::single)
GEMM_LETTER(d, double, soft::wire::Element::real64)
GEMM_LETTER(c, rocblas_float_complex, soft::wire::Element::complex32)
GEMM_LETTER(z, rocblas_double_complex, soft::wire::Element::complex64)

#undef GEMM_LETTER
#undef GEMM_FAMILY

}  // extern "C"
