// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Carrying out a planned convolution: contracts, packed copies, AMD's call, alpha and beta. Both of cuDNN's APIs come
// here.
#pragma once

#include <cstddef>

#include "bridge/dnn/plan.hpp"

namespace rb::dnn {

/// Device addresses; the one that the direction writes is among them. x stands for dx, w for dw, y for dy where those
/// apply.
struct Operands {
  void* x = nullptr;
  void* w = nullptr;
  void* y = nullptr;
};

struct Workspace {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// The part of the contracts that does not depend on the solution: the three tensors.
Status check_operands(const Plan& plan, const Operands& operands);

/// Level 0 of the checks: every buffer inside live device memory with enough bytes behind it and aligned to its
/// element, the output apart from everything else, the workspace as large as the plan's. Reads no memory. Faults:
/// bad_param with the reason.
Status check_contracts(const Plan& plan, int solution, const Operands& operands, const Workspace& workspace);

/// The whole way of a call: contracts, then the convolution under the checks of src/integrity. Both APIs and all three
/// directions come through here.
Status execute(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands, const Workspace& workspace,
               float alpha, float beta);

/// output = alpha * convolution + beta * output on the handle's stream; asynchronous. With beta 0 the output is not
/// read. `check_contracts` has passed. The workspace may be larger than the plan's; when alpha or beta need room that
/// it has not, the handle's own scratch is taken.
Status run(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands, const Workspace& workspace,
           float alpha, float beta);

/// Whether no element of one tensor shares a byte with one of the other, decided from strides alone: bounding ranges,
/// and for interleaved ones (channel slices of one buffer) the residues by a common stride.
bool provably_disjoint(const void* a, const Tensor4& a_shape, const void* b, const Tensor4& b_shape,
                       std::size_t element);

}  // namespace rb::dnn
