// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The API database in memory: what api/*.toml says, checked. Every error names file and line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace apigen {

struct Parameter {
  std::string type;  ///< C type as written, without the name
  std::string name;
  std::string declaration;  ///< type and name as a declaration
};

struct Prototype {
  std::string result;
  std::vector<Parameter> parameters;
  bool known = false;
};

struct Library {
  std::string key;
  std::string soname;
  std::string node;    ///< version node, empty: none
  std::string api;     ///< folder below api/cuda, or the AMD library's own key
  std::string status;  ///< C type of its status
  int refused = 0;     ///< value of that type for "not supported" / "not implemented"
  std::vector<std::string> data;
};

/// One export of a CUDA API.
struct Export {
  std::string name;
  std::string api;
  std::string family;
  std::vector<std::string> libraries;
  std::vector<std::string> aliases;
  Prototype prototype;
  std::string prototype_text;
  std::string since;
  std::string status;
  std::string reason;
  std::vector<std::string> plan;
  std::vector<std::string> target;
  std::string how;
  std::vector<std::string> arguments;
  std::vector<std::string> limits;
  std::string tolerance;
  std::string sync;
  bool per_library = false;
  bool handler = false;
  /// Driver: the names and first versions under which cuGetProcAddress finds it ("cuMemAlloc 3020"), with "thread" at
  /// the end for the per-thread stream form.
  std::vector<std::string> lookup;
  std::string file;
  int line = 0;
  std::size_t index = 0;

  /// Whether a bridge function stands behind it; a trapped row has one when its refusal needs code of its own.
  bool implemented() const { return status != "trapped" || handler; }
};

/// One function of an AMD library.
struct Function {
  std::string name;
  std::string library;
  std::string node;
  Prototype prototype;
  bool soft = false;
  std::size_t index = 0;
};

struct Reason {
  std::string id, text, remedy;
};

struct Control {
  std::string key, variable, type, values, fallback, help;
};

struct Database {
  std::vector<Library> cuda;
  std::vector<Library> amd;
  std::vector<Export> exports;
  std::vector<Function> functions;
  std::vector<Reason> reasons;
  std::vector<Control> controls;

  const Library& library(const std::string& key) const;
};

/// Loads and checks everything below `root`/api; throws std::runtime_error with "file:line: text".
Database load_database(const std::filesystem::path& root);

/// "cudnnSetTensor4dDescriptor" -> "set_tensor4d_descriptor" (prefix of the API stripped).
std::string bridge_name(const std::string& api, const std::string& name);
/// "cudnn8" -> "dnn": namespace and folder below src/bridge.
std::string bridge_namespace(const std::string& api);

}  // namespace apigen
