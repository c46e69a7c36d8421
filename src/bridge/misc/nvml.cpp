// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// NVML as far as programs look for devices with it: PyTorch stops inside its out-of-memory message when a present NVML
// cannot be initialised. Everything else of NVML is refused.
#include <atomic>
#include <cstring>

#include "base/os.hpp"
#include "bridge/amd.hpp"
#include "bridge/context.hpp"
#include "bridge/device.hpp"
#include "bridge/memory.hpp"
#include "bridge/misc_entries.hpp"

namespace rb::misc {

using namespace bridge;

namespace {

constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

std::atomic<unsigned> g_holders{0};
/// A handle is the address of the device's element.
char g_devices[kMaxDevices];

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

Status ready() {
  if (g_holders.load(std::memory_order_acquire) == 0)
    return fail(Errc::bad_context, "nvml-not-initialised", "nvmlInit was not called");
  return device_ready();
}

Result<int> device_of(nvmlDevice_t device) {
  RB_TRY(ready());
  RB_ASSIGN(const int count, device_count());
  for (int i = 0; i < count; ++i)
    if (static_cast<const void*>(device) == &g_devices[i]) return i;
  return fail(Errc::invalid_handle, "handle-foreign", "device is %p, which NVML did not give",
              static_cast<void*>(device));
}

nvmlDevice_t handle_of(int device) {
  return reinterpret_cast<nvmlDevice_t>(&g_devices[device]);
}

Status count_devices(unsigned int* deviceCount) {
  if (deviceCount == nullptr) return null_output("deviceCount");
  RB_TRY(ready());
  RB_ASSIGN(const int count, device_count());
  *deviceCount = static_cast<unsigned>(count);
  return {};
}

Status by_index(unsigned int index, nvmlDevice_t* device) {
  if (device == nullptr) return null_output("device");
  RB_TRY(ready());
  RB_ASSIGN(const int count, device_count());
  if (index >= static_cast<unsigned>(count))
    return fail(Errc::invalid_value, "bad-device", "index is %u; there are %d", index, count);
  *device = handle_of(static_cast<int>(index));
  return {};
}

Status by_pci_id(const char* pciBusId, nvmlDevice_t* device) {
  if (device == nullptr || pciBusId == nullptr) return null_output(device == nullptr ? "device" : "pciBusId");
  RB_TRY(ready());
  int number = 0;
  Status status = device_by_pci_id(&number, pciBusId);
  if (!status.ok()) {
    Fault fault = status.take();
    fault.native = std::strcmp(fault.reason, "bad-device") == 0 ? kNotFound : -1;
    return fault;
  }
  *device = handle_of(number);
  return {};
}

/// The one process that this one knows of: itself, with the device memory that HIP says is taken.
template <class Info>
Status running_processes(nvmlDevice_t device, unsigned int* infoCount, Info* infos) {
  if (infoCount == nullptr) return null_output("infoCount");
  RB_ASSIGN(const int number, device_of(device));
  const unsigned room = *infoCount;
  *infoCount = 1;
  if (room == 0) {
    Fault fault = fail(Errc::invalid_value, "buffer-short", "there is 1 process and room for none");
    fault.native = kInsufficientSize;
    return fault;
  }
  if (infos == nullptr) return null_output("infos");
  if (number != current_device()) {
    *infoCount = 0;  // HIP tells the memory of the current device only
    return {};
  }
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  RB_TRY(memory_info(&free_bytes, &total));
  std::memset(static_cast<void*>(infos), 0, sizeof *infos);
  infos->pid = os::process_id();
  infos->usedGpuMemory = total - free_bytes;
  return {};
}

Status driver_version(int* cudaDriverVersion) {
  if (cudaDriverVersion == nullptr) return null_output("cudaDriverVersion");
  *cudaDriverVersion = told_driver_version();
  return {};
}

Status start() {
  RB_ASSIGN(const int count, device_count());
  static_cast<void>(count);
  g_holders.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

}  // namespace

Status nvml_init() {
  return start();
}
Status nvml_init_v2() {
  return start();
}
Status nvml_init_with_flags(unsigned int) {
  return start();
}

Status nvml_shutdown() {
  unsigned holders = g_holders.load(std::memory_order_relaxed);
  do {
    if (holders == 0) return fail(Errc::bad_context, "nvml-not-initialised", "nvmlInit was not called");
  } while (!g_holders.compare_exchange_weak(holders, holders - 1, std::memory_order_acq_rel));
  return {};
}

Status nvml_device_get_count(unsigned int* deviceCount) {
  return count_devices(deviceCount);
}
Status nvml_device_get_count_v2(unsigned int* deviceCount) {
  return count_devices(deviceCount);
}
Status nvml_device_get_handle_by_index(unsigned int index, nvmlDevice_t* device) {
  return by_index(index, device);
}
Status nvml_device_get_handle_by_index_v2(unsigned int index, nvmlDevice_t* device) {
  return by_index(index, device);
}
Status nvml_device_get_handle_by_pci_bus_id(const char* pciBusId, nvmlDevice_t* device) {
  return by_pci_id(pciBusId, device);
}
Status nvml_device_get_handle_by_pci_bus_id_v2(const char* pciBusId, nvmlDevice_t* device) {
  return by_pci_id(pciBusId, device);
}
Status nvml_system_get_cuda_driver_version(int* cudaDriverVersion) {
  return driver_version(cudaDriverVersion);
}
Status nvml_system_get_cuda_driver_version_v2(int* cudaDriverVersion) {
  return driver_version(cudaDriverVersion);
}

Status nvml_device_get_compute_running_processes(nvmlDevice_t device, unsigned int* infoCount,
                                                 nvmlProcessInfo_v1_t* infos) {
  return running_processes(device, infoCount, infos);
}
Status nvml_device_get_compute_running_processes_v2(nvmlDevice_t device, unsigned int* infoCount,
                                                    nvmlProcessInfo_v2_t* infos) {
  return running_processes(device, infoCount, infos);
}
Status nvml_device_get_compute_running_processes_v3(nvmlDevice_t device, unsigned int* infoCount,
                                                    nvmlProcessInfo_t* infos) {
  return running_processes(device, infoCount, infos);
}

Status nvml_device_get_index(nvmlDevice_t device, unsigned int* index) {
  if (index == nullptr) return null_output("index");
  RB_ASSIGN(const int number, device_of(device));
  *index = static_cast<unsigned>(number);
  return {};
}

Status nvml_device_get_name(nvmlDevice_t device, char* name, unsigned int length) {
  if (name == nullptr) return null_output("name");
  RB_ASSIGN(const int number, device_of(device));
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(number));
  const std::size_t needed = ::strnlen(properties->name, sizeof properties->name) + 1;
  if (needed > length) {
    Fault fault = fail(Errc::invalid_value, "buffer-short", "the name needs %zu bytes, there are %u", needed, length);
    fault.native = kInsufficientSize;
    return fault;
  }
  std::memcpy(name, properties->name, needed - 1);
  name[needed - 1] = '\0';
  return {};
}

}  // namespace rb::misc
