// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"

#include <algorithm>
#include <mutex>

#include "bridge/amd.hpp"
#include "bridge/handle.hpp"
#include "bridge/live_table.hpp"
#include "bridge/memory_map.hpp"
#include "bridge/pending_checks.hpp"
#include "bridge/trap.hpp"

namespace rb::bridge {
namespace detail {

thread_local constinit ThreadState t_state;
Primary g_primary[kMaxDevices];

}  // namespace detail

namespace {

using detail::g_primary;
using detail::t_state;

std::atomic<bool> g_driver_initialised{false};
std::atomic<int> g_count{-1};

HandleTable<Context, Kind::context>& contexts() {
  return table_of<Context, Kind::context>();
}

const void* as_pointer(std::uint64_t handle) {
  return reinterpret_cast<const void*>(handle);
}

Fault no_context(const char* text) {
  Fault fault = fail(Errc::bad_context, "context", "%s", text);
  return fault;
}

Status set_hip_device(int device) {
  return RB_HIP(hipSetDevice, device);
}

}  // namespace

Result<int> device_count() {
  RB_TRY(device_ready());
  int count = g_count.load(std::memory_order_relaxed);
  if (count < 0) {
    RB_TRY(RB_HIP(hipGetDeviceCount, &count));
    if (count > kMaxDevices) count = kMaxDevices;
    g_count.store(count, std::memory_order_relaxed);
  }
  if (count == 0) return fail(Errc::no_device, "no-device", "the AMD libraries report no device");
  return count;
}

Status check_device(int device) {
  // Once the count is known this is all: no lock, and no table after a fork.
  if (static_cast<unsigned>(device) < static_cast<unsigned>(std::max(g_count.load(std::memory_order_relaxed), 0)) &&
      g_table.load(std::memory_order_acquire) != nullptr)
    return {};
  RB_ASSIGN(const int count, device_count());
  if (device >= 0 && device < count) return {};
  Fault fault = fail(Errc::invalid_value, "bad-device", "device is %d; there are %d", device, count);
  fault.native =
      detail::t_call.info != nullptr && (call().info->api == Api::cudart || call().info->api == Api::cuda_driver) ? 101
                                                                                                                  : -1;
  return fault;
}

Status runtime_ready() {
  RB_TRY(device_ready());
  if (t_state.context != 0) [[likely]]
    return {};
  return set_device(t_state.device);
}

void mark_driver_initialised() {
  g_driver_initialised.store(true, std::memory_order_release);
}

Status driver_ready() {
  // The runtime initialises the driver, too.
  if (!g_driver_initialised.load(std::memory_order_acquire) && g_table.load(std::memory_order_acquire) == nullptr) {
    // The program's mistake, not a lost device: told at level info.
    Fault fault = fail(Errc::bad_context, "driver-not-initialised", "cuInit was not called");
    fault.native = 3;
    return fault;
  }
  return device_ready();
}

Status context_ready() {
  RB_TRY(driver_ready());
  if (t_state.context == 0) return no_context("this thread has no current context");
  if (contexts().find(as_pointer(t_state.context)) == nullptr) return no_context("the current context was destroyed");
  return {};
}

Result<std::uint64_t> primary_context(int device) {
  RB_TRY(check_device(device));
  detail::Primary& primary = g_primary[device];
  std::uint64_t handle = primary.handle.load(std::memory_order_acquire);
  if (handle != 0) return handle;
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  handle = primary.handle.load(std::memory_order_acquire);
  if (handle != 0) return handle;
  Context* context = nullptr;
  RB_ASSIGN(handle, contexts().create(&context));
  *context = {device, 0, true};
  primary.handle.store(handle, std::memory_order_release);
  return handle;
}

Status set_device(int device) {
  RB_ASSIGN(const std::uint64_t handle, primary_context(device));
  RB_TRY(set_hip_device(device));
  t_state.device = device;
  t_state.context = handle;
  g_primary[device].by_runtime.store(true, std::memory_order_relaxed);
  return {};
}

Result<Context> find_context(std::uint64_t handle) {
  const Context* context = contexts().find(as_pointer(handle));
  if (context == nullptr) {
    Fault fault = bad_handle("ctx", as_pointer(handle), Kind::context);
    fault.code = Errc::bad_context;
    return fault;
  }
  return *context;
}

Status set_context(std::uint64_t handle) {
  if (handle == 0) {
    t_state.context = 0;
    return {};
  }
  RB_ASSIGN(const Context context, find_context(handle));
  RB_TRY(set_hip_device(context.device));
  t_state.device = context.device;
  t_state.context = handle;
  return {};
}

Status push_context(std::uint64_t handle) {
  RB_ASSIGN(const Context context, find_context(handle));
  if (t_state.depth == sizeof t_state.stack / sizeof *t_state.stack)
    return fail(Errc::invalid_value, "context", "%u contexts are already pushed on this thread", t_state.depth);
  RB_TRY(set_hip_device(context.device));
  t_state.stack[t_state.depth++] = t_state.context;
  t_state.device = context.device;
  t_state.context = handle;
  return {};
}

Result<std::uint64_t> pop_context() {
  const std::uint64_t popped = t_state.context;
  if (popped == 0) return no_context("this thread has no current context to pop");
  std::uint64_t next = t_state.depth != 0 ? t_state.stack[--t_state.depth] : 0;
  if (next != 0 && contexts().find(as_pointer(next)) == nullptr) next = 0;  // destroyed while it lay on the stack
  RB_TRY(set_context(next));
  return popped;
}

Result<std::uint64_t> create_context(int device, unsigned flags) {
  RB_TRY(check_device(device));
  Context* context = nullptr;
  RB_ASSIGN(const std::uint64_t handle, contexts().create(&context));
  *context = {device, flags, false};
  return handle;
}

Status destroy_context(std::uint64_t handle) {
  RB_ASSIGN(const Context context, find_context(handle));
  if (context.primary) return no_context("a primary context is released, not destroyed");
  Status status = contexts().destroy(as_pointer(handle), "ctx");
  if (!status.ok()) return no_context("the context was destroyed by another thread");
  if (t_state.context == handle) {
    RB_ASSIGN(const std::uint64_t popped, pop_context());
    static_cast<void>(popped);
  }
  return {};
}

Status retain_primary(int device, std::uint64_t* handle) {
  RB_ASSIGN(*handle, primary_context(device));
  g_primary[device].retained.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status release_primary(int device) {
  RB_TRY(check_device(device));
  std::atomic<unsigned>& retained = g_primary[device].retained;
  unsigned count = retained.load(std::memory_order_relaxed);
  do {
    if (count == 0) return no_context("the primary context is not retained");
  } while (!retained.compare_exchange_weak(count, count - 1, std::memory_order_relaxed));
  return {};
}

Status reset_device(int device) {
  RB_TRY(check_device(device));
  const int before = t_state.device;
  RB_TRY(set_hip_device(device));
  checks::before_reset();
  Status status = RB_HIP(hipDeviceReset);
  t_state.device = device;
  forget_refusals();
  t_state.device = before;
  forget_device_memory(device);
  live_streams().clear(device);
  live_events().clear(device);
  g_primary[device].by_runtime.store(false, std::memory_order_relaxed);
  if (before != device) RB_TRY(set_hip_device(before));
  return status;
}

}  // namespace rb::bridge
