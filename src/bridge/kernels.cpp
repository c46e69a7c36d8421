// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/kernels.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "bridge/handle.hpp"

namespace rb::bridge {
namespace {

using Binaries = HandleTable<FatBinary, Kind::fat_binary>;
Binaries& binaries() {
  return table_of<FatBinary, Kind::fat_binary>();
}

struct Kernels {
  std::mutex mutex;
  std::vector<Kernel> records;
  std::vector<std::uint32_t> by_host;  ///< numbers of the records, sorted by host address, then number
  std::vector<bool> mentioned;
};

Kernels& kernels() {
  static Kernels& instance = *new Kernels;
  return instance;
}

const void* as_pointer(std::uint64_t handle) {
  return reinterpret_cast<const void*>(handle);
}

/// Sorts what was registered since the last look-up.
void sort_new(Kernels& all) {
  if (all.by_host.size() == all.records.size()) return;
  for (std::uint32_t i = static_cast<std::uint32_t>(all.by_host.size()); i < all.records.size(); ++i)
    all.by_host.push_back(i);
  std::sort(all.by_host.begin(), all.by_host.end(), [&](std::uint32_t a, std::uint32_t b) {
    return all.records[a].host != all.records[b].host ? all.records[a].host < all.records[b].host : a < b;
  });
  all.mentioned.resize(all.records.size());
}

/// Number of the newest live record with this host address, or -1. Objects that were unloaded leave records behind.
long find_number(Kernels& all, const void* host) {
  sort_new(all);
  auto after =
      std::upper_bound(all.by_host.begin(), all.by_host.end(), host,
                       [&](const void* wanted, std::uint32_t number) { return wanted < all.records[number].host; });
  while (after != all.by_host.begin()) {
    const std::uint32_t number = *--after;
    if (all.records[number].host != host) break;
    if (binaries().find(as_pointer(all.records[number].fat_binary)) != nullptr) return number;
  }
  return -1;
}

}  // namespace

std::uint64_t register_fat_binary(const void* wrapper) {
  FatBinary* binary = nullptr;
  Result<std::uint64_t> handle = binaries().create(&binary);
  // A handle that is never alive: registering with it does nothing, so its kernels are unknown (98).
  if (!handle.ok()) return (kHandleTag << 56) | (static_cast<std::uint64_t>(Kind::fat_binary) << 48);
  binary->wrapper = wrapper;
  return *handle;
}

void unregister_fat_binary(std::uint64_t handle) {
  Status status = binaries().destroy(as_pointer(handle), "fatCubinHandle");
  static_cast<void>(status.ok());  // a stranger's handle: nothing to do
}

void register_kernel(std::uint64_t handle, const void* host, const char* name) {
  if (binaries().find(as_pointer(handle)) == nullptr || host == nullptr) return;
  Kernels& all = kernels();
  std::lock_guard lock(all.mutex);
  all.records.push_back({host, name, handle});
}

bool find_kernel(const void* host, Kernel* kernel) {
  Kernels& all = kernels();
  std::lock_guard lock(all.mutex);
  const long number = find_number(all, host);
  if (number < 0) return false;
  *kernel = all.records[static_cast<std::size_t>(number)];
  return true;
}

bool first_mention(const Kernel& kernel) {
  Kernels& all = kernels();
  std::lock_guard lock(all.mutex);
  const long number = find_number(all, kernel.host);
  if (number < 0 || all.mentioned[static_cast<std::size_t>(number)]) return false;
  all.mentioned[static_cast<std::size_t>(number)] = true;
  return true;
}

std::string readable_name(const Kernel& kernel) {
  constexpr std::size_t kLongest = 300;
  if (kernel.name == nullptr) return "a kernel without a name";
  int status = 0;
  char* const demangled = abi::__cxa_demangle(kernel.name, nullptr, nullptr, &status);
  std::string name = demangled != nullptr && status == 0 ? demangled : kernel.name;
  std::free(demangled);
  if (name.size() > kLongest) name = name.substr(0, kLongest - 3) + "...";
  return name;
}

}  // namespace rb::bridge
