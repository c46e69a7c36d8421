// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Logging to stderr only. Small on purpose: a host program may bring any logging library of its own. One write(2) a
// line, so that lines of threads and processes do not mix. Level from ROCBRIDGE_LOG (error, warn, info, debug, trace).
#pragma once

#include <atomic>
#include <cstdint>

namespace rb::log {

enum class Level : std::uint8_t { error, warn, info, debug, trace };

Level level();
void set_level(Level level);
inline bool enabled(Level wanted) {
  return wanted <= level();
}

/// Writes "rocbridge: <level>: <component>: text". Never throws, keeps errno.
[[gnu::format(printf, 3, 4)]] void write(Level level, const char* component, const char* format, ...);

}  // namespace rb::log

#define RB_LOG(level_, component, ...)                                    \
  do {                                                                    \
    if (::rb::log::enabled(::rb::log::Level::level_))                     \
      ::rb::log::write(::rb::log::Level::level_, component, __VA_ARGS__); \
  } while (0)

/// Logs once per place in the source.
#define RB_LOG_ONCE(level_, component, ...)                                                              \
  do {                                                                                                   \
    static ::std::atomic<bool> rb_logged_{false};                                                        \
    if (!rb_logged_.exchange(true, ::std::memory_order_relaxed)) RB_LOG(level_, component, __VA_ARGS__); \
  } while (0)
