// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Calls into AMD's libraries: the loaded table, and the one way to call through it, which traces each call.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/result.hpp"
#include "bridge/guard.hpp"
#include "rocm/table.hpp"

namespace rb::bridge {

/// Makes the device usable: loads the AMD directory at first use, refuses in a forked child (CUDA's error 3), notices a
/// foreign CUDA library. Every bridge function that touches a device starts with RB_TRY(device_ready()).
inline std::atomic<const rocm::Table*> g_table{nullptr};
Status open_device();
inline Status device_ready() {
  if (g_table.load(std::memory_order_acquire) != nullptr) [[likely]]
    return {};
  return open_device();
}
/// The loaded functions; only after device_ready() succeeded.
inline const rocm::Table& amd() {
  return *g_table.load(std::memory_order_relaxed);
}
/// Whether the opened directory is the software device.
bool software_device();

namespace detail {
std::uint64_t amd_begin();
void amd_end(rocm::AmdFunction function, int status, std::uint64_t begin);
int amd_missing(rocm::AmdFunction function);
}  // namespace detail

/// Calls an AMD function and records it. A function that the opened directory lacks gives its library's
/// not-implemented status.
template <class Returned, class... Parameters, class... Arguments>
Returned call_amd(rocm::AmdFunction id, Returned (*function)(Parameters...), Arguments&&... arguments) {
  if (function == nullptr) [[unlikely]]
    return static_cast<Returned>(detail::amd_missing(id));
  if (!detail::t_call.traced) [[likely]]
    return function(std::forward<Arguments>(arguments)...);
  const std::uint64_t begin = detail::amd_begin();
  const Returned returned = function(std::forward<Arguments>(arguments)...);
  detail::amd_end(id, static_cast<int>(returned), begin);
  return returned;
}

/// Fault of a failed AMD call: code by the kind of failure, text names function, number and meaning. `ok` statuses give
/// an ok Status. MIOpen's status 9 (GPU operations skipped) is a failure: the work was not done.
Status hip_status(hipError_t error, const char* function);
Status miopen_status(miopenStatus_t status, const char* function);
Status rocblas_status_of(rocblas_status status, const char* function);

}  // namespace rb::bridge

/// RB_HIP(hipMalloc, &p, n): calls through the table, returns a Status.
#define RB_AMD_RAW(name, ...) \
  ::rb::bridge::call_amd(::rb::rocm::AmdFunction::name, ::rb::bridge::amd().name __VA_OPT__(, ) __VA_ARGS__)
#define RB_HIP(name, ...) ::rb::bridge::hip_status(RB_AMD_RAW(name __VA_OPT__(, ) __VA_ARGS__), #name)
#define RB_MIOPEN(name, ...) ::rb::bridge::miopen_status(RB_AMD_RAW(name __VA_OPT__(, ) __VA_ARGS__), #name)
#define RB_ROCBLAS(name, ...) ::rb::bridge::rocblas_status_of(RB_AMD_RAW(name __VA_OPT__(, ) __VA_ARGS__), #name)
