// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The environment in which a program loads our CUDA libraries instead of any other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/os_launch.hpp"
#include "base/result.hpp"
#include "inspect/places.hpp"
#include "trace/collector.hpp"

namespace rb::inspect {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// LD_PRELOAD and LD_LIBRARY_PATH with ours first and what the user has set kept behind.
/// Faults: "missing-library" if the folder's path cannot stand in LD_LIBRARY_PATH (a colon or semicolon).
Result<Variables> shim_environment(const Places& places);

/// Replaces or adds one variable.
void set_variable(Variables& variables, const std::string& name, const std::string& value);

/// Runs a program while a collector takes its records into `trace_dir`. `statistics` gets what was collected.
/// Faults: the collector's and the launch's.
Result<os::Ended> run_traced(const os::Launch& launch, const std::string& trace_dir,
                             trace::Collector::Statistics* statistics);

/// A new empty folder below the system's folder for temporary files, removed with its content when the object dies
/// unless keep() was called.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace rb::inspect
