// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/handle.hpp"

#include "base/controls.hpp"
#include "bridge/amd.hpp"
#include "bridge/call_trace.hpp"
#include "bridge/dnn_entries.hpp"

namespace rb::dnn {
namespace {

constexpr unsigned kEventWithoutTiming = 2;  // hipEventDisableTiming (HIP documentation, event flags)

std::uint64_t stream_of(const void* handle) {
  const DnnHandle* found = handles().find(handle);
  return found == nullptr ? 0 : reinterpret_cast<std::uint64_t>(found->stream);
}

[[gnu::constructor]] void register_handle() {
  bridge::register_stream_of(bridge::Kind::cudnn_handle, stream_of);
}

std::size_t reported_version() {
  return static_cast<std::size_t>(controls::number("device.cudnn_version"));
}

std::size_t reported_runtime_version() {
  const long long version = controls::number("device.runtime_version");
  // cuDNN 8.9 for CUDA 12 is what a program meets beside libcudart.so.12; PyTorch's is built with 12.1.
  return version != 0 ? static_cast<std::size_t>(version) : 12010;
}

Status open_handle(DnnHandle* handle) {
  handle->device = bridge::current_device();
  RB_TRY(RB_MIOPEN(miopenCreate, &handle->miopen));
  handle->stamp.renew();
  return {};
}

void release_scratch(DnnHandle& handle) {
  if (handle.scratch.address != nullptr) {
    RB_AMD_RAW(hipFree, handle.scratch.address);  // waits for the device
    bridge::trace_allocation(trace::AllocationKind::bridge, true, handle.device,
                             reinterpret_cast<std::uint64_t>(handle.scratch.address), handle.scratch.bytes);
  }
  if (handle.scratch.used != nullptr) RB_AMD_RAW(hipEventDestroy, handle.scratch.used);
  handle.scratch = Scratch{};
}

struct CallbackState {
  std::mutex mutex;
  unsigned mask = 0;
  void* user = nullptr;
  cudnnCallback_t function = nullptr;
};
CallbackState& callback_state() {
  static CallbackState& state = *new CallbackState;
  return state;
}

}  // namespace

DnnHandles& handles() {
  return bridge::table_of<DnnHandle, bridge::Kind::cudnn_handle>();
}

Status DeviceScope::change(int device) {
  RB_TRY(RB_HIP(hipSetDevice, device));
  changed_ = true;
  return {};
}

void DeviceScope::leave() {
  RB_AMD_RAW(hipSetDevice, bridge::current_device());
}

Result<rocblas_handle> blas_of(DnnHandle& handle) {
  if (handle.blas == nullptr) RB_TRY(RB_ROCBLAS(rocblas_create_handle, &handle.blas));
  if (handle.blas_stream != handle.stream) {
    RB_TRY(RB_ROCBLAS(rocblas_set_stream, handle.blas, handle.stream));
    handle.blas_stream = handle.stream;
  }
  return handle.blas;
}

Result<void*> take_scratch(DnnHandle& handle, std::size_t bytes) {
  hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
  RB_TRY(RB_HIP(hipStreamIsCapturing, handle.stream, &capture));
  if (capture != hipStreamCaptureStatusNone)
    return not_supported("capture-scratch",
                         "alpha other than 1 or beta other than 0 needs %zu bytes beyond the workspace, and none can "
                         "be taken while the stream is "
                         "captured",
                         bytes);
  Scratch& scratch = handle.scratch;
  if (scratch.bytes < bytes) {
    release_scratch(handle);
    const std::size_t rounded = (bytes + 0xfffff) & ~std::size_t{0xfffff};
    void* address = nullptr;
    RB_TRY(RB_HIP(hipMalloc, &address, rounded));
    scratch.address = address;
    scratch.bytes = rounded;
    bridge::trace_allocation(trace::AllocationKind::bridge, false, handle.device,
                             reinterpret_cast<std::uint64_t>(address), rounded);
  }
  if (scratch.used == nullptr) RB_TRY(RB_HIP(hipEventCreateWithFlags, &scratch.used, kEventWithoutTiming));
  if (scratch.ever_used && scratch.stream != handle.stream)
    RB_TRY(RB_HIP(hipStreamWaitEvent, handle.stream, scratch.used, 0u));
  return scratch.address;
}

Status scratch_used(DnnHandle& handle) {
  RB_TRY(RB_HIP(hipEventRecord, handle.scratch.used, handle.stream));
  handle.scratch.stream = handle.stream;
  handle.scratch.ever_used = true;
  return {};
}

Status create(cudnnHandle_t* handle) {
  if (handle == nullptr) return bad_param("null-pointer", "handle is null");
  *handle = nullptr;
  RB_TRY(bridge::runtime_ready());
  DnnHandle* object = nullptr;
  RB_ASSIGN(const std::uint64_t word, handles().create(&object));
  if (Status opened = open_handle(object); !opened.ok()) {
    Status removed = handles().destroy(bridge::to_handle<cudnnHandle_t>(word), "handle");
    (void)removed;  // it was made three lines above
    return opened;
  }
  *handle = bridge::to_handle<cudnnHandle_t>(word);
  return {};
}

Status destroy(cudnnHandle_t handle) {
  if (handle == nullptr) return {};
  RB_ASSIGN(DnnHandle * object, handles().get(handle, "handle"));
  RB_TRY(bridge::device_ready());
  std::lock_guard lock(object->lock.mutex);
  RB_TRY(handles().destroy(handle, "handle"));  // of two threads that destroy the same handle, one comes past this line
  object->stamp.store(0);
  DeviceScope device;
  RB_TRY(device.enter(object->device));
  release_scratch(*object);
  if (object->blas != nullptr) RB_TRY(RB_ROCBLAS(rocblas_destroy_handle, object->blas));
  object->blas = nullptr;
  Status status = RB_MIOPEN(miopenDestroy, object->miopen);
  object->miopen = nullptr;
  return status;
}

Status set_stream(cudnnHandle_t handle, cudaStream_t streamId) {
  RB_ASSIGN(DnnHandle * object, handles().get(handle, "handle"));
  RB_TRY(bridge::device_ready());
  hipStream_t stream = reinterpret_cast<hipStream_t>(streamId);
  if (!stream_is_usable(stream))
    return bad_param("stream-not-live", "streamId is %p, which is no live stream", static_cast<void*>(streamId));
  if (reinterpret_cast<std::uint64_t>(stream) == 1) stream = nullptr;  // cudaStreamLegacy is HIP's null stream
  std::lock_guard lock(object->lock.mutex);
  if (stream == object->stream) return {};
  DeviceScope device;
  RB_TRY(device.enter(object->device));
  RB_TRY(RB_MIOPEN(miopenSetStream, object->miopen, stream));
  object->stream = stream;
  return {};
}

Status get_stream(cudnnHandle_t handle, cudaStream_t* streamId) {
  RB_ASSIGN(const DnnHandle* object, handles().get(handle, "handle"));
  if (streamId == nullptr) return bad_param("null-pointer", "streamId is null");
  *streamId = reinterpret_cast<cudaStream_t>(object->stream);
  return {};
}

std::size_t get_version() {
  return reported_version();
}
std::size_t get_cudart_version() {
  return reported_runtime_version();
}

/// cuDNN 8.9 knows devices up to compute capability 9.0 (its release notes); one number, as cudnnGetVersion.
std::size_t get_max_device_version() {
  return 900;
}

Status get_property(libraryPropertyType type, int* value) {
  if (value == nullptr) return bad_param("null-pointer", "value is null");
  const int version = static_cast<int>(reported_version());
  switch (static_cast<int>(type)) {
    case 0:
      *value = version / 1000;
      return {};
    case 1:
      *value = version % 1000 / 100;
      return {};
    case 2:
      *value = version % 100;
      return {};
    default: {
      Fault fault = bad_param("unknown-enum", "type is %d; 0, 1 and 2 are known", static_cast<int>(type));
      fault.native = CUDNN_STATUS_INVALID_VALUE;
      return fault;
    }
  }
}

const char* get_error_string(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_ALLOC_FAILED:
      return "CUDNN_STATUS_ALLOC_FAILED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_INTERNAL_ERROR:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_INVALID_VALUE:
      return "CUDNN_STATUS_INVALID_VALUE";
    case CUDNN_STATUS_ARCH_MISMATCH:
      return "CUDNN_STATUS_ARCH_MISMATCH";
    case CUDNN_STATUS_MAPPING_ERROR:
      return "CUDNN_STATUS_MAPPING_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_LICENSE_ERROR:
      return "CUDNN_STATUS_LICENSE_ERROR";
    case CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING:
      return "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING";
    case CUDNN_STATUS_RUNTIME_IN_PROGRESS:
      return "CUDNN_STATUS_RUNTIME_IN_PROGRESS";
    case CUDNN_STATUS_RUNTIME_FP_OVERFLOW:
      return "CUDNN_STATUS_RUNTIME_FP_OVERFLOW";
    case CUDNN_STATUS_VERSION_MISMATCH:
      return "CUDNN_STATUS_VERSION_MISMATCH";
  }
  return "CUDNN_UNKNOWN_STATUS";
}

/// All parts are one library here, so their versions agree.
Status ops_infer_version_check() {
  return {};
}
Status ops_train_version_check() {
  return {};
}
Status cnn_infer_version_check() {
  return {};
}
Status cnn_train_version_check() {
  return {};
}
Status adv_infer_version_check() {
  return {};
}
Status adv_train_version_check() {
  return {};
}

/// AMD's libraries raise no error later through a tag, so there is never one to report; failures of the stream itself
/// come out at the next synchronising call.
Status query_runtime_error(cudnnHandle_t handle, cudnnStatus_t* rstatus, cudnnErrQueryMode_t mode,
                           cudnnRuntimeTag_t* tag) {
  RB_ASSIGN(DnnHandle * object, handles().get(handle, "handle"));
  (void)tag;
  if (rstatus == nullptr) return bad_param("null-pointer", "rstatus is null");
  RB_TRY(bridge::device_ready());
  if (!stream_is_usable(object->stream)) return bad_param("stream-not-live", "the handle's stream was destroyed");
  switch (mode) {
    case CUDNN_ERRQUERY_RAWCODE:
      *rstatus = CUDNN_STATUS_SUCCESS;
      return {};
    case CUDNN_ERRQUERY_NONBLOCKING: {
      const hipError_t state = RB_AMD_RAW(hipStreamQuery, object->stream);
      *rstatus = state == hipSuccess         ? CUDNN_STATUS_SUCCESS
                 : state == hipErrorNotReady ? CUDNN_STATUS_RUNTIME_IN_PROGRESS
                                             : CUDNN_STATUS_EXECUTION_FAILED;
      return {};
    }
    case CUDNN_ERRQUERY_BLOCKING:
      *rstatus = RB_AMD_RAW(hipStreamSynchronize, object->stream) == hipSuccess ? CUDNN_STATUS_SUCCESS
                                                                                : CUDNN_STATUS_EXECUTION_FAILED;
      return {};
  }
  return bad_param("unknown-enum", "mode is %d", static_cast<int>(mode));
}

/// Kept and given back; rocbridge's own log goes to stderr, so the function is never called.
Status set_callback(unsigned int mask, void* udata, cudnnCallback_t fptr) {
  CallbackState& state = callback_state();
  std::lock_guard lock(state.mutex);
  state.mask = mask;
  state.user = udata;
  state.function = fptr;
  return {};
}

Status get_callback(unsigned int* mask, void** udata, cudnnCallback_t* fptr) {
  CallbackState& state = callback_state();
  std::lock_guard lock(state.mutex);
  put(mask, state.mask);
  put(udata, state.user);
  put(fptr, state.function);
  return {};
}

}  // namespace rb::dnn
