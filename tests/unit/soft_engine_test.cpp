// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Front and engine in one process (soft.engine=inprocess): operations of the test's own show what the executor promises
// to compute operations, and what the front makes of their failures.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "soft/hip_entries.h"
#include "softrocm/engine/exec/engine.hpp"
#include "softrocm/engine/exec/operation.hpp"
#include "softrocm/front/core.hpp"
#include "softrocm/wire/operations.hpp"

namespace {

using soft::engine::Context;
using soft::engine::Outcome;

constexpr std::uint32_t kTouch = 900;
constexpr std::uint32_t kFail = 901;
constexpr std::uint32_t kThrow = 902;
constexpr std::uint32_t kHold = 903;
constexpr std::uint32_t kCount = 904;

std::atomic<bool> hold{false};
std::atomic<int> running{0};
std::atomic<int> most_running{0};
std::atomic<int> counted{0};

struct Touch {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint8_t value;
};

Outcome touch(Context& context, const void* payload, std::size_t) {
  const Touch& t = *static_cast<const Touch*>(payload);
  void* memory = context.memory(t.address, t.bytes);
  if (memory == nullptr) return Outcome::invalid_address;
  *static_cast<std::uint8_t*>(memory) = t.value;
  return Outcome::ok;
}

Outcome count(Context&, const void*, std::size_t) {
  const int now = ++running;
  int most = most_running.load();
  while (now > most && !most_running.compare_exchange_weak(most, now)) {
  }
  std::this_thread::sleep_for(std::chrono::microseconds(300));
  --running;
  ++counted;
  return Outcome::ok;
}

class SoftEngine : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("ROCBRIDGE_SOFT_ENGINE", "inprocess", 1);
    setenv("ROCBRIDGE_SOFT_MEMORY", "268435456", 1);
    setenv("ROCBRIDGE_SOFT_WATCHDOG_MS", "1000", 1);
    soft::engine::enable_inprocess();
    soft::engine::register_operation(kTouch, touch);
    soft::engine::register_operation(kFail, [](Context&, const void* payload, std::size_t) {
      return static_cast<Outcome>(*static_cast<const std::uint32_t*>(payload));
    });
    soft::engine::register_operation(kThrow, [](Context&, const void* payload, std::size_t) -> Outcome {
      if (*static_cast<const std::uint32_t*>(payload) == 0) throw std::runtime_error("on purpose");
      throw std::bad_alloc();
    });
    soft::engine::register_operation(kHold, [](Context&, const void*, std::size_t) {
      while (hold.load()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      return Outcome::ok;
    });
    soft::engine::register_operation(kCount, count);
  }
  static void TearDownTestSuite() {
    unsetenv("ROCBRIDGE_SOFT_ENGINE");
    unsetenv("ROCBRIDGE_SOFT_MEMORY");
    unsetenv("ROCBRIDGE_SOFT_WATCHDOG_MS");
  }
  void SetUp() override { ASSERT_EQ(hipSuccess, soft_hipDeviceReset()); }

  static hipStream_t stream() {
    hipStream_t made = nullptr;
    EXPECT_EQ(hipSuccess, soft_hipStreamCreateWithFlags(&made, 1));
    return made;
  }
};

TEST_F(SoftEngine, an_operation_reaches_device_and_host_memory) {
  void* device = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(hipSuccess, soft::allocate(&device, 4096));
  ASSERT_EQ(hipSuccess, soft_hipHostMalloc(&pinned, 4096, 0));
  EXPECT_TRUE(soft::device_can_touch(device, 4096));
  EXPECT_FALSE(soft::device_can_touch(device, 4097));
  EXPECT_TRUE(soft::device_can_touch(static_cast<char*>(pinned) + 1, 4095));
  int local = 0;
  EXPECT_FALSE(soft::device_can_touch(&local, 4));
  for (void* memory : {device, pinned}) {
    const Touch t{reinterpret_cast<std::uint64_t>(memory), 4096, 0x3c};
    ASSERT_EQ(hipSuccess, soft::submit(nullptr, kTouch, &t, sizeof t));
  }
  ASSERT_EQ(hipSuccess, soft::synchronize(nullptr));
  EXPECT_EQ(0x3c, *static_cast<unsigned char*>(pinned));
  unsigned char back = 0;
  ASSERT_EQ(hipSuccess, soft_hipMemcpy(&back, device, 1, hipMemcpyDeviceToHost));
  EXPECT_EQ(0x3c, back);
  ASSERT_EQ(hipSuccess, soft::release(device));
  EXPECT_FALSE(soft::device_can_touch(device, 1));
  ASSERT_EQ(hipSuccess, soft_hipHostFree(pinned));
}

TEST_F(SoftEngine, a_failed_operation_stays_until_reset) {
  const struct {
    Outcome outcome;
    hipError_t error;
  } rows[] = {{Outcome::invalid_address, hipErrorIllegalAddress},
              {Outcome::out_of_memory, hipErrorLaunchOutOfResources},
              {Outcome::unsupported, hipErrorLaunchFailure},
              {Outcome::internal, hipErrorLaunchFailure}};
  for (const auto& row : rows) {
    const std::uint32_t outcome = static_cast<std::uint32_t>(row.outcome);
    ASSERT_EQ(hipSuccess, soft::submit(nullptr, kFail, &outcome, sizeof outcome));
    EXPECT_EQ(row.error, soft::synchronize(nullptr));
    EXPECT_EQ(row.error, soft::submit(nullptr, kCount, nullptr, 0));
    void* p = nullptr;
    EXPECT_EQ(row.error, soft::allocate(&p, 16));
    ASSERT_EQ(hipSuccess, soft_hipDeviceReset());
    EXPECT_EQ(hipSuccess, soft::synchronize(nullptr));
  }
}

TEST_F(SoftEngine, an_exception_or_an_unknown_operation_is_a_failed_operation) {
  std::uint32_t which = 0;
  ASSERT_EQ(hipSuccess, soft::submit(nullptr, kThrow, &which, sizeof which));
  EXPECT_EQ(hipErrorLaunchFailure, soft::synchronize(nullptr));
  ASSERT_EQ(hipSuccess, soft_hipDeviceReset());
  which = 1;
  ASSERT_EQ(hipSuccess, soft::submit(nullptr, kThrow, &which, sizeof which));
  EXPECT_EQ(hipErrorLaunchOutOfResources, soft::synchronize(nullptr));
  ASSERT_EQ(hipSuccess, soft_hipDeviceReset());
  ASSERT_EQ(hipSuccess, soft::submit(nullptr, 999, nullptr, 0));
  EXPECT_EQ(hipErrorLaunchFailure, soft::synchronize(nullptr));
  ASSERT_EQ(hipSuccess, soft_hipDeviceReset());
  const Touch beyond{0x1000, 16, 0};
  ASSERT_EQ(hipSuccess, soft::submit(nullptr, kTouch, &beyond, sizeof beyond));
  EXPECT_EQ(hipErrorIllegalAddress, soft::synchronize(nullptr));
}

TEST_F(SoftEngine, computes_one_operation_at_a_time_on_any_number_of_streams) {
  most_running = 0;
  counted = 0;
  std::vector<hipStream_t> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(stream());
  for (int round = 0; round < 10; ++round)
    for (hipStream_t each : streams) ASSERT_EQ(hipSuccess, soft::submit(each, kCount, nullptr, 0));
  ASSERT_EQ(hipSuccess, soft_hipDeviceSynchronize());
  EXPECT_EQ(60, counted.load());
  EXPECT_EQ(1, most_running.load());
}

TEST_F(SoftEngine, light_commands_go_on_beside_a_computation) {
  hipStream_t heavy = stream();
  hipStream_t light = stream();
  void* p = nullptr;
  ASSERT_EQ(hipSuccess, soft::allocate(&p, 1 << 20));
  hold = true;
  ASSERT_EQ(hipSuccess, soft::submit(heavy, kHold, nullptr, 0));
  ASSERT_EQ(hipSuccess, soft_hipMemsetAsync(p, 1, 1 << 20, light));
  EXPECT_EQ(hipSuccess, soft_hipStreamSynchronize(light));
  EXPECT_EQ(hipErrorNotReady, soft_hipStreamQuery(heavy));
  hold = false;
  EXPECT_EQ(hipSuccess, soft_hipStreamSynchronize(heavy));
}

TEST_F(SoftEngine, an_endless_operation_is_a_lost_device) {
  hipStream_t heavy = stream();
  hold = true;
  ASSERT_EQ(hipSuccess, soft::submit(heavy, kHold, nullptr, 0));
  EXPECT_EQ(hipErrorLaunchTimeOut, soft_hipStreamSynchronize(heavy));
  EXPECT_EQ(hipErrorLaunchTimeOut, soft::submit(heavy, kCount, nullptr, 0));
  hold = false;
  ASSERT_EQ(hipSuccess, soft_hipDeviceReset());
  EXPECT_FALSE(soft::stream_is_live(heavy));
  EXPECT_EQ(hipSuccess, soft::submit(nullptr, kCount, nullptr, 0));
  EXPECT_EQ(hipSuccess, soft::synchronize(nullptr));
}

TEST_F(SoftEngine, rejects_bad_submissions) {
  char large[soft::wire::kMaxPayload + 1] = {};
  EXPECT_EQ(hipErrorInvalidValue, soft::submit(nullptr, kCount, large, sizeof large));
  EXPECT_EQ(hipErrorInvalidHandle, soft::submit(reinterpret_cast<hipStream_t>(large), kCount, nullptr, 0));
  hipStream_t gone = stream();
  ASSERT_EQ(hipSuccess, soft_hipStreamDestroy(gone));
  EXPECT_EQ(hipErrorInvalidHandle, soft::submit(gone, kCount, nullptr, 0));
  EXPECT_FALSE(soft::stream_is_live(gone));
  EXPECT_TRUE(soft::stream_is_live(nullptr));
}

}  // namespace
