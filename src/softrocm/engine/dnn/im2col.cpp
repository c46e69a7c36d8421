// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Convolution as matrix products over a column matrix in the caller's workspace, one image and group at a time.
#include <algorithm>
#include <cstring>

#include "softrocm/engine/blas/gemm.hpp"
#include "softrocm/engine/dnn/convolution.hpp"
#include "softrocm/engine/dnn/layout.hpp"
#include "softrocm/engine/math/parallel.hpp"

namespace soft::engine {
namespace {

using wire::Direction;

struct Image {
  std::int64_t channels, h, w, r, s, oh, ow;
  std::int64_t pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;

  std::int64_t pixels() const { return oh * ow; }
  std::int64_t rows() const { return channels * r * s; }
};

/// Calls visit(row of columns, input row or -1 for padding, channel, first input column) for the rows of one channel.
template <class Visit>
void for_column_rows(const Image& g, std::int64_t channel, const Visit& visit) {
  for (std::int64_t r = 0; r < g.r; ++r)
    for (std::int64_t s = 0; s < g.s; ++s)
      for (std::int64_t o = 0; o < g.oh; ++o) {
        const std::int64_t row = o * g.stride_h - g.pad_h + r * g.dilation_h;
        const std::int64_t at = ((channel * g.r + r) * g.s + s) * g.pixels() + o * g.ow;
        visit(at, row < 0 || row >= g.h ? -1 : row, s * g.dilation_w - g.pad_w);
      }
}

/// columns[(c, r, s)][(oh, ow)] = x[c][input row][input column], 0 for padding.
void to_columns(const Image& g, const float* x, float* columns, unsigned threads) {
  parallel_for(g.channels, threads, [&](std::int64_t channel) {
    for_column_rows(g, channel, [&](std::int64_t at, std::int64_t row, std::int64_t first) {
      float* to = columns + at;
      if (row < 0) {
        std::fill(to, to + g.ow, 0.0f);
        return;
      }
      const float* from = x + (channel * g.h + row) * g.w;
      for (std::int64_t j = 0; j < g.ow; ++j) {
        const std::int64_t column = first + j * g.stride_w;
        to[j] = column >= 0 && column < g.w ? from[column] : 0.0f;
      }
    });
  });
}

/// x[c][input row][input column] += columns, the reverse of to_columns.
void add_columns(const Image& g, const float* columns, float* x, unsigned threads) {
  parallel_for(g.channels, threads, [&](std::int64_t channel) {
    for_column_rows(g, channel, [&](std::int64_t at, std::int64_t row, std::int64_t first) {
      if (row < 0) return;
      const float* from = columns + at;
      float* to = x + (channel * g.h + row) * g.w;
      for (std::int64_t j = 0; j < g.ow; ++j) {
        const std::int64_t column = first + j * g.stride_w;
        if (column >= 0 && column < g.w) to[column] += from[j];
      }
    });
  });
}

}  // namespace

void convolve_im2col(const wire::ConvolutionProblem& p, const ConvolutionMemory& memory, unsigned threads) {
  const wire::GemmWorkspace parts = wire::gemm_workspace(p);
  char* cursor = static_cast<char*>(memory.workspace);
  const auto take = [&](std::uint64_t bytes) {
    float* part = reinterpret_cast<float*>(cursor);
    cursor += bytes;
    return part;
  };
  float* x = parts.x ? take(parts.x) : static_cast<float*>(memory.x);
  float* w = parts.w ? take(parts.w) : static_cast<float*>(memory.w);
  float* y = parts.y ? take(parts.y) : static_cast<float*>(memory.y);
  float* columns = parts.columns ? take(parts.columns) : nullptr;

  const Image g{p.w.lengths[1], p.x.lengths[2], p.x.lengths[3], p.w.lengths[2], p.w.lengths[3],
                p.y.lengths[2], p.y.lengths[3], p.pad[0],       p.pad[1],       p.stride[0],
                p.stride[1],    p.dilation[0],  p.dilation[1]};
  const std::int64_t group_k = p.w.lengths[0] / p.groups, pixels = g.pixels(), rows = g.rows();
  const std::int64_t image = g.h * g.w;
  if (p.direction != Direction::backward_data && parts.x) pack(p.x, p.element, memory.x, x, threads);
  if (p.direction != Direction::backward_weights && parts.w) pack(p.w, p.element, memory.w, w, threads);
  if (p.direction != Direction::forward && parts.y) pack(p.y, p.element, memory.y, y, threads);

  for (std::int64_t n = 0; n < p.x.lengths[0]; ++n)
    for (std::int64_t group = 0; group < p.groups; ++group) {
      float* group_x = x + (n * p.x.lengths[1] + group * g.channels) * image;
      float* group_w = w + group * group_k * rows;
      float* group_y = y + (n * p.w.lengths[0] + group * group_k) * pixels;
      float* matrix = columns ? columns : group_x;  // a plain 1x1 filter: the image is its own column matrix
      if (columns && p.direction != Direction::backward_data) to_columns(g, group_x, matrix, threads);
      // Row-major matrices are the transposed column-major ones, hence the order of the factors.
      switch (p.direction) {
        case Direction::forward:
          multiply<float>(Transpose::none, Transpose::none, pixels, group_k, rows, 1, matrix, pixels, group_w, rows, 0,
                          group_y, pixels, threads);
          break;
        case Direction::backward_data:
          multiply<float>(Transpose::none, Transpose::transpose, pixels, rows, group_k, 1, group_y, pixels, group_w,
                          rows, 0, matrix, pixels, threads);
          if (columns) {
            std::memset(group_x, 0, static_cast<std::size_t>(g.channels * image) * sizeof(float));
            add_columns(g, columns, group_x, threads);
          }
          break;
        case Direction::backward_weights:
          multiply<float>(Transpose::transpose, Transpose::none, rows, group_k, pixels, 1, matrix, pixels, group_y,
                          pixels, n == 0 ? 0.0f : 1.0f, group_w, rows, threads);
          break;
      }
    }
  if (p.direction == Direction::forward && parts.y) unpack(p.y, p.element, y, memory.y, threads);
  if (p.direction == Direction::backward_data && parts.x) unpack(p.x, p.element, x, memory.x, threads);
  if (p.direction == Direction::backward_weights && parts.w) unpack(p.w, p.element, w, memory.w, threads);
}

}  // namespace soft::engine
