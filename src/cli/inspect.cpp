// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/command.hpp"
#include "cli/device_options.hpp"
#include "cli/summary.hpp"
#include "inspect/coverage.hpp"
#include "inspect/presets.hpp"
#include "inspect/report.hpp"
#include "inspect/run.hpp"
#include "inspect/shims.hpp"

namespace rb::cli {
namespace {

using nlohmann::ordered_json;

Tone tone_of(const std::string& status) {
  return status == "PASS" ? Tone::good : status == "UNCHECKED" ? Tone::warn : Tone::bad;
}

std::string drift_line(const ordered_json& drift) {
  if (drift.is_null()) return "- (not measured)";
  std::string text = drift["value"].is_null()
                         ? "- (nothing compared)"
                         : number(drift["value"]) + " < " + number(drift["bound"]) + "  " +
                               drift["entry"].get<std::string>() + " " + drift["tensor"].get<std::string>() +
                               ", against " + drift["reference"].get<std::string>();
  return text + "; " + drift["checked"].dump() + " checked, " + drift["unchecked"].dump() + " unchecked";
}

std::string cards(const ordered_json& json, const inspect::Run& run, bool color) {
  const auto& headline = json["headline"];
  std::string out;
  auto card = [&out](const char* name, const std::string& value) {
    std::string label = name;
    label.resize(18, ' ');
    out += label + value + "\n";
  };
  const std::string status = headline["status"];
  card("status", paint(status, tone_of(status), color));
  card("device", run.devices.empty() ? "- (none was used)" : device_line(run.devices.front()));
  std::string coverage;
  for (const auto& key : {"cudnn8", "cublas12", "cudart12", "cuda"}) {
    if (!headline["coverage"].contains(key)) continue;
    const auto& count = headline["coverage"][key];
    const int done = count["mapped"].get<int>() + count["emulated"].get<int>();
    coverage += (coverage.empty() ? "" : "; ") + std::string(key) + " " + std::to_string(done) + " of " +
                count["total"].dump() + " (● " + count["mapped"].dump() + ", ◆ " + count["emulated"].dump() + ", ■ " +
                count["trapped"].dump() + ")";
  }
  card("exports", coverage);
  card("max relative L1", drift_line(headline["max_relative_l1"]));
  if (!headline["max_relative_l1_pytorch"].is_null())
    card("  against PyTorch", drift_line(headline["max_relative_l1_pytorch"]));
  std::string memory = "- (not recorded)";
  if (!headline["memory_footprint"].is_null()) {
    memory = bytes(headline["memory_footprint"]["peak_bytes"].get<double>());
    std::string kinds;
    for (const auto& [kind, size] : headline["memory_footprint"]["by_kind"].items())
      kinds += (kinds.empty() ? "" : ", ") + kind + " " + bytes(size.get<double>());
    if (!kinds.empty()) memory += " (" + kinds + ")";
  }
  card("peak memory", memory);
  card("calls", std::to_string(run.calls) + (run.lost > 0 ? "; " + std::to_string(run.lost) + " records lost" : ""));
  return out;
}

Table entries_table(const ordered_json& json) {
  Table table;
  table.columns = {{"CUDA API entry"}, {"AMD target"},  {"subsystem"}, {"status"}, {"calls", true},
                   {"drift", true},    {"bound", true}, {"verdict"},   {"notes"}};
  auto joined = [](const ordered_json& list) {
    std::string text;
    for (const auto& item : list) text += (text.empty() ? "" : ", ") + item.get<std::string>();
    return text;
  };
  // The functions that the row of api/ names come first; two are shown, the object has them all.
  auto targets = [](const ordered_json& entry) {
    std::vector<std::string> names;
    const auto* row = inspect::find_entry(entry["name"].get<std::string>());
    for (const auto& name : row ? inspect::split_list(row->targets) : std::vector<std::string>{})
      for (const auto& seen : entry["targets"])
        if (seen == name) names.push_back(name);
    for (const auto& seen : entry["targets"])
      if (std::find(names.begin(), names.end(), seen.get<std::string>()) == names.end()) names.push_back(seen);
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < 2; ++i) text += (i ? ", " : "") + names[i];
    return names.size() > 2 ? text + " +" + std::to_string(names.size() - 2) : text;
  };
  for (const auto& entry : json["entries"]) {
    const std::string status = entry["status"].is_null() ? "?" : entry["status"].get<std::string>();
    const std::string sign = status == "mapped" ? "● " : status == "emulated" ? "◆ " : status == "trapped" ? "■ " : "";
    const std::string verdict = entry["verdict"].is_null() ? "" : entry["verdict"].get<std::string>();
    Cell shown(verdict.empty()          ? "–"
               : verdict == "pass"      ? "✓ pass"
               : verdict == "untrusted" ? "? untrusted"
               : verdict == "unchecked" ? "– unchecked"
                                        : "! " + verdict,
               verdict == "pass"        ? Tone::good
               : verdict.empty()        ? Tone::dim
               : verdict == "unchecked" ? Tone::warn
                                        : Tone::bad);
    const std::string family = entry["family"].is_null() ? "" : " " + entry["family"].get<std::string>();
    table.rows.push_back({entry["name"].get<std::string>(), targets(entry),
                          entry["library"].get<std::string>() + family,
                          Cell(sign + status, status == "trapped" ? Tone::bad : Tone::none), entry["calls"].dump(),
                          number(entry["relative_l1"]), number(entry["bound"]), shown, joined(entry["notes"])});
  }
  return table;
}

Table stream_table(const ordered_json& json) {
  Table table;
  table.columns = {{"us", true}, {"thread", true}, {"entry"}, {"layout"}, {"AMD call"}, {"status", true}, {"verdict"}};
  auto joined = [](const ordered_json& list) {
    std::string text;
    for (const auto& item : list) text += (text.empty() ? "" : "; ") + item.get<std::string>();
    return text;
  };
  for (const auto& row : json["stream"]) {
    char start[32];
    std::snprintf(start, sizeof start, "%.1f", row["start_us"].get<double>());
    const std::string layout = joined(row["layout"]);
    table.rows.push_back({start, row["thread"].dump(), row["entry"].get<std::string>(),
                          layout.empty() ? "as is" : layout, joined(row["amd"]),
                          row["status"].is_null() ? "-" : row["status"].dump(),
                          row["verdict"].is_null() ? "" : row["verdict"].get<std::string>()});
  }
  return table;
}

/// What the workload says of itself: the values that it ran with, where no option set them.
ordered_json told_settings(const std::string& output) {
  const auto json = ordered_json::parse(output, nullptr, false);
  return json.is_object() ? json : ordered_json::object();
}

}  // namespace

int inspect_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json", "csv", "md"});
  std::vector<std::string> names;
  inspect::Workload workload;
  DeviceOptions device;
  std::string trace_dir;
  bool stream = false;
  std::string help;
  for (const auto& row : inspect::presets()) help += std::string("\n  ") + row.name + ": " + row.help;
  command.app().add_option("PRESET", names, "what to run:" + help);
  device.add_to(command.app());
  command.app()
      .add_option("--precision", workload.precision, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->option_text("TYPE");
  command.app()
      .add_option("--api", workload.api, "conv2d through cuDNN's classic or graph functions")
      ->check(CLI::IsMember({"classic", "graph"}))
      ->option_text("NAME");
  command.app().add_option("--batch", workload.batch, "batch size")->check(CLI::Range(1, 4096))->option_text("N");
  command.app()
      .add_option("--size", workload.size, "height and width of conv2d; M, N and K of gemm")
      ->check(CLI::Range(1, 16384))
      ->option_text("N");
  command.app()
      .add_option("--seq", workload.seq, "sequence length of attention presets")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N");
  command.app()
      .add_option("--seed", workload.seed, "seed of the data")
      ->check(CLI::Range(0LL, 1LL << 40))
      ->option_text("N");
  command.app().add_option("--trace", trace_dir, "keep the trace in this folder")->option_text("DIR");
  command.app().add_flag("--stream", stream, "list every call, too");
  if (auto code = command.parse(args)) return *code;
  if (names.empty()) return command.usage("PRESET is missing");
  if (const std::string reason = device.problem(); !reason.empty()) return command.usage(reason);
  for (const auto& name : names) {
    workload.preset = name;
    if (const std::string reason = inspect::impossible(workload); !reason.empty()) return command.usage(reason);
  }

  auto places = inspect::find_places();
  if (!places) return command.fail(places.fault());
  auto environment = inspect::shim_environment(*places);
  if (!environment) return command.fail(environment.fault());
  std::optional<inspect::TemporaryFolder> temporary;
  if (trace_dir.empty()) {
    auto made = inspect::TemporaryFolder::make();
    if (!made) return command.fail(made.fault());
    temporary.emplace(std::move(*made));
    trace_dir = temporary->path();
  }
  trace_dir = std::filesystem::absolute(trace_dir).string();
  device.set(*environment);
  inspect::set_variable(*environment, "ROCBRIDGE_TRACE", "calls");
  inspect::set_variable(*environment, "ROCBRIDGE_TRACE_DIR", trace_dir);
  inspect::set_variable(*environment, "ROCBRIDGE_INTEGRITY", "all");
  inspect::set_variable(*environment, "ROCBRIDGE_INTEGRITY_WAIT", "call");

  std::optional<inspect::PyTorchDrift> pytorch;
  std::vector<inspect::Finding> told;
  ordered_json said = ordered_json::object();
  for (const auto& name : names) {
    workload.preset = name;
    auto steps = inspect::steps_of(workload, *places);
    if (!steps) return command.fail(steps.fault());
    for (const auto& step : *steps) {
      os::Launch launch;
      launch.arguments = step.arguments;
      launch.variables = *environment;
      for (const auto& [key, value] : step.variables) inspect::set_variable(launch.variables, key, value);
      launch.capture_output = true;
      trace::Collector::Statistics statistics;
      const auto ended = inspect::run_traced(launch, trace_dir, &statistics);
      if (!ended) return command.fail(ended.fault());
      if (!statistics.failure.empty()) {
        std::fprintf(stderr, "rocbridge inspect: the trace is not whole: %s\n", statistics.failure.c_str());
        return kMissing;
      }
      if (step.measures_pytorch)
        inspect::read_pytorch_lines(ended->output, &pytorch, &told);
      else if (names.size() == 1)
        said = told_settings(ended->output);
      if (command.verbosity() > 0) std::fputs(ended->output.c_str(), stderr);
      if (ended->code != 0 && told.empty()) {
        const std::string how = ended->signal != 0 ? "was ended by signal " + std::to_string(ended->signal)
                                                   : "returned " + std::to_string(ended->code);
        told.push_back({"PROGRAM", "", "program-failed", "PROGRAM the preset " + name + " " + how, 1});
      }
    }
  }
  auto run = inspect::read_run(trace_dir, stream);
  if (!run) return command.fail(run.fault());
  run->findings.insert(run->findings.end(), told.begin(), told.end());

  const std::string policy = device.effective_policy();
  ordered_json settings = {{"presets", names}};
  settings["arch"] = run->devices.empty() ? ordered_json(device.arch) : ordered_json(run->devices.front().gfx);
  settings["wave"] = run->devices.empty() ? ordered_json(device.wave) : ordered_json(run->devices.front().wave);
  auto setting = [&said, &settings](const char* name, bool set, const ordered_json& value) {
    settings[name] = set ? value : said.contains(name) ? said[name] : ordered_json();
  };
  setting("precision", !workload.precision.empty(), workload.precision);
  setting("api", !workload.api.empty(), workload.api);
  setting("batch", workload.batch != 0, workload.batch);
  setting("size", workload.size != 0, workload.size);
  setting("seq", workload.seq != 0, workload.seq);
  setting("seed", workload.seed >= 0, workload.seed);
  settings["policy"] = policy;
  settings["strict"] = device.strict;
  settings["controls"] = run->settings;
  const ordered_json json = inspect::report_json(*run, settings, policy, pytorch, stream);
  const int code = inspect::outcome_of(*run, policy) == inspect::Outcome::pass ? kFine : kFindings;
  if (command.json()) return command.write_json(json, code);
  if (command.format() != "table") return command.write_table(stream ? stream_table(json) : entries_table(json), code);

  std::string out =
      cards(json, *run, command.color()) + "\n" + render_table(entries_table(json), command.width(), command.color());
  if (stream) out += "\n" + render_table(stream_table(json), command.width(), command.color());
  if (!run->findings.empty()) out += "\n";
  for (const auto& finding : run->findings)
    out += finding.line + (finding.times > 1 ? " (× " + std::to_string(finding.times) + ")" : "") + "\n";
  return command.write(out, code);
}

}  // namespace rb::cli
