// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a run has to say at its end, on standard error.
#pragma once

#include "inspect/run.hpp"

namespace rb::cli {

/// One line of counts (left out when `quiet`), then one line a finding (ten at most, the rest counted).
void print_run_summary(const inspect::Run& run, int signal, bool quiet);

/// "gfx1200 AMD Radeon RX 9060 XT (software device, unverified on silicon)".
std::string device_line(const inspect::Device& device);

}  // namespace rb::cli
