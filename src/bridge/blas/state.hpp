// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a cuBLAS handle holds: the settings as the program made them, and rocBLAS's handle, which is made at the first
// product on the device that was current at cublasCreate. Settings reach rocBLAS right before a call, under the
// handle's lock, since pointer mode, stream and workspace of an AMD handle are state that calls share.
#pragma once

#include <cstddef>
#include <mutex>

#include "abi/cublas.h"
#include "bridge/amd.hpp"
#include "bridge/handle.hpp"

namespace rb::blas {

/// A mutex in a slot of the handle table: it stays while the object around it is replaced.
struct SlotMutex {
  SlotMutex() = default;
  SlotMutex(const SlotMutex&) {}
  SlotMutex& operator=(const SlotMutex&) { return *this; }
  std::mutex mutex;
};

struct BlasHandle {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  int math_mode = CUBLAS_DEFAULT_MATH;
  void* workspace = nullptr;  ///< null: the library's own
  std::size_t workspace_bytes = 0;
  int sm_count = 0;

  // What rocBLAS was told last; guarded by `lock`.
  rocblas_handle amd = nullptr;
  hipStream_t amd_stream = nullptr;
  rocblas_pointer_mode amd_pointer_mode = rocblas_pointer_mode_host;
  rocblas_atomics_mode amd_atomics = rocblas_atomics_allowed;
  void* amd_workspace = nullptr;
  std::size_t amd_workspace_bytes = 0;
  void* scratch = nullptr;  ///< 16 bytes of device memory for a result that goes to the host
  SlotMutex lock;
};

using BlasHandles = bridge::HandleTable<BlasHandle, bridge::Kind::cublas_handle>;
BlasHandles& handles();

/// A handle ready for one AMD call: locked, its device current, its settings passed on.
class Session {
 public:
  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Faults: invalid_handle, device faults, rocBLAS's status. `scalars_on_device` overrides nothing but the AMD
  /// handle's pointer mode.
  Status open(cublasHandle_t handle, bool scalars_on_device);

  BlasHandle& handle() { return *handle_; }
  rocblas_handle amd() { return handle_->amd; }
  hipStream_t stream() { return handle_->amd_stream; }

  /// Gives the AMD handle back its own memory when a user's workspace was too small (rocBLAS never grows one).
  Status drop_workspace();

 private:
  Status select_device(int device);
  Status make_handle();
  Status apply(bool scalars_on_device);
  Status move_to_stream(hipStream_t stream);

  BlasHandle* handle_ = nullptr;
  std::unique_lock<std::mutex> lock_;
  int previous_device_ = -1;
};

/// The AMD stream of a CUDA stream; fault invalid_value for one that is not alive.
Result<hipStream_t> amd_stream(cudaStream_t stream);

}  // namespace rb::blas
