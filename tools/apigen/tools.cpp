// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Data for the program: the account of exports with source lines and tests, the controls, the device profiles.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "output.hpp"

namespace apigen {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  if (fs::exists(folder))
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Where each bridge function is defined: "dnn::set_stream" -> "src/bridge/dnn/handle.cpp:41". A definition is a line
/// that starts in the first column and holds "name(", or one that expands a family there: "GEMM_PAIR(GEMM, name, ...".
std::map<std::string, std::string> find_definitions(const fs::path& root) {
  std::map<std::string, std::string> found;
  for (const fs::path& path : files_below(root / "src/bridge")) {
    if (path.extension() != ".cpp") continue;
    const std::string ns = path.parent_path().filename().string();
    std::istringstream lines(read_text(path));
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (line.empty() || std::isspace(static_cast<unsigned char>(line[0])) != 0 || line[0] == '/' || line[0] == '#')
        continue;
      const std::size_t open = line.find('(');
      if (open == std::string::npos || open == 0) continue;
      std::size_t start = open;
      while (start > 0 && (std::isalnum(static_cast<unsigned char>(line[start - 1])) != 0 || line[start - 1] == '_'))
        --start;
      const std::string name = line.substr(start, open - start);
      const std::string place = fs::relative(path, root).string() + ":" + std::to_string(number);
      if (!name.empty()) found.emplace(ns + "::" + name, place);
      if (start != 0 || name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != std::string::npos) continue;
      static const std::regex word("[a-z][a-z0-9_]*");
      for (auto it = std::sregex_iterator(line.begin(), line.end(), word); it != std::sregex_iterator(); ++it)
        for (const char* suffix : {"", "_64"}) found.emplace(ns + "::" + it->str() + suffix, place);
    }
  }
  return found;
}

/// Test files that name an export.
std::map<std::string, std::set<std::string>> find_tests(const fs::path& root, const Database& database) {
  std::set<std::string> names;
  for (const Export& row : database.exports)
    if (row.implemented()) names.insert(row.name);
  std::map<std::string, std::set<std::string>> found;
  for (const char* folder : {"tests/api", "tests/unit", "tests/e2e"})
    for (const fs::path& path : files_below(root / folder)) {
      const std::string text = read_text(path);
      std::string word;
      for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ' ';
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
          word += c;
          continue;
        }
        if (!word.empty() && names.count(word) != 0) found[word].insert(fs::relative(path, root).string());
        word.clear();
      }
    }
  return found;
}

/// The device profiles as far as the program's options need them.
std::string device_rows(const fs::path& root) {
  std::ostringstream source;
  source << "const DeviceRow kDevices[] = {\n";
  for (const fs::path& path : files_below(root / "api/devices")) {
    const toml::table document = toml::parse_file(path.string());
    std::string waves;
    if (const toml::array* sizes = document["wave_sizes"].as_array())
      for (const toml::node& size : *sizes)
        if (size.value_or(0) != 0) waves += (waves.empty() ? "" : ",") + std::to_string(size.value_or(0));
    source << "  {" << literal(document["gfx"].value_or("")) << ", " << literal(document["name"].value_or("")) << ", "
           << literal(waves) << ", " << (document["is_default"].value_or(false) ? "true" : "false") << "},\n";
  }
  source << "};\nconst std::size_t kDeviceCount = sizeof kDevices / sizeof *kDevices;\n\n";
  return source.str();
}

/// api/programs.toml: what `run --as NAME` sets.
std::string program_rows(const fs::path& root) {
  std::ostringstream source;
  source << "const ProgramRow kPrograms[] = {\n";
  for (const auto& [key, value] : toml::parse_file((root / "api/programs.toml").string())) {
    const toml::table& row = *value.as_table();
    std::string variables;
    for (const toml::node& item : *row["variables"].as_array())
      variables += (variables.empty() ? "" : ",") + item.value_or(std::string());
    source << "  {" << literal(std::string(key.str())) << ", " << literal(row["help"].value_or("")) << ", "
           << literal(variables) << "},\n";
  }
  source << "};\nconst std::size_t kProgramCount = sizeof kPrograms / sizeof *kPrograms;\n\n";
  return source.str();
}

}  // namespace

void emit_tools(const Database& database, const fs::path& root, const fs::path& out) {
  const auto definitions = find_definitions(root);
  const auto tests = find_tests(root, database);
  std::ostringstream source;
  source << kBanner
         << "#include \"inspect/coverage.hpp\"\n\nnamespace rb::inspect {\n\nconst EntryRow kEntries[] = {\n";
  for (const Export& row : database.exports) {
    const std::string ns = bridge_namespace(row.api);
    const auto definition = definitions.find(ns + "::" + bridge_name(row.api, row.name));
    std::vector<std::string> files;
    if (const auto listed = tests.find(row.name); listed != tests.end())
      files.assign(listed->second.begin(), listed->second.end());
    bool computes = !row.tolerance.empty();
    std::vector<std::string> names = {row.name};
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    for (const std::string& name : names)
      source << "  {" << literal(name) << ", " << literal(row.api) << ", " << literal(row.family) << ", "
             << literal(join(row.libraries, ",")) << ", " << literal(row.status) << ", "
             << literal(join(row.target, ",")) << ", " << literal(row.how) << ", " << literal(row.reason) << ", "
             << literal(join(row.limits, ",")) << ", " << literal(row.tolerance) << ", " << literal(row.prototype_text)
             << ", " << literal(row.implemented() && definition != definitions.end() ? definition->second : "") << ", "
             << literal(join(files, ",")) << ", " << literal(row.file + ":" + std::to_string(row.line)) << ", "
             << (computes ? "true" : "false") << ", " << literal(name == row.name ? "" : row.name) << ", "
             << literal(join(row.plan, ",")) << "},\n";
  }
  source
      << "};\nconst std::size_t kEntryCount = sizeof kEntries / sizeof *kEntries;\n\nconst ReasonRow kReasons[] = {\n";
  for (const Reason& reason : database.reasons)
    source << "  {" << literal(reason.id) << ", " << literal(reason.text) << ", " << literal(reason.remedy) << "},\n";
  source << "};\nconst std::size_t kReasonCount = " << database.reasons.size()
         << ";\n\nconst LibraryRow kLibraries[] = {\n";
  for (const Library& library : database.cuda) {
    std::size_t functions = 0;
    for (const Export& row : database.exports)
      for (const std::string& key : row.libraries)
        if (key == library.key) functions += 1 + row.aliases.size();
    source << "  {" << literal(library.key) << ", " << literal(library.soname) << ", " << literal(library.api) << ", "
           << functions << "},\n";
  }
  source << "};\nconst std::size_t kLibraryCount = " << database.cuda.size() << ";\n\n"
         << device_rows(root) << program_rows(root) << "}  // namespace rb::inspect\n";
  write_file(out / "tools/coverage_data.cpp", source.str());
}

void emit_controls(const Database& database, const fs::path& out) {
  std::ostringstream source;
  source << kBanner << "#include \"base/controls.hpp\"\n\nnamespace rb::controls {\n\nconst Row kRows[] = {\n";
  for (const Control& control : database.controls)
    source << "  {" << literal(control.key) << ", " << literal(control.variable) << ", " << literal(control.type)
           << ", " << literal(control.values) << ", " << literal(control.fallback) << ", " << literal(control.help)
           << "},\n";
  source << "};\nconst unsigned kRowCount = " << database.controls.size() << ";\n\n}  // namespace rb::controls\n";
  write_file(out / "base/controls.cpp", source.str());
}

void emit_profiles(const fs::path& root, const fs::path& out) {
  std::ostringstream source;
  source << kBanner
         << "#include \"softrocm/wire/profile.hpp\"\n\nnamespace soft::wire {\n\nconst Profile kProfiles[] = {\n";
  std::size_t count = 0;
  for (const fs::path& path : files_below(root / "api/devices")) {
    const toml::table document = toml::parse_file(path.string());
    // Members in the file's order, which is the struct's; TOML tables are sorted, so order by source line.
    std::vector<std::pair<std::uint32_t, std::string>> members;
    for (const auto& [key, value] : document) {
      std::ostringstream member;
      member << "." << key.str() << " = ";
      if (value.is_string()) {
        member << literal(value.as_string()->get());
      } else if (value.is_array()) {
        member << "{";
        for (const toml::node& item : *value.as_array())
          member << (item.is_string() ? literal(item.as_string()->get()) : std::to_string(item.value_or(0LL))) << ", ";
        member << "}";
      } else if (value.is_boolean()) {
        member << (value.value_or(false) ? "true" : "false");
      } else if (value.is_integer()) {
        member << value.value_or(0LL);
      } else {
        member << value.value_or(0.0);
      }
      members.emplace_back(value.source().begin.line, member.str());
    }
    std::sort(members.begin(), members.end());
    source << "  {\n";
    for (const auto& member : members) source << "    " << member.second << ",\n";
    source << "  },\n";
    ++count;
  }
  if (count == 0) source << "  {},\n";
  source << "};\nconst unsigned kProfileCount = " << count << ";\n\n}  // namespace soft::wire\n";
  write_file(out / "soft/profiles.cpp", source.str());
}

}  // namespace apigen
