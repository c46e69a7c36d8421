// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The control segment: what front and engine share besides the data. Plain structures of atomics in one memory file;
// the front writes commands and rings the doorbell, the engine schedules the streams and publishes what is complete.
//
// Layout: Control | pattern state, one byte for each kChunk of the device arena | rings, kRingBytes for each stream.
// The file is sparse: only streams that were used have pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace soft::wire {

inline constexpr std::uint64_t kMagic = 0x31'6d'63'6f'72'74'66'73;  // "sftrocm1"
inline constexpr unsigned kMaxStreams = 1024;
inline constexpr unsigned kMaxEvents = 262144;
inline constexpr std::size_t kRingBytes = 256u << 10;
/// Fresh device memory gets its pattern in pieces of this size, when somebody first touches them.
inline constexpr std::size_t kChunk = 64u << 10;

/// Why the device is lost. The front turns it into a HIP error (front/hip/device.cpp).
enum Lost : std::uint32_t {
  kLostNot = 0,
  kLostEnded = 1,  ///< the engine's process ended: crashed or killed
  kLostStuck = 2,  ///< an operation ran longer than the watchdog allows, or the engine stopped answering
  kLostStart = 3,  ///< the engine could not be started
};

/// First failure of an operation (Control::device_error); the numbers are those of soft::engine::Outcome.
enum DeviceError : std::uint32_t {
  kDeviceOk = 0,
  kDeviceInvalidAddress = 1,
  kDeviceOutOfMemory = 2,
  kDeviceUnsupported = 3,
  kDeviceInternal = 4,
};

/// What the primary worker does; tells the front whom it has to wake.
enum PrimaryState : std::uint32_t { kPrimaryAwake = 0, kPrimaryAsleep = 1, kPrimaryBusy = 2 };

enum StreamFlag : std::uint32_t {
  kStreamBlocking = 1,  ///< ordered against the legacy default stream
  kStreamHigh = 2,      ///< priority above normal
  kStreamLow = 4,       ///< priority below normal
};

/// One stream: a ring of commands (ring.hpp) and its timeline. Slot 0 is the legacy default stream. The timeline never
/// goes back, so an event that names (slot, sequence) stays right when the slot is given to another stream.
struct alignas(64) StreamControl {
  std::atomic<std::uint64_t> written;    ///< front: bytes written into the ring since ever
  std::atomic<std::uint32_t> flags;      ///< front: StreamFlag
  std::atomic<std::uint32_t> host_done;  ///< front: low half of the sequence whose host function has returned

  alignas(64) std::atomic<std::uint64_t> read;  ///< engine: bytes consumed (an operation counts when it is done)
  std::atomic<std::uint64_t> completed;         ///< engine: sequence of the last complete command
  std::atomic<std::uint32_t> signal;            ///< engine: futex, changes when `completed` grew and somebody waits

  alignas(64) std::atomic<std::uint32_t> waiters;  ///< front: threads that look at `signal`
};

/// Timing slot of an event. The record with the largest ticket wins, so a slot can be reused at once.
struct EventControl {
  std::atomic<std::uint64_t> ticket;
  std::atomic<std::uint64_t> time_ns;
};

struct Control {
  std::uint64_t magic;
  std::uint64_t control_bytes;
  std::uint64_t device_base;  ///< device address (in the application) of the device arena's first byte
  std::uint64_t device_bytes;
  std::uint64_t host_base;  ///< address in the application of the host arena's first byte
  std::uint64_t host_bytes;
  std::uint64_t pattern_seed;
  std::uint64_t schedule_seed;  ///< 0: plain scheduler; else the adverse one
  std::uint32_t watchdog_ms;
  std::uint32_t wavefront;
  char gfx[32];

  alignas(64) std::atomic<std::uint32_t> engine_pid;  ///< futex; the engine sets it when it is about to serve
  std::atomic<std::uint32_t> lost;                    ///< Lost; set by whoever notices first
  std::atomic<std::uint32_t> device_error;            ///< DeviceError
  std::atomic<std::uint32_t> heartbeat;               ///< grows while the engine's main thread runs

  alignas(64) std::atomic<std::uint32_t> doorbell;  ///< futex of the primary worker; front adds 1 per command
  alignas(64) std::atomic<std::uint32_t> primary_state;
  std::atomic<std::uint32_t> helper_bell;  ///< futex of the helper worker

  alignas(64) std::atomic<std::uint64_t> next_ticket;               ///< global order of submissions
  alignas(64) std::atomic<std::uint64_t> active[kMaxStreams / 64];  ///< streams that may have commands

  alignas(64) std::atomic<std::uint32_t> host_posted;  ///< futex; number of host functions the engine has posted
  std::atomic<std::uint32_t> host_queue[kMaxStreams];  ///< stream of post n at n % kMaxStreams

  StreamControl streams[kMaxStreams];
  EventControl events[kMaxEvents];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::size_t align_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

inline constexpr std::size_t pattern_offset() {
  return align_up(sizeof(Control), 4096);
}
inline constexpr std::size_t ring_offset(std::uint64_t device_bytes) {
  return align_up(pattern_offset() + device_bytes / kChunk + 1, 4096);
}
inline constexpr std::size_t control_size(std::uint64_t device_bytes) {
  return ring_offset(device_bytes) + kMaxStreams * kRingBytes;
}

/// Wakes the engine after a command was published or a host function has returned.
void ring_doorbell(Control& control);

/// Marks the device lost (the first reason stays) and wakes everybody who waits on the segment.
void mark_lost(Control& control, Lost reason);

/// Publishes that one more command of the stream is complete and wakes its waiters.
void publish_completion(StreamControl& stream);

}  // namespace soft::wire
