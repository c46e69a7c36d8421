// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/stream.hpp"

#include <thread>
#include <vector>

#include "base/os.hpp"
#include "base/os_files.hpp"
#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/wire/commands.hpp"

namespace soft {
namespace {

/// A waiter looks this long at the timeline before it sleeps.
constexpr std::uint64_t kSpinNs = 40'000;
/// A sleeping waiter looks this often whether the engine still lives.
constexpr std::uint64_t kSliceNs = 20'000'000;

/// So does every call, at most this often.
constexpr std::uint64_t kCallCheckNs = 50'000'000;

using Table = HandleTable<Stream, Kind::stream, wire::kMaxStreams>;

Table& table() {
  static Table& instance = *new Table;
  return instance;
}

/// The legacy default stream is always live and has no handle of its own.
Stream& null_stream() {
  static Stream& instance = *new Stream;
  return instance;
}

Stream* stream_at(std::uint32_t slot) {
  return slot == 0 ? &null_stream() : table().at(slot);
}

bool is_drained(std::uint32_t slot) {
  Session* session = running_session();
  const Stream* stream = stream_at(slot);
  if (session == nullptr || stream == nullptr || stream->session.load(std::memory_order_acquire) != session)
    return true;
  return session->control->streams[slot].completed.load(std::memory_order_acquire) >=
         stream->submitted.load(std::memory_order_acquire);
}

thread_local hipStream_t this_threads_stream = nullptr;

}  // namespace

hipStream_t per_thread_stream() {
  std::uint32_t slot = 0;
  if (this_threads_stream != nullptr && table().find(this_threads_stream, &slot) != nullptr) return this_threads_stream;
  hipStream_t fresh = nullptr;
  if (create_stream(&fresh, kHipStreamDefault, 0) != hipSuccess) return nullptr;
  this_threads_stream = fresh;
  // Not a thread_local destructor: those would also run when the program ends, in the main thread.
  static const unsigned key = [] {
    unsigned made = 0;
    rb::os::create_exit_key([](void* handle) { destroy_stream(static_cast<hipStream_t>(handle)); }, &made);
    return made;
  }();
  rb::os::set_exit_value(key, fresh);
  return fresh;
}

hipError_t resolve(hipStream_t stream, Stream** out, std::uint32_t* slot) {
  const auto bits = reinterpret_cast<std::uint64_t>(stream);
  if (bits <= 1) {
    *slot = 0;
    *out = &null_stream();
    return hipSuccess;
  }
  if (bits == 2) stream = per_thread_stream();
  *out = table().find(stream, slot);
  return *out != nullptr ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t create_stream(hipStream_t* stream, std::uint32_t flags, int priority) {
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  std::uint32_t slot = 0;
  Stream* object = table().take(1, &slot, is_drained);
  if (object == nullptr) return hipErrorOutOfMemory;
  std::lock_guard lock(object->mutex);
  object->flags = flags;
  object->priority = priority;
  std::uint32_t shared = (flags & kHipStreamNonBlocking) != 0 ? 0u : static_cast<std::uint32_t>(wire::kStreamBlocking);
  if (priority < 0) shared |= wire::kStreamHigh;
  if (priority > 0) shared |= wire::kStreamLow;
  session->control->streams[slot].flags.store(shared);
  object->submitted.store(session->control->streams[slot].completed.load());
  object->session.store(session, std::memory_order_release);
  *stream = static_cast<hipStream_t>(table().publish(object, slot));
  return hipSuccess;
}

hipError_t destroy_stream(hipStream_t stream) {
  const auto bits = reinterpret_cast<std::uint64_t>(stream);
  if (is_forked_child()) return hipErrorNotInitialized;
  if (bits <= 2) return hipErrorInvalidHandle;
  return table().retire(stream) ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t submit_command(hipStream_t stream, std::uint32_t operation, const void* payload, std::size_t size,
                          Point* point) {
  if (size > wire::kMaxPayload) return hipErrorInvalidValue;
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  wire::Control& control = *session->control;
  std::lock_guard lock(object->mutex);
  const bool usual = reinterpret_cast<std::uint64_t>(stream) > 2;
  if (usual && table().find(stream, &slot) == nullptr) return hipErrorInvalidHandle;  // destroyed meanwhile
  if (object->session.load(std::memory_order_relaxed) != session) {
    if (slot != 0) return hipErrorInvalidHandle;  // of a device that was reset
    object->submitted.store(0);
    object->session.store(session, std::memory_order_release);
  }
  wire::Ring ring = session->segments.ring(slot);
  std::uint64_t ticket = control.next_ticket.fetch_add(1, std::memory_order_relaxed);
  while (!ring.write(operation, ticket, payload, size)) {
    const std::uint64_t done = control.streams[slot].completed.load(std::memory_order_acquire);
    if (const hipError_t error = wait(Point{session, slot, done + 1, 0}); error != hipSuccess) return error;
    ticket = control.next_ticket.fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t sequence = object->submitted.load(std::memory_order_relaxed) + 1;
  object->submitted.store(sequence, std::memory_order_release);
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  std::atomic<std::uint64_t>& active = control.active[slot / 64];
  if ((active.load(std::memory_order_seq_cst) & bit) == 0) active.fetch_or(bit, std::memory_order_seq_cst);
  wire::ring_doorbell(control);
  if (point != nullptr) *point = Point{session, slot, sequence, ticket};
  return hipSuccess;
}

bool reached(const Point& point) {
  if (point.session == nullptr || point.session != running_session()) return true;
  return point.session->control->streams[point.slot].completed.load(std::memory_order_acquire) >= point.sequence;
}

hipError_t wait(const Point& point) {
  if (point.session == nullptr) return hipSuccess;
  if (is_forked_child()) return hipErrorNotInitialized;
  Session& session = *point.session;
  wire::Control& control = *session.control;
  wire::StreamControl& shared = control.streams[point.slot];
  const auto done = [&] { return shared.completed.load(std::memory_order_seq_cst) >= point.sequence; };
  if (!done()) {
    const std::uint64_t begin = rb::os::now_ns();
    for (unsigned round = 1; !done() && rb::os::now_ns() - begin < kSpinNs; ++round)
      if (round % 8 == 0) std::this_thread::yield();
    if (!done()) {
      shared.waiters.fetch_add(1, std::memory_order_seq_cst);
      for (;;) {
        const std::uint32_t signal = shared.signal.load(std::memory_order_seq_cst);
        if (done() || control.lost.load(std::memory_order_seq_cst) != wire::kLostNot) break;
        rb::os::futex_wait(&shared.signal, signal, kSliceNs);
        check_engine(session, kSliceNs);
      }
      shared.waiters.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  check_engine(session, kCallCheckNs);
  return device_status(session);
}

hipError_t last_point(hipStream_t stream, Point* point) {
  *point = Point{};
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  point->session = running_session();
  point->slot = slot;
  if (object->session.load(std::memory_order_acquire) == point->session)
    point->sequence = object->submitted.load(std::memory_order_acquire);
  return hipSuccess;
}

hipError_t wait_for_device() {
  if (is_forked_child()) return hipErrorNotInitialized;
  Session* session = running_session();
  if (session == nullptr) return hipSuccess;
  // Points first, so that other threads that keep submitting do not hold us for ever.
  std::vector<Point> points;
  const std::uint32_t used = table().used();
  for (std::uint32_t slot = 0; slot < (used == 0 ? 1 : used); ++slot) {
    const Stream* stream = stream_at(slot);
    if (stream == nullptr || stream->session.load(std::memory_order_acquire) != session) continue;
    const Point point{session, slot, stream->submitted.load(std::memory_order_acquire), 0};
    if (!reached(point)) points.push_back(point);
  }
  for (const Point& point : points)
    if (const hipError_t error = wait(point); error != hipSuccess) return error;
  check_engine(*session, kSliceNs);
  return device_status(*session);
}

bool nothing_before(hipStream_t stream) {
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  Session* session = running_session();
  if (session == nullptr) return true;
  if (resolve(stream, &object, &slot) != hipSuccess) return false;
  if (!is_drained(slot)) return false;
  if (slot != 0) return (object->flags & kHipStreamNonBlocking) != 0 || is_drained(0);
  const std::uint32_t used = table().used();
  for (std::uint32_t other = 1; other < used; ++other) {
    const Stream* candidate = table().at(other);
    if (candidate != nullptr && (candidate->flags & kHipStreamNonBlocking) == 0 && !is_drained(other)) return false;
  }
  return true;
}

void forget_streams() {
  table().retire_all();
}

}  // namespace soft
