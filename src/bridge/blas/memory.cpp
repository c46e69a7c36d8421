// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/blas/memory.hpp"

#include <cstdint>
#include <limits>

#include "bridge/memory_map.hpp"

namespace rb::blas {

Status check_device_memory(const void* pointer, __int128 begin, __int128 end, const char* what) {
  if (begin >= end) return {};
  if (pointer == nullptr) return fail(Errc::invalid_value, "null-pointer", "%s is null", what);
  const __int128 first = static_cast<__int128>(reinterpret_cast<std::uintptr_t>(pointer)) + begin;
  const __int128 bytes = end - begin;
  constexpr __int128 kTop = std::numeric_limits<std::int64_t>::max();
  if (first <= 0 || first + bytes >= kTop)
    return fail(Errc::invalid_value, "device-buffer", "%s %p would need more than the address space", what, pointer);
  return bridge::check_device_buffer(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(first)),
                                     static_cast<std::uint64_t>(bytes), what);
}

Status check_scalar(const void* pointer, std::size_t bytes, bool on_device, const char* what) {
  if (pointer == nullptr) return fail(Errc::invalid_value, "null-pointer", "%s is null", what);
  if (on_device) {
    if (bridge::check_device_buffer(pointer, bytes, what).ok()) return {};
    return fail(Errc::invalid_value, "scalar-place", "%s %p is not device memory, the pointer mode is DEVICE", what,
                pointer);
  }
  bridge::Allocation allocation;
  if (bridge::find_allocation(reinterpret_cast<std::uintptr_t>(pointer), &allocation) &&
      allocation.kind == bridge::MemoryKind::device)
    return fail(Errc::invalid_value, "scalar-place", "%s %p is device memory, the pointer mode is HOST", what, pointer);
  return {};
}

}  // namespace rb::blas
