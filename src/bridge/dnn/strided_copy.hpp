// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Copies between device tensors of equal sizes and different strides, made of HIP's two-dimensional copies alone: AMD's
// tensor transform has no bf16 (facts of AMD's ABI, section 2.5) and a copy changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi/hip.h"
#include "bridge/dnn/problem.hpp"

namespace rb::dnn {

/// One hipMemcpy2DAsync: `rows` rows of `width` bytes. Offsets and pitches in bytes.
struct CopyStep {
  std::int64_t from = 0, to = 0;
  std::size_t width = 0, rows = 1, from_pitch = 0, to_pitch = 0;
};

/// The copies that carry `from` over to `to`, as few as the strides allow. With `flip` the last two dimensions are
/// turned by 180 degrees. Strides must be positive where a length is above 1.
std::vector<CopyStep> plan_copy(const Tensor4& from, const Tensor4& to, std::size_t element, bool flip);

/// Enqueues the copies on the stream.
Status copy_strided(const Tensor4& from, const void* source, const Tensor4& to, void* target, std::size_t element,
                    bool flip, hipStream_t stream);

}  // namespace rb::dnn
