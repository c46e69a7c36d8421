// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Level 0 of the integrity checks for cuBLAS: whether a pointer lies where the call may use it, with enough bytes.
#pragma once

#include "base/result.hpp"

namespace rb::blas {

/// Checks that bytes [begin, end) relative to `pointer` lie in one live allocation that the device can reach. An empty
/// range is fine. Faults: invalid_value (null, host, freed or too small).
Status check_device_memory(const void* pointer, __int128 begin, __int128 end, const char* what);

/// Checks that a scalar or result of `bytes` lies where the pointer mode says. Faults: invalid_value.
Status check_scalar(const void* pointer, std::size_t bytes, bool on_device, const char* what);

}  // namespace rb::blas
