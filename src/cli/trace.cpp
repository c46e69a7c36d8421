// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "cli/command.hpp"
#include "cli/trace_text.hpp"
#include "trace/export.hpp"

namespace rb::cli {
namespace {

/// Writes a long result piece by piece.
class Output {
 public:
  explicit Output(const Command& command)
      : name_(command.output()), file_(name_.empty() ? stdout : std::fopen(name_.c_str(), "w")) {
    good_ = file_ != nullptr;
    if (!good_) error_ = errno;
  }
  ~Output() {
    if (!name_.empty() && file_ != nullptr) std::fclose(file_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool put(std::string_view text) {
    if (good_ && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
    return good_;
  }
  /// Everything is on its way to the disk; `code`, or kMissing with a message.
  int end(int code) {
    if (good_ && std::fflush(file_) != 0) fail();
    if (good_) return code;
    std::fprintf(stderr, "rocbridge trace: cannot write %s: %s\n", name_.empty() ? "standard output" : name_.c_str(),
                 std::strerror(error_));
    return kMissing;
  }

 private:
  void fail() {
    good_ = false;
    error_ = errno;
  }

  std::string name_;
  std::FILE* file_;
  bool good_ = false;
  int error_ = 0;
};

/// What a whole trace adds up to.
struct Totals {
  std::map<std::string, std::uint64_t> records;                          ///< by kind, in the export's spelling
  std::map<std::pair<std::string, std::string>, std::uint64_t> entries;  ///< calls by library and name
  std::set<std::pair<std::uint32_t, std::uint32_t>> threads;
  std::set<std::pair<const trace::Process*, std::uint64_t>> open;  ///< calls that did not return
  std::string device;
  std::uint64_t first_ns = ~std::uint64_t{0};
  std::uint64_t last_ns = 0;
  std::uint64_t all = 0;
  std::uint64_t dropped = 0;
};

void add(const trace::Event& event, Totals* totals) {
  ++totals->all;
  ++totals->records[std::string(trace::kind_name(event))];
  totals->first_ns = std::min(totals->first_ns, event.time_ns);
  totals->last_ns = std::max(totals->last_ns, event.time_ns);
  if (event.tid != 0) totals->threads.insert({event.process->pid, event.tid});
  if (const auto* call = std::get_if<trace::CallBegin>(&event.body)) {
    const auto& libraries = event.process->entry_libraries;
    const std::uint32_t number = call->fixed.entry;
    ++totals->entries[{number < libraries.size() ? libraries[number] : "", std::string(call->name)}];
    totals->open.insert({event.process, call->fixed.call});
  } else if (const auto* end = std::get_if<trace::CallEnd>(&event.body)) {
    totals->open.erase({event.process, end->fixed.call});
  } else if (const auto* gap = std::get_if<trace::GapEvent>(&event.body)) {
    if (gap->cause == trace::GapCause::dropped) totals->dropped += gap->records;
  } else if (const auto* device = std::get_if<trace::DeviceEvent>(&event.body)) {
    totals->device = std::string(device->name) + ", " + std::string(device->architecture);
    if (device->fixed.software != 0) totals->device += ", software device, unverified on silicon";
  }
}

std::string damage_text(const trace::Damage& damage) {
  return damage.file + " at byte " + std::to_string(damage.offset) + ": " + damage.text;
}

/// Damage on standard error, where the result is something else.
int tell_damage(const trace::Reader& reader) {
  if (reader.damage_count() == 0) return kFine;
  for (const trace::Damage& damage : reader.damage())
    std::fprintf(stderr, "rocbridge trace: %s\n", damage_text(damage).c_str());
  std::fprintf(stderr, "rocbridge trace: %llu damaged places; everything else was read\n",
               static_cast<unsigned long long>(reader.damage_count()));
  return kDamaged;
}

nlohmann::ordered_json totals_json(const trace::Reader& reader, const Totals& totals) {
  nlohmann::ordered_json out;
  out["schema"] = "rocbridge.trace-info/1";
  out["device"] = totals.device.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(totals.device);
  auto processes = nlohmann::ordered_json::array();
  for (const trace::Process* process : reader.processes())
    processes.push_back({{"pid", process->pid},
                         {"parent_pid", process->parent_pid},
                         {"program", process->program},
                         {"arguments", process->arguments},
                         {"version", process->version},
                         {"start_wall_ns", process->start_wall_ns}});
  out["processes"] = std::move(processes);
  out["threads"] = totals.threads.size();
  out["records"] = totals.all;
  out["records_by_kind"] = totals.records;
  auto entries = nlohmann::ordered_json::array();
  for (const auto& [name, count] : totals.entries)
    entries.push_back({{"library", name.first}, {"entry", name.second}, {"calls", count}});
  out["entries"] = std::move(entries);
  out["duration_ns"] = totals.all != 0 ? totals.last_ns - totals.first_ns : 0;
  out["bytes"] = reader.bytes();
  out["segments"] = reader.segment_count();
  out["ring_files"] = reader.ring_file_count();
  out["unfinished_calls"] = totals.open.size();
  out["dropped_records"] = totals.dropped;
  out["damaged_places"] = reader.damage_count();
  auto damage = nlohmann::ordered_json::array();
  for (const trace::Damage& place : reader.damage())
    damage.push_back({{"file", place.file}, {"offset", place.offset}, {"text", place.text}});
  out["damage"] = std::move(damage);
  return out;
}

std::string totals_text(const trace::Reader& reader, const Totals& totals) {
  std::string out;
  for (const trace::Process* process : reader.processes()) {
    out += "process        " + std::to_string(process->pid) + " ";
    for (const std::string& argument : process->arguments) out += " " + argument;
    out += process->version.empty() ? "\n" : "  (rocbridge " + process->version + ")\n";
  }
  out += "device         " + (totals.device.empty() ? "none was used" : totals.device) + "\n";
  const double seconds = totals.all != 0 ? static_cast<double>(totals.last_ns - totals.first_ns) / 1e9 : 0.0;
  out += "threads        " + std::to_string(totals.threads.size()) + "\n";
  out += "duration       " + text("%.6f s", seconds) + "\n";
  out += "stored         " + std::to_string(reader.bytes()) + " bytes in " + std::to_string(reader.segment_count()) +
         " segments and " + std::to_string(reader.ring_file_count()) + " ring files\n";
  out += "records        " + std::to_string(totals.all) + "\n";
  for (const auto& [kind, count] : totals.records) {
    std::string name = kind;
    name.resize(15, ' ');
    out += "  " + name + std::to_string(count) + "\n";
  }
  out += "unfinished     " + std::to_string(totals.open.size()) + " calls did not return\n";
  out += "dropped        " + std::to_string(totals.dropped) + " records\n";
  out += "damaged        " + std::to_string(reader.damage_count()) + " places\n";
  return out;
}

int info(const Command& command, trace::Reader* reader) {
  Totals totals;
  trace::Event event;
  while (reader->next(&event)) add(event, &totals);
  const int code = tell_damage(*reader);
  if (command.json()) return command.write_json(totals_json(*reader, totals), code);
  return command.write(totals_text(*reader, totals), code);
}

int check(const Command& command, trace::Reader* reader) {
  Totals totals;
  trace::Event event;
  while (reader->next(&event)) add(event, &totals);
  const int code = reader->damage_count() != 0 ? kDamaged : totals.dropped != 0 ? kFindings : kFine;
  if (command.json()) return command.write_json(totals_json(*reader, totals), code);
  std::string out;
  for (const trace::Damage& damage : reader->damage()) out += "DAMAGED  " + damage_text(damage) + "\n";
  if (totals.dropped != 0)
    out += "DROPPED  " + std::to_string(totals.dropped) +
           " records, ring full and nobody to collect; run with a collector (rocbridge run --trace) or larger "
           "ROCBRIDGE_TRACE_RING_BYTES\n";
  out += (code == kFine ? "ok: " : "not whole: ") + std::to_string(totals.all) + " records, " +
         std::to_string(totals.dropped) + " dropped, " + std::to_string(reader->damage_count()) + " damaged places, " +
         std::to_string(totals.open.size()) + " calls did not return\n";
  return command.write(out, code);
}

int dump(const Command& command, trace::Reader* reader, const std::set<std::string>& kinds, std::uint64_t limit) {
  Output output(command);
  const bool lines = command.format() == "jsonl";
  trace::Event event;
  std::uint64_t start = 0;
  std::uint64_t shown = 0;
  while (shown < limit && reader->next(&event)) {
    if (start == 0) start = event.time_ns;
    if (!kinds.empty() && kinds.count(std::string(trace::kind_name(event))) == 0) continue;
    ++shown;
    if (!output.put((lines ? trace::json_line(event) : event_text(event, start)) + "\n")) break;
  }
  return output.end(tell_damage(*reader));
}

int export_all(const Command& command, trace::Reader* reader) {
  Output output(command);
  const trace::Sink sink = [&](std::string_view text) { return output.put(text); };
  if (command.format() == "csv")
    trace::export_csv(reader, sink);
  else
    trace::export_json_lines(reader, sink);
  return output.end(tell_damage(*reader));
}

}  // namespace

int trace_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json", "jsonl", "csv"});
  std::string action;
  std::string directory;
  std::vector<std::string> kinds;
  std::uint64_t limit = ~std::uint64_t{0};
  command.app()
      .add_option(
          "ACTION", action,
          "info: what it holds; dump: one line a record; export: everything as jsonl or csv; check: is it whole")
      ->required()
      ->check(CLI::IsMember({"info", "dump", "export", "check"}));
  command.app().add_option("DIR", directory, "folder of the trace")->required();
  command.app().add_option("--kind", kinds, "dump only these kinds, as --format jsonl spells them")->delimiter(',');
  command.app().add_option("--limit", limit, "dump at most so many records");
  if (const auto code = command.parse(args)) return *code;

  const std::string& format = command.format();
  const bool chosen = command.app().count("--format") != 0;
  const bool summary = action == "info" || action == "check";
  if (summary && format != "table" && format != "json")
    return command.usage(action + " has the formats table and json");
  if (action == "dump" && format != "table" && format != "jsonl")
    return command.usage("dump has the formats table and jsonl; export has csv");
  if (action == "export" && chosen && format != "jsonl" && format != "csv")
    return command.usage("export has the formats jsonl and csv");
  if (action != "dump" && (!kinds.empty() || command.app().count("--limit") != 0))
    return command.usage("--kind and --limit belong to dump");
  for (const std::string& kind : kinds)
    if (std::find(std::begin(trace::kEventKinds), std::end(trace::kEventKinds), kind) == std::end(trace::kEventKinds))
      return command.usage("there is no kind of record \"" + kind + "\"");

  auto reader = trace::Reader::open(directory);
  if (!reader.ok()) return command.fail(reader.fault());
  if (action == "info") return info(command, reader->get());
  if (action == "check") return check(command, reader->get());
  if (action == "export") return export_all(command, reader->get());
  return dump(command, reader->get(), {kinds.begin(), kinds.end()}, limit);
}

}  // namespace rb::cli
