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

}  // namespace soft::engine
