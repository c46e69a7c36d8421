// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cli/command.hpp"
#include "cli/device_options.hpp"
#include "cli/summary.hpp"
#include "inspect/coverage.hpp"
#include "inspect/run.hpp"
#include "inspect/shims.hpp"

namespace rb::cli {
namespace {

/// Sets what api/programs.toml says for a known program, except what the user has set. False: unknown name.
bool apply_program(const std::string& name, inspect::Variables& variables) {
  for (std::size_t i = 0; i < inspect::kProgramCount; ++i) {
    const auto& program = inspect::kPrograms[i];
    if (name != program.name) continue;
    std::string told;
    for (const auto& item : inspect::split_list(program.variables)) {
      const std::size_t equal = item.find('=');
      const std::string variable = item.substr(0, equal);
      if (std::getenv(variable.c_str()) != nullptr) continue;
      inspect::set_variable(variables, variable, item.substr(equal + 1));
      told += " " + item;
    }
    std::fprintf(stderr, "rocbridge: as %s (%s):%s\n", program.name, program.help,
                 told.empty() ? " all set by you" : told.c_str());
    return true;
  }
  return false;
}

std::string program_names() {
  std::string names;
  for (std::size_t i = 0; i < inspect::kProgramCount; ++i)
    names += std::string(i ? ", " : "") + inspect::kPrograms[i].name;
  return names;
}

}  // namespace

int run_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json"});
  std::string trace_dir, as;
  int error_code = 0;
  bool trace_off = false;
  std::vector<std::string> application;
  DeviceOptions device;
  command.app().add_option("--trace", trace_dir, "keep the trace in this folder")->option_text("DIR");
  command.app().add_flag("--no-trace", trace_off, "record nothing: no summary, no findings, no cost");
  command.app().add_option("--as", as, "steer the program as a known one: " + program_names())->option_text("NAME");
  command.app()
      .add_option("--error-exitcode", error_code, "exit code if the program returns 0 and there are findings")
      ->check(CLI::Range(0, 255))
      ->option_text("N");
  device.add_to(command.app());
  // Everything from the program's name on is the program's.
  command.app().prefix_command();
  command.app().footer("APP...  the program and its arguments, best after --");
  if (auto code = command.parse(args)) return *code;
  application = command.app().remaining();
  if (!application.empty() && application.front() == "--") application.erase(application.begin());
  if (application.empty()) return command.usage("no program was given");
  if (const std::string reason = device.problem(); !reason.empty()) return command.usage(reason);
  if (trace_off && (!trace_dir.empty() || error_code != 0))
    return command.usage("--no-trace leaves nothing for --trace or --error-exitcode");

  auto places = inspect::find_places();
  if (!places) return command.fail(places.fault());
  auto variables = inspect::shim_environment(*places);
  if (!variables) return command.fail(variables.fault());
  if (!as.empty() && !apply_program(as, *variables))
    return command.usage("there is no program profile \"" + as + "\"; known are " + program_names());
  device.set(*variables);

  os::Launch launch;
  launch.arguments = application;
  if (trace_off) {
    inspect::set_variable(*variables, "ROCBRIDGE_TRACE", "off");
    launch.variables = *variables;
    const auto ended = os::launch(launch, {});
    return ended ? ended->code : command.fail(ended.fault());
  }

  std::optional<inspect::TemporaryFolder> temporary;
  if (trace_dir.empty()) {
    auto made = inspect::TemporaryFolder::make();
    if (!made) return command.fail(made.fault());
    temporary.emplace(std::move(*made));
    trace_dir = temporary->path();
  }
  trace_dir = std::filesystem::absolute(trace_dir).string();
  const char* level = std::getenv("ROCBRIDGE_TRACE");
  inspect::set_variable(*variables, "ROCBRIDGE_TRACE",
                        level != nullptr && std::string(level) == "full" ? "full" : "calls");
  inspect::set_variable(*variables, "ROCBRIDGE_TRACE_DIR", trace_dir);
  launch.variables = *variables;

  trace::Collector::Statistics statistics;
  const auto ended = inspect::run_traced(launch, trace_dir, &statistics);
  if (!ended) return command.fail(ended.fault());
  auto run = inspect::read_run(trace_dir);
  if (!run) {
    command.fail(run.fault());
    return ended->code != 0 ? ended->code : exit_code(run.fault());
  }
  if (!statistics.failure.empty())
    std::fprintf(stderr, "rocbridge run: the trace is not whole: %s\n", statistics.failure.c_str());
  print_run_summary(*run, ended->signal, command.quiet());
  return ended->code == 0 && !run->findings.empty() ? error_code : ended->code;
}

}  // namespace rb::cli
