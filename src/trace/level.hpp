// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// How much is traced: the one word that every call reads, apart from the writer so that the guard includes little.
#pragma once

#include <atomic>
#include <cstdint>

namespace rb::trace {

/// Control `trace`: nothing, calls and what belongs to them, or also the content of tensors.
enum class Level : std::uint8_t { off, calls, full };

namespace detail {
extern std::atomic<std::uint8_t> g_level;
}

inline Level level() {
  return static_cast<Level>(detail::g_level.load(std::memory_order_relaxed));
}
inline bool on() {
  return level() != Level::off;
}

}  // namespace rb::trace
