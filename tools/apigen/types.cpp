// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// ABI headers: api/types/MODULE.toml becomes abi/MODULE.h. Enums get a fixed underlying type, so that a value outside
// the list is well defined; every struct's size and offsets are asserted.
#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <stdexcept>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "output.hpp"

namespace apigen {
namespace {

namespace fs = std::filesystem;

std::set<std::string> identifiers(const std::string& text) {
  std::set<std::string> out;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else {
      if (!word.empty()) out.insert(word);
      word.clear();
    }
  }
  return out;
}

std::string strip_tag(std::string type) {
  for (const char* tag : {"struct ", "union ", "enum "})
    for (std::size_t at; (at = type.find(tag)) != std::string::npos;) type.erase(at, std::string(tag).size());
  return type;
}

/// "char[256]" and "name" -> "char name[256]"; pointers to functions likewise.
std::string declare(const std::string& type, const std::string& name) {
  if (const std::size_t at = type.find("(*)"); at != std::string::npos)
    return type.substr(0, at + 2) + name + type.substr(at + 2);
  if (const std::size_t at = type.find('['); at != std::string::npos)
    return type.substr(0, at) + " " + name + type.substr(at);
  return type + " " + name;
}

class Module {
 public:
  Module(const fs::path& root, const std::string& name, std::set<std::string>& defined,
         std::set<std::string>& enumerators)
      : name_(name),
        defined_(defined),
        enumerators_(enumerators),
        document_(toml::parse_file((root / "api/types" / (name + ".toml")).string())) {}

  std::vector<std::string> includes() const {
    std::vector<std::string> out;
    if (const toml::array* list = document_["include"].as_array())
      for (const toml::node& item : *list) out.push_back(item.value_or(std::string()));
    return out;
  }

  std::string header() {
    std::ostringstream out;
    out << kBanner << "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n";
    for (const std::string& include : includes()) out << "#include \"abi/" << include << ".h\"\n";
    if (const toml::node* extra = document_.get("extra")) out << "\n" << extra->value_or(std::string()) << "\n";
    out << "\nextern \"C\" {\n";
    emit_enums(out);
    emit_constants(out);
    emit_opaque(out);
    emit_typedefs(out);
    emit_structs(out);
    out << "}\n";
    return out.str();
  }

 private:
  void emit_enums(std::ostringstream& out) {
    const toml::table* enums = document_["enum"].as_table();
    if (enums == nullptr) return;
    for (const auto& [key, value] : *enums) {
      const std::string name{key.str()};
      if (!defined_.insert(name).second) continue;
      long long largest = 0;
      std::ostringstream body;
      for (const auto& [item, number] : *value.as_table()) {
        const long long n = number.value_or(0LL);
        largest = std::max(largest, n);
        if (enumerators_.insert(std::string(item.str())).second) body << "  " << item.str() << " = " << n << ",\n";
      }
      out << "\nenum " << name << " : " << (largest > 0x7fffffffLL ? "unsigned" : "int") << " {\n"
          << body.str() << "};\n";
    }
  }

  void emit_constants(std::ostringstream& out) {
    const toml::table* constants = document_["constant"].as_table();
    if (constants == nullptr) return;
    out << "\n";
    for (const auto& [key, value] : *constants)
      if (enumerators_.insert(std::string(key.str())).second)
        out << "inline constexpr long long " << key.str() << " = " << value.value_or(0LL) << ";\n";
  }

  void emit_opaque(std::ostringstream& out) {
    const toml::table* opaque = document_["opaque"].as_table();
    if (opaque == nullptr) return;
    out << "\n";
    for (const auto& [key, value] : *opaque) {
      const std::string name{key.str()};
      const std::string type = value.value_or(std::string());
      if (!defined_.insert(name).second) continue;
      if (type == "struct") {
        out << "struct " << name << ";\n";
        continue;
      }
      const std::size_t at = type.find("struct ");
      if (at != std::string::npos) {
        const std::string tag = type.substr(at + 7, type.find_first_of(" *", at + 7) - at - 7);
        out << "struct " << tag << ";\n";
      }
      out << "typedef " << declare(type, name) << ";\n";
    }
  }

  void emit_typedefs(std::ostringstream& out) {
    std::map<std::string, std::string> waiting;
    const toml::table* structs = document_["struct"].as_table();
    out << "\n";
    if (structs != nullptr)
      for (const auto& [key, value] : *structs)
        if (defined_.count(std::string(key.str())) == 0) {
          forward_.insert(std::string(key.str()));
          out << (*value.as_table())["kind"].value_or(std::string("struct")) << " " << key.str() << ";\n";
        }
    if (const toml::table* typedefs = document_["typedef"].as_table())
      for (const auto& [key, value] : *typedefs) {
        const std::string name{key.str()};
        const std::string type = value.value_or(std::string());
        if (defined_.count(name) != 0 || forward_.count(name) != 0 || strip_tag(type) == name) continue;
        waiting[name] = type;
      }
    const std::function<void(std::string)> emit = [&](std::string name) {
      const auto found = waiting.find(name);
      if (found == waiting.end()) return;
      const std::string type = found->second;
      waiting.erase(found);
      for (const std::string& used : identifiers(type)) emit(used);
      if (type.rfind("struct ", 0) == 0 && type.find_first_of("*([", 7) == std::string::npos) out << type << ";\n";
      if (type.rfind("struct ", 0) == 0 && type.find('*') != std::string::npos && type.find('(') == std::string::npos)
        out << type.substr(0, type.find_first_of(" *", 7)) << ";\n";
      out << "typedef " << declare(type, name) << ";\n";
      typedefs_[name] = type;
      defined_.insert(name);
    };
    while (!waiting.empty()) emit(waiting.begin()->first);
  }

  void emit_fields(const toml::array& fields, std::ostringstream& out, int depth) {
    const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
    int unnamed = 0;
    for (const toml::node& node : fields) {
      const toml::table& field = *node.as_table();
      std::string name = field["n"].value_or(std::string());
      const std::string type = field["t"].value_or(std::string());
      if (const toml::array* inner = field["f"].as_array()) {
        out << indent << (type.find("union") != std::string::npos ? "union" : "struct") << " {\n";
        emit_fields(*inner, out, depth + 1);
        const std::size_t bracket = type.find('[');
        out << indent << "} " << name << (bracket != std::string::npos ? type.substr(bracket) : "") << ";\n";
        continue;
      }
      if (name.empty()) name = "unnamed" + std::to_string(unnamed++);
      out << indent << declare(type, name);
      if (field.contains("bits")) out << " : " << field["bits"].value_or(0LL);
      out << ";\n";
    }
  }

  void emit_structs(std::ostringstream& out) {
    const toml::table* structs = document_["struct"].as_table();
    if (structs == nullptr) return;
    std::set<std::string> waiting(forward_);
    const std::function<void(std::string)> emit = [&](std::string name) {
      if (const auto alias = typedefs_.find(name);
          alias != typedefs_.end() && alias->second.find('*') == std::string::npos) {
        for (const std::string& used : identifiers(alias->second))
          if (used != name) emit(used);
        return;
      }
      if (waiting.erase(name) == 0) return;
      const toml::table& table = *(*structs)[name].as_table();
      const toml::array& fields = *table["fields"].as_array();
      const std::function<void(const toml::array&)> need = [&](const toml::array& list) {
        for (const toml::node& node : list) {
          const toml::table& field = *node.as_table();
          const std::string type = field["t"].value_or(std::string());
          if (type.find('*') == std::string::npos)
            for (const std::string& used : identifiers(type)) emit(used);
          if (const toml::array* inner = field["f"].as_array()) need(*inner);
        }
      };
      need(fields);
      const std::string kind = table["kind"].value_or(std::string("struct"));
      const long long align = table["align"].value_or(1LL);
      out << "\n" << kind << " alignas(" << align << ") " << name << " {\n";
      emit_fields(fields, out, 1);
      out << "};\nstatic_assert(sizeof(" << name << ") == " << table["size"].value_or(0LL) << ");\n";
      for (const toml::node& node : fields) {
        const toml::table& field = *node.as_table();
        const std::string member = field["n"].value_or(std::string());
        if (!member.empty() && !field.contains("bits"))
          out << "static_assert(offsetof(" << name << ", " << member << ") == " << field["o"].value_or(0LL) << ");\n";
      }
      defined_.insert(name);
    };
    while (!waiting.empty()) emit(*waiting.begin());
  }

  std::string name_;
  std::set<std::string>& defined_;
  std::set<std::string>& enumerators_;
  toml::table document_;
  std::set<std::string> forward_;
  std::map<std::string, std::string> typedefs_;
};

}  // namespace

void emit_types(const fs::path& root, const fs::path& out) {
  // A module starts from what its includes define, so that a name two vendors' headers share stands once.
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> scopes;
  std::map<std::string, std::string> headers;
  const std::function<void(const std::string&)> load = [&](const std::string& name) {
    if (headers.count(name) != 0) return;
    headers[name] = "";
    std::set<std::string> defined;
    std::set<std::string> enumerators;
    Module module(root, name, defined, enumerators);
    for (const std::string& include : module.includes()) {
      load(include);
      defined.insert(scopes[include].first.begin(), scopes[include].first.end());
      enumerators.insert(scopes[include].second.begin(), scopes[include].second.end());
    }
    headers[name] = module.header();
    scopes[name] = {defined, enumerators};
  };
  for (const auto& entry : fs::directory_iterator(root / "api/types"))
    if (entry.path().extension() == ".toml") load(entry.path().stem().string());
  for (const auto& [name, text] : headers) write_file(out / "abi" / (name + ".h"), text);
}

}  // namespace apigen
