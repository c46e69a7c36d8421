// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/memory.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "softrocm/wire/operations.hpp"

namespace soft {
namespace {

/// Freed in stream order: given back once the point is reached.
struct Deferred {
  Point point;
  std::uint64_t address;
  bool on_host;
};

std::mutex& deferred_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::vector<Deferred>& deferred() {
  static std::vector<Deferred>& list = *new std::vector<Deferred>;
  return list;
}

void defer(const Deferred& entry) {
  std::lock_guard lock(deferred_mutex());
  deferred().push_back(entry);
}

void reclaim() {
  std::lock_guard lock(deferred_mutex());
  std::erase_if(deferred(), [](const Deferred& entry) {
    if (!reached(entry.point)) return false;
    (entry.on_host ? host_arena() : device_arena()).release(entry.address);
    return true;
  });
}

std::uint64_t address_bits(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

hipError_t allocate_device(void** address, std::size_t bytes) {
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  if (bytes == 0) {
    *address = nullptr;
    return hipSuccess;
  }
  reclaim();
  const std::uint64_t at = device_arena().allocate(bytes);
  if (at == 0) return hipErrorOutOfMemory;
  if (!ranges().add(at, bytes, Memory::device, 0)) {
    device_arena().release(at);
    return hipErrorOutOfMemory;
  }
  *address = reinterpret_cast<void*>(at);
  return hipSuccess;
}

hipError_t free_device(void* address) {
  if (address == nullptr) return hipSuccess;
  if (is_forked_child()) return hipErrorNotInitialized;
  Range range;
  if (!ranges().find(address_bits(address), &range) || range.base != address_bits(address)) return hipErrorInvalidValue;
  if (range.kind != Memory::device && range.kind != Memory::managed) return hipErrorInvalidValue;
  // Work in flight may still use it.
  if (const hipError_t error = wait_for_device(); error != hipSuccess) return error;
  if (!ranges().remove(range.base, range.kind, &range)) return hipErrorInvalidValue;  // another thread was faster
  (range.kind == Memory::device ? device_arena() : host_arena()).release(range.base);
  return hipSuccess;
}

hipError_t free_device_on(void* address, hipStream_t stream) {
  if (address == nullptr) return hipErrorInvalidValue;
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  Range range;
  if (!ranges().find(address_bits(address), &range) || range.base != address_bits(address)) return hipErrorInvalidValue;
  if (range.kind != Memory::device) return hipErrorInvalidValue;
  Deferred entry{Point{}, range.base, false};
  if (const hipError_t error = submit_command(stream, wire::kOperationEmpty, nullptr, 0, &entry.point);
      error != hipSuccess)
    return error;
  if (!ranges().remove(range.base, range.kind, &range)) return hipErrorInvalidValue;
  defer(entry);
  reclaim();
  return hipSuccess;
}

hipError_t allocate_host(void** address, std::size_t bytes, Memory kind, std::uint32_t flags) {
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  if (bytes == 0) {
    *address = nullptr;
    return hipSuccess;
  }
  reclaim();
  const std::uint64_t fresh_from = host_arena().high_water();
  const std::uint64_t at = host_arena().allocate(bytes);
  if (at == 0) return hipErrorOutOfMemory;
  pattern_host(at, bytes, fresh_from);
  if (!ranges().add(at, bytes, kind, flags)) {
    host_arena().release(at);
    return hipErrorOutOfMemory;
  }
  *address = reinterpret_cast<void*>(at);
  return hipSuccess;
}

hipError_t free_pinned(void* address) {
  if (address == nullptr) return hipSuccess;
  if (is_forked_child()) return hipErrorNotInitialized;
  Range range;
  if (!ranges().find(address_bits(address), &range) || range.base != address_bits(address)) return hipErrorInvalidValue;
  if (range.kind != Memory::pinned) return hipErrorInvalidValue;
  if (const hipError_t error = wait_for_device(); error != hipSuccess) return error;
  if (!ranges().remove(range.base, range.kind, &range)) return hipErrorInvalidValue;
  host_arena().release(range.base);
  return hipSuccess;
}

std::uint64_t take_staging(std::size_t bytes) {
  reclaim();
  return host_arena().allocate(bytes);
}

void release_staging_at(std::uint64_t address, const Point& point) {
  defer(Deferred{point, address, true});
}

Side side_of(const void* address, Range* range) {
  const std::uint64_t at = address_bits(address);
  if (ranges().find(at, range)) {
    if (range->kind == Memory::device) return Side::device;
    return range->kind == Memory::registered ? Side::host : Side::shared;
  }
  *range = Range{};
  const Session* session = running_session();
  if (session == nullptr) return Side::host;
  const wire::Control& control = *session->control;
  const bool dead = at - control.device_base < control.device_bytes || at - control.host_base < control.host_bytes;
  return dead ? Side::dead : Side::host;
}

void memory_info(std::uint64_t* free_bytes, std::uint64_t* total_bytes) {
  *total_bytes = device_arena().size();
  *free_bytes = *total_bytes - device_arena().used();
}

void forget_memory() {
  {
    std::lock_guard lock(deferred_mutex());
    for (const Deferred& entry : deferred()) (entry.on_host ? host_arena() : device_arena()).release(entry.address);
    deferred().clear();
  }
  ranges().remove_all(Memory::device, [](const Range& range) { device_arena().release(range.base); });
  ranges().remove_all(Memory::managed, [](const Range& range) { host_arena().release(range.base); });
  ranges().remove_all(Memory::pinned, [](const Range& range) { host_arena().release(range.base); });
  ranges().remove_all(Memory::registered, [](const Range&) {});
}

}  // namespace soft
