// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Streams, events, host functions and callbacks of the software device; device properties and profiles.
#include <cstring>

#include "tests/soft/hip_support.hpp"

namespace {

using hip_test::eventually;
using hip_test::Gate;

struct Streams {
  Streams() {
    EXPECT_EQ(hipSuccess, hipStreamCreateWithFlags(&a, hip_test::kNonBlocking));
    EXPECT_EQ(hipSuccess, hipStreamCreateWithFlags(&b, hip_test::kNonBlocking));
    EXPECT_EQ(hipSuccess, hipMalloc(&memory, 1 << 20));
  }
  ~Streams() {
    EXPECT_EQ(hipSuccess, hipStreamDestroy(a));
    EXPECT_EQ(hipSuccess, hipStreamDestroy(b));
    EXPECT_EQ(hipSuccess, hipFree(memory));
  }
  hipStream_t a = nullptr;
  hipStream_t b = nullptr;
  void* memory = nullptr;
};

TEST(HipStream, a_blocked_stream_holds_only_itself) {
  Streams s;
  Gate gate;
  HIP_OK(hipLaunchHostFunc(s.a, &Gate::wait, &gate));
  const double ms = hip_test::milliseconds([&] { HIP_OK(hipMemsetAsync(s.memory, 1, 4096, s.a)); });
  EXPECT_LT(ms, 20);
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(s.a));
  EXPECT_EQ(hipSuccess, hipPeekAtLastError());  // 600 is not an error that stays
  HIP_OK(hipMemsetAsync(s.memory, 2, 4096, s.b));
  HIP_OK(hipStreamSynchronize(s.b));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(s.a));
  gate.wait_entered();
  gate.open();
  HIP_OK(hipStreamSynchronize(s.a));
  HIP_OK(hipStreamQuery(s.a));
}

TEST(HipStream, host_functions_of_different_streams_run_beside_each_other) {
  std::vector<hipStream_t> streams(8);
  std::vector<Gate> gates(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    HIP_OK(hipStreamCreateWithFlags(&streams[i], hip_test::kNonBlocking));
    HIP_OK(hipLaunchHostFunc(streams[i], &Gate::wait, &gates[i]));
  }
  for (const Gate& gate : gates) EXPECT_TRUE(eventually([&] { return gate.entered(); }, 2000));
  for (Gate& gate : gates) gate.open();
  HIP_OK(hipDeviceSynchronize());
  for (hipStream_t stream : streams) HIP_OK(hipStreamDestroy(stream));
}

TEST(HipStream, order_holds_within_a_stream) {
  Streams s;
  static std::vector<int> seen;
  seen.clear();
  static int numbers[200];
  for (int i = 0; i < 200; ++i) {
    numbers[i] = i;
    HIP_OK(hipLaunchHostFunc(
        s.a, [](void* n) { seen.push_back(*static_cast<int*>(n)); }, &numbers[i]));
    HIP_OK(hipMemsetAsync(s.memory, i, 64, s.a));
  }
  HIP_OK(hipStreamSynchronize(s.a));
  ASSERT_EQ(200u, seen.size());
  for (int i = 0; i < 200; ++i) EXPECT_EQ(i, seen[static_cast<std::size_t>(i)]);
}

TEST(HipStream, the_default_stream_waits_for_blocking_streams_only) {
  hipStream_t blocking = nullptr;
  HIP_OK(hipStreamCreate(&blocking));
  Streams s;
  Gate gate;
  HIP_OK(hipLaunchHostFunc(s.a, &Gate::wait, &gate));  // non-blocking: does not hold the default stream
  HIP_OK(hipMemsetAsync(s.memory, 1, 64, nullptr));
  HIP_OK(hipStreamSynchronize(nullptr));
  gate.open();
  HIP_OK(hipDeviceSynchronize());

  Gate second;
  HIP_OK(hipLaunchHostFunc(blocking, &Gate::wait, &second));
  HIP_OK(hipMemsetAsync(s.memory, 2, 64, nullptr));
  second.wait_entered();
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(nullptr));
  second.open();
  HIP_OK(hipStreamSynchronize(nullptr));

  Gate third;
  HIP_OK(hipLaunchHostFunc(nullptr, &Gate::wait, &third));
  HIP_OK(hipMemsetAsync(s.memory, 3, 64, blocking));
  third.wait_entered();
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(blocking));
  third.open();
  HIP_OK(hipStreamSynchronize(blocking));
  HIP_OK(hipStreamDestroy(blocking));
}

TEST(HipStream, an_event_orders_two_streams) {
  Streams s;
  hipEvent_t event = nullptr;
  HIP_OK(hipEventCreate(&event));
  HIP_OK(hipEventQuery(event));  // never recorded: complete
  Gate gate;
  HIP_OK(hipLaunchHostFunc(s.a, &Gate::wait, &gate));
  HIP_OK(hipMemsetAsync(s.memory, 5, 64, s.a));
  HIP_OK(hipEventRecord(event, s.a));
  HIP_OK(hipStreamWaitEvent(s.b, event, 0));
  // A later record on another stream does not change what was waited for.
  hipStream_t c = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&c, hip_test::kNonBlocking));
  HIP_OK(hipEventRecord(event, c));
  HIP_OK(hipStreamSynchronize(c));
  void* pinned = nullptr;
  HIP_OK(hipHostMalloc(&pinned, 64, 0));
  HIP_OK(hipMemcpyAsync(pinned, s.memory, 64, hipMemcpyDeviceToHost, s.b));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(s.b));
  gate.open();
  HIP_OK(hipStreamSynchronize(s.b));
  EXPECT_EQ(5, static_cast<char*>(pinned)[63]);
  HIP_OK(hipHostFree(pinned));
  HIP_OK(hipEventDestroy(event));
  HIP_OK(hipStreamDestroy(c));
}

TEST(HipStream, events_measure_time) {
  Streams s;
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
  hipEvent_t untimed = nullptr;
  HIP_OK(hipEventCreate(&start));
  HIP_OK(hipEventCreate(&stop));
  HIP_OK(hipEventCreateWithFlags(&untimed, 2));
  float ms = -1;
  EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, stop));
  HIP_OK(hipEventRecord(start, s.a));
  HIP_OK(hipLaunchHostFunc(
      s.a, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }, nullptr));
  HIP_OK(hipEventRecord(stop, s.a));
  EXPECT_EQ(hipErrorNotReady, hipEventElapsedTime(&ms, start, stop));
  HIP_OK(hipEventSynchronize(stop));
  HIP_OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT_GE(ms, 29.0f);
  EXPECT_LT(ms, 2000.0f);
  HIP_OK(hipEventElapsedTime(&ms, stop, start));
  EXPECT_LE(ms, -29.0f);
  HIP_OK(hipEventRecord(untimed, s.a));
  HIP_OK(hipEventSynchronize(untimed));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, untimed));
  for (hipEvent_t event : {start, stop, untimed}) HIP_OK(hipEventDestroy(event));
}

TEST(HipStream, callbacks_get_stream_and_status) {
  Streams s;
  struct Seen {
    hipStream_t stream = nullptr;
    hipError_t status = hipErrorUnknown;
  } seen;
  HIP_OK(hipStreamAddCallback(
      s.a,
      [](hipStream_t stream, hipError_t status, void* out) {
        *static_cast<Seen*>(out) = Seen{stream, status};
      },
      &seen, 0));
  HIP_OK(hipStreamSynchronize(s.a));
  EXPECT_EQ(s.a, seen.stream);
  EXPECT_EQ(hipSuccess, seen.status);
  EXPECT_EQ(hipErrorInvalidValue, hipStreamAddCallback(s.a, nullptr, nullptr, 0));
  EXPECT_EQ(hipErrorInvalidValue, hipLaunchHostFunc(s.a, nullptr, nullptr));
}

TEST(HipStream, many_streams_and_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&wrong, t] {
      const auto check = [&wrong](hipError_t error) { wrong += error != hipSuccess; };
      for (int round = 0; round < 20; ++round) {
        hipStream_t stream = nullptr;
        hipEvent_t event = nullptr;
        void* p = nullptr;
        unsigned char* pinned = nullptr;
        check(hipStreamCreateWithFlags(&stream, round % 2));
        check(hipEventCreate(&event));
        check(hipMalloc(&p, 8192));
        check(hipHostMalloc(reinterpret_cast<void**>(&pinned), 8192, 0));
        for (int i = 0; i < 20; ++i) {
          check(hipMemsetAsync(p, 10 * t + i, 8192, stream));
          check(hipEventRecord(event, stream));
          check(hipStreamWaitEvent(hip_test::kPerThread, event, 0));
          check(hipMemcpyAsync(pinned, p, 8192, hipMemcpyDeviceToHost, hip_test::kPerThread));
          check(hipStreamSynchronize(hip_test::kPerThread));
          if (pinned[0] != 10 * t + i || pinned[8191] != 10 * t + i) ++wrong;
        }
        check(hipStreamDestroy(stream));
        check(hipEventDestroy(event));
        check(hipFree(p));
        check(hipHostFree(pinned));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(0, wrong.load());
}

TEST(HipStream, a_full_ring_makes_the_program_wait_not_fail) {
  Streams s;
  for (int i = 0; i < 20'000; ++i) HIP_OK(hipMemsetAsync(s.memory, i, 16, s.a));
  HIP_OK(hipStreamSynchronize(s.a));
  char bytes[16];
  HIP_OK(hipMemcpy(bytes, s.memory, 16, hipMemcpyDeviceToHost));
  EXPECT_EQ(static_cast<char>(19'999), bytes[0]);
}

TEST(HipStream, rejects_freed_and_foreign_handles) {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipEventCreate(&event));
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipEventDestroy(event));
  char word[64] = {};
  for (void* bad : {static_cast<void*>(stream), static_cast<void*>(event), static_cast<void*>(word),
                    reinterpret_cast<void*>(0x10)}) {
    const auto s = static_cast<hipStream_t>(bad);
    const auto e = static_cast<hipEvent_t>(bad);
    int number = 0;
    unsigned flags = 0;
    float ms = 0;
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamDestroy(s));
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamQuery(s));
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamSynchronize(s));
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamGetFlags(s, &flags));
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamGetPriority(s, &number));
    EXPECT_EQ(hipErrorInvalidHandle, hipLaunchHostFunc(s, &Gate::wait, nullptr));
    EXPECT_EQ(hipErrorInvalidHandle, hipMemsetAsync(word, 0, 1, s));
    EXPECT_EQ(hipErrorInvalidHandle, hipEventDestroy(e));
    EXPECT_EQ(hipErrorInvalidHandle, hipEventQuery(e));
    EXPECT_EQ(hipErrorInvalidHandle, hipEventSynchronize(e));
    EXPECT_EQ(hipErrorInvalidHandle, hipEventRecord(e, nullptr));
    EXPECT_EQ(hipErrorInvalidHandle, hipStreamWaitEvent(nullptr, e, 0));
    EXPECT_EQ(hipErrorInvalidHandle, hipEventElapsedTime(&ms, e, e));
  }
  EXPECT_EQ(hipErrorInvalidHandle, hipEventQuery(nullptr));
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamDestroy(nullptr));
  EXPECT_EQ(hipErrorInvalidValue, hipStreamCreateWithFlags(&stream, 2));
  EXPECT_EQ(hipErrorInvalidValue, hipEventCreateWithFlags(&event, 8));
  EXPECT_EQ(hipErrorInvalidValue, hipStreamCreate(nullptr));
}

TEST(HipStream, a_destroyed_stream_still_does_its_work) {
  Streams s;
  hipStream_t gone = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&gone, hip_test::kNonBlocking));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(gone, &Gate::wait, &gate));
  HIP_OK(hipMemsetAsync(s.memory, 0x44, 64, gone));
  HIP_OK(hipStreamDestroy(gone));
  gate.open();
  HIP_OK(hipDeviceSynchronize());
  char bytes[64];
  HIP_OK(hipMemcpy(bytes, s.memory, 64, hipMemcpyDeviceToHost));
  EXPECT_EQ(0x44, bytes[63]);
}

TEST(HipStream, captures_and_code_objects_are_refused) {
  Streams s;
  hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
  HIP_OK(hipStreamIsCapturing(s.a, &status));
  EXPECT_EQ(hipStreamCaptureStatusNone, status);
  EXPECT_EQ(hipErrorNotSupported, hipStreamBeginCapture(s.a, hipStreamCaptureModeGlobal));
  hipModule_t module = nullptr;
  EXPECT_EQ(hipErrorNoBinaryForGpu, hipModuleLoadData(&module,
                                                      "\x7f"
                                                      "ELF"));
  EXPECT_EQ(hipErrorInvalidValue, hipModuleLoadData(&module, nullptr));
  EXPECT_EQ(hipErrorInvalidHandle, hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(&module), 1, 1, 1, 1, 1, 1, 0,
                                                         s.a, nullptr, nullptr));
}

// ---- devices -------------------------------------------------------------------------------------------------------

TEST(HipDevice, maps_the_default_profile) {
  RUN_ALONE({"ROCBRIDGE_ARCH", "gfx1200"});
  HIP_OK(hipInit(0));
  int count = 0;
  HIP_OK(hipGetDeviceCount(&count));
  EXPECT_EQ(1, count);
  hipDeviceProp_tR0600 p;
  std::memset(&p, 0xff, sizeof p);
  HIP_OK(hipGetDevicePropertiesR0600(&p, 0));
  EXPECT_STREQ("gfx1200", p.gcnArchName);
  EXPECT_STREQ("AMD Radeon RX 9060 XT", p.name);
  EXPECT_EQ(32, p.warpSize);
  EXPECT_EQ(65536u, p.sharedMemPerBlock);
  std::size_t total = 0;
  HIP_OK(hipDeviceTotalMem(&total, 0));
  EXPECT_EQ(total, p.totalGlobalMem);
  hipDeviceProp_tR0000 old;
  HIP_OK(hipGetDevicePropertiesR0000(&old, 0));
  EXPECT_STREQ(p.name, old.name);
  EXPECT_EQ(p.multiProcessorCount, old.multiProcessorCount);
  int value = 0;
  HIP_OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  EXPECT_EQ(32, value);
  EXPECT_EQ(hipErrorInvalidValue, hipDeviceGetAttribute(&value, hipDeviceAttributeTccDriver, 0));
  EXPECT_EQ(hipErrorInvalidValue, hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(12345), 0));
  EXPECT_EQ(hipErrorInvalidDevice, hipSetDevice(1));
  EXPECT_EQ(hipErrorInvalidDevice, hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, -1));
  EXPECT_EQ(0, hip_test::engine_of(getpid()));  // nothing was started for questions
}

TEST(HipDevice, maps_wave64_where_the_card_can) {
  RUN_ALONE({"ROCBRIDGE_ARCH", "gfx1100"}, {"ROCBRIDGE_WAVE", "64"});
  hipDeviceProp_tR0600 p;
  HIP_OK(hipGetDevicePropertiesR0600(&p, 0));
  EXPECT_STREQ("gfx1100", p.gcnArchName);
  EXPECT_EQ(64, p.warpSize);
}

TEST(HipDevice, rejects_wave32_on_gfx90a) {
  RUN_ALONE({"ROCBRIDGE_ARCH", "gfx90a"}, {"ROCBRIDGE_WAVE", "32"});
  int count = 7;
  EXPECT_EQ(hipErrorNoDevice, hipInit(0));
  EXPECT_EQ(hipErrorNoDevice, hipGetDeviceCount(&count));
  EXPECT_EQ(0, count);
  void* p = nullptr;
  EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16));
}

TEST(HipDevice, rejects_unknown_targets) {
  RUN_ALONE({"ROCBRIDGE_ARCH", "gfx803"});
  EXPECT_EQ(hipErrorNoDevice, hipInit(0));
}

TEST(HipDevice, memory_setting_limits_the_device) {
  RUN_ALONE({"ROCBRIDGE_SOFT_MEMORY", "67108864"});
  std::size_t left = 0;
  std::size_t total = 0;
  HIP_OK(hipMemGetInfo(&left, &total));
  EXPECT_EQ(std::size_t{64} << 20, total);
  void* p = nullptr;
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&p, total + 1));
  HIP_OK(hipMalloc(&p, total));
  EXPECT_EQ(hipErrorOutOfMemory, hipGetLastError());
  HIP_OK(hipMemset(p, 1, total));
  HIP_OK(hipDeviceSynchronize());
  EXPECT_EQ(hipErrorOutOfMemory, hipMalloc(&p, 1));
}

TEST(HipDevice, contexts_are_the_primary_one) {
  hipCtx_t context = nullptr;
  hipCtx_t current = nullptr;
  HIP_OK(hipCtxGetCurrent(&current));
  EXPECT_EQ(nullptr, current);
  HIP_OK(hipDevicePrimaryCtxRetain(&context, 0));
  HIP_OK(hipCtxPushCurrent(context));
  HIP_OK(hipCtxGetCurrent(&current));
  EXPECT_EQ(context, current);
  HIP_OK(hipCtxPopCurrent(&current));
  EXPECT_EQ(hipErrorInvalidContext, hipCtxPopCurrent(&current));
  EXPECT_EQ(hipErrorInvalidContext, hipCtxPushCurrent(reinterpret_cast<hipCtx_t>(&context)));
}

TEST(HipDevice, names_errors) {
  EXPECT_STREQ("hipErrorInvalidValue", hipGetErrorName(hipErrorInvalidValue));
  EXPECT_STREQ("hipErrorOutOfMemory", hipGetErrorName(hipErrorOutOfMemory));
  EXPECT_STREQ("device not ready", hipGetErrorString(hipErrorNotReady));
  EXPECT_STREQ("hipErrorUnknown", hipGetErrorName(static_cast<hipError_t>(12345)));
}

}  // namespace
