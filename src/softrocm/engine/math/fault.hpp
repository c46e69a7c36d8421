// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Deliberate faults of the engine's convolutions and matrix products (ROCBRIDGE_SOFT_FAULT), by which the integrity
// checks are proven. Only the engine knows the control.
#pragma once

#include <cstdint>
#include <functional>

#include "softrocm/wire/element.hpp"

namespace soft::engine {

/// Whether the engine knows "kind" or "kind:operation"; "" (no fault) is known, too.
/// Kinds: zero-output, stale-output, last-row, scale-row. Operations, to hit one only: conv-forward,
/// conv-backward-data, conv-backward-weights, gemm.
bool is_known_fault(const char* fault);
/// The kinds and operations as text for messages.
const char* known_faults();

/// One row of an output: `count` elements, `stride` elements apart.
struct Row {
  void* data;
  std::int64_t count, stride;
};

/// Runs `compute` and spoils what it wrote as `fault` says: zero-output calls `zero` afterwards; stale-output does not
/// compute at all, so that the memory keeps what it held; last-row puts the row's old bytes back; scale-row multiplies
/// the row by 1 + 2^-4, rounded to the element type.
void with_fault(const char* fault, const char* operation, wire::Element element, const Row& row,
                const std::function<void()>& compute, const std::function<void()>& zero);

}  // namespace soft::engine
