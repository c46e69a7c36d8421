// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Where things lie, in the build tree and when installed: this program, the CUDA libraries, softrocm, the workloads.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace rb::inspect {

/// Folder of this program (build/bin, or bin/ of an installation).
std::string program_folder();

struct Places {
  std::string cuda;      ///< folder of the CUDA libraries and the core
  std::string soft;      ///< folder of softrocm's libraries, generation 6
  std::string device;    ///< rocbridge-device
  std::string workload;  ///< rocbridge-workload; "" if absent
  std::string presets;   ///< folder of the Python presets; "" if absent
};
/// Faults: "missing-library" with what is missing and the remedy.
Result<Places> find_places();

/// Full paths of all our CUDA libraries in preload order, libcudart.so.12 first, with the stand-in for the cuSPARSELt
/// that PyTorch's wheel bundles. PyTorch's objects carry DT_RPATH into NVIDIA's wheels, which LD_PRELOAD by full path
/// overrules and LD_LIBRARY_PATH does not; version nodes keep the generations of one library apart.
std::vector<std::string> preload_list(const std::string& cuda_folder);

}  // namespace rb::inspect
