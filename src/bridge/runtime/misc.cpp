// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/device.hpp"
#include "bridge/lookup.hpp"
#include "bridge/runtime_entries.hpp"

namespace rb::runtime {

using namespace bridge;

Status get_driver_entry_point(const char* symbol, void** funcPtr, unsigned long long flags,
                              enum cudaDriverEntryPointQueryResult* driverStatus) {
  if (symbol == nullptr || funcPtr == nullptr)
    return fail(Errc::invalid_value, "null-input", "%s is null", symbol == nullptr ? "symbol" : "funcPtr");
  if (flags > 2) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%llx; 0, 1 and 2 exist", flags);
  const Lookup found = find_driver_function(symbol, told_driver_version(), flags == 2, funcPtr);
  if (driverStatus != nullptr) {
    *driverStatus = static_cast<cudaDriverEntryPointQueryResult>(static_cast<int>(found));
    return {};
  }
  if (found != Lookup::found) return fail(Errc::not_found, "no-driver-function", "the driver has no '%.80s'", symbol);
  return {};
}

}  // namespace rb::runtime
