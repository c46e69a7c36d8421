// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What stands behind a rocblas_handle, and how an entry refuses.
#pragma once

#include <atomic>
#include <cstddef>

#include "abi/rocblas.h"
#include "softrocm/front/hip/handles.hpp"

namespace soft::rocblas {

/// Working memory that rocBLAS 4 keeps for a handle unless the user says otherwise.
inline constexpr std::size_t kDefaultWorkspace = std::size_t{32} << 20;

struct Handle {
  std::atomic<hipStream_t> stream{nullptr};
  std::atomic<rocblas_pointer_mode> pointer_mode{rocblas_pointer_mode_host};
  std::atomic<rocblas_atomics_mode> atomics_mode{rocblas_atomics_allowed};  ///< the default until rocBLAS 4
  std::atomic<rocblas_math_mode> math_mode{rocblas_default_math};
  std::atomic<rocblas_performance_metric> metric{rocblas_default_performance_metric};
  std::atomic<void*> workspace{nullptr};  ///< the user's, or null
  std::atomic<std::size_t> workspace_bytes{kDefaultWorkspace};
  std::atomic<bool> user_manages{false};  ///< a size was set by the user
  std::atomic<bool> is_size_query{false};

  void reset();
};

struct Slot {
  std::atomic<std::uint32_t> generation{0};
  Handle value;
};

HandleTable<Slot, Kind::rocblas, 1 << 12>& handles();

/// The live handle, or nullptr for a null, freed, foreign or wrong-kind one.
inline Handle* find(rocblas_handle handle) {
  Slot* slot = handles().find(handle, nullptr);
  return slot ? &slot->value : nullptr;
}

/// Says why an entry refuses (level info) and gives its status back.
[[gnu::format(printf, 3, 4)]] rocblas_status refuse(rocblas_status status, const char* entry, const char* format, ...);

/// rocBLAS's status for a HIP error (rocBLAS 4, get_rocblas_status_for_hip_status).
rocblas_status from_hip(hipError_t error, const char* entry);

}  // namespace soft::rocblas
