// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Level 1: outputs are filled, before the call, with a pattern that a computation does not produce; what is left of it
// afterwards was never written. The pattern is a NaN whose payload belongs to this call, so that it is told from a NaN
// that came in with the data and from the poison of an earlier call. Bytes between the elements must stay as they were.
#pragma once

#include <cstdint>
#include <vector>

#include "integrity/tensor.hpp"

namespace rb::integrity {

struct Poison {
  ElementType type = ElementType::fp32;
  std::uint64_t bits = 0;  ///< one element, or one part of a complex element
  /// True when no computation gives these bits unless an input held them. False for integers, where the pattern is a
  /// value like any other: what is left of it is a hint and the comparison decides.
  bool certain = false;
};

/// Pattern for an output of this type in call `call`; consecutive calls have different ones. `inputs` are searched: a
/// pattern that one of them holds is not chosen. `certain` is false when every payload of the type is taken (bf16 has
/// 63).
Poison choose_poison(ElementType type, std::uint64_t call, const std::vector<const TensorView*>& inputs);

/// Writes the pattern into every element of the view and into no byte between them.
void fill(const TensorView& view, const Poison& poison);

struct PoisonLeft {
  std::int64_t elements = 0;  ///< elements that still hold the pattern in one of their parts
  std::int64_t first = -1;    ///< index, in index order, of the first one
};
/// Looks for what is left of the pattern.
PoisonLeft scan(const TensorView& view, const Poison& poison);

/// Offset of the first byte inside the view's extent that belongs to no element and differs between the two copies of
/// the same memory; -1 if there is none. Both have the layout of `view` and view.bytes bytes. Bytes before and after
/// the extent, inside view.bytes, are compared too (red zones).
std::int64_t changed_between_elements(const TensorView& view, const void* before, const void* after);

}  // namespace rb::integrity
