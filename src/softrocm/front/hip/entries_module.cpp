// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Modules, launches and what a HIP program registers when it starts. The device executes no code objects yet, so a
// well-formed load is refused with hipErrorNoBinaryForGpu (209), as a card refuses one built for another target, and a
// launch of a registered kernel with the same.
#include <cstring>

#include "base/log.hpp"
#include "base/os_files.hpp"
#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/stream.hpp"

namespace soft {
namespace {

hipError_t refuse_code() {
  RB_LOG_ONCE(warn, "softrocm",
              "the software device executes no code objects: modules and kernel launches are refused "
              "with hipErrorNoBinaryForGpu (209)");
  return hipErrorNoBinaryForGpu;
}

hipError_t load_image(hipModule_t* module, const void* image) {
  return module == nullptr || image == nullptr ? hipErrorInvalidValue : refuse_code();
}

hipError_t check_stream(hipStream_t stream) {
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  return resolve(stream, &object, &slot);
}

hipError_t launch_host_symbol(const void* function, hipStream_t stream) {
  if (function == nullptr) return hipErrorInvalidDeviceFunction;
  if (const hipError_t error = check_stream(stream); error != hipSuccess) return error;
  return refuse_code();
}

/// What <<<>>> leaves for the stub of the kernel that follows.
struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared;
  hipStream_t stream;
};
constexpr unsigned kDepth = 16;
thread_local CallConfiguration pending[kDepth];
thread_local unsigned pending_count = 0;

}  // namespace
}  // namespace soft

using soft::entry;

SOFT_ENTRY hipError_t soft_hipModuleLoad(hipModule_t* module, const char* path) {
  return entry([&] {
    if (module == nullptr || path == nullptr) return hipErrorInvalidValue;
    const int fd = rb::os::open_file(path, rb::os::OpenFile::read);
    rb::os::close_file(fd);
    return fd < 0 ? hipErrorFileNotFound : soft::refuse_code();
  });
}
SOFT_ENTRY hipError_t soft_hipModuleLoadData(hipModule_t* module, const void* image) {
  return entry([&] { return soft::load_image(module, image); });
}
SOFT_ENTRY hipError_t soft_hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                                               void**) {
  return entry([&] { return soft::load_image(module, image); });
}
// No module was ever given out, so every handle of one is foreign.
SOFT_ENTRY hipError_t soft_hipModuleUnload(hipModule_t) {
  return entry([] { return hipErrorInvalidHandle; });
}
SOFT_ENTRY hipError_t soft_hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return entry([&] {
    if (function == nullptr || name == nullptr) return hipErrorInvalidValue;
    *function = nullptr;
    return module == nullptr || name[0] != 0 ? hipErrorInvalidHandle : hipErrorInvalidValue;
  });
}
SOFT_ENTRY hipError_t soft_hipModuleGetGlobal(hipDeviceptr_t*, size_t*, hipModule_t, const char* name) {
  return entry([&] { return name == nullptr ? hipErrorInvalidValue : hipErrorInvalidHandle; });
}
SOFT_ENTRY hipError_t soft_hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                 unsigned, unsigned, hipStream_t stream, void**, void**) {
  return entry([&] {
    const hipError_t error = soft::check_stream(stream);
    return error != hipSuccess ? error : hipErrorInvalidHandle;
  });
}
SOFT_ENTRY hipError_t soft_hipLaunchKernel(const void* function, dim3, dim3, void**, size_t, hipStream_t stream) {
  return entry([&] { return soft::launch_host_symbol(function, stream); });
}
SOFT_ENTRY hipError_t soft_hipLaunchKernel_spt(const void* function, dim3, dim3, void**, size_t, hipStream_t stream) {
  return entry([&] { return soft::launch_host_symbol(function, soft::spt(stream)); });
}
SOFT_ENTRY hipError_t soft_hipLaunchCooperativeKernel(const void* function, dim3, dim3, void**, unsigned,
                                                      hipStream_t stream) {
  return entry([&] { return soft::launch_host_symbol(function, stream); });
}
SOFT_ENTRY hipError_t soft_hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  return entry([&] {
    if (attributes == nullptr) return hipErrorInvalidValue;
    return function == nullptr ? hipErrorInvalidDeviceFunction : soft::refuse_code();
  });
}

// Registration at program start must succeed, or no HIP program with kernels could even begin.
SOFT_ENTRY void** soft___hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
SOFT_ENTRY void soft___hipUnregisterFatBinary(void**) {}
SOFT_ENTRY void soft___hipRegisterFunction(void**, const void*, char*, const char*, unsigned, uint3*, uint3*, dim3*,
                                           dim3*, int*) {}
SOFT_ENTRY void soft___hipRegisterVar(void**, void*, char*, char*, int, size_t, int, int) {}
SOFT_ENTRY void soft___hipRegisterSurface(void**, void*, char*, char*, int, int) {}
SOFT_ENTRY void soft___hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
SOFT_ENTRY hipError_t soft___hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  return entry([&] {
    if (soft::pending_count == soft::kDepth) return hipErrorOutOfMemory;
    soft::pending[soft::pending_count++] = soft::CallConfiguration{grid, block, shared, stream};
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft___hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  return entry([&] {
    if (soft::pending_count == 0) return hipErrorMissingConfiguration;
    const soft::CallConfiguration& top = soft::pending[--soft::pending_count];
    if (grid != nullptr) *grid = top.grid;
    if (block != nullptr) *block = top.block;
    if (shared != nullptr) *shared = top.shared;
    if (stream != nullptr) *stream = top.stream;
    return hipSuccess;
  });
}
