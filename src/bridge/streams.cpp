// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/streams.hpp"

#include <memory>
#include <utility>

#include "bridge/amd.hpp"
#include "bridge/context.hpp"
#include "bridge/last_error.hpp"
#include "bridge/live_table.hpp"
#include "bridge/pending_checks.hpp"
#include "bridge/process.hpp"
#include "bridge/trap.hpp"

namespace rb::bridge {
namespace {

constexpr unsigned kNonBlocking = 1;
constexpr unsigned kDisableTiming = 2;
constexpr unsigned kInterprocess = 4;
constexpr int kNotReady = 600;

std::uint64_t word(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
bool is_default(const void* stream) {
  return word(stream) <= 2;
}

Fault bad_stream(const void* stream) {
  if (live_events().find(word(stream)) != nullptr)
    return fail(Errc::invalid_handle, "handle-kind", "stream is an event (%p)", stream);
  return fail(Errc::invalid_handle, "handle-foreign",
              "stream is %p, which is no live stream (destroyed, or never created here)", stream);
}

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

const LiveEntry* entry_of(const void* stream) {
  return live_streams().find(word(stream));
}

}  // namespace

Result<hipStream_t> stream_of(const void* stream) {
  if (word(stream) <= 1) return hipStream_t{nullptr};
  if (is_default(stream) || live_streams().find(word(stream)) != nullptr)
    return static_cast<hipStream_t>(const_cast<void*>(stream));
  return bad_stream(stream);
}

Result<hipEvent_t> event_of(const void* event) {
  if (live_events().find(word(event)) != nullptr) return static_cast<hipEvent_t>(const_cast<void*>(event));
  if (event == nullptr) return fail(Errc::invalid_handle, "handle-null", "event is null");
  if (live_streams().find(word(event)) != nullptr)
    return fail(Errc::invalid_handle, "handle-kind", "event is a stream (%p)", event);
  return fail(Errc::invalid_handle, "handle-foreign",
              "event is %p, which is no live event (destroyed, or never created here)", event);
}

Status stream_priority_range(int* least, int* greatest) {
  int low = 0;
  int high = 0;
  RB_TRY(RB_HIP(hipDeviceGetStreamPriorityRange, &low, &high));
  // HIP has a priority below the normal one (1); CUDA's lowest is the normal one, 0.
  if (least != nullptr) *least = low < 0 ? low : 0;
  if (greatest != nullptr) *greatest = high < 0 ? high : 0;
  return {};
}

Status create_stream(void** out, unsigned flags, int priority) {
  if (out == nullptr) return null_output("pStream");
  if ((flags & ~kNonBlocking) != 0)
    return fail(Errc::invalid_value, "bad-flags", "stream flags are 0x%x; 0 and 1 exist", flags);
  RB_TRY(check_process_again());
  hipStream_t stream = nullptr;
  if (priority == 0) {
    RB_TRY(RB_HIP(hipStreamCreateWithFlags, &stream, flags));
  } else {
    int least = 0;
    int greatest = 0;
    RB_TRY(stream_priority_range(&least, &greatest));
    priority = priority > least ? least : priority < greatest ? greatest : priority;
    RB_TRY(RB_HIP(hipStreamCreateWithPriority, &stream, flags, priority));
  }
  live_streams().insert(word(stream), current_device(), flags, priority);
  *out = stream;
  return {};
}

Status destroy_stream(void* stream) {
  if (is_default(stream))
    return fail(Errc::invalid_handle, "default-stream", "a default stream (%p) cannot be destroyed", stream);
  if (!live_streams().erase(word(stream))) return bad_stream(stream);
  return RB_HIP(hipStreamDestroy, static_cast<hipStream_t>(stream));
}

Status pending_refusal() {
  const int code = pending_for_synchronise();
  if (code == 0) [[likely]]
    return {};
  Fault fault = fail(code == 209 ? Errc::no_binary : Errc::execution_failed, "unseen-refusal",
                     "an earlier launch or result on this device was refused and nobody has looked at that yet");
  fault.native = code;
  return fault;
}

Status synchronize_stream(const void* stream) {
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  RB_TRY(RB_HIP(hipStreamSynchronize, live));
  return pending_refusal();
}

Status synchronize_device() {
  RB_TRY(RB_HIP(hipDeviceSynchronize));
  return pending_refusal();
}

Status query_stream(const void* stream) {
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  const hipError_t error = RB_AMD_RAW(hipStreamQuery, live);
  if (error == hipErrorNotReady) return answer(kNotReady);
  return hip_status(error, "hipStreamQuery");
}

Status wait_event(const void* stream, const void* event, unsigned flags) {
  if (flags > 1) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 0 and 1 exist", flags);
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  RB_ASSIGN(const hipEvent_t awaited, event_of(event));
  return RB_HIP(hipStreamWaitEvent, live, awaited, 0);
}

Status stream_flags(const void* stream, unsigned* flags) {
  if (flags == nullptr) return null_output("flags");
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  const LiveEntry* entry = entry_of(stream);
  *flags = entry != nullptr ? entry->flags.load(std::memory_order_relaxed) : 0;
  return {};
}

Status stream_priority(const void* stream, int* priority) {
  if (priority == nullptr) return null_output("priority");
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  const LiveEntry* entry = entry_of(stream);
  *priority = entry != nullptr ? entry->priority.load(std::memory_order_relaxed) : 0;
  return {};
}

Status stream_id(const void* stream, unsigned long long* id) {
  if (id == nullptr) return null_output("streamId");
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  const LiveEntry* entry = entry_of(stream);
  // Ids 1 and 2 are the default streams of device 0 and so on; created ones come after all devices.
  const unsigned long long first = 1 + 2ull * kMaxDevices;
  *id = entry != nullptr ? first + entry->serial.load(std::memory_order_relaxed)
                         : 1 + 2ull * static_cast<unsigned>(current_device()) + (word(stream) == 2 ? 1 : 0);
  return {};
}

namespace {

struct HostAction {
  void (*function)(void*);
  void* data;
};

/// Checks do not wait for their verdict while a host function of the program is under way.
void run_host_action(void* data) {
  const std::unique_ptr<HostAction> action(static_cast<HostAction*>(data));
  action->function(action->data);
  checks::host_action_ends();
}

}  // namespace

Status launch_host_function(const void* stream, void (*function)(void*), void* data) {
  if (function == nullptr) return fail(Errc::invalid_value, "null-function", "the host function is null");
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  auto action = std::make_unique<HostAction>(HostAction{function, data});
  checks::host_action_begins();
  if (Status status = RB_HIP(hipLaunchHostFunc, live, &run_host_action, static_cast<void*>(action.get()));
      !status.ok()) {
    checks::host_action_ends();
    return status;
  }
  static_cast<void>(action.release());  // run_host_action frees it
  return {};
}

namespace {

struct Callback {
  void* stream;
  void (*function)(void*, int, void*);
  void* data;
};

void run_callback(void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, 0, callback->data);
}

}  // namespace

Status add_callback(void* stream, void (*function)(void*, int, void*), void* data, unsigned flags) {
  if (function == nullptr) return fail(Errc::invalid_value, "null-function", "the callback is null");
  if (flags != 0) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; they must be 0", flags);
  auto callback = std::make_unique<Callback>(Callback{stream, function, data});
  RB_TRY(launch_host_function(stream, &run_callback, callback.get()));
  static_cast<void>(callback.release());  // the callback frees it
  return {};
}

Status capture_status(const void* stream, int* status) {
  if (status == nullptr) return null_output("captureStatus");
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  *status = 0;
  return {};
}

int exchange_capture_mode(int mode) {
  static thread_local int t_mode = 0;
  return std::exchange(t_mode, mode);
}

Status create_event(void** out, unsigned flags) {
  if (out == nullptr) return null_output("event");
  if (flags > 7) return fail(Errc::invalid_value, "bad-flags", "event flags are 0x%x; 1, 2 and 4 exist", flags);
  if ((flags & kInterprocess) != 0 && (flags & kDisableTiming) == 0)
    return fail(Errc::invalid_value, "bad-flags", "an inter-process event must be created without timing (flags 0x%x)",
                flags);
  hipEvent_t event = nullptr;
  RB_TRY(RB_HIP(hipEventCreateWithFlags, &event, flags));
  live_events().insert(word(event), current_device(), flags, 0);
  *out = event;
  return {};
}

Status destroy_event(void* event) {
  if (!live_events().erase(word(event))) return event_of(event).status();
  return RB_HIP(hipEventDestroy, static_cast<hipEvent_t>(event));
}

Status record_event(const void* event, const void* stream, unsigned flags) {
  if (flags > 1) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 0 and 1 exist", flags);
  RB_ASSIGN(const hipEvent_t live, event_of(event));
  RB_ASSIGN(const hipStream_t on, stream_of(stream));
  return RB_HIP(hipEventRecord, live, on);
}

Status synchronize_event(const void* event) {
  RB_ASSIGN(const hipEvent_t live, event_of(event));
  RB_TRY(RB_HIP(hipEventSynchronize, live));
  return pending_refusal();
}

Status query_event(const void* event) {
  RB_ASSIGN(const hipEvent_t live, event_of(event));
  const hipError_t error = RB_AMD_RAW(hipEventQuery, live);
  if (error == hipErrorNotReady) return answer(kNotReady);
  RB_TRY(hip_status(error, "hipEventQuery"));
  return pending_refusal();
}

Status elapsed_time(float* milliseconds, const void* start, const void* end) {
  if (milliseconds == nullptr) return null_output("ms");
  RB_ASSIGN(const hipEvent_t first, event_of(start));
  RB_ASSIGN(const hipEvent_t second, event_of(end));
  for (const void* event : {start, end}) {
    const LiveEntry* entry = live_events().find(word(event));
    if (entry != nullptr && (entry->flags.load(std::memory_order_relaxed) & kDisableTiming) != 0)
      return fail(Errc::invalid_handle, "event-without-timing", "event %p was created without timing", event);
  }
  const hipError_t error = RB_AMD_RAW(hipEventElapsedTime, milliseconds, first, second);
  if (error == hipErrorNotReady) return answer(kNotReady);
  return hip_status(error, "hipEventElapsedTime");
}

}  // namespace rb::bridge
