// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What stands behind MIOpen's opaque pointers. Descriptors are plain values: an entry copies them out of their slot
// before it looks at them, so that a descriptor destroyed by another thread is at worst a refused one.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "abi/miopen.h"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/wire/dnn.hpp"

namespace soft::miopen {

inline constexpr int kMaxRank = 8;

struct Tensor {
  miopenDataType_t type = miopenFloat;
  int rank = 0;  ///< 0: created, not set
  std::array<std::int64_t, kMaxRank> lengths{}, strides{};

  /// Elements from the first to the last one.
  std::int64_t span() const;
  bool same_lengths(const Tensor& other) const;
};

struct ConvolutionDescriptor {
  miopenConvolutionMode_t mode = miopenConvolution;
  int spatial = 2;
  std::array<int, 3> pad{0, 0, 0}, stride{1, 1, 1}, dilation{1, 1, 1}, output_pad{0, 0, 0};
  int groups = 1;
  std::array<int, 3> attributes{0, 0, 0};  ///< by miopenConvolutionAttrib_t
  int find_mode = 5;                       ///< dynamic hybrid
};

/// Result of a Find: a solution with its measured time.
struct Found {
  const wire::Solution* solution;
  float time;
};

struct Handle {
  std::atomic<hipStream_t> stream{nullptr};
  std::mutex mutex;
  std::unordered_map<std::string, std::vector<Found>> found;  ///< by the problem's bytes, fastest first
};

template <class V>
struct Slot {
  std::atomic<std::uint32_t> generation{0};
  V value;
};

HandleTable<Slot<Handle>, Kind::miopen, 1 << 12>& handles();
HandleTable<Slot<Tensor>, Kind::tensor, 1 << 18>& tensors();
HandleTable<Slot<ConvolutionDescriptor>, Kind::convolution, 1 << 18>& convolutions();

/// Live objects behind the application's pointers; nullptr for null, freed, foreign and wrong-kind ones.
inline Handle* find(miopenHandle_t handle) {
  auto* slot = handles().find(handle, nullptr);
  return slot ? &slot->value : nullptr;
}
inline Tensor* find(miopenTensorDescriptor_t tensor) {
  auto* slot = tensors().find(tensor, nullptr);
  return slot ? &slot->value : nullptr;
}
inline ConvolutionDescriptor* find(miopenConvolutionDescriptor_t convolution) {
  auto* slot = convolutions().find(convolution, nullptr);
  return slot ? &slot->value : nullptr;
}

/// Says why an entry refuses (level info) and gives its status back.
[[gnu::format(printf, 3, 4)]] miopenStatus_t refuse(miopenStatus_t status, const char* entry, const char* format, ...);

/// MIOpen's status for a failure below it.
miopenStatus_t from_hip(hipError_t error, const char* entry);

/// A new object of a table behind *out: bad-parm for a null `out`, alloc-failed when there is no room.
template <class Table, class Pointer>
miopenStatus_t create(Table& table, Pointer* out, const char* entry) {
  if (!out) return refuse(miopenStatusBadParm, entry, "the pointer to the result is null");
  *out = nullptr;
  std::uint32_t index = 0;
  auto* slot = table.take(0, &index, [](std::uint32_t) { return true; });
  if (!slot) return refuse(miopenStatusAllocFailed, entry, "no room for another object");
  *out = static_cast<Pointer>(table.publish(slot, index));
  return miopenStatusSuccess;
}

/// Runs an entry that allocates: no exception crosses the C interface.
template <class Body>
miopenStatus_t guarded(const char* entry, const Body& body) try {
  return body();
} catch (const std::bad_alloc&) {
  return refuse(miopenStatusAllocFailed, entry, "out of host memory");
} catch (...) {
  return refuse(miopenStatusInternalError, entry, "unexpected exception");
}

}  // namespace soft::miopen

/// Returns a status that is not success to the caller.
#define MIOPEN_TRY(expression)                          \
  do {                                                  \
    const miopenStatus_t status_ = (expression);        \
    if (status_ != miopenStatusSuccess) return status_; \
  } while (0)
