// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Tables for people (aligned, long texts cut in the middle), and the same rows as CSV, Markdown, JSON and JSON Lines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rb::cli {

enum class Tone { none, good, warn, bad, dim };

struct Cell {
  Cell(std::string t = "", Tone tone_ = Tone::none) : text(std::move(t)), tone(tone_) {}
  Cell(const char* t) : text(t) {}
  std::string text;
  Tone tone = Tone::none;
};

struct Table {
  struct Column {
    std::string name;
    bool right = false;  ///< digits: aligned to the right, never cut
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// Number of terminal columns of a UTF-8 text (every code point counts one; no wide characters are used here).
std::size_t display_width(const std::string& text);
/// At most `width` columns, the middle replaced by "…".
std::string cut_middle(const std::string& text, std::size_t width);
/// width 0: unlimited. Lines end without trailing blanks.
std::string render_table(const Table& table, std::size_t width, bool color);
std::string render_csv(const Table& table);
std::string render_markdown(const Table& table);
std::string paint(const std::string& text, Tone tone, bool color);

/// Three significant digits: "3.1e-04" style below 1e-3, plain above; "-" for nothing measured (null).
std::string number(const nlohmann::ordered_json& value);
std::string number(double value);
/// "12.0 MiB".
std::string bytes(double value);

}  // namespace rb::cli
