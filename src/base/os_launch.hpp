// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Running a program as a launcher does: with a changed environment, its own standard streams, and its exit status told
// apart from death by signal. Used by the tools; the device process is started by os::spawn.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace rb::os {

struct Launch {
  std::vector<std::string> arguments;                          ///< the first is looked up in PATH
  std::vector<std::pair<std::string, std::string>> variables;  ///< set in the child's environment
  bool capture_output = false;                                 ///< standard output goes into Ended::output
  bool quiet = false;                                          ///< standard error goes to /dev/null
};

struct Ended {
  int code = 0;    ///< exit status, or 128 + signal
  int signal = 0;  ///< 0: the program returned
  std::string output;
};

/// Starts the program and waits for it. While it runs, an interrupt from the terminal is left to the program, and
/// SIGTERM and SIGHUP are passed on. `started` gets the process id once the program runs (may be empty).
/// Faults: "missing-program" if it cannot be started.
Result<Ended> launch(const Launch& options, const std::function<void(int)>& started);

}  // namespace rb::os
