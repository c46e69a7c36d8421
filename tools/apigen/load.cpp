// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "model.hpp"

namespace apigen {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const std::string& file, int line, const std::string& text) {
  throw std::runtime_error(file + ":" + std::to_string(line) + ": " + text);
}

int line_of(const toml::node& node) {
  return static_cast<int>(node.source().begin.line);
}

std::string trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

Parameter parse_parameter(const std::string& declaration, const std::string& where) {
  Parameter parameter;
  parameter.declaration = declaration;
  const std::size_t function = declaration.find("(*");
  if (function != std::string::npos) {  // pointer to function: ret (*name)(...)
    const std::size_t close = declaration.find(')', function);
    parameter.name = declaration.substr(function + 2, close - function - 2);
    parameter.type = declaration.substr(0, function + 2) + declaration.substr(close);
    return parameter;
  }
  std::string head = declaration;
  std::string array;
  if (const std::size_t bracket = head.find('['); bracket != std::string::npos) {
    array = "*";  // an array parameter is a pointer
    head = trim(head.substr(0, bracket));
  }
  std::size_t start = head.size();
  while (start > 0 && is_identifier(head[start - 1])) --start;
  if (start == 0 || start == head.size())
    throw std::runtime_error(where + ": parameter without a name: " + declaration);
  parameter.name = head.substr(start);
  parameter.type = trim(head.substr(0, start)) + array;
  return parameter;
}

Prototype parse_prototype(const std::string& text, const std::string& where) {
  Prototype prototype;
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')') throw std::runtime_error(where + ": not a prototype: " + text);
  prototype.result = trim(text.substr(0, open));
  const std::string list = text.substr(open + 1, text.size() - open - 2);
  int depth = 0;
  std::string current;
  const auto finish = [&] {
    current = trim(current);
    if (!current.empty() && current != "void") prototype.parameters.push_back(parse_parameter(current, where));
    current.clear();
  };
  for (char c : list) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0)
      finish();
    else
      current += c;
  }
  finish();
  prototype.known = true;
  return prototype;
}

std::vector<std::string> strings(const toml::table& table, const char* key, const std::string& file) {
  std::vector<std::string> out;
  const toml::node* node = table.get(key);
  if (node == nullptr) return out;
  const toml::array* array = node->as_array();
  if (array == nullptr) fail_at(file, line_of(*node), std::string(key) + " must be a list of strings");
  for (const toml::node& item : *array) {
    if (!item.is_string()) fail_at(file, line_of(item), std::string(key) + " must be a list of strings");
    out.push_back(item.as_string()->get());
  }
  return out;
}

std::string string_of(const toml::table& table, const char* key, const std::string& file) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (!node->is_string()) fail_at(file, line_of(*node), std::string(key) + " must be a string");
  return node->as_string()->get();
}

void check_keys(const toml::table& table, const std::set<std::string>& allowed, const std::string& file) {
  for (const auto& [key, value] : table)
    if (allowed.count(std::string(key.str())) == 0)
      fail_at(file, line_of(value), "unknown key '" + std::string(key.str()) + "'");
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  if (!fs::exists(folder)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".toml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Library> load_libraries(const fs::path& path, const std::string& shown, bool amd) {
  std::vector<Library> out;
  const toml::table document = toml::parse_file(path.string());
  for (const auto& [key, value] : document) {
    const toml::table& table = *value.as_table();
    check_keys(table, {"soname", "node", "api", "status", "not_supported", "not_implemented", "generation", "data"},
               shown);
    Library library;
    library.key = key.str();
    library.soname = string_of(table, "soname", shown);
    library.node = string_of(table, "node", shown);
    library.api = amd ? library.key : string_of(table, "api", shown);
    library.status = string_of(table, "status", shown);
    library.refused = static_cast<int>(table[amd ? "not_implemented" : "not_supported"].value_or(0));
    library.data = strings(table, "data", shown);
    out.push_back(std::move(library));
  }
  return out;
}

/// `args` must name the prototype's parameters in order.
void check_arguments(const Export& row) {
  if (row.arguments.size() != row.prototype.parameters.size())
    fail_at(row.file, row.line,
            row.name + ": args has " + std::to_string(row.arguments.size()) + " entries, the prototype " +
                std::to_string(row.prototype.parameters.size()));
  for (std::size_t i = 0; i < row.arguments.size(); ++i) {
    const std::string& role = row.arguments[i];
    const std::size_t space = role.rfind(' ');
    if (space == std::string::npos || role.substr(space + 1) != row.prototype.parameters[i].name)
      fail_at(row.file, row.line,
              row.name + ": args[" + std::to_string(i) + "] '" + role + "' should end with '" +
                  row.prototype.parameters[i].name + "'");
    static const std::set<std::string> kinds = {"value",     "handle",     "desc",     "in dev",    "out dev",
                                                "inout dev", "in host",    "out host", "in desc",   "inout host",
                                                "in scalar", "out handle", "out desc", "out scalar"};
    if (kinds.count(role.substr(0, space)) == 0)
      fail_at(row.file, row.line, row.name + ": unknown role '" + role + "'");
  }
}

void load_exports(Database& database, const fs::path& root) {
  std::map<std::string, int> seen;
  for (const fs::path& path : files_below(root / "api/cuda")) {
    const std::string shown = fs::relative(path, root).string();
    const std::string api = path.parent_path().filename().string();
    const toml::table document = toml::parse_file(path.string());
    for (const auto& [key, value] : document) {
      const toml::table& table = *value.as_table();
      check_keys(table,
                 {"in", "alias", "proto", "since", "status", "reason", "plan", "target", "how", "args", "limits",
                  "tolerance", "sync", "per_library", "handler", "note", "lookup"},
                 shown);
      Export row;
      row.name = key.str();
      row.api = api;
      row.family = path.stem().string();
      row.file = shown;
      row.line = line_of(value);
      row.libraries = strings(table, "in", shown);
      row.aliases = strings(table, "alias", shown);
      row.prototype_text = string_of(table, "proto", shown);
      if (!row.prototype_text.empty())
        row.prototype = parse_prototype(row.prototype_text, shown + ":" + std::to_string(row.line));
      row.since = string_of(table, "since", shown);
      row.status = string_of(table, "status", shown);
      row.reason = string_of(table, "reason", shown);
      row.plan = strings(table, "plan", shown);
      row.target = strings(table, "target", shown);
      row.how = string_of(table, "how", shown);
      row.arguments = strings(table, "args", shown);
      row.limits = strings(table, "limits", shown);
      row.tolerance = string_of(table, "tolerance", shown);
      row.sync = string_of(table, "sync", shown);
      row.lookup = strings(table, "lookup", shown);
      row.per_library = table["per_library"].value_or(false);
      row.handler = table["handler"].value_or(false);
      if (row.status != "mapped" && row.status != "emulated" && row.status != "trapped")
        fail_at(shown, row.line, row.name + ": status must be mapped, emulated or trapped");
      if (row.status == "trapped" && row.reason.empty())
        fail_at(shown, row.line, row.name + ": a trapped row needs a reason");
      if (row.status == "mapped" && row.target.empty())
        fail_at(shown, row.line, row.name + ": a mapped row needs a target");
      if (row.status == "emulated" && row.how.empty())
        fail_at(shown, row.line, row.name + ": an emulated row says how");
      if (row.implemented() && !row.prototype.known) fail_at(shown, row.line, row.name + ": no prototype");
      if (row.implemented()) check_arguments(row);
      if (seen[api + "/" + row.name]++ != 0) fail_at(shown, row.line, row.name + " is described twice");
      row.index = database.exports.size();
      database.exports.push_back(std::move(row));
    }
  }
  std::set<std::string> functions;
  for (const Function& function : database.functions) functions.insert(function.name);
  std::set<std::string> reasons;
  for (const Reason& reason : database.reasons) reasons.insert(reason.id);
  for (const Export& row : database.exports) {
    for (const std::string& target : row.target)
      if (functions.count(target) == 0)
        fail_at(row.file, row.line, row.name + ": target " + target + " is not in api/amd");
    if (!row.reason.empty() && reasons.count(row.reason) == 0)
      fail_at(row.file, row.line, row.name + ": reason '" + row.reason + "' is not in api/reasons.toml");
    for (const std::string& limit : row.limits)
      if (reasons.count(limit) == 0)
        fail_at(row.file, row.line, row.name + ": limit '" + limit + "' is not in api/reasons.toml");
    for (const std::string& key : row.libraries) database.library(key);
  }
}

void load_functions(Database& database, const fs::path& root) {
  for (const Library& library : database.amd)
    for (const fs::path& path : files_below(root / "api/amd" / library.key)) {
      const std::string shown = fs::relative(path, root).string();
      const toml::table document = toml::parse_file(path.string());
      for (const auto& [key, value] : document) {
        const toml::table& table = *value.as_table();
        check_keys(table, {"proto", "node", "since", "soft"}, shown);
        Function function;
        function.name = key.str();
        function.library = library.key;
        function.node = string_of(table, "node", shown);
        function.soft = table["soft"].value_or(false);
        function.prototype =
            parse_prototype(string_of(table, "proto", shown), shown + ":" + std::to_string(line_of(value)));
        function.index = database.functions.size();
        database.functions.push_back(std::move(function));
      }
    }
}

}  // namespace

const Library& Database::library(const std::string& key) const {
  for (const Library& library : cuda)
    if (library.key == key) return library;
  for (const Library& library : amd)
    if (library.key == key) return library;
  throw std::runtime_error("api/libraries.toml has no library '" + key + "'");
}

Database load_database(const fs::path& root) {
  Database database;
  database.cuda = load_libraries(root / "api/libraries.toml", "api/libraries.toml", false);
  database.amd = load_libraries(root / "api/amd/libraries.toml", "api/amd/libraries.toml", true);
  const toml::table reasons = toml::parse_file((root / "api/reasons.toml").string());
  for (const auto& [key, value] : reasons) {
    const toml::table& table = *value.as_table();
    check_keys(table, {"text", "remedy"}, "api/reasons.toml");
    database.reasons.push_back({std::string(key.str()), string_of(table, "text", "api/reasons.toml"),
                                string_of(table, "remedy", "api/reasons.toml")});
  }
  const toml::table controls = toml::parse_file((root / "api/controls.toml").string());
  for (const auto& [key, value] : controls) {
    const toml::table& table = *value.as_table();
    check_keys(table, {"variable", "type", "values", "default", "help"}, "api/controls.toml");
    Control control;
    control.key = key.str();
    control.variable = string_of(table, "variable", "api/controls.toml");
    control.type = string_of(table, "type", "api/controls.toml");
    for (const std::string& item : strings(table, "values", "api/controls.toml"))
      control.values += (control.values.empty() ? "" : "|") + item;
    control.fallback = string_of(table, "default", "api/controls.toml");
    control.help = string_of(table, "help", "api/controls.toml");
    database.controls.push_back(std::move(control));
  }
  load_functions(database, root);
  load_exports(database, root);
  return database;
}

std::string bridge_namespace(const std::string& api) {
  static const std::map<std::string, std::string> names = {{"cuda_driver", "driver"}, {"cudart", "runtime"},
                                                           {"cudnn8", "dnn"},         {"cublas", "blas"},
                                                           {"cublaslt", "lt"},        {"cusolver", "solver"}};
  const auto found = names.find(api);
  return found == names.end() ? "misc" : found->second;
}

std::string bridge_name(const std::string& api, const std::string& name) {
  static const std::map<std::string, std::vector<std::string>> prefixes = {
      {"cuda_driver", {"cu"}}, {"cudart", {"__cuda", "cuda"}}, {"cudnn8", {"cudnn"}},
      {"cublas", {"cublas"}},  {"cublaslt", {"cublasLt"}},     {"cusolver", {"cusolver"}}};
  std::string rest = name;
  if (const auto found = prefixes.find(api); found != prefixes.end())
    for (const std::string& prefix : found->second)
      if (name.rfind(prefix, 0) == 0) {
        rest = name.substr(prefix.size());
        break;
      }
  std::string out;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto upper = [&](std::size_t k) {
      return k < rest.size() && std::isupper(static_cast<unsigned char>(rest[k])) != 0;
    };
    const auto lower = [&](std::size_t k) {
      return k < rest.size() && std::islower(static_cast<unsigned char>(rest[k])) != 0;
    };
    if (i > 0 && upper(i) && rest[i - 1] != '_' && (lower(i - 1) || (upper(i - 1) && lower(i + 1)))) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(rest[i])));
  }
  static const std::set<std::string> reserved = {"delete", "new", "register", "export", "signed", "unsigned"};
  return reserved.count(out) != 0 ? out + "_" : out;
}

}  // namespace apigen
