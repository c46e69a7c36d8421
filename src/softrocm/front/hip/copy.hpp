// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Copies and fills of every shape. Between memory that the device reaches they are commands of the engine. Pageable
// host memory is copied by the front through its window: at once when nothing is before it in the stream, through
// staging memory when an asynchronous host-to-device copy has to wait, else after waiting. Registered memory is copied
// by a host function in the stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/hip.h"

namespace soft {

/// depth × height rows of `width` bytes.
struct Box {
  void* dst = nullptr;
  const void* src = nullptr;
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t dst_pitch = 0, src_pitch = 0;  ///< bytes from row to row
  std::size_t dst_slice = 0, src_slice = 0;  ///< bytes from plane to plane
};

/// Checks and carries out a copy. `wait`: return after it is done. hipErrorInvalidMemcpyDirection for an unknown kind,
/// hipErrorInvalidValue for null, dead or too small memory and for a kind that the pointers contradict,
/// hipErrorInvalidHandle for a stream that is not live.
hipError_t copy(const Box& box, hipMemcpyKind kind, hipStream_t stream, bool wait);

/// Fills depth × height rows of `count` elements of 1, 2 or 4 bytes.
struct Fill {
  void* dst = nullptr;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::size_t count = 0, height = 1, depth = 1;
  std::size_t pitch = 0, slice = 0;
};
/// `wait`: return after it is done; memory that the host sees is always waited for unless `is_async`.
hipError_t fill(const Fill& fill, hipStream_t stream, bool is_async);

}  // namespace soft
