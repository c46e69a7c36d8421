// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Data and plain evaluations for the tests of src/integrity: the kinds of data that a bound must not fail on, and
// matrix products summed in several orders in fp32.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "integrity/judge.hpp"
#include "integrity/reference.hpp"

namespace rb::integrity::test {

/// Small generator with a stated sequence (xorshift64*), so that a failure can be repeated anywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {
    for (int i = 0; i < 8; ++i) bits();
  }
  std::uint64_t bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit));
  }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::uint64_t state_;
};

enum class Kind {
  normal,
  uniform,
  positive,
  relu,
  heavy,
  denormal,
  large,
  cancelling,
  turning,
  offset,
  constant,
  mask,
  outlier,
  integer,
};
inline constexpr Kind kKinds[] = {Kind::normal,   Kind::uniform, Kind::positive,   Kind::relu,    Kind::heavy,
                                  Kind::denormal, Kind::large,   Kind::cancelling, Kind::turning, Kind::offset,
                                  Kind::constant, Kind::mask,    Kind::outlier,    Kind::integer};

inline const char* name_of(Kind kind) {
  static constexpr const char* names[] = {"normal",   "uniform", "positive",   "relu",    "heavy",
                                          "denormal", "large",   "cancelling", "turning", "offset",
                                          "constant", "mask",    "outlier",    "integer"};
  return names[static_cast<int>(kind)];
}

/// One operand's values, already rounded to `type`. `second` tells the right operand from the left one.
inline std::vector<double> make_values(Kind kind, ElementType type, std::size_t count, bool second, Random& random) {
  std::vector<double> values(count);
  const double tiny = subnormal_of(type);
  const double huge = type == ElementType::fp16 ? 60 : type == ElementType::fp64 ? 1e140 : 1e17;
  const double level = random.uniform() + 0.5;
  for (std::size_t i = 0; i < count; ++i) {
    double v = 0;
    switch (kind) {
      case Kind::normal:
        v = random.normal();
        break;
      case Kind::uniform:
        v = 2 * random.uniform() - 1;
        break;
      case Kind::positive:
        v = random.uniform();
        break;
      case Kind::relu:
        v = second ? random.normal() : std::max(0.0, random.normal());
        break;
      case Kind::heavy:
        v = random.normal() * std::exp(1.5 * random.normal());
        break;
      // One operand is subnormal, the other of ordinary size: products stay in reach of the type.
      case Kind::denormal:
        v = second ? random.normal() : tiny * static_cast<double>(random.below(200) - 100);
        break;
      case Kind::large:
        v = huge * random.normal();
        break;
      case Kind::cancelling:
        v = second ? 1 + 0.01 * random.normal() : (i % 2 ? -1 : 1) * (1 + 0.01 * random.normal());
        break;
      // The running sum rises and comes back: the result says nothing about the way.
      case Kind::turning:
        v = random.uniform() * (second && i >= count / 2 ? -1 : 1);
        break;
      case Kind::offset:
        v = 10 + random.normal();
        break;
      case Kind::constant:
        v = level;
        break;
      case Kind::mask:
        v = second ? level : random.bits() % 2 ? 0.3 : 0.0;
        break;
      case Kind::outlier:
        v = i == 0 ? 1000 * level : level;
        break;
      case Kind::integer:
        v = static_cast<double>(random.below(9) - 4);
        break;
    }
    values[i] = round_to(type, v);
  }
  return values;
}

/// Orders in which real libraries add up.
enum class Order { forward, backward, blocked, pairwise, fused };
inline constexpr Order kOrders[] = {Order::forward, Order::backward, Order::blocked, Order::pairwise, Order::fused};

inline float pairwise(const float* products, std::int64_t count) {
  if (count <= 8) {
    float sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += products[i];
    return sum;
  }
  return pairwise(products, count / 2) + pairwise(products + count / 2, count - count / 2);
}

/// One dot product in fp32.
inline float dot(const float* a, const float* b, std::int64_t count, Order order) {
  float sum = 0;
  switch (order) {
    case Order::forward:
      for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
      break;
    case Order::backward:
      for (std::int64_t i = count; i-- > 0;) sum += a[i] * b[i];
      break;
    case Order::fused:
      for (std::int64_t i = 0; i < count; ++i) sum = std::fma(a[i], b[i], sum);
      break;
    case Order::blocked: {
      float lanes[16] = {};
      for (std::int64_t i = 0; i < count; ++i) lanes[i % 16] += a[i] * b[i];
      for (const float lane : lanes) sum += lane;
      break;
    }
    case Order::pairwise: {
      std::vector<float> products(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) products[static_cast<std::size_t>(i)] = a[i] * b[i];
      return pairwise(products.data(), count);
    }
  }
  return sum;
}

/// A tensor that owns its bytes.
struct Tensor {
  std::vector<unsigned char> bytes;
  TensorView view;
  Tensor() = default;
  Tensor(ElementType type, const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    bytes.resize(static_cast<std::size_t>(count) * size_of(type));
    view = packed_view(type, dims, bytes.data(), bytes.size());
  }
  Tensor(ElementType type, const std::vector<std::int64_t>& dims, const std::vector<double>& values)
      : Tensor(type, dims) {
    store_all(view, values);
  }
  static Tensor strided(ElementType type, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& strides) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
    Tensor tensor;
    tensor.bytes.resize(static_cast<std::size_t>(last + 1) * size_of(type));
    tensor.view = strided_view(type, dims, strides, tensor.bytes.data(), tensor.bytes.size());
    return tensor;
  }
  // The view points into the bytes, which a move keeps in place and a copy does not.
  Tensor(const Tensor& other) : bytes(other.bytes), view(other.view) { view.data = bytes.data(); }
  Tensor& operator=(const Tensor& other) {
    bytes = other.bytes;
    view = other.view;
    view.data = bytes.data();
    return *this;
  }
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;
};

/// A matrix product: operands (m x k, k x n, row-major), their reference, and results summed in fp32.
struct Product {
  std::int64_t m, n, k;
  ElementType type;
  std::vector<double> a, b;
  Tensor a_tensor, b_tensor;

  Product(Kind kind, ElementType element, std::int64_t rows, std::int64_t columns, std::int64_t depth, Random& random)
      : m(rows), n(columns), k(depth), type(element) {
    a = make_values(kind, type, static_cast<std::size_t>(m * k), false, random);
    b = make_values(kind, type, static_cast<std::size_t>(k * n), true, random);
    a_tensor = Tensor(type, {1, m, k}, a);
    b_tensor = Tensor(type, {1, k, n}, b);
  }
  Reference reference() const { return *gemm(a_tensor.view, false, b_tensor.view, false, Scaling{}, 1); }
  /// Values before rounding to the output type.
  std::vector<double> evaluate(Order order) const {
    const std::vector<float> left(a.begin(), a.end());
    std::vector<float> right(b.size());
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        right[static_cast<std::size_t>(j * k + i)] = static_cast<float>(b[static_cast<std::size_t>(i * n + j)]);
    std::vector<double> values;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) values.push_back(dot(left.data() + i * k, right.data() + j * k, k, order));
    return values;
  }
};

}  // namespace rb::integrity::test
