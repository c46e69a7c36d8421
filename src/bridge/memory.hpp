// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Allocation, copies and fills, once for the runtime and the driver. What HIP would accept and CUDA refuses (wrong
// direction, a range that leaves its allocation, freed memory) is refused here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "bridge/memory_map.hpp"

namespace rb::bridge {

Status allocate_device(void** out, std::size_t bytes);
/// Null succeeds. Frees what allocate_device or allocate_managed gave; anything else is invalid.
Status free_device(void* address);
Status allocate_pinned(void** out, std::size_t bytes, unsigned flags);
Status free_pinned(void* address);
Status allocate_managed(void** out, std::size_t bytes, unsigned flags);
/// Rows of `pitch` bytes (a multiple of 512).
Status allocate_pitched(void** out, std::size_t* pitch, std::size_t width, std::size_t height);
Status register_host(void* address, std::size_t bytes, unsigned flags);
Status unregister_host(void* address);
Status host_device_pointer(void** out, void* host, unsigned flags);
Status host_flags(unsigned* flags, void* host);
Status memory_info(std::size_t* free_bytes, std::size_t* total);

/// Numbers of cudaMemcpyKind and hipMemcpyKind.
enum class Direction : int { host_to_host, host_to_device, device_to_host, device_to_device, automatic };

/// Where a pointer may be used.
enum class Place { host, device, both };
/// Place of a pointer; `left` gets the bytes from it to the end of its allocation, or ~0 for plain host memory.
Place place_of(const void* address, std::uint64_t* left);

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;  ///< of a row
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t rows = 1;
  int direction = 4;
  bool waits = true;             ///< returns when the copy is done
  const void* stream = nullptr;  ///< for one that does not wait
};
/// A copy of one row or of many. Zero bytes succeed whatever the rest says. A copy from the device to the host reports
/// a refused launch that nobody has seen yet.
Status copy_memory(const Copy& copy);
Status copy_peer(const Copy& copy, int to_device, int from_device);

struct Fill {
  void* to = nullptr;
  std::uint32_t value = 0;
  unsigned width = 1;     ///< bytes of the value: 1, 2, 4
  std::size_t count = 0;  ///< elements of a row
  std::size_t pitch = 0;
  std::size_t rows = 1;
  bool waits = true;
  const void* stream = nullptr;
};
Status fill_memory(const Fill& fill);

/// What cudaPointerGetAttributes and cuPointerGetAttribute say.
struct PointerFacts {
  int type = 0;  ///< 0 plain host memory, 1 host, 2 device, 3 managed
  int device = -2;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};
PointerFacts pointer_facts(const void* address);

}  // namespace rb::bridge
