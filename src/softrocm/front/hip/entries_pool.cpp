// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Stream-ordered allocation from the device's default pool. HIP API reference, "Stream ordered memory allocator".
// Pools of the application's own, export and import are not built.
#include <atomic>

#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/front/hip/memory.hpp"

namespace soft {
namespace {

std::atomic<std::uint64_t> release_threshold{0};

hipMemPool_t default_pool() {
  return reinterpret_cast<hipMemPool_t>(make_handle(Kind::pool, 0, 1));
}

hipError_t malloc_on(void** address, std::size_t bytes, hipStream_t stream) {
  if (address == nullptr) return hipErrorInvalidValue;
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  return allocate_device(address, bytes);
}

hipError_t device_pool(hipMemPool_t* pool, int device) {
  if (pool == nullptr) return hipErrorInvalidValue;
  if (device != 0) return hipErrorInvalidDevice;
  if (const hipError_t error = check_configuration(); error != hipSuccess) return error;
  *pool = default_pool();
  return hipSuccess;
}

}  // namespace
}  // namespace soft

SOFT_ENTRY hipError_t soft_hipMallocAsync(void** address, size_t bytes, hipStream_t stream) {
  return soft::entry([&] { return soft::malloc_on(address, bytes, stream); });
}
SOFT_ENTRY hipError_t soft_hipMallocFromPoolAsync(void** address, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  return soft::entry(
      [&] { return pool != soft::default_pool() ? hipErrorInvalidValue : soft::malloc_on(address, bytes, stream); });
}
SOFT_ENTRY hipError_t soft_hipFreeAsync(void* address, hipStream_t stream) {
  return soft::entry([&] { return soft::free_device_on(address, stream); });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  return soft::entry([&] { return soft::device_pool(pool, device); });
}
SOFT_ENTRY hipError_t soft_hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  return soft::entry([&] { return soft::device_pool(pool, device); });
}
SOFT_ENTRY hipError_t soft_hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return soft::entry([&] {
    if (device != 0) return hipErrorInvalidDevice;
    return pool == soft::default_pool() ? hipSuccess : hipErrorInvalidValue;
  });
}
SOFT_ENTRY hipError_t soft_hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return soft::entry([&] { return pool == soft::default_pool() ? hipSuccess : hipErrorInvalidValue; });
}
SOFT_ENTRY hipError_t soft_hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return soft::entry([&] {
    if (pool != soft::default_pool() || value == nullptr) return hipErrorInvalidValue;
    switch (attribute) {
      case hipMemPoolReuseFollowEventDependencies:
      case hipMemPoolReuseAllowOpportunistic:
      case hipMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = 1;
        return hipSuccess;
      case hipMemPoolAttrReleaseThreshold:
        *static_cast<std::uint64_t*>(value) = soft::release_threshold.load();
        return hipSuccess;
      case hipMemPoolAttrReservedMemCurrent:
      case hipMemPoolAttrUsedMemCurrent:
        *static_cast<std::uint64_t*>(value) = soft::running_session() == nullptr ? 0 : soft::device_arena().used();
        return hipSuccess;
      case hipMemPoolAttrReservedMemHigh:
      case hipMemPoolAttrUsedMemHigh:
        return hipErrorNotSupported;
      default:
        return hipErrorInvalidValue;
    }
  });
}
SOFT_ENTRY hipError_t soft_hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return soft::entry([&] {
    if (pool != soft::default_pool() || value == nullptr) return hipErrorInvalidValue;
    switch (attribute) {
      case hipMemPoolReuseFollowEventDependencies:
      case hipMemPoolReuseAllowOpportunistic:
      case hipMemPoolReuseAllowInternalDependencies:
        return hipSuccess;  // permissions to reuse; freed memory here is reused when its stream is done, never earlier
      case hipMemPoolAttrReleaseThreshold:
        soft::release_threshold.store(*static_cast<std::uint64_t*>(value));
        return hipSuccess;
      case hipMemPoolAttrReservedMemHigh:
      case hipMemPoolAttrUsedMemHigh:
        return hipErrorNotSupported;
      default:
        return hipErrorInvalidValue;
    }
  });
}
