// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/device.hpp"

#include <cstring>

#include "bridge/amd.hpp"
#include "bridge/context.hpp"
#include "bridge/runtime_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::runtime {

using namespace bridge;

namespace {

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

/// Values of cudaDeviceScheduleAuto ... cudaDeviceSyncMemops.
Status check_device_flags(unsigned flags) {
  const unsigned schedule = flags & 7u;
  if ((flags & ~0x9fu) != 0 || (schedule & (schedule - 1)) != 0)
    return fail(Errc::invalid_value, "bad-flags", "device flags are 0x%x", flags);
  return {};
}

Status check_cache_config(int config) {
  if (config < 0 || config > 3)
    return fail(Errc::invalid_value, "bad-config", "there is no cache configuration %d", config);
  return {};
}

Status check_bank_config(int config) {
  if (config < 0 || config > 2) return fail(Errc::invalid_value, "bad-config", "there is no bank size %d", config);
  return {};
}

}  // namespace

Status get_device_count(int* count) {
  if (count == nullptr) return null_output("count");
  *count = 0;
  RB_ASSIGN(*count, device_count());
  return {};
}

Status get_device(int* device) {
  if (device == nullptr) return null_output("device");
  *device = current_device();
  return {};
}

Status set_device(int device) {
  return bridge::set_device(device);
}

Status init_device(int device, unsigned int deviceFlags, unsigned int flags) {
  if (flags > 1) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 0 and 1 exist", flags);
  RB_ASSIGN(const std::uint64_t context, primary_context(device));
  static_cast<void>(context);
  if (flags == 1) {
    RB_TRY(check_device_flags(deviceFlags));
    bridge::detail::g_primary[device].flags.store(deviceFlags, std::memory_order_relaxed);
  }
  bridge::detail::g_primary[device].by_runtime.store(true, std::memory_order_relaxed);
  return {};
}

Status get_device_flags(unsigned int* flags) {
  if (flags == nullptr) return null_output("flags");
  *flags = bridge::detail::g_primary[current_device()].flags.load(std::memory_order_relaxed);
  return {};
}

Status set_device_flags(unsigned int flags) {
  RB_TRY(check_device_flags(flags));
  bridge::detail::g_primary[current_device()].flags.store(flags, std::memory_order_relaxed);
  return {};
}

Status set_valid_devices(int* device_arr, int len) {
  if (len < 0 || (device_arr == nullptr && len != 0))
    return fail(Errc::invalid_value, "null-input", "device_arr is %p, len %d", static_cast<void*>(device_arr), len);
  for (int i = 0; i < len; ++i) RB_TRY(check_device(device_arr[i]));
  return {};
}

Status choose_device(int* device, const struct cudaDeviceProp* prop) {
  if (device == nullptr || prop == nullptr) return null_output(device == nullptr ? "device" : "prop");
  RB_ASSIGN(const int count, device_count());
  static_cast<void>(count);
  *device = 0;
  return {};
}

/// The form of CUDA 11 (728 bytes), which this name keeps in libcudart.so.12, too.
Status get_device_properties(struct cudaDeviceProp* prop, int device) {
  if (prop == nullptr) return null_output("prop");
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(device));
  std::memcpy(static_cast<void*>(prop), properties, sizeof(cudaDeviceProp_v118));
  return {};
}

Status get_device_properties_v2(struct cudaDeviceProp* prop, int device) {
  static_assert(sizeof(cudaDeviceProp) == kPropertiesBytes && sizeof(cudaDeviceProp_v118) == 728);
  if (prop == nullptr) return null_output("prop");
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(device));
  std::memcpy(static_cast<void*>(prop), properties, sizeof *prop);
  return {};
}

Status device_get_attribute(int* value, enum cudaDeviceAttr attr, int device) {
  return device_attribute(value, static_cast<int>(attr), device);
}

Status device_can_access_peer(int* canAccessPeer, int device, int peerDevice) {
  return can_access_peer(canAccessPeer, device, peerDevice);
}

Status device_get_pci_bus_id(char* pciBusId, int len, int device) {
  return device_pci_id(pciBusId, len, device);
}
Status device_get_by_pci_bus_id(int* device, const char* pciBusId) {
  return device_by_pci_id(device, pciBusId);
}

Status device_get_limit(size_t* pValue, enum cudaLimit limit) {
  RB_TRY(runtime_ready());
  return device_limit(pValue, static_cast<int>(limit));
}

Status device_set_limit(enum cudaLimit limit, size_t value) {
  RB_TRY(runtime_ready());
  return bridge::set_device_limit(static_cast<int>(limit), value);
}

Status device_synchronize() {
  RB_TRY(runtime_ready());
  return bridge::synchronize_device();
}

Status device_reset() {
  return reset_device(current_device());
}

Status device_get_cache_config(enum cudaFuncCache* pCacheConfig) {
  if (pCacheConfig == nullptr) return null_output("pCacheConfig");
  *pCacheConfig = cudaFuncCachePreferNone;
  return {};
}

Status device_set_cache_config(enum cudaFuncCache cacheConfig) {
  return check_cache_config(static_cast<int>(cacheConfig));
}

Status device_get_shared_mem_config(enum cudaSharedMemConfig* pConfig) {
  if (pConfig == nullptr) return null_output("pConfig");
  *pConfig = cudaSharedMemBankSizeFourByte;
  return {};
}

Status device_set_shared_mem_config(enum cudaSharedMemConfig config) {
  return check_bank_config(static_cast<int>(config));
}

Status driver_get_version(int* driverVersion) {
  if (driverVersion == nullptr) return null_output("driverVersion");
  *driverVersion = told_driver_version();
  return {};
}

Status runtime_get_version(bridge::Library library, int* runtimeVersion) {
  if (runtimeVersion == nullptr) return null_output("runtimeVersion");
  *runtimeVersion = told_runtime_version(library);
  return {};
}

Status ctx_reset_persisting_l2cache() {
  return runtime_ready();
}

// The names of CUDA 2, which CUDA 12 still exports.
Status thread_exit() {
  return device_reset();
}
Status thread_synchronize() {
  return device_synchronize();
}
Status thread_get_limit(size_t* pValue, enum cudaLimit limit) {
  return device_get_limit(pValue, limit);
}
Status thread_set_limit(enum cudaLimit limit, size_t value) {
  return device_set_limit(limit, value);
}
Status thread_get_cache_config(enum cudaFuncCache* pCacheConfig) {
  return device_get_cache_config(pCacheConfig);
}
Status thread_set_cache_config(enum cudaFuncCache cacheConfig) {
  return device_set_cache_config(cacheConfig);
}

}  // namespace rb::runtime
