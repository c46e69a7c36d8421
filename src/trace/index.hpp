// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// First pass of the reader: which file holds which bytes of which ring. Reads headers only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "trace/reader.hpp"

namespace rb::trace {

/// Part of a ring's stream, in one piece or (a ring file at its end) two.
struct Run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t promised_end = 0;  ///< larger than end: the file was cut
  std::uint32_t file = 0;
  std::uint64_t offset = 0;       ///< of the first byte in the file
  std::uint64_t first_bytes = 0;  ///< bytes there; the others are at second_offset
  std::uint64_t second_offset = 0;
};

struct ClockPair {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};

/// From clock readings to nanoseconds.
struct Clock {
  bool counter = false;
  bool set = false;
  ClockPair first;
  ClockPair last;
  double rate = 1.0;  ///< nanoseconds a tick

  void add(ClockPair pair);
  void finish();
  std::uint64_t ns(std::uint64_t ticks) const;
  std::uint64_t duration(std::uint64_t ticks) const;
};

using ProcessKey = std::pair<std::uint64_t, std::uint32_t>;  ///< token, pid

struct RingIndex {
  ProcessKey process;
  std::uint32_t ring = 0;
  std::uint32_t tid = 0;
  std::uint64_t dropped = 0;
  std::uint64_t dropped_from = 0;
  std::uint64_t dropped_to = 0;
  std::vector<Run> runs;
};

struct ProcessIndex {
  std::unique_ptr<Process> process;
  Clock clock;
};

struct Index {
  std::string directory;
  std::vector<std::string> files;  ///< names
  std::map<ProcessKey, ProcessIndex> processes;
  std::map<std::pair<ProcessKey, std::uint32_t>, RingIndex> rings;
  std::vector<Damage> damage;
  std::uint64_t damage_count = 0;
  std::uint64_t segments = 0;
  std::uint64_t ring_files = 0;
  std::uint64_t bytes = 0;

  void damaged(const std::string& file, std::uint64_t offset, std::string text);
};

Result<std::unique_ptr<Index>> build_index(const std::string& directory);

}  // namespace rb::trace
