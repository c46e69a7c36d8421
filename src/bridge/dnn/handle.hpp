// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a cuDNN handle holds: MIOpen's handle, rocBLAS's handle (made when alpha or beta first need it), the stream, and
// scratch memory of the bridge. The handle belongs to the device that was current at cudnnCreate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "abi/cudnn8.h"
#include "abi/miopen.h"
#include "abi/rocblas.h"
#include "bridge/context.hpp"
#include "bridge/dnn/descriptors.hpp"
#include "bridge/live_table.hpp"

namespace rb::dnn {

/// A lock in a slot of a handle table: it stays while the object around it is replaced.
struct SlotMutex {
  SlotMutex() = default;
  SlotMutex(const SlotMutex&) {}
  SlotMutex& operator=(const SlotMutex&) { return *this; }
  std::mutex mutex;
};

/// Device memory of the bridge's own for a call whose alpha and beta need a place for the plain result while the
/// caller's workspace, sized for alpha 1 and beta 0, has none. Work on it is ordered by `used`, an event that the last
/// user recorded.
struct Scratch {
  void* address = nullptr;
  std::size_t bytes = 0;
  hipEvent_t used = nullptr;
  hipStream_t stream = nullptr;
  bool ever_used = false;
};

struct DnnHandle {
  Stamp stamp;  ///< renewed by cudnnSetStream
  int device = 0;
  hipStream_t stream = nullptr;  ///< read by the trace without the lock
  miopenHandle_t miopen = nullptr;
  rocblas_handle blas = nullptr;
  hipStream_t blas_stream = nullptr;
  Scratch scratch;
  SlotMutex lock;  ///< one AMD call at a time on a handle that threads share
};

using DnnHandles = bridge::HandleTable<DnnHandle, bridge::Kind::cudnn_handle>;
DnnHandles& handles();

/// Makes a device HIP's current one for one call and the thread's own afterwards. Free when they are the same.
class DeviceScope {
 public:
  DeviceScope() = default;
  ~DeviceScope() {
    if (changed_) [[unlikely]]
      leave();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  Status enter(int device) {
    if (device == bridge::current_device()) [[likely]]
      return {};
    return change(device);
  }

 private:
  Status change(int device);
  void leave();
  bool changed_ = false;
};

/// Whether the stream is one of the default ones or alive: HIP may crash on a stale one.
inline bool stream_is_usable(hipStream_t stream) {
  const std::uint64_t word = reinterpret_cast<std::uint64_t>(stream);
  return word <= 2 || bridge::live_streams().find(word) != nullptr;
}

/// rocBLAS's handle on the handle's stream. The caller holds the lock.
Result<rocblas_handle> blas_of(DnnHandle& handle);

/// At least `bytes` of the handle's scratch, ordered after its last use, for work on the handle's stream. The caller
/// holds the lock and calls scratch_used() after the last operation that touches it. Faults: alloc_failed;
/// not_supported ("capture-scratch") while the stream is captured, since a graph would outlive the memory.
Result<void*> take_scratch(DnnHandle& handle, std::size_t bytes);
Status scratch_used(DnnHandle& handle);

}  // namespace rb::dnn
