// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/device.hpp"

#include <cstring>
#include <limits>

#include "bridge/amd.hpp"
#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"

namespace rb::driver {

using namespace bridge;

namespace {

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

}  // namespace

Status init(unsigned int Flags) {
  if (Flags != 0) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; they must be 0", Flags);
  RB_ASSIGN(const int count, device_count());
  static_cast<void>(count);
  mark_driver_initialised();
  return {};
}

Status driver_get_version(int* driverVersion) {
  if (driverVersion == nullptr) return null_output("driverVersion");
  *driverVersion = told_driver_version();
  return {};
}

Status device_get_count(int* count) {
  if (count == nullptr) return null_output("count");
  RB_TRY(driver_ready());
  RB_ASSIGN(*count, device_count());
  return {};
}

Status device_get(CUdevice* device, int ordinal) {
  if (device == nullptr) return null_output("device");
  RB_TRY(driver_ready());
  RB_TRY(check_device(ordinal));
  *device = ordinal;
  return {};
}

Status device_get_name(char* name, int len, CUdevice dev) {
  if (name == nullptr || len <= 0)
    return fail(Errc::invalid_value, "null-output", "name is %p, len %d", static_cast<void*>(name), len);
  RB_TRY(driver_ready());
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(dev));
  const std::size_t room = static_cast<std::size_t>(len) - 1;
  const std::size_t length = ::strnlen(properties->name, sizeof properties->name);
  const std::size_t copied = length < room ? length : room;
  std::memcpy(name, properties->name, copied);
  name[copied] = '\0';
  return {};
}

Status device_get_uuid_v2(CUuuid* uuid, CUdevice dev) {
  if (uuid == nullptr) return null_output("uuid");
  RB_TRY(driver_ready());
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(dev));
  static_assert(sizeof *uuid == sizeof properties->uuid);
  std::memcpy(static_cast<void*>(uuid), &properties->uuid, sizeof *uuid);
  return {};
}
Status device_get_uuid(CUuuid* uuid, CUdevice dev) {
  return device_get_uuid_v2(uuid, dev);
}

Status device_total_mem_v2(size_t* bytes, CUdevice dev) {
  if (bytes == nullptr) return null_output("bytes");
  RB_TRY(driver_ready());
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(dev));
  *bytes = properties->totalGlobalMem;
  return {};
}

/// The form of CUDA 2: memory that 32 bits cannot count reads as the largest number.
Status device_total_mem(unsigned int* bytes, CUdevice dev) {
  if (bytes == nullptr) return null_output("bytes");
  std::size_t all = 0;
  RB_TRY(device_total_mem_v2(&all, dev));
  constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
  *bytes = static_cast<unsigned>(all < kMost ? all : kMost);
  return {};
}

Status device_get_attribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  RB_TRY(driver_ready());
  return device_attribute(pi, static_cast<int>(attrib), dev);
}

Status device_compute_capability(int* major, int* minor, CUdevice dev) {
  if (major == nullptr || minor == nullptr) return null_output(major == nullptr ? "major" : "minor");
  RB_TRY(driver_ready());
  RB_TRY(check_device(dev));
  *major = told_capability().major;
  *minor = told_capability().minor;
  return {};
}

Status device_get_properties(CUdevprop* prop, CUdevice dev) {
  if (prop == nullptr) return null_output("prop");
  RB_TRY(driver_ready());
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(dev));
  const auto small = [](std::size_t value) { return static_cast<int>(value < 0x7fffffffu ? value : 0x7fffffffu); };
  prop->maxThreadsPerBlock = properties->maxThreadsPerBlock;
  for (int i = 0; i < 3; ++i) {
    prop->maxThreadsDim[i] = properties->maxThreadsDim[i];
    prop->maxGridSize[i] = properties->maxGridSize[i];
  }
  prop->sharedMemPerBlock = small(properties->sharedMemPerBlock);
  prop->totalConstantMemory = small(properties->totalConstMem);
  prop->SIMDWidth = properties->warpSize;
  prop->memPitch = small(properties->memPitch);
  prop->regsPerBlock = properties->regsPerBlock;
  prop->clockRate = properties->clockRate;
  prop->textureAlign = small(properties->textureAlignment);
  return {};
}

Status device_can_access_peer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  RB_TRY(driver_ready());
  return can_access_peer(canAccessPeer, dev, peerDev);
}

Status device_get_pci_bus_id(char* pciBusId, int len, CUdevice dev) {
  RB_TRY(driver_ready());
  return device_pci_id(pciBusId, len, dev);
}

Status device_get_by_pci_bus_id(CUdevice* dev, const char* pciBusId) {
  RB_TRY(driver_ready());
  return device_by_pci_id(dev, pciBusId);
}

Status device_get_exec_affinity_support(int* pi, CUexecAffinityType type, CUdevice dev) {
  if (pi == nullptr) return null_output("pi");
  RB_TRY(driver_ready());
  RB_TRY(check_device(dev));
  if (static_cast<int>(type) != 0)
    return fail(Errc::invalid_value, "bad-attribute", "there is no affinity type %d", static_cast<int>(type));
  *pi = 0;
  return {};
}

}  // namespace rb::driver
