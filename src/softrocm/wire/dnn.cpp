// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/wire/dnn.hpp"

#include <algorithm>

namespace soft::wire {
namespace {

// Ids far from MIOpen's own solver numbers, so that a stored id of one is never taken for the other.
constexpr std::uint64_t kOneDnn = 0x50F7'0100, kGemm = 0x50F7'0200, kPortable = 0x50F7'0300;

constexpr Solution kSolutions[] = {
    {kOneDnn + 0, "ConvImplicitGemmOneDnnFwd", Direction::forward, 5},
    {kGemm + 0, "GemmIm2ColFwd", Direction::forward, 0},
    {kPortable + 0, "ConvDirectPortableFwd", Direction::forward, 1},
    {kOneDnn + 1, "ConvImplicitGemmOneDnnBwd", Direction::backward_data, 5},
    {kGemm + 1, "GemmIm2ColBwd", Direction::backward_data, 0},
    {kPortable + 1, "ConvDirectPortableBwd", Direction::backward_data, 1},
    {kOneDnn + 2, "ConvImplicitGemmOneDnnWrW", Direction::backward_weights, 5},
    {kGemm + 2, "GemmIm2ColWrW", Direction::backward_weights, 0},
    {kPortable + 2, "ConvDirectPortableWrW", Direction::backward_weights, 1},
};
constexpr std::size_t kPerDirection = 3;

std::uint64_t family(const Solution& solution) {
  return solution.id & ~std::uint64_t{0xff};
}

/// Takes the dimensions by rising stride: each must step over all that the smaller ones reach (`open` 1), or over whole
/// rows of them with their gaps (`open` 0).
bool steps_over(const Tensor4& tensor, std::int64_t open) {
  std::array<bool, 4> taken{};
  std::int64_t extent = open;
  for (int round = 0; round < 4; ++round) {
    int next = -1;
    for (int i = 0; i < 4; ++i)
      if (!taken[i] && tensor.lengths[i] > 1 && (next < 0 || tensor.strides[i] < tensor.strides[next])) next = i;
    if (next < 0) return true;
    if (tensor.strides[next] < extent) return false;
    taken[next] = true;
    extent = (tensor.lengths[next] - open) * tensor.strides[next] + open * extent;
  }
  return true;
}

std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

std::int64_t Tensor4::span() const {
  std::int64_t last = 0;
  for (int i = 0; i < 4; ++i) last += (lengths[i] - 1) * strides[i];
  return last + 1;
}

bool Tensor4::is_packed() const {
  std::int64_t expected = 1;
  for (int i = 3; i >= 0; --i) {
    if (lengths[i] != 1 && strides[i] != expected) return false;
    expected *= lengths[i];
  }
  return true;
}

bool Tensor4::is_injective() const {
  return steps_over(*this, 1);
}

bool Tensor4::is_nested() const {
  return steps_over(*this, 0);
}

std::span<const Solution> solutions(Direction direction) {
  return {kSolutions + kPerDirection * static_cast<std::size_t>(direction), kPerDirection};
}

const Solution* find_solution(std::uint64_t id) {
  const auto found = std::find_if(std::begin(kSolutions), std::end(kSolutions), [&](auto& s) { return s.id == id; });
  return found == std::end(kSolutions) ? nullptr : found;
}

bool is_applicable(const Solution& solution, const ConvolutionProblem& problem) {
  if (solution.direction != problem.direction) return false;
  if (problem.element != Element::half && problem.element != Element::bfloat16 && problem.element != Element::single)
    return false;
  // One image's column matrix and each tensor must stay within the 32-bit lengths of the BLAS interface and oneDNN.
  constexpr std::int64_t kLimit = 0x7fff'ffff;
  if (family(solution) == kPortable) return true;
  return problem.x.span() <= kLimit && problem.w.span() <= kLimit && problem.y.span() <= kLimit &&
         gemm_workspace(problem).columns / sizeof(float) <= static_cast<std::uint64_t>(kLimit);
}

GemmWorkspace gemm_workspace(const ConvolutionProblem& problem) {
  const auto copy = [&](const Tensor4& tensor) -> std::uint64_t {
    if (problem.element == Element::single && tensor.is_packed()) return 0;
    return rounded(static_cast<std::uint64_t>(tensor.count()) * sizeof(float));
  };
  const bool plain = problem.w.lengths[2] == 1 && problem.w.lengths[3] == 1 && problem.stride[0] == 1 &&
                     problem.stride[1] == 1 && problem.pad[0] == 0 && problem.pad[1] == 0;
  const auto columns =
      problem.w.lengths[1] * problem.w.lengths[2] * problem.w.lengths[3] * problem.y.lengths[2] * problem.y.lengths[3];
  return {copy(problem.x), copy(problem.w), copy(problem.y),
          plain ? 0 : rounded(static_cast<std::uint64_t>(columns) * sizeof(float))};
}

std::uint64_t workspace_bytes(const Solution& solution, const ConvolutionProblem& problem) {
  return family(solution) == kGemm ? gemm_workspace(problem).total() : 0;
}

float modelled_time(const Solution& solution, const ConvolutionProblem& problem) {
  const double macs = static_cast<double>(problem.y.count()) *
                      static_cast<double>(problem.w.lengths[1] * problem.w.lengths[2] * problem.w.lengths[3]);
  const double bytes = 4.0 * static_cast<double>(problem.x.count() + problem.w.count() + problem.y.count());
  // Multiply-adds and bytes per millisecond, from measurements on one AVX2 core. A GEMM over few rows (many groups)
  // does not reach its rate.
  const double rows = static_cast<double>(problem.w.lengths[0]) / problem.groups;
  double rate = 2.5e6, traffic = 8e6;
  if (family(solution) == kOneDnn) rate = 3.0e7;
  if (family(solution) == kGemm) {
    rate = 2.0e7 * std::min(1.0, rows / 16);
    traffic = 3e6;
  }
  const double columns = family(solution) == kGemm ? static_cast<double>(gemm_workspace(problem).total()) : 0;
  return static_cast<float>(0.01 + macs / rate + (bytes + 2 * columns) / traffic);
}

}  // namespace soft::wire
