// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What programs are told about the devices, once for the runtime and the driver: HIP's values, but capability, warp
// size and versions as the controls say.
#pragma once

#include <cstddef>

#include "abi/hip.h"
#include "base/result.hpp"
#include "bridge/library.hpp"

namespace rb::bridge {

struct Capability {
  int major = 8;
  int minor = 6;
};
/// Control device.capability.
Capability told_capability();
int told_driver_version();
/// 11080 or 12010 by the library that was called, unless a control says otherwise.
int told_runtime_version(Library library);

/// The properties in the form of CUDA 12's cudaDeviceProp (1,032 bytes; the first 728 are the form of 11.x).
inline constexpr std::size_t kPropertiesBytes = 1032;
Result<const hipDeviceProp_tR0600*> device_properties(int device);

/// CUDA's attribute number; fault 1 for an unknown one.
Status device_attribute(int* value, int attribute, int device);
Status can_access_peer(int* value, int device, int peer);

Status device_pci_id(char* text, int length, int device);
Status device_by_pci_id(int* device, const char* text);
Status device_limit(std::size_t* value, int limit);
Status set_device_limit(int limit, std::size_t value);

}  // namespace rb::bridge
