// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A 1024 x 1024 x 1024 product through cuBLAS's API on the software device, checks off, against OpenBLAS called
// directly in this process. Both in turns, on all cores.
#include <cblas.h>
#include <unistd.h>

#include "abi/cublas_functions.h"
#include "abi/cudart_functions.h"
#include "bench/bars.hpp"

namespace {

constexpr int kSide = 1024;
constexpr double kBar = 0.85;
constexpr std::size_t kCount = std::size_t{kSide} * kSide;

void gemm(benchmark::State& state) {
  std::vector<float> host(kCount);
  unsigned random = 1;
  for (float& value : host) {
    random = random * 1664525u + 1013904223u;
    value = static_cast<float>(random >> 8) * 0x1p-24f - 0.5f;
  }
  std::vector<float> out(kCount);
  void* data[3];
  for (void*& one : data) {
    BENCH_CHECK(cudaMalloc(&one, kCount * sizeof(float)));
    BENCH_CHECK(cudaMemcpy(one, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  }
  cublasHandle_t handle = nullptr;
  BENCH_CHECK(cublasCreate_v2(&handle));
  const float alpha = 1;
  const float beta = 0;
  const auto ours = [&] {
    BENCH_CHECK(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &alpha,
                               static_cast<float*>(data[0]), kSide, static_cast<float*>(data[1]), kSide, &beta,
                               static_cast<float*>(data[2]), kSide));
    BENCH_CHECK(cudaStreamSynchronize(nullptr));
  };
  const auto direct = [&] {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kSide, kSide, kSide, alpha, host.data(), kSide, host.data(),
                kSide, beta, out.data(), kSide);
  };
  const bench::Pair pair = bench::compare(state, ours, direct);
  bench::at_least("gemm 1024, fp32: OpenBLAS / ours", pair.theirs / pair.ours, kBar, "");
  BENCH_CHECK(cublasDestroy_v2(handle));
  for (void* one : data) BENCH_CHECK(cudaFree(one));
}
BENCHMARK(gemm)->UseManualTime()->Iterations(40)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);  // its idle threads sleep at once
    setenv("ROCBRIDGE_INTEGRITY", "off", 1);
    execv("/proc/self/exe", argv);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return bench::report();
}
