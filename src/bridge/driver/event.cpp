// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::driver {

using namespace bridge;

Status event_create(CUevent* phEvent, unsigned int Flags) {
  RB_TRY(context_ready());
  return bridge::create_event(reinterpret_cast<void**>(phEvent), Flags);
}

Status event_destroy_v2(CUevent hEvent) {
  RB_TRY(driver_ready());
  return bridge::destroy_event(hEvent);
}
Status event_destroy(CUevent hEvent) {
  return event_destroy_v2(hEvent);
}

Status event_record(CUevent hEvent, CUstream hStream) {
  RB_TRY(context_ready());
  return bridge::record_event(hEvent, hStream, 0);
}

Status event_record_with_flags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  RB_TRY(context_ready());
  return bridge::record_event(hEvent, hStream, flags);
}

Status event_synchronize(CUevent hEvent) {
  RB_TRY(driver_ready());
  return synchronize_event(hEvent);
}

Status event_query(CUevent hEvent) {
  RB_TRY(driver_ready());
  return query_event(hEvent);
}

Status event_elapsed_time(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  RB_TRY(driver_ready());
  return elapsed_time(pMilliseconds, hStart, hEnd);
}

}  // namespace rb::driver
