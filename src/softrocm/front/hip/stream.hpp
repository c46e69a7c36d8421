// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Streams of the front: handles, submission, waiting. A stream is a slot of the control segment; slot 0 is the legacy
// default stream. hipStreamLegacy (1) and hipStreamPerThread (2) are known.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "abi/hip.h"
#include "softrocm/front/hip/device.hpp"

namespace soft {

struct Stream {
  std::atomic<std::uint32_t> generation{0};
  std::mutex mutex;  ///< one writer of the ring at a time
  std::uint32_t flags = 0;
  int priority = 0;
  /// Session the stream belongs to; with another one running it is dead, whatever its handle says.
  std::atomic<Session*> session{nullptr};
  /// Sequence of the last submitted command. Counts on over reuse of the slot, like the timeline in the segment.
  std::atomic<std::uint64_t> submitted{0};
};

/// A point on a stream's timeline.
struct Point {
  Session* session = nullptr;
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;
  std::uint64_t ticket = 0;
};

/// Slot of a stream handle; hipErrorInvalidHandle if it is not live. Starts nothing unless the handle is
/// hipStreamPerThread, whose stream is made at first use.
hipError_t resolve(hipStream_t stream, Stream** out, std::uint32_t* slot);

hipError_t create_stream(hipStream_t* stream, std::uint32_t flags, int priority);
hipError_t destroy_stream(hipStream_t stream);
/// hipStreamPerThread's stream of the calling thread.
hipStream_t per_thread_stream();

/// Puts a command on a stream. Returns at once unless the ring is full. `point` (may be null) gets its place.
hipError_t submit_command(hipStream_t stream, std::uint32_t operation, const void* payload, std::size_t size,
                          Point* point);

/// Waits until a point is reached, or the device is lost: the device's error.
hipError_t wait(const Point& point);
/// Whether the point is reached (true, too, when its session is gone). Does not ask for errors.
bool reached(const Point& point);
/// Last point of a stream.
hipError_t last_point(hipStream_t stream, Point* point);
/// Waits for all streams.
hipError_t wait_for_device();
/// Whether nothing that was submitted can still run before a command that would be submitted to the stream now.
bool nothing_before(hipStream_t stream);

/// Forgets all streams (reset of the device).
void forget_streams();

}  // namespace soft
