// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/poison.hpp"

#include <algorithm>
#include <cstring>

namespace rb::integrity {

namespace {

/// Bits of a part that the payload may use, and the rest: sign, exponent and the quiet bit set.
struct Shape {
  std::uint64_t base;
  std::uint64_t payloads;  // payload values 1..payloads
};

Shape shape_of(ElementType part) {
  switch (part) {
    case ElementType::fp64:
      return {0xfff8000000000000u, (1ull << 51) - 1};
    case ElementType::fp32:
      return {0xffc00000u, (1u << 22) - 1};
    case ElementType::fp16:
      return {0xfe00u, (1u << 9) - 1};
    case ElementType::bf16:
      return {0xffc0u, (1u << 6) - 1};
    case ElementType::int8:
      return {0x80u, 0x3f};
    default:
      return {0x80000000u, (1u << 24) - 1};
  }
}

std::uint64_t bits_at(const char* address, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, address, size);  // little-endian hosts only, like every platform of the product
  return bits;
}

bool holds(const TensorView& view, ElementType part, std::uint64_t bits) {
  if (component_of(view.type) != part) return false;
  return scan(view, Poison{view.type, bits, true}).elements > 0;
}

}  // namespace

Poison choose_poison(ElementType type, std::uint64_t call, const std::vector<const TensorView*>& inputs) {
  const ElementType part = component_of(type);
  const Shape shape = shape_of(part);
  Poison poison{type, 0, !is_integer(type)};
  const std::uint64_t tries = std::min<std::uint64_t>(shape.payloads, 64);
  for (std::uint64_t i = 0; i < tries; ++i) {
    poison.bits = shape.base | (1 + (call + i) % shape.payloads);
    const bool taken = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const TensorView* input) { return holds(*input, part, poison.bits); });
    if (!taken) return poison;
  }
  poison.certain = false;
  return poison;
}

void fill(const TensorView& view, const Poison& poison) {
  const std::size_t part = size_of(component_of(view.type));
  const int parts = components_of(view.type);
  for (RowWalk walk(view); !walk.done(); walk.next()) {
    char* at = walk.row();
    const auto step = walk.stride() * static_cast<std::int64_t>(size_of(view.type));
    for (std::int64_t i = 0; i < walk.length(); ++i, at += step)
      for (int p = 0; p < parts; ++p) std::memcpy(at + static_cast<std::size_t>(p) * part, &poison.bits, part);
  }
}

PoisonLeft scan(const TensorView& view, const Poison& poison) {
  PoisonLeft left;
  const std::size_t part = size_of(component_of(view.type));
  const int parts = components_of(view.type);
  for (RowWalk walk(view); !walk.done(); walk.next()) {
    const char* at = walk.row();
    const auto step = walk.stride() * static_cast<std::int64_t>(size_of(view.type));
    for (std::int64_t i = 0; i < walk.length(); ++i, at += step) {
      bool found = false;
      for (int p = 0; p < parts; ++p) found |= bits_at(at + static_cast<std::size_t>(p) * part, part) == poison.bits;
      if (!found) continue;
      if (left.elements++ == 0) left.first = walk.flat() + i;
    }
  }
  return left;
}

std::int64_t changed_between_elements(const TensorView& view, const void* before, const void* after) {
  const char* old_bytes = static_cast<const char*>(before);
  const char* new_bytes = static_cast<const char*>(after);
  if (std::memcmp(old_bytes, new_bytes, view.bytes) == 0) return -1;
  std::vector<bool> owned(view.bytes);
  const std::size_t size = size_of(view.type);
  for (RowWalk walk(view); !walk.done(); walk.next()) {
    auto at = static_cast<std::size_t>(walk.row() - static_cast<char*>(view.data));
    for (std::int64_t i = 0; i < walk.length(); ++i, at += static_cast<std::size_t>(walk.stride()) * size)
      std::fill_n(owned.begin() + static_cast<std::ptrdiff_t>(at), size, true);
  }
  for (std::size_t i = 0; i < view.bytes; ++i)
    if (!owned[i] && old_bytes[i] != new_bytes[i]) return static_cast<std::int64_t>(i);
  return -1;
}

}  // namespace rb::integrity
