// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocblas_gemm_ex and its batched forms: types by number, a result D of its own.
#include "soft/rocblas_entries.h"
#include "softrocm/front/blas/gemm.hpp"

namespace soft::rocblas {
namespace {

using wire::Element;

/// invalid-value for a number that is no rocBLAS type; not-implemented for one without matrix products.
rocblas_status to_element(rocblas_datatype type, Element* element) {
  switch (type) {
    case rocblas_datatype_f16_r:
      *element = Element::half;
      break;
    case rocblas_datatype_f32_r:
      *element = Element::single;
      break;
    case rocblas_datatype_f64_r:
      *element = Element::real64;
      break;
    case rocblas_datatype_f32_c:
      *element = Element::complex32;
      break;
    case rocblas_datatype_f64_c:
      *element = Element::complex64;
      break;
    case rocblas_datatype_i8_r:
      *element = Element::int8;
      break;
    case rocblas_datatype_i32_r:
      *element = Element::int32;
      break;
    case rocblas_datatype_bf16_r:
      *element = Element::bfloat16;
      break;
    case rocblas_datatype_f16_c:
    case rocblas_datatype_u8_r:
    case rocblas_datatype_u32_r:
    case rocblas_datatype_i8_c:
    case rocblas_datatype_u8_c:
    case rocblas_datatype_i32_c:
    case rocblas_datatype_u32_c:
    case rocblas_datatype_bf16_c:
    case rocblas_datatype_f8_r:
    case rocblas_datatype_bf8_r:
      return rocblas_status_not_implemented;
    default:
      return rocblas_status_invalid_value;
  }
  return rocblas_status_success;
}

struct Types {
  rocblas_datatype a, b, c, d, compute;
};

/// The product with its types filled in, submitted.
rocblas_status submit_typed(Product p, const Types& types, rocblas_gemm_algo algo, std::int32_t solution_index) {
  if (!find(p.handle)) return refuse(rocblas_status_invalid_handle, p.entry, "%p is no live handle", p.handle);
  if (algo != rocblas_gemm_algo_standard && algo != rocblas_gemm_algo_solution_index)
    return refuse(rocblas_status_invalid_value, p.entry, "algorithm %d", algo);
  // There is one solution, number 0.
  if (algo == rocblas_gemm_algo_solution_index && solution_index != 0)
    return refuse(rocblas_status_invalid_value, p.entry, "no solution has index %d", solution_index);
  const std::pair<rocblas_datatype, Element*> pairs[] = {{types.a, &p.a.element},
                                                         {types.b, &p.b.element},
                                                         {types.c, &p.c.element},
                                                         {types.d, &p.d.element},
                                                         {types.compute, &p.compute}};
  for (const auto& [type, element] : pairs)
    if (const rocblas_status status = to_element(type, element); status != rocblas_status_success)
      return refuse(status, p.entry, "data type %d", type);
  return submit_product(p);
}

}  // namespace
}  // namespace soft::rocblas

using namespace soft::rocblas;
using soft::wire::Element;

extern "C" {

// The elements are filled in by submit_typed.
#define GEMM_EX_FAMILY(Int, suffix)                                                                                 \
  rocblas_status soft_rocblas_gemm_ex##suffix(                                                                      \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k,               \
      const void* alpha, const void* a, rocblas_datatype a_type, Int lda, const void* b, rocblas_datatype b_type,   \
      Int ldb, const void* beta, const void* c, rocblas_datatype c_type, Int ldc, void* d, rocblas_datatype d_type, \
      Int ldd, rocblas_datatype compute_type, rocblas_gemm_algo algo, int32_t solution_index, uint32_t) {           \
    return submit_typed({.entry = "rocblas_gemm_ex" #suffix,                                                        \
                         .handle = handle,                                                                          \
                         .trans_a = transA,                                                                         \
                         .trans_b = transB,                                                                         \
                         .m = m,                                                                                    \
                         .n = n,                                                                                    \
                         .k = k,                                                                                    \
                         .alpha = alpha,                                                                            \
                         .beta = beta,                                                                              \
                         .a = {a, Element{}, lda},                                                                  \
                         .b = {b, Element{}, ldb},                                                                  \
                         .c = {c, Element{}, ldc},                                                                  \
                         .d = {d, Element{}, ldd},                                                                  \
                         .compute = Element{}},                                                                     \
                        {a_type, b_type, c_type, d_type, compute_type}, algo, solution_index);                      \
  }                                                                                                                 \
  rocblas_status soft_rocblas_gemm_batched_ex##suffix(                                                              \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k,               \
      const void* alpha, const void* a, rocblas_datatype a_type, Int lda, const void* b, rocblas_datatype b_type,   \
      Int ldb, const void* beta, const void* c, rocblas_datatype c_type, Int ldc, void* d, rocblas_datatype d_type, \
      Int ldd, Int batch_count, rocblas_datatype compute_type, rocblas_gemm_algo algo, int32_t solution_index,      \
      uint32_t) {                                                                                                   \
    return submit_typed({.entry = "rocblas_gemm_batched_ex" #suffix,                                                \
                         .handle = handle,                                                                          \
                         .trans_a = transA,                                                                         \
                         .trans_b = transB,                                                                         \
                         .m = m,                                                                                    \
                         .n = n,                                                                                    \
                         .k = k,                                                                                    \
                         .alpha = alpha,                                                                            \
                         .beta = beta,                                                                              \
                         .a = {a, Element{}, lda},                                                                  \
                         .b = {b, Element{}, ldb},                                                                  \
                         .c = {c, Element{}, ldc},                                                                  \
                         .d = {d, Element{}, ldd},                                                                  \
                         .batch = batch_count,                                                                      \
                         .is_array = true,                                                                          \
                         .compute = Element{}},                                                                     \
                        {a_type, b_type, c_type, d_type, compute_type}, algo, solution_index);                      \
  }                                                                                                                 \
  rocblas_status soft_rocblas_gemm_strided_batched_ex##suffix(                                                      \
      rocblas_handle handle, rocblas_operation transA, rocblas_operation transB, Int m, Int n, Int k,               \
      const void* alpha, const void* a, rocblas_datatype a_type, Int lda, rocblas_stride stride_a, const void* b,   \
      rocblas_datatype b_type, Int ldb, rocblas_stride stride_b, const void* beta, const void* c,                   \
      rocblas_datatype c_type, Int ldc, rocblas_stride stride_c, void* d, rocblas_datatype d_type, Int ldd,         \
      rocblas_stride stride_d, Int batch_count, rocblas_datatype compute_type, rocblas_gemm_algo algo,              \
      int32_t solution_index, uint32_t) {                                                                           \
    return submit_typed({.entry = "rocblas_gemm_strided_batched_ex" #suffix,                                        \
                         .handle = handle,                                                                          \
                         .trans_a = transA,                                                                         \
                         .trans_b = transB,                                                                         \
                         .m = m,                                                                                    \
                         .n = n,                                                                                    \
                         .k = k,                                                                                    \
                         .alpha = alpha,                                                                            \
                         .beta = beta,                                                                              \
                         .a = {a, Element{}, lda, stride_a},                                                        \
                         .b = {b, Element{}, ldb, stride_b},                                                        \
                         .c = {c, Element{}, ldc, stride_c},                                                        \
                         .d = {d, Element{}, ldd, stride_d},                                                        \
                         .batch = batch_count,                                                                      \
                         .compute = Element{}},                                                                     \
                        {a_type, b_type, c_type, d_type, compute_type}, algo, solution_index);                      \
  }

GEMM_EX_FAMILY(rocblas_int, )
GEMM_EX_FAMILY(int64_t, _64)

#undef GEMM_EX_FAMILY

}  // extern "C"
