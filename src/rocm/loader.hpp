// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Opens a directory of AMD libraries and fills the table of their functions. A directory is one generation and is taken
// whole: libMIOpen.so.1 has the same name in two generations but fits only one libamdhip64 (docs/design/loader.md).
#pragma once

#include <string>

#include "base/result.hpp"
#include "rocm/table.hpp"

namespace rb::rocm {

/// Major generation of ROCm whose libraries the table describes.
inline constexpr int kGeneration = 6;

struct Choice {
  std::string directory;
  std::string why;        ///< how it was chosen, for people
  bool software = false;  ///< softrocm
};

/// Directory from the control rocm.dir. `auto`: real ROCm if the kernel driver shows a GPU that this user may open,
/// else the software device in `<core_folder>/../rocm/6`.
Choice choose_directory(const std::string& core_folder);

/// Opens every library of the directory and looks up all functions. HIP, MIOpen and rocBLAS must be there; of the
/// others a missing one leaves its functions null, a damaged one is a fault.
/// Faults (all Errc::not_initialized): directory-missing, library-missing, library-damaged, wrong-generation,
/// mixed-directories, hip-already-loaded, software-device-missing.
Status open_directory(const Choice& choice, Table* table);

}  // namespace rb::rocm
