// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Level 0: questions about pointers, strides and workspaces that are answered before a call, from numbers alone. No
// function here reads through a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "integrity/tensor.hpp"

namespace rb::integrity {

/// Bytes from a tensor's first element to the end of its last; empty on overflow, a dimension below 1 or a negative
/// stride.
std::optional<std::uint64_t> extent_bytes(ElementType type, const std::vector<std::int64_t>& dims,
                                          const std::vector<std::int64_t>& strides);

/// Whether [address, address + bytes) lies in [base, base + size).
bool range_inside(std::uint64_t address, std::uint64_t bytes, std::uint64_t base, std::uint64_t size);

/// Whether two byte ranges share a byte. Empty ranges share nothing.
bool ranges_overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes);

/// Whether an address fits the type's natural alignment (the part's alignment for complex types).
bool aligned_for(std::uint64_t address, ElementType type);

/// Whether two different indices name the same element: an output with such strides has no defined value. Exact for
/// every layout of positive strides up to 2^24 elements; above that, layouts that are not nested count as overlapping.
bool strides_overlap(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides);

/// A workspace that the bound solution cannot use: too small, or missing although bytes are needed.
bool workspace_short(std::uint64_t address, std::uint64_t given, std::uint64_t needed);

}  // namespace rb::integrity
