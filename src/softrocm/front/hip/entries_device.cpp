// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Initialisation, devices, their properties and settings. HIP API reference, "Initialization and version" and "Device
// management". Nothing here starts the engine.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "softrocm/front/hip/context.hpp"
#include "softrocm/front/hip/device.hpp"
#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/properties.hpp"

namespace soft {
namespace {

/// HIP_VERSION of the generation: major * 10^7 + minor * 10^5 + patch.
constexpr int kHipVersion = 60400000 + 43484;

std::atomic<std::size_t> limits[3] = {1024, 1u << 20, 8u << 20};  // stack, printf buffer, heap

hipError_t check_device(int device) {
  if (const hipError_t error = check_configuration(); error != hipSuccess) return error;
  return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t put_version(int* version) {
  if (version == nullptr) return hipErrorInvalidValue;
  *version = kHipVersion;
  return hipSuccess;
}

std::string pci_text() {
  const wire::Profile& p = *configuration().profile;
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(p.pci_domain),
                static_cast<unsigned>(p.pci_bus), static_cast<unsigned>(p.pci_slot));
  return text;
}

hipError_t put_text(char* out, int length, const std::string& value) {
  if (out == nullptr || length <= 0) return hipErrorInvalidValue;
  std::snprintf(out, static_cast<std::size_t>(length), "%s", value.c_str());
  return hipSuccess;
}

template <class Properties>
hipError_t choose(int* device, const Properties* wanted) {
  if (device == nullptr || wanted == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = check_configuration(); error != hipSuccess) return error;
  *device = 0;
  return hipSuccess;
}

bool valid_cache_config(hipFuncCache_t value) {
  return value >= hipFuncCachePreferNone && value <= hipFuncCachePreferEqual;
}

}  // namespace
}  // namespace soft

using soft::check_device;
using soft::entry;

SOFT_ENTRY hipError_t soft_hipInit(unsigned flags) {
  return entry([&] { return flags != 0 ? hipErrorInvalidValue : soft::check_configuration(); });
}
SOFT_ENTRY hipError_t soft_hipDriverGetVersion(int* version) {
  return entry([&] { return soft::put_version(version); });
}
SOFT_ENTRY hipError_t soft_hipRuntimeGetVersion(int* version) {
  return entry([&] { return soft::put_version(version); });
}
SOFT_ENTRY hipError_t soft_hipGetDeviceCount(int* count) {
  return entry([&] {
    if (count == nullptr) return hipErrorInvalidValue;
    const hipError_t error = soft::check_configuration();
    *count = error == hipSuccess ? 1 : 0;
    return error;
  });
}
SOFT_ENTRY hipError_t soft_hipGetDevice(int* device) {
  return entry([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    *device = 0;
    return soft::check_configuration();
  });
}
SOFT_ENTRY hipError_t soft_hipSetDevice(int device) {
  return entry([&] { return check_device(device); });
}
SOFT_ENTRY hipError_t soft_hipSetValidDevices(int* devices, int length) {
  return entry([&] {
    if (devices == nullptr || length < 0) return hipErrorInvalidValue;
    for (int i = 0; i < length; ++i)
      if (devices[i] != 0) return hipErrorInvalidDevice;
    return soft::check_configuration();
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGet(hipDevice_t* device, int ordinal) {
  return entry([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(ordinal); error != hipSuccess) return error;
    *device = 0;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetName(char* name, int length, hipDevice_t device) {
  return entry([&] {
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    return soft::put_text(name, length, soft::configuration().profile->name);
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return entry([&] {
    if (uuid == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    soft::put_uuid(uuid);
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetPCIBusId(char* text, int length, int device) {
  return entry([&] {
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    return soft::put_text(text, length, soft::pci_text());
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetByPCIBusId(int* device, const char* text) {
  return entry([&] {
    if (device == nullptr || text == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = soft::check_configuration(); error != hipSuccess) return error;
    const soft::wire::Profile& p = *soft::configuration().profile;
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) return hipErrorInvalidValue;
    if (domain != static_cast<unsigned>(p.pci_domain) || bus != static_cast<unsigned>(p.pci_bus) ||
        slot != static_cast<unsigned>(p.pci_slot))
      return hipErrorInvalidDevice;
    *device = 0;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return entry([&] {
    if (bytes == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    *bytes = soft::device_memory_bytes();
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return entry([&] {
    if (major == nullptr || minor == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    *major = soft::configuration().profile->major;
    *minor = soft::configuration().profile->minor;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return entry([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    return soft::device_attribute(attribute, value) ? hipSuccess : hipErrorInvalidValue;
  });
}
SOFT_ENTRY hipError_t soft_hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  return entry([&] {
    if (properties == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    soft::fill_properties(properties);
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device) {
  return entry([&] {
    if (properties == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = check_device(device); error != hipSuccess) return error;
    soft::fill_properties(properties);
    return hipSuccess;
  });
}
// The unsuffixed symbol has the old layout.
SOFT_ENTRY hipError_t soft_hipGetDeviceProperties(hipDeviceProp_tR0000* properties, hipDevice_t device) {
  return soft_hipGetDevicePropertiesR0000(properties, device);
}
SOFT_ENTRY hipError_t soft_hipChooseDevice(int* device, const hipDeviceProp_tR0600* wanted) {
  return entry([&] { return soft::choose(device, wanted); });
}
SOFT_ENTRY hipError_t soft_hipChooseDeviceR0600(int* device, const hipDeviceProp_tR0600* wanted) {
  return entry([&] { return soft::choose(device, wanted); });
}
SOFT_ENTRY hipError_t soft_hipChooseDeviceR0000(int* device, const hipDeviceProp_tR0000* wanted) {
  return entry([&] { return soft::choose(device, wanted); });
}

SOFT_ENTRY hipError_t soft_hipDeviceGetLimit(size_t* value, hipLimit_t limit) {
  return entry([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (limit < hipLimitStackSize || limit >= hipLimitRange) return hipErrorUnsupportedLimit;
    *value = soft::limits[limit].load();
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  return entry([&] {
    if (limit < hipLimitStackSize || limit >= hipLimitRange) return hipErrorUnsupportedLimit;
    constexpr std::size_t kMaxStack = 128u << 10;
    if (limit == hipLimitStackSize && value > kMaxStack) return hipErrorInvalidValue;
    soft::limits[limit].store(value);
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  return entry([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = hipFuncCachePreferNone;  // AMD's cards have no such choice
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceSetCacheConfig(hipFuncCache_t config) {
  return entry([&] { return soft::valid_cache_config(config) ? hipSuccess : hipErrorInvalidValue; });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  return entry([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = hipSharedMemBankSizeFourByte;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceSetSharedMemConfig(hipSharedMemConfig config) {
  return entry([&] {
    const bool known = config >= hipSharedMemBankSizeDefault && config <= hipSharedMemBankSizeEightByte;
    return known ? hipSuccess : hipErrorInvalidValue;
  });
}

// One device: it is nobody's peer.
SOFT_ENTRY hipError_t soft_hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry([&] {
    if (can == nullptr) return hipErrorInvalidValue;
    *can = 0;
    return device == 0 && peer == 0 ? soft::check_configuration() : hipErrorInvalidDevice;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return entry([&] {
    (void)peer;
    return flags != 0 ? hipErrorInvalidValue : hipErrorInvalidDevice;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceDisablePeerAccess(int peer) {
  return entry([&] { return peer == 0 ? hipErrorPeerAccessNotEnabled : hipErrorInvalidDevice; });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int source, int target) {
  return entry([&] {
    (void)source;
    (void)target;
    if (value == nullptr || attribute < hipDevP2PAttrPerformanceRank ||
        attribute > hipDevP2PAttrHipArrayAccessSupported)
      return hipErrorInvalidValue;
    return hipErrorInvalidDevice;  // source and target must differ, and there is one device
  });
}
SOFT_ENTRY hipError_t soft_hipProfilerStart() {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipProfilerStop() {
  return entry([] { return hipErrorNotSupported; });
}
