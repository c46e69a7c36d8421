// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Table of operation handlers; register_operation() of operation.hpp fills it.
#pragma once

#include <atomic>
#include <cstdint>

#include "softrocm/engine/exec/operation.hpp"

namespace soft::engine {

inline constexpr std::uint32_t kMaxOperation = 1024;

/// The handler of an operation, or nullptr.
Handler find_operation(std::uint32_t operation);

/// Copies, fills and words of commands.hpp: registers their handlers.
void register_memory();

}  // namespace soft::engine
