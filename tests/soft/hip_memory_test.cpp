// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Device, pinned, managed and registered memory of the software device; copies and fills.
#include <algorithm>
#include <bit>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <numeric>

#include "base/half.hpp"
#include "tests/soft/hip_support.hpp"

namespace {

using hip_test::Gate;

sigjmp_buf jump;
void on_fault(int) {
  siglongjmp(jump, 1);
}

/// Whether reading one byte at the address faults.
bool read_faults(const void* address) {
  struct sigaction action {};
  struct sigaction old_segv {};
  struct sigaction old_bus {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &old_segv);
  sigaction(SIGBUS, &action, &old_bus);
  bool faulted = false;
  if (sigsetjmp(jump, 1) == 0) {
    [[maybe_unused]] const volatile char byte = *static_cast<const volatile char*>(address);
  } else {
    faulted = true;
  }
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  return faulted;
}

class HipMemory : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(hipSuccess, hipDeviceSynchronize()); }
};

TEST_F(HipMemory, maps_device_memory_that_the_host_cannot_touch) {
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 1 << 20));
  EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(p) % 256);
  EXPECT_TRUE(read_faults(p));
  EXPECT_TRUE(read_faults(static_cast<char*>(p) + (1 << 20) - 1));
  HIP_OK(hipFree(p));
  EXPECT_TRUE(read_faults(p));
}

TEST_F(HipMemory, maps_pinned_and_managed_memory_at_one_address) {
  for (int managed = 0; managed < 2; ++managed) {
    void* p = nullptr;
    HIP_OK(managed != 0 ? hipMallocManaged(&p, 4096, 1) : hipHostMalloc(&p, 4096, 0));
    std::memset(p, 7, 4096);
    void* seen = nullptr;
    HIP_OK(hipHostGetDevicePointer(&seen, p, 0));
    EXPECT_EQ(p, seen);
    HIP_OK(hipMemset(p, 9, 2048));
    EXPECT_EQ(9, static_cast<char*>(p)[2047]);
    EXPECT_EQ(7, static_cast<char*>(p)[2048]);
    HIP_OK(managed != 0 ? hipFree(p) : hipHostFree(p));
  }
}

TEST_F(HipMemory, fresh_memory_is_finite_and_nowhere_zero) {
  constexpr std::size_t kBytes = 300'000;
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, kBytes));
  std::vector<unsigned char> bytes(kBytes, 0);
  HIP_OK(hipMemcpy(bytes.data(), p, kBytes, hipMemcpyDeviceToHost));
  EXPECT_EQ(0, std::count(bytes.begin(), bytes.end(), 0));
  for (std::size_t i = 0; i + 8 <= kBytes; i += 2) {
    std::uint16_t word = 0;
    std::uint32_t dword = 0;
    std::memcpy(&word, &bytes[i], 2);
    std::memcpy(&dword, &bytes[i], 4);
    ASSERT_TRUE(std::isfinite(rb::half_to_float(word)) && std::isfinite(rb::bfloat16_to_float(word)));
    ASSERT_TRUE(std::isfinite(std::bit_cast<float>(dword)) && std::fabs(std::bit_cast<float>(dword)) > 1.0f);
  }
  // Not one value over and over, either.
  EXPECT_NE(0, std::memcmp(bytes.data(), bytes.data() + 4096, 4096));
  HIP_OK(hipFree(p));
}

TEST_F(HipMemory, freed_bytes_stay) {
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 123 * 256));
  HIP_OK(hipMemset(p, 0x5b, 123 * 256));
  HIP_OK(hipFree(p));
  void* q = nullptr;
  HIP_OK(hipMalloc(&q, 123 * 256));
  EXPECT_EQ(p, q);
  std::vector<char> bytes(123 * 256);
  HIP_OK(hipMemcpy(bytes.data(), q, bytes.size(), hipMemcpyDeviceToHost));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(bytes.size()), std::count(bytes.begin(), bytes.end(), 0x5b));
  HIP_OK(hipFree(q));
}

TEST_F(HipMemory, maps_every_linear_direction) {
  constexpr std::size_t kCount = 100'003;
  std::vector<std::uint32_t> source(kCount);
  std::iota(source.begin(), source.end(), 1u);
  std::vector<std::uint32_t> back(kCount);
  void* a = nullptr;
  void* b = nullptr;
  void* pinned = nullptr;
  HIP_OK(hipMalloc(&a, kCount * 4));
  HIP_OK(hipMalloc(&b, kCount * 4));
  HIP_OK(hipHostMalloc(&pinned, kCount * 4, 0));
  HIP_OK(hipMemcpy(a, source.data(), kCount * 4, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy(b, a, kCount * 4, hipMemcpyDeviceToDevice));
  HIP_OK(hipMemcpyAsync(pinned, b, kCount * 4, hipMemcpyDeviceToHost, nullptr));
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(0, std::memcmp(pinned, source.data(), kCount * 4));
  HIP_OK(hipMemset(a, 0, kCount * 4));
  HIP_OK(hipMemcpy(a, pinned, kCount * 4, hipMemcpyDefault));
  HIP_OK(hipMemcpy(back.data(), a, kCount * 4, hipMemcpyDefault));
  EXPECT_EQ(source, back);
  std::vector<std::uint32_t> host(kCount);
  HIP_OK(hipMemcpy(host.data(), source.data(), kCount * 4, hipMemcpyHostToHost));
  EXPECT_EQ(source, host);
  HIP_OK(hipMemcpyHtoD(a, host.data(), 64));
  HIP_OK(hipMemcpyDtoH(back.data(), a, 64));
  HIP_OK(hipFree(a));
  HIP_OK(hipFree(b));
  HIP_OK(hipHostFree(pinned));
}

TEST_F(HipMemory, maps_registered_memory_asynchronously) {
  constexpr std::size_t kBytes = 1 << 16;
  std::vector<char> host(kBytes, 3);
  HIP_OK(hipHostRegister(host.data(), kBytes, 0));
  EXPECT_EQ(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(host.data() + 100, 100, 0));
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, kBytes));
  HIP_OK(hipMemset(p, 9, kBytes));
  hipStream_t stream = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&stream, hip_test::kNonBlocking));
  HIP_OK(hipDeviceSynchronize());
  Gate gate;
  HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &gate));
  HIP_OK(hipMemcpyAsync(host.data(), p, kBytes, hipMemcpyDeviceToHost, stream));
  EXPECT_EQ(3, host[0]);
  gate.open();
  HIP_OK(hipStreamSynchronize(stream));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(kBytes), std::count(host.begin(), host.end(), 9));
  HIP_OK(hipHostUnregister(host.data()));
  EXPECT_EQ(hipErrorHostMemoryNotRegistered, hipHostUnregister(host.data()));
  HIP_OK(hipFree(p));
  HIP_OK(hipStreamDestroy(stream));
}

TEST_F(HipMemory, maps_fills_of_all_widths) {
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  std::vector<std::uint32_t> back(1024);
  HIP_OK(hipMemsetD32Async(p, 0x01020304, 1024, nullptr));
  HIP_OK(hipMemsetD16(p, 0xabcd, 3));
  HIP_OK(hipMemset(static_cast<char*>(p) + 6, 0x11, 1));
  HIP_OK(hipMemcpy(back.data(), p, 4096, hipMemcpyDeviceToHost));
  EXPECT_EQ(0xabcdabcdu, back[0]);
  EXPECT_EQ(0x0111abcdu, back[1]);
  EXPECT_EQ(0x01020304u, back[2]);
  EXPECT_EQ(0x01020304u, back[1023]);
  EXPECT_EQ(hipErrorInvalidValue, hipMemsetD16(static_cast<char*>(p) + 1, 1, 1));
  EXPECT_EQ(hipErrorInvalidValue, hipMemset(p, 0, 4097));
  EXPECT_EQ(hipErrorInvalidValue, hipMemset(back.data(), 0, 16));
  EXPECT_EQ(hipErrorInvalidValue, hipMemset(nullptr, 0, 16));
  HIP_OK(hipFree(p));
}

TEST_F(HipMemory, maps_pitched_copies) {
  constexpr std::size_t kWidth = 37;
  constexpr std::size_t kHeight = 11;
  std::size_t pitch = 0;
  void* p = nullptr;
  HIP_OK(hipMallocPitch(&p, &pitch, kWidth, kHeight));
  EXPECT_GE(pitch, kWidth);
  HIP_OK(hipMemset2D(p, pitch, 0x77, kWidth, kHeight));
  std::vector<unsigned char> source(kWidth * kHeight);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  HIP_OK(hipMemcpy2D(p, pitch, source.data(), kWidth, kWidth - 1, kHeight, hipMemcpyHostToDevice));
  std::vector<unsigned char> back(kWidth * kHeight);
  HIP_OK(hipMemcpy2D(back.data(), kWidth, p, pitch, kWidth, kHeight, hipMemcpyDeviceToHost));
  for (std::size_t y = 0; y < kHeight; ++y) {
    for (std::size_t x = 0; x + 1 < kWidth; ++x) ASSERT_EQ(source[y * kWidth + x], back[y * kWidth + x]);
    EXPECT_EQ(0x77, back[y * kWidth + kWidth - 1]);
  }
  EXPECT_EQ(hipErrorInvalidPitchValue,
            hipMemcpy2D(p, kWidth - 1, source.data(), kWidth, kWidth, kHeight, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue,
            hipMemcpy2D(p, pitch, source.data(), kWidth, kWidth, 10 * kHeight, hipMemcpyHostToDevice));
  HIP_OK(hipFree(p));
}

TEST_F(HipMemory, pageable_source_may_change_after_an_asynchronous_copy) {
  constexpr std::size_t kBytes = 100'000;
  std::vector<char> source(kBytes, 1);
  std::vector<char> back(kBytes);
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, kBytes));
  hipStream_t stream = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&stream, hip_test::kNonBlocking));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &gate));
  const double ms =
      hip_test::milliseconds([&] { HIP_OK(hipMemcpyAsync(p, source.data(), kBytes, hipMemcpyHostToDevice, stream)); });
  EXPECT_LT(ms, 50);
  std::fill(source.begin(), source.end(), 2);
  gate.open();
  HIP_OK(hipStreamSynchronize(stream));
  HIP_OK(hipMemcpy(back.data(), p, kBytes, hipMemcpyDeviceToHost));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(kBytes), std::count(back.begin(), back.end(), 1));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipFree(p));
}

TEST_F(HipMemory, rejects_bad_copies) {
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  char host[64] = {};
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(nullptr, host, 1, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(p, nullptr, 1, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(p, host, 1, hipMemcpyDeviceToHost));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(host, p, 1, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(host, host, 1, hipMemcpyDeviceToDevice));
  EXPECT_EQ(hipErrorInvalidMemcpyDirection, hipMemcpy(p, host, 1, static_cast<hipMemcpyKind>(5)));
  EXPECT_EQ(hipSuccess, hipMemcpy(p, host, 0, static_cast<hipMemcpyKind>(5)));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(static_cast<char*>(p) + 4090, host, 7, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidHandle,
            hipMemcpyAsync(p, host, 1, hipMemcpyHostToDevice, reinterpret_cast<hipStream_t>(0x1234)));
  HIP_OK(hipFree(p));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(p, host, 1, hipMemcpyHostToDevice));
  EXPECT_EQ(hipErrorInvalidValue, hipMemcpy(host, p, 1, hipMemcpyDefault));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(p));
  EXPECT_EQ(hipErrorInvalidValue, hipFree(host));
  EXPECT_EQ(hipSuccess, hipFree(nullptr));
  EXPECT_EQ(hipErrorInvalidValue, hipGetLastError());
  EXPECT_EQ(hipSuccess, hipGetLastError());
}

TEST_F(HipMemory, rejects_bad_allocations) {
  EXPECT_EQ(hipErrorInvalidValue, hipMalloc(nullptr, 16));
  void* p = reinterpret_cast<void*>(1);
  EXPECT_EQ(hipSuccess, hipMalloc(&p, 0));
  EXPECT_EQ(nullptr, p);
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&p, ~std::size_t{0}));
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&p, std::size_t{1} << 60));
  EXPECT_EQ(hipErrorInvalidValue, hipHostMalloc(&p, 16, 0x100));
  EXPECT_EQ(hipErrorInvalidValue, hipMallocManaged(&p, 16, 0));
  EXPECT_EQ(hipErrorInvalidValue, hipMallocManaged(&p, 0, 1));
}

TEST_F(HipMemory, out_of_memory_leaves_the_device_well) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  HIP_OK(hipMemGetInfo(&free_bytes, &total));
  std::vector<void*> blocks;
  const std::size_t block = total / 7;
  void* p = nullptr;
  hipError_t error = hipSuccess;
  while ((error = hipMalloc(&p, block)) == hipSuccess) blocks.push_back(p);
  EXPECT_EQ(hipErrorOutOfMemory, error);
  EXPECT_GE(blocks.size(), 5u);
  for (void* each : blocks) HIP_OK(hipFree(each));
  std::size_t after = 0;
  HIP_OK(hipMemGetInfo(&after, &total));
  EXPECT_EQ(free_bytes, after);
  HIP_OK(hipMalloc(&p, free_bytes));
  HIP_OK(hipFree(p));
}

TEST_F(HipMemory, tells_what_a_pointer_is) {
  void* device = nullptr;
  void* pinned = nullptr;
  HIP_OK(hipMalloc(&device, 4096));
  HIP_OK(hipHostMalloc(&pinned, 4096, 0));
  hipPointerAttribute_t a{};
  HIP_OK(hipPointerGetAttributes(&a, static_cast<char*>(device) + 100));
  EXPECT_EQ(hipMemoryTypeDevice, a.type);
  EXPECT_EQ(0, a.device);
  EXPECT_EQ(nullptr, a.hostPointer);
  HIP_OK(hipPointerGetAttributes(&a, pinned));
  EXPECT_EQ(hipMemoryTypeHost, a.type);
  int local = 0;
  HIP_OK(hipPointerGetAttributes(&a, &local));
  EXPECT_EQ(hipMemoryTypeUnregistered, a.type);
  hipDeviceptr_t base = nullptr;
  std::size_t bytes = 0;
  HIP_OK(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(device) + 4095));
  EXPECT_EQ(device, base);
  EXPECT_EQ(4096u, bytes);
  HIP_OK(hipFree(device));
  HIP_OK(hipPointerGetAttributes(&a, device));
  EXPECT_EQ(hipMemoryTypeUnregistered, a.type);
  EXPECT_EQ(hipErrorNotFound, hipMemGetAddressRange(&base, &bytes, device));
  HIP_OK(hipHostFree(pinned));
}

TEST_F(HipMemory, stream_ordered_memory_outlives_its_free_until_the_stream_is_there) {
  hipStream_t stream = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&stream, hip_test::kNonBlocking));
  void* p = nullptr;
  HIP_OK(hipMallocAsync(&p, 1 << 20, stream));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &gate));
  HIP_OK(hipMemsetAsync(p, 1, 1 << 20, stream));
  HIP_OK(hipFreeAsync(p, stream));
  void* other = nullptr;
  HIP_OK(hipMalloc(&other, 1 << 20));
  EXPECT_NE(p, other);  // still in use
  EXPECT_EQ(hipErrorInvalidValue, hipMemsetAsync(p, 1, 16, stream));
  gate.open();
  HIP_OK(hipStreamSynchronize(stream));
  HIP_OK(hipFree(other));
  HIP_OK(hipStreamDestroy(stream));
}

TEST_F(HipMemory, many_allocations_from_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([t, &wrong] {
      std::vector<void*> mine;
      for (int i = 0; i < 300; ++i) {
        void* p = nullptr;
        const std::size_t bytes = 256u * (1 + static_cast<unsigned>(i * 7 + t) % 40);
        if (hipMalloc(&p, bytes) != hipSuccess) ++wrong;
        hipPointerAttribute_t a{};
        if (hipPointerGetAttributes(&a, static_cast<char*>(p) + bytes - 1) != hipSuccess) ++wrong;
        if (a.type != hipMemoryTypeDevice) ++wrong;
        mine.push_back(p);
        if (i % 3 == 0) {
          if (hipFree(mine.front()) != hipSuccess) ++wrong;
          mine.erase(mine.begin());
        }
      }
      for (void* p : mine)
        if (hipFree(p) != hipSuccess) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(0, wrong.load());
}

}  // namespace
