// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/blas/gemm.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "softrocm/engine/math/convert.hpp"
#include "softrocm/engine/math/parallel.hpp"
#include "softrocm/engine/math/scratch.hpp"

namespace soft::engine {
namespace {

using wire::Element;

CBLAS_TRANSPOSE to_cblas(Transpose trans) {
  switch (trans) {
    case Transpose::none:
      return CblasNoTrans;
    case Transpose::transpose:
      return CblasTrans;
    case Transpose::conjugate:
      return CblasConjTrans;
  }
  return CblasNoTrans;
}

template <class T>
void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
               int ldb, T beta, T* c, int ldc) {
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_cgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
  else
    cblas_zgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

/// C = beta * C without reading C when beta is 0.
template <class T>
void scale(std::int64_t m, std::int64_t n, T beta, T* c, std::int64_t ldc) {
  if (beta == T(1)) return;
  for (std::int64_t j = 0; j < n; ++j) {
    T* column = c + j * ldc;
    if (beta == T(0))
      std::fill(column, column + m, T(0));
    else
      for (std::int64_t i = 0; i < m; ++i) column[i] = beta * column[i];
  }
}

bool fits(std::int64_t value) {
  return value >= 0 && value <= std::numeric_limits<int>::max();
}

/// Element (row, column) of op(X) where X has leading dimension `ld`.
std::int64_t index(Transpose trans, std::int64_t row, std::int64_t column, std::int64_t ld) {
  return trans == Transpose::none ? row + column * ld : column + row * ld;
}

struct Shape {
  std::int64_t rows, columns;
};
Shape stored(Transpose trans, std::int64_t rows, std::int64_t columns) {
  return trans == Transpose::none ? Shape{rows, columns} : Shape{columns, rows};
}

template <class T>
Outcome run_native(const wire::Gemm& g, const GemmMemory& memory, T alpha, T beta, unsigned threads) {
  T* d = static_cast<T*>(memory.d);
  const T* c = static_cast<const T*>(memory.c);
  if (c != d && beta != T(0))
    for (std::int64_t j = 0; j < g.n; ++j) std::copy_n(c + j * g.c.leading, g.m, d + j * g.d.leading);
  multiply<T>(g.trans_a, g.trans_b, g.m, g.n, g.k, alpha, static_cast<const T*>(memory.a), g.a.leading,
              static_cast<const T*>(memory.b), g.b.leading, beta, d, g.d.leading, threads);
  return Outcome::ok;
}

/// The columns of a stored matrix as packed floats.
Scratch widen(Element element, const void* data, Shape shape, std::int64_t leading, unsigned threads) {
  Scratch copy(static_cast<std::size_t>(shape.rows * shape.columns) * sizeof(float));
  const auto size = static_cast<std::int64_t>(wire::size_of(element));
  parallel_for(shape.columns, threads, [&](std::int64_t j) {
    to_float(element, static_cast<const char*>(data) + j * leading * size, copy.floats() + j * shape.rows,
             static_cast<std::size_t>(shape.rows));
  });
  return copy;
}

/// 16-bit inputs: the product in float, then one rounding of alpha * product + beta * C.
Outcome run_widened(const wire::Gemm& g, const GemmMemory& memory, float alpha, float beta, unsigned threads) {
  Scratch product(static_cast<std::size_t>(g.m * g.n) * sizeof(float));
  const bool has_product = alpha != 0 && g.k > 0;
  if (has_product) {
    const Shape a = stored(g.trans_a, g.m, g.k), b = stored(g.trans_b, g.k, g.n);
    const Scratch wide_a = widen(g.a.element, memory.a, a, g.a.leading, threads);
    const Scratch wide_b = widen(g.b.element, memory.b, b, g.b.leading, threads);
    multiply<float>(g.trans_a, g.trans_b, g.m, g.n, g.k, 1.0f, wide_a.floats(), a.rows, wide_b.floats(), b.rows, 0.0f,
                    product.floats(), g.m, threads);
  }
  const auto size = static_cast<std::int64_t>(wire::size_of(g.d.element));
  parallel_for(g.n, threads, [&](std::int64_t j) {
    float* column = product.floats() + j * g.m;
    if (!has_product)
      std::fill_n(column, g.m, 0.0f);
    else if (alpha != 1)
      for (std::int64_t i = 0; i < g.m; ++i) column[i] *= alpha;
    if (beta != 0)
      for (std::int64_t i = 0; i < g.m; ++i) column[i] += beta * load_float(g.c.element, memory.c, i + j * g.c.leading);
    from_float(g.d.element, column, static_cast<char*>(memory.d) + j * g.d.leading * size,
               static_cast<std::size_t>(g.m));
  });
  return Outcome::ok;
}

/// int8 to int32, wrapping around as two's complement does.
Outcome run_integer(const wire::Gemm& g, const GemmMemory& memory, std::int32_t alpha, std::int32_t beta,
                    unsigned threads) {
  const auto* a = static_cast<const std::int8_t*>(memory.a);
  const auto* b = static_cast<const std::int8_t*>(memory.b);
  parallel_for(g.n, threads, [&](std::int64_t j) {
    for (std::int64_t i = 0; i < g.m; ++i) {
      std::uint32_t sum = 0;
      for (std::int64_t k = 0; k < g.k && alpha != 0; ++k)
        sum +=
            static_cast<std::uint32_t>(a[index(g.trans_a, i, k, g.a.leading)] * b[index(g.trans_b, k, j, g.b.leading)]);
      std::uint32_t value = static_cast<std::uint32_t>(alpha) * sum;
      if (beta != 0)
        value += static_cast<std::uint32_t>(beta) *
                 static_cast<std::uint32_t>(static_cast<const std::int32_t*>(memory.c)[i + j * g.c.leading]);
      static_cast<std::int32_t*>(memory.d)[i + j * g.d.leading] = static_cast<std::int32_t>(value);
    }
  });
  return Outcome::ok;
}

template <class T>
T read(const void* scalar) {
  T value;
  std::memcpy(&value, scalar, sizeof value);
  return value;
}

}  // namespace

template <class T>
void multiply(Transpose trans_a, Transpose trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
              std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc, unsigned threads) {
  // One product of less than about 10 us is not worth a second thread.
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::int64_t>(k, 1)) < 3e5)
    threads = 1;
  const bool by_columns = n >= m;
  const std::int64_t length = by_columns ? n : m;
  const std::int64_t piece = (length / std::max(threads, 1u) + 15) / 16 * 16 + 16;
  const std::int64_t pieces = threads <= 1 ? 1 : (length + piece - 1) / piece;
  parallel_for(pieces, threads, [&](std::int64_t i) {
    const std::int64_t first = pieces == 1 ? 0 : i * piece;
    const std::int64_t count = pieces == 1 ? length : std::min(piece, length - first);
    const std::int64_t rows = by_columns ? m : count, columns = by_columns ? count : n;
    T* part = by_columns ? c + first * ldc : c + first;
    // Zeroed or scaled here, and not by the library, so that NaN in C cannot survive a beta of 0.
    if (beta == T(0) || alpha == T(0) || k == 0) scale(rows, columns, beta, part, ldc);
    if (alpha == T(0) || k == 0) return;
    const T* part_a = by_columns ? a : a + index(trans_a, first, 0, lda);
    const T* part_b = by_columns ? b + index(trans_b, 0, first, ldb) : b;
    call_blas<T>(to_cblas(trans_a), to_cblas(trans_b), static_cast<int>(rows), static_cast<int>(columns),
                 static_cast<int>(k), alpha, part_a, static_cast<int>(lda), part_b, static_cast<int>(ldb), beta, part,
                 static_cast<int>(ldc));
  });
}

#define SOFT_MULTIPLY(T)                                                                                               \
  template void multiply<T>(Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, T, const T*, std::int64_t, \
                            const T*, std::int64_t, T, T*, std::int64_t, unsigned);
SOFT_MULTIPLY(float)
SOFT_MULTIPLY(double)
SOFT_MULTIPLY(std::complex<float>)
SOFT_MULTIPLY(std::complex<double>)
#undef SOFT_MULTIPLY

Outcome run_gemm(const wire::Gemm& g, const GemmMemory& memory, const void* alpha, const void* beta, unsigned threads) {
  if (!wire::is_gemm_supported(g.a.element, g.b.element, g.c.element, g.d.element, g.compute))
    return Outcome::unsupported;
  for (const std::int64_t value : {g.m, g.n, g.k, g.a.leading, g.b.leading, g.c.leading, g.d.leading})
    if (!fits(value)) return Outcome::unsupported;
  switch (g.a.element) {
    case Element::single:
      return run_native(g, memory, read<float>(alpha), read<float>(beta), threads);
    case Element::real64:
      return run_native(g, memory, read<double>(alpha), read<double>(beta), threads);
    case Element::complex32:
      return run_native(g, memory, read<std::complex<float>>(alpha), read<std::complex<float>>(beta), threads);
    case Element::complex64:
      return run_native(g, memory, read<std::complex<double>>(alpha), read<std::complex<double>>(beta), threads);
    case Element::int8:
      return run_integer(g, memory, read<std::int32_t>(alpha), read<std::int32_t>(beta), threads);
    case Element::half:
    case Element::bfloat16:
      return run_widened(g, memory, load_float(g.compute, alpha, 0), load_float(g.compute, beta, 0), threads);
    case Element::int32:
      break;
  }
  return Outcome::unsupported;
}

}  // namespace soft::engine
