// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Preset gemm: matrix products as PyTorch's mm, bmm and addmm call them: fp32 through the typed functions, fp16 and
// bf16 through the Ex functions with fp32 compute.
#include <algorithm>
#include <chrono>

#include "workload/workload.hpp"

namespace rb::workload {
namespace {

constexpr std::size_t kWorkspace = 8519680;  // what PyTorch gives each handle

struct Case {
  const char* name;
  int m, n, k;
  cublasOperation_t ta, tb;
  int batch;  ///< 0: not batched
  float alpha, beta;
};

std::vector<Case> cases_of(int size, int batch) {
  const int s = size;
  const int half = std::max(1, s / 2);
  const int quarter = std::max(1, s / 4);
  const cublasOperation_t n = CUBLAS_OP_N;
  const cublasOperation_t t = CUBLAS_OP_T;
  const int several = std::max(2, batch);
  return {
      {"square", s, s, s, n, n, 0, 1.0f, 0.0f},
      {"transposed-a", s, s, s, t, n, 0, 1.0f, 0.0f},
      {"transposed-b", s, s, s, n, t, 0, 1.0f, 0.0f},
      {"transposed-both", s, s, s, t, t, 0, 1.0f, 0.0f},
      {"tall", s, quarter, half, n, n, 0, 1.0f, 0.0f},
      {"wide", quarter, s, half, n, t, 0, 1.0f, 0.0f},
      {"deep", quarter, half, s, t, n, 0, 1.0f, 0.0f},
      {"row", 1, s, half, n, n, 0, 1.0f, 0.0f},
      {"alpha-beta", s, half, half, n, n, 0, 1.5f, -0.5f},
      {"accumulate", half, half, s, t, n, 0, 1.0f, 1.0f},
      {"strided-batch", half, half, quarter, n, n, several, 1.0f, 0.0f},
      {"strided-batch-alpha-beta", quarter, half, half, n, t, several, 0.75f, 0.25f},
  };
}

class Handle {
 public:
  Handle() { RB_CHECK(cublasCreate_v2(&handle_)); }
  ~Handle() { cublasDestroy_v2(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

void multiply(cublasHandle_t handle, const Case& c, Precision precision, const void* a, const void* b, void* out) {
  const int lda = c.ta == CUBLAS_OP_N ? c.m : c.k;
  const int ldb = c.tb == CUBLAS_OP_N ? c.k : c.n;
  const long long sa = static_cast<long long>(c.m) * c.k;
  const long long sb = static_cast<long long>(c.k) * c.n;
  const long long sc = static_cast<long long>(c.m) * c.n;
  if (precision == Precision::fp32) {
    const auto* fa = static_cast<const float*>(a);
    const auto* fb = static_cast<const float*>(b);
    auto* fc = static_cast<float*>(out);
    if (c.batch == 0)
      RB_CHECK(cublasSgemm_v2(handle, c.ta, c.tb, c.m, c.n, c.k, &c.alpha, fa, lda, fb, ldb, &c.beta, fc, c.m));
    else
      RB_CHECK(cublasSgemmStridedBatched(handle, c.ta, c.tb, c.m, c.n, c.k, &c.alpha, fa, lda, sa, fb, ldb, sb, &c.beta,
                                         fc, c.m, sc, c.batch));
    return;
  }
  const cudaDataType type = precision == Precision::fp16 ? CUDA_R_16F : CUDA_R_16BF;
  RB_CHECK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  if (c.batch == 0)
    RB_CHECK(cublasGemmEx(handle, c.ta, c.tb, c.m, c.n, c.k, &c.alpha, a, type, lda, b, type, ldb, &c.beta, out, type,
                          c.m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  else
    RB_CHECK(cublasGemmStridedBatchedEx(handle, c.ta, c.tb, c.m, c.n, c.k, &c.alpha, a, type, lda, sa, b, type, ldb, sb,
                                        &c.beta, out, type, c.m, sc, c.batch, CUBLAS_COMPUTE_32F,
                                        CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  RB_CHECK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
}

}  // namespace

std::vector<Done> run_gemm(const Settings& settings) {
  const int size = settings.size;
  const Precision precision = settings.precision;
  Random random(settings.seed);
  const DeviceMemory workspace(kWorkspace);
  Handle handle;
  RB_CHECK(cublasSetStream_v2(handle.get(), nullptr));
  RB_CHECK(cublasSetWorkspace_v2(handle.get(), workspace.get(), kWorkspace));
  RB_CHECK(cublasSetMathMode(handle.get(), CUBLAS_DEFAULT_MATH));
  std::vector<Done> report;
  for (const Case& c : cases_of(size, settings.batch)) {
    const std::size_t batch = static_cast<std::size_t>(std::max(c.batch, 1));
    const auto values = [&](int rows, int columns) {
      return random_values(precision, static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * batch, 1.0f,
                           random);
    };
    const DeviceMemory a(values(c.m, c.k));
    const DeviceMemory b(values(c.k, c.n));
    const DeviceMemory out(values(c.m, c.n));
    attempt(report, c.name, [&](Done& done) {
      const auto begin = std::chrono::steady_clock::now();
      multiply(handle.get(), c, precision, a.get(), b.get(), out.get());
      RB_CHECK(cudaDeviceSynchronize());
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      done.milliseconds = took.count();
      done.sum = sum_of(precision, out.read());
    });
  }
  return report;
}

}  // namespace rb::workload
