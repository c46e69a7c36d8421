// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/table.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rb::cli {
namespace {

Table sample() {
  Table table;
  table.columns = {{"entry"}, {"calls", true}};
  table.rows = {{"cudnnConvolutionForward", "7"}, {"● x", "1234"}};
  return table;
}

TEST(CliTable, width_counts_code_points) {
  EXPECT_EQ(display_width("● mapped"), 8u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(CliTable, cuts_in_the_middle) {
  EXPECT_EQ(cut_middle("cudnnConvolutionForward", 9), "cudn…ward");
  EXPECT_EQ(cut_middle("●●●●●", 3), "●…●");
  EXPECT_EQ(cut_middle("short", 5), "short");
  EXPECT_EQ(cut_middle("anything", 0), "anything");
}

TEST(CliTable, aligns_digits_and_leaves_no_trailing_blanks) {
  EXPECT_EQ(render_table(sample(), 0, false),
            "entry                    calls\n"
            "cudnnConvolutionForward      7\n"
            "● x                       1234\n");
}

TEST(CliTable, fits_the_terminal_without_touching_digits) {
  EXPECT_EQ(render_table(sample(), 20, false),
            "entry          calls\n"
            "cudnnC…orward      7\n"
            "● x             1234\n");
}

TEST(CliTable, color_does_not_shift_columns) {
  Table table = sample();
  table.rows[1][0] = Cell("● x", Tone::bad);
  const std::string plain = render_table(sample(), 0, false);
  std::string painted = render_table(table, 0, true);
  for (const char* code : {"\033[31;1m", "\033[2m", "\033[0m"})
    for (std::size_t at; (at = painted.find(code)) != std::string::npos;) painted.erase(at, std::string(code).size());
  EXPECT_EQ(painted, plain);
}

TEST(CliTable, csv_quotes_what_needs_it) {
  Table table;
  table.columns = {{"a"}, {"b"}};
  table.rows = {{"x,y", "say \"so\""}, {"plain", ""}};
  EXPECT_EQ(render_csv(table), "a,b\n\"x,y\",\"say \"\"so\"\"\"\nplain,\n");
}

TEST(CliTable, markdown_escapes_bars) {
  Table table;
  table.columns = {{"a"}, {"n", true}};
  table.rows = {{"x|y", "1"}};
  EXPECT_EQ(render_markdown(table), "| a | n |\n| --- | ---: |\n| x\\|y | 1 |\n");
}

TEST(CliTable, numbers_have_three_digits_and_absent_is_a_dash) {
  EXPECT_EQ(number(0.000123456), "1.23e-04");
  EXPECT_EQ(number(12.3456), "12.3");
  EXPECT_EQ(number(0.0), "0");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(number(nlohmann::ordered_json()), "-");
  EXPECT_EQ(number(nlohmann::ordered_json("Infinity")), "Infinity");
}

TEST(CliTable, bytes_have_units) {
  EXPECT_EQ(bytes(512), "512 B");
  EXPECT_EQ(bytes(12.0 * 1024 * 1024), "12.0 MiB");
}

}  // namespace
}  // namespace rb::cli
