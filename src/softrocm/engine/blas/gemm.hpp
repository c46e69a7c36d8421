// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Matrix products on host memory, column-major, over OpenBLAS. Each thread runs a single-threaded product of its own
// part of C: no sum is split between threads, and OpenBLAS's own threads stay asleep.
#pragma once

#include <complex>
#include <cstdint>

#include "softrocm/engine/exec/operation.hpp"
#include "softrocm/wire/blas.hpp"

namespace soft::engine {

using wire::Transpose;

/// C = alpha * op(A) * op(B) + beta * C for float, double and their complex types. With beta 0, C is not read; with
/// alpha 0 or k 0, A and B are not read. Lengths and leading dimensions must fit 31 bits.
template <class T>
void multiply(Transpose trans_a, Transpose trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
              std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc, unsigned threads);

/// One matrix product of a batch with its operands resolved to host memory.
struct GemmMemory {
  const void *a, *b, *c;
  void* d;
};

/// Runs one product as described by `gemm` (its addresses are not used). alpha and beta point to scalars of the compute
/// type. May throw std::bad_alloc. `unsupported` for a type combination or a length that is not built.
Outcome run_gemm(const wire::Gemm& gemm, const GemmMemory& memory, const void* alpha, const void* beta,
                 unsigned threads);

}  // namespace soft::engine
