// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// How a convolution is carried out: AMD's descriptors, the solutions that MIOpen's immediate mode offers for it, which
// one each of cuDNN's algorithms stands for, and how the workspace is divided. A plan is made once per problem and
// never changes, so a query and every later execution mean the same solution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "abi/miopen.h"
#include "bridge/dnn/handle.hpp"
#include "bridge/dnn/problem.hpp"

namespace rb::dnn {

inline constexpr int kMaxAlgorithms = 8;
/// CUDNN_CONVOLUTION_FWD_ALGO_COUNT, ..._BWD_DATA_ALGO_COUNT, ..._BWD_FILTER_ALGO_COUNT.
int algorithm_count(Direction direction);
const char* algorithm_name(Direction direction, int algorithm);

/// One way of AMD's to run the problem.
struct Solution {
  std::uint64_t id = 0;
  float time = 0;  ///< milliseconds, MIOpen's figure
  std::size_t workspace = 0;
  miopenConvAlgorithm_t algorithm = miopenConvolutionAlgoDirect;
};

/// Which solution each of cuDNN's algorithms stands for (index into `solutions`, -1: none). The algorithms that cuDNN
/// calls exact (the implicit GEMMs, ALGO_0, ALGO_1, ALGO_3, GEMM, DIRECT) never stand for a Winograd or FFT solution
/// unless there is no other.
std::array<int, kMaxAlgorithms> bind_algorithms(Direction direction, const std::vector<Solution>& solutions);

/// Whether a solution may be used: fp16 and bf16 Winograd with groups is left out (rocm-libraries issue 4998: wrong
/// numbers with a success status).
bool is_trusted(const Problem& problem, const Solution& solution);

/// Where the parts of a workspace lie. With `scaled`, room for the plain result and a one follows.
struct WorkspaceParts {
  std::size_t x = 0, w = 0, y = 0;  ///< offsets of packed copies; only valid where the plan copies
  std::size_t result = 0;           ///< plain result before alpha and beta
  std::size_t one = 0;              ///< one element of value 1
  std::size_t total = 0;
};

class Plan {
 public:
  /// Asks AMD's library. The caller holds the handle's lock. No solution is not a fault: the list is then empty.
  static Result<std::shared_ptr<const Plan>> build(DnnHandle& handle, const Problem& problem);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Problem& problem() const { return problem_; }
  /// Fastest first.
  const std::vector<Solution>& solutions() const { return solutions_; }
  /// Index of the solution that an algorithm stands for, -1 if none.
  int solution_of(int algorithm) const {
    return algorithm >= 0 && algorithm < kMaxAlgorithms ? bound_[static_cast<std::size_t>(algorithm)] : -1;
  }
  bool deterministic() const { return deterministic_; }
  /// Names (problem, solution, way) for the counting of checked uses; the same after a plan was made anew.
  std::uint64_t use_key(int solution, bool scaled) const {
    return ((key_ ^ solutions_[static_cast<std::size_t>(solution)].id) * 4 + (scaled ? 2 : 0)) | 1;
  }

  WorkspaceParts parts(int solution, bool scaled) const;
  std::size_t workspace_bytes(int solution, bool scaled) const { return parts(solution, scaled).total; }
  /// Bytes that alpha and beta need outside a workspace that was sized without them.
  std::size_t scaling_bytes() const;

  bool copies_x() const { return copies_[0]; }
  bool copies_w() const { return copies_[1]; }
  bool copies_y() const { return copies_[2]; }
  bool copies_output() const;
  bool copies_anything() const { return copies_[0] || copies_[1] || copies_[2]; }
  /// What AMD sees: packed, NCHW or NHWC.
  const Tensor4& amd_x() const { return amd_x_; }
  const Tensor4& amd_w() const { return amd_w_; }
  const Tensor4& amd_y() const { return amd_y_; }
  const Tensor4& amd_output() const;
  bool nhwc() const { return nhwc_; }
  /// Bytes of one element.
  std::size_t element() const { return element_; }
  /// Bytes of the program's tensors, gaps included.
  std::size_t x_bytes() const { return bytes_[0]; }
  std::size_t w_bytes() const { return bytes_[1]; }
  std::size_t y_bytes() const { return bytes_[2]; }

  /// Builds the solution's kernels ahead of its first use. The caller holds the handle's lock.
  Status compile(DnnHandle& handle, int solution) const;
  /// MIOpen's immediate call on packed tensors. The caller holds the handle's lock.
  Status launch(DnnHandle& handle, int solution, void* x, void* w, void* y, void* workspace) const;

 private:
  Plan() = default;
  void choose_layout();
  Status make_descriptors();
  Status ask_solutions(DnnHandle& handle);

  Problem problem_;
  std::uint64_t key_ = 0;  ///< the problem's hash
  Tensor4 amd_x_, amd_w_, amd_y_;
  std::size_t element_ = 0;
  bool nhwc_ = false;
  bool deterministic_ = false;
  std::array<bool, 3> copies_{};  ///< x, w, y go through a packed copy
  std::array<std::size_t, 3> bytes_{};
  std::array<std::size_t, 3> packed_{};  ///< bytes of the packed tensors
  std::vector<Solution> solutions_;
  std::array<int, kMaxAlgorithms> bound_{};
  miopenTensorDescriptor_t x_ = nullptr;
  miopenTensorDescriptor_t w_ = nullptr;
  miopenTensorDescriptor_t y_ = nullptr;
  miopenConvolutionDescriptor_t conv_ = nullptr;
};

/// The plan of a problem: the one of this thread or process that was made before, or a new one. Takes the handle's lock
/// when it has to ask AMD's library.
Result<std::shared_ptr<const Plan>> plan_for(DnnHandle& handle, const Problem& problem);

}  // namespace rb::dnn
