// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The forms of driver calls that newer programs no longer use, and NVML's answers that PyTorch asks for: each does what
// its present-day form does.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "abi/cuda_driver_functions.h"
#include "abi/cudart_functions.h"
#include "abi/nvml_functions.h"

namespace {

#define OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define GIVES(code, call) EXPECT_EQ(static_cast<int>(call), code) << #call

class DriverForms : public testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context_, 0));
    OK(cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    OK(cuCtxSetCurrent(nullptr));
    OK(cuDevicePrimaryCtxRelease(0));
  }
  CUcontext context_ = nullptr;
};

TEST_F(DriverForms, maps_contexts) {
  CUcontext mine = nullptr;
  OK(cuCtxCreate_v2(&mine, 0, 0));
  OK(cuCtxPopCurrent_v2(&mine));
  OK(cuCtxPushCurrent(mine));
  CUcontext now = nullptr;
  OK(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, mine);
  OK(cuCtxResetPersistingL2Cache());
  OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
  std::size_t bytes = 0;
  OK(cuCtxGetLimit(&bytes, CU_LIMIT_MALLOC_HEAP_SIZE));
  OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes));
  OK(cuCtxDestroy(mine));
  GIVES(201, cuCtxPushCurrent(mine));
}

TEST_F(DriverForms, maps_devices) {
  int value = 7;
  OK(cuDeviceCanAccessPeer(&value, 0, 0));
  EXPECT_EQ(value, 0);
  char id[32] = {};
  OK(cuDeviceGetPCIBusId(id, sizeof id, 0));
  CUdevice device = 9;
  OK(cuDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 0);
  GIVES(101, cuDeviceGetByPCIBusId(&device, "ffff:ff:1f.0"));
  OK(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(value, 0);
  CUdevprop properties{};
  OK(cuDeviceGetProperties(&properties, 0));
  EXPECT_EQ(properties.SIMDWidth, 32);
  CUuuid first{};
  CUuuid second{};
  OK(cuDeviceGetUuid(&first, 0));
  OK(cuDeviceGetUuid_v2(&second, 0));
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
  unsigned small = 0;
  std::size_t total = 0;
  OK(cuDeviceTotalMem_v2(&total, 0));
  OK(cuDeviceTotalMem(&small, 0));
  EXPECT_EQ(small, total > 0xffffffffu ? 0xffffffffu : total);
}

TEST_F(DriverForms, maps_memory) {
  constexpr std::size_t kBytes = 4096;
  void* pinned = nullptr;
  OK(cuMemAllocHost_v2(&pinned, kBytes));
  void* flagged = nullptr;
  OK(cuMemHostAlloc(&flagged, kBytes, CU_MEMHOSTALLOC_PORTABLE));
  unsigned flags = 0;
  OK(cuMemHostGetFlags(&flags, flagged));
  EXPECT_EQ(flags & CU_MEMHOSTALLOC_PORTABLE, static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE));
  CUdeviceptr seen = 0;
  OK(cuMemHostGetDevicePointer_v2(&seen, flagged, 0));
  EXPECT_NE(seen, 0u);
  CUdeviceptr managed = 0;
  OK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  std::memset(reinterpret_cast<void*>(managed), 5, kBytes);  // the host may touch it
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  OK(cuMemAlloc_v2(&a, kBytes));
  OK(cuMemAlloc_v2(&b, kBytes));
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  OK(cuMemGetInfo_v2(&free_bytes, &total));
  EXPECT_LE(free_bytes, total - 2 * kBytes);
  std::vector<unsigned char> host(kBytes);
  std::iota(host.begin(), host.end(), static_cast<unsigned char>(0));
  OK(cuMemcpyHtoD_v2(a, host.data(), kBytes));
  OK(cuMemcpyDtoD_v2(b, a, kBytes));
  std::vector<unsigned char> back(kBytes);
  OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), b, kBytes));
  EXPECT_EQ(back, host);

  OK(cuMemsetD2D8_v2(b, 64, 0xab, 16, 8));  // 8 rows of 16 bytes, 64 apart
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = b;
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = back.data();
  copy.dstPitch = 16;
  copy.WidthInBytes = 16;
  copy.Height = 8;
  OK(cuMemcpy2DUnaligned_v2(&copy));
  EXPECT_EQ(std::vector<unsigned char>(back.begin(), back.begin() + 128), std::vector<unsigned char>(128, 0xab));
  OK(cuMemcpyDtoH_v2(back.data(), b, kBytes));
  EXPECT_EQ(back[16], host[16]);  // between the rows nothing was written

  unsigned type = 0;
  CUdeviceptr base = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* values[] = {&type, &base};
  OK(cuPointerGetAttributes(2, names, values, a + 100));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(base, a);

  OK(cuMemHostRegister_v2(host.data(), kBytes, 0));
  OK(cuMemHostUnregister(host.data()));
  GIVES(713, cuMemHostUnregister(host.data()));
  OK(cuMemFree_v2(a));
  OK(cuMemFree_v2(b));
  OK(cuMemFree_v2(managed));
  OK(cuMemFreeHost(pinned));
  OK(cuMemFreeHost(flagged));
}

std::atomic<int> g_called{0};
void note_call(CUstream, CUresult status, void* value) {
  g_called = static_cast<int>(status) + *static_cast<int*>(value);
}

TEST_F(DriverForms, maps_streams_and_events) {
  CUstream stream = nullptr;
  OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  int value = 42;
  OK(cuStreamAddCallback(stream, note_call, &value, 0));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  EXPECT_EQ(g_called.load(), 42);
  OK(cuEventDestroy(event));
  GIVES(400, cuEventSynchronize(event));
  OK(cuStreamDestroy(stream));
  GIVES(400, cuStreamQuery(stream));
  OK(cuProfilerStart());
  OK(cuProfilerStop());
}

TEST_F(DriverForms, maps_the_older_look_up) {
  void* function = nullptr;
  OK(cuGetProcAddress("cuMemAlloc", &function, 12010, 0));
  CUdeviceptr memory = 0;
  OK(reinterpret_cast<decltype(&cuMemAlloc_v2)>(function)(&memory, 64));
  OK(cuMemFree_v2(memory));
  const void* table = nullptr;
  CUuuid id{};
  GIVES(1, cuGetExportTable(&table, &id));
}

TEST(DriverReset, maps_primary_contexts) {
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
  OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_SPIN));
  unsigned flags = 0;
  int active = 1;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_CTX_SCHED_SPIN));
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxReset_v2(0));
}

TEST(RuntimeForms, maps_advice_and_bank_size) {
  void* managed = nullptr;
  OK(cudaMallocManaged(&managed, 4096, 1));
  OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, 0));
  GIVES(1, cudaMemAdvise(managed, 4096, static_cast<cudaMemoryAdvise>(77), 0));
  OK(cudaFree(managed));

  struct {
    int magic = 0x466243b1, version = 1;
    const void* data = nullptr;
    void* unused = nullptr;
  } wrapper;
  static char kernel;
  void** binary = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(binary, &kernel, const_cast<char*>("_Z4demov"), "_Z4demov", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  __cudaRegisterFatBinaryEnd(binary);
  OK(cudaFuncSetSharedMemConfig(&kernel, cudaSharedMemBankSizeFourByte));
  int blocks = 0;
  GIVES(209, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 64, 0));
  GIVES(209, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &kernel, 64, 0, 0));
  static_cast<void>(cudaGetErrorString(static_cast<cudaError_t>(209)));
  __cudaUnregisterFatBinary(binary);
}

TEST(Nvml, maps_both_forms_of_each_question) {
  void* library = dlopen(ROCBRIDGE_BUILD "/lib/cuda/libnvidia-ml.so.1", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
#define FIND(name) const auto name##_ = reinterpret_cast<decltype(&name)>(dlsym(library, #name))
  FIND(nvmlInit_v2);
  FIND(nvmlDeviceGetCount);
  FIND(nvmlDeviceGetHandleByIndex);
  FIND(nvmlDeviceGetHandleByPciBusId);
  FIND(nvmlDeviceGetIndex);
  FIND(nvmlDeviceGetComputeRunningProcesses_v2);
  FIND(nvmlDeviceGetComputeRunningProcesses_v3);
#undef FIND
  OK(nvmlInit_v2_());
  unsigned count = 0;
  OK(nvmlDeviceGetCount_(&count));
  EXPECT_GE(count, 1u);
  nvmlDevice_t device{};
  OK(nvmlDeviceGetHandleByIndex_(0, &device));
  unsigned index = 9;
  OK(nvmlDeviceGetIndex_(device, &index));
  EXPECT_EQ(index, 0u);
  char id[32] = {};
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  nvmlDevice_t again{};
  OK(nvmlDeviceGetHandleByPciBusId_(id, &again));
  EXPECT_EQ(std::memcmp(&device, &again, sizeof device), 0);
  unsigned processes = 4;
  nvmlProcessInfo_v2_t second[4];
  OK(nvmlDeviceGetComputeRunningProcesses_v2_(device, &processes, second));
  EXPECT_LE(processes, 4u);
  processes = 4;
  nvmlProcessInfo_t third[4];
  OK(nvmlDeviceGetComputeRunningProcesses_v3_(device, &processes, third));
  EXPECT_LE(processes, 4u);
}

}  // namespace
