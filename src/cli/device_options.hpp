// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The flags of inspect and run that choose the device and the policy; the same settings as the environment's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "inspect/shims.hpp"

namespace rb::cli {

struct DeviceOptions {
  std::string arch;    ///< "": the profile that is the default
  int wave = 0;        ///< 0: the profile's default
  std::string policy;  ///< "": trap
  bool strict = false;

  void add_to(CLI::App& app);
  /// Why the settings are impossible; "" if they are fine.
  std::string problem() const;
  /// The policy in force: the flag's, else the environment's, else trap.
  std::string effective_policy() const;
  void set(inspect::Variables& variables) const;
};

}  // namespace rb::cli
