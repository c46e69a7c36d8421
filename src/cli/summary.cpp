// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/summary.hpp"

#include <cstdio>
#include <string>

namespace rb::cli {

std::string device_line(const inspect::Device& device) {
  return device.gfx + " " + device.name + (device.software ? " (software device, unverified on silicon)" : "");
}

void print_run_summary(const inspect::Run& run, int signal, bool quiet) {
  if (!quiet) {
    std::string line = "rocbridge: ";
    for (std::size_t i = 0; i < run.devices.size(); ++i) line += (i ? ", " : "") + device_line(run.devices[i]);
    if (run.devices.empty()) line += "no device was used";
    auto part = [&line](std::uint64_t count, const char* one, const char* many) {
      line += "; " + std::to_string(count) + " " + (count == 1 ? one : many);
    };
    part(run.calls, "call", "calls");
    part(run.checked, "checked", "checked");
    part(run.unchecked, "unchecked", "unchecked");
    part(run.findings.size(), "finding", "findings");
    if (run.lost > 0) part(run.lost, "record lost", "records lost");
    if (signal != 0) line += "; ended by signal " + std::to_string(signal);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < run.findings.size() && i < kShown; ++i) {
    const auto& finding = run.findings[i];
    const std::string times = finding.times > 1 ? " (× " + std::to_string(finding.times) + ")" : "";
    std::fprintf(stderr, "%s%s\n", finding.line.c_str(), times.c_str());
  }
  if (run.findings.size() > kShown) std::fprintf(stderr, "and %zu more\n", run.findings.size() - kShown);
}

}  // namespace rb::cli
