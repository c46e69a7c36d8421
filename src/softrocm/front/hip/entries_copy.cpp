// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Copies and fills. HIP API reference, "Memory management". Copies from and to arrays and symbols are not built.
#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/copy.hpp"
#include "softrocm/front/hip/entry.hpp"

namespace soft {
namespace {

hipError_t copy_linear(void* dst, const void* src, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream,
                       bool wait) {
  Box box;
  box.dst = dst;
  box.src = src;
  box.width = box.dst_pitch = box.src_pitch = bytes;
  return copy(box, kind, stream, wait);
}

hipError_t copy_2d(void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch, std::size_t width,
                   std::size_t height, hipMemcpyKind kind, hipStream_t stream, bool wait) {
  if (width != 0 && height != 0 && (width > dst_pitch || width > src_pitch)) return hipErrorInvalidPitchValue;
  Box box;
  box.dst = dst;
  box.src = src;
  box.width = width;
  box.height = height;
  box.dst_pitch = dst_pitch;
  box.src_pitch = src_pitch;
  return copy(box, kind, stream, wait);
}

hipError_t copy_peer(void* dst, int dst_device, const void* src, int src_device, std::size_t bytes, hipStream_t stream,
                     bool wait) {
  if (dst_device != 0 || src_device != 0) return hipErrorInvalidDevice;
  return copy_linear(dst, src, bytes, hipMemcpyDeviceToDevice, stream, wait);
}

/// One end of a driver-style copy; nullptr for arrays and unknown types.
template <class Pointer>
Pointer end_of(hipMemoryType type, Pointer host, Pointer device) {
  switch (type) {
    case hipMemoryTypeHost:
      return host;
    case hipMemoryTypeDevice:
    case hipMemoryTypeManaged:
    case hipMemoryTypeUnified:
      return device;
    default:
      return nullptr;
  }
}

/// Direction as a kind, so that copy() can check it against the pointers.
hipMemcpyKind kind_of(hipMemoryType dst, hipMemoryType src) {
  const bool from_host = src == hipMemoryTypeHost;
  const bool to_host = dst == hipMemoryTypeHost;
  if (from_host && to_host) return hipMemcpyHostToHost;
  if (src == hipMemoryTypeUnified || dst == hipMemoryTypeUnified) return hipMemcpyDefault;
  return from_host ? hipMemcpyHostToDevice : to_host ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

hipError_t copy_param_2d(const hip_Memcpy2D* p, hipStream_t stream, bool wait) {
  if (p == nullptr) return hipErrorInvalidValue;
  if (p->WidthInBytes == 0 || p->Height == 0) return hipSuccess;
  if (p->srcMemoryType == hipMemoryTypeArray || p->dstMemoryType == hipMemoryTypeArray) return hipErrorNotSupported;
  const void* src = end_of<const void*>(p->srcMemoryType, p->srcHost, p->srcDevice);
  void* dst = end_of<void*>(p->dstMemoryType, p->dstHost, p->dstDevice);
  if (src == nullptr || dst == nullptr) return hipErrorInvalidValue;
  const std::size_t src_pitch = p->srcPitch == 0 ? p->WidthInBytes + p->srcXInBytes : p->srcPitch;
  const std::size_t dst_pitch = p->dstPitch == 0 ? p->WidthInBytes + p->dstXInBytes : p->dstPitch;
  if (src_pitch < p->WidthInBytes + p->srcXInBytes || dst_pitch < p->WidthInBytes + p->dstXInBytes)
    return hipErrorInvalidValue;
  return copy_2d(static_cast<std::byte*>(dst) + p->dstY * dst_pitch + p->dstXInBytes, dst_pitch,
                 static_cast<const std::byte*>(src) + p->srcY * src_pitch + p->srcXInBytes, src_pitch, p->WidthInBytes,
                 p->Height, kind_of(p->dstMemoryType, p->srcMemoryType), stream, wait);
}

hipError_t copy_param_3d(const HIP_MEMCPY3D* p, hipStream_t stream, bool wait) {
  if (p == nullptr) return hipErrorInvalidValue;
  if (p->WidthInBytes == 0 || p->Height == 0 || p->Depth == 0) return hipSuccess;
  if (p->srcMemoryType == hipMemoryTypeArray || p->dstMemoryType == hipMemoryTypeArray) return hipErrorNotSupported;
  const void* src = end_of<const void*>(p->srcMemoryType, p->srcHost, p->srcDevice);
  void* dst = end_of<void*>(p->dstMemoryType, p->dstHost, p->dstDevice);
  if (src == nullptr || dst == nullptr) return hipErrorInvalidValue;
  Box box;
  box.width = p->WidthInBytes;
  box.height = p->Height;
  box.depth = p->Depth;
  box.src_pitch = p->srcPitch == 0 ? p->WidthInBytes + p->srcXInBytes : p->srcPitch;
  box.dst_pitch = p->dstPitch == 0 ? p->WidthInBytes + p->dstXInBytes : p->dstPitch;
  box.src_slice = box.src_pitch * (p->srcHeight == 0 ? p->Height + p->srcY : p->srcHeight);
  box.dst_slice = box.dst_pitch * (p->dstHeight == 0 ? p->Height + p->dstY : p->dstHeight);
  if (box.src_pitch < p->WidthInBytes + p->srcXInBytes || box.dst_pitch < p->WidthInBytes + p->dstXInBytes)
    return hipErrorInvalidValue;
  box.src = static_cast<const std::byte*>(src) + p->srcZ * box.src_slice + p->srcY * box.src_pitch + p->srcXInBytes;
  box.dst = static_cast<std::byte*>(dst) + p->dstZ * box.dst_slice + p->dstY * box.dst_pitch + p->dstXInBytes;
  return copy(box, kind_of(p->dstMemoryType, p->srcMemoryType), stream, wait);
}

hipError_t copy_3d(const hipMemcpy3DParms* p, hipStream_t stream, bool wait) {
  if (p == nullptr) return hipErrorInvalidValue;
  if (p->srcArray != nullptr || p->dstArray != nullptr) return hipErrorNotSupported;
  if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0) return hipSuccess;
  if (p->srcPtr.ptr == nullptr || p->dstPtr.ptr == nullptr) return hipErrorInvalidValue;
  if (p->extent.width + p->srcPos.x > p->srcPtr.pitch || p->extent.width + p->dstPos.x > p->dstPtr.pitch)
    return hipErrorInvalidPitchValue;
  Box box;
  box.width = p->extent.width;
  box.height = p->extent.height;
  box.depth = p->extent.depth;
  box.src_pitch = p->srcPtr.pitch;
  box.dst_pitch = p->dstPtr.pitch;
  box.src_slice = p->srcPtr.pitch * p->srcPtr.ysize;
  box.dst_slice = p->dstPtr.pitch * p->dstPtr.ysize;
  box.src = static_cast<const std::byte*>(p->srcPtr.ptr) + p->srcPos.z * box.src_slice + p->srcPos.y * box.src_pitch +
            p->srcPos.x;
  box.dst =
      static_cast<std::byte*>(p->dstPtr.ptr) + p->dstPos.z * box.dst_slice + p->dstPos.y * box.dst_pitch + p->dstPos.x;
  return copy(box, p->kind, stream, wait);
}

hipError_t fill_linear(void* dst, std::uint32_t value, std::uint32_t element_bytes, std::size_t count,
                       hipStream_t stream, bool is_async) {
  Fill f;
  f.dst = dst;
  f.value = value;
  f.element_bytes = element_bytes;
  f.count = count;
  f.pitch = count * element_bytes;
  return fill(f, stream, is_async);
}

hipError_t fill_2d(void* dst, std::size_t pitch, int value, std::size_t width, std::size_t height, hipStream_t stream,
                   bool is_async) {
  if (width != 0 && height != 0 && width > pitch) return hipErrorInvalidValue;
  Fill f;
  f.dst = dst;
  f.value = static_cast<std::uint32_t>(value);
  f.count = width;
  f.height = height;
  f.pitch = pitch;
  return fill(f, stream, is_async);
}

hipError_t fill_3d(const hipPitchedPtr& p, int value, const hipExtent& extent, hipStream_t stream, bool is_async) {
  if (extent.width > p.pitch && extent.height != 0 && extent.depth != 0) return hipErrorInvalidValue;
  Fill f;
  f.dst = p.ptr;
  f.value = static_cast<std::uint32_t>(value);
  f.count = extent.width;
  f.height = extent.height;
  f.depth = extent.depth;
  f.pitch = p.pitch;
  f.slice = p.pitch * p.ysize;
  return fill(f, stream, is_async);
}

}  // namespace
}  // namespace soft

using soft::entry;
using soft::spt;

SOFT_ENTRY hipError_t soft_hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, kind, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy_spt(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, kind, spt(nullptr), true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                               hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, kind, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                          hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, kind, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyAsync_spt(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                              hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, kind, spt(stream), false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyHtoD(hipDeviceptr_t dst, void* src, size_t bytes) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyHostToDevice, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t bytes) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyDeviceToHost, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyDeviceToDevice, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyHtoDAsync(hipDeviceptr_t dst, void* src, size_t bytes, hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyHostToDevice, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyDeviceToHost, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes,
                                              hipStream_t stream) {
  return entry([&] { return soft::copy_linear(dst, src, bytes, hipMemcpyDeviceToDevice, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyPeer(void* dst, int dst_device, const void* src, int src_device, size_t bytes) {
  return entry([&] { return soft::copy_peer(dst, dst_device, src, src_device, bytes, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                                              hipStream_t stream) {
  return entry([&] { return soft::copy_peer(dst, dst_device, src, src_device, bytes, stream, false); });
}

SOFT_ENTRY hipError_t soft_hipMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                                       size_t height, hipMemcpyKind kind) {
  return entry([&] { return soft::copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy2D_spt(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                                           size_t height, hipMemcpyKind kind) {
  return entry([&] { return soft::copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, spt(nullptr), true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                            size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return entry([&] { return soft::copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy2DAsync_spt(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                                size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return entry([&] { return soft::copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind, spt(stream), false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyParam2D(const hip_Memcpy2D* parameters) {
  return entry([&] { return soft::copy_param_2d(parameters, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpyParam2DAsync(const hip_Memcpy2D* parameters, hipStream_t stream) {
  return entry([&] { return soft::copy_param_2d(parameters, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* parameters) {
  return entry([&] { return soft::copy_param_2d(parameters, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipDrvMemcpy3D(const HIP_MEMCPY3D* parameters) {
  return entry([&] { return soft::copy_param_3d(parameters, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* parameters, hipStream_t stream) {
  return entry([&] { return soft::copy_param_3d(parameters, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy3D(const hipMemcpy3DParms* parameters) {
  return entry([&] { return soft::copy_3d(parameters, nullptr, true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy3D_spt(const hipMemcpy3DParms* parameters) {
  return entry([&] { return soft::copy_3d(parameters, spt(nullptr), true); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy3DAsync(const hipMemcpy3DParms* parameters, hipStream_t stream) {
  return entry([&] { return soft::copy_3d(parameters, stream, false); });
}
SOFT_ENTRY hipError_t soft_hipMemcpy3DAsync_spt(const hipMemcpy3DParms* parameters, hipStream_t stream) {
  return entry([&] { return soft::copy_3d(parameters, spt(stream), false); });
}

SOFT_ENTRY hipError_t soft_hipMemset(void* dst, int value, size_t bytes) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 1, bytes, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemset_spt(void* dst, int value, size_t bytes) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 1, bytes, spt(nullptr), false); });
}
SOFT_ENTRY hipError_t soft_hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 1, bytes, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemsetAsync_spt(void* dst, int value, size_t bytes, hipStream_t stream) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 1, bytes, spt(stream), true); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count) {
  return entry([&] { return soft::fill_linear(dst, value, 1, count, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t stream) {
  return entry([&] { return soft::fill_linear(dst, value, 1, count, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count) {
  return entry([&] { return soft::fill_linear(dst, value, 2, count, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count,
                                             hipStream_t stream) {
  return entry([&] { return soft::fill_linear(dst, value, 2, count, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD32(hipDeviceptr_t dst, int value, size_t count) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 4, count, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream) {
  return entry([&] { return soft::fill_linear(dst, static_cast<uint32_t>(value), 4, count, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return entry([&] { return soft::fill_2d(dst, pitch, value, width, height, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemset2D_spt(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return entry([&] { return soft::fill_2d(dst, pitch, value, width, height, spt(nullptr), false); });
}
SOFT_ENTRY hipError_t soft_hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                                            hipStream_t stream) {
  return entry([&] { return soft::fill_2d(dst, pitch, value, width, height, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemset2DAsync_spt(void* dst, size_t pitch, int value, size_t width, size_t height,
                                                hipStream_t stream) {
  return entry([&] { return soft::fill_2d(dst, pitch, value, width, height, spt(stream), true); });
}
SOFT_ENTRY hipError_t soft_hipMemset3D(hipPitchedPtr pointer, int value, hipExtent extent) {
  return entry([&] { return soft::fill_3d(pointer, value, extent, nullptr, false); });
}
SOFT_ENTRY hipError_t soft_hipMemset3D_spt(hipPitchedPtr pointer, int value, hipExtent extent) {
  return entry([&] { return soft::fill_3d(pointer, value, extent, spt(nullptr), false); });
}
SOFT_ENTRY hipError_t soft_hipMemset3DAsync(hipPitchedPtr pointer, int value, hipExtent extent, hipStream_t stream) {
  return entry([&] { return soft::fill_3d(pointer, value, extent, stream, true); });
}
SOFT_ENTRY hipError_t soft_hipMemset3DAsync_spt(hipPitchedPtr pointer, int value, hipExtent extent,
                                                hipStream_t stream) {
  return entry([&] { return soft::fill_3d(pointer, value, extent, spt(stream), true); });
}
