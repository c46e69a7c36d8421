// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Direct convolution in plain C++, for every problem and host: rows of the output as sums of shifted rows.
#include <algorithm>
#include <cstring>

#include "softrocm/engine/dnn/convolution.hpp"
#include "softrocm/engine/dnn/layout.hpp"
#include "softrocm/engine/math/parallel.hpp"

namespace soft::engine {
namespace {

struct Shape {
  std::int64_t n, c, h, w, k, r, s, oh, ow, groups, group_c, group_k;
  std::int64_t pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;

  explicit Shape(const wire::ConvolutionProblem& p)
      : n(p.x.lengths[0]),
        c(p.x.lengths[1]),
        h(p.x.lengths[2]),
        w(p.x.lengths[3]),
        k(p.w.lengths[0]),
        r(p.w.lengths[2]),
        s(p.w.lengths[3]),
        oh(p.y.lengths[2]),
        ow(p.y.lengths[3]),
        groups(p.groups),
        group_c(p.w.lengths[1]),
        group_k(k / groups),
        pad_h(p.pad[0]),
        pad_w(p.pad[1]),
        stride_h(p.stride[0]),
        stride_w(p.stride[1]),
        dilation_h(p.dilation[0]),
        dilation_w(p.dilation[1]) {}

  /// Input row of output row `o` and filter row `i`; outside [0, h) it is padding.
  std::int64_t input_row(std::int64_t o, std::int64_t i) const { return o * stride_h - pad_h + i * dilation_h; }
  /// Input column of output column 0 and filter column `i`.
  std::int64_t first_column(std::int64_t i) const { return i * dilation_w - pad_w; }
  /// Output columns [begin, end) whose input column lies inside the image, for filter column `i`.
  std::int64_t begin(std::int64_t i) const {
    const auto first = first_column(i);
    return first >= 0 ? 0 : std::min(ow, (-first + stride_w - 1) / stride_w);
  }
  std::int64_t end(std::int64_t i) const {
    const auto room = w - 1 - first_column(i);
    return room < 0 ? 0 : std::min(ow, room / stride_w + 1);
  }
};

/// sum of a[i] * b[i * stride]. Eight partial sums: faster, and the error grows with count / 8.
float dot(const float* a, const float* b, std::int64_t count, std::int64_t stride) {
  float part[8] = {};
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= count; i += 8)
      for (int j = 0; j < 8; ++j) part[j] += a[i + j] * b[i + j];
  }
  for (; i < count; ++i) part[i & 7] += a[i] * b[i * stride];
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

void forward(const Shape& p, const float* x, const float* w, float* y, unsigned threads) {
  parallel_for(p.n * p.k, threads, [&](std::int64_t i) {
    const std::int64_t n = i / p.k, k = i % p.k, group = k / p.group_k;
    float* out = y + i * p.oh * p.ow;
    std::fill(out, out + p.oh * p.ow, 0.0f);
    for (std::int64_t c = 0; c < p.group_c; ++c) {
      const float* image = x + (n * p.c + group * p.group_c + c) * p.h * p.w;
      for (std::int64_t r = 0; r < p.r; ++r)
        for (std::int64_t s = 0; s < p.s; ++s) {
          const float weight = w[((k * p.group_c + c) * p.r + r) * p.s + s];
          const std::int64_t begin = p.begin(s), end = p.end(s);
          for (std::int64_t o = 0; o < p.oh; ++o) {
            const std::int64_t row = p.input_row(o, r);
            if (row < 0 || row >= p.h) continue;
            const float* in = image + row * p.w + p.first_column(s);
            float* to = out + o * p.ow;
            if (p.stride_w == 1)
              for (std::int64_t j = begin; j < end; ++j) to[j] += weight * in[j];
            else
              for (std::int64_t j = begin; j < end; ++j) to[j] += weight * in[j * p.stride_w];
          }
        }
    }
  });
}

void backward_data(const Shape& p, float* x, const float* w, const float* y, unsigned threads) {
  parallel_for(p.n * p.c, threads, [&](std::int64_t i) {
    const std::int64_t n = i / p.c, c = i % p.c, group = c / p.group_c;
    float* image = x + i * p.h * p.w;
    std::fill(image, image + p.h * p.w, 0.0f);
    for (std::int64_t k = group * p.group_k; k < (group + 1) * p.group_k; ++k) {
      const float* gradient = y + (n * p.k + k) * p.oh * p.ow;
      for (std::int64_t r = 0; r < p.r; ++r)
        for (std::int64_t s = 0; s < p.s; ++s) {
          const float weight = w[((k * p.group_c + c % p.group_c) * p.r + r) * p.s + s];
          const std::int64_t begin = p.begin(s), end = p.end(s);
          for (std::int64_t o = 0; o < p.oh; ++o) {
            const std::int64_t row = p.input_row(o, r);
            if (row < 0 || row >= p.h) continue;
            float* to = image + row * p.w + p.first_column(s);
            const float* from = gradient + o * p.ow;
            if (p.stride_w == 1)
              for (std::int64_t j = begin; j < end; ++j) to[j] += weight * from[j];
            else
              for (std::int64_t j = begin; j < end; ++j) to[j * p.stride_w] += weight * from[j];
          }
        }
    }
  });
}

void backward_weights(const Shape& p, const float* x, float* w, const float* y, unsigned threads) {
  parallel_for(p.k * p.group_c, threads, [&](std::int64_t i) {
    const std::int64_t k = i / p.group_c, c = k / p.group_k * p.group_c + i % p.group_c;
    for (std::int64_t r = 0; r < p.r; ++r)
      for (std::int64_t s = 0; s < p.s; ++s) {
        const std::int64_t begin = p.begin(s), end = p.end(s);
        float sum = 0;
        for (std::int64_t n = 0; n < p.n && begin < end; ++n) {
          const float* image = x + (n * p.c + c) * p.h * p.w;
          const float* gradient = y + (n * p.k + k) * p.oh * p.ow;
          float image_sum = 0;
          for (std::int64_t o = 0; o < p.oh; ++o) {
            const std::int64_t row = p.input_row(o, r);
            if (row < 0 || row >= p.h) continue;
            image_sum += dot(gradient + o * p.ow + begin, image + row * p.w + p.first_column(s) + begin * p.stride_w,
                             end - begin, p.stride_w);
          }
          sum += image_sum;
        }
        w[(i * p.r + r) * p.s + s] = sum;
      }
  });
}

/// A packed float view of an operand: the memory itself where it is one, else a copy in scratch.
struct Operand {
  Operand(const wire::Tensor4& tensor, wire::Element element, void* memory)
      : tensor(tensor), element(element), memory(memory) {
    if (element == wire::Element::single && tensor.is_packed())
      data = static_cast<float*>(memory);
    else
      data = (copy = Scratch(static_cast<std::size_t>(tensor.count()) * sizeof(float))).floats();
  }
  const float* load(unsigned threads) {
    if (data != memory) pack(tensor, element, memory, data, threads);
    return data;
  }
  void store(unsigned threads) {
    if (data != memory) unpack(tensor, element, data, memory, threads);
  }
  const wire::Tensor4& tensor;
  wire::Element element;
  void* memory;
  Scratch copy;
  float* data;
};

}  // namespace

void convolve_portable(const wire::ConvolutionProblem& problem, const ConvolutionMemory& memory, unsigned threads) {
  const Shape shape(problem);
  Operand x(problem.x, problem.element, memory.x), w(problem.w, problem.element, memory.w),
      y(problem.y, problem.element, memory.y);
  switch (problem.direction) {
    case wire::Direction::forward:
      forward(shape, x.load(threads), w.load(threads), y.data, threads);
      return y.store(threads);
    case wire::Direction::backward_data:
      backward_data(shape, x.data, w.load(threads), y.load(threads), threads);
      return x.store(threads);
    case wire::Direction::backward_weights:
      backward_weights(shape, x.load(threads), w.data, y.load(threads), threads);
      return w.store(threads);
  }
}

}  // namespace soft::engine
