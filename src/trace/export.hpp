// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Turns events into text for other programs: JSON Lines (one object a record) and CSV (one line a finished call).
// Field names are part of the documented interface (docs/reference/trace-format.md).
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "trace/reader.hpp"

namespace rb::trace {

/// One event as one line of JSON, without the line feed.
std::string json_line(const Event& event);

/// The kinds of events, in the order of Event::body's types.
inline constexpr std::string_view kEventKinds[] = {
    "process", "thread_start", "thread_end", "setting", "device", "call_begin", "call_end", "amd_call",
    "layout",  "allocation",   "check",      "refusal", "note",   "gap",        "tensor",   "unknown"};
static_assert(std::size(kEventKinds) == std::variant_size_v<decltype(Event::body)>);

/// Stable names, as the exports spell them; "?" for values of a newer format.
std::string_view kind_name(const Event& event);
std::string_view verdict_name(std::uint8_t verdict);
std::string_view reference_name(std::uint8_t reference);
std::string_view allocation_kind_name(std::uint8_t kind);
std::string_view element_type_name(std::uint8_t type);
std::string_view argument_kind_name(std::uint8_t kind);
std::string_view level_name(std::uint32_t level);

/// Takes the lines of an export; false stops it (the output is closed or full).
using Sink = std::function<bool(std::string_view)>;

/// Everything that `reader` still gives, as JSON Lines: a first line {"kind":"trace",...}, the events, a last line
/// {"kind":"end",...} with counts and damage. False if the sink stopped it.
bool export_json_lines(Reader* reader, const Sink& sink);

/// A line for each call, in order of their begin: time_ns,pid,tid,call,parent,entry,library,status,duration_ns,
/// amd_calls. Calls without an end have empty fields. False if the sink stopped it.
bool export_csv(Reader* reader, const Sink& sink);

}  // namespace rb::trace
