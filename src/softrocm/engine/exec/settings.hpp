// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Settings that only the engine reads, from the environment it inherits.
#pragma once

#include <string>

namespace soft::engine {

struct Settings {
  unsigned threads = 1;  ///< ROCBRIDGE_SOFT_THREADS; default: the processors this process may use
  std::string fault;     ///< ROCBRIDGE_SOFT_FAULT: a fault to show on purpose, "" for none
};

const Settings& settings();

/// Faults of the device itself, shown by the executor at the next fill: "stuck" (it never ends), "crash" (the engine's
/// process ends). All others are shown by the computing operations (engine/math/fault.hpp).
bool is_shown_by_executor(const std::string& fault);

}  // namespace soft::engine
