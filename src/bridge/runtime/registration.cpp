// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What objects compiled by nvcc call when they are loaded and unloaded, and around each launch. The handle has no
// address behind it; programs only hand it back.
#include "bridge/kernels.hpp"
#include "bridge/runtime_entries.hpp"

namespace rb::runtime {

using namespace bridge;

namespace {

std::uint64_t word(void** handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  void* stream;
};

/// Launches nest only through default arguments that launch: a few levels.
constexpr unsigned kDeepest = 16;
thread_local constinit Configuration t_stack[kDeepest] = {};
thread_local constinit unsigned t_depth = 0;

constexpr int kMissingConfiguration = 52;

}  // namespace

void** register_fat_binary(void* fatCubin) {
  return reinterpret_cast<void**>(bridge::register_fat_binary(fatCubin));
}

void register_fat_binary_end(void**) {}

void unregister_fat_binary(void** fatCubinHandle) {
  bridge::unregister_fat_binary(word(fatCubinHandle));
}

void register_function(void** fatCubinHandle, const char* hostFun, char*, const char* deviceName, int, uint3*, uint3*,
                       dim3*, dim3*, int*) {
  register_kernel(word(fatCubinHandle), hostFun, deviceName);
}

// Variables, textures and surfaces become reachable with the kernels that use them. Until then the functions that look
// them up are refused, and there is nothing to keep.
void register_var(void**, char*, char*, const char*, int, size_t, int, int) {}
void register_host_var(void**, const char*, char*, size_t) {}
void register_managed_var(void**, void**, char*, const char*, int, size_t, int, int) {}
void register_texture(void**, const struct textureReference*, const void**, const char*, int, int, int) {}
void register_surface(void**, const struct surfaceReference*, const void**, const char*, int, int) {}

char init_module(void**) {
  return 1;
}

unsigned int push_call_configuration(dim3 gridDim, dim3 blockDim, size_t sharedMem, struct CUstream_st* stream) {
  if (t_depth == kDeepest) return 1;  // the compiler's stub then skips the launch
  t_stack[t_depth++] = {gridDim, blockDim, sharedMem, stream};
  return 0;
}

Status pop_call_configuration(dim3* gridDim, dim3* blockDim, size_t* sharedMem, void* stream) {
  if (t_depth == 0) {
    Fault fault = fail(Errc::invalid_value, "no-configuration", "no launch configuration was pushed on this thread");
    fault.native = kMissingConfiguration;
    return fault;
  }
  const Configuration& top = t_stack[--t_depth];
  if (gridDim != nullptr) *gridDim = top.grid;
  if (blockDim != nullptr) *blockDim = top.block;
  if (sharedMem != nullptr) *sharedMem = top.shared;
  if (stream != nullptr) *static_cast<void**>(stream) = top.stream;
  return {};
}

}  // namespace rb::runtime
