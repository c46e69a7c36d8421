// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS operations on the way from the front to the engine.
#pragma once

#include <array>
#include <cstdint>

#include "softrocm/wire/element.hpp"
#include "softrocm/wire/operations.hpp"

namespace soft::wire {

enum BlasOperation : std::uint32_t {
  kGemm = kOperationBlasFirst,  ///< payload Gemm
};

enum class Transpose : std::uint32_t { none = 0, transpose = 1, conjugate = 2 };

/// A scalar of the compute type: its bytes as the caller had them (host pointer mode), or the device address to read
/// them from when the operation runs (device pointer mode).
struct Scalar {
  std::array<unsigned char, 16> bytes;
  std::uint64_t address;  ///< 0: `bytes` holds the value
};

/// One matrix operand of a batch, column-major.
struct Matrix {
  std::uint64_t address;  ///< of the first matrix, or of the array of pointers
  std::int64_t leading;   ///< elements from column to column
  std::int64_t stride;    ///< elements from matrix to matrix (strided batches)
  Element element;
  std::uint32_t is_array;  ///< 1: `address` is that of an array of device pointers, one for each matrix
};

/// D = alpha * op(A) * op(B) + beta * C, with C and D equal or apart, in `compute`.
struct Gemm {
  Transpose trans_a, trans_b;
  Element compute;
  std::int64_t m, n, k, batch;
  Matrix a, b, c, d;
  Scalar alpha, beta;
};
static_assert(sizeof(Gemm) <= kMaxPayload);

/// Whether rocblas_gemm_ex takes the combination (rocBLAS documentation, gemm_ex: table of supported types).
constexpr bool is_gemm_supported(Element a, Element b, Element c, Element d, Element compute) {
  if (a != b || c != d) return false;
  switch (a) {
    case Element::half:
      return (c == Element::half && (compute == Element::half || compute == Element::single)) ||
             (c == Element::single && compute == Element::single);
    case Element::bfloat16:
      return (c == Element::bfloat16 || c == Element::single) && compute == Element::single;
    case Element::int8:
      return c == Element::int32 && compute == Element::int32;
    case Element::single:
    case Element::real64:
    case Element::complex32:
    case Element::complex64:
      return c == a && compute == a;
    case Element::int32:
      return false;
  }
  return false;
}

}  // namespace soft::wire
