// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the bridge adds to a mapped call: cudnnConvolutionForward (13 arguments) over AMD libraries that do nothing
// (bench/null_amd), less the call of miopenConvolutionForwardImmediate itself. With tracing off, and with level `calls`
// while a collector empties the rings, which are small enough to be wrapped many times; with one and with two threads.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"
#include "abi/miopen_functions.h"
#include "bench/bars.hpp"
#include "trace/collector.hpp"

namespace {

// Short rounds, so that most are not interrupted. With tracing, a pause after some lets the collector take what was
// written: the writer is measured, not the disk. All rounds together fill a ring of 8 MiB many times over.
constexpr int kCalls = 400;
constexpr int kRounds = 400;
constexpr int kRoundsToPause = 16;
constexpr const char kRingBytes[] = "8388608";
constexpr double kBarOff = 100;
constexpr double kBarCalls = 400;
constexpr const char kMode[] = "ROCBRIDGE_BENCH_MODE";

bool traced() {
  const char* mode = std::getenv(kMode);
  return mode != nullptr && std::string(mode) == "calls";
}

struct Convolution {
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  void *x_data = nullptr, *w_data = nullptr, *y_data = nullptr;
  cudnnConvolutionFwdAlgo_t algorithm{};

  Convolution() {
    BENCH_CHECK(cudnnCreate(&handle));
    BENCH_CHECK(cudnnCreateTensorDescriptor(&x));
    BENCH_CHECK(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 64, 56, 56));
    BENCH_CHECK(cudnnCreateTensorDescriptor(&y));
    BENCH_CHECK(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 64, 56, 56));
    BENCH_CHECK(cudnnCreateFilterDescriptor(&w));
    BENCH_CHECK(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 64, 64, 3, 3));
    BENCH_CHECK(cudnnCreateConvolutionDescriptor(&conv));
    BENCH_CHECK(cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    BENCH_CHECK(cudaMalloc(&x_data, std::size_t{8} * 64 * 56 * 56 * 4));
    BENCH_CHECK(cudaMalloc(&y_data, std::size_t{8} * 64 * 56 * 56 * 4));
    BENCH_CHECK(cudaMalloc(&w_data, std::size_t{64} * 64 * 9 * 4));
    int count = 0;
    cudnnConvolutionFwdAlgoPerf_t best;
    BENCH_CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, conv, y, 1, &count, &best));
    algorithm = best.algo;
  }

  void operator()() const {
    const float alpha = 1;
    const float beta = 0;
    BENCH_CHECK(
        cudnnConvolutionForward(handle, &alpha, x, x_data, w, w_data, conv, algorithm, nullptr, 0, &beta, y, y_data));
  }
};

/// The AMD call alone, through a pointer as the bridge has it.
struct AmdCall {
  decltype(&miopenConvolutionForwardImmediate) function = nullptr;

  AmdCall() {
    void* const library =
        dlopen((std::string(std::getenv("ROCBRIDGE_ROCM_DIR")) + "/libMIOpen.so.1").c_str(), RTLD_NOW);
    if (library != nullptr)
      function = reinterpret_cast<decltype(function)>(dlsym(library, "miopenConvolutionForwardImmediate"));
    if (function == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(3);
    }
  }
  void operator()() const {
    BENCH_CHECK(function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 1));
  }
};

template <class Call>
double nanoseconds(const Call& call) {
  return bench::seconds([&] {
           for (int i = 0; i < kCalls; ++i) call();
         }) /
         kCalls * 1e9;
}

/// Median nanoseconds that a call adds, over rounds of ours and of the AMD call in turns.
double added(const Convolution& ours, const AmdCall& amd) {
  nanoseconds(ours);
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    rounds.push_back(nanoseconds(ours) - nanoseconds(amd));
    if (traced() && i % kRoundsToPause == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return bench::median(std::move(rounds));
}

void entry(benchmark::State& state) {
  const auto threads = static_cast<unsigned>(state.range(0));
  const AmdCall amd;
  for (auto _ : state) {
    std::vector<double> results(threads);
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < threads; ++i)
      pool.emplace_back([&results, &amd, i] {
        const Convolution ours;
        results[i] = added(ours, amd);
      });
    for (std::thread& thread : pool) thread.join();
    double worst = 0;
    for (const double result : results) worst = std::max(worst, result);
    state.SetIterationTime(worst * 1e-9);
    state.counters["added_ns"] = worst;
    const std::string name = std::string("cudnnConvolutionForward, tracing ") + (traced() ? "calls" : "off") + ", " +
                             std::to_string(threads) + " thread" + (threads == 1 ? "" : "s") + ": added";
    bench::at_most(name, worst, traced() ? kBarCalls : kBarOff, "ns");
  }
}
BENCHMARK(entry)->Arg(1)->Arg(2)->UseManualTime()->Iterations(1)->Unit(benchmark::kNanosecond);

/// Runs this program again in one mode; its exit code.
int run_mode(const char* mode, char** argv) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(kMode, mode, 1);
    setenv("ROCBRIDGE_TRACE", mode, 1);
    execv("/proc/self/exe", argv);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv(kMode) != nullptr) {
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return bench::report();
  }
  const std::string directory =
      std::filesystem::temp_directory_path() / ("rocbridge-bench-" + std::to_string(getpid()));
  setenv("ROCBRIDGE_ROCM_DIR", ROCBRIDGE_BUILD "/bench/null_amd", 1);
  setenv("ROCBRIDGE_INTEGRITY", "off", 1);
  setenv("ROCBRIDGE_TRACE_DIR", directory.c_str(), 1);
  setenv("ROCBRIDGE_TRACE_RING_BYTES", kRingBytes, 1);
  int code = run_mode("off", argv);
  {
    auto collector = rb::trace::Collector::start(directory);
    if (!collector.ok()) {
      std::fprintf(stderr, "%s\n", collector.fault().text.c_str());
      return 3;
    }
    code = std::max(code, run_mode("calls", argv));
    const auto statistics = (*collector)->stop();
    std::printf("%llu bytes of records, %llu dropped\n", static_cast<unsigned long long>(statistics.bytes),
                static_cast<unsigned long long>(statistics.dropped));
  }
  std::filesystem::remove_all(directory);
  return code;
}
