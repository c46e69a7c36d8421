// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Kernels of the program's own. There is no AMD code for them: every launch of a known kernel is refused with 209, said
// once per kernel, and remembered until somebody has seen it (DESIGN 5).
#include "bridge/kernels.hpp"

#include <cstring>

#include "base/log.hpp"
#include "bridge/context.hpp"
#include "bridge/device.hpp"
#include "bridge/guard.hpp"
#include "bridge/last_error.hpp"
#include "bridge/refusal_trace.hpp"
#include "bridge/runtime_entries.hpp"
#include "bridge/streams.hpp"
#include "bridge/trap.hpp"

namespace rb::runtime {

using namespace bridge;

namespace {

constexpr int kNoImage = 209;
constexpr int kInvalidFunction = 98;
constexpr const char* kReason = "kernel-without-amd-code";

Result<Kernel> kernel_of(const void* host) {
  Kernel kernel;
  if (find_kernel(host, &kernel)) return kernel;
  Fault fault = fail(Errc::no_binary, "unknown-kernel", "%p is no kernel that was registered", host);
  fault.native = kInvalidFunction;
  return fault;
}

/// Says which kernel was refused, remembers it and answers 209. A question about it counts as a launch: CUB asks first,
/// ignores the answer, and its caller then reads a count that nobody wrote.
Status refuse_kernel(const Kernel& kernel) {
  const ReasonText* reason = find_reason(kReason);
  const std::string name = readable_name(kernel);
  trace_refusal(call().info->row, kNoImage, kReason, name.c_str(), reason->remedy, "");
  if (first_mention(kernel))
    RB_LOG(warn, "refused", "kernel %s: %s [%s]; %s", name.c_str(), reason->text, kReason, reason->remedy);
  remember_refusal(kNoImage);
  set_last_error(kNoImage);
  return answer(kNoImage);
}

Status launch(const void* func, cudaStream_t stream) {
  RB_TRY(runtime_ready());
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  RB_ASSIGN(const hipStream_t live, stream_of(stream));
  static_cast<void>(live);
  return refuse_kernel(kernel);
}

}  // namespace

Status launch_kernel(const void* func, dim3, dim3, void**, size_t, cudaStream_t stream) {
  return launch(func, stream);
}
Status launch_cooperative_kernel(const void* func, dim3, dim3, void**, size_t, cudaStream_t stream) {
  return launch(func, stream);
}

Status launch_kernel_ex_c(const cudaLaunchConfig_t* config, const void* func, void**) {
  if (config == nullptr) return fail(Errc::invalid_value, "null-input", "config is null");
  return launch(func, config->stream);
}

/// Answered although the kernel cannot run: CUB keeps the first answer for the life of the process, and after an error
/// it launches nothing any more that could be refused. What only the machine code tells (registers, shared and local
/// memory) reads 0.
Status func_get_attributes(bridge::Library library, struct cudaFuncAttributes* attr, const void* func) {
  if (attr == nullptr) return fail(Errc::invalid_value, "null-output", "attr is null");
  RB_TRY(runtime_ready());
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  const Capability told = told_capability();
  KernelImage image;
  if (!choose_image(kernel, told.major * 10 + told.minor, &image)) return refuse_kernel(kernel);
  RB_ASSIGN(const hipDeviceProp_tR0600* properties, device_properties(current_device()));
  cudaFuncAttributes answer{};
  answer.binaryVersion = image.binary;
  answer.ptxVersion = image.ptx;
  answer.maxThreadsPerBlock = properties->maxThreadsPerBlock;
  answer.maxDynamicSharedSizeBytes = static_cast<int>(properties->sharedMemPerBlock);
  answer.preferredShmemCarveout = -1;
  // CUDA 11's form is the beginning of CUDA 12's.
  static_assert(sizeof(cudaFuncAttributes_v118) == 56 && offsetof(cudaFuncAttributes, preferredShmemCarveout) == 48);
  std::memcpy(static_cast<void*>(attr), &answer,
              library == bridge::Library::cudart11 ? sizeof(cudaFuncAttributes_v118) : sizeof(cudaFuncAttributes));
  return {};
}

Status func_set_attribute(const void* func, enum cudaFuncAttribute attr, int value) {
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  static_cast<void>(kernel);
  const int number = static_cast<int>(attr);
  // 8 and 9 set the shared memory, 11 to 15 the cluster (cudaFuncAttribute).
  if (number != 8 && number != 9 && (number < 11 || number > 15))
    return fail(Errc::invalid_value, "bad-attribute", "function attribute %d cannot be set", number);
  if (value < -1) return fail(Errc::invalid_value, "bad-attribute", "function attribute %d is %d", number, value);
  return {};
}

Status func_set_cache_config(const void* func, enum cudaFuncCache cacheConfig) {
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  static_cast<void>(kernel);
  const int config = static_cast<int>(cacheConfig);
  if (config < 0 || config > 3)
    return fail(Errc::invalid_value, "bad-config", "there is no cache configuration %d", config);
  return {};
}

Status func_set_shared_mem_config(const void* func, enum cudaSharedMemConfig config) {
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  static_cast<void>(kernel);
  const int number = static_cast<int>(config);
  if (number < 0 || number > 2) return fail(Errc::invalid_value, "bad-config", "there is no bank size %d", number);
  return {};
}

Status occupancy_max_active_blocks_per_multiprocessor(int* numBlocks, const void* func, int blockSize,
                                                      size_t dynamicSMemSize) {
  return occupancy_max_active_blocks_per_multiprocessor_with_flags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

Status occupancy_max_active_blocks_per_multiprocessor_with_flags(int* numBlocks, const void* func, int blockSize,
                                                                 size_t, unsigned int flags) {
  if (numBlocks == nullptr) return fail(Errc::invalid_value, "null-output", "numBlocks is null");
  if (blockSize <= 0 || flags > 1)
    return fail(Errc::invalid_value, "bad-flags", "blockSize is %d, flags 0x%x", blockSize, flags);
  RB_TRY(runtime_ready());
  RB_ASSIGN(const Kernel kernel, kernel_of(func));
  return refuse_kernel(kernel);
}

// Left from devices without doubles.
Status set_double_for_device(double* d) {
  if (d == nullptr) return fail(Errc::invalid_value, "null-input", "d is null");
  return {};
}
Status set_double_for_host(double* d) {
  return set_double_for_device(d);
}

}  // namespace rb::runtime
