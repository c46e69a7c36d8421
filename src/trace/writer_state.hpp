// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// State of the writing side that its parts share: settings, identity of the process, clock. Not for other folders.
#pragma once

#include "trace/writer.hpp"

namespace rb::trace::detail {

inline constexpr std::size_t kMaxPath = 3072;
inline constexpr std::uint32_t kMaxRings = 4096;

struct State {
  NameTables names;
  char directory[kMaxPath] = {};
  char version[64] = {};
  char build[64] = {};
  std::uint64_t ring_bytes = 0;
  Level level = Level::off;

  std::uint32_t pid = 0;
  std::uint64_t token = 0;
  std::uint64_t parent_token = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t ticks[2] = {};
  std::uint64_t ns[2] = {};
  std::uint64_t sync_ticks = 0;  ///< how often the pair of clocks in a ring's header is renewed
};

extern State g_state;

/// Path of a file of this process in the trace directory: "p<pid>-<token><suffix>".
void file_path(char* buffer, std::size_t size, const char* suffix);
/// Measures the rate of the clock that init() chose.
void start_clock(State* state);
/// Writes the process file. False with errno set.
bool write_process_file(const State& state);

}  // namespace rb::trace::detail
