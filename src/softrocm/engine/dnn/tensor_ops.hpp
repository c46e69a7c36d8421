// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Element-wise operations on strided tensors in host memory. Computed in float (double for double), rounded once.
#pragma once

#include "softrocm/engine/exec/operation.hpp"
#include "softrocm/wire/dnn.hpp"

namespace soft::engine {

/// c = op(alpha1 * a, alpha2 * b) + beta * c; half or single. With beta 0, c is not read.
Outcome op_tensor(const wire::OpTensor& operation, const void* a, const void* b, void* c, unsigned threads);

/// y = alpha (set) or alpha * y (scale); half, bfloat16 (set only), single, double, int32, int8 (set only).
Outcome set_tensor(const wire::FillTensor& operation, void* y);
Outcome scale_tensor(const wire::FillTensor& operation, void* y);

}  // namespace soft::engine
