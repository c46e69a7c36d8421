// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Device properties and attributes from the profile. The configuration must be valid.
#pragma once

#include "abi/hip.h"

namespace soft {

void fill_properties(hipDeviceProp_tR0600* properties);
void fill_properties(hipDeviceProp_tR0000* properties);
void put_uuid(hipUUID* uuid);

/// False for numbers that HIP 6's runtime has no answer for, although its enumeration knows some of them.
bool device_attribute(hipDeviceAttribute_t attribute, int* value);

}  // namespace soft
