// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Allocation, registration and questions about pointers. HIP API reference, "Memory management".
#include <cstring>

#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/context.hpp"
#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/memory.hpp"
#include "softrocm/wire/operations.hpp"

namespace soft {
namespace {

constexpr std::size_t kPitch = 256;

std::uint64_t bits(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

/// The live range of an address; kind none if there is none.
Range live_range(const void* address) {
  Range range;
  return ranges().find(bits(address), &range) ? range : Range{};
}

hipError_t malloc_device(void** address, std::size_t bytes) {
  return address == nullptr ? hipErrorInvalidValue : allocate_device(address, bytes);
}

hipError_t malloc_pitched(void** address, std::size_t* pitch, std::size_t width, std::size_t height,
                          std::size_t depth) {
  if (address == nullptr || pitch == nullptr) return hipErrorInvalidValue;
  if (width == 0 || height == 0 || depth == 0) {
    *address = nullptr;
    *pitch = 0;
    return hipSuccess;
  }
  std::size_t row = 0;
  std::size_t bytes = 0;
  if (__builtin_add_overflow(width, kPitch - 1, &row)) return hipErrorInvalidValue;
  row = row / kPitch * kPitch;
  if (__builtin_mul_overflow(row, height, &bytes) || __builtin_mul_overflow(bytes, depth, &bytes))
    return hipErrorInvalidValue;
  const hipError_t error = allocate_device(address, bytes);
  if (error == hipSuccess) *pitch = row;
  return error;
}

hipError_t malloc_pinned(void** address, std::size_t bytes, unsigned flags) {
  if (address == nullptr) return hipErrorInvalidValue;
  if ((flags & ~kHipHostMallocFlags) != 0) return hipErrorInvalidValue;
  if ((flags & kHipHostMallocCoherent) != 0 && (flags & kHipHostMallocNonCoherent) != 0) return hipErrorInvalidValue;
  return allocate_host(address, bytes, Memory::pinned, flags);
}

/// What HIP calls the memory an address lies in.
hipMemoryType type_of(const Range& range) {
  switch (range.kind) {
    case Memory::device:
      return hipMemoryTypeDevice;
    case Memory::managed:
      return hipMemoryTypeManaged;
    case Memory::pinned:
    case Memory::registered:
      return hipMemoryTypeHost;
    default:
      return hipMemoryTypeUnregistered;
  }
}

template <class T>
hipError_t put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return hipSuccess;
}

hipError_t pointer_attribute(void* data, hipPointer_attribute attribute, void* address) {
  if (data == nullptr) return hipErrorInvalidValue;
  const Range range = live_range(address);
  if (range.kind == Memory::none) return hipErrorInvalidValue;
  const bool on_host = range.kind != Memory::device;
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, primary_context());
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(range.kind == Memory::managed ? hipMemoryTypeDevice : type_of(range)));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, address);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host) return hipErrorInvalidValue;
      return put(data, address);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, 0u);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, static_cast<unsigned>(range.id));
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, static_cast<unsigned>(range.kind == Memory::managed));
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, 0);
    case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, 0u);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, range.base);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, static_cast<std::size_t>(range.size));
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 1u);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, static_cast<unsigned>(hipMemAccessFlagsProtReadWrite));
    case HIP_POINTER_ATTRIBUTE_P2P_TOKENS:
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return hipErrorNotSupported;
    default:
      return hipErrorInvalidValue;
  }
}

std::size_t attribute_size(hipPointer_attribute attribute) {
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return 8;
    default:
      return 4;
  }
}

hipError_t managed_range(const void* address, std::size_t count) {
  const Range range = live_range(address);
  if (count == 0 || range.kind != Memory::managed || count > range.end() - bits(address)) return hipErrorInvalidValue;
  return hipSuccess;
}

}  // namespace
}  // namespace soft

SOFT_ENTRY hipError_t soft_hipMalloc(void** address, size_t bytes) {
  return soft::entry([&] { return soft::malloc_device(address, bytes); });
}
SOFT_ENTRY hipError_t soft_hipExtMallocWithFlags(void** address, size_t bytes, unsigned flags) {
  // 0 default, 1 fine-grained, 3 uncached: the same memory here. 2 (signal) is 8 bytes of its own kind.
  return soft::entry([&] {
    if (flags != 0 && flags != 1 && flags != 3) return hipErrorInvalidValue;
    return soft::malloc_device(address, bytes);
  });
}
SOFT_ENTRY hipError_t soft_hipFree(void* address) {
  return soft::entry([&] { return soft::free_device(address); });
}
SOFT_ENTRY hipError_t soft_hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return soft::entry([&] {
    soft::Session* session = nullptr;
    if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
    std::uint64_t left = 0;
    std::uint64_t total = 0;
    soft::memory_info(&left, &total);
    if (free_bytes != nullptr) *free_bytes = left;
    if (total_bytes != nullptr) *total_bytes = total;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  return soft::entry([&] { return soft::malloc_pitched(address, pitch, width, height, 1); });
}
SOFT_ENTRY hipError_t soft_hipMemAllocPitch(hipDeviceptr_t* address, size_t* pitch, size_t width, size_t height,
                                            unsigned element_bytes) {
  return soft::entry([&] {
    if (width == 0 || height == 0 || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
      return hipErrorInvalidValue;
    return soft::malloc_pitched(address, pitch, width, height, 1);
  });
}
SOFT_ENTRY hipError_t soft_hipMalloc3D(hipPitchedPtr* pointer, hipExtent extent) {
  return soft::entry([&] {
    if (pointer == nullptr) return hipErrorInvalidValue;
    hipPitchedPtr result{};
    const hipError_t error =
        soft::malloc_pitched(&result.ptr, &result.pitch, extent.width, extent.height, extent.depth);
    if (error != hipSuccess) return error;
    result.xsize = extent.width;
    result.ysize = extent.height;
    *pointer = result;
    return hipSuccess;
  });
}

SOFT_ENTRY hipError_t soft_hipHostMalloc(void** address, size_t bytes, unsigned flags) {
  return soft::entry([&] { return soft::malloc_pinned(address, bytes, flags); });
}
SOFT_ENTRY hipError_t soft_hipHostAlloc(void** address, size_t bytes, unsigned flags) {
  return soft::entry([&] { return soft::malloc_pinned(address, bytes, flags); });
}
SOFT_ENTRY hipError_t soft_hipMallocHost(void** address, size_t bytes) {
  return soft::entry([&] { return soft::malloc_pinned(address, bytes, 0); });
}
SOFT_ENTRY hipError_t soft_hipMemAllocHost(void** address, size_t bytes) {
  return soft::entry([&] { return soft::malloc_pinned(address, bytes, 0); });
}
SOFT_ENTRY hipError_t soft_hipHostFree(void* address) {
  return soft::entry([&] { return soft::free_pinned(address); });
}
SOFT_ENTRY hipError_t soft_hipFreeHost(void* address) {
  return soft::entry([&] { return soft::free_pinned(address); });
}
SOFT_ENTRY hipError_t soft_hipMallocManaged(void** address, size_t bytes, unsigned flags) {
  return soft::entry([&] {
    if (address == nullptr || bytes == 0) return hipErrorInvalidValue;
    if (flags != soft::kHipMemAttachGlobal && flags != soft::kHipMemAttachHost) return hipErrorInvalidValue;
    return soft::allocate_host(address, bytes, soft::Memory::managed, flags);
  });
}
SOFT_ENTRY hipError_t soft_hipHostGetDevicePointer(void** device_address, void* host_address, unsigned flags) {
  return soft::entry([&] {
    if (device_address == nullptr || host_address == nullptr || flags != 0) return hipErrorInvalidValue;
    const soft::Range range = soft::live_range(host_address);
    if (range.kind == soft::Memory::none || range.kind == soft::Memory::device) return hipErrorInvalidValue;
    *device_address = host_address;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipHostGetFlags(unsigned* flags, void* host_address) {
  return soft::entry([&] {
    const soft::Range range = soft::live_range(host_address);
    if (flags == nullptr || host_address == nullptr) return hipErrorInvalidValue;
    if (range.kind != soft::Memory::pinned && range.kind != soft::Memory::registered) return hipErrorInvalidValue;
    *flags = range.flags;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipHostRegister(void* address, size_t bytes, unsigned flags) {
  return soft::entry([&] {
    if (address == nullptr || bytes == 0 || (flags & ~soft::kHipHostRegisterFlags) != 0) return hipErrorInvalidValue;
    soft::Session* session = nullptr;
    if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
    soft::Range range;
    const soft::Side side = soft::side_of(address, &range);
    if (side == soft::Side::device || side == soft::Side::dead) return hipErrorInvalidValue;
    if (!soft::ranges().add(soft::bits(address), bytes, soft::Memory::registered, flags))
      return hipErrorHostMemoryAlreadyRegistered;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipHostUnregister(void* address) {
  return soft::entry([&] {
    if (address == nullptr) return hipErrorInvalidValue;
    // Copies by host functions may still read or write it.
    if (const hipError_t error = soft::wait_for_device(); error != hipSuccess) return error;
    soft::Range range;
    const bool removed = soft::ranges().remove(soft::bits(address), soft::Memory::registered, &range);
    return removed ? hipSuccess : hipErrorHostMemoryNotRegistered;
  });
}

SOFT_ENTRY hipError_t soft_hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t address) {
  return soft::entry([&] {
    const soft::Range range = soft::live_range(address);
    if (range.kind == soft::Memory::none || range.kind == soft::Memory::registered) return hipErrorNotFound;
    if (base != nullptr) *base = reinterpret_cast<void*>(range.base);
    if (bytes != nullptr) *bytes = range.size;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipMemPtrGetInfo(void* address, size_t* bytes) {
  return soft::entry([&] {
    const soft::Range range = soft::live_range(address);
    if (bytes == nullptr || range.kind == soft::Memory::none) return hipErrorInvalidValue;
    *bytes = range.size;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  return soft::entry([&] {
    if (attributes == nullptr || address == nullptr) return hipErrorInvalidValue;
    const soft::Range range = soft::live_range(address);
    void* pointer = const_cast<void*>(address);
    *attributes = hipPointerAttribute_t{};
    attributes->type = soft::type_of(range);
    attributes->device = range.kind == soft::Memory::none ? soft::kHipInvalidDevice : 0;
    if (range.kind == soft::Memory::none) return hipSuccess;
    attributes->devicePointer = pointer;
    if (range.kind != soft::Memory::device) attributes->hostPointer = pointer;
    attributes->isManaged = range.kind == soft::Memory::managed;
    attributes->allocationFlags = range.flags;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t address) {
  return soft::entry([&] { return soft::pointer_attribute(data, attribute, address); });
}
SOFT_ENTRY hipError_t soft_hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute* attributes, void** data,
                                                      hipDeviceptr_t address) {
  return soft::entry([&] {
    if (count == 0 || attributes == nullptr || data == nullptr) return hipErrorInvalidValue;
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] == nullptr) return hipErrorInvalidValue;
      // What cannot be told is zero, as the reference says; only an unknown attribute is an error.
      const hipError_t error = soft::pointer_attribute(data[i], attributes[i], address);
      if (error == hipSuccess) continue;
      if (attributes[i] < HIP_POINTER_ATTRIBUTE_CONTEXT || attributes[i] > HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        return hipErrorInvalidValue;
      std::memset(data[i], 0, soft::attribute_size(attributes[i]));
    }
    return hipSuccess;
  });
}

SOFT_ENTRY hipError_t soft_hipMemAdvise(const void* address, size_t count, hipMemoryAdvise advice, int device) {
  return soft::entry([&] {
    if (device != 0 && device != -1) return hipErrorInvalidDevice;
    const bool known = (advice >= hipMemAdviseSetReadMostly && advice <= hipMemAdviseUnsetAccessedBy) ||
                       advice == hipMemAdviseSetCoarseGrain || advice == hipMemAdviseUnsetCoarseGrain;
    return known ? soft::managed_range(address, count) : hipErrorInvalidValue;
  });
}
SOFT_ENTRY hipError_t soft_hipMemPrefetchAsync(const void* address, size_t count, int device, hipStream_t stream) {
  return soft::entry([&] {
    if (device != 0 && device != -1) return hipErrorInvalidDevice;
    if (const hipError_t error = soft::managed_range(address, count); error != hipSuccess) return error;
    return soft::submit_command(stream, soft::wire::kOperationEmpty, nullptr, 0, nullptr);
  });
}
