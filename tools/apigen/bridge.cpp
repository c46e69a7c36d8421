// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The bridge's side of the exports: declarations of the functions that do the work, the wrappers that guard and trace
// them, and the table of all rows for refusals and names.
#include <map>
#include <set>
#include <stdexcept>

#include "output.hpp"

namespace apigen {
namespace {

const std::vector<std::string> kNamespaces = {"driver", "runtime", "dnn", "blas", "lt", "solver", "misc"};

const std::map<std::string, std::vector<std::string>> kHeaders = {
    {"driver", {"cuda_driver"}},
    {"runtime", {"cudart"}},
    {"dnn", {"cudnn8"}},
    {"blas", {"cublas"}},
    {"lt", {"cublaslt"}},
    {"solver", {"cusolver"}},
    {"misc", {"nvtx", "nvrtc", "cupti", "nccl", "cufft", "curand", "cusparse", "nvml"}}};

std::string parameters(const Export& row, const std::string& first) {
  std::vector<std::string> parts;
  if (!first.empty()) parts.push_back(first);
  for (const Parameter& parameter : row.prototype.parameters) parts.push_back(parameter.declaration);
  return join(parts, ", ");
}

std::string names(const Export& row, const std::string& first) {
  std::vector<std::string> parts;
  if (!first.empty()) parts.push_back(first);
  for (const Parameter& parameter : row.prototype.parameters) parts.push_back(parameter.name);
  return join(parts, ", ");
}

bool returns_status(const Database& database, const Export& row) {
  return row.prototype.result == database.library(row.libraries.front()).status;
}

std::string role_code(const std::string& role) {
  const std::string kind = role.substr(0, role.rfind(' '));
  static const std::map<std::string, std::string> codes = {{"value", "value"},
                                                           {"handle", "handle"},
                                                           {"desc", "descriptor"},
                                                           {"in desc", "descriptor"},
                                                           {"in dev", "device_in"},
                                                           {"out dev", "device_out"},
                                                           {"inout dev", "device_inout"},
                                                           {"in host", "host_in"},
                                                           {"out host", "host_out"},
                                                           {"inout host", "host_inout"},
                                                           {"in scalar", "scalar"},
                                                           {"out scalar", "host_out"},
                                                           {"out handle", "handle_out"},
                                                           {"out desc", "handle_out"}};
  return codes.at(kind);
}

constexpr const char* kLookupRow =
    "\n/// What cuGetProcAddress answers: sorted by name, then version.\nstruct LookupRow {\n  const char* name;\n  "
    "int version;  ///< first CUDA "
    "version that gives this form\n  bool per_thread;  ///< form for the per-thread default stream\n  void* "
    "function;\n};\nextern const LookupRow "
    "kLookupRows[];\nextern const unsigned kLookupRowCount;\n";

/// The answers of cuGetProcAddress: the implemented rows' `lookup` entries.
std::string lookup_table(const Database& database) {
  std::map<std::pair<std::string, std::pair<int, int>>, std::string> rows;
  for (const Export& row : database.exports) {
    if (!row.implemented() || row.api != "cuda_driver") continue;
    for (const std::string& entry : row.lookup) {
      std::istringstream words(entry);
      std::string name;
      int version = 0;
      std::string form;
      words >> name >> version >> form;
      if (version <= 0 || (!form.empty() && form != "thread"))
        throw std::runtime_error(row.file + ":" + std::to_string(row.line) + ": lookup '" + entry +
                                 "' is not NAME VERSION [thread]");
      rows[{name, {form.empty() ? 0 : 1, version}}] = "rb_" + row.name;
    }
  }
  std::ostringstream out;
  out << "\nnamespace rb::driver {\n\nconst LookupRow kLookupRows[] = {\n";
  for (const auto& [key, function] : rows)
    out << "    {" << literal(key.first) << ", " << key.second.second << ", "
        << (key.second.first != 0 ? "true" : "false") << ", reinterpret_cast<void*>(&" << function << ")},\n";
  out << "    {nullptr, 0, false, nullptr},\n};\nconst unsigned kLookupRowCount = " << rows.size()
      << ";\n\n}  // namespace rb::driver\n";
  return out.str();
}

void emit_namespace(const Database& database, const std::filesystem::path& out, const std::string& ns) {
  std::ostringstream header;
  std::ostringstream source;
  header << kBanner << "#pragma once\n\n";
  for (const std::string& module : kHeaders.at(ns)) header << "#include \"abi/" << module << ".h\"\n";
  header << "#include \"base/result.hpp\"\n#include \"bridge/library.hpp\"\n\nnamespace rb::" << ns << " {\n\n";
  source << kBanner << "#include \"bridge/guard.hpp\"\n#include \"bridge/" << ns
         << "_entries.hpp\"\n\nnamespace {\nusing namespace rb::bridge;\n";
  std::ostringstream wrappers;
  for (const Export& row : database.exports) {
    if (bridge_namespace(row.api) != ns || !row.implemented()) continue;
    const bool status = returns_status(database, row);
    const std::string function = bridge_name(row.api, row.name);
    header << (status ? "Status" : row.prototype.result) << " " << function << "("
           << parameters(row, row.per_library ? "bridge::Library library" : "") << ");\n";
    std::vector<std::string> roles;
    for (const std::string& role : row.arguments) roles.push_back("Role::" + role_code(role));
    source << "constexpr Role kRoles" << row.index << "[] = {" << (roles.empty() ? "Role::value" : join(roles, ", "))
           << "};\n";
    source << "constexpr EntryInfo kInfo" << row.index << "{" << row.index << ", " << literal(row.name)
           << ", Api::" << row.api << ", " << roles.size() << ", kRoles" << row.index << "};\n";
    std::vector<std::string> libraries = row.per_library ? row.libraries : std::vector<std::string>{""};
    for (const std::string& key : libraries) {
      const std::string first = key.empty() ? "" : "Library::" + key;
      const std::string arguments = names(row, "");
      wrappers << "RB_ENTRY " << row.prototype.result << " rb_" << row.name << (key.empty() ? "" : "__" + key) << "("
               << parameters(row, "") << ") {\n  return ";
      if (status)
        wrappers << "static_cast<" << row.prototype.result << ">(enter(kInfo" << row.index;
      else
        wrappers << "enter_value<" << row.prototype.result << ">(kInfo" << row.index;
      wrappers << ", [&] { return rb::" << ns << "::" << function << "(" << names(row, first) << "); }"
               << (arguments.empty() ? "" : ", " + arguments) << (status ? "));\n}\n" : ");\n}\n");
    }
  }
  if (ns == "driver") header << kLookupRow;
  header << "\n}  // namespace rb::" << ns << "\n";
  source << "}  // namespace\n\nextern \"C\" {\n" << wrappers.str() << "}\n";
  if (ns == "driver") source << lookup_table(database);
  write_file(out / "bridge" / (ns + "_entries.hpp"), header.str());
  write_file(out / "bridge" / (ns + "_wrappers.cpp"), source.str());
}

}  // namespace

void emit_bridge(const Database& database, const std::filesystem::path& out) {
  for (const std::string& ns : kNamespaces) emit_namespace(database, out, ns);

  std::set<std::string> apis;
  for (const Library& library : database.cuda) apis.insert(library.api);
  std::ostringstream enums;
  enums << kBanner << "#pragma once\n\nnamespace rb::bridge {\n\nenum class Api : unsigned char {\n";
  for (const std::string& api : apis) enums << "  " << api << ",\n";
  enums << "};\n\nenum class Library : unsigned char {\n";
  for (const Library& library : database.cuda) enums << "  " << library.key << ",\n";
  enums << "};\n\n}  // namespace rb::bridge\n";
  write_file(out / "bridge/library.hpp", enums.str());

  std::ostringstream table;
  table << kBanner << "#include \"bridge/trap.hpp\"\n\nnamespace rb::bridge {\n\nconst Row kRows[] = {\n";
  for (const Export& row : database.exports)
    table << "  {" << literal(row.name) << ", Api::" << row.api << ", "
          << database.library(row.libraries.front()).refused << ", " << literal(row.reason) << ", "
          << literal(row.prototype.result) << "},\n";
  table << "};\nconst unsigned kRowCount = " << database.exports.size() << ";\n\nconst ReasonText kReasonTexts[] = {\n";
  for (const Reason& reason : database.reasons)
    table << "  {" << literal(reason.id) << ", " << literal(reason.text) << ", " << literal(reason.remedy) << "},\n";
  table << "};\nconst unsigned kReasonTextCount = " << database.reasons.size() << ";\n\n}  // namespace rb::bridge\n";
  write_file(out / "bridge/trap_table.cpp", table.str());

  std::ostringstream entry_names;
  entry_names << kBanner
              << "#include \"bridge/trap.hpp\"\n\nnamespace rb::bridge {\n\n// Names by row number, for trace "
                 "headers.\nconst char* const kEntryNames[] = {\n";
  for (const Export& row : database.exports) entry_names << "  " << literal(row.name) << ",\n";
  entry_names << "};\n\n}  // namespace rb::bridge\n";
  write_file(out / "bridge/entry_names.cpp", entry_names.str());
}

}  // namespace apigen
