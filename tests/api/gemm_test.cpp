// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Matrix products of every type and form against an fp64 reference of the test's own.
#include <thread>

#include "tests/api/blas_support.hpp"

namespace {

using namespace blas_test;

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr double kSingle = 0x1p-24;

/// One product through the Ex functions, plain or strided, checked.
void run_ex(cublasHandle_t handle, const Shape& s, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
            const void* alpha, const void* beta, Complex alpha_value, Complex beta_value, double unit) {
  Array a(in, s.a_count());
  Array b(in, s.b_count());
  Array c(out, s.c_count());
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const std::vector<Complex> before = c.values();
  if (s.batch == 1)
    ASSERT_EQ(cublasGemmEx(handle, s.ta, s.tb, s.m, s.n, s.k, alpha, a.device(), in, s.lda, b.device(), in, s.ldb, beta,
                           c.device(), out, s.ldc, compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
              CUBLAS_STATUS_SUCCESS);
  else
    ASSERT_EQ(cublasGemmStridedBatchedEx(handle, s.ta, s.tb, s.m, s.n, s.k, alpha, a.device(), in, s.lda, s.sa,
                                         b.device(), in, s.ldb, s.sb, beta, c.device(), out, s.ldc, s.sc, s.batch,
                                         compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
              CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, alpha_value, beta_value, unit);
}

TEST_F(Blas, maps_sgemm_for_all_transposes_and_gaps) {
  for (const auto ta : kOperations)
    for (const auto tb : kOperations) {
      const Shape s = shape(ta, tb, 37, 29, 41, 3);
      Array a(CUDA_R_32F, s.a_count());
      Array b(CUDA_R_32F, s.b_count());
      Array c(CUDA_R_32F, s.c_count());
      a.fill(1);
      b.fill(2);
      c.fill(3);
      const std::vector<Complex> before = c.values();
      const float alpha = 1.25f;
      const float beta = -0.5f;
      ASSERT_EQ(cublasSgemm_v2(handle_, ta, tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, b.device<float>(),
                               s.ldb, &beta, c.device<float>(), s.ldc),
                CUBLAS_STATUS_SUCCESS);
      c.download();
      expect_product(s, a.values(), b.values(), before, c, 1.25, -0.5, kSingle);
    }
}

TEST_F(Blas, maps_dgemm_cgemm_zgemm) {
  for (const auto ta : kOperations)
    for (const auto tb : kOperations) {
      const Shape s = shape(ta, tb, 11, 13, 17, 2);
      for (const cudaDataType type : {CUDA_R_64F, CUDA_C_32F, CUDA_C_64F}) {
        Array a(type, s.a_count());
        Array b(type, s.b_count());
        Array c(type, s.c_count());
        a.fill(4);
        b.fill(5);
        c.fill(6);
        const std::vector<Complex> before = c.values();
        cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR;
        Complex alpha = {0.5, type == CUDA_R_64F ? 0.0 : 0.25};
        Complex beta = {2.0, type == CUDA_R_64F ? 0.0 : -1.0};
        if (type == CUDA_R_64F) {
          const double wide[2] = {alpha.real(), beta.real()};
          status = cublasDgemm_v2(handle_, ta, tb, s.m, s.n, s.k, &wide[0], a.device<double>(), s.lda,
                                  b.device<double>(), s.ldb, &wide[1], c.device<double>(), s.ldc);
        } else if (type == CUDA_C_32F) {
          const cuComplex narrow[2] = {{0.5f, 0.25f}, {2.0f, -1.0f}};
          status = cublasCgemm_v2(handle_, ta, tb, s.m, s.n, s.k, &narrow[0], a.device<cuComplex>(), s.lda,
                                  b.device<cuComplex>(), s.ldb, &narrow[1], c.device<cuComplex>(), s.ldc);
        } else {
          const cuDoubleComplex wide[2] = {{0.5, 0.25}, {2.0, -1.0}};
          status = cublasZgemm_v2(handle_, ta, tb, s.m, s.n, s.k, &wide[0], a.device<cuDoubleComplex>(), s.lda,
                                  b.device<cuDoubleComplex>(), s.ldb, &wide[1], c.device<cuDoubleComplex>(), s.ldc);
        }
        ASSERT_EQ(status, CUBLAS_STATUS_SUCCESS);
        c.download();
        expect_product(s, a.values(), b.values(), before, c, alpha, beta, unit_of(type) * 2);
      }
    }
}

TEST_F(Blas, maps_gemm_ex_half_and_bfloat16_with_single_compute) {
  const float alpha = 0.75f;
  const float beta = 0.5f;
  for (const cudaDataType in : {CUDA_R_16F, CUDA_R_16BF})
    for (const cudaDataType out : {in, CUDA_R_32F})
      for (const int batch : {1, 3})
        for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
          run_ex(handle_, shape(ta, CUBLAS_OP_T, 19, 23, 33, 1, batch), in, out, CUBLAS_COMPUTE_32F, &alpha, &beta,
                 0.75, 0.5, kSingle);
}

TEST_F(Blas, maps_every_fast_and_pedantic_compute_type_in_full_precision) {
  const float alpha = 1;
  const float beta = 0;
  for (const auto compute : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_16F,
                             CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32})
    run_ex(handle_, shape(CUBLAS_OP_N, CUBLAS_OP_N, 16, 12, 20), CUDA_R_32F, CUDA_R_32F, compute, &alpha, &beta, 1, 0,
           kSingle);
  const double wide[2] = {1.5, 0.5};
  for (const auto compute : {CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC})
    run_ex(handle_, shape(CUBLAS_OP_T, CUBLAS_OP_N, 9, 8, 7), CUDA_R_64F, CUDA_R_64F, compute, &wide[0], &wide[1], 1.5,
           0.5, 0x1p-53);
}

// cases/bugs B26: 1 + 2^-10 does not survive in TF32's 10 bits of mantissa once it is rounded to bf16's 7.
TEST_F(Blas, maps_tf32_request_without_loss) {
  Array a(CUDA_R_32F, 1);
  Array b(CUDA_R_32F, 1);
  Array c(CUDA_R_32F, 1);
  a.fill_with(1 + 0x1p-20);
  b.fill_with(1);
  const float alpha = 1;
  const float beta = 0;
  ASSERT_EQ(
      cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.device(), CUDA_R_32F, 1, b.device(),
                   CUDA_R_32F, 1, &beta, c.device(), CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_SUCCESS);
  c.download();
  EXPECT_EQ(c.at(0), Complex(1 + 0x1p-20));
}

// Half scalars belong to the half compute types, float scalars to the single ones; programs built before CUDA 11 pass
// the element type's number in the compute type's place.
TEST_F(Blas, maps_half_compute_with_half_scalars) {
  const std::uint16_t alpha = rb::float_to_half(0.5f);
  const std::uint16_t beta = rb::float_to_half(2.0f);
  for (const auto compute :
       {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_16F_PEDANTIC, static_cast<cublasComputeType_t>(CUDA_R_16F)})
    run_ex(handle_, shape(CUBLAS_OP_T, CUBLAS_OP_N, 24, 16, 40), CUDA_R_16F, CUDA_R_16F, compute, &alpha, &beta, 0.5, 2,
           0x1p-11);
  const float single[2] = {0.5f, 2.0f};
  run_ex(handle_, shape(CUBLAS_OP_T, CUBLAS_OP_N, 24, 16, 40), CUDA_R_16F, CUDA_R_16F,
         static_cast<cublasComputeType_t>(CUDA_R_32F), &single[0], &single[1], 0.5, 2, kSingle);
}

// cases/bugs B25: small integers are exact in half.
TEST_F(Blas, maps_hgemm_of_small_integers_exactly) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 79, 91, 83);
  Array a(CUDA_R_16F, s.a_count());
  Array b(CUDA_R_16F, s.b_count());
  Array c(CUDA_R_16F, s.c_count());
  for (std::size_t i = 0; i < s.a_count(); ++i) a.set(i, static_cast<double>(i % 5) - 2.0);
  for (std::size_t i = 0; i < s.b_count(); ++i) b.set(i, static_cast<double>(i % 7) - 3.0);
  a.upload();
  b.upload();
  c.fill(3);
  const std::vector<Complex> before = c.values();
  const __half alpha{rb::float_to_half(1.0f)};
  const __half beta{rb::float_to_half(0.0f)};
  ASSERT_EQ(cublasHgemm(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<__half>(), s.lda, b.device<__half>(),
                        s.ldb, &beta, c.device<__half>(), s.ldc),
            CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 1, 0, 0);
}

// cases/bugs B7: half subnormals are values like others.
TEST_F(Blas, maps_half_subnormals_without_flushing) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64);
  Array a(CUDA_R_16F, s.a_count());
  Array b(CUDA_R_16F, s.b_count());
  Array c(CUDA_R_16F, s.c_count());
  a.fill_with(1);
  b.fill_with(0x1p-15);
  c.fill_with(7);
  const float alpha = 1;
  const float beta = 0;
  ASSERT_EQ(
      cublasGemmEx(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device(), CUDA_R_16F, s.lda, b.device(), CUDA_R_16F,
                   s.ldb, &beta, c.device(), CUDA_R_16F, s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_SUCCESS);
  c.download();
  for (std::size_t i = 0; i < std::size_t{64} * 64; ++i) ASSERT_EQ(c.at(i), Complex(0x1p-9)) << i;
}

// cases/bugs B28: zero scalars skip terms instead of multiplying.
TEST_F(Blas, maps_zero_scalars_without_reading) {
  const double nan = std::nan("");
  struct {
    double alpha, beta, a, c, want;
  } const cases[] = {{0, 2, nan, 3, 6}, {0, 0, nan, nan, 0}, {1, 0, 2, nan, 8}};
  for (const auto& t : cases) {
    const float alpha = static_cast<float>(t.alpha);
    const float beta = static_cast<float>(t.beta);
    Array a(CUDA_R_32F, 16);
    Array b(CUDA_R_32F, 16);
    Array c(CUDA_R_32F, 16);
    a.fill_with(t.a);
    b.fill_with(1);
    c.fill_with(t.c);
    ASSERT_EQ(cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &alpha, a.device<float>(), 4,
                             b.device<float>(), 4, &beta, c.device<float>(), 4),
              CUBLAS_STATUS_SUCCESS);
    c.download();
    for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(c.at(i), Complex(t.want)) << t.alpha << " " << t.beta;
    c.fill_with(t.c);
    ASSERT_EQ(cublasSgemv_v2(handle_, CUBLAS_OP_N, 4, 4, &alpha, a.device<float>(), 4, b.device<float>(), 1, &beta,
                             c.device<float>(), 1),
              CUBLAS_STATUS_SUCCESS);
    c.download();
    for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(c.at(i), Complex(t.want)) << t.alpha << " " << t.beta;
  }
}

TEST_F(Blas, maps_int8_with_integer_sums) {
  const std::int32_t alpha = 1;
  const std::int32_t beta = 0;
  run_ex(handle_, shape(CUBLAS_OP_T, CUBLAS_OP_N, 16, 24, 32), CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, &alpha, &beta,
         1, 0, 0);
}

TEST_F(Blas, maps_strided_and_pointer_batches) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_T, 15, 14, 13, 2, 4);
  const float alpha = 1.5f;
  const float beta = 0.25f;
  Array a(CUDA_R_32F, s.a_count());
  Array b(CUDA_R_32F, s.b_count());
  Array c(CUDA_R_32F, s.c_count());
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const std::vector<Complex> before = c.values();
  ASSERT_EQ(cublasSgemmStridedBatched(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, s.sa,
                                      b.device<float>(), s.ldb, s.sb, &beta, c.device<float>(), s.ldc, s.sc, s.batch),
            CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 1.5, 0.25, kSingle);

  c.fill(3);
  std::vector<float*> pointers;
  for (int i = 0; i < s.batch; ++i) {
    pointers.push_back(a.device<float>() + i * s.sa);
    pointers.push_back(b.device<float>() + i * s.sb);
    pointers.push_back(c.device<float>() + i * s.sc);
  }
  std::vector<float*> sorted;
  for (std::size_t which = 0; which < 3; ++which)
    for (std::size_t i = which; i < pointers.size(); i += 3) sorted.push_back(pointers[i]);
  float** on_device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&on_device), sorted.size() * sizeof(float*)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(on_device, sorted.data(), sorted.size() * sizeof(float*), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cublasSgemmBatched(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, on_device, s.lda, on_device + s.batch, s.ldb,
                               &beta, on_device + 2 * s.batch, s.ldc, s.batch),
            CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 1.5, 0.25, kSingle);
  EXPECT_EQ(cudaFree(on_device), cudaSuccess);
}

TEST_F(Blas, maps_scalars_in_device_memory) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 8, 9, 10);
  Array scalars(CUDA_R_32F, 2);
  scalars.set(0, 2.0);
  scalars.set(1, 0.5);
  scalars.upload();
  Array a(CUDA_R_32F, s.a_count());
  Array b(CUDA_R_32F, s.b_count());
  Array c(CUDA_R_32F, s.c_count());
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const std::vector<Complex> before = c.values();
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSgemm_v2(handle_, s.ta, s.tb, s.m, s.n, s.k, scalars.device<float>(), a.device<float>(), s.lda,
                           b.device<float>(), s.ldb, scalars.device<float>() + 1, c.device<float>(), s.ldc),
            CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 2, 0.5, kSingle);
}

TEST_F(Blas, maps_gemv_with_increments) {
  struct {
    cublasOperation_t trans;
    int incx, incy;
  } const cases[] = {
      {CUBLAS_OP_N, 1, 1}, {CUBLAS_OP_T, 1, 1}, {CUBLAS_OP_N, 3, 2}, {CUBLAS_OP_T, 2, 3}, {CUBLAS_OP_C, 1, 2}};
  constexpr int m = 9;
  constexpr int n = 7;
  constexpr int lda = 11;
  for (const auto& t : cases) {
    const int rows = t.trans == CUBLAS_OP_N ? m : n;
    const int columns = t.trans == CUBLAS_OP_N ? n : m;
    Array a(CUDA_R_32F, lda * n);
    Array x(CUDA_R_32F, static_cast<std::size_t>(columns * t.incx));
    Array y(CUDA_R_32F, static_cast<std::size_t>(rows * t.incy));
    a.fill(1);
    x.fill(2);
    y.fill(3);
    const std::vector<Complex> before = y.values();
    const float alpha = 1.5f;
    const float beta = 0.5f;
    ASSERT_EQ(cublasSgemv_v2(handle_, t.trans, m, n, &alpha, a.device<float>(), lda, x.device<float>(), t.incx, &beta,
                             y.device<float>(), t.incy),
              CUBLAS_STATUS_SUCCESS);
    y.download();
    for (int i = 0; i < rows * t.incy; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i % t.incy != 0) {
        ASSERT_EQ(y.at(at), before[at]);
        continue;
      }
      const int row = i / t.incy;
      Complex want = 0.5 * before[at];
      for (int j = 0; j < columns; ++j)
        want += 1.5 * a.at(static_cast<std::size_t>(t.trans == CUBLAS_OP_N ? row + j * lda : j + row * lda)) *
                x.at(static_cast<std::size_t>(j * t.incx));
      ASSERT_NEAR(y.at(at).real(), want.real(), 1e-5);
    }
  }
}

TEST_F(Blas, maps_conjugated_cgemv) {
  constexpr int m = 5;
  constexpr int n = 4;
  Array a(CUDA_C_32F, m * n);
  Array x(CUDA_C_32F, m);
  Array y(CUDA_C_32F, n);
  a.fill(1);
  x.fill(2);
  y.fill(3);
  const cuComplex alpha = {1, 0};
  const cuComplex beta = {0, 0};
  ASSERT_EQ(cublasCgemv_v2(handle_, CUBLAS_OP_C, m, n, &alpha, a.device<cuComplex>(), m, x.device<cuComplex>(), 1,
                           &beta, y.device<cuComplex>(), 1),
            CUBLAS_STATUS_SUCCESS);
  y.download();
  for (std::size_t j = 0; j < n; ++j) {
    Complex want = 0;
    for (std::size_t i = 0; i < m; ++i) want += std::conj(a.at(i + j * m)) * x.at(i);
    ASSERT_LE(std::abs(y.at(j) - want), 1e-5);
  }
}

TEST_F(Blas, maps_dot_in_both_pointer_modes) {
  constexpr int n = 9;
  Array x(CUDA_R_32F, n * 2);
  Array y(CUDA_R_32F, n);
  Array result(CUDA_R_32F, 1);
  x.fill(1);
  y.fill(2);
  result.fill_with(-1);
  double want = 0;
  for (std::size_t i = 0; i < n; ++i) want += (x.at(2 * i) * y.at(i)).real();
  float host = -1;
  ASSERT_EQ(cublasSdot_v2(handle_, n, x.device<float>(), 2, y.device<float>(), 1, &host), CUBLAS_STATUS_SUCCESS);
  EXPECT_NEAR(static_cast<double>(host), want, 1e-6);
  ASSERT_EQ(cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSdot_v2(handle_, n, x.device<float>(), 2, y.device<float>(), 1, result.device<float>()),
            CUBLAS_STATUS_SUCCESS);
  result.download();
  EXPECT_NEAR(result.at(0).real(), want, 1e-6);
  ASSERT_EQ(cublasSdot_v2(handle_, 0, x.device<float>(), 2, y.device<float>(), 1, result.device<float>()),
            CUBLAS_STATUS_SUCCESS);
  result.download();
  EXPECT_EQ(result.at(0), Complex(0));
}

TEST_F(Blas, maps_dot_ex_for_half_and_bfloat16) {
  constexpr int n = 65;
  for (const cudaDataType type : {CUDA_R_16F, CUDA_R_16BF}) {
    Array x(type, n);
    Array y(type, n);
    Array result(type, 1);
    x.fill(1);
    y.fill(2);
    double want = 0;
    for (std::size_t i = 0; i < n; ++i) want += (x.at(i) * y.at(i)).real();
    ASSERT_EQ(cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasDotEx(handle_, n, x.device(), type, 1, y.device(), type, 1, result.device(), type, CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    result.download();
    EXPECT_NEAR(result.at(0).real(), want, std::abs(want) * unit_of(type) + 1e-5);
    unsigned char host[16] = {};
    ASSERT_EQ(cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasDotEx(handle_, n, x.device(), type, 1, y.device(), type, 1, host, type, CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(get(type, host), result.at(0));
  }
}

TEST_F(Blas, maps_64_bit_forms) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 6, 5, 4);
  Array a(CUDA_R_32F, s.a_count());
  Array b(CUDA_R_32F, s.b_count());
  Array c(CUDA_R_32F, s.c_count());
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const std::vector<Complex> before = c.values();
  const float alpha = 1;
  const float beta = 1;
  ASSERT_EQ(cublasSgemm_v2_64(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, b.device<float>(),
                              s.ldb, &beta, c.device<float>(), s.ldc),
            CUBLAS_STATUS_SUCCESS);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 1, 1, kSingle);
}

// cases/bugs B10: more rows or columns than 2^19.
TEST_F(Blas, maps_long_sides) {
  constexpr int kLong = 600000;
  for (const bool tall : {false, true}) {
    const int m = tall ? kLong : 2;
    const int n = tall ? 2 : kLong;
    constexpr int k = 2;
    Array a(CUDA_R_32F, static_cast<std::size_t>(m) * k);
    Array b(CUDA_R_32F, static_cast<std::size_t>(n) * k);
    Array c(CUDA_R_32F, static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    a.fill(1);
    b.fill(2);
    const float alpha = 1;
    const float beta = 0;
    ASSERT_EQ(cublasSgemm_v2(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device<float>(), m,
                             b.device<float>(), k, &beta, c.device<float>(), m),
              CUBLAS_STATUS_SUCCESS);
    c.download();
    for (const std::size_t i : {0, 524287, 524288, 524289, kLong - 1}) {
      const std::size_t row = tall ? i : 1;
      const std::size_t column = tall ? 1 : i;
      const auto rows = static_cast<std::size_t>(m);
      const Complex want = a.at(row) * b.at(column * k) + a.at(row + rows) * b.at(column * k + 1);
      ASSERT_LE(std::abs(c.at(row + column * rows) - want), 1e-6) << i;
    }
  }
}

TEST_F(Blas, maps_streams_in_order) {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64);
  Array a(CUDA_R_32F, s.a_count());
  Array b(CUDA_R_32F, s.b_count());
  Array c(CUDA_R_32F, s.c_count());
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const std::vector<Complex> before = c.values();
  const float alpha = 1;
  const float beta = 0;
  cudaStream_t got = nullptr;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cublasSetStream_v2(handle_, streams[i % 2]), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasGetStream_v2(handle_, &got), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(got, streams[i % 2]);
    ASSERT_EQ(cublasSgemm_v2(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, b.device<float>(),
                             s.ldb, &beta, c.device<float>(), s.ldc),
              CUBLAS_STATUS_SUCCESS);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  c.download();
  expect_product(s, a.values(), b.values(), before, c, 1, 0, kSingle);
  ASSERT_EQ(cudaStreamDestroy(streams[1]), cudaSuccess);
  // The handle's stream is gone: a message, not a crash.
  EXPECT_EQ(cublasSgemm_v2(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, b.device<float>(),
                           s.ldb, &beta, c.device<float>(), s.ldc),
            CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(cublasSetStream_v2(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSgemm_v2(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda, b.device<float>(),
                           s.ldb, &beta, c.device<float>(), s.ldc),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamDestroy(streams[0]), cudaSuccess);
}

TEST_F(Blas, maps_one_handle_of_many_threads) {
  const Shape s = shape(CUBLAS_OP_N, CUBLAS_OP_T, 24, 25, 26);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, &s] {
      Array a(CUDA_R_32F, s.a_count());
      Array b(CUDA_R_32F, s.b_count());
      Array c(CUDA_R_32F, s.c_count());
      a.fill(1);
      b.fill(2);
      for (int i = 0; i < 20; ++i) {
        c.fill(3);
        const std::vector<Complex> before = c.values();
        const float alpha = 1;
        const float beta = 0.5f;
        ASSERT_EQ(cublasSgemm_v2(handle_, s.ta, s.tb, s.m, s.n, s.k, &alpha, a.device<float>(), s.lda,
                                 b.device<float>(), s.ldb, &beta, c.device<float>(), s.ldc),
                  CUBLAS_STATUS_SUCCESS);
        c.download();
        expect_product(s, a.values(), b.values(), before, c, 1, 0.5, kSingle);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
