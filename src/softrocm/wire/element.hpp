// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Element types of tensors and matrices on the way from the front to the engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soft::wire {

/// The real types carry MIOpen's numbers (miopenDataType_t); the complex ones exist in rocBLAS only.
enum class Element : std::uint32_t {
  half = 0,
  single = 1,
  int32 = 2,
  int8 = 3,
  bfloat16 = 5,
  real64 = 6,
  complex32 = 20,  ///< two floats
  complex64 = 21,  ///< two doubles
};

/// Bytes of one element; 0 for a number that is no element type.
constexpr std::size_t size_of(Element element) {
  switch (element) {
    case Element::int8:
      return 1;
    case Element::half:
    case Element::bfloat16:
      return 2;
    case Element::single:
    case Element::int32:
      return 4;
    case Element::real64:
    case Element::complex32:
      return 8;
    case Element::complex64:
      return 16;
  }
  return 0;
}

}  // namespace soft::wire
