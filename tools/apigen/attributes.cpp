// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The device attributes as a table for the bridge, sorted by CUDA's number.
#include <map>
#include <stdexcept>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "output.hpp"

namespace apigen {

void emit_attributes(const std::filesystem::path& root, const std::filesystem::path& out) {
  const std::string shown = "api/device_attributes.toml";
  std::map<int, std::string> rows;
  for (const auto& [key, value] : toml::parse_file((root / shown).string())) {
    const toml::table& row = *value.as_table();
    const std::string where = shown + ":" + std::to_string(value.source().begin.line) + ": " + std::string(key.str());
    int sources = 0;
    for (const auto& [name, unused] : row) {
      static_cast<void>(unused);
      const std::string_view member = name.str();
      if (member == "hip" || member == "value" || member == "told")
        ++sources;
      else if (member != "number" && member != "note")
        throw std::runtime_error(where + ": unknown key '" + std::string(member) + "'");
    }
    const int number = static_cast<int>(row["number"].value_or(0));
    if (sources != 1 || number <= 0) throw std::runtime_error(where + ": needs a number and one of hip, value, told");
    std::string text;
    if (row.contains("hip"))
      text = std::string("AnswerBy::hip, ") + row["hip"].value_or("");
    else if (row.contains("value"))
      text = "AnswerBy::value, " + std::to_string(row["value"].value_or(0));
    else
      text = std::string("AnswerBy::") + row["told"].value_or("") + ", 0";
    if (!rows.emplace(number, "    {" + std::to_string(number) + ", " + text + "},\n").second)
      throw std::runtime_error(where + ": number " + std::to_string(number) + " is described twice");
  }
  std::ostringstream header;
  header << kBanner
         << "#pragma once\n\n#include \"abi/hip.h\"\n\nnamespace rb::bridge {\n\n/// Where the answer to a device "
            "attribute comes from.\n"
            "enum class AnswerBy : unsigned char { hip, value, warp_size, capability_major, capability_minor };\n\n"
            "struct AttributeRow {\n  int number;  ///< CUDA's\n  AnswerBy by;\n  int value;  ///< HIP's number, or "
            "the answer\n};\n\n"
            "inline constexpr AttributeRow kAttributeRows[] = {\n";
  for (const auto& row : rows) header << row.second;
  header << "};\n\n}  // namespace rb::bridge\n";
  write_file(out / "bridge/device_attributes.hpp", header.str());
}

}  // namespace apigen
