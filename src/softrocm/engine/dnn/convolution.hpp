// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// 2-D convolution on host memory: one entry over the solutions of wire/dnn.hpp, each an implementation of its own
// (onednn.cpp, im2col.cpp, portable.cpp). All compute in float from the rounded inputs and round the result once.
#pragma once

#include <cstdint>
#include <string>

#include "softrocm/engine/exec/operation.hpp"
#include "softrocm/wire/dnn.hpp"

namespace soft::engine {

/// Memory of one convolution: x, w, y in the roles of the forward direction; the direction's output is written.
struct ConvolutionMemory {
  void *x, *w, *y;
  void* workspace;
  std::uint64_t workspace_bytes;
};

/// Runs exactly the solution `id`; the result overwrites the output, its gaps keep their bytes. `unsupported` for an
/// unknown or not applicable solution or a workspace that is one byte short, with nothing written.
Outcome run_convolution(const wire::ConvolutionProblem& problem, std::uint64_t id, const ConvolutionMemory& memory,
                        unsigned threads);

/// The solutions. They may throw std::bad_alloc; `convolve_onednn` also dnnl::error.
void convolve_onednn(const wire::ConvolutionProblem& problem, const ConvolutionMemory& memory, unsigned threads);
void convolve_im2col(const wire::ConvolutionProblem& problem, const ConvolutionMemory& memory, unsigned threads);
void convolve_portable(const wire::ConvolutionProblem& problem, const ConvolutionMemory& memory, unsigned threads);

/// Name of the oneDNN implementation that was chosen for the problem ("jit:avx2", ...), for tests and logs.
std::string onednn_implementation(const wire::ConvolutionProblem& problem, unsigned threads);

}  // namespace soft::engine
