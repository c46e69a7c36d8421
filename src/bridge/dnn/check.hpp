// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A planned convolution under a full check (DESIGN 7, levels 1 and 4): what the call means, in the checker's terms.
#pragma once

#include "bridge/checks.hpp"
#include "bridge/dnn/run.hpp"

namespace rb::dnn {

/// run() with the check around it. Faults: those of run(), and with integrity.wait=call those of a failed check.
Status run_checked(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands,
                   const Workspace& workspace, float alpha, float beta);

/// What the call computes; the views carry the program's own layout and addresses.
bridge::checks::Convolution describe_check(const Plan& plan, int solution, const Operands& operands, float alpha,
                                           float beta);

}  // namespace rb::dnn
