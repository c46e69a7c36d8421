// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/controls.hpp"
#include "base/log.hpp"

namespace rb::controls {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\"");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1);
}

/// The value of `key` in the configuration file.
bool from_file(const char* key, std::string* value) {
  std::string path;
  if (const char* named = std::getenv("ROCBRIDGE_CONFIG"); named != nullptr) {
    path = named;
  } else if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr) {
    path = std::string(config) + "/rocbridge/config";
  } else if (const char* home = std::getenv("HOME"); home != nullptr) {
    path = std::string(home) + "/.config/rocbridge/config";
  }
  if (path.empty()) return false;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    if (trimmed(line.substr(0, equals)) == key) {
      *value = trimmed(line.substr(equals + 1));
      return true;
    }
  }
  return false;
}

const Row* find(const char* key) {
  for (unsigned i = 0; i < kRowCount; ++i)
    if (std::strcmp(kRows[i].key, key) == 0) return &kRows[i];
  return nullptr;
}

}  // namespace

bool allowed(const Row& row, const std::string& value, std::string* why) {
  if (std::strcmp(row.type, "number") == 0) {
    char* end = nullptr;
    std::strtoll(value.c_str(), &end, 10);
    if (!value.empty() && *end == '\0') return true;
    *why = "not a whole number";
    return false;
  }
  if (std::strcmp(row.type, "flag") == 0) {
    if (value == "0" || value == "1" || value == "true" || value == "false") return true;
    *why = "not 0 or 1";
    return false;
  }
  if (std::strcmp(row.type, "enum") == 0) {
    const std::string list = "|" + std::string(row.values) + "|";
    if (!value.empty() && list.find("|" + value + "|") != std::string::npos) return true;
    *why = std::string("not one of ") + row.values;
    return false;
  }
  return true;
}

std::string text(const char* key, Origin* origin) {
  Origin unused = Origin::fallback;
  Origin& from = origin != nullptr ? *origin : unused;
  from = Origin::fallback;
  const Row* row = find(key);
  if (row == nullptr) return {};
  std::string value = row->fallback;
  std::string read;
  if (const char* environment = std::getenv(row->variable); environment != nullptr && *environment != '\0') {
    read = environment;
    from = Origin::environment;
  } else if (from_file(key, &read)) {
    from = Origin::file;
  } else {
    return value;
  }
  std::string why;
  if (allowed(*row, read, &why)) return read;
  RB_LOG(error, "controls", "%s is '%s': %s; the default '%s' is used", row->variable, read.c_str(), why.c_str(),
         row->fallback);
  from = Origin::fallback;
  return value;
}

long long number(const char* key) {
  return std::strtoll(text(key).c_str(), nullptr, 10);
}

bool flag(const char* key) {
  const std::string value = text(key);
  return value == "1" || value == "true";
}

}  // namespace rb::controls
