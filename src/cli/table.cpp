// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace rb::cli {
namespace {

constexpr std::size_t kLeast = 8;  // a cut column keeps at least this many columns

bool starts_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
}

/// Byte position of code point `index`.
std::size_t offset_of(const std::string& text, std::size_t index) {
  std::size_t position = 0;
  while (position < text.size() && index > 0) {
    ++position;
    while (position < text.size() && !starts_code_point(text[position])) ++position;
    --index;
  }
  return position;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

/// Shrinks the widest text columns until the line fits.
void fit(std::vector<std::size_t>& widths, const Table& table, std::size_t width) {
  const std::size_t gaps = widths.empty() ? 0 : 2 * (widths.size() - 1);
  auto total = [&] {
    std::size_t sum = gaps;
    for (std::size_t w : widths) sum += w;
    return sum;
  };
  while (total() > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (table.columns[i].right || widths[i] <= kLeast) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;  // nothing left to cut: a narrow terminal wraps
    --widths[widest];
  }
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string cut_middle(const std::string& text, std::size_t width) {
  const std::size_t length = display_width(text);
  if (length <= width || width == 0) return text;
  const std::size_t head = width / 2;
  const std::size_t tail = width - head - 1;
  return text.substr(0, offset_of(text, head)) + "…" + text.substr(offset_of(text, length - tail));
}

std::string paint(const std::string& text, Tone tone, bool color) {
  if (!color || tone == Tone::none || text.empty()) return text;
  const char* code = tone == Tone::good ? "32" : tone == Tone::warn ? "33" : tone == Tone::bad ? "31;1" : "2";
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

std::string render_table(const Table& table, std::size_t width, bool color) {
  std::vector<std::size_t> widths;
  for (const auto& column : table.columns) widths.push_back(display_width(column.name));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i].text));
  if (width > 0) fit(widths, table, width);

  std::string out;
  auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      if (i > 0) text += "  ";
      const std::string cut = cut_middle(cells[i].text, widths[i]);
      const std::string blank(widths[i] - display_width(cut), ' ');
      const std::string painted = paint(cut, cells[i].tone, color);
      text += table.columns[i].right ? blank + painted : painted + blank;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  std::vector<Cell> header;
  for (const auto& column : table.columns) header.emplace_back(column.name, Tone::dim);
  line(header);
  for (const auto& row : table.rows) line(row);
  return out;
}

std::string render_csv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) out += (i ? "," : "") + csv_field(table.columns[i].name);
  out += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + csv_field(row[i].text);
    out += "\n";
  }
  return out;
}

std::string render_markdown(const Table& table) {
  auto field = [](const std::string& text) {
    std::string out;
    for (char c : text) {
      if (c == '|') out += '\\';
      out += c;
    }
    return out;
  };
  std::string out = "|";
  for (const auto& column : table.columns) out += " " + field(column.name) + " |";
  out += "\n|";
  for (const auto& column : table.columns) out += column.right ? " ---: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const auto& cell : row) out += " " + field(cell.text) + " |";
    out += "\n";
  }
  return out;
}

std::string number(double value) {
  char buffer[32];
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf";
  if (value == 0) return "0";
  if (std::fabs(value) < 1e-3 || std::fabs(value) >= 1e6) {
    std::snprintf(buffer, sizeof buffer, "%.2e", value);
  } else {
    std::snprintf(buffer, sizeof buffer, "%.3g", value);
  }
  return buffer;
}

std::string number(const nlohmann::ordered_json& value) {
  if (value.is_number()) return number(value.get<double>());
  if (value.is_string()) return value.get<std::string>();  // NaN and Inf travel as text
  return "-";
}

std::string bytes(double value) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return buffer;
}

}  // namespace rb::cli
