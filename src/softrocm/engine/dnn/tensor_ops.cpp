// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/dnn/tensor_ops.hpp"

#include <cmath>

#include "softrocm/engine/math/convert.hpp"
#include "softrocm/engine/math/parallel.hpp"

namespace soft::engine {
namespace {

using wire::Element;
using wire::TensorOperation;

/// Calls body(indices of the first four dimensions) for all of them.
template <class Body>
void for_outer(const std::array<std::int64_t, 5>& lengths, unsigned threads, const Body& body) {
  parallel_for(lengths[0] * lengths[1] * lengths[2] * lengths[3], threads, [&](std::int64_t i) {
    std::array<std::int64_t, 4> at;
    for (int d = 3; d >= 0; --d) {
      at[d] = i % lengths[d];
      i /= lengths[d];
    }
    body(at);
  });
}

std::int64_t offset(const std::array<std::int64_t, 4>& at, const std::array<std::int64_t, 5>& strides) {
  return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3];
}

float combine(TensorOperation operation, float a, float b) {
  switch (operation) {
    case TensorOperation::add:
      return a + b;
    case TensorOperation::multiply:
      return a * b;
    case TensorOperation::minimum:
      return a < b ? a : b;
    case TensorOperation::maximum:
      return a > b ? a : b;
  }
  return 0;
}

/// Calls visit(pointer) for every element.
template <class T, class Visit>
void for_each(const wire::FillTensor& f, void* y, const Visit& visit) {
  for_outer(f.lengths, 1, [&](const std::array<std::int64_t, 4>& at) {
    T* row = static_cast<T*>(y) + offset(at, f.strides);
    for (std::int64_t i = 0; i < f.lengths[4]; ++i) visit(row + i * f.strides[4]);
  });
}

template <class T>
void fill(const wire::FillTensor& f, void* y, T value) {
  for_each<T>(f, y, [&](T* at) { *at = value; });
}

template <class T>
void multiply_all(const wire::FillTensor& f, void* y) {
  for_each<T>(f, y, [&](T* at) { *at = static_cast<T>(static_cast<T>(f.alpha) * *at); });
}

}  // namespace

Outcome op_tensor(const wire::OpTensor& o, const void* a, const void* b, void* c, unsigned threads) {
  if (o.element != Element::half && o.element != Element::single) return Outcome::unsupported;
  std::array<std::int64_t, 5> b_strides = o.b_strides;
  for (int d = 0; d < 5; ++d)
    if (o.b_lengths[d] == 1) b_strides[d] = 0;
  for_outer(o.lengths, threads, [&](const std::array<std::int64_t, 4>& at) {
    const std::int64_t from_a = offset(at, o.a_strides), from_b = offset(at, b_strides), to = offset(at, o.c_strides);
    for (std::int64_t i = 0; i < o.lengths[4]; ++i) {
      float value = combine(o.operation, o.alpha1 * load_float(o.element, a, from_a + i * o.a_strides[4]),
                            o.alpha2 * load_float(o.element, b, from_b + i * b_strides[4]));
      const std::int64_t target = to + i * o.c_strides[4];
      if (o.beta != 0) value += o.beta * load_float(o.element, c, target);
      store_float(o.element, c, target, value);
    }
  });
  return Outcome::ok;
}

Outcome set_tensor(const wire::FillTensor& f, void* y) {
  const auto single = static_cast<float>(f.alpha);
  switch (f.element) {
    case Element::single:
      fill(f, y, single);
      break;
    case Element::half:
      fill(f, y, rb::float_to_half(single));
      break;
    case Element::bfloat16:
      fill(f, y, rb::float_to_bfloat16(single));
      break;
    case Element::real64:
      fill(f, y, f.alpha);
      break;
    case Element::int32:
      fill(f, y, static_cast<std::int32_t>(f.alpha));
      break;
    case Element::int8:
      fill(f, y, static_cast<std::int8_t>(f.alpha));
      break;
    default:
      return Outcome::unsupported;
  }
  return Outcome::ok;
}

Outcome scale_tensor(const wire::FillTensor& f, void* y) {
  switch (f.element) {
    case Element::single:
      multiply_all<float>(f, y);
      break;
    case Element::real64:
      multiply_all<double>(f, y);
      break;
    case Element::int32:
      multiply_all<std::int32_t>(f, y);
      break;
    case Element::half: {
      const auto alpha = static_cast<float>(f.alpha);
      for_each<std::uint16_t>(f, y,
                              [&](std::uint16_t* at) { *at = rb::float_to_half(alpha * rb::half_to_float(*at)); });
      break;
    }
    default:
      return Outcome::unsupported;
  }
  return Outcome::ok;
}

}  // namespace soft::engine
