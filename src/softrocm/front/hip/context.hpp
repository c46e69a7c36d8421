// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The one context: HIP's contexts are the device's primary one (HIP porting guide, "Driver API").
#pragma once

#include "abi/hip.h"

namespace soft {

hipCtx_t primary_context();

/// Waits for the device, ends its engine and forgets streams, events and memory. Also the way out of a lost device.
hipError_t reset_device();

}  // namespace soft
