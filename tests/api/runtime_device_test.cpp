// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What programs are told about the device, and the runtime's error state.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "abi/cudart_functions.h"

namespace {

#define OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define GIVES(code, call)                             \
  do {                                                \
    EXPECT_EQ(static_cast<int>(call), code) << #call; \
    static_cast<void>(cudaGetLastError());            \
  } while (0)

TEST(RuntimeDevice, maps_count_and_choice) {
  int count = 0;
  OK(cudaGetDeviceCount(&count));
  ASSERT_GE(count, 1);
  int device = 9;
  OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  OK(cudaSetDevice(0));
  GIVES(101, cudaSetDevice(count));
  GIVES(101, cudaSetDevice(-1));
  GIVES(1, cudaGetDeviceCount(nullptr));
  GIVES(1, cudaGetDevice(nullptr));
  OK(cudaInitDevice(0, 0, 0));
  GIVES(101, cudaInitDevice(99, 0, 0));
}

TEST(RuntimeDevice, maps_properties) {
  cudaDeviceProp now;
  std::memset(&now, 0xab, sizeof now);
  OK(cudaGetDeviceProperties_v2(&now, 0));
  EXPECT_EQ(now.major, 8);
  EXPECT_EQ(now.minor, 6);
  EXPECT_EQ(now.warpSize, 32);
  EXPECT_GT(std::strlen(now.name), 3u);
  EXPECT_GT(now.totalGlobalMem, std::size_t{1} << 20);
  EXPECT_GT(now.multiProcessorCount, 0);
  EXPECT_EQ(now.maxThreadsPerBlock, 1024);
  EXPECT_EQ(now.memoryPoolsSupported, 0) << "refused, so not offered";
  EXPECT_EQ(now.cooperativeLaunch, 0);
  // The name without a suffix keeps the form of CUDA 11: 728 bytes and not one more.
  unsigned char old[1032];
  std::memset(old, 0xab, sizeof old);
  OK(cudaGetDeviceProperties(reinterpret_cast<cudaDeviceProp*>(old), 0));
  EXPECT_EQ(std::memcmp(old, &now, 728), 0);
  for (std::size_t i = 728; i < sizeof old; ++i) ASSERT_EQ(old[i], 0xab) << i;
  GIVES(101, cudaGetDeviceProperties_v2(&now, 99));
  GIVES(1, cudaGetDeviceProperties_v2(nullptr, 0));
}

TEST(RuntimeDevice, maps_attributes) {
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties_v2(&properties, 0));
  const auto attribute = [](int number) {
    int value = -77;
    EXPECT_EQ(static_cast<int>(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(number), 0)), 0) << number;
    return value;
  };
  EXPECT_EQ(attribute(16), properties.multiProcessorCount);
  EXPECT_EQ(attribute(1), properties.maxThreadsPerBlock);
  EXPECT_EQ(attribute(5), properties.maxGridSize[0]);
  EXPECT_EQ(attribute(8), static_cast<int>(properties.sharedMemPerBlock));
  EXPECT_EQ(attribute(10), 32);
  EXPECT_EQ(attribute(75), 8);
  EXPECT_EQ(attribute(76), 6);
  EXPECT_EQ(attribute(81), static_cast<int>(properties.sharedMemPerMultiprocessor));
  EXPECT_EQ(attribute(97), static_cast<int>(properties.sharedMemPerBlockOptin));
  EXPECT_EQ(attribute(102), 0) << "virtual memory management is refused";
  EXPECT_EQ(attribute(115), 0) << "memory pools are refused";
  // Every attribute of CUDA 12 has an answer.
  for (int number = 1; number <= 132; ++number) attribute(number);
  int value = 0;
  GIVES(1, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0));
  GIVES(1, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
  GIVES(1, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(-5), 0));
  GIVES(101, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(16), 7));
  GIVES(1, cudaDeviceGetAttribute(nullptr, static_cast<cudaDeviceAttr>(16), 0));
}

TEST(RuntimeDevice, maps_versions_per_library) {
  int version = 0;
  OK(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 12010);
  OK(cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 12040);
  void* eleven = dlopen(ROCBRIDGE_BUILD "/lib/cuda/libcudart.so.11.0", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(eleven, nullptr) << dlerror();
  const auto get = reinterpret_cast<cudaError_t (*)(int*)>(dlsym(eleven, "cudaRuntimeGetVersion"));
  ASSERT_NE(get, nullptr);
  OK(get(&version));
  EXPECT_EQ(version, 11080);
}

TEST(RuntimeDevice, maps_pci_ids) {
  char id[32];
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  EXPECT_EQ(std::strlen(id), 12u) << id;
  int device = 9;
  OK(cudaDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 0);
  GIVES(101, cudaDeviceGetByPCIBusId(&device, "ffff:ff:1f.0"));
  GIVES(1, cudaDeviceGetByPCIBusId(&device, "nonsense"));
  GIVES(1, cudaDeviceGetPCIBusId(id, 5, 0));
}

TEST(RuntimeDevice, maps_limits_flags_and_hints) {
  std::size_t limit = 0;
  OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  GIVES(215, cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth));
  GIVES(1, cudaDeviceGetLimit(&limit, static_cast<cudaLimit>(99)));
  OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  unsigned flags = 0;
  OK(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaDeviceScheduleBlockingSync));
  GIVES(1, cudaSetDeviceFlags(3));
  GIVES(1, cudaSetDeviceFlags(0x100));
  OK(cudaSetDeviceFlags(0));
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  GIVES(1, cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(9)));
  int can = 9;
  OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  GIVES(101, cudaDeviceCanAccessPeer(&can, 0, 5));
}

TEST(RuntimeDevice, maps_reset) {
  void* p = nullptr;
  cudaStream_t stream = nullptr;
  OK(cudaMalloc(&p, 4096));
  OK(cudaStreamCreate(&stream));
  OK(cudaDeviceReset());
  GIVES(400, cudaStreamSynchronize(stream));
  GIVES(1, cudaFree(p));
  OK(cudaMalloc(&p, 4096));
  OK(cudaFree(p));
}

TEST(RuntimeError, maps_texts_for_every_code) {
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(209)),
               "no kernel image is available for execution on the device");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(2)), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  for (int code = -10; code < 11000; ++code) {
    ASSERT_NE(cudaGetErrorString(static_cast<cudaError_t>(code)), nullptr) << code;
    ASSERT_NE(cudaGetErrorName(static_cast<cudaError_t>(code)), nullptr) << code;
  }
}

TEST(RuntimeError, maps_last_error_rules) {
  static_cast<void>(cudaGetLastError());
  EXPECT_EQ(static_cast<int>(cudaSetDevice(99)), 101);
  int device = 0;
  OK(cudaGetDevice(&device));
  EXPECT_EQ(static_cast<int>(cudaPeekAtLastError()), 101) << "success does not clear";
  EXPECT_EQ(static_cast<int>(cudaMalloc(nullptr, 1)), 1);
  EXPECT_EQ(static_cast<int>(cudaPeekAtLastError()), 1) << "the later error wins";
  std::thread([] { EXPECT_EQ(static_cast<int>(cudaPeekAtLastError()), 0) << "per thread"; }).join();
  EXPECT_EQ(static_cast<int>(cudaGetLastError()), 1);
  EXPECT_EQ(static_cast<int>(cudaGetLastError()), 0);
}

/// PyTorch asks for the device dozens of times an operation.
TEST(RuntimeDevice, current_device_costs_nanoseconds) {
  int device = 0;
  OK(cudaGetDevice(&device));
  constexpr int kCalls = 20000;
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {  // the quietest of many: others use the processor, too
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) static_cast<void>(cudaGetDevice(&device));
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / kCalls);
  }
  RecordProperty("nanoseconds", std::to_string(best));
  EXPECT_LT(best, 60.0);
  std::printf("cudaGetDevice: %.1f ns\n", best);
}

}  // namespace
