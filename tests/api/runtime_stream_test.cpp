// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Streams, events and host functions through the CUDA runtime.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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

struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> passed{0};
};

void wait_at_gate(void* data) {
  Gate& gate = *static_cast<Gate*>(data);
  while (!gate.open.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++gate.passed;
}

TEST(RuntimeStream, maps_asynchronous_order) {
  cudaStream_t blocked = nullptr;
  cudaStream_t other = nullptr;
  OK(cudaStreamCreateWithFlags(&blocked, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  void* device = nullptr;
  void* host = nullptr;
  OK(cudaMalloc(&device, 4096));
  OK(cudaMallocHost(&host, 4096));
  std::memset(host, 0, 4096);
  Gate gate;
  OK(cudaLaunchHostFunc(blocked, wait_at_gate, &gate));
  OK(cudaMemsetAsync(device, 0x66, 4096, blocked));
  OK(cudaMemcpyAsync(host, device, 4096, cudaMemcpyDeviceToHost, blocked));
  EXPECT_EQ(static_cast<int>(cudaStreamQuery(blocked)), 600);
  EXPECT_EQ(static_cast<int>(cudaPeekAtLastError()), 0) << "not ready is no error";
  OK(cudaStreamSynchronize(other));
  EXPECT_EQ(static_cast<unsigned char*>(host)[0], 0);
  cudaEvent_t done = nullptr;
  OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  OK(cudaEventRecord(done, blocked));
  OK(cudaStreamWaitEvent(other, done, 0));
  EXPECT_EQ(static_cast<int>(cudaEventQuery(done)), 600);
  EXPECT_EQ(static_cast<int>(cudaStreamQuery(other)), 600) << "waits for the event";
  gate.open = true;
  OK(cudaStreamSynchronize(other));
  OK(cudaEventQuery(done));
  OK(cudaStreamQuery(blocked));
  EXPECT_EQ(gate.passed.load(), 1);
  EXPECT_EQ(static_cast<unsigned char*>(host)[4095], 0x66);
  OK(cudaEventDestroy(done));
  OK(cudaStreamDestroy(blocked));
  OK(cudaStreamDestroy(other));
  OK(cudaFree(device));
  OK(cudaFreeHost(host));
}

struct Called {
  std::atomic<int> calls{0};
  cudaStream_t stream = nullptr;
  int status = -1;
};

void note_call(cudaStream_t stream, cudaError_t status, void* data) {
  Called& called = *static_cast<Called*>(data);
  called.stream = stream;
  called.status = static_cast<int>(status);
  ++called.calls;
}

TEST(RuntimeStream, maps_callbacks) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  Called called;
  OK(cudaStreamAddCallback(stream, note_call, &called, 0));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(called.calls.load(), 1);
  EXPECT_EQ(called.stream, stream);
  EXPECT_EQ(called.status, 0);
  GIVES(1, cudaStreamAddCallback(stream, note_call, &called, 1));
  GIVES(1, cudaStreamAddCallback(stream, nullptr, &called, 0));
  GIVES(1, cudaLaunchHostFunc(stream, nullptr, nullptr));
  OK(cudaStreamDestroy(stream));
}

TEST(RuntimeStream, maps_default_streams) {
  int value = 0;
  unsigned flags = 9;
  for (cudaStream_t stream :
       {cudaStream_t{nullptr}, reinterpret_cast<cudaStream_t>(1), reinterpret_cast<cudaStream_t>(2)}) {
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamGetPriority(stream, &value));
    OK(cudaStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, 0u);
    GIVES(400, cudaStreamDestroy(stream));
  }
}

TEST(RuntimeStream, maps_priorities) {
  int least = 9;
  int greatest = 9;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  for (int asked : {0, -1, -100, 100}) {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked));
    int got = 77;
    OK(cudaStreamGetPriority(stream, &got));
    EXPECT_EQ(got, asked > 0 ? 0 : asked < greatest ? greatest : asked);
    unsigned flags = 0;
    OK(cudaStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
    OK(cudaStreamDestroy(stream));
  }
}

TEST(RuntimeStream, maps_stream_pools) {
  std::vector<cudaStream_t> streams(128);
  const auto begin = std::chrono::steady_clock::now();
  for (cudaStream_t& stream : streams) OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(ms, 500) << "PyTorch creates 128 streams at its first use of one";
  unsigned long long first = 0;
  unsigned long long second = 0;
  OK(cudaStreamGetId(streams[0], &first));
  OK(cudaStreamGetId(streams[1], &second));
  EXPECT_NE(first, second);
  for (cudaStream_t stream : streams) OK(cudaStreamDestroy(stream));
}

TEST(RuntimeStream, maps_capture_questions) {
  auto status = static_cast<cudaStreamCaptureStatus>(9);
  OK(cudaStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(static_cast<int>(status), 0);
  unsigned long long id = 5;
  status = static_cast<cudaStreamCaptureStatus>(9);
  OK(cudaStreamGetCaptureInfo(nullptr, &status, &id));
  EXPECT_EQ(static_cast<int>(status), 0);
  OK(cudaStreamGetCaptureInfo_v2(nullptr, &status, &id, nullptr, nullptr, nullptr));
  auto mode = static_cast<cudaStreamCaptureMode>(2);
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(static_cast<int>(mode), 0);
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(static_cast<int>(mode), 2);
  mode = static_cast<cudaStreamCaptureMode>(3);
  GIVES(1, cudaThreadExchangeStreamCaptureMode(&mode));
}

TEST(RuntimeStream, traps_captures) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  EXPECT_EQ(static_cast<int>(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)), 801);
  EXPECT_EQ(static_cast<int>(cudaGetLastError()), 801) << "a refused runtime function is the last error";
  EXPECT_EQ(static_cast<int>(cudaGetLastError()), 0);
  OK(cudaStreamDestroy(stream));
}

TEST(RuntimeStream, rejects_bad_streams) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamDestroy(stream));
  cudaEvent_t event = nullptr;
  OK(cudaEventCreate(&event));
  int priority = 0;
  int local = 0;
  for (cudaStream_t bad : {stream, reinterpret_cast<cudaStream_t>(event), reinterpret_cast<cudaStream_t>(&local),
                           reinterpret_cast<cudaStream_t>(0x1234), reinterpret_cast<cudaStream_t>(~std::uint64_t{0})}) {
    GIVES(400, cudaStreamSynchronize(bad));
    GIVES(400, cudaStreamQuery(bad));
    GIVES(400, cudaStreamDestroy(bad));
    GIVES(400, cudaStreamGetPriority(bad, &priority));
    GIVES(400, cudaEventRecord(event, bad));
    GIVES(400, cudaStreamWaitEvent(bad, event, 0));
    GIVES(400, cudaLaunchHostFunc(bad, wait_at_gate, nullptr));
  }
  GIVES(1, cudaStreamCreate(nullptr));
  GIVES(1, cudaStreamCreateWithFlags(&stream, 2));
  OK(cudaEventDestroy(event));
}

TEST(RuntimeEvent, maps_elapsed_time) {
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  cudaEvent_t untimed = nullptr;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  OK(cudaEventRecord(start, nullptr));
  Gate gate;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    gate.open = true;
  });
  OK(cudaLaunchHostFunc(nullptr, wait_at_gate, &gate));
  OK(cudaEventRecord(end, nullptr));
  float ms = -1;
  EXPECT_EQ(static_cast<int>(cudaEventElapsedTime(&ms, start, end)), 600);
  OK(cudaEventSynchronize(end));
  opener.join();
  OK(cudaEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 20.0f);
  EXPECT_LT(ms, 10000.0f);
  GIVES(400, cudaEventElapsedTime(&ms, start, untimed));
  GIVES(1, cudaEventElapsedTime(nullptr, start, end));
  OK(cudaEventDestroy(start));
  OK(cudaEventDestroy(end));
  OK(cudaEventDestroy(untimed));
}

TEST(RuntimeEvent, rejects_bad_events) {
  cudaEvent_t event = nullptr;
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaEventCreate(&event));
  OK(cudaEventDestroy(event));
  float ms = 0;
  for (cudaEvent_t bad :
       {event, cudaEvent_t{nullptr}, reinterpret_cast<cudaEvent_t>(stream), reinterpret_cast<cudaEvent_t>(0x77)}) {
    GIVES(400, cudaEventRecord(bad, nullptr));
    GIVES(400, cudaEventQuery(bad));
    GIVES(400, cudaEventSynchronize(bad));
    GIVES(400, cudaEventDestroy(bad));
    GIVES(400, cudaStreamWaitEvent(nullptr, bad, 0));
    GIVES(400, cudaEventElapsedTime(&ms, bad, bad));
  }
  GIVES(1, cudaEventCreateWithFlags(&event, 8));
  GIVES(1, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  GIVES(1, cudaEventCreate(nullptr));
  OK(cudaStreamDestroy(stream));
}

TEST(RuntimeEvent, maps_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        cudaStream_t stream = nullptr;
        cudaEvent_t event = nullptr;
        if (cudaStreamCreate(&stream) != cudaSuccess) ++wrong;
        if (cudaEventCreate(&event) != cudaSuccess) ++wrong;
        if (cudaEventRecord(event, stream) != cudaSuccess) ++wrong;
        if (cudaEventSynchronize(event) != cudaSuccess) ++wrong;
        if (cudaEventDestroy(event) != cudaSuccess) ++wrong;
        if (cudaStreamDestroy(stream) != cudaSuccess) ++wrong;
        if (static_cast<int>(cudaStreamDestroy(stream)) == 0) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
