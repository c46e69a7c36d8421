// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/memory.hpp"

#include <cstring>

#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"

namespace rb::driver {

using namespace bridge;

namespace {

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

constexpr int kHtoD = static_cast<int>(Direction::host_to_device);
constexpr int kDtoH = static_cast<int>(Direction::device_to_host);
constexpr int kDtoD = static_cast<int>(Direction::device_to_device);
constexpr int kAny = static_cast<int>(Direction::automatic);

/// The driver refuses allocations of nothing; the runtime gives a null pointer.
Status check_size(std::size_t bytes) {
  if (bytes == 0) return fail(Errc::invalid_value, "zero-size", "0 bytes are asked for");
  return {};
}

}  // namespace

Status mem_alloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  if (dptr == nullptr) return null_output("dptr");
  RB_TRY(context_ready());
  RB_TRY(check_size(bytesize));
  return allocate_device(reinterpret_cast<void**>(dptr), bytesize);
}

Status mem_alloc_pitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                          unsigned int ElementSizeBytes) {
  if (dptr == nullptr) return null_output("dptr");
  RB_TRY(context_ready());
  RB_TRY(check_size(WidthInBytes));
  RB_TRY(check_size(Height));
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
    return fail(Errc::invalid_value, "bad-element", "elements of %u bytes; 4, 8 and 16 exist", ElementSizeBytes);
  return allocate_pitched(reinterpret_cast<void**>(dptr), pPitch, WidthInBytes, Height);
}

Status mem_free_v2(CUdeviceptr dptr) {
  RB_TRY(context_ready());
  return free_device(pointer(dptr));
}

Status mem_alloc_host_v2(void** pp, size_t bytesize) {
  return mem_host_alloc(pp, bytesize, 0);
}

Status mem_host_alloc(void** pp, size_t bytesize, unsigned int Flags) {
  RB_TRY(context_ready());
  RB_TRY(check_size(bytesize));
  return allocate_pinned(pp, bytesize, Flags);
}

Status mem_free_host(void* p) {
  RB_TRY(context_ready());
  return free_pinned(p);
}

Status mem_alloc_managed(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (dptr == nullptr) return null_output("dptr");
  RB_TRY(context_ready());
  return allocate_managed(reinterpret_cast<void**>(dptr), bytesize, flags);
}

Status mem_host_register_v2(void* p, size_t bytesize, unsigned int Flags) {
  RB_TRY(context_ready());
  return register_host(p, bytesize, Flags);
}

Status mem_host_unregister(void* p) {
  RB_TRY(context_ready());
  return unregister_host(p);
}

Status mem_host_get_device_pointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (pdptr == nullptr) return null_output("pdptr");
  RB_TRY(context_ready());
  return host_device_pointer(reinterpret_cast<void**>(pdptr), p, Flags);
}

Status mem_host_get_flags(unsigned int* pFlags, void* p) {
  RB_TRY(context_ready());
  return host_flags(pFlags, p);
}

Status mem_get_info_v2(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return null_output(free == nullptr ? "free" : "total");
  RB_TRY(context_ready());
  return memory_info(free, total);
}

Status mem_get_address_range_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  RB_TRY(context_ready());
  const PointerFacts facts = pointer_facts(pointer(dptr));
  if (facts.bytes == 0) {
    Fault fault = fail(Errc::not_found, "buffer-not-device", "%p is no live device memory", pointer(dptr));
    return fault;
  }
  if (pbase != nullptr) *pbase = facts.base;
  if (psize != nullptr) *psize = facts.bytes;
  return {};
}

Status memcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dst), pointer(src), ByteCount, 0, 0, 1, kAny, true, nullptr});
}

Status memcpy_async(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dst), pointer(src), ByteCount, 0, 0, 1, kAny, false, hStream});
}

Status memcpy_dto_d_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dstDevice), pointer(srcDevice), ByteCount, 0, 0, 1, kDtoD, true, nullptr});
}

Status memcpy_dto_d_async_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dstDevice), pointer(srcDevice), ByteCount, 0, 0, 1, kDtoD, false, hStream});
}

Status memcpy_dto_h_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  RB_TRY(context_ready());
  return copy_memory({dstHost, pointer(srcDevice), ByteCount, 0, 0, 1, kDtoH, true, nullptr});
}

Status memcpy_dto_h_async_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  RB_TRY(context_ready());
  return copy_memory({dstHost, pointer(srcDevice), ByteCount, 0, 0, 1, kDtoH, false, hStream});
}

Status memcpy_hto_d_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dstDevice), srcHost, ByteCount, 0, 0, 1, kHtoD, true, nullptr});
}

Status memcpy_hto_d_async_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  RB_TRY(context_ready());
  return copy_memory({pointer(dstDevice), srcHost, ByteCount, 0, 0, 1, kHtoD, false, hStream});
}

namespace {

/// One end of a 2-D copy as an address. Arrays are refused.
Status place_2d(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y,
                std::size_t pitch, const char* what, const void** out) {
  const void* base = nullptr;
  switch (static_cast<int>(type)) {
    case 1:
      base = host;
      break;
    case 2:
    case 4:
      base = pointer(device);
      break;
    case 3:
      return fail(Errc::not_supported, "arrays-not-built", "%s is an array", what);
    default:
      return fail(Errc::invalid_value, "bad-memory-type", "%s has the memory type %d", what, static_cast<int>(type));
  }
  if (base == nullptr) return fail(Errc::invalid_value, "buffer-null", "%s is null", what);
  std::size_t offset = 0;
  if (__builtin_mul_overflow(y, pitch, &offset) || __builtin_add_overflow(offset, x, &offset))
    return fail(Errc::invalid_value, "too-large", "%s begins at (%zu, %zu) of rows of %zu bytes", what, x, y, pitch);
  *out = static_cast<const char*>(base) + offset;
  return {};
}

Status copy_2d(const CUDA_MEMCPY2D* copy, bool waits, CUstream stream) {
  if (copy == nullptr) return fail(Errc::invalid_value, "null-input", "pCopy is null");
  RB_TRY(context_ready());
  if (copy->WidthInBytes == 0 || copy->Height == 0) return {};
  // A pitch of 0 means rows without gaps.
  const std::size_t from_pitch = copy->srcPitch != 0 ? copy->srcPitch : copy->srcXInBytes + copy->WidthInBytes;
  const std::size_t to_pitch = copy->dstPitch != 0 ? copy->dstPitch : copy->dstXInBytes + copy->WidthInBytes;
  const void* from = nullptr;
  const void* to = nullptr;
  RB_TRY(place_2d(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes, copy->srcY, from_pitch, "src",
                  &from));
  RB_TRY(place_2d(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes, copy->dstY, to_pitch, "dst",
                  &to));
  const bool from_host = static_cast<int>(copy->srcMemoryType) == 1;
  const bool to_host = static_cast<int>(copy->dstMemoryType) == 1;
  const bool unified = static_cast<int>(copy->srcMemoryType) == 4 || static_cast<int>(copy->dstMemoryType) == 4;
  const int direction = unified || (from_host && to_host) ? kAny : from_host ? kHtoD : to_host ? kDtoH : kDtoD;
  return copy_memory(
      {const_cast<void*>(to), from, copy->WidthInBytes, to_pitch, from_pitch, copy->Height, direction, waits, stream});
}

Status fill(CUdeviceptr to, std::uint32_t value, unsigned width, std::size_t count, std::size_t pitch, std::size_t rows,
            bool waits, CUstream stream) {
  RB_TRY(context_ready());
  return fill_memory({pointer(to), value, width, count, pitch, rows, waits, stream});
}

}  // namespace

Status memcpy2d_v2(const CUDA_MEMCPY2D* pCopy) {
  return copy_2d(pCopy, true, nullptr);
}
Status memcpy2d_unaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return copy_2d(pCopy, true, nullptr);
}
Status memcpy2d_async_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return copy_2d(pCopy, false, hStream);
}

Status memset_d8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return fill(dstDevice, uc, 1, N, 0, 1, true, nullptr);
}
Status memset_d8async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return fill(dstDevice, uc, 1, N, 0, 1, false, hStream);
}
Status memset_d16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return fill(dstDevice, us, 2, N, 0, 1, true, nullptr);
}
Status memset_d16async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return fill(dstDevice, us, 2, N, 0, 1, false, hStream);
}
Status memset_d32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return fill(dstDevice, ui, 4, N, 0, 1, true, nullptr);
}
Status memset_d32async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return fill(dstDevice, ui, 4, N, 0, 1, false, hStream);
}
Status memset_d2d8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height) {
  return fill(dstDevice, uc, 1, Width, dstPitch, Height, true, nullptr);
}
Status memset_d2d8async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                        CUstream hStream) {
  return fill(dstDevice, uc, 1, Width, dstPitch, Height, false, hStream);
}

namespace {

template <class T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

/// Writes one attribute. For memory that CUDA does not know, `lenient` writes a zero instead of failing.
Status pointer_attribute(void* data, int attribute, const void* address, bool lenient) {
  const PointerFacts facts = pointer_facts(address);
  const bool known = facts.type != 0;
  if (!known && !lenient)
    return fail(Errc::invalid_value, "buffer-not-device", "%p is no memory that CUDA knows", address);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      std::uint64_t context = 0;
      if (known) {
        RB_ASSIGN(context, primary_context(facts.device));
      }
      put(data, context);
      return {};
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put(data, static_cast<unsigned>(!known ? 0 : facts.type == 1 ? 1 : 2));
      return {};
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put(data, facts.device_pointer);
      return {};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(data, known ? facts.host_pointer : nullptr);
      return {};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      put(data, 0u);
      return {};
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      put(data, known ? facts.base : 0ull);
      return {};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put(data, static_cast<unsigned>(facts.type == 3));
      return {};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put(data, facts.device);
      return {};
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      put(data, 0u);
      return {};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put(data, facts.base);
      return {};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put(data, facts.bytes);
      return {};
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put(data, static_cast<unsigned>(known));
      return {};
    default:
      return fail(Errc::invalid_value, "bad-attribute", "pointer attribute %d is not known", attribute);
  }
}

}  // namespace

Status pointer_get_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (data == nullptr) return null_output("data");
  RB_TRY(context_ready());
  return pointer_attribute(data, static_cast<int>(attribute), pointer(ptr), false);
}

Status pointer_get_attributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                              CUdeviceptr ptr) {
  if (numAttributes == 0 || attributes == nullptr || data == nullptr)
    return fail(Errc::invalid_value, "null-input", "%u attributes at %p into %p", numAttributes,
                static_cast<void*>(attributes), static_cast<void*>(data));
  RB_TRY(context_ready());
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return null_output("data[i]");
    RB_TRY(pointer_attribute(data[i], static_cast<int>(attributes[i]), pointer(ptr), true));
  }
  return {};
}

}  // namespace rb::driver
