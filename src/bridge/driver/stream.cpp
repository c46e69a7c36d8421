// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"
#include "bridge/handle.hpp"
#include "bridge/live_table.hpp"
#include "bridge/streams.hpp"

namespace rb::driver {

using namespace bridge;

Status stream_create(CUstream* phStream, unsigned int Flags) {
  RB_TRY(context_ready());
  return bridge::create_stream(reinterpret_cast<void**>(phStream), Flags, 0);
}

Status stream_create_with_priority(CUstream* phStream, unsigned int flags, int priority) {
  RB_TRY(context_ready());
  return bridge::create_stream(reinterpret_cast<void**>(phStream), flags, priority);
}

Status stream_destroy_v2(CUstream hStream) {
  RB_TRY(driver_ready());
  return bridge::destroy_stream(hStream);
}
Status stream_destroy(CUstream hStream) {
  return stream_destroy_v2(hStream);
}

Status stream_synchronize(CUstream hStream) {
  RB_TRY(context_ready());
  return synchronize_stream(hStream);
}

Status stream_query(CUstream hStream) {
  RB_TRY(context_ready());
  return query_stream(hStream);
}

Status stream_wait_event(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  RB_TRY(context_ready());
  return bridge::wait_event(hStream, hEvent, Flags);
}

Status stream_get_flags(CUstream hStream, unsigned int* flags) {
  RB_TRY(context_ready());
  return stream_flags(hStream, flags);
}

Status stream_get_priority(CUstream hStream, int* priority) {
  RB_TRY(context_ready());
  return stream_priority(hStream, priority);
}

Status stream_get_id(CUstream hStream, unsigned long long* streamId) {
  RB_TRY(context_ready());
  return stream_id(hStream, streamId);
}

Status stream_get_ctx(CUstream hStream, CUcontext* pctx) {
  if (pctx == nullptr) return fail(Errc::invalid_value, "null-output", "pctx is null");
  RB_TRY(context_ready());
  RB_ASSIGN(const hipStream_t live, stream_of(hStream));
  const LiveEntry* entry = live_streams().find(reinterpret_cast<std::uint64_t>(live));
  std::uint64_t handle = current_context();  // of the default streams
  if (entry != nullptr) {
    RB_ASSIGN(handle, primary_context(entry->device.load(std::memory_order_relaxed)));
  }
  *pctx = to_handle<CUcontext>(handle);
  return {};
}

Status stream_add_callback(CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags) {
  RB_TRY(context_ready());
  // The same calling convention with the enum as the int that it is.
  return add_callback(hStream, reinterpret_cast<void (*)(void*, int, void*)>(callback), userData, flags);
}

Status stream_is_capturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  RB_TRY(context_ready());
  int status = 0;
  RB_TRY(capture_status(hStream, captureStatus != nullptr ? &status : nullptr));
  *captureStatus = static_cast<CUstreamCaptureStatus>(status);
  return {};
}

}  // namespace rb::driver
