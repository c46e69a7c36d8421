// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen operations on the way from the front to the engine, and the table of convolution solutions that both must
// agree on: the front answers queries from it without asking the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "softrocm/wire/element.hpp"
#include "softrocm/wire/operations.hpp"

namespace soft::wire {

enum DnnOperation : std::uint32_t {
  kConvolution = kOperationDnnFirst,      ///< payload Convolution
  kOpTensor = kOperationDnnFirst + 1,     ///< payload OpTensor
  kSetTensor = kOperationDnnFirst + 2,    ///< payload FillTensor: every element becomes alpha
  kScaleTensor = kOperationDnnFirst + 3,  ///< payload FillTensor: every element is multiplied by alpha
};

enum class Direction : std::uint32_t { forward = 0, backward_data = 1, backward_weights = 2 };

/// Lengths in the order N, C, H, W (filters K, C/g, R, S) and strides in elements, in the same order.
struct Tensor4 {
  std::array<std::int64_t, 4> lengths;
  std::array<std::int64_t, 4> strides;

  std::int64_t count() const { return lengths[0] * lengths[1] * lengths[2] * lengths[3]; }
  /// Elements from the first to the last one, gaps included.
  std::int64_t span() const;
  /// Strides of a packed tensor in the order N, C, H, W; strides of lengths 1 do not matter.
  bool is_packed() const;
  /// Whether no two elements share an address: each stride steps over all that the smaller ones reach.
  bool is_injective() const;
  /// The same with whole rows: a row's gap after its last element is not used by a larger dimension either.
  bool is_nested() const;
  bool operator==(const Tensor4&) const = default;
};

/// One 2-D cross-correlation. x and y are the tensors of the forward direction whatever the direction is (so in
/// backward data x stands for dx, and y for dy). All three have one element type.
struct ConvolutionProblem {
  Direction direction;
  Element element;
  Tensor4 x, w, y;
  std::array<std::int32_t, 2> pad, stride, dilation;  ///< H, W
  std::int32_t groups;
  std::int32_t reserved;  ///< 0, so that problems compare and hash as bytes

  bool operator==(const ConvolutionProblem&) const = default;
};

struct Convolution {
  ConvolutionProblem problem;
  std::uint64_t solution;
  std::uint64_t x, w, y;  ///< device addresses
  std::uint64_t workspace, workspace_bytes;
};
static_assert(sizeof(Convolution) <= kMaxPayload);

enum class TensorOperation : std::uint32_t { add = 0, multiply = 1, minimum = 2, maximum = 3 };

/// C = op(alpha1 * A, alpha2 * B) + beta * C over up to five dimensions; a length of B is 1 (repeated) or C's.
struct OpTensor {
  TensorOperation operation;
  Element element;
  std::array<std::int64_t, 5> lengths, b_lengths;  ///< leading ones fill up
  std::array<std::int64_t, 5> a_strides, b_strides, c_strides;
  float alpha1, alpha2, beta;
  std::uint64_t a, b, c;
};
static_assert(sizeof(OpTensor) <= kMaxPayload);

struct FillTensor {
  Element element;
  std::array<std::int64_t, 5> lengths, strides;
  std::uint64_t y;
  double alpha;
};

/// One way to run a convolution. `id` is MIOpen's solution id; an id names its direction, too.
struct Solution {
  std::uint64_t id;
  const char* name;
  Direction direction;
  std::uint32_t algorithm;  ///< miopenConvAlgorithm_t: 0 GEMM, 1 direct, 5 implicit GEMM
};

/// All solutions of a direction, the generally fastest first.
std::span<const Solution> solutions(Direction direction);
/// nullptr if no solution has this id.
const Solution* find_solution(std::uint64_t id);
/// Whether the solution can run the problem at all, workspace aside.
bool is_applicable(const Solution& solution, const ConvolutionProblem& problem);
/// Bytes that the solution needs, exactly: with one less it does not run.
std::uint64_t workspace_bytes(const Solution& solution, const ConvolutionProblem& problem);
/// Time from a model of arithmetic and traffic in milliseconds, always above zero; orders solutions before a Find.
float modelled_time(const Solution& solution, const ConvolutionProblem& problem);

/// Parts of the GEMM solution's workspace in bytes, in this order, each rounded up to 64: float copies of x, w, y where
/// they are not packed float tensors, and the column matrix of one image and group (none for a plain 1x1 filter).
struct GemmWorkspace {
  std::uint64_t x, w, y, columns;
  std::uint64_t total() const { return x + w + y + columns; }
};
GemmWorkspace gemm_workspace(const ConvolutionProblem& problem);

}  // namespace soft::wire
