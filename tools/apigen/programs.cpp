// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// For programs that call the libraries: declarations of every function with a prototype (abi/<module>_functions.h), and
// the list of all exports that the bad-input tests walk (tests/all_exports.inc).
#include <map>
#include <regex>
#include <set>

#include "output.hpp"

namespace apigen {
namespace {

using Words = std::set<std::string>;

/// Every name that a module's header and what it includes hold; empty if there is no header.
Words words_of(const std::string& module, const std::filesystem::path& out) {
  const std::filesystem::path path = out / "abi" / (module + ".h");
  if (!std::filesystem::exists(path)) return {};
  const std::string text = read_text(path);
  Words words = {"char",   "int",    "long",    "float",   "double",   "void",    "unsigned",
                 "signed", "short",  "bool",    "const",   "struct",   "enum",    "union",
                 "size_t", "int8_t", "uint8_t", "int32_t", "uint32_t", "int64_t", "uint64_t"};
  static const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), word); it != std::sregex_iterator(); ++it)
    words.insert(it->str());
  static const std::regex include("#include \"abi/([a-z0-9_]+)\\.h\"");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it)
    words.merge(words_of((*it)[1], out));
  return words;
}

/// Whether the header has every type of a prototype: graphics interoperation and a few others are left out.
bool is_declarable(const Prototype& prototype, const Words& words) {
  if (!prototype.known || words.empty()) return false;
  std::string types = prototype.result;
  for (const Parameter& parameter : prototype.parameters) types += " " + parameter.type;
  static const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  for (auto it = std::sregex_iterator(types.begin(), types.end(), word); it != std::sregex_iterator(); ++it)
    if (words.count(it->str()) == 0) return false;
  return true;
}

std::string declaration(const Prototype& prototype, const std::string& name) {
  std::vector<std::string> parts;
  for (const Parameter& parameter : prototype.parameters) parts.push_back(parameter.declaration);
  return prototype.result + " " + name + "(" + join(parts, ", ") + ");\n";
}

/// Where the System V ABI puts an argument: i (integer register), f (vector register), or a number of words on the
/// stack. dim3 takes two integer registers, a double complex two vector registers.
std::string place_of(const std::string& type) {
  static const std::map<std::string, std::string> known = {{"float", "f"},
                                                           {"double", "f"},
                                                           {"cuComplex", "f"},
                                                           {"cufftComplex", "f"},
                                                           {"float2", "f"},
                                                           {"cuDoubleComplex", "ff"},
                                                           {"dim3", "ii"},
                                                           {"cudaExtent", "3"},
                                                           {"cudaPitchedPtr", "4"},
                                                           {"cudaIpcMemHandle_t", "8"},
                                                           {"cudaIpcEventHandle_t", "8"},
                                                           {"CUipcMemHandle", "8"},
                                                           {"CUipcEventHandle", "8"},
                                                           {"cudaMemLocation", "i"},
                                                           {"CUmemLocation", "i"}};
  std::string bare = type;
  if (bare.rfind("struct ", 0) == 0) bare = bare.substr(7);
  const auto found = known.find(bare);
  return found == known.end() ? "i" : found->second;
}

/// One letter for what an argument is: h handle, d descriptor, D device memory, H host memory to read, O host memory to
/// write, s scalar, o a new handle, v value; p a pointer and v a value of an export that is not built.
char letter_of(const Export& row, std::size_t index) {
  if (!row.implemented()) return row.prototype.parameters[index].type.find('*') != std::string::npos ? 'p' : 'v';
  const std::string& role = row.arguments[index];
  static const std::map<std::string, char> letters = {
      {"value", 'v'},     {"handle", 'h'},     {"desc", 'd'},       {"in desc", 'd'},  {"in dev", 'D'},
      {"out dev", 'D'},   {"inout dev", 'D'},  {"in host", 'H'},    {"out host", 'O'}, {"inout host", 'O'},
      {"in scalar", 's'}, {"out scalar", 'O'}, {"out handle", 'o'}, {"out desc", 'o'}};
  return letters.at(role.substr(0, role.rfind(' ')));
}

}  // namespace

void emit_programs(const Database& database, const std::filesystem::path& out) {
  std::map<std::string, std::ostringstream> headers;
  std::map<std::string, Words> words;
  const auto known = [&](const std::string& module) -> const Words& {
    const auto found = words.find(module);
    return found != words.end() ? found->second : words[module] = words_of(module, out);
  };
  for (const Export& row : database.exports) {
    if (!is_declarable(row.prototype, known(row.api))) continue;
    headers[row.api] << declaration(row.prototype, row.name);
    for (const std::string& alias : row.aliases) headers[row.api] << declaration(row.prototype, alias);
  }
  for (const Function& function : database.functions)
    if (is_declarable(function.prototype, known(function.library)))
      headers[function.library] << declaration(function.prototype, function.name);
  for (const auto& [api, text] : headers)
    write_file(out / "abi" / (api + "_functions.h"), std::string(kBanner) + "#pragma once\n\n#include \"abi/" + api +
                                                         ".h\"\n\nextern \"C\" {\n" + text.str() + "}\n");

  // EXPORT(soname, name, result, status type of the library, refused, built, letters, places, types)
  std::ostringstream list;
  list << kBanner;
  for (const Export& row : database.exports) {
    std::string letters;
    std::vector<std::string> places;
    std::vector<std::string> types;
    for (std::size_t i = 0; i < row.prototype.parameters.size(); ++i) {
      letters += letter_of(row, i);
      places.push_back(place_of(row.prototype.parameters[i].type));
      types.push_back(row.prototype.parameters[i].type);
    }
    std::vector<std::string> names = row.aliases;
    names.insert(names.begin(), row.name);
    for (const std::string& key : row.libraries) {
      const Library& library = database.library(key);
      for (const std::string& name : names)
        list << "EXPORT(" << literal(library.soname) << ", " << literal(name) << ", "
             << literal(row.prototype.known ? row.prototype.result : "unknown") << ", " << literal(library.status)
             << ", " << library.refused << ", " << (row.implemented() ? "true" : "false") << ", " << literal(letters)
             << ", " << literal(join(places, " ")) << ", " << literal(join(types, "|")) << ")\n";
    }
  }
  write_file(out / "tests/all_exports.inc", list.str());
}

}  // namespace apigen
