// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/controls.hpp"
#include "base/os_launch.hpp"
#include "cli/command.hpp"
#include "cli/summary.hpp"
#include "inspect/coverage.hpp"
#include "inspect/presets.hpp"
#include "inspect/run.hpp"
#include "inspect/shims.hpp"

namespace rb::cli {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// What was looked at, one row each. `state` is "ok", "missing" or "absent" (nothing that is needed).
struct Findings {
  ordered_json rows = ordered_json::array();
  bool missing = false;

  void add(const char* what, const char* state, const std::string& text, const std::string& remedy = "") {
    missing = missing || std::string(state) == "missing";
    rows.push_back({{"what", what},
                    {"state", state},
                    {"text", text},
                    {"remedy", remedy.empty() ? ordered_json() : ordered_json(remedy)}});
  }
};

constexpr const char* kBuild = "build everything (make build), or install again";

void look_at_libraries(const inspect::Places& places, Findings& findings) {
  std::string missing;
  for (std::size_t i = 0; i < inspect::kLibraryCount; ++i) {
    std::error_code ignored;
    if (!fs::exists(fs::path(places.cuda) / inspect::kLibraries[i].soname, ignored))
      missing += std::string(missing.empty() ? "" : ", ") + inspect::kLibraries[i].soname;
  }
  if (missing.empty())
    findings.add("CUDA libraries", "ok",
                 std::to_string(inspect::kLibraryCount) + " libraries and the core in " + places.cuda);
  else
    findings.add("CUDA libraries", "missing", missing + " in " + places.cuda, kBuild);
  findings.add("software device", "ok", "generation 6 in " + places.soft + ", " + places.device);
}

/// Directories of real ROCm: $ROCBRIDGE_ROCM_DIR and /opt/rocm*.
void look_for_rocm(Findings& findings) {
  std::vector<std::string> found;
  const std::string set = controls::text("rocm.dir");
  if (!set.empty() && set != "auto") {
    std::error_code ignored;
    if (fs::is_directory(set, ignored))
      found.push_back(set + " (set)");
    else
      findings.add("ROCm", "missing", "rocm.dir is " + set + ", which is no folder",
                   "set it to a folder of AMD libraries, or to auto");
  }
  std::error_code error;
  for (const auto& item : fs::directory_iterator("/opt", error)) {
    const std::string name = item.path().filename().string();
    std::error_code ignored;
    if (name.starts_with("rocm") && fs::exists(item.path() / "lib/libamdhip64.so.6", ignored))
      found.push_back(item.path().string());
  }
  std::string text;
  for (const auto& folder : found) text += (text.empty() ? "" : ", ") + folder;
  if (found.empty())
    findings.add("ROCm", "absent", "no ROCm 6 in /opt; the software device is used");
  else
    findings.add("ROCm", "ok", text);
}

/// Runs the smallest matrix product through the libraries, on whatever device the settings choose.
void try_the_device(const inspect::Places& places, Findings& findings) {
  if (places.workload.empty()) {
    findings.add("device", "missing", "rocbridge-workload was not found beside this program", kBuild);
    return;
  }
  auto environment = inspect::shim_environment(places);
  auto folder = inspect::TemporaryFolder::make();
  if (!environment || !folder) {
    const Fault& fault = !environment ? environment.fault() : folder.fault();
    findings.add("device", "missing", fault.text, fault.remedy);
    return;
  }
  inspect::set_variable(*environment, "ROCBRIDGE_TRACE", "calls");
  inspect::set_variable(*environment, "ROCBRIDGE_TRACE_DIR", folder->path());
  inspect::set_variable(*environment, "ROCBRIDGE_INTEGRITY", "all");
  inspect::set_variable(*environment, "ROCBRIDGE_INTEGRITY_WAIT", "call");
  os::Launch launch;
  launch.arguments = {places.workload, "gemm", "--size", "16"};
  launch.variables = *environment;
  launch.capture_output = true;
  trace::Collector::Statistics statistics;
  const auto ended = inspect::run_traced(launch, folder->path(), &statistics);
  if (!ended) {
    findings.add("device", "missing", ended.fault().text, ended.fault().remedy);
    return;
  }
  const auto run = inspect::read_run(folder->path());
  if (ended->code != 0 || !run || run->devices.empty() || !run->findings.empty()) {
    std::string text = "a small matrix product failed: the program returned " + std::to_string(ended->code);
    if (run && !run->findings.empty()) text += "; " + run->findings.front().line;
    findings.add("device", "missing", text, "run rocbridge inspect gemm for its messages");
    return;
  }
  const auto& device = run->devices.front();
  findings.add("device", "ok",
               device_line(device) + ", wave " + std::to_string(device.wave) + ", " +
                   bytes(static_cast<double>(device.memory_bytes)) + ", from " + device.directory +
                   (device.choice.empty() ? "" : " (" + device.choice + ")"));
}

void look_for_clients(const inspect::Places& places, Findings& findings) {
  inspect::Workload workload;
  workload.preset = "torch-conv2d";
  const auto steps = inspect::steps_of(workload, places);
  if (!steps)
    findings.add("PyTorch client", "absent", steps.fault().text, steps.fault().remedy);
  else
    findings.add("PyTorch client", "ok", steps->front().arguments.front());
}

ordered_json settings_json() {
  ordered_json list = ordered_json::array();
  for (unsigned i = 0; i < controls::kRowCount; ++i) {
    const auto& row = controls::kRows[i];
    controls::Origin origin = controls::Origin::fallback;
    const std::string value = controls::text(row.key, &origin);
    const char* from = origin == controls::Origin::environment ? "environment"
                       : origin == controls::Origin::file      ? "file"
                                                               : "default";
    list.push_back(
        {{"key", row.key}, {"value", value}, {"origin", from}, {"variable", row.variable}, {"help", row.help}});
  }
  return list;
}

std::string page(const ordered_json& json, std::size_t width, bool color) {
  Table looked;
  looked.columns = {{"what"}, {"state"}, {"found"}};
  for (const auto& row : json["checks"]) {
    const std::string state = row["state"];
    std::string text = row["text"];
    if (!row["remedy"].is_null()) text += "; " + row["remedy"].get<std::string>();
    looked.rows.push_back({row["what"].get<std::string>(),
                           Cell(state, state == "ok"        ? Tone::good
                                       : state == "missing" ? Tone::bad
                                                            : Tone::dim),
                           text});
  }
  Table settings;
  settings.columns = {{"setting"}, {"value"}, {"origin"}, {"variable"}, {"help"}};
  for (const auto& row : json["settings"]) {
    settings.rows.push_back(
        {row["key"].get<std::string>(), row["value"].get<std::string>(),
         Cell(row["origin"].get<std::string>(), row["origin"] == "default" ? Tone::dim : Tone::warn),
         row["variable"].get<std::string>(), row["help"].get<std::string>()});
  }
  // The findings are sentences: they wrap rather than being cut.
  return "rocbridge " + json["version"].get<std::string>() + "\n\n" + render_table(looked, 0, color) + "\n" +
         render_table(settings, width, color);
}

}  // namespace

int doctor_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json"});
  if (auto code = command.parse(args)) return *code;
  Findings findings;
  findings.add("program", "ok", "rocbridge " ROCBRIDGE_VERSION " in " + inspect::program_folder());
  const auto places = inspect::find_places();
  if (!places) {
    findings.add("libraries", "missing", places.fault().text, places.fault().remedy);
  } else {
    look_at_libraries(*places, findings);
    try_the_device(*places, findings);
    look_for_clients(*places, findings);
  }
  look_for_rocm(findings);
  const ordered_json json = {{"schema", "rocbridge.doctor/1"},
                             {"version", ROCBRIDGE_VERSION},
                             {"checks", findings.rows},
                             {"settings", settings_json()}};
  const int code = findings.missing ? kMissing : kFine;
  return command.json() ? command.write_json(json, code)
                        : command.write(page(json, command.width(), command.color()), code);
}

}  // namespace rb::cli
