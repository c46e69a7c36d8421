// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Events: a point on a stream's timeline, and the time at which the stream passed it.
#pragma once

#include "abi/hip.h"

namespace soft {

hipError_t create_event(hipEvent_t* event, unsigned flags);
/// Work that was recorded goes on; only the handle ends.
hipError_t destroy_event(hipEvent_t event);
hipError_t record_event(hipEvent_t event, hipStream_t stream);
/// hipSuccess, hipErrorNotReady, or the device's error. An event that was never recorded is complete.
hipError_t query_event(hipEvent_t event);
hipError_t synchronize_event(hipEvent_t event);
/// hipErrorInvalidHandle if one was not recorded or keeps no time, hipErrorNotReady if one is not complete.
hipError_t elapsed_time(float* ms, hipEvent_t start, hipEvent_t stop);
/// Later work of `stream` waits for the last record of the event before this call.
hipError_t stream_wait_event(hipStream_t stream, hipEvent_t event);
/// Forgets all events (reset of the device).
void forget_events();

}  // namespace soft
