// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Scalars that a library reads through a host pointer.
#pragma once

#include <cstdint>

#include "softrocm/front/hip/ranges.hpp"

namespace soft {

/// Whether the front may read a scalar at `pointer`. Device memory is not readable by the host: as on a card the access
/// would end the process, so the libraries refuse it instead.
inline bool host_can_read(const void* pointer) {
  Range range;
  return pointer && !(ranges().find(reinterpret_cast<std::uint64_t>(pointer), &range) && range.kind == Memory::device);
}

}  // namespace soft
