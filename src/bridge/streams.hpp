// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Streams and events, once for the runtime and the driver. A handle's value is AMD's pointer; 0 and 1 name the legacy
// default stream, 2 the per-thread one (CUDA Runtime API, Stream synchronization behavior).
#pragma once

#include <cstdint>

#include "abi/hip.h"
#include "base/result.hpp"

namespace rb::bridge {

/// The HIP stream of a CUDA stream handle. Fault 400 for a destroyed or foreign one, or an event.
Result<hipStream_t> stream_of(const void* stream);
Result<hipEvent_t> event_of(const void* event);

/// Flags 0 or 1 (non-blocking); a priority outside the range is brought into it, as CUDA does.
Status create_stream(void** out, unsigned flags, int priority);
Status destroy_stream(void* stream);
/// Waits, then reports a refused launch that nobody has seen yet.
Status synchronize_stream(const void* stream);
/// Answers 600 while work is under way.
Status query_stream(const void* stream);
Status wait_event(const void* stream, const void* event, unsigned flags);
/// CUDA's order: `least` is 0, `greatest` is 0 or negative.
Status stream_priority_range(int* least, int* greatest);
Status stream_flags(const void* stream, unsigned* flags);
Status stream_priority(const void* stream, int* priority);
/// A number that no other stream of the process has.
Status stream_id(const void* stream, unsigned long long* id);
Status launch_host_function(const void* stream, void (*function)(void*), void* data);
/// `function(stream, 0, data)` after the work so far.
Status add_callback(void* stream, void (*function)(void*, int, void*), void* data, unsigned flags);
/// A stream that may not be used is a fault; captures are refused, so `*status` is always 0 (none).
Status capture_status(const void* stream, int* status);

/// Sets this thread's capture mode (0 to 2) and gives the one before.
int exchange_capture_mode(int mode);

Status create_event(void** out, unsigned flags);
Status destroy_event(void* event);
Status record_event(const void* event, const void* stream, unsigned flags);
Status synchronize_event(const void* event);
Status query_event(const void* event);
Status elapsed_time(float* milliseconds, const void* start, const void* end);

Status synchronize_device();
/// The fault that carries a refused launch to a synchronising call, or success.
Status pending_refusal();

}  // namespace rb::bridge
