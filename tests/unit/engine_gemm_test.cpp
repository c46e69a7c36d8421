// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The engine's matrix products against a plain sum in double: types, transposes, leading dimensions, scalars, NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.hpp"
#include "softrocm/engine/blas/gemm.hpp"

namespace {

using soft::engine::GemmMemory;
using soft::engine::Outcome;
using soft::engine::run_gemm;
using soft::wire::Element;
using soft::wire::Gemm;
using soft::wire::Transpose;
using Value = std::complex<double>;

constexpr Transpose kTransposes[] = {Transpose::none, Transpose::transpose, Transpose::conjugate};

bool is_complex(Element e) {
  return e == Element::complex32 || e == Element::complex64;
}

Value load(Element element, const void* data, std::int64_t i) {
  const auto at = [&](auto type) { return static_cast<const decltype(type)*>(data)[i]; };
  switch (element) {
    case Element::half:
      return rb::half_to_float(at(std::uint16_t{}));
    case Element::bfloat16:
      return rb::bfloat16_to_float(at(std::uint16_t{}));
    case Element::single:
      return at(float{});
    case Element::real64:
      return at(double{});
    case Element::int8:
      return at(std::int8_t{});
    case Element::int32:
      return at(std::int32_t{});
    case Element::complex32:
      return Value(at(std::complex<float>{}));
    case Element::complex64:
      return at(std::complex<double>{});
  }
  return 0;
}

void store(Element element, void* data, std::int64_t i, Value value) {
  const auto real = static_cast<float>(value.real());
  switch (element) {
    case Element::half:
      static_cast<std::uint16_t*>(data)[i] = rb::float_to_half(real);
      break;
    case Element::bfloat16:
      static_cast<std::uint16_t*>(data)[i] = rb::float_to_bfloat16(real);
      break;
    case Element::single:
      static_cast<float*>(data)[i] = real;
      break;
    case Element::real64:
      static_cast<double*>(data)[i] = value.real();
      break;
    case Element::int8:
      static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(value.real());
      break;
    case Element::int32:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value.real());
      break;
    case Element::complex32:
      static_cast<std::complex<float>*>(data)[i] = std::complex<float>(value);
      break;
    case Element::complex64:
      static_cast<std::complex<double>*>(data)[i] = value;
      break;
  }
}

double unit(Element element) {
  switch (element) {
    case Element::half:
      return 0x1p-11;
    case Element::bfloat16:
      return 0x1p-8;
    case Element::single:
    case Element::complex32:
      return 0x1p-24;
    case Element::int8:
    case Element::int32:
      return 0;
    default:
      return 0x1p-53;
  }
}

struct Types {
  Element in, out, compute;
};
constexpr Types kTypes[] = {
    {Element::single, Element::single, Element::single},
    {Element::real64, Element::real64, Element::real64},
    {Element::complex32, Element::complex32, Element::complex32},
    {Element::complex64, Element::complex64, Element::complex64},
    {Element::half, Element::half, Element::half},
    {Element::half, Element::half, Element::single},
    {Element::half, Element::single, Element::single},
    {Element::bfloat16, Element::bfloat16, Element::single},
    {Element::bfloat16, Element::single, Element::single},
    {Element::int8, Element::int32, Element::int32},
};

struct Product {
  Gemm g{};
  std::vector<char> a, b, c, d;  ///< c and d are one when in_place
  bool in_place;
  std::vector<char> alpha = std::vector<char>(16), beta = std::vector<char>(16);
  Value alpha_value, beta_value;

  Product(const Types& t, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Value al,
          Value be, bool in_place, bool integers)
      : in_place(in_place) {
    g.trans_a = ta;
    g.trans_b = tb;
    g.compute = t.compute;
    g.m = m;
    g.n = n;
    g.k = k;
    g.batch = 1;
    const bool plain_a = ta == Transpose::none, plain_b = tb == Transpose::none;
    g.a = {0, (plain_a ? m : k) + 3, 0, t.in, 0};
    g.b = {0, (plain_b ? k : n) + 1, 0, t.in, 0};
    g.c = {0, m + 2, 0, t.out, 0};
    g.d = {0, in_place ? m + 2 : m + 5, 0, t.out, 0};
    std::mt19937 random(static_cast<unsigned>(m * 31 + n * 7 + k));
    const auto fill = [&](std::vector<char>& data, const soft::wire::Matrix& matrix, std::int64_t columns) {
      const auto count = matrix.leading * columns;
      data.resize(static_cast<std::size_t>(count) * soft::wire::size_of(matrix.element));
      std::uniform_int_distribution<int> small(-4, 4);
      std::normal_distribution<double> normal;
      for (std::int64_t i = 0; i < count; ++i)
        store(matrix.element, data.data(), i,
              integers ? Value(small(random), small(random)) : Value(normal(random), normal(random)));
    };
    fill(a, g.a, plain_a ? k : m);
    fill(b, g.b, plain_b ? n : k);
    fill(c, g.c, n);
    fill(d, g.d, n);
    store(t.compute, alpha.data(), 0, al);
    store(t.compute, beta.data(), 0, be);
    alpha_value = load(t.compute, alpha.data(), 0);
    beta_value = load(t.compute, beta.data(), 0);
  }

  Outcome run(unsigned threads) {
    auto& out = in_place ? c : d;
    return run_gemm(g, {a.data(), b.data(), c.data(), out.data()}, alpha.data(), beta.data(), threads);
  }

  Value element(const std::vector<char>& data, const soft::wire::Matrix& matrix, Transpose t, std::int64_t row,
                std::int64_t column) const {
    if (t != Transpose::none) std::swap(row, column);
    const Value value = load(matrix.element, data.data(), row + column * matrix.leading);
    return t == Transpose::conjugate ? std::conj(value) : value;
  }

  /// Runs and compares every element; the padding below the matrix must keep its bytes.
  void check(bool integers, unsigned threads = 2) {
    const std::vector<char> old_c = c, old_d = in_place ? c : d;
    ASSERT_EQ(run(threads), Outcome::ok);
    const auto& out = in_place ? c : d;
    const auto ld = g.d.leading;
    for (std::int64_t j = 0; j < g.n; ++j)
      for (std::int64_t i = 0; i < ld; ++i) {
        const Value got = load(g.d.element, out.data(), i + j * ld);
        if (i >= g.m) {
          const Value kept = load(g.d.element, old_d.data(), i + j * ld);
          ASSERT_EQ(got, kept) << "padding " << i << "," << j;
          continue;
        }
        Value sum = 0;
        double squares = 0;
        if (alpha_value != 0.0)
          for (std::int64_t l = 0; l < g.k; ++l) {
            const Value product = element(a, g.a, g.trans_a, i, l) * element(b, g.b, g.trans_b, l, j);
            sum += product;
            squares += std::norm(product);
          }
        Value expected = alpha_value * sum;
        Value addend = 0;
        if (beta_value != 0.0) addend = beta_value * load(g.c.element, old_c.data(), i + j * g.c.leading);
        expected += addend;
        if (integers) {
          char bits[16];
          store(g.d.element, bits, 0, expected);
          ASSERT_EQ(got, load(g.d.element, bits, 0)) << i << "," << j;
          continue;
        }
        const double accumulate = g.compute == Element::half ? 0x1p-24 : unit(g.compute);
        const double tolerance =
            3 * unit(g.d.element) * std::abs(expected) +
            8 * accumulate *
                (std::abs(alpha_value) * std::sqrt(static_cast<double>(g.k + 1) * squares) + std::abs(addend)) +
            1e-7 * unit(g.d.element);
        ASSERT_LE(std::abs(got - expected), tolerance) << i << "," << j;
      }
  }
};

TEST(EngineGemm, maps_every_type_and_transpose_exactly_on_integers) {
  for (const auto& types : kTypes)
    for (const auto ta : kTransposes)
      for (const auto tb : kTransposes)
        for (const bool in_place : {true, false}) {
          SCOPED_TRACE(static_cast<int>(types.in));
          Product(types, ta, tb, 17, 9, 23, 1, 0, in_place, true).check(true);
          Product(types, ta, tb, 5, 19, 8, 2, -1, in_place, true).check(true);
        }
}

TEST(EngineGemm, maps_random_data_and_scalars_within_the_rounding_bound) {
  for (const auto& types : kTypes) {
    if (types.in == Element::int8) continue;
    SCOPED_TRACE(static_cast<int>(types.in));
    const Value alpha = is_complex(types.compute) ? Value(0.75, -0.5) : Value(0.75);
    const Value beta = is_complex(types.compute) ? Value(-0.25, 1.5) : Value(-0.25);
    for (const bool in_place : {true, false}) {
      Product(types, Transpose::none, Transpose::none, 40, 24, 50, alpha, beta, in_place, false).check(false);
      Product(types, Transpose::conjugate, Transpose::transpose, 19, 37, 70, alpha, beta, in_place, false).check(false);
    }
  }
}

TEST(EngineGemm, maps_products_that_several_threads_share) {
  for (const auto& [m, n] : {std::pair{300, 40}, {40, 300}, {129, 129}})
    for (const unsigned threads : {1u, 2u, 3u, 7u})
      Product(kTypes[0], Transpose::none, Transpose::transpose, m, n, 64, 1, 1, true, true).check(true, threads);
}

TEST(EngineGemm, maps_beta_zero_without_reading_c_and_alpha_zero_without_reading_a_and_b) {
  for (const auto& types : kTypes) {
    if (types.in == Element::int8) continue;
    SCOPED_TRACE(static_cast<int>(types.in));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Product overwritten(types, Transpose::none, Transpose::none, 33, 20, 12, 1, 0, true, true);
    for (std::int64_t j = 0; j < 20; ++j)
      for (std::int64_t i = 0; i < 33; ++i)
        store(types.out, overwritten.c.data(), i + j * overwritten.g.c.leading, nan);
    overwritten.check(true);

    Product scaled(types, Transpose::none, Transpose::none, 33, 20, 12, 0, 2, true, true);
    for (auto& byte : scaled.a) byte = '\xff';
    for (auto& byte : scaled.b) byte = '\xff';
    scaled.check(true);

    Product cleared(types, Transpose::none, Transpose::none, 8, 8, 4, 0, 0, true, true);
    for (std::int64_t i = 0; i < 8; ++i) store(types.out, cleared.c.data(), i, nan);
    for (auto& byte : cleared.a) byte = '\xff';
    cleared.check(true);

    Product no_terms(types, Transpose::none, Transpose::none, 8, 8, 0, 1, 3, true, true);
    no_terms.check(true);
  }
}

TEST(EngineGemm, maps_nan_and_infinity_of_the_inputs_into_the_result) {
  Product p(kTypes[0], Transpose::none, Transpose::none, 4, 4, 4, 1, 0, true, true);
  store(Element::single, p.a.data(), 2, std::numeric_limits<double>::infinity());
  store(Element::single, p.b.data(), 0, 1);
  ASSERT_EQ(p.run(1), Outcome::ok);
  EXPECT_TRUE(std::isinf(load(Element::single, p.c.data(), 2).real()));
}

TEST(EngineGemm, rejects_type_combinations_that_rocblas_lacks) {
  for (const Types& types :
       {Types{Element::half, Element::half, Element::real64}, Types{Element::single, Element::half, Element::single},
        Types{Element::bfloat16, Element::bfloat16, Element::bfloat16},
        Types{Element::int8, Element::int8, Element::int32}}) {
    Product p(types, Transpose::none, Transpose::none, 2, 2, 2, 1, 0, true, true);
    const auto before = p.c;
    EXPECT_EQ(p.run(1), Outcome::unsupported);
    EXPECT_EQ(p.c, before);
  }
}

}  // namespace
