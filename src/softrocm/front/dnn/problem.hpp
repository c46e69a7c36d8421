// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// From MIOpen's descriptors to the problem that the engine runs, with every refusal of MIOpen's on the way.
#pragma once

#include <span>

#include "softrocm/front/dnn/objects.hpp"

namespace soft::miopen {

/// Lengths N, K, spatial... of the forward output. bad-parm when types, ranks, channels or groups do not fit or the
/// filter does not fit into the padded input.
miopenStatus_t forward_output(const ConvolutionDescriptor& convolution, const Tensor& x, const Tensor& w,
                              const char* entry, std::array<std::int64_t, 5>* lengths, int* rank);

/// One call of any direction. x, w, y as in the forward direction: y is dy where the direction is backward, and so on.
struct Call {
  const char* entry;
  wire::Direction direction;
  miopenHandle_t handle;
  miopenTensorDescriptor_t x_desc, w_desc, y_desc;
  miopenConvolutionDescriptor_t convolution;
};

struct Problem {
  Handle* handle;
  int find_mode;
  wire::ConvolutionProblem wire;
};

/// bad-parm: objects that are not live, types or shapes that do not fit, an output whose elements share addresses.
/// unsupported-op: 3-D and transposed convolutions (not built). not-implemented: types without a solver (fp64,
/// int8...).
miopenStatus_t make_problem(const Call& call, Problem* problem);

/// Buffers of a call, in the roles of the forward direction.
struct Buffers {
  const void *x, *w, *y;
  const void* workspace;
  std::size_t workspace_bytes;
};

/// bad-parm when a buffer does not lie in device memory with all its bytes.
miopenStatus_t check_buffers(const Call& call, const Problem& problem, const Buffers& buffers);

/// Puts the solution on the handle's stream. bad-parm for a workspace shorter than the solution needs.
miopenStatus_t run(const Call& call, const Problem& problem, const wire::Solution& solution, const Buffers& buffers);

/// Applicable solutions with their times, fastest first: measured by a Find on this handle, else modelled.
std::vector<Found> ranked(const Problem& problem);

/// The problem as a key of Handle::found.
std::string key(const wire::ConvolutionProblem& problem);

}  // namespace soft::miopen
