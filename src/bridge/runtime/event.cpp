// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"
#include "bridge/runtime_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::runtime {

using namespace bridge;

Status event_create(cudaEvent_t* event) {
  RB_TRY(runtime_ready());
  return bridge::create_event(reinterpret_cast<void**>(event), 0);
}

Status event_create_with_flags(cudaEvent_t* event, unsigned int flags) {
  RB_TRY(runtime_ready());
  return bridge::create_event(reinterpret_cast<void**>(event), flags);
}

Status event_destroy(cudaEvent_t event) {
  RB_TRY(runtime_ready());
  return bridge::destroy_event(event);
}

Status event_record(cudaEvent_t event, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return bridge::record_event(event, stream, 0);
}

Status event_record_with_flags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  RB_TRY(runtime_ready());
  return bridge::record_event(event, stream, flags);
}

Status event_synchronize(cudaEvent_t event) {
  RB_TRY(runtime_ready());
  return synchronize_event(event);
}

Status event_query(cudaEvent_t event) {
  RB_TRY(runtime_ready());
  return query_event(event);
}

Status event_elapsed_time(float* ms, cudaEvent_t start, cudaEvent_t end) {
  RB_TRY(runtime_ready());
  return elapsed_time(ms, start, end);
}

}  // namespace rb::runtime
