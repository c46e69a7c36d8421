// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the bridge adds to a call's record in the trace: contents of descriptors, the stream, allocations. The families
// register how their handles are written down; with tracing off nothing here is reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bridge/handle.hpp"
#include "trace/format.hpp"

namespace rb::bridge {

/// Writes the content behind a live handle of its kind (trace::TensorSnapshot for a tensor, ...) into `buffer` of
/// `room` bytes; bytes written, 0 if there is nothing to say. Must not fail on a freed handle, allocate or lock.
using Snapshot = std::size_t (*)(const void* handle, void* buffer, std::size_t room);
/// Word of the stream that a library handle is set to.
using StreamOf = std::uint64_t (*)(const void* handle);

/// Says how handles of `kind` are written down. Callable at any time, also from a static initialiser.
void register_snapshot(Kind kind, trace::SnapshotKind layout, Snapshot snapshot);
void register_stream_of(Kind kind, StreamOf stream_of);

/// Memory taken or given back through the bridge.
void trace_allocation(trace::AllocationKind kind, bool freed, int device, std::uint64_t address, std::uint64_t bytes);

/// Settings of this process and the chosen device, once the device is open.
void trace_settings();

}  // namespace rb::bridge
