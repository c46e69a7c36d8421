// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The kernels, variables and fat binaries that a program's objects register when they are loaded: for PyTorch 18,282
// kernels in 332 fat binaries. Registering only appends a record; nothing is parsed or sorted before the first look-up.
#pragma once

#include <cstdint>
#include <string>

namespace rb::bridge {

struct FatBinary {
  const void* wrapper = nullptr;  ///< what the compiler handed over
};

struct Kernel {
  const void* host = nullptr;    ///< address of the host stub, by which it is launched
  const char* name = nullptr;    ///< mangled, in the program's own memory
  std::uint64_t fat_binary = 0;  ///< handle
};

/// A handle; never 0.
std::uint64_t register_fat_binary(const void* wrapper);
void unregister_fat_binary(std::uint64_t handle);
/// Ignored for a handle that is not alive.
void register_kernel(std::uint64_t handle, const void* host, const char* name);

/// The kernel behind a host stub; false if none is registered.
bool find_kernel(const void* host, Kernel* kernel);
/// What the program's code for a kernel was compiled for, as CUDA numbers it (86 for 8.6).
struct KernelImage {
  int binary = 0;  ///< machine code, or what PTX would be compiled for
  int ptx = 0;
};
/// The image that CUDA would choose for a device of this capability: machine code of the same major number and at most
/// this minor one, else the highest PTX up to it. False if the fat binary has neither, or cannot be read.
bool choose_image(const Kernel& kernel, int capability, KernelImage* image);

/// Whether this kernel is asked for the first time: for one log line each.
bool first_mention(const Kernel& kernel);
/// Name as written in source, at most 300 characters.
std::string readable_name(const Kernel& kernel);

}  // namespace rb::bridge
