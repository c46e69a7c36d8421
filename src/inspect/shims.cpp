// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/shims.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rb::inspect {
namespace {

std::string with_users(const std::string& ours, const char* variable) {
  const char* users = std::getenv(variable);
  return users == nullptr || *users == '\0' ? ours : ours + ":" + users;
}

}  // namespace

Result<Variables> shim_environment(const Places& places) {
  if (places.cuda.find_first_of(":;") != std::string::npos) {
    Fault fault = fail(Errc::not_found, "missing-library",
                       "the loader cannot be given the folder %s: its path holds a "
                       "colon or semicolon",
                       places.cuda.c_str());
    fault.remedy = "move or install rocbridge into a folder without one";
    return fault;
  }
  // LD_PRELOAD is split at blanks too. Then the names alone stand there and LD_LIBRARY_PATH finds them.
  const bool blank = places.cuda.find_first_of(" \t\n") != std::string::npos;
  std::string preload;
  for (const std::string& path : preload_list(places.cuda)) {
    preload += (preload.empty() ? "" : ":") + (blank ? std::filesystem::path(path).filename().string() : path);
  }
  return Variables{{"LD_PRELOAD", with_users(preload, "LD_PRELOAD")},
                   {"LD_LIBRARY_PATH", with_users(places.cuda, "LD_LIBRARY_PATH")}};
}

void set_variable(Variables& variables, const std::string& name, const std::string& value) {
  for (auto& [key, old] : variables) {
    if (key != name) continue;
    old = value;
    return;
  }
  variables.emplace_back(name, value);
}

Result<os::Ended> run_traced(const os::Launch& launch, const std::string& trace_dir,
                             trace::Collector::Statistics* statistics) {
  RB_ASSIGN(auto collector, trace::Collector::start(trace_dir));
  auto ended = os::launch(launch, {});
  *statistics = collector->stop();
  return ended;
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  const auto base = std::filesystem::temp_directory_path(error);
  std::string pattern = (error ? std::string("/tmp") : base.string()) + "/rocbridge-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    Fault fault = fail(Errc::not_found, "missing-folder", "no temporary folder could be made (%s): %s", pattern.c_str(),
                       std::strerror(errno));
    fault.remedy = "set TMPDIR to a folder that can be written";
    return fault;
  }
  return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace rb::inspect
