// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The CUDA driver API as far as programs use it beside the libraries. The first test must be the first call of the
// process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "abi/cuda_driver_functions.h"

namespace {

#define OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define GIVES(code, call) EXPECT_EQ(static_cast<int>(call), code) << #call

TEST(DriverA, rejects_calls_before_init) {
  int count = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  GIVES(3, cuDeviceGetCount(&count));
  GIVES(3, cuDevicePrimaryCtxRetain(&context, 0));
  GIVES(3, cuMemAlloc_v2(&memory, 64));
  GIVES(1, cuInit(1));
  OK(cuCtxGetCurrent(&context));
  EXPECT_EQ(context, nullptr);
  OK(cuInit(0));
  GIVES(201, cuMemAlloc_v2(&memory, 64));
}

class Driver : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context_, 0));
    OK(cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    OK(cuCtxSetCurrent(nullptr));
    OK(cuDevicePrimaryCtxRelease_v2(0));
  }
  CUcontext context_ = nullptr;
};

TEST_F(Driver, maps_devices) {
  int count = 0;
  OK(cuDeviceGetCount(&count));
  ASSERT_GE(count, 1);
  CUdevice device = 9;
  OK(cuDeviceGet(&device, 0));
  EXPECT_EQ(device, 0);
  GIVES(101, cuDeviceGet(&device, count));
  GIVES(101, cuDeviceGet(&device, -1));
  char name[256];
  OK(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_GT(std::strlen(name), 3u);
  char small[4];
  OK(cuDeviceGetName(small, sizeof small, 0));
  EXPECT_EQ(std::strlen(small), 3u);
  std::size_t bytes = 0;
  OK(cuDeviceTotalMem_v2(&bytes, 0));
  EXPECT_GT(bytes, 0u);
  int value = 0;
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  EXPECT_EQ(value, 32);
  int major = 0;
  int minor = 0;
  OK(cuDeviceComputeCapability(&major, &minor, 0));
  EXPECT_EQ(major * 10 + minor, 86);
  CUuuid uuid;
  OK(cuDeviceGetUuid_v2(&uuid, 0));
  int version = 0;
  OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12040);
  GIVES(1, cuDeviceGetName(nullptr, 10, 0));
  GIVES(1, cuDeviceGetName(name, 0, 0));
}

TEST_F(Driver, maps_contexts) {
  unsigned flags = 99;
  int active = 99;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CUcontext current = nullptr;
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  CUcontext second = nullptr;
  OK(cuCtxCreate_v2(&second, 0, 0));
  EXPECT_NE(second, context_);
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, second) << "a new context is pushed";
  CUdevice device = 9;
  OK(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  OK(cuCtxPushCurrent_v2(context_));
  OK(cuCtxPopCurrent_v2(&current));
  EXPECT_EQ(current, context_);
  OK(cuCtxSynchronize());
  OK(cuCtxDestroy_v2(second));
  OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  GIVES(201, cuCtxDestroy_v2(second));
  GIVES(201, cuCtxSetCurrent(second));
  GIVES(201, cuCtxPushCurrent_v2(reinterpret_cast<CUcontext>(&device)));
  GIVES(201, cuCtxDestroy_v2(context_)) << "the primary context is released, not destroyed";
  std::thread([] {
    CUcontext other = reinterpret_cast<CUcontext>(1);
    GIVES(0, cuCtxGetCurrent(&other));
    EXPECT_EQ(other, nullptr) << "per thread";
    CUdeviceptr memory = 0;
    GIVES(201, cuMemAlloc_v2(&memory, 64));
    GIVES(201, cuCtxPopCurrent_v2(nullptr));
  }).join();
}

TEST_F(Driver, maps_memory) {
  CUdeviceptr memory = 0;
  OK(cuMemAlloc_v2(&memory, 4096));
  std::vector<unsigned char> sent(4096);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 13);
  std::vector<unsigned char> got(4096, 0);
  OK(cuMemcpyHtoD_v2(memory, sent.data(), 4096));
  OK(cuMemcpyDtoH_v2(got.data(), memory, 4096));
  EXPECT_EQ(sent, got);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  OK(cuMemGetAddressRange_v2(&base, &size, memory + 100));
  EXPECT_EQ(base, memory);
  EXPECT_EQ(size, 4096u);
  unsigned type = 0;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
  EXPECT_EQ(type, 2u);
  CUcontext owner = nullptr;
  OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  EXPECT_EQ(owner, context_);
  int local = 0;
  GIVES(1, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&local)));
  OK(cuMemsetD8_v2(memory, 0x11, 4096));
  OK(cuMemsetD16_v2(memory, 0x2222, 10));
  OK(cuMemsetD32_v2(memory + 64, 0x33445566, 4));
  OK(cuMemcpyDtoH_v2(got.data(), memory, 4096));
  EXPECT_EQ(got[0], 0x22);
  EXPECT_EQ(got[20], 0x11);
  EXPECT_EQ(got[64], 0x66);
  EXPECT_EQ(got[67], 0x33);
  EXPECT_EQ(got[80], 0x11);
  GIVES(1, cuMemsetD32_v2(memory + 1, 0, 4));
  GIVES(1, cuMemsetD8_v2(memory, 0, 4097));
  GIVES(1, cuMemAlloc_v2(&memory, 0));
  GIVES(2, cuMemAlloc_v2(&base, std::size_t{1} << 60));
  GIVES(1, cuMemcpyDtoH_v2(got.data(), reinterpret_cast<CUdeviceptr>(sent.data()), 16));
  OK(cuMemFree_v2(memory));
  GIVES(1, cuMemFree_v2(memory));
  GIVES(500, cuMemGetAddressRange_v2(&base, &size, memory));
}

TEST_F(Driver, maps_pitched_copies) {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  OK(cuMemAllocPitch_v2(&memory, &pitch, 100, 8, 4));
  std::vector<unsigned char> sent(100 * 8);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = sent.data();
  copy.srcPitch = 100;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 100;
  copy.Height = 8;
  OK(cuMemcpy2D_v2(&copy));
  std::vector<unsigned char> row(40, 0);
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = memory;
  back.srcPitch = pitch;
  back.srcXInBytes = 10;
  back.srcY = 3;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = row.data();
  back.dstPitch = 40;
  back.WidthInBytes = 40;
  back.Height = 1;
  OK(cuMemcpy2D_v2(&back));
  EXPECT_EQ(std::memcmp(row.data(), &sent[310], 40), 0);
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  GIVES(801, cuMemcpy2D_v2(&back));
  back.srcMemoryType = static_cast<CUmemorytype>(9);
  GIVES(1, cuMemcpy2D_v2(&back));
  GIVES(1, cuMemcpy2D_v2(nullptr));
  GIVES(1, cuMemAllocPitch_v2(&memory, &pitch, 100, 8, 5));
  OK(cuMemFree_v2(memory));
}

TEST_F(Driver, maps_streams_and_events) {
  CUstream stream = nullptr;
  CUevent start = nullptr;
  CUevent end = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&start, 0));
  OK(cuEventCreate(&end, 0));
  OK(cuEventRecord(start, stream));
  CUdeviceptr memory = 0;
  OK(cuMemAlloc_v2(&memory, 1 << 20));
  OK(cuMemsetD8Async(memory, 1, 1 << 20, stream));
  OK(cuEventRecord(end, stream));
  OK(cuStreamWaitEvent(stream, end, 0));
  OK(cuStreamSynchronize(stream));
  OK(cuStreamQuery(stream));
  OK(cuEventQuery(end));
  float ms = -1;
  OK(cuEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 0.0f);
  CUcontext owner = nullptr;
  OK(cuStreamGetCtx(stream, &owner));
  EXPECT_EQ(owner, context_);
  OK(cuStreamDestroy_v2(stream));
  GIVES(400, cuStreamDestroy_v2(stream));
  GIVES(400, cuStreamSynchronize(stream));
  OK(cuEventDestroy_v2(start));
  GIVES(400, cuEventDestroy_v2(start));
  OK(cuEventDestroy_v2(end));
  OK(cuMemFree_v2(memory));
}

TEST_F(Driver, maps_look_ups) {
  void* function = nullptr;
  auto status = static_cast<CUdriverProcAddressQueryResult>(9);
  OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
  EXPECT_EQ(static_cast<int>(status), 0);
  ASSERT_NE(function, nullptr);
  CUdeviceptr memory = 0;
  OK(reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(function)(&memory, 4096));
  OK(cuMemFree_v2(memory));
  // The first probe of NVIDIA's runtime: an empty name with version 0.
  GIVES(500, cuGetProcAddress_v2("", &function, 0, 0, &status));
  EXPECT_EQ(static_cast<int>(status), 1);
  EXPECT_EQ(function, nullptr);
  GIVES(500, cuGetProcAddress_v2("cuMemAlloc", &function, 1000, 0, &status));
  EXPECT_EQ(static_cast<int>(status), 2);
  GIVES(500, cuGetProcAddress_v2("cuTensorMapEncodeTiled", &function, 12000, 0, &status));
  GIVES(1, cuGetProcAddress_v2(nullptr, &function, 12000, 0, &status));
  GIVES(1, cuGetProcAddress_v2("cuMemAlloc", nullptr, 12000, 0, &status));
  GIVES(1, cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 7, &status));
  void* old_form = nullptr;
  void* new_form = nullptr;
  OK(cuGetProcAddress_v2("cuGetProcAddress", &old_form, 11030, 0, nullptr));
  OK(cuGetProcAddress_v2("cuGetProcAddress", &new_form, 12000, 0, nullptr));
  EXPECT_NE(old_form, new_form);
  OK(cuGetProcAddress_v2("cuMemcpyAsync", &function, 12000, 2, &status));
  const void* table = &table;
  GIVES(1, cuGetExportTable(&table, nullptr));
  EXPECT_EQ(table, nullptr);
}

TEST_F(Driver, maps_error_texts) {
  const char* text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_NO_BINARY_FOR_GPU, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_NO_BINARY_FOR_GPU");
  OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  GIVES(1, cuGetErrorString(static_cast<CUresult>(12345), &text));
  EXPECT_EQ(text, nullptr);
  GIVES(1, cuGetErrorName(CUDA_SUCCESS, nullptr));
}

TEST_F(Driver, traps_modules) {
  CUmodule module = nullptr;
  GIVES(801, cuModuleLoadData(&module, "\n.version 7.0\n"));
  EXPECT_EQ(module, nullptr);
  CUmemGenericAllocationHandle handle = 0;
  GIVES(801, cuMemCreate(&handle, 4096, nullptr, 0));
}

/// PyTorch calls this before nearly every operation.
TEST_F(Driver, primary_context_state_costs_nanoseconds) {
  unsigned flags = 0;
  int active = 0;
  double best = 1e9;
  constexpr int kCalls = 20000;
  for (int round = 0; round < 200; ++round) {  // the quietest of many: others use the processor, too
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) static_cast<void>(cuDevicePrimaryCtxGetState(0, &flags, &active));
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / kCalls);
  }
  std::printf("cuDevicePrimaryCtxGetState: %.1f ns\n", best);
  EXPECT_LT(best, 80.0);
}

}  // namespace
