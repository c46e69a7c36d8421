// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Looks at a library before the loader maps it: mapping a truncated file ends the program by a signal.
#pragma once

#include <string>

#include "base/result.hpp"

namespace rb::rocm {

/// Fault "library-damaged" unless `path` is a whole ELF shared object for x86-64: header, program headers and every
/// loaded segment lie inside the file (ELF-64, System V ABI chapters 4 and 5).
Status check_library_file(const std::string& path);

}  // namespace rb::rocm
