// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// apigen ROOT OUT: reads ROOT/api and writes the generated sources below OUT.
#include <cstdio>
#include <exception>
#include <fstream>

#include "output.hpp"

namespace apigen {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  if (std::filesystem::exists(path) && read_text(path) == text) return;
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string literal(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i != 0 ? separator : "") + parts[i];
  return out;
}

}  // namespace apigen

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: apigen ROOT OUT\n");
    return 2;
  }
  const std::filesystem::path root = argv[1];
  const std::filesystem::path out = argv[2];
  try {
    const apigen::Database database = apigen::load_database(root);
    apigen::emit_types(root, out);
    apigen::emit_shims(database, out);
    apigen::emit_bridge(database, out);
    apigen::emit_amd(database, root, out);
    apigen::emit_tools(database, root, out);
    apigen::emit_controls(database, out);
    apigen::emit_attributes(root, out);
    apigen::emit_profiles(root, out);
    apigen::emit_programs(database, out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "apigen: %s\n", error.what());
    return 1;
  }
  return 0;
}
