// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/device.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "bridge/amd.hpp"
#include "bridge/context.hpp"
#include "bridge/device_attributes.hpp"

namespace rb::bridge {
namespace {

constexpr int kWarp = 32;

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

/// HIP 6's properties begin with CUDA 12's, field for field.
static_assert(offsetof(hipDeviceProp_tR0600, hipReserved) == kPropertiesBytes);
static_assert(offsetof(hipDeviceProp_tR0600, hostRegisterSupported) == 728);
static_assert(offsetof(hipDeviceProp_tR0600, major) == 360 &&
              offsetof(hipDeviceProp_tR0600, sharedMemPerBlockOptin) == 696);

void tell_as_cuda(hipDeviceProp_tR0600* properties) {
  const Capability capability = told_capability();
  properties->major = capability.major;
  properties->minor = capability.minor;
  properties->warpSize = kWarp;  // programs lay out their data by it; a wave of 64 holds two warps
  properties->unifiedAddressing = 1;
  properties->streamPrioritiesSupported = 1;
  // What the bridge refuses must not be offered.
  properties->cooperativeLaunch = 0;
  properties->cooperativeMultiDeviceLaunch = 0;
  properties->memoryPoolsSupported = 0;
  properties->memoryPoolSupportedHandleTypes = 0;
  properties->clusterLaunch = 0;
  properties->sparseHipArraySupported = 0;
  properties->deferredMappingHipArraySupported = 0;
  properties->ipcEventSupported = 0;
  properties->unifiedFunctionPointers = 0;
  properties->timelineSemaphoreInteropSupported = 0;
  properties->gpuDirectRDMASupported = 0;
}

}  // namespace

Capability told_capability() {
  static const Capability told = [] {
    Capability capability;
    const std::string text = controls::text("device.capability");
    int major = 0;
    int minor = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d.%d%c", &major, &minor, &rest) == 2 && major >= 1 && major <= 99 && minor >= 0 &&
        minor <= 9)
      capability = {major, minor};
    else
      RB_LOG(error, "device", "ROCBRIDGE_CAPABILITY is '%s', not MAJOR.MINOR; %d.%d is told", text.c_str(),
             capability.major, capability.minor);
    return capability;
  }();
  return told;
}

int told_driver_version() {
  static const int version = static_cast<int>(controls::number("device.driver_version"));
  return version;
}

int told_runtime_version(Library library) {
  static const int version = static_cast<int>(controls::number("device.runtime_version"));
  if (version != 0) return version;
  return library == Library::cudart11 ? 11080 : 12010;
}

Result<const hipDeviceProp_tR0600*> device_properties(int device) {
  static std::atomic<const hipDeviceProp_tR0600*> known[kMaxDevices];
  RB_TRY(check_device(device));
  if (const hipDeviceProp_tR0600* found = known[device].load(std::memory_order_acquire); found != nullptr) return found;
  auto properties = std::make_unique<hipDeviceProp_tR0600>();
  RB_TRY(RB_HIP(hipGetDevicePropertiesR0600, properties.get(), device));
  tell_as_cuda(properties.get());
  const hipDeviceProp_tR0600* expected = nullptr;
  if (known[device].compare_exchange_strong(expected, properties.get(), std::memory_order_acq_rel))
    return properties.release();
  return expected;
}

Status device_attribute(int* value, int attribute, int device) {
  if (value == nullptr) return null_output("value");
  RB_TRY(check_device(device));
  const AttributeRow* const row =
      std::lower_bound(std::begin(kAttributeRows), std::end(kAttributeRows), attribute,
                       [](const AttributeRow& candidate, int number) { return candidate.number < number; });
  if (row == std::end(kAttributeRows) || row->number != attribute)
    return fail(Errc::invalid_value, "bad-attribute", "there is no device attribute %d", attribute);
  switch (row->by) {
    case AnswerBy::value:
      *value = row->value;
      return {};
    case AnswerBy::warp_size:
      *value = kWarp;
      return {};
    case AnswerBy::capability_major:
      *value = told_capability().major;
      return {};
    case AnswerBy::capability_minor:
      *value = told_capability().minor;
      return {};
    case AnswerBy::hip:
      break;
  }
  const hipError_t error =
      RB_AMD_RAW(hipDeviceGetAttribute, value, static_cast<hipDeviceAttribute_t>(row->value), device);
  if (error == hipErrorInvalidValue || error == hipErrorNotSupported) {
    *value = 0;  // HIP names the attribute but has no answer: the feature is absent
    return {};
  }
  return hip_status(error, "hipDeviceGetAttribute");
}

Status can_access_peer(int* value, int device, int peer) {
  if (value == nullptr) return null_output("canAccessPeer");
  RB_TRY(check_device(device));
  RB_TRY(check_device(peer));
  if (device == peer) {
    *value = 0;
    return {};
  }
  return RB_HIP(hipDeviceCanAccessPeer, value, device, peer);
}

Status device_pci_id(char* text, int length, int device) {
  if (text == nullptr) return null_output("pciBusId");
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(device));
  char id[32];
  // CUDA's form: domain:bus:device.function in hexadecimal.
  const int needed = std::snprintf(id, sizeof id, "%04x:%02x:%02x.0", properties->pciDomainID & 0xffff,
                                   properties->pciBusID & 0xff, properties->pciDeviceID & 0xff);
  if (length <= needed)
    return fail(Errc::invalid_value, "buffer-short", "the PCI id needs %d bytes, there are %d", needed + 1, length);
  std::copy(id, id + needed + 1, text);
  return {};
}

Status device_by_pci_id(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return null_output(device == nullptr ? "device" : "pciBusId");
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  unsigned function = 0;
  int matched = std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
  if (matched < 3) {
    domain = 0;
    matched = std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) >= 2 ? 3 : 0;
  }
  if (matched < 3)
    return fail(Errc::invalid_value, "bad-pci-id", "'%.40s' is no PCI id (domain:bus:device.function)", text);
  RB_ASSIGN(const int count, device_count());
  for (int i = 0; i < count; ++i) {
    RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(i));
    if (properties->pciDomainID == static_cast<int>(domain) && properties->pciBusID == static_cast<int>(bus) &&
        properties->pciDeviceID == static_cast<int>(slot)) {
      *device = i;
      return {};
    }
  }
  Fault fault = fail(Errc::invalid_value, "bad-device", "no device has the PCI id '%.40s'", text);
  fault.native = 101;
  return fault;
}

namespace {

constexpr int kUnsupportedLimit = 215;

Status check_limit(int limit) {
  if (limit < 0 || limit > 6) return fail(Errc::invalid_value, "bad-limit", "there is no limit %d", limit);
  if (limit <= 2) return {};
  Fault fault = fail(Errc::invalid_value, "no-such-limit", "AMD devices have no limit %d", limit);
  fault.native = kUnsupportedLimit;
  return fault;
}

}  // namespace

Status device_limit(std::size_t* value, int limit) {
  if (value == nullptr) return null_output("pValue");
  RB_TRY(check_limit(limit));
  return RB_HIP(hipDeviceGetLimit, value, static_cast<hipLimit_t>(limit));
}

Status set_device_limit(int limit, std::size_t value) {
  RB_TRY(check_limit(limit));
  return RB_HIP(hipDeviceSetLimit, static_cast<hipLimit_t>(limit), value);
}

}  // namespace rb::bridge
