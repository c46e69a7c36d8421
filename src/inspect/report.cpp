// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/report.hpp"

#include <cmath>

#include "inspect/coverage.hpp"

namespace rb::inspect {
namespace {

using nlohmann::ordered_json;

/// JSON has no NaN and no infinity: the one means not measured, the other is told as text.
ordered_json measured(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

ordered_json drift_json(const std::optional<Drift>& drift, std::uint64_t checked, std::uint64_t unchecked) {
  ordered_json json = {
      {"value", nullptr}, {"bound", nullptr}, {"entry", nullptr}, {"tensor", nullptr}, {"reference", nullptr}};
  if (drift) {
    json = {{"value", measured(drift->relative_l1)},
            {"bound", measured(drift->bound)},
            {"entry", drift->entry},
            {"tensor", drift->tensor},
            {"reference", drift->reference}};
  }
  json["checked"] = checked;
  json["unchecked"] = unchecked;
  return json;
}

ordered_json coverage_json() {
  ordered_json json = ordered_json::object();
  for (const auto& [key, count] : count_by_library()) {
    json[key] = {
        {"mapped", count.mapped}, {"emulated", count.emulated}, {"trapped", count.trapped}, {"total", count.total}};
  }
  return json;
}

ordered_json entry_json(const Used& used) {
  ordered_json json = {{"name", used.name}, {"library", used.library}, {"targets", used.targets}};
  json["status"] = used.status.empty() ? ordered_json() : ordered_json(used.status);
  json["family"] = used.family.empty() ? ordered_json() : ordered_json(used.family);
  json["calls"] = used.calls;
  json["verdict"] = used.verdict ? ordered_json(verdict_word(*used.verdict)) : ordered_json();
  json["checked"] = used.computes ? ordered_json(used.checked) : ordered_json();
  json["unchecked"] = used.computes ? ordered_json(used.unchecked) : ordered_json();
  json["relative_l1"] = used.worst ? measured(used.worst->relative_l1) : ordered_json();
  json["bound"] = used.worst ? measured(used.worst->bound) : ordered_json();
  json["resolution"] = used.resolution ? measured(*used.resolution) : ordered_json();
  json["notes"] = used.notes;
  return json;
}

ordered_json stream_json(const StreamRow& row) {
  return {{"process", row.process},
          {"thread", row.thread},
          {"call", row.call},
          {"parent", row.parent == 0 ? ordered_json() : ordered_json(row.parent)},
          {"start_us", row.start_us},
          {"duration_us", row.ended ? ordered_json(row.duration_us) : ordered_json()},
          {"entry", row.entry},
          {"library", row.library},
          {"arguments", row.arguments},
          {"layout", row.layout},
          {"amd", row.amd},
          {"status", row.ended ? ordered_json(row.status) : ordered_json()},
          {"verdict", row.verdict.empty() ? ordered_json() : ordered_json(row.verdict)},
          {"reason", row.reason.empty() ? ordered_json() : ordered_json(row.reason)}};
}

}  // namespace

const char* outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "PASS";
    case Outcome::fail:
      return "FAIL";
    case Outcome::trapped:
      return "TRAPPED";
    case Outcome::unchecked:
      break;
  }
  return "UNCHECKED";
}

Outcome outcome_of(const Run& run, const std::string& policy) {
  bool integrity = false;
  for (const auto& finding : run.findings) integrity = integrity || finding.kind != "PROGRAM";
  if (integrity) return policy == "warn" ? Outcome::fail : Outcome::trapped;
  if (!run.findings.empty()) return Outcome::fail;
  if (run.checked == 0 || run.unchecked > 0 || run.lost > 0 || run.unended > 0) return Outcome::unchecked;
  return Outcome::pass;
}

ordered_json report_json(const Run& run, const ordered_json& settings, const std::string& policy,
                         const std::optional<PyTorchDrift>& pytorch, bool with_stream) {
  ordered_json json = {{"schema", "rocbridge.inspect/1"}, {"version", ROCBRIDGE_VERSION}, {"settings", settings}};
  json["state"] = "finished";
  json["device"] = nullptr;
  if (!run.devices.empty()) {
    const Device& device = run.devices.front();
    json["device"] = {{"name", device.name},
                      {"gfx", device.gfx},
                      {"wave", device.wave},
                      {"software", device.software},
                      {"verified_on_silicon", false},
                      {"directory", device.directory},
                      {"memory_bytes", device.memory_bytes}};
  }
  ordered_json headline = {{"coverage", coverage_json()}};
  headline["max_relative_l1"] = drift_json(run.max_drift, run.checked, run.unchecked);
  headline["max_relative_l1_pytorch"] =
      pytorch ? drift_json(pytorch->drift, pytorch->checked, pytorch->unchecked) : ordered_json();
  headline["memory_footprint"] = nullptr;
  if (run.memory.known)
    headline["memory_footprint"] = {{"peak_bytes", run.memory.peak_bytes}, {"by_kind", run.memory.by_kind}};
  headline["status"] = outcome_word(outcome_of(run, policy));
  json["headline"] = headline;

  json["entries"] = ordered_json::array();
  for (const auto& [key, used] : run.entries) json["entries"].push_back(entry_json(used));
  json["findings"] = ordered_json::array();
  for (const auto& finding : run.findings) {
    json["findings"].push_back({{"kind", finding.kind},
                                {"entry", finding.entry.empty() ? ordered_json() : ordered_json(finding.entry)},
                                {"reason", finding.reason.empty() ? ordered_json() : ordered_json(finding.reason)},
                                {"times", finding.times},
                                {"line", finding.line}});
  }
  json["trace"] = {{"processes", run.processes}, {"calls", run.calls}, {"lost", run.lost}, {"unended", run.unended}};
  if (with_stream) {
    json["stream"] = ordered_json::array();
    for (const auto& row : run.stream) json["stream"].push_back(stream_json(row));
  }
  return json;
}

}  // namespace rb::inspect
