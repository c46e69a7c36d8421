// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The smallest operation through the software device, with its synchronisation: what a call costs on the way from the
// application into the device process and back. Through HIP, as softrocm's own interface, and through the CUDA runtime.
#include <dlfcn.h>

#include "abi/cudart_functions.h"
#include "abi/hip_functions.h"
#include "bench/bars.hpp"

namespace {

constexpr double kBar = 20;  // microseconds
constexpr int kIterations = 20000;

/// Runs `operation` (which ends with a synchronisation) and notes its median.
template <class Operation>
void measure(benchmark::State& state, const char* name, Operation&& operation) {
  for (int warm = 0; warm < 1000; ++warm) operation();
  std::vector<double> times;
  times.reserve(kIterations);
  for (auto _ : state) {
    times.push_back(bench::seconds(operation));
    state.SetIterationTime(times.back());
  }
  const double microseconds = bench::median(std::move(times)) * 1e6;
  state.counters["median_us"] = microseconds;
  bench::at_most(name, microseconds, kBar, "us");
}

void* hip() {
  static void* const library = dlopen(ROCBRIDGE_BUILD "/lib/rocm/6/libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(3);
  }
  return library;
}

template <class Function>
Function* hip_function(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(hip(), name));
}
#define HIP(name) hip_function(static_cast<decltype(&::name)>(nullptr), #name)

void through_hip(benchmark::State& state) {
  const auto memset_async = HIP(hipMemsetAsync);
  const auto synchronize = HIP(hipStreamSynchronize);
  void* data = nullptr;
  BENCH_CHECK(HIP(hipMalloc)(&data, 4096));
  hipStream_t stream = nullptr;
  BENCH_CHECK(HIP(hipStreamCreate)(&stream));
  measure(state, "one byte filled and waited for, through HIP", [&] {
    BENCH_CHECK(memset_async(data, 1, 1, stream));
    BENCH_CHECK(synchronize(stream));
  });
  BENCH_CHECK(HIP(hipStreamDestroy)(stream));
  BENCH_CHECK(HIP(hipFree)(data));
}
BENCHMARK(through_hip)->UseManualTime()->Iterations(kIterations)->Unit(benchmark::kMicrosecond);

void through_cuda(benchmark::State& state) {
  void* data = nullptr;
  BENCH_CHECK(cudaMalloc(&data, 4096));
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreate(&stream));
  measure(state, "one byte filled and waited for, through the CUDA runtime", [&] {
    BENCH_CHECK(cudaMemsetAsync(data, 1, 1, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
  });
  BENCH_CHECK(cudaStreamDestroy(stream));
  BENCH_CHECK(cudaFree(data));
}
BENCHMARK(through_cuda)->UseManualTime()->Iterations(kIterations)->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return bench::report();
}
