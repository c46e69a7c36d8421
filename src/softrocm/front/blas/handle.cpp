// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS handles, modes, workspace, version and status texts.
#include "softrocm/front/blas/handle.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"
#include "soft/rocblas_entries.h"
#include "softrocm/front/core.hpp"
#include "softrocm/front/hip/device.hpp"

namespace soft::rocblas {

HandleTable<Slot, Kind::rocblas, 1 << 12>& handles() {
  static auto& table = *new HandleTable<Slot, Kind::rocblas, 1 << 12>;
  return table;
}

void Handle::reset() {
  stream = nullptr;
  pointer_mode = rocblas_pointer_mode_host;
  atomics_mode = rocblas_atomics_allowed;
  math_mode = rocblas_default_math;
  metric = rocblas_default_performance_metric;
  workspace = nullptr;
  workspace_bytes = kDefaultWorkspace;
  user_manages = false;
  is_size_query = false;
}

rocblas_status refuse(rocblas_status status, const char* entry, const char* format, ...) {
  if (!rb::log::enabled(rb::log::Level::info)) return status;
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  RB_LOG(info, "softrocm", "%s: %s (%s)", entry, text, soft_rocblas_status_to_string(status));
  return status;
}

rocblas_status from_hip(hipError_t error, const char* entry) {
  switch (error) {
    case hipSuccess:
      return rocblas_status_success;
    case hipErrorOutOfMemory:
    case hipErrorLaunchOutOfResources:
      return refuse(rocblas_status_memory_error, entry, "HIP error %d", error);
    case hipErrorInvalidDevicePointer:
      return refuse(rocblas_status_invalid_pointer, entry, "HIP error %d", error);
    case hipErrorInvalidDevice:
    case hipErrorInvalidHandle:
      return refuse(rocblas_status_invalid_handle, entry, "HIP error %d", error);
    default:
      return refuse(rocblas_status_internal_error, entry, "HIP error %d", error);
  }
}

namespace {

constexpr char kVersion[] = "4.4.0.softrocm";

rocblas_status bad_handle(rocblas_handle handle, const char* entry) {
  return refuse(rocblas_status_invalid_handle, entry, "%p is no live handle", handle);
}

/// A setter of one of the handle's modes; the values are `first` and the next one(s) up to `last`.
template <class Mode>
rocblas_status set_mode(rocblas_handle handle, std::atomic<Mode> Handle::*member, Mode value, Mode first, Mode last,
                        const char* entry) {
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, entry);
  if (value < first || value > last) return refuse(rocblas_status_invalid_value, entry, "mode %d is unknown", value);
  live->*member = value;
  return rocblas_status_success;
}

template <class Mode>
rocblas_status get_mode(rocblas_handle handle, std::atomic<Mode> Handle::*member, Mode* out, const char* entry) {
  const Handle* live = find(handle);
  if (!live) return bad_handle(handle, entry);
  if (!out) return refuse(rocblas_status_invalid_pointer, entry, "the pointer to the result is null");
  *out = live->*member;
  return rocblas_status_success;
}

}  // namespace
}  // namespace soft::rocblas

using namespace soft::rocblas;

extern "C" {

rocblas_status soft_rocblas_create_handle(rocblas_handle* handle) {
  constexpr const char* kEntry = "rocblas_create_handle";
  if (!handle) return refuse(rocblas_status_invalid_handle, kEntry, "the pointer to the result is null");
  *handle = nullptr;
  // A handle belongs to a device: it starts here, or the refusal comes here.
  soft::Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return from_hip(error, kEntry);
  std::uint32_t index = 0;
  Slot* slot = handles().take(0, &index, [](std::uint32_t) { return true; });
  if (!slot) return refuse(rocblas_status_memory_error, kEntry, "no room for another handle");
  slot->value.reset();
  *handle = static_cast<rocblas_handle>(handles().publish(slot, index));
  return rocblas_status_success;
}

rocblas_status soft_rocblas_destroy_handle(rocblas_handle handle) {
  return handles().retire(handle) ? rocblas_status_success : bad_handle(handle, "rocblas_destroy_handle");
}

rocblas_status soft_rocblas_set_stream(rocblas_handle handle, hipStream_t stream) {
  constexpr const char* kEntry = "rocblas_set_stream";
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, kEntry);
  if (!soft::stream_is_live(stream))
    return refuse(rocblas_status_invalid_value, kEntry, "stream %p is not live", stream);
  live->stream = stream;
  return rocblas_status_success;
}

rocblas_status soft_rocblas_get_stream(rocblas_handle handle, hipStream_t* stream) {
  return get_mode(handle, &Handle::stream, stream, "rocblas_get_stream");
}

rocblas_status soft_rocblas_set_pointer_mode(rocblas_handle handle, rocblas_pointer_mode pointer_mode) {
  return set_mode(handle, &Handle::pointer_mode, pointer_mode, rocblas_pointer_mode_host, rocblas_pointer_mode_device,
                  "rocblas_set_pointer_mode");
}

rocblas_status soft_rocblas_get_pointer_mode(rocblas_handle handle, rocblas_pointer_mode* pointer_mode) {
  return get_mode(handle, &Handle::pointer_mode, pointer_mode, "rocblas_get_pointer_mode");
}

rocblas_status soft_rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode atomics_mode) {
  return set_mode(handle, &Handle::atomics_mode, atomics_mode, rocblas_atomics_not_allowed, rocblas_atomics_allowed,
                  "rocblas_set_atomics_mode");
}

rocblas_status soft_rocblas_get_atomics_mode(rocblas_handle handle, rocblas_atomics_mode* atomics_mode) {
  return get_mode(handle, &Handle::atomics_mode, atomics_mode, "rocblas_get_atomics_mode");
}

rocblas_status soft_rocblas_set_math_mode(rocblas_handle handle, rocblas_math_mode math_mode) {
  return set_mode(handle, &Handle::math_mode, math_mode, rocblas_default_math, rocblas_xf32_xdl_math_op,
                  "rocblas_set_math_mode");
}

rocblas_status soft_rocblas_get_math_mode(rocblas_handle handle, rocblas_math_mode* math_mode) {
  return get_mode(handle, &Handle::math_mode, math_mode, "rocblas_get_math_mode");
}

rocblas_status soft_rocblas_set_performance_metric(rocblas_handle handle, rocblas_performance_metric metric) {
  return set_mode(handle, &Handle::metric, metric, rocblas_default_performance_metric,
                  rocblas_cu_efficiency_performance_metric, "rocblas_set_performance_metric");
}

rocblas_status soft_rocblas_get_performance_metric(rocblas_handle handle, rocblas_performance_metric* metric) {
  return get_mode(handle, &Handle::metric, metric, "rocblas_get_performance_metric");
}

rocblas_status soft_rocblas_set_workspace(rocblas_handle handle, void* addr, size_t size) {
  constexpr const char* kEntry = "rocblas_set_workspace";
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, kEntry);
  // Null or no bytes: back to memory that the library manages.
  const bool is_users = addr && size;
  if (is_users && !soft::device_can_touch(addr, size))
    return refuse(rocblas_status_invalid_pointer, kEntry, "%zu bytes at %p are not device memory", size, addr);
  live->workspace = is_users ? addr : nullptr;
  live->workspace_bytes = is_users ? size : kDefaultWorkspace;
  live->user_manages = false;
  return rocblas_status_success;
}

rocblas_status soft_rocblas_set_device_memory_size(rocblas_handle handle, size_t size) {
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, "rocblas_set_device_memory_size");
  live->workspace = nullptr;
  live->workspace_bytes = size ? size : kDefaultWorkspace;
  live->user_manages = size != 0;
  return rocblas_status_success;
}

rocblas_status soft_rocblas_get_device_memory_size(rocblas_handle handle, size_t* size) {
  return get_mode(handle, &Handle::workspace_bytes, size, "rocblas_get_device_memory_size");
}

bool soft_rocblas_is_managing_device_memory(rocblas_handle handle) {
  const Handle* live = find(handle);
  return live && !live->user_manages && !live->workspace;
}

bool soft_rocblas_is_user_managing_device_memory(rocblas_handle handle) {
  const Handle* live = find(handle);
  return live && (live->user_manages || live->workspace);
}

rocblas_status soft_rocblas_start_device_memory_size_query(rocblas_handle handle) {
  constexpr const char* kEntry = "rocblas_start_device_memory_size_query";
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, kEntry);
  if (live->is_size_query.exchange(true))
    return refuse(rocblas_status_size_query_mismatch, kEntry, "a query is already running");
  return rocblas_status_success;
}

rocblas_status soft_rocblas_stop_device_memory_size_query(rocblas_handle handle, size_t* size) {
  constexpr const char* kEntry = "rocblas_stop_device_memory_size_query";
  Handle* live = find(handle);
  if (!live) return bad_handle(handle, kEntry);
  if (!live->is_size_query) return refuse(rocblas_status_size_query_mismatch, kEntry, "no query is running");
  if (!size) return refuse(rocblas_status_invalid_pointer, kEntry, "the pointer to the result is null");
  *size = 0;  // nothing that is built needs device memory of its own
  live->is_size_query = false;
  return rocblas_status_success;
}

bool soft_rocblas_is_device_memory_size_query(rocblas_handle handle) {
  const Handle* live = find(handle);
  return live && live->is_size_query;
}

rocblas_pointer_mode soft_rocblas_pointer_to_mode(void* ptr) {
  return ptr && soft::device_can_touch(ptr, 1) ? rocblas_pointer_mode_device : rocblas_pointer_mode_host;
}

void soft_rocblas_initialize() {}

rocblas_status soft_rocblas_get_version_string(char* buf, size_t len) {
  constexpr const char* kEntry = "rocblas_get_version_string";
  if (!buf) return refuse(rocblas_status_invalid_pointer, kEntry, "the buffer is null");
  if (len < sizeof kVersion)
    return refuse(rocblas_status_invalid_size, kEntry, "%zu of %zu bytes", len, sizeof kVersion);
  std::memcpy(buf, kVersion, sizeof kVersion);
  return rocblas_status_success;
}

rocblas_status soft_rocblas_get_version_string_size(size_t* len) {
  if (!len)
    return refuse(rocblas_status_invalid_pointer, "rocblas_get_version_string_size",
                  "the pointer to the result is null");
  *len = sizeof kVersion;
  return rocblas_status_success;
}

const char* soft_rocblas_status_to_string(rocblas_status status) {
#define STATUS(name)          \
  case rocblas_status_##name: \
    return "rocblas_status_" #name;
  switch (status) {
    STATUS(success)
    STATUS(invalid_handle)
    STATUS(not_implemented)
    STATUS(invalid_pointer)
    STATUS(invalid_size)
    STATUS(memory_error)
    STATUS(internal_error)
    STATUS(perf_degraded)
    STATUS(size_query_mismatch)
    STATUS(size_increased)
    STATUS(size_unchanged)
    STATUS(invalid_value)
    STATUS(continue)
    STATUS(check_numerics_fail)
    STATUS(excluded_from_build)
    STATUS(arch_mismatch)
  }
#undef STATUS
  return "<undefined rocblas_status value>";
}

}  // extern "C"
