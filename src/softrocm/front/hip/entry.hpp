// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What every HIP entry of the front does around its body: no exception leaves it, and an error becomes the thread's
// last error. The declarations of all entries (soft/hip_entries.h) are generated from api/amd/hip.
#pragma once

#include <new>

#include "soft/hip_entries.h"

namespace soft {

/// Last error of the calling thread: the last failure since it was read; successes and hipErrorNotReady do not count.
void set_last_error(hipError_t error);

/// Runs the body of an entry.
template <class Body>
hipError_t entry(Body body) noexcept {
  hipError_t error = hipErrorUnknown;
  try {
    error = body();
  } catch (const std::bad_alloc&) {
    error = hipErrorOutOfMemory;
  } catch (...) {
    error = hipErrorUnknown;
  }
  set_last_error(error);
  return error;
}

/// The stream of the _spt entries: null means the per-thread default stream.
inline hipStream_t spt(hipStream_t stream) {
  return stream == nullptr ? reinterpret_cast<hipStream_t>(std::uintptr_t{2}) : stream;
}

}  // namespace soft
