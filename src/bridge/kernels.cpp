// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/kernels.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
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

// Layout of what nvcc emits (docs/design/calls.md): a wrapper in the program points to a container of entries.
bool choose_image(const Kernel& kernel, int capability, KernelImage* image) {
  constexpr std::uint32_t kWrapperMagic = 0x466243b1;
  constexpr std::uint32_t kContainerMagic = 0xba55ed50;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 31;
  constexpr std::uint16_t kPtx = 1;
  constexpr std::uint16_t kElf = 2;
  const FatBinary* binary = binaries().find(as_pointer(kernel.fat_binary));
  if (binary == nullptr || binary->wrapper == nullptr) return false;
  struct Wrapper {
    std::uint32_t magic, version;
    const char* data;
  } wrapper;
  std::memcpy(&wrapper, binary->wrapper, sizeof wrapper);
  if (wrapper.magic != kWrapperMagic || wrapper.data == nullptr) return false;
  struct Container {
    std::uint32_t magic;
    std::uint16_t version, header;
    std::uint64_t size;
  } container;
  std::memcpy(&container, wrapper.data, sizeof container);
  if (container.magic != kContainerMagic || container.header < sizeof container || container.size > kLargest)
    return false;
  struct Entry {
    std::uint16_t kind, version;
    std::uint32_t header;
    std::uint64_t payload;
    std::uint32_t unused[3];
    std::uint32_t arch;
  } entry;
  static_assert(offsetof(Entry, arch) == 28);
  int machine = 0;
  int ptx = 0;
  for (std::uint64_t at = 0; at + sizeof entry <= container.size;) {
    std::memcpy(&entry, wrapper.data + container.header + at, sizeof entry);
    if (entry.header < sizeof entry || entry.payload > container.size) break;
    const int arch = static_cast<int>(entry.arch);
    if (entry.kind == kElf && arch / 10 == capability / 10 && arch <= capability) machine = std::max(machine, arch);
    if (entry.kind == kPtx && arch <= capability) ptx = std::max(ptx, arch);
    at += entry.header + entry.payload;
  }
  if (machine == 0 && ptx == 0) return false;
  // Without PTX beside it, CUDA tells the number that the machine code was made from.
  *image = {machine != 0 ? machine : capability, machine != 0 ? machine : ptx};
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
