// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/coverage.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "inspect/places.hpp"

namespace rb::inspect {
namespace {

constexpr const char* kSchema = "rocbridge.evidence/1";

/// Edit distance, letters compared without case; stops early above `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::vector<std::size_t> previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t swap = previous[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, swap});
      least = std::min(least, current[j]);
    }
    if (least > limit) return limit + 1;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::vector<const EntryRow*> find_entries(std::string_view name) {
  std::vector<const EntryRow*> found;
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (name == kEntries[i].name) found.push_back(&kEntries[i]);
  return found;
}

const EntryRow* find_entry(std::string_view name) {
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (name == kEntries[i].name) return &kEntries[i];
  return nullptr;
}

const ReasonRow* find_reason(std::string_view id) {
  for (std::size_t i = 0; i < kReasonCount; ++i)
    if (id == kReasons[i].id) return &kReasons[i];
  return nullptr;
}

const LibraryRow* find_library(std::string_view key) {
  for (std::size_t i = 0; i < kLibraryCount; ++i)
    if (key == kLibraries[i].key) return &kLibraries[i];
  return nullptr;
}

std::vector<std::string> close_matches(std::string_view name, std::size_t count) {
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const std::string_view candidate = kEntries[i].name;
    std::size_t rank = distance(name, candidate, limit);
    if (rank > limit && candidate.find(name) != std::string_view::npos && name.size() >= 4) rank = limit;
    if (rank <= limit) ranked.emplace_back(rank, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ranked.size() && i < count; ++i) names.push_back(ranked[i].second);
  return names;
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    if (!item.empty()) items.emplace_back(item);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return items;
}

std::map<std::string, Count> count_by_library() {
  std::map<std::string, Count> counts;
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const std::string_view status = kEntries[i].status;
    for (const auto& library : split_list(kEntries[i].libraries)) {
      Count& count = counts[library];
      (status == "mapped" ? count.mapped : status == "emulated" ? count.emulated : count.trapped) += 1;
      count.total += 1;
    }
  }
  return counts;
}

Result<std::map<std::string, Evidence>> read_evidence(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    Fault fault = fail(Errc::not_found, "missing-file", "%s cannot be read", path.c_str());
    fault.remedy = "run make check, which writes it";
    return fault;
  }
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto json = nlohmann::json::parse(content, nullptr, false);
  std::map<std::string, Evidence> evidence;
  try {
    if (json.at("schema") != kSchema) throw std::runtime_error("schema");
    for (const auto& [name, row] : json.at("entries").items()) {
      evidence[name] = {row.at("successes").get<long>(), row.at("passes").get<long>(),
                        row.at("tests").get<std::vector<std::string>>()};
    }
  } catch (const std::exception&) {
    Fault fault = fail(Errc::invalid_value, "damaged-file", "%s is not an evidence file (%s)", path.c_str(), kSchema);
    fault.remedy = "run make check, which writes it again";
    return fault;
  }
  return evidence;
}

std::string write_evidence(const std::map<std::string, Evidence>& evidence) {
  nlohmann::ordered_json json;
  json["schema"] = kSchema;
  json["version"] = ROCBRIDGE_VERSION;
  json["entries"] = nlohmann::ordered_json::object();
  for (const auto& [name, row] : evidence) {
    json["entries"][name] = {{"successes", row.successes}, {"passes", row.passes}, {"tests", row.tests}};
  }
  return json.dump(1) + "\n";
}

std::string evidence_path() {
  if (const char* set = std::getenv("ROCBRIDGE_EVIDENCE"); set != nullptr && *set != '\0') return set;
  const auto built = std::filesystem::path(program_folder()).parent_path() / "evidence.json";
  std::error_code ignored;
  return std::filesystem::exists(built, ignored) ? built.string() : std::string();
}

Evidence evidence_of(const EntryRow& row, const std::map<std::string, Evidence>& evidence) {
  const auto found = evidence.find(*row.alias_of ? row.alias_of : row.name);
  return found == evidence.end() ? Evidence{} : found->second;
}

bool proven(const EntryRow& row, const std::map<std::string, Evidence>& evidence) {
  const Evidence seen = evidence_of(row, evidence);
  return seen.successes > 0 && (!row.computes || seen.passes > 0);
}

}  // namespace rb::inspect
