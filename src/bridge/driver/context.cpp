// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"

#include "bridge/device.hpp"
#include "bridge/driver_entries.hpp"
#include "bridge/handle.hpp"
#include "bridge/streams.hpp"

namespace rb::driver {

using namespace bridge;

namespace {

using bridge::detail::g_primary;

std::uint64_t word(CUcontext context) {
  return handle_word(context);
}

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

/// CU_CTX_SCHED_* (one of 1, 2, 4), MAP_HOST 8, LMEM_RESIZE_TO_MAX 16, COREDUMP 32 and 64, SYNC_MEMOPS 128.
Status check_flags(unsigned flags) {
  const unsigned schedule = flags & 7u;
  if ((flags & ~0xffu) != 0 || (schedule & (schedule - 1)) != 0)
    return fail(Errc::invalid_value, "bad-flags", "context flags are 0x%x", flags);
  return {};
}

/// The version that cuCtxGetApiVersion gives for every context made by the _v2 calls.
constexpr unsigned kApiVersion = 3020;

}  // namespace

Status ctx_create_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  if (pctx == nullptr) return null_output("pctx");
  RB_TRY(driver_ready());
  RB_TRY(check_flags(flags));
  RB_ASSIGN(const std::uint64_t handle, create_context(dev, flags));
  Status status = push_context(handle);
  if (!status.ok()) {
    static_cast<void>(destroy_context(handle).ok());
    return status;
  }
  *pctx = to_handle<CUcontext>(handle);
  return {};
}

Status ctx_destroy_v2(CUcontext ctx) {
  RB_TRY(driver_ready());
  return destroy_context(word(ctx));
}
Status ctx_destroy(CUcontext ctx) {
  return ctx_destroy_v2(ctx);
}

Status ctx_get_current(CUcontext* pctx) {
  if (pctx == nullptr) return null_output("pctx");
  *pctx = to_handle<CUcontext>(current_context());
  return {};
}

Status ctx_set_current(CUcontext ctx) {
  RB_TRY(driver_ready());
  return set_context(word(ctx));
}

Status ctx_push_current_v2(CUcontext ctx) {
  RB_TRY(driver_ready());
  return push_context(word(ctx));
}
Status ctx_push_current(CUcontext ctx) {
  return ctx_push_current_v2(ctx);
}

Status ctx_pop_current_v2(CUcontext* pctx) {
  RB_TRY(driver_ready());
  RB_ASSIGN(const std::uint64_t popped, pop_context());
  if (pctx != nullptr) *pctx = to_handle<CUcontext>(popped);
  return {};
}
Status ctx_pop_current(CUcontext* pctx) {
  return ctx_pop_current_v2(pctx);
}

Status ctx_get_device(CUdevice* device) {
  if (device == nullptr) return null_output("device");
  RB_TRY(context_ready());
  *device = current_device();
  return {};
}

Status ctx_get_flags(unsigned int* flags) {
  if (flags == nullptr) return null_output("flags");
  RB_TRY(context_ready());
  RB_ASSIGN(const Context context, find_context(current_context()));
  *flags = context.primary ? g_primary[context.device].flags.load(std::memory_order_relaxed) : context.flags;
  return {};
}

Status ctx_get_api_version(CUcontext ctx, unsigned int* version) {
  if (version == nullptr) return null_output("version");
  RB_TRY(context_ready());
  if (ctx != nullptr) RB_TRY(find_context(word(ctx)));
  *version = kApiVersion;
  return {};
}

Status ctx_get_id(CUcontext ctx, unsigned long long* ctxId) {
  if (ctxId == nullptr) return null_output("ctxId");
  RB_TRY(context_ready());
  const std::uint64_t handle = ctx != nullptr ? word(ctx) : current_context();
  RB_TRY(find_context(handle));
  *ctxId = handle;
  return {};
}

Status ctx_get_cache_config(CUfunc_cache* pconfig) {
  if (pconfig == nullptr) return null_output("pconfig");
  RB_TRY(context_ready());
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return {};
}

Status ctx_set_cache_config(CUfunc_cache config) {
  RB_TRY(context_ready());
  const int number = static_cast<int>(config);
  if (number < 0 || number > 3)
    return fail(Errc::invalid_value, "bad-config", "there is no cache configuration %d", number);
  return {};
}

Status ctx_get_shared_mem_config(CUsharedconfig* pConfig) {
  if (pConfig == nullptr) return null_output("pConfig");
  RB_TRY(context_ready());
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return {};
}

Status ctx_set_shared_mem_config(CUsharedconfig config) {
  RB_TRY(context_ready());
  const int number = static_cast<int>(config);
  if (number < 0 || number > 2) return fail(Errc::invalid_value, "bad-config", "there is no bank size %d", number);
  return {};
}

Status ctx_get_limit(size_t* pvalue, CUlimit limit) {
  RB_TRY(context_ready());
  return device_limit(pvalue, static_cast<int>(limit));
}

Status ctx_set_limit(CUlimit limit, size_t value) {
  RB_TRY(context_ready());
  return set_device_limit(static_cast<int>(limit), value);
}

Status ctx_get_stream_priority_range(int* leastPriority, int* greatestPriority) {
  RB_TRY(context_ready());
  return stream_priority_range(leastPriority, greatestPriority);
}

Status ctx_synchronize() {
  RB_TRY(context_ready());
  return synchronize_device();
}

Status ctx_reset_persisting_l2cache() {
  return context_ready();
}

/// Called before nearly every operation of PyTorch: no lock, and no look at the device once it is known.
Status device_primary_ctx_get_state(CUdevice dev, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return null_output(flags == nullptr ? "flags" : "active");
  RB_TRY(driver_ready());
  RB_TRY(check_device(dev));
  *flags = g_primary[dev].flags.load(std::memory_order_relaxed);
  *active = primary_active(dev) ? 1 : 0;
  return {};
}

Status device_primary_ctx_retain(CUcontext* pctx, CUdevice dev) {
  if (pctx == nullptr) return null_output("pctx");
  RB_TRY(driver_ready());
  std::uint64_t handle = 0;
  RB_TRY(retain_primary(dev, &handle));
  *pctx = to_handle<CUcontext>(handle);
  return {};
}

Status device_primary_ctx_release_v2(CUdevice dev) {
  RB_TRY(driver_ready());
  return release_primary(dev);
}
Status device_primary_ctx_release(CUdevice dev) {
  return device_primary_ctx_release_v2(dev);
}

Status device_primary_ctx_set_flags_v2(CUdevice dev, unsigned int flags) {
  RB_TRY(driver_ready());
  RB_TRY(check_device(dev));
  RB_TRY(check_flags(flags));
  g_primary[dev].flags.store(flags, std::memory_order_relaxed);
  return {};
}
Status device_primary_ctx_set_flags(CUdevice dev, unsigned int flags) {
  return device_primary_ctx_set_flags_v2(dev, flags);
}

Status device_primary_ctx_reset_v2(CUdevice dev) {
  RB_TRY(driver_ready());
  return reset_device(dev);
}
Status device_primary_ctx_reset(CUdevice dev) {
  return device_primary_ctx_reset_v2(dev);
}

}  // namespace rb::driver
