// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The AMD side: the table of loaded functions, softrocm's declarations and its list of functions that are not built.
#include <set>

#include "output.hpp"

namespace apigen {
namespace {

/// The libraries whose types the table knows; the others are opened and looked up, but nothing calls them yet.
const std::vector<std::string> kTyped = {"hip", "miopen", "rocblas"};

std::string parameters(const Prototype& prototype) {
  std::vector<std::string> parts;
  for (const Parameter& parameter : prototype.parameters) parts.push_back(parameter.declaration);
  return join(parts, ", ");
}

bool typed(const std::string& library) {
  for (const std::string& name : kTyped)
    if (name == library) return true;
  return false;
}

void emit_table(const Database& database, const std::filesystem::path& out) {
  std::ostringstream header;
  header << kBanner << "#pragma once\n\n";
  for (const std::string& library : kTyped) header << "#include \"abi/" << library << ".h\"\n";
  header << "\nnamespace rb::rocm {\n\n/// Every function of AMD's libraries, null where the opened directory lacks "
            "it.\nstruct Table {\n";
  std::ostringstream ids;
  std::ostringstream rows;
  std::size_t count = 0;
  for (const Function& function : database.functions) {
    if (!typed(function.library)) continue;
    header << "  " << function.prototype.result << " (*" << function.name << ")(" << parameters(function.prototype)
           << ");\n";
    ids << "  " << function.name << ",\n";
    rows << "    {" << literal(function.name) << ", Amd::" << function.library << ", offsetof(Table, " << function.name
         << ")},\n";
    ++count;
  }
  header << "};\n\nenum class Amd : unsigned char {\n";
  for (const Library& library : database.amd) header << "  " << library.key << ",\n";
  header << "};\n\n/// Number of each function in kFunctions, for traces.\nenum class AmdFunction : unsigned short {\n"
         << ids.str() << "};\n\n"
         << "struct FunctionRow {\n  const char* name;\n  Amd library;\n  unsigned offset;\n};\nextern const "
            "FunctionRow kFunctions[];\n"
         << "inline constexpr unsigned kFunctionCount = " << count
         << ";\n\nstruct LibraryRow {\n  const char* key;\n  const char* soname;\n};\n"
         << "extern const LibraryRow kLibraries[];\ninline constexpr unsigned kLibraryCount = " << database.amd.size()
         << ";\n\n}  // namespace rb::rocm\n";
  write_file(out / "rocm/table.hpp", header.str());
  std::ostringstream source;
  source << kBanner
         << "#include \"rocm/table.hpp\"\n\n#include <cstddef>\n\nnamespace rb::rocm {\n\nconst FunctionRow "
            "kFunctions[] = {\n"
         << rows.str() << "};\n\nconst LibraryRow kLibraries[] = {\n";
  for (const Library& library : database.amd)
    source << "  {" << literal(library.key) << ", " << literal(library.soname) << "},\n";
  source << "};\n\n}  // namespace rb::rocm\n";
  write_file(out / "rocm/table.cpp", source.str());
}

}  // namespace

void emit_amd(const Database& database, const std::filesystem::path& root, const std::filesystem::path& out) {
  static_cast<void>(root);
  emit_table(database, out);
  for (const Library& library : database.amd) {
    if (!typed(library.key)) continue;
    std::ostringstream header;
    header << kBanner << "#pragma once\n\n#include \"abi/" << library.key
           << ".h\"\n\n#define SOFT_ENTRY extern \"C\" __attribute__((visibility(\"default\")))\n\n";
    for (const Function& function : database.functions)
      if (function.library == library.key && function.soft)
        header << "SOFT_ENTRY " << function.prototype.result << " soft_" << function.name << "("
               << parameters(function.prototype) << ");\n";
    write_file(out / "soft" / (library.key + "_entries.h"), header.str());
  }
  std::ostringstream unimplemented;
  unimplemented << kBanner
                << "#include \"softrocm/front/unimplemented.hpp\"\n\nnamespace soft {\n\nconst UnimplementedRow "
                   "kUnimplemented[] = {\n";
  for (const Function& function : database.functions)
    unimplemented << "  {" << literal(function.name) << ", " << literal(database.library(function.library).soname)
                  << ", " << database.library(function.library).refused << "},\n";
  unimplemented << "};\nconst unsigned kUnimplementedCount = " << database.functions.size()
                << ";\n\n}  // namespace soft\n";
  write_file(out / "soft/unimplemented.cpp", unimplemented.str());
}

}  // namespace apigen
