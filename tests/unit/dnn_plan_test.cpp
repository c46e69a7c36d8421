// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Pieces of the convolution bridge that need no device: copies between strides, the binding of algorithms to solutions,
// shapes, and the disjointness of interleaved tensors.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bridge/dnn/plan.hpp"
#include "bridge/dnn/run.hpp"
#include "bridge/dnn/strided_copy.hpp"

namespace rb::dnn {
namespace {

using Four = std::array<std::int64_t, 4>;

Tensor4 strided(const Four& dims, const Four& strides) {
  Tensor4 out;
  out.dims = dims;
  out.strides = strides;
  return out;
}

/// Carries the planned copies out on host memory and compares each element.
void check_copy(const Tensor4& from, const Tensor4& to, bool flip, std::size_t most_steps) {
  std::vector<std::uint16_t> source(static_cast<std::size_t>(from.extent())),
      target(static_cast<std::size_t>(to.extent()), 0xdead);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i * 7 + 1);
  const std::vector<CopyStep> steps = plan_copy(from, to, 2, flip);
  EXPECT_LE(steps.size(), most_steps);
  for (const CopyStep& step : steps) {
    EXPECT_GE(step.from_pitch, step.width);
    EXPECT_GE(step.to_pitch, step.width);
    for (std::size_t row = 0; row < step.rows; ++row)
      std::memcpy(
          reinterpret_cast<char*>(target.data()) + step.to + static_cast<std::int64_t>(row * step.to_pitch),
          reinterpret_cast<const char*>(source.data()) + step.from + static_cast<std::int64_t>(row * step.from_pitch),
          step.width);
  }
  std::vector<bool> written(target.size(), false);
  for (std::int64_t a = 0; a < from.dims[0]; ++a)
    for (std::int64_t b = 0; b < from.dims[1]; ++b)
      for (std::int64_t c = 0; c < from.dims[2]; ++c)
        for (std::int64_t d = 0; d < from.dims[3]; ++d) {
          const std::int64_t tc = flip ? from.dims[2] - 1 - c : c;
          const std::int64_t td = flip ? from.dims[3] - 1 - d : d;
          const auto read = static_cast<std::size_t>(a * from.strides[0] + b * from.strides[1] + c * from.strides[2] +
                                                     d * from.strides[3]);
          const auto write =
              static_cast<std::size_t>(a * to.strides[0] + b * to.strides[1] + tc * to.strides[2] + td * to.strides[3]);
          ASSERT_EQ(target[write], source[read]) << a << "," << b << "," << c << "," << d;
          written[write] = true;
        }
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (written[i]) continue;
    ASSERT_EQ(target[i], 0xdead) << "a gap was written";
  }
}

TEST(DnnStridedCopy, maps_every_layout_with_few_copies) {
  const Four dims{2, 3, 4, 5};
  const Tensor4 nchw = Tensor4::packed(dims, false), nhwc = Tensor4::packed(dims, true);
  check_copy(nchw, nchw, false, 1);
  check_copy(nchw, strided(dims, {100, 20, 5, 1}), false, 1);  // gap between images: one copy of rows
  check_copy(nchw, strided(dims, {300, 40, 8, 1}), false, 6);  // gap between lines
  check_copy(nhwc, nchw, false, 6);
  check_copy(nchw, nhwc, false, 6);
  check_copy(strided(dims, {1, 200, 2, 10}), nhwc, false, 24);
  check_copy(Tensor4::packed({1, 1, 1, 1}, false), Tensor4::packed({1, 1, 1, 1}, true), false, 1);
}

// DESIGN 12: a flip takes one copy for each of the filter's R * S positions.
TEST(DnnStridedCopy, maps_flips_with_a_copy_for_each_position) {
  const Four dims{6, 4, 3, 2};
  check_copy(Tensor4::packed(dims, false), Tensor4::packed(dims, false), true, 6);
  check_copy(Tensor4::packed(dims, true), Tensor4::packed(dims, true), true, 6);
  check_copy(Tensor4::packed(dims, false), Tensor4::packed(dims, true), true, 24);
}

TEST(DnnAlgorithms, maps_each_algorithm_to_one_solution) {
  const std::vector<Solution> solutions{{1, 0.1f, 500, miopenConvolutionAlgoWinograd},
                                        {2, 0.2f, 300, miopenConvolutionAlgoGEMM},
                                        {3, 0.3f, 0, miopenConvolutionAlgoDirect},
                                        {4, 0.4f, 0, miopenConvolutionAlgoImplicitGEMM}};
  const auto forward = bind_algorithms(Direction::forward, solutions);
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM], 2) << "least workspace, fastest of those";
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM], 1) << "fastest that is no transform";
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_GEMM], 1);
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_DIRECT], 2);
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_FFT], -1);
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD], 0);
  EXPECT_EQ(forward[CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED], -1);
  const auto filter = bind_algorithms(Direction::backward_filter, solutions);
  EXPECT_EQ(filter[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0], 2);
  EXPECT_EQ(filter[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1], 1);
  EXPECT_EQ(filter[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3], 1);
  const auto none = bind_algorithms(Direction::backward_data, {});
  for (const int bound : none) EXPECT_EQ(bound, -1);
  const auto only = bind_algorithms(Direction::forward, {solutions[0]});
  EXPECT_EQ(only[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM], 0) << "better than nothing";
}

TEST(DnnAlgorithms, rejects_half_winograd_with_groups) {
  Problem problem;
  problem.type = CUDNN_DATA_HALF;
  problem.groups = 2;
  Solution winograd;
  winograd.algorithm = miopenConvolutionAlgoWinograd;
  EXPECT_FALSE(is_trusted(problem, winograd));
  problem.groups = 1;
  EXPECT_TRUE(is_trusted(problem, winograd));
  problem.groups = 2;
  problem.type = CUDNN_DATA_FLOAT;
  EXPECT_TRUE(is_trusted(problem, winograd));
}

TEST(DnnProblem, maps_output_lengths) {
  EXPECT_EQ(output_length(9, 3, 1, 1, 1), 9);
  EXPECT_EQ(output_length(9, 3, 0, 2, 2), 3);
  EXPECT_EQ(output_length(1, 3, 0, 1, 1), 0) << "does not fit";
  EXPECT_EQ(output_length(INT32_MAX, 1, INT32_MAX, 1, 1), 3 * std::int64_t{INT32_MAX});
}

TEST(DnnProblem, maps_layouts) {
  const Four dims{2, 3, 4, 5};
  EXPECT_TRUE(Tensor4::packed(dims, false).is_nchw());
  EXPECT_FALSE(Tensor4::packed(dims, false).is_nhwc());
  EXPECT_TRUE(Tensor4::packed(dims, true).is_nhwc());
  const Tensor4 point = strided({8, 16, 1, 1}, {16, 1, 99, 7});  // strides of lengths 1 do not matter
  EXPECT_TRUE(point.is_nchw());
  EXPECT_TRUE(point.is_nhwc());
}

TEST(DnnContracts, maps_interleaved_tensors_as_disjoint) {
  const Four dims{2, 4, 3, 3};
  char* base = reinterpret_cast<char*>(0x10000);
  // Channel slices of a buffer of 8 channels.
  const Tensor4 nchw = strided(dims, {72, 9, 3, 1}), nhwc = strided(dims, {72, 1, 24, 8});
  EXPECT_TRUE(provably_disjoint(base, nchw, base + 36 * 4, nchw, 4));
  EXPECT_TRUE(provably_disjoint(base + 36 * 4, nchw, base, nchw, 4));
  EXPECT_FALSE(provably_disjoint(base, nchw, base + 27 * 4, nchw, 4));
  EXPECT_TRUE(provably_disjoint(base, nhwc, base + 4 * 4, nhwc, 4));
  EXPECT_FALSE(provably_disjoint(base, nhwc, base + 3 * 4, nhwc, 4));
  const Tensor4 packed = Tensor4::packed(dims, false);
  EXPECT_TRUE(provably_disjoint(base, packed, base + 72 * 4, packed, 4)) << "one behind the other";
  EXPECT_FALSE(provably_disjoint(base, packed, base + 71 * 4, packed, 4));
  EXPECT_FALSE(provably_disjoint(base, packed, base, packed, 4));
}

}  // namespace
}  // namespace rb::dnn
