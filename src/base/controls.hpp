// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Settings. api/controls.toml lists them all; values come from the environment, then a configuration file
// (ROCBRIDGE_CONFIG, else $XDG_CONFIG_HOME/rocbridge/config, lines `key = value`), then the default.
#pragma once

#include <string>

namespace rb::controls {

struct Row {
  const char* key;
  const char* variable;
  const char* type;    ///< text, number, flag or enum
  const char* values;  ///< "a|b|c" for an enum
  const char* fallback;
  const char* help;
};

/// Generated from api/controls.toml.
extern const Row kRows[];
extern const unsigned kRowCount;

enum class Origin { environment, file, fallback };

/// The value of a control as text. A value that its type does not allow is logged once and replaced by the default.
/// An unknown key gives "".
std::string text(const char* key, Origin* origin = nullptr);
long long number(const char* key);
bool flag(const char* key);
/// Whether `value` is allowed for the row; `why` gets the reason if not.
bool allowed(const Row& row, const std::string& value, std::string* why);

}  // namespace rb::controls
