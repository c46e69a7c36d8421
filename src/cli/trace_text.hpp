// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One event of a trace as one line for people.
#pragma once

#include <string>

#include "trace/reader.hpp"

namespace rb::cli {

/// "   12.345678 ms  4711  call 7  cudnnConvolutionForward(0x5b…, …)", with the time since `start_ns`.
std::string event_text(const trace::Event& event, std::uint64_t start_ns);

}  // namespace rb::cli
