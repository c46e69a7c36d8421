// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/process.hpp"

#include <atomic>
#include <string>

#include "base/os.hpp"
#include "base/os_files.hpp"

namespace rb::bridge {
namespace {

/// Names of NVIDIA's libraries up to ".so" or a separator: "libcudnn" covers libcudnn_cnn_infer.so.8, "libcusparseLt"
/// the copy that a wheel renamed to libcusparseLt-f80c68d1.so.0.
constexpr const char* kStems[] = {"libcuda",     "libcudart",     "libcudnn",     "libcublas",    "libcublasLt",
                                  "libcusolver", "libcusolverMg", "libcufft",     "libcufftw",    "libcurand",
                                  "libcusparse", "libcusparseLt", "libnccl",      "libnvrtc",     "libnvrtc-builtins",
                                  "libcupti",    "libnvToolsExt", "libnvJitLink", "libnvidia-ml", "libnvblas"};

bool is_cuda_name(const std::string& name) {
  if (name.find(".so") == std::string::npos) return false;
  for (const std::string stem : kStems) {
    if (name.compare(0, stem.size(), stem) != 0 || name.size() == stem.size()) continue;
    const char next = name[stem.size()];
    if (next == '.' || next == '-' || (next == '_' && stem == "libcudnn")) return true;
  }
  return false;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::atomic<std::uint64_t> g_loads{0};

Fault foreign(const char* reason, const std::string& path, const char* what) {
  Fault fault = fail(Errc::not_initialized, reason, "%s is in this process, %s; ours are in %s", path.c_str(), what,
                     core_folder());
  fault.remedy = "start the program with `rocbridge run -- PROGRAM`, which puts our libraries first";
  return fault;
}

}  // namespace

const char* core_folder() {
  static const std::string& folder =
      *new std::string(os::real_path(os::folder_of_code(reinterpret_cast<const void*>(&check_process))));
  return folder.c_str();
}

Status check_process() {
  const std::uint64_t loads = os::library_loads();
  const std::string ours = core_folder();
  for (const std::string& path : os::mapped_files()) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool core = name == "librocbridge.so";
    if (!core && !is_cuda_name(name)) continue;
    if (os::real_path(folder_of(path)) == ours) continue;
    if (core) return foreign("second-core", path, "a second copy of rocbridge's core");
    return foreign("foreign-cuda-library", path, "a CUDA library that is not rocbridge's");
  }
  g_loads.store(loads, std::memory_order_relaxed);  // a foreign library is found again at every look
  return {};
}

Status check_process_again() {
  if (os::library_loads() == g_loads.load(std::memory_order_relaxed)) return {};
  return check_process();
}

}  // namespace rb::bridge
