// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "rocm/loader.hpp"

#include <cstring>
#include <vector>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "base/os.hpp"
#include "base/os_files.hpp"
#include "rocm/elf_check.hpp"

namespace rb::rocm {
namespace {

constexpr const char* kOtherDirectory =
    "name a directory of ROCm 6 libraries in ROCBRIDGE_ROCM_DIR, or unset it to use the software device";

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}
bool starts_with(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

Fault not_initialized(const char* reason, const std::string& text, const std::string& remedy) {
  Fault fault = fail(Errc::not_initialized, reason, "%s", text.c_str());
  fault.remedy = remedy;
  return fault;
}

/// Whether the kernel driver shows a GPU that may be opened: no library is loaded to find out, because a HIP runtime
/// that was loaded once stays in the process.
bool real_device_usable() {
  const int fd = os::open_file("/dev/kfd", os::OpenFile::read_write);
  if (fd < 0) return false;
  os::close_file(fd);
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  for (const std::string& node : os::list_folder(nodes.c_str())) {
    const int file = os::open_file((nodes + "/" + node + "/gpu_id").c_str(), os::OpenFile::read);
    if (file < 0) continue;
    char text[32] = {};
    const std::int64_t size = os::read_file_at(file, 0, text, sizeof text - 1);
    os::close_file(file);
    if (size > 0 && std::atoll(text) != 0) return true;
  }
  return false;
}

/// Names the generations of the HIP runtime that lie in a directory.
std::string hip_generations(const std::string& directory) {
  std::string found;
  for (const std::string& name : os::list_folder(directory.c_str()))
    if (starts_with(name, "libamdhip64.so.")) found += (found.empty() ? "" : ", ") + name;
  return found;
}

/// `home` is where the HIP runtime of the directory really lies: a directory may consist of links.
/// A HIP runtime of another place must not be in the process: objects of the one are not known to the other.
Status check_nothing_mapped(const std::string& home) {
  for (const std::string& path : os::mapped_files())
    if (starts_with(name_of(path), "libamdhip64.so") && os::real_path(folder_of(path)) != home)
      return not_initialized("hip-already-loaded",
                             path + " is already in this process, but the AMD libraries are to come from " + home,
                             "start the program without that library, or set ROCBRIDGE_ROCM_DIR=" + folder_of(path));
  return {};
}

/// Where every library that was opened really lies: a run path of one of them may have pulled in another directory.
Status check_one_directory(const std::string& home) {
  for (const std::string& path : os::mapped_files())
    for (unsigned i = 0; i < kLibraryCount; ++i) {
      const std::string soname = kLibraries[i].soname;
      const std::string stem = soname.substr(0, soname.find(".so") + 3);
      if (starts_with(name_of(path), stem.c_str()) && os::real_path(folder_of(path)) != home)
        return not_initialized("mixed-directories", path + " was loaded along with the libraries of " + home,
                               "let ROCBRIDGE_ROCM_DIR name a directory whose libraries find each other there (check "
                               "LD_LIBRARY_PATH and run paths)");
    }
  return {};
}

bool is_required(const char* key) {
  return std::strcmp(key, "hip") == 0 || std::strcmp(key, "miopen") == 0 || std::strcmp(key, "rocblas") == 0;
}

Status check_generation(const Table& table, const std::string& directory) {
  int version = 0;
  if (table.hipRuntimeGetVersion == nullptr || table.hipRuntimeGetVersion(&version) != hipSuccess) return {};
  // HIP_VERSION = major * 10^7 + minor * 10^5 + patch (hip_version.h).
  const int generation = version / 10000000;
  if (generation == kGeneration) return {};
  return not_initialized("wrong-generation",
                         text("%s holds HIP %d (version %d); generation %d is needed", directory.c_str(), generation,
                              version, kGeneration),
                         kOtherDirectory);
}

}  // namespace

Choice choose_directory(const std::string& core_folder) {
  Choice choice;
  controls::Origin origin = controls::Origin::fallback;
  const std::string wanted = controls::text("rocm.dir", &origin);
  const std::string soft = core_folder + "/../rocm/" + std::to_string(kGeneration);
  if (!wanted.empty() && wanted != "auto") {
    choice.directory = wanted;
    choice.why = origin == controls::Origin::environment ? "named by ROCBRIDGE_ROCM_DIR"
                                                         : "named by the configuration file (rocm.dir)";
    choice.software = os::is_file(wanted + "/libsoftrocm.so");
    return choice;
  }
  for (const char* real : {"/opt/rocm/lib", "/opt/rocm/core/lib"})
    if (os::is_file(std::string(real) + "/libamdhip64.so." + std::to_string(kGeneration)) && real_device_usable()) {
      choice.directory = real;
      choice.why = "auto: ROCm is installed and the kernel driver shows a GPU";
      return choice;
    }
  choice.directory = soft;
  choice.why = "auto: no usable AMD GPU, so the software device (unverified on silicon)";
  choice.software = true;
  return choice;
}

Status open_directory(const Choice& choice, Table* table) {
  if (!os::is_folder(choice.directory.c_str()))
    return not_initialized(
        choice.why.rfind("auto", 0) == 0 ? "software-device-missing" : "directory-missing",
        "there is no directory " + choice.directory + " (" + choice.why + ")",
        choice.software ? "build or install rocbridge again: lib/rocm lies beside lib/cuda" : kOtherDirectory);
  const std::string directory = os::real_path(choice.directory);
  const std::string hip = directory + "/" + kLibraries[0].soname;
  if (!os::is_file(hip)) {
    const std::string other = hip_generations(directory);
    if (!other.empty())
      return not_initialized("wrong-generation",
                             directory + " holds " + other + "; " + kLibraries[0].soname + " is needed",
                             kOtherDirectory);
  }
  // First look at all files, then load: a directory is taken whole or not at all.
  for (unsigned i = 0; i < kLibraryCount; ++i) {
    const std::string path = directory + "/" + kLibraries[i].soname;
    if (!is_required(kLibraries[i].key) && !os::is_file(path)) {
      RB_LOG(info, "rocm", "%s is not there: its functions are refused", path.c_str());
      continue;
    }
    RB_TRY(check_library_file(path));
  }
  const std::string home = folder_of(os::real_path(hip));
  RB_TRY(check_nothing_mapped(home));
  std::vector<void*> libraries(kLibraryCount, nullptr);
  for (unsigned i = 0; i < kLibraryCount; ++i) {
    const std::string path = directory + "/" + kLibraries[i].soname;
    if (!os::is_file(path)) continue;
    std::string error;
    libraries[i] = os::open_library(path, &error);
    if (libraries[i] == nullptr)
      return not_initialized("library-damaged", path + " cannot be loaded: " + error, kOtherDirectory);
  }
  RB_TRY(check_one_directory(home));
  char* const bytes = reinterpret_cast<char*>(table);
  for (unsigned i = 0; i < kFunctionCount; ++i) {
    void* const library = libraries[static_cast<unsigned>(kFunctions[i].library)];
    void* const function = library != nullptr ? os::find_symbol(library, kFunctions[i].name) : nullptr;
    std::memcpy(bytes + kFunctions[i].offset, &function, sizeof function);
  }
  for (const void* needed :
       {reinterpret_cast<const void*>(table->hipGetDeviceCount), reinterpret_cast<const void*>(table->hipMalloc),
        reinterpret_cast<const void*>(table->hipMemcpyAsync),
        reinterpret_cast<const void*>(table->hipStreamSynchronize)})
    if (needed == nullptr)
      return not_initialized("library-damaged", hip + " lacks functions that every HIP runtime has", kOtherDirectory);
  return check_generation(*table, directory);
}

}  // namespace rb::rocm
