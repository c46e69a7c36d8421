// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/log.hpp"

namespace rb::cli {

Command::Command(const Verb& verb, std::initializer_list<const char*> formats)
    : app_(std::string("Example:  ") + verb.example + "\n\n" + verb.synopsis, std::string("rocbridge ") + verb.name),
      verb_(verb.name) {
  std::vector<std::string> names(formats.begin(), formats.end());
  format_ = names.front();
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  app_.add_option("--format", format_, "form of the result: " + list)->check(CLI::IsMember(names))->option_text("NAME");
  app_.add_option("-o,--output", output_, "write the result into this file")->option_text("FILE");
  app_.add_option("--color", color_, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("WHEN");
  app_.add_flag("-q,--quiet", quiet_, "errors only on standard error");
  app_.add_flag("-v,--verbose", verbose_, "more on standard error; twice for debugging");
}

std::optional<int> Command::parse(const Args& args) {
  // CLI11 takes arguments from the back.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app_.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_.help().c_str(), stdout);
    return kFine;
  } catch (const CLI::ParseError& error) {
    std::string reason = error.what();
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    return usage(reason);
  }
  if (quiet_) log::set_level(log::Level::error);
  if (verbose_ == 1) log::set_level(log::Level::info);
  if (verbose_ > 1) log::set_level(log::Level::debug);
  return std::nullopt;
}

bool Command::color() const {
  if (color_ != "auto") return color_ == "always";
  const char* off = std::getenv("NO_COLOR");
  return output_.empty() && isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0');
}

std::size_t Command::width() const {
  if (!output_.empty() || isatty(STDOUT_FILENO) != 1) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

int Command::write(const std::string& text, int code) const {
  const bool to_file = !output_.empty();
  std::FILE* file = to_file ? std::fopen(output_.c_str(), "w") : stdout;
  bool good = file != nullptr;
  if (good) {
    good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    good = (to_file ? std::fclose(file) : std::fflush(file)) == 0 && good;
  }
  if (good) return code;
  std::fprintf(stderr, "rocbridge %s: cannot write %s: %s\n", verb_.c_str(),
               to_file ? output_.c_str() : "standard output", std::strerror(errno));
  return kMissing;
}

int Command::write_json(const nlohmann::ordered_json& value, int code) const {
  return write(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n", code);
}

int Command::write_table(const Table& table, int code) const {
  if (format_ == "csv") return write(render_csv(table), code);
  if (format_ == "md") return write(render_markdown(table), code);
  if (format_ != "json" && format_ != "jsonl") return write(render_table(table, width(), color()), code);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string lines;
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = row[i].text;
    if (format_ == "jsonl") lines += object.dump() + "\n";
    list.push_back(std::move(object));
  }
  return format_ == "jsonl" ? write(lines, code) : write_json(list, code);
}

int Command::fail(const Fault& fault) const {
  std::fprintf(stderr, "rocbridge %s: %s%s%s%s%s\n", verb_.c_str(), fault.where.c_str(),
               fault.where.empty() ? "" : ": ", fault.text.c_str(), fault.remedy.empty() ? "" : "; ",
               fault.remedy.c_str());
  return exit_code(fault);
}

int Command::usage(const std::string& reason) const {
  std::fprintf(stderr, "rocbridge %s: %s (see rocbridge %s --help)\n", verb_.c_str(), reason.c_str(), verb_.c_str());
  return kUsage;
}

int exit_code(const Fault& fault) {
  const std::string_view reason = fault.reason;
  if (reason.starts_with("missing")) return kMissing;
  if (reason.starts_with("damaged")) return kDamaged;
  return fault.code == Errc::not_found || fault.code == Errc::no_device || fault.code == Errc::not_initialized
             ? kMissing
             : kDefect;
}

}  // namespace rb::cli
