// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Host functions in streams. The engine posts them when their stream has come so far; threads of the front run them.
// A function that blocks holds its own stream (and what waits for it), never another stream's functions: there is
// always one more thread than there are functions running.
#pragma once

#include "abi/hip.h"
#include "softrocm/front/hip/stream.hpp"
#include "softrocm/wire/commands.hpp"

namespace soft {

/// Puts a host function on a stream. `kind` says how `function` is called.
hipError_t submit_host(hipStream_t stream, wire::HostKind kind, std::uint64_t function, void* argument, Point* point);

}  // namespace soft
