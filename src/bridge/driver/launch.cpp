// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::driver {

using namespace bridge;

Status launch_host_func(CUstream hStream, CUhostFn fn, void* userData) {
  RB_TRY(context_ready());
  return launch_host_function(hStream, fn, userData);
}

}  // namespace rb::driver
