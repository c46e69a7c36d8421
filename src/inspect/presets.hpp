// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The presets of `inspect`: which programs they start, and which settings each knows.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "inspect/places.hpp"
#include "inspect/report.hpp"
#include "inspect/shims.hpp"

namespace rb::inspect {

struct Workload {
  std::string preset;
  std::string precision;  ///< "": the preset's default
  std::string api;        ///< conv2d: "classic" or "graph"; "": classic
  int batch = 0;          ///< 0: the preset's default, here and below
  int size = 0;
  int seq = 0;
  long long seed = -1;  ///< -1: the preset's default
};

/// Names of all presets with what they do.
struct PresetRow {
  const char* name;
  const char* help;
};
const std::vector<PresetRow>& presets();

/// Why a workload's settings are impossible; "" if they are fine.
std::string impossible(const Workload& workload);

/// One program that a preset runs.
struct Step {
  std::vector<std::string> arguments;
  Variables variables;
  bool measures_pytorch = false;  ///< its output is JSON lines with drifts against CPU PyTorch
};
/// The programs of a preset, in order. Faults: "missing-client" if a Python preset has no interpreter with PyTorch.
Result<std::vector<Step>> steps_of(const Workload& workload, const Places& places);

/// Reads the JSON lines of a PyTorch preset into `drift`; results that were refused or out of bound become findings.
void read_pytorch_lines(const std::string& output, std::optional<PyTorchDrift>* drift, std::vector<Finding>* findings);

}  // namespace rb::inspect
