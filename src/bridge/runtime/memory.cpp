// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/memory.hpp"

#include <cstring>

#include "bridge/context.hpp"
#include "bridge/runtime_entries.hpp"
#include "bridge/streams.hpp"

namespace rb::runtime {

using namespace bridge;

Status malloc(void** devPtr, size_t size) {
  RB_TRY(runtime_ready());
  return allocate_device(devPtr, size);
}

Status free(void* devPtr) {
  RB_TRY(runtime_ready());
  return free_device(devPtr);
}

Status host_alloc(void** pHost, size_t size, unsigned int flags) {
  RB_TRY(runtime_ready());
  return allocate_pinned(pHost, size, flags);
}

Status malloc_host(void** ptr, size_t size) {
  RB_TRY(runtime_ready());
  return allocate_pinned(ptr, size, 0);
}

Status free_host(void* ptr) {
  RB_TRY(runtime_ready());
  return free_pinned(ptr);
}

Status malloc_managed(void** devPtr, size_t size, unsigned int flags) {
  RB_TRY(runtime_ready());
  return allocate_managed(devPtr, size, flags);
}

Status malloc_pitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  RB_TRY(runtime_ready());
  return allocate_pitched(devPtr, pitch, width, height);
}

Status malloc3d(struct cudaPitchedPtr* pitchedDevPtr, struct cudaExtent extent) {
  if (pitchedDevPtr == nullptr) return fail(Errc::invalid_value, "null-output", "pitchedDevPtr is null");
  RB_TRY(runtime_ready());
  std::size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return fail(Errc::alloc_failed, "too-large", "%zu x %zu rows", extent.height, extent.depth);
  void* address = nullptr;
  std::size_t pitch = 0;
  RB_TRY(allocate_pitched(&address, &pitch, extent.width, rows));
  pitchedDevPtr->ptr = address;
  pitchedDevPtr->pitch = pitch;
  pitchedDevPtr->xsize = extent.width;
  pitchedDevPtr->ysize = extent.height;
  return {};
}

Status host_register(void* ptr, size_t size, unsigned int flags) {
  RB_TRY(runtime_ready());
  return bridge::register_host(ptr, size, flags);
}

Status host_unregister(void* ptr) {
  RB_TRY(runtime_ready());
  return bridge::unregister_host(ptr);
}

Status host_get_device_pointer(void** pDevice, void* pHost, unsigned int flags) {
  RB_TRY(runtime_ready());
  return host_device_pointer(pDevice, pHost, flags);
}

Status host_get_flags(unsigned int* pFlags, void* pHost) {
  RB_TRY(runtime_ready());
  return host_flags(pFlags, pHost);
}

Status mem_get_info(size_t* free, size_t* total) {
  RB_TRY(runtime_ready());
  return memory_info(free, total);
}

Status memcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) {
  RB_TRY(runtime_ready());
  return copy_memory({dst, src, count, 0, 0, 1, static_cast<int>(kind), true, nullptr});
}

Status memcpy_async(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return copy_memory({dst, src, count, 0, 0, 1, static_cast<int>(kind), false, stream});
}

Status memcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                enum cudaMemcpyKind kind) {
  RB_TRY(runtime_ready());
  return copy_memory({dst, src, width, dpitch, spitch, height, static_cast<int>(kind), true, nullptr});
}

Status memcpy2d_async(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return copy_memory({dst, src, width, dpitch, spitch, height, static_cast<int>(kind), false, stream});
}

Status memcpy_peer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  RB_TRY(runtime_ready());
  return copy_peer({dst, src, count, 0, 0, 1, 3, true, nullptr}, dstDevice, srcDevice);
}

Status memcpy_peer_async(void* dst, int dstDevice, const void* src, int srcDevice, size_t count, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return copy_peer({dst, src, count, 0, 0, 1, 3, false, stream}, dstDevice, srcDevice);
}

Status memset(void* devPtr, int value, size_t count) {
  RB_TRY(runtime_ready());
  return fill_memory({devPtr, static_cast<std::uint32_t>(value), 1, count, 0, 1, true, nullptr});
}

Status memset_async(void* devPtr, int value, size_t count, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return fill_memory({devPtr, static_cast<std::uint32_t>(value), 1, count, 0, 1, false, stream});
}

Status memset2d(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  RB_TRY(runtime_ready());
  return fill_memory({devPtr, static_cast<std::uint32_t>(value), 1, width, pitch, height, true, nullptr});
}

Status memset2d_async(void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  return fill_memory({devPtr, static_cast<std::uint32_t>(value), 1, width, pitch, height, false, stream});
}

/// Hints move no data: the AMD side moves managed pages by itself. The range must be managed memory, as in CUDA.
static Status check_managed(const void* address, std::size_t bytes) {
  Allocation allocation;
  const std::uint64_t word = reinterpret_cast<std::uint64_t>(address);
  if (bytes == 0 || !find_allocation(word, &allocation) || allocation.kind != MemoryKind::managed ||
      bytes > allocation.base + allocation.bytes - word)
    return fail(Errc::invalid_value, "buffer-not-managed", "%zu bytes at %p are not all managed memory", bytes,
                address);
  return {};
}

Status mem_prefetch_async(const void* devPtr, size_t count, int dstDevice, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  RB_TRY(check_managed(devPtr, count));
  if (dstDevice != -1) RB_TRY(check_device(dstDevice));
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  return {};
}

Status mem_advise(const void* devPtr, size_t count, enum cudaMemoryAdvise advice, int device) {
  RB_TRY(runtime_ready());
  RB_TRY(check_managed(devPtr, count));
  const int number = static_cast<int>(advice);
  if (number < 1 || number > 6) return fail(Errc::invalid_value, "bad-advice", "there is no advice %d", number);
  if (number > 2 && device != -1) RB_TRY(check_device(device));
  return {};
}

Status pointer_get_attributes(struct cudaPointerAttributes* attributes, const void* ptr) {
  if (attributes == nullptr) return fail(Errc::invalid_value, "null-output", "attributes is null");
  RB_TRY(runtime_ready());
  const PointerFacts facts = pointer_facts(ptr);
  attributes->type = static_cast<cudaMemoryType>(facts.type);
  attributes->device = facts.device;
  attributes->devicePointer = facts.device_pointer;
  attributes->hostPointer = facts.host_pointer;
  return {};
}

}  // namespace rb::runtime
