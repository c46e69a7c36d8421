// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/exec/settings.hpp"

#include <cstdlib>

#include "base/os.hpp"

namespace soft::engine {
namespace {

Settings read() {
  Settings settings;
  settings.threads = rb::os::cpu_count();
  if (const char* text = std::getenv("ROCBRIDGE_SOFT_THREADS")) {
    const unsigned long value = std::strtoul(text, nullptr, 10);
    if (value >= 1 && value <= 1024) settings.threads = static_cast<unsigned>(value);
  }
  if (const char* text = std::getenv("ROCBRIDGE_SOFT_FAULT")) settings.fault = text;
  return settings;
}

}  // namespace

const Settings& settings() {
  static const Settings& instance = *new Settings(read());
  return instance;
}

bool is_shown_by_executor(const std::string& fault) {
  return fault == "stuck" || fault == "crash";
}

}  // namespace soft::engine
