// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's classic way: Find measures the solutions and remembers them on the handle; the convolution call runs the
// remembered one of the given algorithm.
#pragma once

#include "softrocm/front/dnn/problem.hpp"

namespace soft::miopen {

/// Runs each applicable solution whose workspace fits, overwriting the output, and fills at most `requested` results,
/// one an algorithm, fastest first. The portable solutions are only measured where nothing else applies or
/// `exhaustive` is set, as MIOpen does with its naive solvers.
miopenStatus_t find_algorithms(const Call& call, const Buffers& buffers, int requested, int* returned,
                               miopenConvAlgoPerf_t* results, bool exhaustive);

/// Runs the solution that a Find on this handle chose for `algorithm`. not-implemented for alpha other than 1 or beta
/// other than 0; unknown-error when no Find ran.
miopenStatus_t run_found(const Call& call, const Buffers& buffers, const void* alpha, const void* beta, int algorithm);

/// Bytes that a Find-mode call may need: of the fastest solution, or in find mode "normal" of the most demanding one.
miopenStatus_t workspace_size(const Call& call, size_t* bytes);

}  // namespace soft::miopen
