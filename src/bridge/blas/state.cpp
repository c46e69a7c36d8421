// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/blas/state.hpp"

#include "bridge/context.hpp"
#include "bridge/streams.hpp"

namespace rb::blas {

using bridge::amd;

namespace {
constexpr unsigned kEventWithoutTiming = 2;  // hipEventDisableTiming (HIP documentation, event flags)
}

BlasHandles& handles() {
  return bridge::table_of<BlasHandle, bridge::Kind::cublas_handle>();
}

Result<hipStream_t> amd_stream(cudaStream_t stream) {
  Result<hipStream_t> found = bridge::stream_of(stream);
  if (found.ok()) [[likely]]
    return found;
  Fault fault = found.fault();
  fault.code = Errc::invalid_value;  // a bad handle is the cuBLAS handle's status
  fault.native = -1;
  return fault;
}

Session::~Session() {
  if (previous_device_ >= 0) RB_AMD_RAW(hipSetDevice, previous_device_);
}

Status Session::select_device(int device) {
  const int current = bridge::current_device();
  if (current == device) [[likely]]
    return {};
  RB_TRY(RB_HIP(hipSetDevice, device));
  previous_device_ = current;
  return {};
}

Status Session::make_handle() {
  if (handle_->amd != nullptr) return {};
  RB_TRY(RB_ROCBLAS(rocblas_create_handle, &handle_->amd));
  // The default differs between ROCm 6 and 7; what the program asked for is told below.
  RB_TRY(RB_ROCBLAS(rocblas_get_atomics_mode, handle_->amd, &handle_->amd_atomics));
  return {};
}

/// Work of the old stream may still use the workspace that the new stream's work is about to use, so the new stream
/// waits for the old one (rocBLAS documentation, "Streams in rocBLAS": the old one must be idle).
Status Session::move_to_stream(hipStream_t stream) {
  const bool shared_workspace = handle_->workspace == handle_->amd_workspace;
  if (shared_workspace) {
    hipEvent_t event = nullptr;
    RB_TRY(RB_HIP(hipEventCreateWithFlags, &event, kEventWithoutTiming));
    const bool recorded = bridge::stream_of(handle_->amd_stream).ok() &&
                          RB_AMD_RAW(hipEventRecord, event, handle_->amd_stream) == hipSuccess &&
                          RB_AMD_RAW(hipStreamWaitEvent, stream, event, 0u) == hipSuccess;
    RB_AMD_RAW(hipEventDestroy, event);
    if (!recorded) RB_TRY(RB_HIP(hipDeviceSynchronize));  // the old stream is gone: its work may still run
  }
  RB_TRY(RB_ROCBLAS(rocblas_set_stream, handle_->amd, stream));
  handle_->amd_stream = stream;
  // rocBLAS forgets a user's workspace when the stream changes.
  handle_->amd_workspace = nullptr;
  handle_->amd_workspace_bytes = 0;
  return {};
}

Status Session::apply(bool scalars_on_device) {
  RB_ASSIGN(const hipStream_t stream, amd_stream(handle_->stream));
  if (stream != handle_->amd_stream) RB_TRY(move_to_stream(stream));
  if (handle_->workspace != handle_->amd_workspace || handle_->workspace_bytes != handle_->amd_workspace_bytes) {
    RB_TRY(RB_ROCBLAS(rocblas_set_workspace, handle_->amd, handle_->workspace, handle_->workspace_bytes));
    handle_->amd_workspace = handle_->workspace;
    handle_->amd_workspace_bytes = handle_->workspace_bytes;
  }
  const auto mode = scalars_on_device ? rocblas_pointer_mode_device : rocblas_pointer_mode_host;
  if (mode != handle_->amd_pointer_mode) {
    RB_TRY(RB_ROCBLAS(rocblas_set_pointer_mode, handle_->amd, mode));
    handle_->amd_pointer_mode = mode;
  }
  const auto atomics =
      handle_->atomics == CUBLAS_ATOMICS_ALLOWED ? rocblas_atomics_allowed : rocblas_atomics_not_allowed;
  if (atomics != handle_->amd_atomics) {
    RB_TRY(RB_ROCBLAS(rocblas_set_atomics_mode, handle_->amd, atomics));
    handle_->amd_atomics = atomics;
  }
  return {};
}

Status Session::open(cublasHandle_t handle, bool scalars_on_device) {
  RB_TRY(bridge::device_ready());
  RB_ASSIGN(handle_, handles().get(handle, "handle"));
  lock_ = std::unique_lock(handle_->lock.mutex);
  if (handles().find(handle) != handle_) return bridge::bad_handle("handle", handle, bridge::Kind::cublas_handle);
  RB_TRY(select_device(handle_->device));
  RB_TRY(make_handle());
  return apply(scalars_on_device);
}

Status Session::drop_workspace() {
  RB_TRY(RB_ROCBLAS(rocblas_set_workspace, handle_->amd, nullptr, std::size_t{0}));
  handle_->workspace = handle_->amd_workspace = nullptr;
  handle_->workspace_bytes = handle_->amd_workspace_bytes = 0;
  return {};
}

}  // namespace rb::blas
