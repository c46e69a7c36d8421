// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/event.hpp"

#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/front/hip/stream.hpp"
#include "softrocm/wire/commands.hpp"

namespace soft {
namespace {

/// Queries look this often whether the engine still lives.
constexpr std::uint64_t kCheckNs = 10'000'000;

struct Event {
  std::atomic<std::uint32_t> generation{0};
  std::mutex mutex;
  unsigned flags = 0;
  bool recorded = false;
  Point point;
};

using Table = HandleTable<Event, Kind::event, wire::kMaxEvents>;

Table& table() {
  static Table& instance = *new Table;
  return instance;
}

/// Copy of an event's state; false for a handle that is not live.
bool look_up(hipEvent_t handle, std::uint32_t* index, unsigned* flags, bool* recorded, Point* point) {
  Event* event = table().find(handle, index);
  if (event == nullptr) return false;
  std::lock_guard lock(event->mutex);
  if (table().find(handle, index) == nullptr) return false;
  *flags = event->flags;
  *recorded = event->recorded;
  *point = event->point;
  return true;
}

}  // namespace

hipError_t create_event(hipEvent_t* handle, unsigned flags) {
  if ((flags & ~kHipEventFlags) != 0) return hipErrorInvalidValue;
  if ((flags & kHipEventInterprocess) != 0 && (flags & kHipEventDisableTiming) == 0) return hipErrorInvalidValue;
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  std::uint32_t index = 0;
  Event* event = table().take(0, &index, [](std::uint32_t) { return true; });
  if (event == nullptr) return hipErrorOutOfMemory;
  std::lock_guard lock(event->mutex);
  event->flags = flags;
  event->recorded = false;
  event->point = Point{};
  *handle = static_cast<hipEvent_t>(table().publish(event, index));
  return hipSuccess;
}

hipError_t destroy_event(hipEvent_t event) {
  if (is_forked_child()) return hipErrorNotInitialized;
  return table().retire(event) ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t record_event(hipEvent_t handle, hipStream_t stream) {
  if (is_forked_child()) return hipErrorNotInitialized;
  std::uint32_t index = 0;
  Event* event = table().find(handle, &index);
  if (event == nullptr) return hipErrorInvalidHandle;
  std::lock_guard lock(event->mutex);
  if (table().find(handle, &index) == nullptr) return hipErrorInvalidHandle;
  const wire::RecordPayload payload{index};
  Point point;
  const hipError_t error = submit_command(stream, wire::kCommandRecord, &payload, sizeof payload, &point);
  if (error != hipSuccess) return error;
  event->recorded = true;
  event->point = point;
  return hipSuccess;
}

hipError_t query_event(hipEvent_t handle) {
  if (is_forked_child()) return hipErrorNotInitialized;
  std::uint32_t index = 0;
  unsigned flags = 0;
  bool recorded = false;
  Point point;
  if (!look_up(handle, &index, &flags, &recorded, &point)) return hipErrorInvalidHandle;
  if (!recorded) return hipSuccess;
  const bool ready = reached(point);
  check_engine(*point.session, kCheckNs);
  const hipError_t error = device_status(*point.session);
  return error != hipSuccess ? error : ready ? hipSuccess : hipErrorNotReady;
}

hipError_t synchronize_event(hipEvent_t handle) {
  if (is_forked_child()) return hipErrorNotInitialized;
  std::uint32_t index = 0;
  unsigned flags = 0;
  bool recorded = false;
  Point point;
  if (!look_up(handle, &index, &flags, &recorded, &point)) return hipErrorInvalidHandle;
  return recorded ? wait(point) : hipSuccess;
}

hipError_t elapsed_time(float* ms, hipEvent_t start, hipEvent_t stop) {
  if (ms == nullptr) return hipErrorInvalidValue;
  if (is_forked_child()) return hipErrorNotInitialized;
  std::uint64_t times[2] = {};
  const hipEvent_t handles[2] = {start, stop};
  bool ready = true;
  for (int i = 0; i < 2; ++i) {
    std::uint32_t index = 0;
    unsigned flags = 0;
    bool recorded = false;
    Point point;
    if (!look_up(handles[i], &index, &flags, &recorded, &point)) return hipErrorInvalidHandle;
    if (!recorded || (flags & kHipEventDisableTiming) != 0) return hipErrorInvalidHandle;
    if (const hipError_t error = device_status(*point.session); error != hipSuccess) return error;
    if (!reached(point)) {
      ready = false;
      continue;
    }
    times[i] = point.session->control->events[index].time_ns.load(std::memory_order_acquire);
  }
  if (!ready) return hipErrorNotReady;
  *ms = static_cast<float>(static_cast<double>(static_cast<std::int64_t>(times[1] - times[0])) * 1e-6);
  return hipSuccess;
}

hipError_t stream_wait_event(hipStream_t stream, hipEvent_t handle) {
  if (is_forked_child()) return hipErrorNotInitialized;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  std::uint32_t index = 0;
  unsigned flags = 0;
  bool recorded = false;
  Point point;
  if (!look_up(handle, &index, &flags, &recorded, &point)) return hipErrorInvalidHandle;
  if (!recorded || reached(point) || point.slot == slot)
    return point.session != nullptr ? device_status(*point.session) : hipSuccess;
  wire::WaitPayload payload{};
  payload.sequence = point.sequence;
  payload.stream = point.slot;
  return submit_command(stream, wire::kCommandWait, &payload, sizeof payload, nullptr);
}

void forget_events() {
  table().retire_all();
}

}  // namespace soft
