// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Contexts: every context is the device's primary one. HIP API reference, "Context management"; the functions that the
// HIP runtime answers with hipErrorNotSupported do so here.
#include <atomic>

#include "softrocm/front/hip/constants.hpp"
#include "softrocm/front/hip/context.hpp"
#include "softrocm/front/hip/device.hpp"
#include "softrocm/front/hip/entry.hpp"
#include "softrocm/front/hip/event.hpp"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/front/hip/memory.hpp"
#include "softrocm/front/hip/stream.hpp"

namespace soft {
namespace {

constexpr unsigned kDepth = 64;

/// The thread's stack of current contexts. Plain data: it must need no destructor.
struct Stack {
  unsigned depth;
  hipCtx_t entries[kDepth];
};
thread_local Stack stack;

std::atomic<int> retained{0};
std::atomic<unsigned> primary_flags{0};

bool is_context(hipCtx_t context) {
  return context == primary_context();
}

hipError_t push(hipCtx_t context) {
  if (!is_context(context)) return hipErrorInvalidContext;
  if (stack.depth == kDepth) return hipErrorOutOfMemory;
  stack.entries[stack.depth++] = context;
  return hipSuccess;
}

hipError_t check_device(int device) {
  return device != 0 ? hipErrorInvalidDevice : check_configuration();
}

}  // namespace

hipCtx_t primary_context() {
  return reinterpret_cast<hipCtx_t>(make_handle(Kind::context, 0, 1));
}

hipError_t reset_device() {
  if (is_forked_child()) return hipErrorNotInitialized;
  Session* session = running_session();
  if (session == nullptr) return hipSuccess;
  wait_for_device();  // its error does not matter: this is the way out of one
  forget_events();
  forget_streams();
  forget_memory();
  discard_session(*session);
  return hipSuccess;
}

}  // namespace soft

using soft::entry;

SOFT_ENTRY hipError_t soft_hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device) {
  return entry([&] {
    if (context == nullptr || (flags & ~soft::kHipDeviceFlags) != 0) return hipErrorInvalidValue;
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    *context = soft::primary_context();
    return soft::push(*context);
  });
}
SOFT_ENTRY hipError_t soft_hipCtxDestroy(hipCtx_t context) {
  return entry([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    if (!soft::is_context(context)) return hipErrorInvalidContext;
    // The primary context lives on; the thread only loses its current one.
    if (soft::stack.depth > 0 && soft::stack.entries[soft::stack.depth - 1] == context) --soft::stack.depth;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipCtxPushCurrent(hipCtx_t context) {
  return entry([&] { return soft::push(context); });
}
SOFT_ENTRY hipError_t soft_hipCtxPopCurrent(hipCtx_t* context) {
  return entry([&] {
    if (soft::stack.depth == 0) return hipErrorInvalidContext;
    const hipCtx_t top = soft::stack.entries[--soft::stack.depth];
    if (context != nullptr) *context = top;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipCtxGetCurrent(hipCtx_t* context) {
  return entry([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    *context = soft::stack.depth == 0 ? nullptr : soft::stack.entries[soft::stack.depth - 1];
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipCtxSetCurrent(hipCtx_t context) {
  return entry([&] {
    if (context != nullptr && !soft::is_context(context)) return hipErrorInvalidContext;
    if (soft::stack.depth > 0) --soft::stack.depth;
    return context == nullptr ? hipSuccess : soft::push(context);
  });
}
SOFT_ENTRY hipError_t soft_hipCtxGetDevice(hipDevice_t* device) {
  return entry([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    if (soft::stack.depth == 0) return hipErrorInvalidContext;
    *device = 0;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipCtxGetApiVersion(hipCtx_t, int*) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxGetCacheConfig(hipFuncCache_t*) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxSetCacheConfig(hipFuncCache_t) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxGetSharedMemConfig(hipSharedMemConfig*) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxSetSharedMemConfig(hipSharedMemConfig) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxSynchronize() {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxGetFlags(unsigned*) {
  return entry([] { return hipErrorNotSupported; });
}
SOFT_ENTRY hipError_t soft_hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  return entry([&] {
    if (flags != 0) return hipErrorInvalidValue;
    return soft::is_context(context) ? hipErrorInvalidDevice : hipErrorInvalidContext;
  });
}
SOFT_ENTRY hipError_t soft_hipCtxDisablePeerAccess(hipCtx_t context) {
  return entry([&] { return soft::is_context(context) ? hipErrorPeerAccessNotEnabled : hipErrorInvalidContext; });
}

SOFT_ENTRY hipError_t soft_hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return entry([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    soft::retained.fetch_add(1);
    *context = soft::primary_context();
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return entry([&] {
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    int count = soft::retained.load();
    while (count > 0 && !soft::retained.compare_exchange_weak(count, count - 1)) {
    }
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDevicePrimaryCtxReset(hipDevice_t device) {
  return entry([&] {
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    return soft::reset_device();
  });
}
SOFT_ENTRY hipError_t soft_hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
  return entry([&] {
    if (flags == nullptr || active == nullptr) return hipErrorInvalidValue;
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    *flags = soft::primary_flags.load();
    *active = soft::retained.load() > 0 || soft::running_session() != nullptr;
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags) {
  return entry([&] {
    if (const hipError_t error = soft::check_device(device); error != hipSuccess) return error;
    if ((flags & ~soft::kHipDeviceFlags) != 0) return hipErrorInvalidValue;
    soft::primary_flags.store(flags);
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipSetDeviceFlags(unsigned flags) {
  return entry([&] {
    const unsigned schedule = flags & soft::kHipDeviceScheduleMask;
    if ((flags & ~soft::kHipDeviceFlags) != 0 || (schedule & (schedule - 1)) != 0) return hipErrorInvalidValue;
    if (const hipError_t error = soft::check_configuration(); error != hipSuccess) return error;
    soft::primary_flags.store(flags);
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipGetDeviceFlags(unsigned* flags) {
  return entry([&] {
    if (flags == nullptr) return hipErrorInvalidValue;
    *flags = soft::primary_flags.load();
    return hipSuccess;
  });
}
SOFT_ENTRY hipError_t soft_hipDeviceReset() {
  return entry([] { return soft::reset_device(); });
}
SOFT_ENTRY hipError_t soft_hipDeviceSynchronize() {
  return entry([] {
    if (const hipError_t error = soft::check_configuration(); error != hipSuccess) return error;
    return soft::wait_for_device();
  });
}
