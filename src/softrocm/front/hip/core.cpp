// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the other libraries of the front use (front/core.hpp).
#include "softrocm/front/core.hpp"

#include "softrocm/front/hip/device.hpp"
#include "softrocm/front/hip/memory.hpp"
#include "softrocm/front/hip/stream.hpp"
#include "softrocm/wire/operations.hpp"

namespace soft {

hipError_t submit(hipStream_t stream, std::uint32_t operation, const void* payload, std::size_t size) {
  return submit_command(stream, operation, payload, size, nullptr);
}

bool device_can_touch(const void* address, std::size_t bytes) {
  Range range;
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(address);
  if (!ranges().find(at, &range) || range.kind == Memory::registered) return false;
  return bytes <= range.end() - at;
}

bool stream_is_live(hipStream_t stream) {
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  return resolve(stream, &object, &slot) == hipSuccess;
}

hipError_t synchronize(hipStream_t stream) {
  Point point;
  if (const hipError_t error = last_point(stream, &point); error != hipSuccess) return error;
  if (is_forked_child()) return hipErrorNotInitialized;
  if (point.session == nullptr) return hipSuccess;
  // The legacy default stream is done when every blocking stream is: a command of its own waits for them.
  if (point.slot == 0 && !nothing_before(nullptr)) {
    const hipError_t error = submit_command(nullptr, wire::kOperationEmpty, nullptr, 0, &point);
    if (error != hipSuccess) return error;
  }
  return wait(point);
}

const char* device_gfx() {
  return configuration().profile != nullptr ? configuration().profile->gfx : "";
}
int device_wavefront() {
  return configuration().wavefront;
}

hipError_t allocate(void** address, std::size_t bytes) {
  return allocate_device(address, bytes);
}
hipError_t release(void* address) {
  return free_device(address);
}

}  // namespace soft
