// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What one run was, read from its trace: device, entries with calls and verdicts, memory, findings. Everything that
// `inspect` and `run` print is taken from here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/format.hpp"

namespace rb::inspect {

struct Device {
  std::string name;
  std::string gfx;
  int wave = 0;
  bool software = false;
  std::uint64_t memory_bytes = 0;
  std::string directory;  ///< of the AMD libraries
  std::string choice;     ///< how it was chosen
};

/// One drift: an output of a call against its reference. NaN: not measured.
struct Drift {
  double relative_l1 = 0;
  double bound = 0;
  std::string entry;
  std::string tensor;
  std::string reference;  ///< "fp64", "fp64 sampled", ...
};

/// One export as it was used in the run.
struct Used {
  std::string name;
  std::string library;            ///< key: "cudnn8"
  std::set<std::string> targets;  ///< AMD functions that its calls used
  std::string status;             ///< of its row: mapped, emulated, trapped; "" if the row is unknown
  std::string family;
  bool computes = false;
  std::uint64_t calls = 0;
  std::uint64_t successes = 0;
  std::uint64_t refused = 0;
  std::uint64_t checked = 0;              ///< successful calls with a check that compared something
  std::uint64_t unchecked = 0;            ///< successful calls of a computing entry without one
  std::uint64_t passes = 0;               ///< checks with verdict pass
  std::optional<trace::Verdict> verdict;  ///< the worst; nothing for an entry that computes nothing
  std::optional<Drift> worst;             ///< the check nearest to or furthest over its bound
  std::optional<double> resolution;       ///< the coarsest of its checks
  std::set<std::string> notes;
};

/// Something against policy, as one line.
struct Finding {
  std::string kind;   ///< "DRIFT", "CORRUPT", "UNTRUSTED", "TRAPPED", "PROGRAM", "LIBRARY"
  std::string entry;  ///< may be empty
  std::string reason;
  std::string line;
  std::uint64_t times = 1;  ///< equal ones are folded
};

struct Memory {
  std::uint64_t peak_bytes = 0;
  std::map<std::string, std::uint64_t> by_kind;  ///< at the peak
  bool known = false;                            ///< an allocation was recorded
};

struct StreamRow {
  std::uint64_t process = 0;
  std::uint32_t thread = 0;
  std::uint64_t call = 0;
  std::uint64_t parent = 0;
  double start_us = 0;  ///< since the first record
  double duration_us = 0;
  std::string entry, library;
  std::vector<std::string> arguments;
  std::vector<std::string> layout;
  std::vector<std::string> amd;  ///< "miopenConvolutionForwardImmediate 0 410 us"
  std::int64_t status = 0;
  bool ended = false;
  std::string verdict;
  std::string reason;
};

struct Run {
  std::vector<Device> devices;
  std::map<std::string, std::string> settings;  ///< controls with values other than their defaults
  std::map<std::string, Used> entries;          ///< by name and library
  std::optional<Drift> max_drift;               ///< the largest relative L1 of the run
  std::uint64_t checked = 0;                    ///< calls
  std::uint64_t unchecked = 0;
  Memory memory;
  std::vector<Finding> findings;
  std::vector<StreamRow> stream;  ///< only if asked for
  std::uint64_t processes = 0;
  std::uint64_t calls = 0;
  std::uint64_t lost = 0;     ///< records that the trace tells are missing
  std::uint64_t unended = 0;  ///< calls without an end
};

/// Reads every process of a trace directory. Faults: "missing-trace", "damaged-trace".
Result<Run> read_run(const std::string& trace_dir, bool with_stream = false);

const char* verdict_word(trace::Verdict verdict);
/// Whether a verdict is against policy.
bool is_finding(trace::Verdict verdict);

}  // namespace rb::inspect
