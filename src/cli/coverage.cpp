// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/coverage.hpp"

#include "cli/command.hpp"
#include "inspect/evidence.hpp"

namespace rb::cli {
namespace {

using nlohmann::ordered_json;
using Proof = std::map<std::string, inspect::Evidence>;

constexpr const char* kNote =
    "An export counts once in each library that exports it, aliases included. Whether a mapped or emulated entry is "
    "proven is told by the evidence of the last make check.";

ordered_json entry_json(const inspect::EntryRow& row, const Proof* proof) {
  ordered_json entry = {{"name", row.name},
                        {"family", row.family},
                        {"status", row.status},
                        {"targets", inspect::split_list(row.targets)},
                        {"reason", *row.reason ? ordered_json(row.reason) : ordered_json()}};
  entry["alias_of"] = *row.alias_of ? ordered_json(row.alias_of) : ordered_json();
  entry["proven"] = nullptr;
  entry["evidence"] = nullptr;
  if (proof != nullptr && std::string_view(row.status) != "trapped") {
    const inspect::Evidence seen = inspect::evidence_of(row, *proof);
    entry["proven"] = inspect::proven(row, *proof);
    entry["evidence"] = {{"successes", seen.successes}, {"passes", seen.passes}};
  }
  return entry;
}

ordered_json report(const std::string& only, const Proof* proof, bool entries) {
  ordered_json json = {{"schema", "rocbridge.coverage/1"}, {"version", ROCBRIDGE_VERSION}, {"note", kNote}};
  json["libraries"] = ordered_json::object();
  for (const auto& [key, count] : inspect::count_by_library()) {
    if (!only.empty() && key != only) continue;
    const auto* library = inspect::find_library(key);
    ordered_json row = {{"soname", library ? ordered_json(library->soname) : ordered_json()},
                        {"mapped", count.mapped},
                        {"emulated", count.emulated},
                        {"trapped", count.trapped},
                        {"total", count.total}};
    int proven = 0;
    ordered_json list = ordered_json::array();
    for (std::size_t i = 0; i < inspect::kEntryCount; ++i) {
      const auto& entry = inspect::kEntries[i];
      const auto in = inspect::split_list(entry.libraries);
      if (std::find(in.begin(), in.end(), key) == in.end()) continue;
      if (proof != nullptr && std::string_view(entry.status) != "trapped" && inspect::proven(entry, *proof)) ++proven;
      if (entries) list.push_back(entry_json(entry, proof));
    }
    row["proven"] = proof == nullptr ? ordered_json() : ordered_json(proven);
    if (entries) row["entries"] = list;
    json["libraries"][key] = row;
  }
  return json;
}

Table summary_table(const ordered_json& json) {
  Table table;
  table.columns = {{"library"},       {"soname"},      {"mapped", true}, {"emulated", true},
                   {"trapped", true}, {"total", true}, {"proven", true}};
  for (const auto& [key, row] : json["libraries"].items()) {
    auto text = [&row](const char* field) {
      return row[field].is_null() ? std::string("-") : std::to_string(row[field].get<int>());
    };
    table.rows.push_back({key, row["soname"].is_null() ? "-" : row["soname"].get<std::string>(), text("mapped"),
                          text("emulated"), text("trapped"), text("total"), text("proven")});
  }
  return table;
}

Table entries_table(const ordered_json& json) {
  Table table;
  table.columns = {{"entry"}, {"family"}, {"status"}, {"targets"}, {"reason"}, {"proven"}};
  for (const auto& [key, row] : json["libraries"].items()) {
    for (const auto& entry : row["entries"]) {
      std::string targets;
      for (const auto& target : entry["targets"]) targets += (targets.empty() ? "" : ", ") + target.get<std::string>();
      const std::string status = entry["status"];
      const std::string sign = status == "mapped" ? "● " : status == "emulated" ? "◆ " : "■ ";
      const bool trapped = status == "trapped";
      table.rows.push_back({entry["name"].get<std::string>(), entry["family"].get<std::string>(),
                            Cell(sign + status, trapped ? Tone::dim : Tone::good), targets,
                            entry["reason"].is_null() ? "" : entry["reason"].get<std::string>(),
                            trapped || entry["proven"].is_null() ? "-"
                            : entry["proven"].get<bool>()        ? "yes"
                                                                 : "no"});
    }
  }
  return table;
}

}  // namespace

int coverage_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json", "jsonl", "csv", "md"});
  std::string library, collect;
  bool entries = false;
  command.app().add_option("--library", library, "one library, by key (cudnn8) or soname; lists its entries");
  command.app().add_flag("--entries", entries, "list the entries of every library");
  command.app()
      .add_option("--collect", collect, "read the traces below this folder and write an evidence file (use -o)")
      ->option_text("DIR");
  if (auto code = command.parse(args)) return *code;

  if (!collect.empty()) {
    auto evidence = inspect::collect_evidence(collect);
    if (!evidence) return command.fail(evidence.fault());
    return command.write(inspect::write_evidence(*evidence), kFine);
  }
  if (!library.empty()) {
    for (std::size_t i = 0; i < inspect::kLibraryCount; ++i)
      if (library == inspect::kLibraries[i].soname) library = inspect::kLibraries[i].key;
    if (inspect::find_library(library) == nullptr) {
      std::string known;
      for (std::size_t i = 0; i < inspect::kLibraryCount; ++i) known += std::string(" ") + inspect::kLibraries[i].key;
      return command.usage("there is no library \"" + library + "\"; known are" + known);
    }
    entries = true;
  }
  std::optional<Proof> proof;
  if (const std::string path = inspect::evidence_path(); !path.empty()) {
    auto read = inspect::read_evidence(path);
    if (!read) return command.fail(read.fault());
    proof = std::move(*read);
  }
  const ordered_json json = report(library, proof ? &*proof : nullptr, entries);
  if (command.json()) return command.write_json(json, kFine);
  const Table summary = summary_table(json);
  if (!entries) {
    if (command.format() != "table") return command.write_table(summary, kFine);
    return command.write(render_table(summary, command.width(), command.color()) + "\n" + kNote + "\n", kFine);
  }
  const Table rows = entries_table(json);
  if (command.format() != "table") return command.write_table(rows, kFine);
  return command.write(render_table(summary, command.width(), command.color()) + "\n" +
                           render_table(rows, command.width(), command.color()),
                       kFine);
}

}  // namespace rb::cli
