// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What every verb shares: the flags --format, -o, -q, -v and --color, usage errors, and the way a result is written.
// Standard output carries the result, standard error everything else.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"

namespace rb::cli {

class Command {
 public:
  /// The first of `formats` is the default.
  Command(const Verb& verb, std::initializer_list<const char*> formats);

  CLI::App& app() { return app_; }
  /// Nothing: go on. Otherwise leave with this code; the help or the usage error has been printed.
  std::optional<int> parse(const Args& args);

  const std::string& format() const { return format_; }
  bool json() const { return format_ == "json"; }
  /// File of -o; empty: standard output. For results too large for write().
  const std::string& output() const { return output_; }
  bool quiet() const { return quiet_; }
  int verbosity() const { return verbose_; }
  /// Whether the result is painted, and how many columns it may use (0: unlimited).
  bool color() const;
  std::size_t width() const;

  /// Writes the result to standard output or to the file of -o; returns `code`, or kMissing if it cannot be written.
  int write(const std::string& text, int code) const;
  int write_json(const nlohmann::ordered_json& value, int code) const;
  /// A table in the chosen format; json and jsonl give one object a row, with the columns' names as keys.
  int write_table(const Table& table, int code) const;

  /// One line on standard error: cause and remedy. Returns the exit code of that fault.
  int fail(const Fault& fault) const;
  /// A usage error with the reason. Returns kUsage.
  int usage(const std::string& reason) const;

 private:
  CLI::App app_;
  std::string verb_;
  std::string format_;
  std::string output_;
  std::string color_ = "auto";
  bool quiet_ = false;
  int verbose_ = 0;
};

/// The exit code that belongs to a fault: missing things 3, damaged input 4, else 5.
int exit_code(const Fault& fault);

}  // namespace rb::cli
