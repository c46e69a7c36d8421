// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Reads a trace directory: segments, and what still lies in ring files, merged by time. Streaming: memory depends on
// the number of rings and pieces, not on the length. Trusts no number in a file; damage is reported and skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "trace/format.hpp"

namespace rb::trace {

/// A process that traced. Strings are empty where its process file is missing or damaged.
struct Process {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t token = 0;
  std::uint64_t parent_token = 0;   ///< of the traced process that it was forked from, or 0
  std::uint64_t start_ns = 0;       ///< CLOCK_MONOTONIC
  std::uint64_t start_wall_ns = 0;  ///< since 1970
  std::string program;
  std::vector<std::string> arguments;
  std::string version;
  std::string build;
  std::uint32_t level = 0;
  std::uint64_t ring_bytes = 0;
  std::vector<std::string> entries;
  std::vector<std::string> entry_libraries;
  std::vector<std::string> functions;
  std::vector<std::string> function_libraries;

  /// Name of an entry or AMD function; "?" if the tables do not have it.
  std::string_view entry(std::uint32_t number) const { return name(entries, number); }
  std::string_view function(std::uint32_t number) const { return name(functions, number); }

 private:
  static std::string_view name(const std::vector<std::string>& names, std::uint32_t number) {
    return number < names.size() ? std::string_view(names[number]) : std::string_view("?");
  }
};

struct Argument {
  std::uint8_t index = 0;
  ArgumentKind kind = ArgumentKind::value;
  std::uint64_t word = 0;
};
struct Snapshot {
  std::uint8_t index = 0;
  SnapshotKind kind = SnapshotKind::blob;
  std::span<const char> bytes;
  /// Copies the content into a snapshot structure; false if the kind or the size does not fit. Missing fields of an
  /// older writer stay as they are.
  bool get(TensorSnapshot* out) const;
  bool get(ConvolutionSnapshot* out) const;
};

// What an event holds. Times and durations are nanoseconds. Strings live until the next call of Reader::next().
struct ProcessEvent {};
struct ThreadStart {
  std::string_view name;
};
struct ThreadEnd {};
struct SettingEvent {
  std::string_view key, value, origin;
};
struct DeviceEvent {
  DeviceFixed fixed;
  std::string_view name, architecture, directory, text;
};
struct CallBegin {
  CallBeginFixed fixed;
  std::string_view name;  ///< of the entry
  std::vector<Argument> arguments;
  std::vector<Snapshot> snapshots;
  bool has_stream = false;
  std::uint64_t stream = 0;
};
struct CallEnd {
  CallEndFixed fixed;
  std::string_view name;
  std::uint64_t duration_ns = 0;
};
struct AmdCall {
  AmdCallFixed fixed;
  std::string_view name;
  std::string_view solution;
  std::uint64_t duration_ns = 0;
};
struct LayoutEvent {
  LayoutFixed fixed;
  std::string_view what, text;
};
struct AllocationEvent {
  AllocationFixed fixed;
};
struct CheckEvent {
  CheckFixed fixed;
  std::string_view name;  ///< of the entry
  std::string_view tensor, shape, tolerance_class, reason, text, reproducer;
};
struct RefusalEvent {
  RefusalFixed fixed;
  std::string_view name;
  std::string_view reason, text, remedy, where;
};
struct NoteEvent {
  NoteFixed fixed;
  std::string_view component, text;
};
enum class GapCause : std::uint8_t { dropped, damage };
struct GapEvent {
  GapCause cause = GapCause::dropped;
  std::uint64_t records = 0;  ///< 0: unknown
  std::uint64_t bytes = 0;    ///< of damage
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
};
struct TensorEvent {
  TensorFixed fixed;
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::span<const char> data;
};
/// A kind of a newer format.
struct UnknownEvent {
  std::uint16_t kind = 0;
};

struct Event {
  const Process* process = nullptr;
  std::uint32_t tid = 0;
  std::uint32_t ring = 0;
  std::uint32_t number = 0;    ///< of the record in its ring
  std::uint64_t position = 0;  ///< of the record in its ring's stream
  std::uint64_t time_ns = 0;   ///< CLOCK_MONOTONIC of the machine that traced; never falls within a ring
  std::variant<ProcessEvent, ThreadStart, ThreadEnd, SettingEvent, DeviceEvent, CallBegin, CallEnd, AmdCall,
               LayoutEvent, AllocationEvent, CheckEvent, RefusalEvent, NoteEvent, GapEvent, TensorEvent, UnknownEvent>
      body;
};

struct Damage {
  std::string file;
  std::uint64_t offset = 0;
  std::string text;
};

class Reader {
 public:
  /// Faults: no such folder or no trace in it (Errc::not_found, "missing-trace"); nothing in it can be read
  /// ("damaged-trace").
  static Result<std::unique_ptr<Reader>> open(const std::string& directory);
  ~Reader();

  /// The next event in order of time (within a thread always in its order). False at the end.
  bool next(Event* event);

  const std::vector<const Process*>& processes() const;
  /// What was found damaged so far; complete when next() has returned false. At most 100 are kept.
  const std::vector<Damage>& damage() const;
  std::uint64_t damage_count() const;
  std::uint64_t segment_count() const;
  std::uint64_t ring_file_count() const;
  /// Bytes of records in segments and ring files.
  std::uint64_t bytes() const;

 private:
  class Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rb::trace
