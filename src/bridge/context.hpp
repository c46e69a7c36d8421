// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Current device and context of each thread. HIP's contexts are the devices' primary ones (HIP, Context Management), so
// a CUDA context is a handle that names a device; the runtime and the driver share this state. Reading it costs a
// few nanoseconds and takes no lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.hpp"

namespace rb::bridge {

inline constexpr int kMaxDevices = 64;

namespace detail {

struct ThreadState {
  int device = 0;
  std::uint64_t context = 0;  ///< handle that is current, 0: none
  unsigned depth = 0;         ///< contexts pushed below it
  std::uint64_t stack[32] = {};
};
extern thread_local constinit ThreadState t_state __attribute__((tls_model("initial-exec")));

struct Primary {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<unsigned> flags{0};
  std::atomic<unsigned> retained{0};
  std::atomic<bool> by_runtime{false};  ///< the runtime made it active: stays so until reset
};
extern Primary g_primary[kMaxDevices];

}  // namespace detail

struct Context {
  int device = 0;
  unsigned flags = 0;
  bool primary = false;
};

/// The device of this thread; 0 at first.
inline int current_device() {
  return detail::t_state.device;
}
inline std::uint64_t current_context() {
  return detail::t_state.context;
}

/// Whether the device's primary context is active in this process.
inline bool primary_active(int device) {
  const detail::Primary& primary = detail::g_primary[device];
  return primary.by_runtime.load(std::memory_order_relaxed) || primary.retained.load(std::memory_order_relaxed) != 0;
}

/// What every runtime function that touches a device does first: opens the device and makes the primary context current
/// if the thread has none.
Status runtime_ready();
/// What every driver function does first: refuses before cuInit (3).
Status driver_ready();
/// The same for driver functions that need a current context (201 without one).
Status context_ready();

void mark_driver_initialised();

/// Makes the device current on this thread and its primary context with it.
Status set_device(int device);
/// Makes a context current (0: none).
Status set_context(std::uint64_t handle);
Status push_context(std::uint64_t handle);
Result<std::uint64_t> pop_context();

/// Handle of the device's primary context; made at first use.
Result<std::uint64_t> primary_context(int device);
Result<std::uint64_t> create_context(int device, unsigned flags);
Status destroy_context(std::uint64_t handle);
/// The live context behind a handle, or a fault (201).
Result<Context> find_context(std::uint64_t handle);

Status retain_primary(int device, std::uint64_t* handle);
Status release_primary(int device);
/// Ends everything on the device: streams, events, memory, remembered refusals.
Status reset_device(int device);

/// Number of devices; fault 100 if there is none.
Result<int> device_count();
/// Fault 101 unless `device` exists.
Status check_device(int device);

}  // namespace rb::bridge
