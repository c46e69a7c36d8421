// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuBLAS handles, their settings, and what bad arguments give.
#include <dlfcn.h>

#include <limits>

#include "tests/api/blas_support.hpp"

namespace {

using namespace blas_test;

TEST_F(Blas, maps_settings_to_what_was_set) {
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  ASSERT_EQ(cublasGetPointerMode_v2(handle_, &pointer_mode), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(pointer_mode, CUBLAS_POINTER_MODE_HOST);
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_ALLOWED;
  ASSERT_EQ(cublasGetAtomicsMode(handle_, &atomics), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_NOT_ALLOWED);
  ASSERT_EQ(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_ALLOWED), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasGetAtomicsMode(handle_, &atomics), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_ALLOWED);
  for (const int mode : {0, 1, 2, 3, 16, 19}) {
    cublasMath_t got = CUBLAS_DEFAULT_MATH;
    ASSERT_EQ(cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode)), CUBLAS_STATUS_SUCCESS) << mode;
    ASSERT_EQ(cublasGetMathMode(handle_, &got), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(got, mode);
  }
  int target = -1;
  ASSERT_EQ(cublasSetSmCountTarget(handle_, 7), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasGetSmCountTarget(handle_, &target), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(target, 7);
}

TEST_F(Blas, rejects_unknown_settings) {
  EXPECT_EQ(cublasSetPointerMode_v2(handle_, static_cast<cublasPointerMode_t>(2)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetAtomicsMode(handle_, static_cast<cublasAtomicsMode_t>(-1)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetMathMode(handle_, static_cast<cublasMath_t>(4)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetMathMode(handle_, static_cast<cublasMath_t>(-1)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetSmCountTarget(handle_, -1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetMathMode(handle_, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetStream_v2(handle_, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetStream_v2(handle_, reinterpret_cast<cudaStream_t>(0x1234)), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(BlasLibrary, maps_versions_and_texts) {
  int value = 0;
  EXPECT_EQ(cublasGetVersion_v2(nullptr, &value), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, 120103);
  EXPECT_EQ(cublasGetProperty(MAJOR_VERSION, &value), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, 12);
  EXPECT_EQ(cublasGetProperty(MINOR_VERSION, &value), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cublasGetProperty(static_cast<libraryPropertyType>(9), &value), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetCudartVersion(), 12010u);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STRNE(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE), cublasGetStatusString(CUBLAS_STATUS_SUCCESS));
  EXPECT_NE(cublasGetStatusString(static_cast<cublasStatus_t>(1234)), nullptr);
  cublasLogCallback callback = nullptr;
  const auto mine = [](const char*) {};
  EXPECT_EQ(cublasSetLoggerCallback(mine), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetLoggerCallback(&callback), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(callback, static_cast<cublasLogCallback>(mine));
  EXPECT_EQ(cublasSetLoggerCallback(nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLoggerConfigure(0, 0, 0, nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST(BlasLibrary, maps_the_older_generation_with_its_own_version) {
  void* library = dlopen(ROCBRIDGE_BUILD "/lib/cuda/libcublas.so.11", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto version = reinterpret_cast<decltype(&cublasGetVersion_v2)>(dlsym(library, "cublasGetVersion_v2"));
  int value = 0;
  ASSERT_EQ(version(nullptr, &value), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(value, 111103);
}

TEST(BlasLibrary, rejects_bad_handles) {
  EXPECT_EQ(cublasCreate_v2(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
  int stranger = 0;
  for (const cublasHandle_t bad :
       {static_cast<cublasHandle_t>(nullptr), handle, reinterpret_cast<cublasHandle_t>(0x1234),
        reinterpret_cast<cublasHandle_t>(&stranger)}) {
    cublasMath_t mode{};
    const float one = 1;
    float* const nothing = nullptr;
    EXPECT_EQ(cublasDestroy_v2(bad), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasGetMathMode(bad, &mode), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasSetStream_v2(bad, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasSetWorkspace_v2(bad, nullptr, 0), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasSgemm_v2(bad, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nothing, 1, nothing, 1, &one, nothing, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasGemmEx(bad, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nothing, CUDA_R_32F, 1, nothing, CUDA_R_32F, 1,
                           &one, nothing, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasSdot_v2(bad, 1, nothing, 1, nothing, 1, nothing), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(cublasSgemv_v2(bad, CUBLAS_OP_N, 1, 1, &one, nothing, 1, nothing, 1, &one, nothing, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
  }
}

/// A valid 4 x 4 product whose arguments each test spoils.
class GemmArguments : public Blas {
 protected:
  void SetUp() override {
    Blas::SetUp();
    for (Array* array : {&a_, &b_, &c_}) array->fill(1);
  }
  cublasStatus_t call() { return cublasSgemm_v2(handle_, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); }
  Array a_{CUDA_R_32F, 16};
  Array b_{CUDA_R_32F, 16};
  Array c_{CUDA_R_32F, 16};
  float one = 1;
  float zero = 0;
  cublasOperation_t ta = CUBLAS_OP_N, tb = CUBLAS_OP_N;
  int m = 4, n = 4, k = 4, lda = 4, ldb = 4, ldc = 4;
  const float* alpha = &one;
  const float* beta = &zero;
  const float* a = a_.device<float>();
  const float* b = b_.device<float>();
  float* c = c_.device<float>();
};

TEST_F(GemmArguments, maps_the_unspoiled_call) {
  EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
}

TEST_F(GemmArguments, rejects_bad_dimensions) {
  for (int* value : {&m, &n, &k, &lda, &ldb, &ldc}) {
    const int good = *value;
    for (const int bad : {-1, std::numeric_limits<int>::min()}) {
      *value = bad;
      EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
    }
    *value = good;
  }
  for (int* value : {&lda, &ldb, &ldc}) {
    for (const int bad : {0, 3}) {
      *value = bad;
      EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
    }
    *value = 4;
  }
  ta = static_cast<cublasOperation_t>(3);
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  ta = static_cast<cublasOperation_t>(-1);
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, maps_empty_products_to_success_without_work) {
  a = b = nullptr;
  c = nullptr;
  for (int* value : {&m, &n}) {
    *value = 0;
    EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    *value = 4;
  }
  // k 0 scales C and reads neither A nor B.
  k = 0;
  c = c_.device<float>();
  one = 1;
  float two = 2;
  beta = &two;
  const Complex before = c_.at(5);
  EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
  c_.download();
  EXPECT_EQ(c_.at(5), 2.0 * before);
}

TEST_F(GemmArguments, rejects_null_pointers) {
  alpha = nullptr;
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  alpha = &one;
  beta = nullptr;
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  beta = &zero;
  a = nullptr;
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  a = a_.device<float>();
  b = nullptr;
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  b = b_.device<float>();
  c = nullptr;
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, rejects_buffers_that_the_device_cannot_use) {
  float host[16] = {};
  void* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  void* small = nullptr;
  ASSERT_EQ(cudaMalloc(&small, 60), cudaSuccess);
  for (void* bad : {static_cast<void*>(host), freed, small, reinterpret_cast<void*>(0x1234)}) {
    auto* pointer = static_cast<float*>(bad);
    a = pointer;
    EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE) << "A " << bad;
    a = a_.device<float>();
    b = pointer;
    EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE) << "B " << bad;
    b = b_.device<float>();
    c = pointer;
    EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE) << "C " << bad;
    c = c_.device<float>();
  }
  c = a_.device<float>();
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE) << "C on A";
  ASSERT_EQ(cudaFree(small), cudaSuccess);
}

TEST_F(GemmArguments, rejects_scalars_on_the_wrong_side) {
  alpha = a_.device<float>();
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  alpha = &one;
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call(), CUBLAS_STATUS_INVALID_VALUE);
  float result = 0;
  EXPECT_EQ(cublasSdot_v2(handle_, 4, a, 1, b, 1, &result), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, rejects_unknown_and_traps_unsupported_types) {
  const auto ex = [&](int in, int out, int compute, int algo) {
    return cublasGemmEx(handle_, ta, tb, m, n, k, alpha, a, static_cast<cudaDataType>(in), lda, b,
                        static_cast<cudaDataType>(in), ldb, beta, c, static_cast<cudaDataType>(out), ldc,
                        static_cast<cublasComputeType_t>(compute), static_cast<cublasGemmAlgo_t>(algo));
  };
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_ALGO15_TENSOR_OP), CUBLAS_STATUS_SUCCESS);
  for (const int bad : {-1, 34, 1000}) {
    EXPECT_EQ(ex(bad, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(ex(CUDA_R_32F, bad, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, bad, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_INVALID_VALUE);
  }
  for (const int bad : {-2, 24, 98, 116})
    EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, bad), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(ex(CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
  // int8: as measured with the genuine library, no plain-plain product and k in fours only.
  EXPECT_EQ(ex(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
  ta = CUBLAS_OP_T;
  k = 3;
  EXPECT_EQ(ex(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(GemmArguments, rejects_bad_batches) {
  const auto strided = [&](long long stride, int batch) {
    return cublasSgemmStridedBatched(handle_, ta, tb, 2, 2, 2, alpha, a, 2, 4, b, 2, 4, beta, c, 2, stride, batch);
  };
  EXPECT_EQ(strided(4, 4), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(strided(4, 0), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(strided(4, -1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(strided(4, 5), CUBLAS_STATUS_INVALID_VALUE) << "five matrices do not fit";
  EXPECT_EQ(strided(0, 2), CUBLAS_STATUS_INVALID_VALUE) << "the outputs lie on each other";
  EXPECT_EQ(strided(std::numeric_limits<long long>::max(), 3), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(strided(std::numeric_limits<long long>::min(), 3), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, rejects_bad_vectors) {
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 4, 4, alpha, a, 4, b, 0, beta, c, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 4, 4, alpha, a, 3, b, 1, beta, c, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, -1, 4, alpha, a, 4, b, 1, beta, c, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 4, 4, alpha, a, 4, b, 6, beta, c, 1), CUBLAS_STATUS_INVALID_VALUE)
      << "x is too short";
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 4, 4, alpha, a, 4, b, -1, beta, c, 1), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 0, 4, alpha, a, 4, b, 1, beta, c, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSdot_v2(handle_, 4, a, 1, b, 1, nullptr), CUBLAS_STATUS_MAPPING_ERROR);
  float result = 0;
  EXPECT_EQ(cublasSdot_v2(handle_, 4, a, 1, b, -1, &result), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSdot_v2(handle_, 17, a, 1, b, 1, &result), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, rejects_bad_workspaces) {
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, a_.device(), 64), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, a_.device<char>() + 1, 8), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, a_.device(), std::size_t{1} << 40), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, nullptr, 256), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, nullptr, 0), CUBLAS_STATUS_SUCCESS);
  alignas(256) static char host[256];
  EXPECT_EQ(cublasSetWorkspace_v2(handle_, host, sizeof host), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmArguments, traps_sides_of_2_to_the_31) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  EXPECT_EQ(cublasSgemm_v2_64(handle_, ta, tb, 4, 4, 4, alpha, a, kHuge, b, 4, beta, c, 4),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSgemm_v2_64(handle_, ta, tb, kHuge, 4, 4, alpha, a, kHuge, b, 4, beta, c, kHuge),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSgemm_v2_64(handle_, ta, tb, 4, kHuge, 4, alpha, a, 4, b, 4, beta, c, 4), CUBLAS_STATUS_INVALID_VALUE)
      << "no buffer is that large";
}

}  // namespace
