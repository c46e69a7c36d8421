// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/presets.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

namespace rb::inspect {
namespace {

constexpr const char* kTorch = "torch-conv2d";

/// The Python that has PyTorch: $ROCBRIDGE_PYTHON, else the client of the build tree.
Result<std::string> torch_python(const Places& places) {
  if (const char* set = std::getenv("ROCBRIDGE_PYTHON"); set != nullptr && *set != '\0') return std::string(set);
  const auto build = std::filesystem::path(places.device).parent_path().parent_path();
  const auto python = build / "clients/torch-2.3.0/bin/python";
  std::error_code ignored;
  if (std::filesystem::exists(python, ignored)) return python.string();
  Fault fault = fail(Errc::not_found, "missing-client", "no Python with PyTorch: %s is not there", python.c_str());
  fault.remedy = "run make clients, or set ROCBRIDGE_PYTHON to an interpreter that has torch 2.3";
  return fault;
}

void add_number(std::vector<std::string>& arguments, const char* flag, long long value, long long absent) {
  if (value == absent) return;
  arguments.push_back(flag);
  arguments.push_back(std::to_string(value));
}

std::string text_of(const nlohmann::json& row, const char* key) {
  return row.value(key, std::string());
}

}  // namespace

const std::vector<PresetRow>& presets() {
  static const auto& rows = *new std::vector<PresetRow>{
      {"conv2d", "cuDNN 2-D convolutions with shapes from ResNet, forward and both gradients"},
      {"gemm", "cuBLAS matrix products"},
      {kTorch, "stock PyTorch's conv2d, forward and both gradients, on both of its cuDNN paths (make clients)"},
  };
  return rows;
}

std::string impossible(const Workload& workload) {
  bool known = false;
  std::string names;
  for (const auto& row : presets()) {
    known = known || workload.preset == row.name;
    names += std::string(names.empty() ? "" : ", ") + row.name;
  }
  if (!known) return "there is no preset \"" + workload.preset + "\"; known are " + names;
  if (workload.seq != 0) return "--seq belongs to attention presets; " + workload.preset + " has no sequence";
  if (workload.preset != "conv2d" && !workload.api.empty())
    return "--api belongs to conv2d; " + workload.preset + " has no such choice";
  if (workload.preset == kTorch && workload.size != 0)
    return "--size belongs to conv2d and gemm; torch-conv2d has fixed shapes";
  return "";
}

Result<std::vector<Step>> steps_of(const Workload& workload, const Places& places) {
  Step step;
  if (workload.preset != kTorch) {
    if (places.workload.empty()) {
      Fault fault = fail(Errc::not_found, "missing-program", "rocbridge-workload was not found beside this program");
      fault.remedy = "build everything (make build), or install again";
      return fault;
    }
    step.arguments = {places.workload, workload.preset};
    if (!workload.precision.empty()) {
      step.arguments.push_back("--precision");
      step.arguments.push_back(workload.precision);
    }
    if (!workload.api.empty()) {
      step.arguments.push_back("--api");
      step.arguments.push_back(workload.api);
    }
    add_number(step.arguments, "--batch", workload.batch, 0);
    add_number(step.arguments, "--size", workload.size, 0);
    add_number(step.arguments, "--seed", workload.seed, -1);
    return std::vector<Step>{step};
  }
  RB_ASSIGN(const std::string python, torch_python(places));
  if (places.presets.empty()) {
    Fault fault = fail(Errc::not_found, "missing-file", "the Python presets were not found beside this program");
    fault.remedy = "run from the build tree, or install again";
    return fault;
  }
  step.arguments = {python, places.presets + "/torch_conv2d.py"};
  if (!workload.precision.empty()) {
    step.arguments.push_back("--precision");
    step.arguments.push_back(workload.precision);
  }
  add_number(step.arguments, "--batch", workload.batch, 0);
  add_number(step.arguments, "--seed", workload.seed, -1);
  step.measures_pytorch = true;
  Step classic = step;
  step.variables = {{"TORCH_CUDNN_V8_API_DISABLED", "0"}};
  classic.variables = {{"TORCH_CUDNN_V8_API_DISABLED", "1"}};
  return std::vector<Step>{step, classic};
}

void read_pytorch_lines(const std::string& output, std::optional<PyTorchDrift>* drift, std::vector<Finding>* findings) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line)) {
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || row.contains("left_out")) continue;
    if (!*drift) {
      drift->emplace();
      (*drift)->drift.relative_l1 = -1;
    }
    PyTorchDrift& all = **drift;
    const std::string place = text_of(row, "case") + " " + text_of(row, "precision") + " " + text_of(row, "layout") +
                              " (" + text_of(row, "path") + " path)";
    if (row.contains("refused")) {
      ++all.unchecked;
      findings->push_back({"PYTORCH", "", "refused", "PYTORCH " + place + ": " + text_of(row, "refused"), 1});
      continue;
    }
    ++all.checked;
    const auto& value = row["relative_l1"];
    const double measured = value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
    const double bound = row.value("bound", 0.0);
    if (!row.value("good", false)) {
      findings->push_back({"PYTORCH", "", "drift",
                           "PYTORCH " + place + " " + text_of(row, "tensor") + " " +
                               text("%.3g > %.3g", measured, bound) + " against CPU PyTorch",
                           1});
    }
    if (measured > all.drift.relative_l1)
      all.drift = {measured, bound, place, text_of(row, "tensor"), "CPU PyTorch, fp64"};
  }
}

}  // namespace rb::inspect
