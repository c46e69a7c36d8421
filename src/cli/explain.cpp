// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/coverage.hpp"

#include "cli/command.hpp"

namespace rb::cli {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const char* text) {
  return *text ? ordered_json(text) : ordered_json();
}

ordered_json describe(const inspect::EntryRow& row, const std::map<std::string, inspect::Evidence>* proof) {
  ordered_json libraries = ordered_json::array();
  for (const auto& key : inspect::split_list(row.libraries)) {
    const auto* library = inspect::find_library(key);
    libraries.push_back({{"key", key}, {"soname", library ? ordered_json(library->soname) : ordered_json()}});
  }
  ordered_json limits = ordered_json::array();
  for (const auto& id : inspect::split_list(row.limits)) {
    const auto* limit = inspect::find_reason(id);
    limits.push_back({{"id", id}, {"text", limit ? ordered_json(limit->text) : ordered_json()}});
  }
  ordered_json json = {{"name", row.name},
                       {"api", row.api},
                       {"alias_of", or_null(row.alias_of)},
                       {"family", row.family},
                       {"libraries", libraries},
                       {"status", row.status},
                       {"targets", inspect::split_list(row.targets)},
                       {"plan", inspect::split_list(row.plan)},
                       {"how", or_null(row.how)},
                       {"limits", limits},
                       {"tolerance", or_null(row.tolerance)},
                       {"prototype", or_null(row.prototype)},
                       {"source", or_null(row.source)},
                       {"described_in", or_null(row.api_file)},
                       {"tests", inspect::split_list(row.tests)}};
  json["reason"] = nullptr;
  if (*row.reason) {
    const auto* reason = inspect::find_reason(row.reason);
    json["reason"] = {{"id", row.reason},
                      {"text", reason ? ordered_json(reason->text) : ordered_json()},
                      {"remedy", reason ? ordered_json(reason->remedy) : ordered_json()}};
  }
  json["evidence"] = nullptr;
  if (proof != nullptr && std::string_view(row.status) != "trapped") {
    const inspect::Evidence shown = inspect::evidence_of(row, *proof);
    json["evidence"] = {{"proven", inspect::proven(row, *proof)},
                        {"successes", shown.successes},
                        {"passes", shown.passes},
                        {"tests", shown.tests}};
  }
  return json;
}

std::string joined(const ordered_json& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + item.get<std::string>();
  return text;
}

std::string page(const ordered_json& json) {
  const std::string status = json["status"];
  std::string text = json["name"].get<std::string>() + "\n";
  auto field = [&text](const char* name, const std::string& value) {
    if (value.empty()) return;
    std::string label = name;
    label.resize(14, ' ');
    text += "  " + label + value + "\n";
  };
  auto string_of = [&json](const char* name) {
    return json[name].is_null() ? std::string() : json[name].get<std::string>();
  };
  std::string libraries;
  for (const auto& library : json["libraries"])
    libraries += (libraries.empty() ? "" : ", ") +
                 (library["soname"].is_null() ? library["key"] : library["soname"]).get<std::string>();
  field("alias of", string_of("alias_of"));
  field("status", (status == "mapped" ? "● " : status == "emulated" ? "◆ " : "■ ") + status);
  if (!json["reason"].is_null()) {
    const auto& reason = json["reason"];
    field("reason",
          reason["id"].get<std::string>() + (reason["text"].is_null() ? "" : ": " + reason["text"].get<std::string>()));
    if (!reason["remedy"].is_null()) field("remedy", reason["remedy"]);
  }
  field("targets", joined(json["targets"]));
  field("planned", joined(json["plan"]));
  field("how", string_of("how"));
  for (const auto& limit : json["limits"]) {
    field("limit",
          limit["id"].get<std::string>() + (limit["text"].is_null() ? "" : ": " + limit["text"].get<std::string>()));
  }
  field("tolerance", string_of("tolerance"));
  field("libraries", libraries);
  field("prototype", string_of("prototype"));
  field("source", string_of("source"));
  field("described in", string_of("described_in"));
  field("tests", joined(json["tests"]));
  if (!json["evidence"].is_null()) {
    const auto& evidence = json["evidence"];
    field("evidence", std::string(evidence["proven"].get<bool>() ? "proven: " : "not proven: ") +
                          std::to_string(evidence["successes"].get<long>()) + " calls succeeded, " +
                          std::to_string(evidence["passes"].get<long>()) + " checks passed");
  } else if (status != "trapped") {
    field("evidence", "- (no evidence file; make check writes it)");
  }
  return text;
}

}  // namespace

int explain_verb(const Verb& verb, const Args& args) {
  Command command(verb, {"table", "json"});
  std::string name;
  command.app().add_option("NAME", name, "an exported function, such as cudnnConvolutionForward");
  if (auto code = command.parse(args)) return *code;
  if (name.empty()) return command.usage("NAME is missing");

  const auto rows = inspect::find_entries(name);
  if (rows.empty()) {
    const auto near = inspect::close_matches(name, 5);
    std::string hint;
    for (const auto& match : near) hint += (hint.empty() ? "; did you mean " : ", ") + match;
    return command.usage("no library exports \"" + name + "\"" + (near.empty() ? "" : hint + "?"));
  }
  std::optional<std::map<std::string, inspect::Evidence>> proof;
  if (const std::string path = inspect::evidence_path(); !path.empty()) {
    auto read = inspect::read_evidence(path);
    if (!read) return command.fail(read.fault());
    proof = std::move(*read);
  }
  ordered_json all = ordered_json::array();
  std::string text;
  for (const auto* row : rows) {
    all.push_back(describe(*row, proof ? &*proof : nullptr));
    text += (text.empty() ? "" : "\n") + page(all.back());
  }
  if (!command.json()) return command.write(text, kFine);
  return command.write_json({{"schema", "rocbridge.explain/1"}, {"entries", all}}, kFine);
}

}  // namespace rb::cli
