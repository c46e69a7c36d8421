// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "base/log.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/os.hpp"

namespace rb::log {
namespace {

constexpr const char* kNames[] = {"error", "warn", "info", "debug", "trace"};

int level_from_environment() {
  const char* value = std::getenv("ROCBRIDGE_LOG");
  if (value != nullptr)
    for (int i = 0; i < 5; ++i)
      if (std::strcmp(value, kNames[i]) == 0) return i;
  return static_cast<int>(Level::warn);
}

std::atomic<int> g_level{-1};

}  // namespace

Level level() {
  int value = g_level.load(std::memory_order_relaxed);
  if (value < 0) {
    value = level_from_environment();
    g_level.store(value, std::memory_order_relaxed);
  }
  return static_cast<Level>(value);
}

void set_level(Level level) {
  g_level.store(static_cast<int>(level), std::memory_order_relaxed);
}

void write(Level level, const char* component, const char* format, ...) {
  const int saved = errno;
  char line[2048];
  int used = std::snprintf(line, sizeof line, "rocbridge: %s: %s: ", kNames[static_cast<int>(level)], component);
  va_list arguments;
  va_start(arguments, format);
  const int body = std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, arguments);
  va_end(arguments);
  used += body < 0 ? 0 : body;
  if (used > static_cast<int>(sizeof line) - 2) used = static_cast<int>(sizeof line) - 2;
  line[used++] = '\n';
  os::write_stderr(line, static_cast<std::size_t>(used));
  errno = saved;
}

}  // namespace rb::log
