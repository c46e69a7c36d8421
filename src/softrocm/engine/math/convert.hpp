// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Element types to float and back, in bulk. Rounds to nearest even, as base/half.hpp does, with the same bits on every
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.hpp"
#include "softrocm/wire/element.hpp"

namespace soft::engine {

/// dst[i] = float(src[i]), i < count; half, bfloat16 or single.
void to_float(wire::Element element, const void* src, float* dst, std::size_t count);
/// dst[i] = element(src[i]), i < count; half, bfloat16 or single.
void from_float(wire::Element element, const float* src, void* dst, std::size_t count);

/// One element at index `i`.
inline float load_float(wire::Element element, const void* data, std::int64_t i) {
  if (element == wire::Element::single) return static_cast<const float*>(data)[i];
  const auto bits = static_cast<const std::uint16_t*>(data)[i];
  return element == wire::Element::half ? rb::half_to_float(bits) : rb::bfloat16_to_float(bits);
}

inline void store_float(wire::Element element, void* data, std::int64_t i, float value) {
  if (element == wire::Element::single)
    static_cast<float*>(data)[i] = value;
  else
    static_cast<std::uint16_t*>(data)[i] =
        element == wire::Element::half ? rb::float_to_half(value) : rb::float_to_bfloat16(value);
}

}  // namespace soft::engine
