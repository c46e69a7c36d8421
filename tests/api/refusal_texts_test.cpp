// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The libraries that are refused as a whole: they load, their functions give their own not-supported status, their
// texts are real. Results that have no status come back as a pending refusal.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>

#include "abi/cudart_functions.h"

namespace {

#define GIVES(code, call) EXPECT_EQ(static_cast<int>(call), code) << #call

void* open_library(const char* name) {
  void* library = dlopen((std::string(ROCBRIDGE_BUILD "/lib/cuda/") + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

template <class Function>
Function* find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

struct Refusing {
  const char* library;
  const char* function;
  int status;
};

class Refusal : public testing::TestWithParam<Refusing> {};

TEST_P(Refusal, traps_with_the_library_s_own_status) {
  void* library = open_library(GetParam().library);
  ASSERT_NE(library, nullptr);
  auto* function = find<int(void*, void*, void*, void*, void*, void*)>(library, GetParam().function);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), GetParam().status);
  void* const junk = reinterpret_cast<void*>(0x7);
  EXPECT_EQ(function(junk, junk, junk, junk, junk, junk), GetParam().status) << "no argument is touched";
}

INSTANTIATE_TEST_SUITE_P(EachLibrary, Refusal,
                         testing::Values(Refusing{"libcufft.so.11", "cufftCreate", 16},
                                         Refusing{"libcufft.so.10", "cufftPlan1d", 16},
                                         Refusing{"libcurand.so.10", "curandCreateGenerator", 204},
                                         Refusing{"libcusparse.so.12", "cusparseCreate", 10},
                                         Refusing{"libnccl.so.2", "ncclGetUniqueId", 5},
                                         Refusing{"libnvrtc.so.12", "nvrtcCreateProgram", 11},
                                         Refusing{"libcupti.so.12", "cuptiSubscribe", 27},
                                         Refusing{"libnvJitLink.so.12", "__nvJitLinkCreate_12_1", 6},
                                         Refusing{"libnvidia-ml.so.1", "nvmlDeviceGetTemperature", 3},
                                         Refusing{"libcusparseLt-f80c68d1.so.0", "cusparseLtInit", 10}),
                         [](const testing::TestParamInfo<Refusing>& info) { return std::string(info.param.function); });

TEST(Texts, maps_nvrtc) {
  void* library = open_library("libnvrtc.so.12");
  int major = 0;
  int minor = 0;
  GIVES(0, find<int(int*, int*)>(library, "nvrtcVersion")(&major, &minor));
  EXPECT_EQ(major * 10 + minor, 121);
  GIVES(3, find<int(int*, int*)>(library, "nvrtcVersion")(nullptr, &minor));
  auto* text = find<const char*(int)>(library, "nvrtcGetErrorString");
  EXPECT_STREQ(text(11), "NVRTC_ERROR_INTERNAL_ERROR");
  for (int code = -5; code < 50; ++code) ASSERT_NE(text(code), nullptr);
}

TEST(Texts, maps_cupti) {
  void* library = open_library("libcupti.so.12");
  auto* text = find<int(int, const char**)>(library, "cuptiGetResultString");
  const char* said = nullptr;
  GIVES(0, text(27, &said));
  EXPECT_STREQ(said, "CUPTI_ERROR_NOT_SUPPORTED");
  GIVES(1, text(12345, &said));
  EXPECT_NE(said, nullptr) << "PyTorch stops on a null text";
  GIVES(1, text(0, nullptr));
}

TEST(Texts, maps_nccl) {
  void* library = open_library("libnccl.so.2");
  auto* text = find<const char*(int)>(library, "ncclGetErrorString");
  EXPECT_STREQ(text(5), "invalid usage");
  for (int code = -5; code < 20; ++code) ASSERT_NE(text(code), nullptr);
  ASSERT_NE(find<const char*(void*)>(library, "ncclGetLastError")(nullptr), nullptr);
  int version = 0;
  GIVES(0, find<int(int*)>(library, "pncclGetVersion")(&version));
  EXPECT_EQ(version, 22005);
}

TEST(Texts, maps_the_others) {
  void* sparse = open_library("libcusparse.so.12");
  EXPECT_STREQ(find<const char*(int)>(sparse, "cusparseGetErrorName")(10), "CUSPARSE_STATUS_NOT_SUPPORTED");
  EXPECT_NE(find<const char*(int)>(sparse, "cusparseGetErrorString")(999), nullptr);
  EXPECT_NE(find<const char*(int)>(open_library("libnvidia-ml.so.1"), "nvmlErrorString")(3), nullptr);
  int version = 0;
  GIVES(0, find<int(int*)>(open_library("libcufft.so.11"), "cufftGetVersion")(&version));
  EXPECT_EQ(version, 11002);
  GIVES(0, find<int(int*)>(open_library("libcufft.so.10"), "cufftGetVersion")(&version));
  EXPECT_EQ(version, 10900);
}

/// PyTorch looks for devices with NVML when it is there, and in its out-of-memory message.
TEST(Nvml, maps_devices) {
  void* library = open_library("libnvidia-ml.so.1");
  auto* count_of = find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  unsigned count = 0;
  GIVES(1, count_of(&count)) << "before nvmlInit";
  GIVES(0, find<int()>(library, "nvmlInit_v2")());
  GIVES(0, count_of(&count));
  EXPECT_GE(count, 1u);
  void* device = nullptr;
  GIVES(0, find<int(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2")(0, &device));
  GIVES(2, find<int(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2")(count, &device));
  char id[32];
  GIVES(0, cudaDeviceGetPCIBusId(id, sizeof id, 0));
  void* same = nullptr;
  auto* by_id = find<int(const char*, void**)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  GIVES(0, by_id(id, &same));
  EXPECT_EQ(same, device);
  GIVES(6, by_id("ffff:ff:1f.0", &same));
  GIVES(2, by_id("nonsense", &same));
  char name[96];
  auto* name_of = find<int(void*, char*, unsigned)>(library, "nvmlDeviceGetName");
  GIVES(0, name_of(device, name, sizeof name));
  EXPECT_GT(std::strlen(name), 3u);
  GIVES(7, name_of(device, name, 2));
  GIVES(2, name_of(&count, name, sizeof name));
  GIVES(2, name_of(nullptr, name, sizeof name));
  struct Process {
    unsigned pid;
    unsigned long long bytes;
  } processes[2] = {};
  auto* running = find<int(void*, unsigned*, Process*)>(library, "nvmlDeviceGetComputeRunningProcesses");
  unsigned room = 0;
  GIVES(7, running(device, &room, nullptr));
  EXPECT_EQ(room, 1u);
  void* memory = nullptr;
  GIVES(0, cudaMalloc(&memory, 1 << 20));
  room = 2;
  GIVES(0, running(device, &room, processes));
  EXPECT_EQ(room, 1u);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_GE(processes[0].bytes, 1ull << 20);
  GIVES(0, cudaFree(memory));
  GIVES(0, find<int()>(library, "nvmlShutdown")());
  GIVES(1, find<int()>(library, "nvmlShutdown")());
}

TEST(Texts, maps_marks_and_ranges) {
  void* library = open_library("libnvToolsExt.so.1");
  find<void(const char*)>(library, "nvtxMarkA")("mark");
  EXPECT_EQ(find<int(const char*)>(library, "nvtxRangePushA")("range"), -2) << "as without a profiler";
  EXPECT_EQ(find<int()>(library, "nvtxRangePop")(), -2);
  EXPECT_EQ(find<std::uint64_t(const char*)>(library, "nvtxRangeStartA")(nullptr), 0u);
  find<void(std::uint64_t)>(library, "nvtxRangeEnd")(7);
  EXPECT_EQ(find<void*(const char*)>(library, "nvtxDomainCreateA")("domain"), nullptr);
}

/// The functions of cuBLAS's first interface return their result itself: it cannot say that it was refused.
TEST(Pending, traps_results_without_a_status) {
  static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(801)));
  static_cast<void>(cudaGetLastError());
  void* library = open_library("libcublas.so.12");
  auto* dot = find<float(int, const float*, int, const float*, int)>(library, "cublasSdot");
  EXPECT_TRUE(std::isnan(dot(4, nullptr, 1, nullptr, 1)));
  GIVES(801, cudaGetLastError());
  GIVES(801, cudaDeviceSynchronize());
  GIVES(801, cudaDeviceSynchronize());
  GIVES(0, cudaDeviceSynchronize()) << "reported twice";
  static_cast<void>(cudaGetLastError());
  auto* amax = find<int(int, const float*, int)>(library, "cublasIsamax");
  EXPECT_EQ(amax(4, nullptr, 1), -1);
  GIVES(801, cudaPeekAtLastError());
  static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(801)));
  static_cast<void>(cudaGetLastError());
  GIVES(0, cudaDeviceSynchronize());
}

}  // namespace
