// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/host_threads.hpp"

#include <mutex>

#include "base/log.hpp"
#include "base/os.hpp"

namespace soft {
namespace {

/// Threads that wait for work beyond this number end.
constexpr unsigned kMaxIdle = 4;
constexpr std::uint64_t kSleepNs = 1'000'000'000u;

/// The threads of one session. They end with it.
struct Pool {
  std::mutex mutex;
  Session* session = nullptr;
  std::uint32_t taken = 0;  ///< posts that a thread has taken
  unsigned idle = 0;
};

void work(Pool& pool);

/// Called with the pool's mutex held; counts the new thread as idle.
bool start_thread(Pool& pool) {
  if (!rb::os::start_thread([](void* argument) { work(*static_cast<Pool*>(argument)); }, &pool)) {
    RB_LOG(error, "softrocm", "the system gives no thread for host functions");
    return false;
  }
  ++pool.idle;
  return true;
}

void run_one(Session& session, std::uint32_t slot) {
  wire::Control& control = *session.control;
  wire::StreamControl& shared = control.streams[slot];
  const wire::Record* record = session.segments.ring(slot).front();
  if (record == nullptr || record->operation != wire::kCommandHost) return;
  const auto payload = *static_cast<const wire::HostPayload*>(record->payload());
  void* argument = reinterpret_cast<void*>(payload.argument);
  if (payload.kind == wire::kHostCallback) {
    const auto callback = reinterpret_cast<hipStreamCallback_t>(payload.function);
    callback(reinterpret_cast<hipStream_t>(payload.stream), device_status(session), argument);
  } else {
    reinterpret_cast<hipHostFn_t>(payload.function)(argument);
  }
  const std::uint64_t sequence = shared.completed.load(std::memory_order_acquire) + 1;
  shared.host_done.store(static_cast<std::uint32_t>(sequence), std::memory_order_release);
  wire::ring_doorbell(control);
}

void work(Pool& pool) {
  rb::os::set_thread_name("rb-hostfunc");
  Session& session = *pool.session;
  wire::Control& control = *session.control;
  std::unique_lock lock(pool.mutex);
  while (control.lost.load(std::memory_order_relaxed) == wire::kLostNot) {
    const std::uint32_t posted = control.host_posted.load(std::memory_order_acquire);
    if (pool.taken == posted) {
      lock.unlock();
      rb::os::futex_wait(&control.host_posted, posted, kSleepNs);
      lock.lock();
      continue;
    }
    const std::uint32_t slot = control.host_queue[pool.taken % wire::kMaxStreams].load(std::memory_order_relaxed);
    ++pool.taken;
    --pool.idle;
    if (pool.idle == 0) start_thread(pool);
    lock.unlock();
    run_one(session, slot);
    lock.lock();
    if (pool.idle >= kMaxIdle) return;
    ++pool.idle;
  }
  --pool.idle;
}

std::mutex pools_mutex;
Pool* current_pool = nullptr;

bool ensure_pool(Session* session) {
  std::lock_guard lock(pools_mutex);
  if (current_pool != nullptr && current_pool->session == session) return true;
  Pool* pool = new Pool;  // not freed: its threads may outlive the session by a moment
  pool->session = session;
  std::lock_guard pool_lock(pool->mutex);
  if (!start_thread(*pool)) return false;
  current_pool = pool;
  return true;
}

}  // namespace

hipError_t submit_host(hipStream_t stream, wire::HostKind kind, std::uint64_t function, void* argument, Point* point) {
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  if (!ensure_pool(session)) return hipErrorOutOfMemory;
  wire::HostPayload payload{};
  payload.function = function;
  payload.argument = reinterpret_cast<std::uint64_t>(argument);
  payload.stream = reinterpret_cast<std::uint64_t>(stream);
  payload.kind = kind;
  return submit_command(stream, wire::kCommandHost, &payload, sizeof payload, point);
}

}  // namespace soft
