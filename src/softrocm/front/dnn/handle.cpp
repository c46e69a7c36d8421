// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen handles, version, error texts.
#include <cstdarg>
#include <cstdio>

#include "base/log.hpp"
#include "soft/miopen_entries.h"
#include "softrocm/front/core.hpp"
#include "softrocm/front/dnn/objects.hpp"
#include "softrocm/front/hip/device.hpp"

namespace soft::miopen {

HandleTable<Slot<Handle>, Kind::miopen, 1 << 12>& handles() {
  static auto& table = *new HandleTable<Slot<Handle>, Kind::miopen, 1 << 12>;
  return table;
}
HandleTable<Slot<Tensor>, Kind::tensor, 1 << 18>& tensors() {
  static auto& table = *new HandleTable<Slot<Tensor>, Kind::tensor, 1 << 18>;
  return table;
}
HandleTable<Slot<ConvolutionDescriptor>, Kind::convolution, 1 << 18>& convolutions() {
  static auto& table = *new HandleTable<Slot<ConvolutionDescriptor>, Kind::convolution, 1 << 18>;
  return table;
}

miopenStatus_t refuse(miopenStatus_t status, const char* entry, const char* format, ...) {
  if (!rb::log::enabled(rb::log::Level::info)) return status;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  RB_LOG(info, "softrocm", "%s: %s (%s)", entry, text, soft_miopenGetErrorString(status));
  return status;
}

miopenStatus_t from_hip(hipError_t error, const char* entry) {
  switch (error) {
    case hipSuccess:
      return miopenStatusSuccess;
    case hipErrorOutOfMemory:
      return refuse(miopenStatusAllocFailed, entry, "HIP error %d", error);
    case hipErrorInvalidHandle:
      return refuse(miopenStatusBadParm, entry, "the handle's stream was destroyed");
    case hipErrorNoDevice:
      return refuse(miopenStatusNotInitialized, entry, "no device");
    default:
      return refuse(miopenStatusInternalError, entry, "HIP error %d", error);
  }
}

}  // namespace soft::miopen

using namespace soft::miopen;

extern "C" {

miopenStatus_t soft_miopenCreateWithStream(miopenHandle_t* handle, miopenAcceleratorQueue_t stream) {
  constexpr const char* kEntry = "miopenCreateWithStream";
  if (!soft::stream_is_live(stream)) return refuse(miopenStatusBadParm, kEntry, "stream %p is not live", stream);
  if (handle) *handle = nullptr;
  // A handle belongs to a device: it starts here, or the refusal comes here.
  soft::Session* session = nullptr;
  MIOPEN_TRY(from_hip(soft::session(&session), kEntry));
  return guarded(kEntry, [&] {
    MIOPEN_TRY(create(handles(), handle, kEntry));
    Handle& created = *find(*handle);
    created.stream = stream;
    std::lock_guard lock(created.mutex);
    created.found.clear();
    return miopenStatusSuccess;
  });
}

miopenStatus_t soft_miopenCreate(miopenHandle_t* handle) {
  return soft_miopenCreateWithStream(handle, nullptr);
}

miopenStatus_t soft_miopenDestroy(miopenHandle_t handle) {
  if (!handles().retire(handle)) return refuse(miopenStatusBadParm, "miopenDestroy", "%p is no live handle", handle);
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenSetStream(miopenHandle_t handle, miopenAcceleratorQueue_t stream) {
  constexpr const char* kEntry = "miopenSetStream";
  Handle* live = find(handle);
  if (!live) return refuse(miopenStatusBadParm, kEntry, "%p is no live handle", handle);
  if (!soft::stream_is_live(stream)) return refuse(miopenStatusBadParm, kEntry, "stream %p is not live", stream);
  live->stream = stream;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetStream(miopenHandle_t handle, miopenAcceleratorQueue_t* stream) {
  const Handle* live = find(handle);
  if (!live || !stream) return refuse(miopenStatusBadParm, "miopenGetStream", "handle %p, result %p", handle, stream);
  *stream = live->stream;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetVersion(size_t* major, size_t* minor, size_t* patch) {
  if (major) *major = 3;
  if (minor) *minor = 3;
  if (patch) *patch = 0;
  return miopenStatusSuccess;
}

const char* soft_miopenGetErrorString(miopenStatus_t error) {
  switch (error) {
    case miopenStatusSuccess:
      return "miopenStatusSuccess";
    case miopenStatusNotInitialized:
      return "miopenStatusNotInitialized";
    case miopenStatusInvalidValue:
      return "miopenStatusInvalidValue";
    case miopenStatusBadParm:
      return "miopenStatusBadParm";
    case miopenStatusAllocFailed:
      return "miopenStatusAllocFailed";
    case miopenStatusInternalError:
      return "miopenStatusInternalError";
    case miopenStatusNotImplemented:
      return "miopenStatusNotImplemented";
    case miopenStatusUnknownError:
      return "miopenStatusUnknownError";
    case miopenStatusUnsupportedOp:
      return "miopenStatusUnsupportedOp";
    case miopenStatusGpuOperationsSkipped:
      return "miopenStatusGpuOperationsSkipped";
    case miopenStatusVersionMismatch:
      return "miopenStatusVersionMismatch";
  }
  return "Unknown error status";
}

}  // extern "C"
