// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/dnn/layout.hpp"

#include <algorithm>

#include "softrocm/engine/math/convert.hpp"
#include "softrocm/engine/math/parallel.hpp"

namespace soft::engine {
namespace {

constexpr std::int64_t kPiece = 1 << 14;  ///< elements that one thread converts at a time

/// Calls row(offset of the row in the tensor, offset in the packed one) for every (n, c, h).
template <class Row>
void for_rows(const wire::Tensor4& t, unsigned threads, const Row& row) {
  const auto [n, c, h, w] = t.lengths;
  // h before c: with channels last, neighbouring c read the same cache lines.
  parallel_for(n * h, threads, [&](std::int64_t i) {
    const std::int64_t in = i / h, ih = i % h;
    for (std::int64_t ic = 0; ic < c; ++ic)
      row(in * t.strides[0] + ic * t.strides[1] + ih * t.strides[2], ((in * c + ic) * h + ih) * w);
  });
}

const void* at(wire::Element element, const void* data, std::int64_t i) {
  return static_cast<const char*>(data) + i * static_cast<std::int64_t>(wire::size_of(element));
}
void* at(wire::Element element, void* data, std::int64_t i) {
  return static_cast<char*>(data) + i * static_cast<std::int64_t>(wire::size_of(element));
}

}  // namespace

wire::Tensor4 packed(const wire::Tensor4& tensor) {
  wire::Tensor4 result = tensor;
  std::int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    result.strides[i] = stride;
    stride *= tensor.lengths[i];
  }
  return result;
}

bool is_dense(const wire::Tensor4& tensor) {
  return tensor.is_injective() && tensor.span() == tensor.count();
}

void convert_in(wire::Element element, const void* src, float* dst, std::int64_t count, unsigned threads) {
  parallel_for((count + kPiece - 1) / kPiece, threads, [&](std::int64_t i) {
    const auto piece = static_cast<std::size_t>(std::min(kPiece, count - i * kPiece));
    to_float(element, at(element, src, i * kPiece), dst + i * kPiece, piece);
  });
}

void convert_out(wire::Element element, const float* src, void* dst, std::int64_t count, unsigned threads) {
  parallel_for((count + kPiece - 1) / kPiece, threads, [&](std::int64_t i) {
    const auto piece = static_cast<std::size_t>(std::min(kPiece, count - i * kPiece));
    from_float(element, src + i * kPiece, at(element, dst, i * kPiece), piece);
  });
}

void pack(const wire::Tensor4& tensor, wire::Element element, const void* src, float* dst, unsigned threads) {
  if (tensor.is_packed()) return convert_in(element, src, dst, tensor.count(), threads);
  const std::int64_t width = tensor.lengths[3], stride = tensor.strides[3];
  for_rows(tensor, threads, [&](std::int64_t from, std::int64_t to) {
    if (stride == 1) return to_float(element, at(element, src, from), dst + to, static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < width; ++i) dst[to + i] = load_float(element, src, from + i * stride);
  });
}

void unpack(const wire::Tensor4& tensor, wire::Element element, const float* src, void* dst, unsigned threads) {
  if (tensor.is_packed()) return convert_out(element, src, dst, tensor.count(), threads);
  const std::int64_t width = tensor.lengths[3], stride = tensor.strides[3];
  for_rows(tensor, threads, [&](std::int64_t to, std::int64_t from) {
    if (stride == 1) return from_float(element, src + from, at(element, dst, to), static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < width; ++i) store_float(element, dst, to + i * stride, src[from + i]);
  });
}

}  // namespace soft::engine
