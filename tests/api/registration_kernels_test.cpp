// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What nvcc's code calls at load time and around launches, and what becomes of a refused launch.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "abi/cudart_functions.h"

namespace {

#define OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define GIVES(code, call) EXPECT_EQ(static_cast<int>(call), code) << #call

struct Wrapper {
  int magic = 0x466243b1;
  int version = 1;
  const void* data = nullptr;
  void* unused = nullptr;
};

char g_kernel;
char g_other;
const char kName[] = "_ZN4demo11fill_bufferIfEEvPT_i";

class Registration : public testing::Test {
 protected:
  void SetUp() override {
    binary_ = __cudaRegisterFatBinary(&wrapper_);
    ASSERT_NE(binary_, nullptr);
    __cudaRegisterFunction(binary_, &g_kernel, const_cast<char*>(kName), kName, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    __cudaRegisterFatBinaryEnd(binary_);
    OK(cudaMalloc(&device_, 4096));
    host_.assign(4096, 0);
    see_everything();
  }
  void TearDown() override {
    see_everything();
    OK(cudaFree(device_));
    __cudaUnregisterFatBinary(binary_);
  }
  /// Ends what an earlier refusal left.
  static void see_everything() {
    static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(209)));
    static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(801)));
    static_cast<void>(cudaGetLastError());
  }
  static cudaError_t launch(const void* kernel = &g_kernel) {
    void* arguments[1] = {nullptr};
    return cudaLaunchKernel(kernel, dim3{1, 1, 1}, dim3{32, 1, 1}, arguments, 0, nullptr);
  }
  Wrapper wrapper_;
  void** binary_ = nullptr;
  void* device_ = nullptr;
  std::vector<char> host_;
};

TEST_F(Registration, traps_a_launch_with_209_and_its_name) {
  testing::internal::CaptureStderr();
  GIVES(209, launch());
  GIVES(209, launch());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("demo::fill_buffer<float>"), std::string::npos) << said;
  EXPECT_EQ(said.find("demo::fill_buffer<float>"), said.rfind("demo::fill_buffer<float>"))
      << "once per kernel: " << said;
  EXPECT_NE(said.find("kernel-without-amd-code"), std::string::npos);
}

TEST_F(Registration, rejects_unknown_kernels) {
  GIVES(98, launch(&g_other));
  GIVES(98, launch(nullptr));
  GIVES(98, cudaGetLastError());
  GIVES(0, cudaGetLastError());
  GIVES(0, cudaDeviceSynchronize());
  cudaFuncAttributes attributes;
  GIVES(98, cudaFuncGetAttributes(&attributes, &g_other));
  GIVES(98, cudaFuncSetAttribute(&g_other, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  static_cast<void>(cudaGetLastError());
}

/// Rule A: clearing the last error does not hide the refusal; asking for its text does.
TEST_F(Registration, remembers_until_the_text_was_asked_for) {
  GIVES(209, launch());
  GIVES(209, cudaPeekAtLastError());
  GIVES(209, cudaGetLastError());
  GIVES(209, cudaGetLastError());
  GIVES(209, cudaPeekAtLastError());
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(2)), "out of memory");
  GIVES(209, cudaPeekAtLastError());
  static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(209)));
  GIVES(0, cudaGetLastError());
  GIVES(0, cudaDeviceSynchronize());
}

/// Rule B: what waits for the device, or reads from it, reports the refusal, twice at most.
TEST_F(Registration, reports_at_synchronising_calls) {
  GIVES(209, launch());
  static_cast<void>(cudaGetLastError());
  GIVES(209, cudaStreamSynchronize(nullptr));
  GIVES(209, cudaMemcpy(host_.data(), device_, 64, cudaMemcpyDeviceToHost));
  GIVES(0, cudaMemcpy(host_.data(), device_, 64, cudaMemcpyDeviceToHost));
  static_cast<void>(cudaGetLastError());
  GIVES(0, cudaGetLastError());

  GIVES(209, launch());
  static_cast<void>(cudaGetLastError());
  GIVES(209, cudaMemcpyAsync(host_.data(), device_, 64, cudaMemcpyDeviceToHost, nullptr));
  static_cast<void>(cudaGetErrorName(static_cast<cudaError_t>(209)));
  GIVES(0, cudaDeviceSynchronize());
  static_cast<void>(cudaGetLastError());

  GIVES(209, launch());
  GIVES(0, cudaMemcpy(device_, host_.data(), 64, cudaMemcpyHostToDevice)) << "reads nothing from the device";
  cudaEvent_t event = nullptr;
  OK(cudaEventCreate(&event));
  OK(cudaEventRecord(event, nullptr));
  GIVES(209, cudaEventSynchronize(event));
  GIVES(209, cudaEventQuery(event));
  GIVES(0, cudaEventQuery(event));
  OK(cudaEventDestroy(event));
}

TEST_F(Registration, reports_to_another_thread_that_waits) {
  GIVES(209, launch());
  std::thread([&] {
    GIVES(0, cudaPeekAtLastError()) << "the last error is the launching thread's";
    static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(209)));  // of something else
  }).join();
  GIVES(209, cudaPeekAtLastError()) << "not seen yet";
  std::thread([&] {
    GIVES(209, cudaDeviceSynchronize());
    static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(209)));
  }).join();
  static_cast<void>(cudaGetLastError());
  GIVES(0, cudaGetLastError()) << "seen there";
}

TEST_F(Registration, forgets_at_reset) {
  GIVES(209, launch());
  OK(cudaDeviceReset());
  static_cast<void>(cudaGetLastError());
  GIVES(0, cudaGetLastError());
  GIVES(0, cudaDeviceSynchronize());
  OK(cudaMalloc(&device_, 4096));
}

TEST_F(Registration, maps_function_attributes) {
  GIVES(0, cudaFuncSetAttribute(&g_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304));
  GIVES(0, cudaFuncSetCacheConfig(&g_kernel, cudaFuncCachePreferShared));
  GIVES(1, cudaFuncSetAttribute(&g_kernel, static_cast<cudaFuncAttribute>(77), 1));
  cudaFuncAttributes attributes;
  GIVES(209, cudaFuncGetAttributes(&attributes, &g_kernel));
  GIVES(1, cudaFuncGetAttributes(nullptr, &g_kernel));
  int blocks = 0;
  GIVES(209, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &g_kernel, 128, 0));
  static_cast<void>(cudaGetLastError());
  GIVES(209, cudaMemcpy(host_.data(), device_, 64, cudaMemcpyDeviceToHost))
      << "CUB ignores the answer and reads a count";
  GIVES(1, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &g_kernel, 0, 0));
}

/// A fat binary as nvcc lays it out, with entries of no content.
struct FatBinaryData {
  struct Entry {
    std::uint16_t kind, version;
    std::uint32_t header;
    std::uint64_t payload;
    std::uint32_t unused[3];
    std::uint32_t arch;
    std::uint64_t rest[4];
  };
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1;
  std::uint16_t header = 16;
  std::uint64_t size = 0;
  Entry entries[4] = {};
  void add(std::uint16_t kind, std::uint32_t arch) {
    entries[size / sizeof(Entry)] = {kind, 1, sizeof(Entry), 0, {}, arch, {}};
    size += sizeof(Entry);
  }
};

/// CUB asks for the version once and keeps the answer; after an error it would never launch what can be refused.
TEST_F(Registration, maps_versions_of_images) {
  const auto versions = [&](FatBinaryData& data) {
    Wrapper wrapper;
    wrapper.data = &data;
    void** binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, &g_other, const_cast<char*>(kName), kName, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
    cudaFuncAttributes attributes;
    const int status = static_cast<int>(cudaFuncGetAttributes(&attributes, &g_other));
    __cudaUnregisterFatBinary(binary);
    return status != 0 ? -status : attributes.binaryVersion * 1000 + attributes.ptxVersion;
  };
  FatBinaryData machine;
  machine.add(2, 50);
  machine.add(2, 80);
  machine.add(2, 86);
  machine.add(2, 90);
  EXPECT_EQ(versions(machine), 86086);
  FatBinaryData older;
  older.add(2, 80);
  older.add(1, 86);
  EXPECT_EQ(versions(older), 80080);
  FatBinaryData ptx;
  ptx.add(1, 75);
  ptx.add(1, 90);
  ptx.add(2, 90);
  EXPECT_EQ(versions(ptx), 86075);
  FatBinaryData none;
  none.add(2, 90);
  EXPECT_EQ(versions(none), -209);
  see_everything();
  machine.entries[0].header = 3;
  EXPECT_EQ(versions(machine), -209) << "damaged";
  see_everything();
  machine.magic = 7;
  EXPECT_EQ(versions(machine), -209);
}

TEST_F(Registration, rejects_kernels_of_unloaded_objects) {
  void** unloaded = __cudaRegisterFatBinary(&wrapper_);
  __cudaRegisterFunction(unloaded, &g_other, const_cast<char*>(kName), kName, -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  GIVES(209, launch(&g_other));
  see_everything();
  __cudaUnregisterFatBinary(unloaded);
  GIVES(98, launch(&g_other));
  __cudaRegisterFunction(unloaded, &g_other, const_cast<char*>(kName), kName, -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  GIVES(98, launch(&g_other));
  __cudaUnregisterFatBinary(unloaded);
  __cudaUnregisterFatBinary(reinterpret_cast<void**>(&g_other));
  __cudaUnregisterFatBinary(nullptr);
  static_cast<void>(cudaGetLastError());
}

TEST_F(Registration, maps_call_configurations) {
  GIVES(0, __cudaPushCallConfiguration(dim3{1, 2, 3}, dim3{4, 5, 6}, 77, reinterpret_cast<CUstream_st*>(0x10)));
  GIVES(0, __cudaPushCallConfiguration(dim3{7, 1, 1}, dim3{8, 1, 1}, 0, nullptr));
  dim3 grid{};
  dim3 block{};
  std::size_t shared = 1;
  void* stream = &stream;
  GIVES(0, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  EXPECT_EQ(grid.x, 7u);
  EXPECT_EQ(stream, nullptr);
  GIVES(0, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  EXPECT_EQ(grid.z, 3u);
  EXPECT_EQ(block.y, 5u);
  EXPECT_EQ(shared, 77u);
  EXPECT_EQ(stream, reinterpret_cast<void*>(0x10));
  GIVES(52, __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  static_cast<void>(cudaGetLastError());
}

/// PyTorch 2.3 registers 18,282 kernels in 332 fat binaries while it is imported.
TEST_F(Registration, registers_twenty_thousand_kernels_in_milliseconds) {
  constexpr int kBinaries = 332;
  constexpr int kKernels = 20000;
  static std::vector<char> stubs(kKernels);
  std::vector<std::string> names(kKernels);
  for (int i = 0; i < kKernels; ++i) names[static_cast<std::size_t>(i)] = "kernel_" + std::to_string(i);
  std::vector<void**> binaries;
  const auto begin = std::chrono::steady_clock::now();
  for (int b = 0; b < kBinaries; ++b) {
    binaries.push_back(__cudaRegisterFatBinary(&wrapper_));
    for (int i = b; i < kKernels; i += kBinaries) {
      char* stub = &stubs[static_cast<std::size_t>(i)];
      const char* name = names[static_cast<std::size_t>(i)].c_str();
      __cudaRegisterFunction(binaries.back(), stub, const_cast<char*>(name), name, -1, nullptr, nullptr, nullptr,
                             nullptr, nullptr);
    }
    __cudaRegisterFatBinaryEnd(binaries.back());
  }
  const std::chrono::duration<double, std::milli> registering = std::chrono::steady_clock::now() - begin;
  GIVES(209, launch(&stubs[12345]));
  const std::chrono::duration<double, std::milli> launching = std::chrono::steady_clock::now() - begin - registering;
  std::printf("registering %d kernels: %.2f ms; first launch: %.2f ms\n", kKernels, registering.count(),
              launching.count());
  EXPECT_LT(registering.count(), 50.0);
  EXPECT_LT(launching.count(), 200.0);
  for (void** binary : binaries) __cudaUnregisterFatBinary(binary);
}

}  // namespace
