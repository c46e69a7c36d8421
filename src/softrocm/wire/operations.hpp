// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Numbers and payloads of the compute operations that travel from the front to the engine. Plain data of fixed size;
// device addresses are the application's. The transport is wire/ring.hpp.
#pragma once

#include <cstdint>

namespace soft::wire {

enum Operation : std::uint32_t {
  kOperationNone = 0,
  kOperationEmpty = 1,        ///< does nothing: benchmarks of the way through front and engine
  kOperationDnnFirst = 100,   ///< 100..199: MIOpen, payloads in wire/dnn.hpp
  kOperationBlasFirst = 200,  ///< 200..299: rocBLAS, payloads in wire/blas.hpp
};

/// Largest payload of one operation in bytes.
inline constexpr std::uint32_t kMaxPayload = 960;

}  // namespace soft::wire
