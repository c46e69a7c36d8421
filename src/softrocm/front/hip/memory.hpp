// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Allocation of device, pinned, managed and registered memory. ranges.hpp knows what is live; arena.hpp keeps accounts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/hip.h"
#include "softrocm/front/hip/ranges.hpp"
#include "softrocm/front/hip/stream.hpp"

namespace soft {

/// Device memory, 256-byte aligned. Zero bytes give a null pointer and success, as in HIP.
hipError_t allocate_device(void** address, std::size_t bytes);
/// Waits for the device, then frees device or managed memory. Null is fine; anything else that is not the beginning of
/// a live allocation is hipErrorInvalidValue.
hipError_t free_device(void* address);
/// Frees when the stream has come so far; the address is dead at once.
hipError_t free_device_on(void* address, hipStream_t stream);

/// Memory that host and device see at the same address; kind is pinned or managed.
hipError_t allocate_host(void** address, std::size_t bytes, Memory kind, std::uint32_t flags);
hipError_t free_pinned(void* address);

/// A piece of the host arena for the front's own use, not in the table of live memory; 0 if there is none.
std::uint64_t take_staging(std::size_t bytes);
/// Gives staging memory back when a point is reached.
void release_staging_at(std::uint64_t address, const Point& point);

/// Where an address lies, for copies and fills.
enum class Side {
  host,    ///< pageable or registered host memory
  shared,  ///< live pinned or managed memory: host and device reach it
  device,  ///< live device memory
  dead,    ///< inside an arena, but not live
};
Side side_of(const void* address, Range* range);

/// Bytes in use and in all.
void memory_info(std::uint64_t* free_bytes, std::uint64_t* total_bytes);

/// Forgets every allocation (reset of the device).
void forget_memory();

}  // namespace soft
