// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The memory that programs took through the bridge: answers pointer attributes, checks buffers before a library reads
// or writes them (DESIGN 7, level 0), and gives the trace the size of what is freed. Looking up takes no lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace rb::bridge {

enum class MemoryKind : std::uint8_t { device, pinned, managed, registered };

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  bool async = false;  ///< from cudaMallocAsync
  int device = 0;
  std::uint32_t flags = 0;        ///< of the allocating call
  std::uint64_t device_base = 0;  ///< address for the device; the same as base except for registered memory
};

void remember_allocation(const Allocation& allocation);
/// Takes the allocation that starts at `base` out of the map; false if there is none.
bool forget_allocation(std::uint64_t base, Allocation* allocation);
/// The live allocation that holds `address`.
bool find_allocation(std::uint64_t address, Allocation* allocation);
/// Forgets all device, managed and pinned memory of a device.
void forget_device_memory(int device);

/// Whether a device may use [address, address + bytes) as an operand. Faults name `what`: null, host memory, freed or
/// foreign, too short. Zero bytes always pass.
Status check_device_buffer(const void* address, std::uint64_t bytes, const char* what);

}  // namespace rb::bridge
