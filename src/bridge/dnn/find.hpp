// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What cuDNN's Get...Algorithm_v7 and Find...Algorithm answer: an entry for each algorithm, with the time of the
// solution that it stands for (MIOpen's figure, or measured) and the workspace it needs.
#pragma once

#include <vector>

#include "bridge/dnn/run.hpp"

namespace rb::dnn {

struct AlgorithmResult {
  int algorithm = 0;
  cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
  float time = -1.0f;  ///< milliseconds, -1 where there is no solution (as cuDNN)
  std::size_t memory = 0;
};

/// Every algorithm of the direction, usable ones first and fastest first. Of equally fast ones the algorithm that
/// programs take by default (IMPLICIT_PRECOMP_GEMM, ALGO_1) comes first.
std::vector<AlgorithmResult> rank_algorithms(const Plan& plan);

/// The same with measured times. Runs each solution twice on the handle's stream and waits: the output is overwritten.
/// A solution that needs more than the workspace is NOT_SUPPORTED; one that fails carries the status of its failure. On
/// a captured stream nothing is run and MIOpen's figures are given.
Result<std::vector<AlgorithmResult>> measure_algorithms(DnnHandle& handle, const Plan& plan, const Operands& operands,
                                                        const Workspace& workspace);

/// The same on buffers that are taken for it and given back.
Result<std::vector<AlgorithmResult>> measure_algorithms(DnnHandle& handle, const Plan& plan);

}  // namespace rb::dnn
