// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Every matrix product, gemv and dot that is built, in its int and its 64-bit form, once each: the numbers, and in the
// trace the evidence that api/ asks for.
#include "tests/api/blas_support.hpp"

namespace {

using namespace blas_test;

constexpr int kBatch = 3;

/// Scalars 1.5 and 0.5 of a type, in host memory.
struct Scalars {
  alignas(16) unsigned char alpha[16] = {};
  alignas(16) unsigned char beta[16] = {};
  explicit Scalars(cudaDataType type) {
    put(type, alpha, 1.5);
    put(type, beta, 0.5);
  }
};

/// Operands of one product or batch; check() compares and resets C.
class Operands {
 public:
  Operands(cudaDataType type, int batch)
      : s(shape(CUBLAS_OP_N, CUBLAS_OP_T, 12, 10, 14, 1, batch)),
        a(type, s.a_count()),
        b(type, s.b_count()),
        c(type, s.c_count()) {
    a.fill(1);
    b.fill(2);
    reset();
  }
  void check(cublasStatus_t status) {
    ASSERT_EQ(status, CUBLAS_STATUS_SUCCESS);
    c.download();
    const double unit = c.type() == CUDA_R_16F ? 0x1p-11 : 2 * unit_of(c.type());
    expect_product(s, a.values(), b.values(), before, c, 1.5, 0.5, unit);
    reset();
  }
  void reset() {
    c.fill(3);
    before = c.values();
  }
  Shape s;
  Array a, b, c;
  std::vector<Complex> before;
};

/// Device arrays of pointers to the matrices of a batch.
class Pointers {
 public:
  explicit Pointers(const Operands& o) {
    std::vector<void*> host;
    const std::size_t size = bytes_of(o.c.type());
    for (int i = 0; i < kBatch; ++i) host.push_back(o.a.device<char>() + static_cast<std::size_t>(i * o.s.sa) * size);
    for (int i = 0; i < kBatch; ++i) host.push_back(o.b.device<char>() + static_cast<std::size_t>(i * o.s.sb) * size);
    for (int i = 0; i < kBatch; ++i) host.push_back(o.c.device<char>() + static_cast<std::size_t>(i * o.s.sc) * size);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_), host.size() * sizeof(void*)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(device_, host.data(), host.size() * sizeof(void*), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Pointers() { cudaFree(device_); }
  Pointers(const Pointers&) = delete;
  Pointers& operator=(const Pointers&) = delete;
  template <class T>
  T** get(int which) const {
    return static_cast<T**>(static_cast<void*>(device_ + which * kBatch));
  }

 private:
  void** device_ = nullptr;
};

template <class T, class Function>
void plain(cublasHandle_t handle, cudaDataType type, Function function) {
  Operands o(type, 1);
  const Scalars scalars(type);
  const Shape& s = o.s;
  o.check(function(handle, s.ta, s.tb, s.m, s.n, s.k, reinterpret_cast<const T*>(scalars.alpha), o.a.device<T>(), s.lda,
                   o.b.device<T>(), s.ldb, reinterpret_cast<const T*>(scalars.beta), o.c.device<T>(), s.ldc));
}

template <class T, class Function>
void strided(cublasHandle_t handle, cudaDataType type, Function function) {
  Operands o(type, kBatch);
  const Scalars scalars(type);
  const Shape& s = o.s;
  o.check(function(handle, s.ta, s.tb, s.m, s.n, s.k, reinterpret_cast<const T*>(scalars.alpha), o.a.device<T>(), s.lda,
                   s.sa, o.b.device<T>(), s.ldb, s.sb, reinterpret_cast<const T*>(scalars.beta), o.c.device<T>(), s.ldc,
                   s.sc, kBatch));
}

template <class T, class Function>
void pointers(cublasHandle_t handle, cudaDataType type, Function function) {
  Operands o(type, kBatch);
  const Scalars scalars(type);
  const Pointers p(o);
  const Shape& s = o.s;
  o.check(function(handle, s.ta, s.tb, s.m, s.n, s.k, reinterpret_cast<const T*>(scalars.alpha), p.get<const T>(0),
                   s.lda, p.get<const T>(1), s.ldb, reinterpret_cast<const T*>(scalars.beta), p.get<T>(2), s.ldc,
                   kBatch));
}

TEST_F(Blas, maps_plain_products_of_each_type_and_width) {
  plain<float>(handle_, CUDA_R_32F, cublasSgemm_v2);
  plain<float>(handle_, CUDA_R_32F, cublasSgemm_v2_64);
  plain<double>(handle_, CUDA_R_64F, cublasDgemm_v2);
  plain<double>(handle_, CUDA_R_64F, cublasDgemm_v2_64);
  plain<cuComplex>(handle_, CUDA_C_32F, cublasCgemm_v2);
  plain<cuComplex>(handle_, CUDA_C_32F, cublasCgemm_v2_64);
  plain<cuComplex>(handle_, CUDA_C_32F, cublasCgemm3m);
  plain<cuComplex>(handle_, CUDA_C_32F, cublasCgemm3m_64);
  plain<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemm_v2);
  plain<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemm_v2_64);
  plain<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemm3m);
  plain<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemm3m_64);
  plain<__half>(handle_, CUDA_R_16F, cublasHgemm);
  plain<__half>(handle_, CUDA_R_16F, cublasHgemm_64);
}

TEST_F(Blas, maps_strided_batches_of_each_type_and_width) {
  strided<float>(handle_, CUDA_R_32F, cublasSgemmStridedBatched);
  strided<float>(handle_, CUDA_R_32F, cublasSgemmStridedBatched_64);
  strided<double>(handle_, CUDA_R_64F, cublasDgemmStridedBatched);
  strided<double>(handle_, CUDA_R_64F, cublasDgemmStridedBatched_64);
  strided<cuComplex>(handle_, CUDA_C_32F, cublasCgemmStridedBatched);
  strided<cuComplex>(handle_, CUDA_C_32F, cublasCgemmStridedBatched_64);
  strided<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemmStridedBatched);
  strided<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemmStridedBatched_64);
  strided<__half>(handle_, CUDA_R_16F, cublasHgemmStridedBatched);
  strided<__half>(handle_, CUDA_R_16F, cublasHgemmStridedBatched_64);
}

TEST_F(Blas, maps_pointer_batches_of_each_type_and_width) {
  pointers<float>(handle_, CUDA_R_32F, cublasSgemmBatched);
  pointers<float>(handle_, CUDA_R_32F, cublasSgemmBatched_64);
  pointers<double>(handle_, CUDA_R_64F, cublasDgemmBatched);
  pointers<double>(handle_, CUDA_R_64F, cublasDgemmBatched_64);
  pointers<cuComplex>(handle_, CUDA_C_32F, cublasCgemmBatched);
  pointers<cuComplex>(handle_, CUDA_C_32F, cublasCgemmBatched_64);
  pointers<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemmBatched);
  pointers<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemmBatched_64);
  pointers<__half>(handle_, CUDA_R_16F, cublasHgemmBatched);
  pointers<__half>(handle_, CUDA_R_16F, cublasHgemmBatched_64);
}

TEST_F(Blas, maps_ex_forms_of_each_width) {
  const cudaDataType t = CUDA_R_32F;
  const float alpha = 1.5f;
  const float beta = 0.5f;
  {
    Operands o(t, 1);
    const Shape& s = o.s;
    const auto run = [&](auto function) {
      o.check(function(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, o.a.device(), t, s.lda, o.b.device(), t, s.ldb,
                       &beta, o.c.device(), t, s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    run(cublasGemmEx);
    run(cublasGemmEx_64);
    const auto run_single = [&](auto function) {
      o.check(function(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, o.a.device(), t, s.lda, o.b.device(), t, s.ldb,
                       &beta, o.c.device(), t, s.ldc));
    };
    run_single(cublasSgemmEx);
    run_single(cublasSgemmEx_64);
  }
  {
    Operands o(CUDA_C_32F, 1);
    const Shape& s = o.s;
    const cuComplex wide[2] = {{1.5f, 0}, {0.5f, 0}};
    const auto run = [&](auto function) {
      o.check(function(handle_, s.ta, s.tb, s.m, s.n, s.k, &wide[0], o.a.device(), CUDA_C_32F, s.lda, o.b.device(),
                       CUDA_C_32F, s.ldb, &wide[1], o.c.device(), CUDA_C_32F, s.ldc));
    };
    run(cublasCgemmEx);
    run(cublasCgemmEx_64);
  }
  {
    Operands o(t, kBatch);
    const Shape& s = o.s;
    const auto run = [&](auto function) {
      o.check(function(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, o.a.device(), t, s.lda, s.sa, o.b.device(), t, s.ldb,
                       s.sb, &beta, o.c.device(), t, s.ldc, s.sc, kBatch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    run(cublasGemmStridedBatchedEx);
    run(cublasGemmStridedBatchedEx_64);
    const Pointers p(o);
    const auto run_pointers = [&](auto function) {
      o.check(function(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, p.get<const void>(0), t, s.lda, p.get<const void>(1),
                       t, s.ldb, &beta, p.get<void>(2), t, s.ldc, kBatch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    run_pointers(cublasGemmBatchedEx);
    run_pointers(cublasGemmBatchedEx_64);
  }
}

template <class T, class Function>
void gemv(cublasHandle_t handle, cudaDataType type, Function function) {
  constexpr int m = 7;
  constexpr int n = 6;
  Array a(type, m * n);
  Array x(type, n);
  Array y(type, m);
  a.fill(1);
  x.fill(2);
  y.fill(3);
  const std::vector<Complex> before = y.values();
  const Scalars scalars(type);
  ASSERT_EQ(function(handle, CUBLAS_OP_N, m, n, reinterpret_cast<const T*>(scalars.alpha), a.device<T>(), m,
                     x.device<T>(), 1, reinterpret_cast<const T*>(scalars.beta), y.device<T>(), 1),
            CUBLAS_STATUS_SUCCESS);
  y.download();
  for (std::size_t i = 0; i < m; ++i) {
    Complex want = 0.5 * before[i];
    for (std::size_t j = 0; j < n; ++j) want += 1.5 * a.at(i + j * m) * x.at(j);
    ASSERT_LE(std::abs(y.at(i) - want), 40 * unit_of(type));
  }
}

TEST_F(Blas, maps_gemv_of_each_type_and_width) {
  gemv<float>(handle_, CUDA_R_32F, cublasSgemv_v2);
  gemv<float>(handle_, CUDA_R_32F, cublasSgemv_v2_64);
  gemv<double>(handle_, CUDA_R_64F, cublasDgemv_v2);
  gemv<double>(handle_, CUDA_R_64F, cublasDgemv_v2_64);
  gemv<cuComplex>(handle_, CUDA_C_32F, cublasCgemv_v2);
  gemv<cuComplex>(handle_, CUDA_C_32F, cublasCgemv_v2_64);
  gemv<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemv_v2);
  gemv<cuDoubleComplex>(handle_, CUDA_C_64F, cublasZgemv_v2_64);
}

template <class T, class Function>
void dot(cublasHandle_t handle, cudaDataType type, Function function) {
  constexpr int n = 21;
  Array x(type, n);
  Array y(type, n);
  x.fill(1);
  y.fill(2);
  Complex want = 0;
  for (std::size_t i = 0; i < n; ++i) want += x.at(i) * y.at(i);
  unsigned char result[16] = {};
  ASSERT_EQ(function(handle, n, x.device<T>(), 1, y.device<T>(), 1, reinterpret_cast<T*>(result)),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_LE(std::abs(get(type, result) - want), 40 * unit_of(type));
}

TEST_F(Blas, maps_dot_of_each_type_and_width) {
  dot<float>(handle_, CUDA_R_32F, cublasSdot_v2);
  dot<float>(handle_, CUDA_R_32F, cublasSdot_v2_64);
  dot<double>(handle_, CUDA_R_64F, cublasDdot_v2);
  dot<double>(handle_, CUDA_R_64F, cublasDdot_v2_64);
  const auto ex = [](auto function) {
    return [function](cublasHandle_t handle, int n, const void* x, int incx, const void* y, int incy, void* result) {
      return function(handle, n, x, CUDA_R_32F, incx, y, CUDA_R_32F, incy, result, CUDA_R_32F, CUDA_R_32F);
    };
  };
  dot<float>(handle_, CUDA_R_32F, ex(cublasDotEx));
  dot<float>(handle_, CUDA_R_32F, ex(cublasDotEx_64));
}

// A pointer batch with a matrix that is not on the device: seen where the call is checked, which reads the
// pointers; the first use of a problem always is, unless checks are off.
TEST_F(Blas, rejects_pointer_batches_of_host_memory_when_checked) {
  Operands o(CUDA_R_32F, 1);
  static float host[256] = {};
  const float* pointer = host;
  const float** array = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&array), sizeof pointer), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(array, &pointer, sizeof pointer, cudaMemcpyHostToDevice), cudaSuccess);
  const float alpha = 1;
  const float beta = 0;
  EXPECT_EQ(cublasSgemmBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &alpha, array, 2, array, 2, &beta,
                               const_cast<float**>(array), 2, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cudaFree(array), cudaSuccess);
}

}  // namespace
