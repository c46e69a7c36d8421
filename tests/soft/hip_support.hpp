// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the tests of the software device's HIP share. HIP's functions are declared here one by one: the tests are linked
// to libamdhip64.so like any HIP program, and AMD's header is not part of the project.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/hip.h"

extern "C" {
hipError_t hipInit(unsigned);
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetDevice(int*);
hipError_t hipSetDevice(int);
hipError_t hipDeviceGetName(char*, int, hipDevice_t);
hipError_t hipDeviceTotalMem(size_t*, hipDevice_t);
hipError_t hipDeviceGetAttribute(int*, hipDeviceAttribute_t, int);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600*, int);
hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000*, int);
hipError_t hipRuntimeGetVersion(int*);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorName(hipError_t);
const char* hipGetErrorString(hipError_t);
hipError_t hipMalloc(void**, size_t);
hipError_t hipFree(void*);
hipError_t hipHostMalloc(void**, size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipHostRegister(void*, size_t, unsigned);
hipError_t hipHostUnregister(void*);
hipError_t hipHostGetDevicePointer(void**, void*, unsigned);
hipError_t hipMallocManaged(void**, size_t, unsigned);
hipError_t hipMallocPitch(void**, size_t*, size_t, size_t);
hipError_t hipMallocAsync(void**, size_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipMemGetInfo(size_t*, size_t*);
hipError_t hipMemGetAddressRange(hipDeviceptr_t*, size_t*, hipDeviceptr_t);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t*, const void*);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DAsync(void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpyDtoH(void*, hipDeviceptr_t, size_t);
hipError_t hipMemcpyHtoD(hipDeviceptr_t, void*, size_t);
hipError_t hipMemcpy3D(const hipMemcpy3DParms*);
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemsetAsync(void*, int, size_t, hipStream_t);
hipError_t hipMemsetD16(hipDeviceptr_t, unsigned short, size_t);
hipError_t hipMemsetD32Async(hipDeviceptr_t, int, size_t, hipStream_t);
hipError_t hipMemset2D(void*, size_t, int, size_t, size_t);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamCreateWithPriority(hipStream_t*, unsigned, int);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipStreamAddCallback(hipStream_t, hipStreamCallback_t, void*, unsigned);
hipError_t hipStreamGetFlags(hipStream_t, unsigned*);
hipError_t hipStreamGetPriority(hipStream_t, int*);
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus*);
hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void*);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipModuleLoadData(hipModule_t*, const void*);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 hipStream_t, void**, void**);
hipError_t hipCtxGetCurrent(hipCtx_t*);
hipError_t hipCtxPushCurrent(hipCtx_t);
hipError_t hipCtxPopCurrent(hipCtx_t*);
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t*, hipDevice_t);
}

namespace hip_test {

inline constexpr unsigned kNonBlocking = 1;
inline const hipStream_t kPerThread = reinterpret_cast<hipStream_t>(std::uintptr_t{2});

/// A host function that blocks its stream until open() is called.
class Gate {
 public:
  static void wait(void* gate) {
    Gate& self = *static_cast<Gate*>(gate);
    self.entered_.store(true);
    while (!self.open_.load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  void open() { open_.store(true); }
  bool entered() const { return entered_.load(); }
  void wait_entered() const {
    while (!entered()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

 private:
  std::atomic<bool> open_{false};
  std::atomic<bool> entered_{false};
};

template <class Body>
double milliseconds(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Repeats until `condition` holds or `limit_ms` is over.
template <class Condition>
bool eventually(Condition condition, int limit_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Whether a process runs (one that has ended but was not reaped does not).
inline bool is_running(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] != 'Z';
}

/// Number of the device process that works for process `parent`, or 0. It is not a child of its program, but it is
/// started with the program's number.
inline int engine_of(int parent) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::string wanted = std::string("--parent\0", 9) + std::to_string(parent) + std::string("\0", 1);
    if (text.find("rocbridge-device") != std::string::npos && text.find(wanted) != std::string::npos && is_running(pid))
      return pid;
  }
  return 0;
}

/// Starts this program again for one test, with more environment; its process number.
inline pid_t start_test_alone(const std::string& test,
                              const std::vector<std::pair<std::string, std::string>>& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string filter = "--gtest_filter=" + test;
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("ROCBRIDGE_TEST_ALONE", "1", 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl(self.c_str(), self.c_str(), filter.c_str(), nullptr);
    _exit(127);
  }
  return pid;
}

/// Exit code of a child, or 128 + signal.
inline int exit_code(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Whether this process was started by run_test_alone.
inline bool is_alone() {
  return std::getenv("ROCBRIDGE_TEST_ALONE") != nullptr;
}

}  // namespace hip_test

#define HIP_OK(expression) ASSERT_EQ(hipSuccess, expression)
/// For a test that needs a process (and a device) of its own: the test starts itself again with this environment.
#define RUN_ALONE(...)                                                                  \
  if (!hip_test::is_alone()) {                                                          \
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();         \
    const std::string test = std::string(info->test_suite_name()) + "." + info->name(); \
    ASSERT_EQ(0, hip_test::exit_code(hip_test::start_test_alone(test, {__VA_ARGS__}))); \
    return;                                                                             \
  }
