// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The account of exports: what the API database says about every export (generated into
// build/generated/tools/coverage_data.cpp), joined with the evidence that the tests left in their traces.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace rb::inspect {

/// One export of one CUDA API. Texts are never null; an absent value is "".
struct EntryRow {
  const char* name;
  const char* api;        ///< key of the API: "cudnn8", "cudart", ...
  const char* family;     ///< file of the database: "convolution"
  const char* libraries;  ///< keys of the libraries that export it, comma separated
  const char* status;     ///< "mapped", "emulated" or "trapped"
  const char* targets;    ///< AMD functions that do the work, comma separated
  const char* how;        ///< what an emulated entry does
  const char* reason;     ///< reason id of a trapped entry
  const char* limits;     ///< numbered notes, comma separated
  const char* tolerance;  ///< tolerance class of its check
  const char* prototype;
  const char* source;    ///< "file:line" of the bridge function, or ""
  const char* tests;     ///< files that name the entry, comma separated
  const char* api_file;  ///< "file:line" of its row in api/
  bool computes;         ///< its results are numbers that a check must vouch for
  const char* alias_of;  ///< the row's own name if this export is an alias of it, or ""
  const char* plan;      ///< AMD functions that a trapped entry could be mapped to, comma separated
};
struct ReasonRow {
  const char* id;
  const char* text;
  const char* remedy;
};
/// A profile of the software device.
struct DeviceRow {
  const char* gfx;
  const char* name;
  const char* waves;  ///< allowed wavefront sizes, comma separated, the default first
  bool is_default;
};
/// What `run --as NAME` sets: "VARIABLE=value", comma separated.
struct ProgramRow {
  const char* name;
  const char* help;
  const char* variables;
};
struct LibraryRow {
  const char* key;
  const char* soname;
  const char* api;
  int functions;  ///< exported functions, aliases included
};

extern const EntryRow kEntries[];
extern const std::size_t kEntryCount;
extern const ReasonRow kReasons[];
extern const std::size_t kReasonCount;
extern const LibraryRow kLibraries[];
extern const std::size_t kLibraryCount;
extern const DeviceRow kDevices[];
extern const std::size_t kDeviceCount;
extern const ProgramRow kPrograms[];
extern const std::size_t kProgramCount;

/// The row of an export: in the first API that has it; null if no library exports that name.
const EntryRow* find_entry(std::string_view name);
/// Every row of that name (a few exports exist in more than one API).
std::vector<const EntryRow*> find_entries(std::string_view name);
const ReasonRow* find_reason(std::string_view id);
const LibraryRow* find_library(std::string_view key);
/// The names nearest to a misspelt one, best first, at most `count`.
std::vector<std::string> close_matches(std::string_view name, std::size_t count);
/// Splits a comma separated list of the generated rows.
std::vector<std::string> split_list(std::string_view list);

struct Count {
  int mapped = 0;
  int emulated = 0;
  int trapped = 0;
  int total = 0;
};
/// Counted from the rows: an export counts once for each library that exports it.
std::map<std::string, Count> count_by_library();

/// What the tests' traces showed of one entry.
struct Evidence {
  long successes = 0;  ///< calls that returned success
  long passes = 0;     ///< checks of its results with verdict pass
  std::vector<std::string> tests;
};

/// Reads an evidence file (schema rocbridge.evidence/1). Faults: "missing-file", "damaged-file".
Result<std::map<std::string, Evidence>> read_evidence(const std::string& path);
std::string write_evidence(const std::map<std::string, Evidence>& evidence);
/// Path of the evidence file: $ROCBRIDGE_EVIDENCE, else evidence.json in the build tree of this program; "" if absent.
std::string evidence_path();

/// What was seen of a row; an alias shares the evidence of its row.
Evidence evidence_of(const EntryRow& row, const std::map<std::string, Evidence>& evidence);
/// Whether the evidence proves a mapped or emulated row: a success, and a passed check if the entry computes.
bool proven(const EntryRow& row, const std::map<std::string, Evidence>& evidence);

}  // namespace rb::inspect
