// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The software device as a process: started at first use, gone with its program, and never a hang when it dies.
#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/os.hpp"
#include "tests/soft/hip_support.hpp"

namespace {

using hip_test::engine_of;
using hip_test::eventually;
using hip_test::Gate;
using hip_test::is_running;

/// Within this time a waiter must come back from a dead device.
constexpr double kBoundMs = 2000;

TEST(HipProcess, is_started_at_the_first_use_of_the_device) {
  RUN_ALONE();
  EXPECT_EQ(0, engine_of(getpid()));
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 16));
  const int engine = engine_of(getpid());
  EXPECT_NE(0, engine);
  // It is not our child, so a program that waits for its children does not wait for it.
  EXPECT_EQ(-1, waitpid(-1, nullptr, WNOHANG));
  EXPECT_EQ(ECHILD, errno);
  // It holds no standard output of ours.
  const std::string its = std::filesystem::read_symlink("/proc/" + std::to_string(engine) + "/fd/1");
  EXPECT_EQ(its, std::string(std::filesystem::read_symlink("/proc/self/fd/2")));
}

TEST(HipProcess, a_killed_engine_is_an_error_for_waiters_and_later_calls) {
  RUN_ALONE();
  hipStream_t stream = nullptr;
  hipStream_t other = nullptr;
  hipEvent_t event = nullptr;
  void* p = nullptr;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipStreamCreateWithFlags(&other, hip_test::kNonBlocking));
  HIP_OK(hipEventCreate(&event));
  HIP_OK(hipMalloc(&p, 4096));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &gate));
  HIP_OK(hipEventRecord(event, stream));
  std::vector<std::thread> waiters;
  std::atomic<int> right{0};
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] {
      const hipError_t error = i == 0   ? hipStreamSynchronize(stream)
                               : i == 1 ? hipEventSynchronize(event)
                                        : hipDeviceSynchronize();
      right += error == hipErrorLaunchFailure;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double ms = hip_test::milliseconds([&] {
    kill(engine_of(getpid()), SIGKILL);
    for (auto& waiter : waiters) waiter.join();
  });
  EXPECT_EQ(3, right.load());
  EXPECT_LT(ms, kBoundMs);
  gate.open();
  EXPECT_EQ(hipErrorLaunchFailure, hipMemsetAsync(p, 0, 16, other));
  EXPECT_EQ(hipErrorLaunchFailure, hipStreamSynchronize(other));
  EXPECT_EQ(hipErrorLaunchFailure, hipStreamQuery(stream));
  EXPECT_EQ(hipErrorLaunchFailure, hipMalloc(&p, 16));
  EXPECT_EQ(hipErrorLaunchFailure, hipFree(p));
  EXPECT_EQ(hipErrorLaunchFailure, hipGetLastError());
  // A call notices by itself, too, without a waiter.
  HIP_OK(hipDeviceReset());
  HIP_OK(hipMalloc(&p, 16));
  kill(engine_of(getpid()), SIGKILL);
  char byte = 0;
  EXPECT_TRUE(eventually([&] { return hipMemcpy(&byte, p, 1, hipMemcpyDeviceToHost) == hipErrorLaunchFailure; }, 2000));
  // Reset brings a new device; what belonged to the old one is gone.
  HIP_OK(hipDeviceReset());
  EXPECT_EQ(hipErrorInvalidHandle, hipStreamQuery(stream));
  EXPECT_EQ(hipErrorInvalidHandle, hipEventQuery(event));
  char bytes[16];
  HIP_OK(hipMalloc(&p, 16));
  HIP_OK(hipMemset(p, 3, 16));
  HIP_OK(hipMemcpy(bytes, p, 16, hipMemcpyDeviceToHost));
  EXPECT_EQ(3, bytes[15]);
}

TEST(HipProcess, a_poll_notices_a_killed_engine) {
  RUN_ALONE();
  hipStream_t stream = nullptr;
  HIP_OK(hipStreamCreate(&stream));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &gate));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(stream));
  kill(engine_of(getpid()), SIGKILL);
  EXPECT_TRUE(eventually([&] { return hipStreamQuery(stream) == hipErrorLaunchFailure; }, 2000));
  gate.open();
}

TEST(HipProcess, a_stopped_engine_is_given_up) {
  RUN_ALONE();
  hipStream_t stream = nullptr;
  void* p = nullptr;
  HIP_OK(hipStreamCreate(&stream));
  HIP_OK(hipMalloc(&p, 4096));
  HIP_OK(hipDeviceSynchronize());
  const int engine = engine_of(getpid());
  kill(engine, SIGSTOP);
  HIP_OK(hipMemsetAsync(p, 1, 16, stream));
  const double ms = hip_test::milliseconds([&] { EXPECT_EQ(hipErrorLaunchTimeOut, hipStreamSynchronize(stream)); });
  EXPECT_LT(ms, 20'000);
  EXPECT_TRUE(eventually([&] { return !is_running(engine); }, 2000));
}

TEST(HipProcess, the_watchdog_ends_a_stuck_operation) {
  RUN_ALONE({"ROCBRIDGE_SOFT_FAULT", "stuck"}, {"ROCBRIDGE_SOFT_WATCHDOG_MS", "300"});
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  const int engine = engine_of(getpid());
  HIP_OK(hipMemsetAsync(p, 1, 4096, nullptr));
  const double ms = hip_test::milliseconds([&] { EXPECT_EQ(hipErrorLaunchTimeOut, hipDeviceSynchronize()); });
  EXPECT_GT(ms, 250);
  EXPECT_LT(ms, kBoundMs);
  EXPECT_EQ(hipErrorLaunchTimeOut, hipMemsetAsync(p, 1, 4096, nullptr));
  EXPECT_TRUE(eventually([&] { return !is_running(engine); }, 2000));
}

/// What the programs of the next test do: use the device, tell its number, and end or stay.
void use_device_and_report(const char* report, bool stay) {
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  HIP_OK(hipMemset(p, 1, 4096));
  HIP_OK(hipDeviceSynchronize());
  const int engine = engine_of(getpid());
  ASSERT_EQ(static_cast<ssize_t>(sizeof engine), write(std::atoi(report), &engine, sizeof engine));
  if (stay) pause();
}

TEST(HipProcess, questions_start_no_thread_and_map_nothing) {
  RUN_ALONE();
  hipDeviceProp_tR0600 properties;
  HIP_OK(hipInit(0));
  HIP_OK(hipGetDevicePropertiesR0600(&properties, 0));
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipFree(nullptr));
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  EXPECT_EQ(1, std::distance(begin(tasks), end(tasks)));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(std::string::npos, line.find("memfd:rocbridge")) << line;
}

TEST(HipProcess, a_program_may_end_with_work_in_flight) {
  if (hip_test::is_alone()) {
    static Gate& never = *new Gate;
    void* p = nullptr;
    hipStream_t stream = nullptr;
    HIP_OK(hipMalloc(&p, 4096));
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipLaunchHostFunc(stream, &Gate::wait, &never));
    HIP_OK(hipMemsetAsync(p, 1, 4096, stream));
    never.wait_entered();
    return;
  }
  const double ms = hip_test::milliseconds([] {
    EXPECT_EQ(0,
              hip_test::exit_code(hip_test::start_test_alone("HipProcess.a_program_may_end_with_work_in_flight", {})));
  });
  EXPECT_LT(ms, kBoundMs);
}

TEST(HipProcess, a_crashed_engine_is_an_error) {
  RUN_ALONE({"ROCBRIDGE_SOFT_FAULT", "crash"});
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  HIP_OK(hipMemsetAsync(p, 1, 4096, nullptr));
  const double ms = hip_test::milliseconds([&] { EXPECT_EQ(hipErrorLaunchFailure, hipDeviceSynchronize()); });
  EXPECT_LT(ms, kBoundMs);
}

TEST(HipProcess, survives_a_program_that_closes_its_descriptors) {
  RUN_ALONE();
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  for (int fd = 3; fd < 64; ++fd) close(fd);
  ASSERT_GE(open("/dev/null", O_RDONLY), 0);  // readable for ever, where the device's handle was
  HIP_OK(hipMemset(p, 1, 4096));
  Gate gate;
  HIP_OK(hipLaunchHostFunc(nullptr, &Gate::wait, &gate));
  std::thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    gate.open();
  }).detach();
  HIP_OK(hipDeviceSynchronize());
}

TEST(HipProcess, is_gone_when_its_program_ends) {
  if (const char* report = getenv("ROCBRIDGE_TEST_REPORT")) {
    use_device_and_report(report, getenv("ROCBRIDGE_TEST_STAY") != nullptr);
    return;
  }
  for (const bool killed : {false, true}) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    std::vector<std::pair<std::string, std::string>> environment{{"ROCBRIDGE_TEST_REPORT", std::to_string(ends[1])}};
    if (killed) environment.emplace_back("ROCBRIDGE_TEST_STAY", "1");
    const pid_t child = hip_test::start_test_alone("HipProcess.is_gone_when_its_program_ends", environment);
    close(ends[1]);
    int engine = 0;
    ASSERT_EQ(static_cast<ssize_t>(sizeof engine), read(ends[0], &engine, sizeof engine));
    EXPECT_NE(0, engine);
    if (killed) {
      EXPECT_TRUE(is_running(engine));
      kill(child, SIGKILL);
    }
    hip_test::exit_code(child);
    // The program's end of the pipe was open over exec; the device does not hold it.
    EXPECT_EQ(0, read(ends[0], &engine, 1));
    close(ends[0]);
    EXPECT_TRUE(eventually([&] { return !is_running(engine); }, 2000));
  }
}

TEST(HipProcess, two_programs_have_two_devices) {
  if (!hip_test::is_alone()) {
    const pid_t first = hip_test::start_test_alone("HipProcess.two_programs_have_two_devices", {});
    const pid_t second = hip_test::start_test_alone("HipProcess.two_programs_have_two_devices", {});
    EXPECT_EQ(0, hip_test::exit_code(first));
    EXPECT_EQ(0, hip_test::exit_code(second));
    return;
  }
  std::vector<int> back(1 << 16);
  void* p = nullptr;
  HIP_OK(hipMalloc(&p, back.size() * 4));
  for (int i = 0; i < 50; ++i) {
    HIP_OK(hipMemsetD32Async(p, getpid() + i, back.size(), nullptr));
    HIP_OK(hipMemcpy(back.data(), p, back.size() * 4, hipMemcpyDeviceToHost));
    ASSERT_EQ(static_cast<std::ptrdiff_t>(back.size()), std::count(back.begin(), back.end(), getpid() + i));
  }
}

TEST(HipProcess, a_forked_child_is_refused_and_the_parent_goes_on) {
  RUN_ALONE();
  void* p = nullptr;
  hipStream_t stream = nullptr;
  HIP_OK(hipMalloc(&p, 4096));
  HIP_OK(hipStreamCreate(&stream));
  const pid_t child = fork();
  if (child == 0) {
    void* q = nullptr;
    char bytes[16];
    int bad = 0;
    bad += hipMalloc(&q, 16) != hipErrorNotInitialized;
    bad += hipFree(p) != hipErrorNotInitialized;
    bad += hipMemcpy(bytes, p, 16, hipMemcpyDeviceToHost) != hipErrorNotInitialized;
    bad += hipMemsetAsync(p, 0, 16, stream) != hipErrorNotInitialized;
    bad += hipStreamSynchronize(stream) != hipErrorNotInitialized;
    bad += hipDeviceSynchronize() != hipErrorNotInitialized;
    bad += hipDeviceReset() != hipErrorNotInitialized;
    bad += hipStreamDestroy(stream) != hipErrorNotInitialized;
    bad += hipEventQuery(nullptr) != hipErrorNotInitialized;
    _exit(bad);
  }
  EXPECT_EQ(0, hip_test::exit_code(child));
  HIP_OK(hipMemset(p, 1, 4096));
  HIP_OK(hipDeviceSynchronize());
}

TEST(HipProcess, a_missing_device_program_is_an_error_not_a_hang) {
  RUN_ALONE({"ROCBRIDGE_DEVICE_PROGRAM", "/nowhere/rocbridge-device"});
  void* p = nullptr;
  const double ms = hip_test::milliseconds([&] { EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16)); });
  EXPECT_LT(ms, kBoundMs);
  EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16));
}

TEST(HipProcess, a_device_program_that_fails_is_an_error_not_a_hang) {
  RUN_ALONE({"ROCBRIDGE_DEVICE_PROGRAM", "/bin/false"});
  void* p = nullptr;
  const double ms = hip_test::milliseconds([&] { EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16)); });
  EXPECT_LT(ms, kBoundMs);
}

TEST(HipProcess, an_inprocess_engine_is_refused_where_it_is_not_linked_in) {
  RUN_ALONE({"ROCBRIDGE_SOFT_ENGINE", "inprocess"});
  void* p = nullptr;
  EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16));
}

/// One value travels from stream to stream; with events each copy waits for the one before, without it may not. The
/// number of copies that saw the value.
int travel(bool with_events) {
  constexpr int kSteps = 60;
  hipStream_t streams[4];
  hipEvent_t event = nullptr;
  void* p = nullptr;
  EXPECT_EQ(hipSuccess, hipMalloc(&p, kSteps * 64));
  EXPECT_EQ(hipSuccess, hipEventCreateWithFlags(&event, 2));
  for (auto& stream : streams) EXPECT_EQ(hipSuccess, hipStreamCreateWithFlags(&stream, hip_test::kNonBlocking));
  std::vector<char> host(kSteps * 64, 0x21);
  EXPECT_EQ(hipSuccess, hipMemset(p, 0, kSteps * 64));
  EXPECT_EQ(hipSuccess, hipMemcpy(p, host.data(), 64, hipMemcpyHostToDevice));
  char* bytes = static_cast<char*>(p);
  for (int i = 1; i < kSteps; ++i) {
    hipStream_t stream = streams[i % 4];
    if (i > 1 && with_events) {
      EXPECT_EQ(hipSuccess, hipStreamWaitEvent(stream, event, 0));
    }
    EXPECT_EQ(hipSuccess, hipMemcpyAsync(bytes + 64 * i, bytes + 64 * (i - 1), 64, hipMemcpyDeviceToDevice, stream));
    EXPECT_EQ(hipSuccess, hipEventRecord(event, stream));
  }
  EXPECT_EQ(hipSuccess, hipDeviceSynchronize());
  EXPECT_EQ(hipSuccess, hipMemcpy(host.data(), p, host.size(), hipMemcpyDeviceToHost));
  int right = 0;
  for (int i = 0; i < kSteps; ++i) right += host[static_cast<std::size_t>(i) * 64 + 63] == 0x21;
  for (auto& stream : streams) EXPECT_EQ(hipSuccess, hipStreamDestroy(stream));
  EXPECT_EQ(hipSuccess, hipEventDestroy(event));
  EXPECT_EQ(hipSuccess, hipFree(p));
  return right;
}

TEST(HipProcess, the_adverse_scheduler_keeps_every_rule_and_shows_a_missing_one) {
  if (!hip_test::is_alone()) {
    for (const char* seed : {"1", "2", "3"})
      EXPECT_EQ(0, hip_test::exit_code(hip_test::start_test_alone(
                       "HipProcess.the_adverse_scheduler_keeps_every_rule_and_shows_a_missing_one",
                       {{"ROCBRIDGE_SOFT_SCHEDULE_SEED", seed}})));
    return;
  }
  EXPECT_EQ(60, travel(true));
  EXPECT_LT(travel(false), 60);
}

TEST(HipProcess, the_front_takes_little_memory) {
  RUN_ALONE();
  const std::uint64_t before = rb::os::resident_memory();
  void* p = nullptr;
  hipStream_t stream = nullptr;
  HIP_OK(hipMalloc(&p, std::size_t{64} << 20));
  HIP_OK(hipStreamCreate(&stream));
  for (int i = 0; i < 100; ++i) HIP_OK(hipMemsetAsync(p, i, std::size_t{64} << 20, stream));
  HIP_OK(hipStreamSynchronize(stream));
  const std::uint64_t after = rb::os::resident_memory();
  std::printf("resident memory of the front in use: %.1f MB\n", static_cast<double>(after - before) / 1e6);
  EXPECT_LT(after - before, std::uint64_t{8} << 20);
}

TEST(HipProcess, an_empty_operation_is_quick) {
  RUN_ALONE();
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  HIP_OK(hipStreamCreateWithFlags(&stream, hip_test::kNonBlocking));
  HIP_OK(hipEventCreateWithFlags(&event, 2));
  // The best of many rounds: the machine may be busy with other things.
  double best_us = 1e9;
  for (int round = 0; round < 50; ++round) {
    const double ms = hip_test::milliseconds([&] {
      for (int i = 0; i < 100; ++i) {
        HIP_OK(hipEventRecord(event, stream));
        HIP_OK(hipStreamSynchronize(stream));
      }
    });
    best_us = std::min(best_us, ms * 10);
  }
  std::printf("empty operation through front and engine: %.2f us\n", best_us);
  EXPECT_LT(best_us, 20.0);
}

}  // namespace
