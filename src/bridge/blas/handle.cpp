// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuBLAS handle and its settings, versions and texts (cuBLAS documentation, "cuBLAS Helper Function Reference").
#include <atomic>

#include "bridge/blas/memory.hpp"
#include "bridge/blas/state.hpp"
#include "bridge/blas_entries.hpp"
#include "bridge/context.hpp"

namespace rb::blas {
namespace {

using bridge::Library;

/// Versions of the cuBLAS generations that stock programs bring (PyTorch 2.3 for CUDA 12.1 and 11.8).
struct Version {
  int major, minor, patch, runtime;
};
constexpr Version version_of(Library library) {
  return library == Library::cublas11 ? Version{11, 11, 3, 11080} : Version{12, 1, 3, 12010};
}

Status null_argument(const char* name) {
  return fail(Errc::invalid_value, "null-pointer", "%s is null", name);
}

Status unknown_enum(const char* name, int value) {
  return fail(Errc::invalid_value, "unknown-enum", "%s is %d", name, value);
}

/// Reads one setting of a handle.
template <class Field, class Out>
Status get_setting(cublasHandle_t handle, Field BlasHandle::*field, Out* out, const char* name) {
  RB_ASSIGN(BlasHandle * object, handles().get(handle, "handle"));
  if (out == nullptr) return null_argument(name);
  *out = static_cast<Out>(object->*field);
  return {};
}

template <class Field, class Value>
Status set_setting(cublasHandle_t handle, Field BlasHandle::*field, Value value) {
  RB_ASSIGN(BlasHandle * object, handles().get(handle, "handle"));
  std::lock_guard lock(object->lock.mutex);
  object->*field = static_cast<Field>(value);
  return {};
}

std::atomic<cublasLogCallback> g_log_callback{nullptr};

}  // namespace

Status create_v2(cublasHandle_t* handle) {
  // Genuine cuBLAS reports a null pointer here as a failed initialisation would be: INVALID_VALUE since 11.
  if (handle == nullptr) return null_argument("handle");
  RB_TRY(bridge::runtime_ready());
  BlasHandle* object = nullptr;
  RB_ASSIGN(const std::uint64_t word, handles().create(&object));
  object->device = bridge::current_device();
  *handle = bridge::to_handle<cublasHandle_t>(word);
  return {};
}

Status destroy_v2(cublasHandle_t handle) {
  RB_ASSIGN(BlasHandle * object, handles().get(handle, "handle"));
  rocblas_handle amd = nullptr;
  void* scratch = nullptr;
  {
    std::lock_guard lock(object->lock.mutex);
    RB_TRY(handles().destroy(handle, "handle"));
    std::swap(amd, object->amd);
    std::swap(scratch, object->scratch);
  }
  if (scratch != nullptr) RB_AMD_RAW(hipFree, scratch);
  if (amd != nullptr) RB_TRY(RB_ROCBLAS(rocblas_destroy_handle, amd));
  return {};
}

Status set_stream_v2(cublasHandle_t handle, cudaStream_t streamId) {
  RB_ASSIGN(BlasHandle * object, handles().get(handle, "handle"));
  RB_TRY(amd_stream(streamId).status());
  std::lock_guard lock(object->lock.mutex);
  object->stream = streamId;
  // cuBLAS documentation, cublasSetStream: the workspace goes back to the library's own.
  object->workspace = nullptr;
  object->workspace_bytes = 0;
  return {};
}

Status get_stream_v2(cublasHandle_t handle, cudaStream_t* streamId) {
  return get_setting(handle, &BlasHandle::stream, streamId, "streamId");
}

Status set_workspace_v2(cublasHandle_t handle, void* workspace, std::size_t workspaceSizeInBytes) {
  RB_ASSIGN(BlasHandle * object, handles().get(handle, "handle"));
  // cuBLAS documentation, cublasSetWorkspace: 256-byte alignment; a null or empty one selects the library's own.
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return fail(Errc::invalid_value, "bad-dimension", "workspace %p is not aligned to 256 bytes", workspace);
  if (workspace == nullptr && workspaceSizeInBytes != 0) return null_argument("workspace");
  if (workspaceSizeInBytes == 0) workspace = nullptr;
  if (workspace != nullptr) RB_TRY(check_device_memory(workspace, 0, workspaceSizeInBytes, "workspace"));
  std::lock_guard lock(object->lock.mutex);
  object->workspace = workspace;
  object->workspace_bytes = workspaceSizeInBytes;
  return {};
}

Status set_pointer_mode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) return unknown_enum("mode", mode);
  return set_setting(handle, &BlasHandle::pointer_mode, mode);
}

Status get_pointer_mode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get_setting(handle, &BlasHandle::pointer_mode, mode, "mode");
}

Status set_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  if (mode != CUBLAS_ATOMICS_NOT_ALLOWED && mode != CUBLAS_ATOMICS_ALLOWED) return unknown_enum("mode", mode);
  return set_setting(handle, &BlasHandle::atomics, mode);
}

Status get_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return get_setting(handle, &BlasHandle::atomics, mode, "mode");
}

Status set_math_mode(cublasHandle_t handle, cublasMath_t mode) {
  const int base = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if (base < CUBLAS_DEFAULT_MATH || base > CUBLAS_TF32_TENSOR_OP_MATH) return unknown_enum("mode", mode);
  return set_setting(handle, &BlasHandle::math_mode, mode);
}

Status get_math_mode(cublasHandle_t handle, cublasMath_t* mode) {
  return get_setting(handle, &BlasHandle::math_mode, mode, "mode");
}

Status set_sm_count_target(cublasHandle_t handle, int smCountTarget) {
  if (smCountTarget < 0) return fail(Errc::invalid_value, "bad-dimension", "smCountTarget is %d", smCountTarget);
  return set_setting(handle, &BlasHandle::sm_count, smCountTarget);
}

Status get_sm_count_target(cublasHandle_t handle, int* smCountTarget) {
  return get_setting(handle, &BlasHandle::sm_count, smCountTarget, "smCountTarget");
}

Status get_version_v2(Library library, cublasHandle_t handle, int* version) {
  // A null handle is accepted: programs ask for the version before they have one.
  if (handle != nullptr) RB_TRY(handles().get(handle, "handle").status());
  if (version == nullptr) return null_argument("version");
  const Version v = version_of(library);
  *version = v.major * 10000 + v.minor * 100 + v.patch;
  return {};
}

Status get_property(Library library, libraryPropertyType type, int* value) {
  if (value == nullptr) return null_argument("value");
  const Version v = version_of(library);
  switch (type) {
    case MAJOR_VERSION:
      *value = v.major;
      return {};
    case MINOR_VERSION:
      *value = v.minor;
      return {};
    case PATCH_LEVEL:
      *value = v.patch;
      return {};
  }
  return unknown_enum("type", type);
}

std::size_t get_cudart_version(Library library) {
  return static_cast<std::size_t>(version_of(library).runtime);
}

const char* get_status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* get_status_string(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library or its handle was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "memory could not be allocated";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an argument has a value that is not allowed";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the device lacks a feature that the function needs";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "memory could not be accessed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the work failed on the device";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the requested function is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "a licence is missing";
  }
  return "unknown status";
}

Status logger_configure(int, int, int, const char*) {
  return {};
}

Status set_logger_callback(cublasLogCallback userCallback) {
  g_log_callback.store(userCallback, std::memory_order_relaxed);
  return {};
}

Status get_logger_callback(cublasLogCallback* userCallback) {
  if (userCallback == nullptr) return null_argument("userCallback");
  *userCallback = g_log_callback.load(std::memory_order_relaxed);
  return {};
}

}  // namespace rb::blas
