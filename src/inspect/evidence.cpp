// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/evidence.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "inspect/run.hpp"

namespace rb::inspect {

Result<std::map<std::string, Evidence>> collect_evidence(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> tests;
  for (const auto& item : fs::directory_iterator(folder, error))
    if (item.is_directory(error) && !fs::is_empty(item.path(), error)) tests.push_back(item.path());
  std::sort(tests.begin(), tests.end());
  if (tests.empty()) {
    Fault fault = fail(Errc::not_found, "missing-trace", "%s holds no folder with a trace", folder.c_str());
    fault.remedy = "run the tests first (make check)";
    return fault;
  }
  std::map<std::string, Evidence> evidence;
  for (const auto& test : tests) {
    RB_ASSIGN(const Run run, read_run(test.string()));
    for (const auto& [key, used] : run.entries) {
      if (used.successes == 0) continue;
      Evidence& row = evidence[used.name];
      row.successes += static_cast<long>(used.successes);
      row.passes += static_cast<long>(used.passes);
      row.tests.push_back(test.filename().string());
    }
  }
  return evidence;
}

}  // namespace rb::inspect
