// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Memory through the CUDA runtime, as an application uses it: values, bad input, many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "abi/cudart_functions.h"

namespace {

#define OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define GIVES(code, call)                             \
  do {                                                \
    EXPECT_EQ(static_cast<int>(call), code) << #call; \
    static_cast<void>(cudaGetLastError());            \
  } while (0)

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<unsigned char>(seed + i * 7 + i / 251);
  return out;
}

class RuntimeMemory : public testing::Test {
 protected:
  void SetUp() override { OK(cudaMalloc(&device_, kBytes)); }
  void TearDown() override { EXPECT_EQ(static_cast<int>(cudaFree(device_)), 0); }
  static constexpr std::size_t kBytes = 1 << 20;
  void* device_ = nullptr;
};

TEST_F(RuntimeMemory, maps_copies_both_ways) {
  const auto sent = pattern(kBytes, 3);
  std::vector<unsigned char> got(kBytes, 0);
  OK(cudaMemcpy(device_, sent.data(), kBytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(got.data(), device_, kBytes, cudaMemcpyDeviceToHost));
  EXPECT_EQ(sent, got);
  void* second = nullptr;
  OK(cudaMalloc(&second, kBytes));
  OK(cudaMemcpyAsync(second, device_, kBytes, cudaMemcpyDeviceToDevice, nullptr));
  std::fill(got.begin(), got.end(), static_cast<unsigned char>(0));
  OK(cudaMemcpyAsync(got.data(), second, kBytes, cudaMemcpyDefault, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(sent, got);
  OK(cudaFree(second));
}

TEST_F(RuntimeMemory, maps_interior_pointers) {
  const auto sent = pattern(1000, 9);
  OK(cudaMemcpy(static_cast<char*>(device_) + 4097, sent.data(), 1000, cudaMemcpyHostToDevice));
  std::vector<unsigned char> got(1000, 0);
  OK(cudaMemcpy(got.data(), static_cast<char*>(device_) + 4097, 1000, cudaMemcpyDeviceToHost));
  EXPECT_EQ(sent, got);
}

TEST_F(RuntimeMemory, maps_pitched_copies) {
  constexpr std::size_t kWidth = 300;
  constexpr std::size_t kRows = 17;
  void* pitched = nullptr;
  std::size_t pitch = 0;
  OK(cudaMallocPitch(&pitched, &pitch, kWidth, kRows));
  EXPECT_GE(pitch, kWidth);
  EXPECT_EQ(pitch % 512, 0u);
  const auto sent = pattern(kWidth * kRows, 1);
  OK(cudaMemcpy2D(pitched, pitch, sent.data(), kWidth, kWidth, kRows, cudaMemcpyHostToDevice));
  std::vector<unsigned char> got(400 * kRows, 0xee);
  OK(cudaMemcpy2DAsync(got.data(), 400, pitched, pitch, kWidth, kRows, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(std::memcmp(&got[row * 400], &sent[row * kWidth], kWidth), 0) << row;
    EXPECT_EQ(got[row * 400 + kWidth], 0xee) << "written behind row " << row;
  }
  GIVES(12, cudaMemcpy2D(pitched, pitch, sent.data(), kWidth - 1, kWidth, kRows, cudaMemcpyHostToDevice));
  OK(cudaFree(pitched));
}

TEST_F(RuntimeMemory, maps_fills) {
  OK(cudaMemset(device_, 0x5a, kBytes));
  OK(cudaMemsetAsync(static_cast<char*>(device_) + 100, 0x11, 50, nullptr));
  OK(cudaMemset2D(static_cast<char*>(device_) + 4096, 256, 0x22, 16, 4));
  std::vector<unsigned char> got(8192, 0);
  OK(cudaMemcpy(got.data(), device_, got.size(), cudaMemcpyDeviceToHost));
  EXPECT_EQ(got[99], 0x5a);
  EXPECT_EQ(got[100], 0x11);
  EXPECT_EQ(got[149], 0x11);
  EXPECT_EQ(got[150], 0x5a);
  for (int row = 0; row < 4; ++row) {
    EXPECT_EQ(got[4096 + row * 256 + 15], 0x22);
    EXPECT_EQ(got[4096 + row * 256 + 16], 0x5a);
  }
  GIVES(1, cudaMemset2D(device_, 8, 0, 16, 4));
}

TEST_F(RuntimeMemory, maps_pinned_memory) {
  void* host = nullptr;
  OK(cudaHostAlloc(&host, 4096, cudaHostAllocPortable));
  std::memset(host, 0x42, 4096);
  OK(cudaMemcpyAsync(device_, host, 4096, cudaMemcpyHostToDevice, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  std::memset(host, 0, 4096);
  OK(cudaMemcpyAsync(host, device_, 4096, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(static_cast<unsigned char*>(host)[4095], 0x42);
  unsigned flags = 99;
  OK(cudaHostGetFlags(&flags, host));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaHostAllocPortable));
  void* seen = nullptr;
  OK(cudaHostGetDevicePointer(&seen, host, 0));
  EXPECT_NE(seen, nullptr);
  OK(cudaFreeHost(host));
  GIVES(1, cudaFreeHost(host));
  int local = 0;
  GIVES(1, cudaFreeHost(&local));
  GIVES(1, cudaHostGetDevicePointer(&seen, &local, 0));
}

TEST_F(RuntimeMemory, maps_registered_memory) {
  std::vector<unsigned char> host(3 * 4096, 0x17);
  OK(cudaHostRegister(host.data(), host.size(), cudaHostRegisterDefault));
  GIVES(712, cudaHostRegister(host.data(), host.size(), cudaHostRegisterDefault));
  OK(cudaMemcpyAsync(device_, host.data(), host.size(), cudaMemcpyHostToDevice, nullptr));
  OK(cudaDeviceSynchronize());
  unsigned char got = 0;
  OK(cudaMemcpy(&got, static_cast<char*>(device_) + host.size() - 1, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(got, 0x17);
  OK(cudaHostUnregister(host.data()));
  GIVES(713, cudaHostUnregister(host.data()));
}

TEST_F(RuntimeMemory, maps_managed_memory) {
  void* managed = nullptr;
  OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  std::memset(managed, 0x33, 4096);
  OK(cudaMemcpy(device_, managed, 4096, cudaMemcpyDefault));
  OK(cudaMemset(managed, 0x44, 4096));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(static_cast<unsigned char*>(managed)[4095], 0x44);
  cudaPointerAttributes attributes{};
  OK(cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(static_cast<int>(attributes.type), 3);
  OK(cudaMemPrefetchAsync(managed, 4096, 0, nullptr));
  GIVES(1, cudaMemPrefetchAsync(device_, 4096, 0, nullptr));
  OK(cudaFree(managed));
  GIVES(1, cudaMallocManaged(&managed, 4096, static_cast<unsigned>(0)));
  GIVES(1, cudaMallocManaged(&managed, 0, cudaMemAttachGlobal));
}

TEST_F(RuntimeMemory, maps_pointer_attributes) {
  cudaPointerAttributes attributes{};
  OK(cudaPointerGetAttributes(&attributes, static_cast<char*>(device_) + 100));
  EXPECT_EQ(static_cast<int>(attributes.type), 2);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, static_cast<char*>(device_) + 100);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  int local = 0;
  OK(cudaPointerGetAttributes(&attributes, &local));
  EXPECT_EQ(static_cast<int>(attributes.type), 0);
  EXPECT_EQ(attributes.device, -2);
  EXPECT_EQ(attributes.hostPointer, &local);
  void* freed = nullptr;
  OK(cudaMalloc(&freed, 4096));
  OK(cudaFree(freed));
  OK(cudaPointerGetAttributes(&attributes, freed));
  EXPECT_EQ(static_cast<int>(attributes.type), 0);
  GIVES(1, cudaPointerGetAttributes(nullptr, device_));
}

TEST_F(RuntimeMemory, rejects_wrong_directions_and_kinds) {
  std::vector<unsigned char> host(64, 1);
  std::vector<unsigned char> other(64, 2);
  GIVES(0, cudaMemcpy(device_, host.data(), 0, static_cast<cudaMemcpyKind>(77)));
  GIVES(21, cudaMemcpy(device_, host.data(), 64, static_cast<cudaMemcpyKind>(77)));
  GIVES(21, cudaMemcpy(device_, host.data(), 64, static_cast<cudaMemcpyKind>(-1)));
  GIVES(1, cudaMemcpy(device_, host.data(), 64, cudaMemcpyDeviceToHost));
  GIVES(1, cudaMemcpy(host.data(), device_, 64, cudaMemcpyHostToDevice));
  GIVES(1, cudaMemcpy(host.data(), device_, 64, cudaMemcpyDeviceToDevice));
  GIVES(0, cudaMemcpy(host.data(), other.data(), 64, cudaMemcpyHostToHost));
  EXPECT_EQ(host, other);
  GIVES(0, cudaMemcpy(host.data(), device_, 64, cudaMemcpyHostToHost));
}

TEST_F(RuntimeMemory, rejects_ranges_outside_of_allocations) {
  std::vector<unsigned char> host(4096, 1);
  GIVES(1, cudaMemcpy(static_cast<char*>(device_) + kBytes - 10, host.data(), 11, cudaMemcpyHostToDevice));
  GIVES(1, cudaMemset(device_, 0, kBytes + 1));
  GIVES(1, cudaMemset(device_, 0, ~std::size_t{0}));
  GIVES(1, cudaMemset(host.data(), 0, 64));
  GIVES(1, cudaMemset(nullptr, 0, 64));
  GIVES(1, cudaMemcpy(nullptr, host.data(), 64, cudaMemcpyHostToDevice));
  GIVES(1, cudaMemcpy(device_, nullptr, 64, cudaMemcpyHostToDevice));
  GIVES(1, cudaMemset2D(device_, std::size_t{1} << 60, 0, 16, 1u << 20));
  void* freed = nullptr;
  OK(cudaMalloc(&freed, 4096));
  OK(cudaFree(freed));
  GIVES(1, cudaMemcpy(freed, host.data(), 64, cudaMemcpyHostToDevice));
  GIVES(1, cudaMemset(freed, 0, 64));
}

TEST_F(RuntimeMemory, rejects_bad_frees) {
  int local = 0;
  GIVES(0, cudaFree(nullptr));
  GIVES(1, cudaFree(&local));
  GIVES(1, cudaFree(static_cast<char*>(device_) + 256));
  void* twice = nullptr;
  OK(cudaMalloc(&twice, 4096));
  OK(cudaFree(twice));
  GIVES(1, cudaFree(twice));
  void* host = nullptr;
  OK(cudaMallocHost(&host, 4096));
  GIVES(1, cudaFree(host));
  OK(cudaFreeHost(host));
}

TEST_F(RuntimeMemory, rejects_impossible_sizes) {
  void* p = &p;
  GIVES(2, cudaMalloc(&p, std::size_t{1} << 60));
  GIVES(2, cudaMalloc(&p, ~std::size_t{0}));
  std::size_t pitch = 0;
  GIVES(2, cudaMallocPitch(&p, &pitch, ~std::size_t{0}, 2));
  GIVES(2, cudaMallocPitch(&p, &pitch, std::size_t{1} << 40, std::size_t{1} << 40));
  GIVES(1, cudaMalloc(nullptr, 64));
  OK(cudaMalloc(&p, 0));
  EXPECT_EQ(p, nullptr);
}

TEST_F(RuntimeMemory, maps_memory_info) {
  std::size_t free_before = 0;
  std::size_t total = 0;
  OK(cudaMemGetInfo(&free_before, &total));
  EXPECT_GT(total, 0u);
  EXPECT_LE(free_before, total);
  void* p = nullptr;
  OK(cudaMalloc(&p, 64u << 20));
  std::size_t free_after = 0;
  OK(cudaMemGetInfo(&free_after, nullptr));
  EXPECT_GE(free_before - free_after, std::size_t{64} << 20);
  OK(cudaFree(p));
  GIVES(0, cudaMemGetInfo(nullptr, nullptr));
}

TEST_F(RuntimeMemory, maps_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const std::size_t bytes = 1000 + t * 777 + static_cast<std::size_t>(round);
        void* p = nullptr;
        if (cudaMalloc(&p, bytes) != cudaSuccess) {
          ++wrong;
          continue;
        }
        const auto sent = pattern(bytes, t * 31 + static_cast<unsigned>(round));
        std::vector<unsigned char> got(bytes, 0);
        if (cudaMemcpy(p, sent.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) ++wrong;
        if (cudaMemcpy(got.data(), p, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) ++wrong;
        if (sent != got) ++wrong;
        if (cudaFree(p) != cudaSuccess) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
