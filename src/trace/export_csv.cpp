// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <deque>
#include <map>
#include <utility>

#include "trace/export.hpp"

namespace rb::trace {
namespace {

struct Row {
  std::uint64_t time_ns = 0;
  const Process* process = nullptr;
  std::uint32_t tid = 0;
  CallBeginFixed begin;
  std::string entry;
  bool ended = false;
  std::int64_t status = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t amd_calls = 0;
};

std::string quoted(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string line(const Row& row) {
  std::string out = std::to_string(row.time_ns) + "," + std::to_string(row.process->pid) + "," +
                    std::to_string(row.tid) + "," + std::to_string(row.begin.call) + ",";
  if (row.begin.parent != 0) out += std::to_string(row.begin.parent);
  const auto& libraries = row.process->entry_libraries;
  out += "," + quoted(row.entry) + ",";
  if (row.begin.entry < libraries.size()) out += quoted(libraries[row.begin.entry]);
  out += ",";
  if (row.ended) out += std::to_string(row.status);
  out += ",";
  if (row.ended) out += std::to_string(row.duration_ns);
  return out + "," + std::to_string(row.amd_calls) + "\n";
}

}  // namespace

bool export_csv(Reader* reader, const Sink& sink) {
  if (!sink("time_ns,pid,tid,call,parent,entry,library,status,duration_ns,amd_calls\n")) return false;
  std::deque<Row> rows;       // in order of their begins; written when the first of them has ended
  std::uint64_t written = 0;  // rows that left the front
  std::map<std::pair<const Process*, std::uint64_t>, std::uint64_t> open;
  const auto find = [&](const Event& event, std::uint64_t call) -> Row* {
    const auto found = open.find({event.process, call});
    return found != open.end() ? &rows[found->second - written] : nullptr;
  };
  const auto flush = [&](bool all) {
    // A call that never returns must not hold the whole trace in memory.
    constexpr std::size_t kMostRows = 1 << 20;
    while (!rows.empty() && (all || rows.front().ended || rows.size() > kMostRows)) {
      if (!sink(line(rows.front()))) return false;
      if (!rows.front().ended) open.erase({rows.front().process, rows.front().begin.call});
      rows.pop_front();
      ++written;
    }
    return true;
  };
  Event event;
  while (reader->next(&event)) {
    if (const auto* begin = std::get_if<CallBegin>(&event.body)) {
      open[{event.process, begin->fixed.call}] = written + rows.size();
      Row row;
      row.time_ns = event.time_ns;
      row.process = event.process;
      row.tid = event.tid;
      row.begin = begin->fixed;
      row.entry = begin->name;
      rows.push_back(std::move(row));
    } else if (const auto* amd = std::get_if<AmdCall>(&event.body)) {
      if (Row* row = find(event, amd->fixed.call)) ++row->amd_calls;
    } else if (const auto* end = std::get_if<CallEnd>(&event.body)) {
      if (Row* row = find(event, end->fixed.call)) {
        row->ended = true;
        row->status = end->fixed.status;
        row->duration_ns = end->duration_ns;
        open.erase({event.process, end->fixed.call});
      }
    }
    if (!flush(false)) return false;
  }
  return flush(true);
}

}  // namespace rb::trace
