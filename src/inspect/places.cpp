// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/places.hpp"

#include <algorithm>
#include <filesystem>

#include "base/os.hpp"
#include "inspect/coverage.hpp"

namespace rb::inspect {
namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path first_of(std::initializer_list<fs::path> candidates) {
  for (const auto& candidate : candidates)
    if (present(candidate)) return candidate.lexically_normal();
  return {};
}

Fault missing(const std::string& what, const fs::path& base) {
  Fault fault =
      fail(Errc::not_found, "missing-library", "%s was not found beside this program (%s)", what.c_str(), base.c_str());
  fault.remedy = "build everything (make build), or install again";
  return fault;
}

}  // namespace

std::string program_folder() {
  static const std::string& folder =
      *new std::string(os::folder_of_code(reinterpret_cast<const void*>(&program_folder)));
  return folder;
}

Result<Places> find_places() {
  const fs::path bin = program_folder();
  Places places;
  places.cuda = first_of({bin / "../lib/cuda", bin / "../lib/rocbridge/cuda"});
  if (places.cuda.empty() || !present(fs::path(places.cuda) / "librocbridge.so"))
    return missing("the folder of the CUDA libraries (lib/cuda)", bin);
  places.soft = first_of({bin / "../lib/rocm/6", bin / "../lib/rocbridge/rocm/6"});
  if (places.soft.empty()) return missing("the software device's libraries (lib/rocm/6)", bin);
  places.device = first_of({bin / "rocbridge-device", bin / "../lib/rocbridge/rocbridge-device"});
  if (places.device.empty()) return missing("rocbridge-device", bin);
  places.workload = first_of({bin / "rocbridge-workload", bin / "../lib/rocbridge/rocbridge-workload"});
  places.presets = first_of({bin / "../share/rocbridge/presets", bin / "../../src/workload/presets"});
  return places;
}

std::vector<std::string> preload_list(const std::string& cuda_folder) {
  std::vector<std::string> list;
  auto add = [&](const char* soname) {
    const std::string path = cuda_folder + "/" + soname;
    if (present(path) && std::find(list.begin(), list.end(), path) == list.end()) list.push_back(path);
  };
  add("libcudart.so.12");
  add("libcuda.so.1");
  for (std::size_t i = 0; i < kLibraryCount; ++i) add(kLibraries[i].soname);
  return list;
}

}  // namespace rb::inspect
