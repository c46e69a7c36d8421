// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Streams, host functions and events. HIP API reference, "Stream management" and "Event management".
#include "softrocm/front/core.hpp"
#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/event.hpp"
#include "softrocm/front/hip/host_threads.hpp"
#include "softrocm/front/hip/memory.hpp"
#include "softrocm/front/hip/stream.hpp"

namespace soft {
namespace {

constexpr int kLeastPriority = 1;
constexpr int kGreatestPriority = -1;
/// Queries look this often whether the engine still lives.
constexpr std::uint64_t kCheckNs = 10'000'000;

hipError_t make_stream(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags != kHipStreamDefault && flags != kHipStreamNonBlocking)) return hipErrorInvalidValue;
  if (priority < kGreatestPriority) priority = kGreatestPriority;
  if (priority > kLeastPriority) priority = kLeastPriority;
  return create_stream(stream, flags, priority);
}

/// The legacy default stream is ready when every blocking stream is.
hipError_t query_stream(hipStream_t stream) {
  Point point;
  if (const hipError_t error = last_point(stream, &point); error != hipSuccess) return error;
  if (is_forked_child()) return hipErrorNotInitialized;
  if (point.session == nullptr) return hipSuccess;
  const bool ready = point.slot == 0 ? nothing_before(nullptr) : reached(point);
  check_engine(*point.session, kCheckNs);
  const hipError_t error = device_status(*point.session);
  return error != hipSuccess ? error : ready ? hipSuccess : hipErrorNotReady;
}

hipError_t wait_event(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return flags != 0 ? hipErrorInvalidValue : stream_wait_event(stream, event);
}

hipError_t add_callback(hipStream_t stream, hipStreamCallback_t callback, void* user_data, unsigned flags) {
  if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
  return submit_host(stream, wire::kHostCallback, reinterpret_cast<std::uint64_t>(callback), user_data, nullptr);
}

hipError_t launch_host(hipStream_t stream, hipHostFn_t function, void* user_data) {
  if (function == nullptr) return hipErrorInvalidValue;
  return submit_host(stream, wire::kHostFunction, reinterpret_cast<std::uint64_t>(function), user_data, nullptr);
}

hipError_t stream_flags(hipStream_t stream, unsigned* flags) {
  if (flags == nullptr) return hipErrorInvalidValue;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  *flags = object->flags;
  return hipSuccess;
}

hipError_t stream_priority(hipStream_t stream, int* priority) {
  if (priority == nullptr) return hipErrorInvalidValue;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  *priority = object->priority;
  return hipSuccess;
}

hipError_t is_capturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  if (status == nullptr) return hipErrorInvalidValue;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  *status = hipStreamCaptureStatusNone;  // no stream can begin a capture yet
  return hipSuccess;
}

hipError_t write_value(hipStream_t stream, void* address, std::uint64_t value, std::uint32_t bytes) {
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(address);
  Range range;
  const Side side = side_of(address, &range);
  if (address == nullptr || (side != Side::device && side != Side::shared)) return hipErrorInvalidValue;
  if (at % bytes != 0 || range.end() - at < bytes) return hipErrorInvalidValue;
  const wire::WritePayload payload{at, value, bytes};
  return submit_command(stream, wire::kCommandWrite, &payload, sizeof payload, nullptr);
}

}  // namespace
}  // namespace soft

SOFT_ENTRY hipError_t soft_hipStreamCreate(hipStream_t* stream) {
  return soft::entry([&] { return soft::make_stream(stream, 0, 0); });
}
SOFT_ENTRY hipError_t soft_hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return soft::entry([&] { return soft::make_stream(stream, flags, 0); });
}
SOFT_ENTRY hipError_t soft_hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return soft::entry([&] { return soft::make_stream(stream, flags, priority); });
}
SOFT_ENTRY hipError_t soft_hipStreamDestroy(hipStream_t stream) {
  return soft::entry([&] { return soft::destroy_stream(stream); });
}
SOFT_ENTRY hipError_t soft_hipStreamQuery(hipStream_t stream) {
  return soft::entry([&] { return soft::query_stream(stream); });
}
SOFT_ENTRY hipError_t soft_hipStreamQuery_spt(hipStream_t stream) {
  return soft::entry([&] { return soft::query_stream(soft::spt(stream)); });
}
SOFT_ENTRY hipError_t soft_hipStreamSynchronize(hipStream_t stream) {
  return soft::entry([&] { return soft::synchronize(stream); });
}
SOFT_ENTRY hipError_t soft_hipStreamSynchronize_spt(hipStream_t stream) {
  return soft::entry([&] { return soft::synchronize(soft::spt(stream)); });
}
SOFT_ENTRY hipError_t soft_hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return soft::entry([&] { return soft::wait_event(stream, event, flags); });
}
SOFT_ENTRY hipError_t soft_hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return soft::entry([&] { return soft::wait_event(soft::spt(stream), event, flags); });
}
SOFT_ENTRY hipError_t soft_hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                                unsigned flags) {
  return soft::entry([&] { return soft::add_callback(stream, callback, user_data, flags); });
}
SOFT_ENTRY hipError_t soft_hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                                    unsigned flags) {
  return soft::entry([&] { return soft::add_callback(soft::spt(stream), callback, user_data, flags); });
}
SOFT_ENTRY hipError_t soft_hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  return soft::entry([&] { return soft::launch_host(stream, function, user_data); });
}
SOFT_ENTRY hipError_t soft_hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function, void* user_data) {
  return soft::entry([&] { return soft::launch_host(soft::spt(stream), function, user_data); });
}
SOFT_ENTRY hipError_t soft_hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  return soft::entry([&] { return soft::stream_flags(stream, flags); });
}
SOFT_ENTRY hipError_t soft_hipStreamGetFlags_spt(hipStream_t stream, unsigned* flags) {
  return soft::entry([&] { return soft::stream_flags(soft::spt(stream), flags); });
}
SOFT_ENTRY hipError_t soft_hipStreamGetPriority(hipStream_t stream, int* priority) {
  return soft::entry([&] { return soft::stream_priority(stream, priority); });
}
SOFT_ENTRY hipError_t soft_hipStreamGetPriority_spt(hipStream_t stream, int* priority) {
  return soft::entry([&] { return soft::stream_priority(soft::spt(stream), priority); });
}
SOFT_ENTRY hipError_t soft_hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return soft::entry([&] { return soft::is_capturing(stream, status); });
}
SOFT_ENTRY hipError_t soft_hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus* status) {
  return soft::entry([&] { return soft::is_capturing(soft::spt(stream), status); });
}
SOFT_ENTRY hipError_t soft_hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                                   unsigned long long* id) {
  return soft::entry([&] {
    const hipError_t error = soft::is_capturing(stream, status);
    if (error == hipSuccess && id != nullptr) *id = 0;
    return error;
  });
}
SOFT_ENTRY hipError_t soft_hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                                      unsigned long long* id, hipGraph_t* graph,
                                                      const hipGraphNode_t** dependencies, size_t* count) {
  return soft::entry([&] {
    const hipError_t error = soft::is_capturing(stream, status);
    if (error != hipSuccess) return error;
    if (id != nullptr) *id = 0;
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (count != nullptr) *count = 0;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return soft::entry([&] {
    static thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
    if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
      return hipErrorInvalidValue;
    const hipStreamCaptureMode old = current;
    current = *mode;
    *mode = old;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return soft::entry([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    soft::Stream* object = nullptr;
    std::uint32_t slot = 0;
    if (const hipError_t error = soft::resolve(stream, &object, &slot); error != hipSuccess) return error;
    *device = 0;
    return hipSuccess;
  });
}
SOFT_ENTRY int soft_hipGetStreamDeviceId(hipStream_t stream) {
  soft::Stream* object = nullptr;
  std::uint32_t slot = 0;
  return soft::resolve(stream, &object, &slot) == hipSuccess ? 0 : soft::kHipInvalidDevice;
}
SOFT_ENTRY hipError_t soft_hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return soft::entry([&] {
    if (least != nullptr) *least = soft::kLeastPriority;
    if (greatest != nullptr) *greatest = soft::kGreatestPriority;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipStreamAttachMemAsync(hipStream_t stream, void* address, size_t length, unsigned flags) {
  return soft::entry([&] {
    soft::Stream* object = nullptr;
    std::uint32_t slot = 0;
    if (const hipError_t error = soft::resolve(stream, &object, &slot); error != hipSuccess) return error;
    soft::Range range;
    soft::side_of(address, &range);
    if (range.kind != soft::Memory::managed || (length != 0 && length != range.size)) return hipErrorInvalidValue;
    if (flags != soft::kHipMemAttachGlobal && flags != soft::kHipMemAttachHost && flags != soft::kHipMemAttachSingle)
      return hipErrorInvalidValue;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipStreamWriteValue32(hipStream_t stream, void* address, uint32_t value, unsigned) {
  return soft::entry([&] { return soft::write_value(stream, address, value, 4); });
}
SOFT_ENTRY hipError_t soft_hipStreamWriteValue64(hipStream_t stream, void* address, uint64_t value, unsigned) {
  return soft::entry([&] { return soft::write_value(stream, address, value, 8); });
}

SOFT_ENTRY hipError_t soft_hipEventCreate(hipEvent_t* event) {
  return soft::entry([&] { return event == nullptr ? hipErrorInvalidValue : soft::create_event(event, 0); });
}
SOFT_ENTRY hipError_t soft_hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return soft::entry([&] { return event == nullptr ? hipErrorInvalidValue : soft::create_event(event, flags); });
}
SOFT_ENTRY hipError_t soft_hipEventDestroy(hipEvent_t event) {
  return soft::entry([&] { return soft::destroy_event(event); });
}
SOFT_ENTRY hipError_t soft_hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return soft::entry([&] { return soft::record_event(event, stream); });
}
SOFT_ENTRY hipError_t soft_hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return soft::entry([&] { return soft::record_event(event, soft::spt(stream)); });
}
SOFT_ENTRY hipError_t soft_hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  // Flag 1 (external) means something in a capture only.
  return soft::entry([&] { return flags > 1 ? hipErrorInvalidValue : soft::record_event(event, stream); });
}
SOFT_ENTRY hipError_t soft_hipEventQuery(hipEvent_t event) {
  return soft::entry([&] { return soft::query_event(event); });
}
SOFT_ENTRY hipError_t soft_hipEventSynchronize(hipEvent_t event) {
  return soft::entry([&] { return soft::synchronize_event(event); });
}
SOFT_ENTRY hipError_t soft_hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return soft::entry([&] { return soft::elapsed_time(ms, start, stop); });
}
