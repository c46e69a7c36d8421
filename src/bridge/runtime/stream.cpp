// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/streams.hpp"

#include "bridge/context.hpp"
#include "bridge/runtime_entries.hpp"

namespace rb::runtime {

using namespace bridge;

Status stream_create(cudaStream_t* pStream) {
  RB_TRY(runtime_ready());
  return bridge::create_stream(reinterpret_cast<void**>(pStream), 0, 0);
}

Status stream_create_with_flags(cudaStream_t* pStream, unsigned int flags) {
  RB_TRY(runtime_ready());
  return bridge::create_stream(reinterpret_cast<void**>(pStream), flags, 0);
}

Status stream_create_with_priority(cudaStream_t* pStream, unsigned int flags, int priority) {
  RB_TRY(runtime_ready());
  return bridge::create_stream(reinterpret_cast<void**>(pStream), flags, priority);
}

Status stream_destroy(cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return bridge::destroy_stream(stream);
}

Status stream_synchronize(cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return synchronize_stream(stream);
}

Status stream_query(cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return query_stream(stream);
}

Status stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  RB_TRY(runtime_ready());
  return bridge::wait_event(stream, event, flags);
}

Status stream_get_flags(cudaStream_t hStream, unsigned int* flags) {
  RB_TRY(runtime_ready());
  return stream_flags(hStream, flags);
}

Status stream_get_priority(cudaStream_t hStream, int* priority) {
  RB_TRY(runtime_ready());
  return stream_priority(hStream, priority);
}

Status stream_get_id(cudaStream_t hStream, unsigned long long* streamId) {
  RB_TRY(runtime_ready());
  return stream_id(hStream, streamId);
}

Status stream_add_callback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData, unsigned int flags) {
  RB_TRY(runtime_ready());
  // The same calling convention with the enum as the int that it is.
  return add_callback(stream, reinterpret_cast<void (*)(void*, int, void*)>(callback), userData, flags);
}

Status launch_host_func(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  RB_TRY(runtime_ready());
  return launch_host_function(stream, fn, userData);
}

Status device_get_stream_priority_range(int* leastPriority, int* greatestPriority) {
  RB_TRY(runtime_ready());
  return stream_priority_range(leastPriority, greatestPriority);
}

Status stream_is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus* pCaptureStatus) {
  RB_TRY(runtime_ready());
  int status = 0;
  RB_TRY(capture_status(stream, pCaptureStatus != nullptr ? &status : nullptr));
  *pCaptureStatus = static_cast<cudaStreamCaptureStatus>(status);
  return {};
}

}  // namespace rb::runtime
