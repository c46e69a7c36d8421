// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/contracts.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace rb::integrity {

std::optional<std::uint64_t> extent_bytes(ElementType type, const std::vector<std::int64_t>& dims,
                                          const std::vector<std::int64_t>& strides) {
  if (dims.size() != strides.size()) return std::nullopt;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t reach = 0;
    if (dims[i] < 1 || strides[i] < 0 || __builtin_mul_overflow(dims[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, static_cast<std::int64_t>(size_of(type)), &bytes))
    return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

bool range_inside(std::uint64_t address, std::uint64_t bytes, std::uint64_t base, std::uint64_t size) {
  return address >= base && address - base <= size && bytes <= size - (address - base);
}

bool ranges_overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0) return false;
  return a <= b ? b - a < a_bytes : a - b < b_bytes;
}

bool aligned_for(std::uint64_t address, ElementType type) {
  return address % size_of(component_of(type)) == 0;
}

bool strides_overlap(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // (stride, dimension)
  for (std::size_t i = 0; i < dims.size() && i < strides.size(); ++i)
    if (dims[i] > 1) axes.emplace_back(std::llabs(strides[i]), dims[i]);
  std::sort(axes.begin(), axes.end());
  std::int64_t span = 1, elements = 1;
  bool nested = true;
  for (const auto& [stride, dim] : axes) {
    if (stride == 0) return true;
    if (stride < span) nested = false;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(dim - 1, stride, &reach) || __builtin_add_overflow(span, reach, &span) ||
        __builtin_mul_overflow(elements, dim, &elements))
      return true;
  }
  if (nested) return false;
  if (elements > span) return true;  // more elements than places
  if (span > (std::int64_t{1} << 24)) return true;
  std::vector<bool> taken(static_cast<std::size_t>(span));
  std::vector<std::int64_t> index(axes.size());
  for (std::int64_t place = 0;;) {
    if (taken[static_cast<std::size_t>(place)]) return true;
    taken[static_cast<std::size_t>(place)] = true;
    std::size_t axis = 0;
    for (; axis < axes.size(); ++axis) {
      place += axes[axis].first;
      if (++index[axis] < axes[axis].second) break;
      place -= axes[axis].first * axes[axis].second;
      index[axis] = 0;
    }
    if (axis == axes.size()) return false;
  }
}

bool workspace_short(std::uint64_t address, std::uint64_t given, std::uint64_t needed) {
  return needed > given || (needed > 0 && address == 0);
}

}  // namespace rb::integrity
