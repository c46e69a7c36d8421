// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS's matrix products on the software device: types, batches, pointer modes, quick returns and refusals.
#include <climits>
#include <cmath>
#include <complex>
#include <limits>

#include "tests/soft/rocblas_support.hpp"

namespace {

using soft_test::Buffer;
using soft_test::integers;
using soft_test::RocblasHandle;

constexpr auto kOk = rocblas_status_success;
constexpr auto kNone = rocblas_operation_none;
constexpr auto kTrans = rocblas_operation_transpose;
constexpr auto kConj = rocblas_operation_conjugate_transpose;
constexpr int kM = 5, kN = 4, kK = 6, kLda = 7, kLdb = 8, kLdc = 9;
constexpr float kOne = 1, kZero = 0;

/// alpha * op(A) * op(B) + beta * C, padding rows of C kept.
template <class T>
std::vector<T> expected(bool trans_a, bool trans_b, bool conj, T alpha, const std::vector<T>& a,
                        const std::vector<T>& b, T beta, const std::vector<T>& c) {
  std::vector<T> result = c;
  const auto at = [&](const std::vector<T>& v, bool trans, int row, int column, int ld) {
    T value = v[static_cast<std::size_t>(trans ? column + row * ld : row + column * ld)];
    if constexpr (!std::is_floating_point_v<T>)
      if (trans && conj) value = std::conj(value);
    return value;
  };
  for (int j = 0; j < kN; ++j)
    for (int i = 0; i < kM; ++i) {
      T sum{};
      for (int k = 0; k < kK; ++k) sum += at(a, trans_a, i, k, kLda) * at(b, trans_b, k, j, kLdb);
      auto& out = result[static_cast<std::size_t>(i + j * kLdc)];
      out = alpha * sum + beta * out;
    }
  return result;
}

template <class T>
std::vector<T> data(int seed) {
  std::vector<T> values;
  for (const float v : integers(kLdc * 9, seed)) values.push_back(static_cast<T>(v));
  return values;
}

TEST(RocblasGemm, maps_the_real_types_with_every_transpose) {
  RocblasHandle handle;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const auto op_a = ta ? kTrans : kNone, op_b = tb ? kConj : kNone;
      const auto a = data<float>(1), b = data<float>(2), c = data<float>(3);
      const Buffer da(a), db(b), dc(c);
      const float alpha = 2, beta = -3;
      ASSERT_EQ(kOk, rocblas_sgemm(handle, op_a, op_b, kM, kN, kK, &alpha, da.as<float>(), kLda, db.as<float>(), kLdb,
                                   &beta, dc.as<float>(), kLdc));
      EXPECT_EQ(expected(ta, tb, false, alpha, a, b, beta, c), dc.read<float>());
      const auto wide_a = data<double>(1), wide_b = data<double>(2), wide_c = data<double>(3);
      const Buffer fa(wide_a), fb(wide_b), fc(wide_c);
      const double wide_alpha = -1, wide_beta = 0.5;
      ASSERT_EQ(kOk, rocblas_dgemm(handle, op_a, op_b, kM, kN, kK, &wide_alpha, fa.as<double>(), kLda, fb.as<double>(),
                                   kLdb, &wide_beta, fc.as<double>(), kLdc));
      EXPECT_EQ(expected(ta, tb, false, wide_alpha, wide_a, wide_b, wide_beta, wide_c), fc.read<double>());
    }
}

TEST(RocblasGemm, maps_complex_products_with_conjugation) {
  using C = std::complex<float>;
  using Z = std::complex<double>;
  RocblasHandle handle;
  const auto complex = [](auto type, int seed) {
    std::vector<decltype(type)> values;
    const auto re = integers(kLdc * 9, seed), im = integers(kLdc * 9, seed + 4);
    for (std::size_t i = 0; i < re.size(); ++i) values.emplace_back(re[i], im[i]);
    return values;
  };
  const auto a = complex(C{}, 1), b = complex(C{}, 2), c = complex(C{}, 3);
  const Buffer da(a), db(b), dc(c);
  const rocblas_float_complex alpha{1, -2}, beta{0, 1};
  ASSERT_EQ(kOk, rocblas_cgemm(handle, kConj, kNone, kM, kN, kK, &alpha, da.as<rocblas_float_complex>(), kLda,
                               db.as<rocblas_float_complex>(), kLdb, &beta, dc.as<rocblas_float_complex>(), kLdc));
  EXPECT_EQ(expected(true, false, true, C(1, -2), a, b, C(0, 1), c), dc.read<C>());
  const auto za = complex(Z{}, 1), zb = complex(Z{}, 2), zc = complex(Z{}, 3);
  const Buffer ea(za), eb(zb), ec(zc);
  const rocblas_double_complex one{1, 0}, zero{0, 0};
  ASSERT_EQ(kOk, rocblas_zgemm(handle, kTrans, kConj, kM, kN, kK, &one, ea.as<rocblas_double_complex>(), kLda,
                               eb.as<rocblas_double_complex>(), kLdb, &zero, ec.as<rocblas_double_complex>(), kLdc));
  std::vector<Z> conjugated = zb;
  for (auto& value : conjugated) value = std::conj(value);
  EXPECT_EQ(expected(true, true, false, Z(1), za, conjugated, Z(0), zc), ec.read<Z>());
}

TEST(RocblasGemm, maps_batches_with_pointers_strides_and_64_bit_lengths) {
  RocblasHandle handle;
  const auto a = data<float>(1), b = data<float>(2), c = data<float>(3);
  const auto result = expected(false, false, false, 1.0f, a, b, 0.0f, c);
  const std::size_t size = a.size();
  std::vector<float> many_a, many_c;
  for (int i = 0; i < 3; ++i) {
    many_a.insert(many_a.end(), a.begin(), a.end());
    many_c.insert(many_c.end(), c.begin(), c.end());
  }
  const Buffer da(many_a), db(b), dc(many_c), dc2(many_c);
  ASSERT_EQ(kOk, rocblas_sgemm_strided_batched(handle, kNone, kNone, kM, kN, kK, &kOne, da.as<float>(), kLda,
                                               static_cast<rocblas_stride>(size), db.as<float>(), kLdb, 0, &kZero,
                                               dc.as<float>(), kLdc, static_cast<rocblas_stride>(size), 3));
  std::vector<float*> pa, pb, pc;
  for (std::size_t i = 0; i < 3; ++i) {
    pa.push_back(da.as<float>() + i * size);
    pb.push_back(db.as<float>());
    pc.push_back(dc2.as<float>() + (2 - i) * size);
  }
  const Buffer arrays_a(pa), arrays_b(pb), arrays_c(pc);
  ASSERT_EQ(kOk, rocblas_sgemm_batched(handle, kNone, kNone, kM, kN, kK, &kOne, arrays_a.as<const float*>(), kLda,
                                       arrays_b.as<const float*>(), kLdb, &kZero, arrays_c.as<float*>(), kLdc, 3));
  for (const auto& got : {dc.read<float>(), dc2.read<float>()})
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(result, std::vector<float>(got.begin() + static_cast<std::ptrdiff_t>(i * size),
                                           got.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)));
  const Buffer dc3(c);
  ASSERT_EQ(kOk, rocblas_sgemm_64(handle, kNone, kNone, kM, kN, kK, &kOne, da.as<float>(), kLda, db.as<float>(), kLdb,
                                  &kZero, dc3.as<float>(), kLdc));
  EXPECT_EQ(result, dc3.read<float>());
}

struct ExTypes {
  rocblas_datatype in, out, compute;
};

rocblas_status gemm_ex(rocblas_handle handle, const ExTypes& t, const void* alpha, const void* a, const void* b,
                       const void* beta, const void* c, void* d, int ldd = kLdc,
                       rocblas_gemm_algo algo = rocblas_gemm_algo_standard, int solution = 0) {
  return rocblas_gemm_ex(handle, kNone, kNone, kM, kN, kK, alpha, a, t.in, kLda, b, t.in, kLdb, beta, c, t.out, kLdc, d,
                         t.out, ldd, t.compute, algo, solution, 0);
}

TEST(RocblasGemm, maps_gemm_ex_for_the_16_bit_types) {
  RocblasHandle handle;
  const auto a = data<float>(1), b = data<float>(2), c = data<float>(3);
  const float alpha = 2, beta = 1;
  const auto result = expected(false, false, false, alpha, a, b, beta, c);
  for (const bool half : {true, false})
    for (const bool wide : {true, false}) {
      const auto narrow = half ? soft_test::to_half : soft_test::to_bfloat16;
      const auto in = half ? rocblas_datatype_f16_r : rocblas_datatype_bf16_r;
      const ExTypes types{in, wide ? rocblas_datatype_f32_r : in, rocblas_datatype_f32_r};
      const Buffer da(narrow(a)), db(narrow(b));
      if (wide) {
        const Buffer dc(c), dd(std::vector<float>(c.size(), 0.0f));
        ASSERT_EQ(kOk, gemm_ex(handle, types, &alpha, da.get(), db.get(), &beta, dc.get(), dd.get()));
        const auto got = dd.read<float>();
        for (int j = 0; j < kN; ++j)
          for (int i = 0; i < kM; ++i)
            ASSERT_EQ(result[static_cast<std::size_t>(i + j * kLdc)], got[static_cast<std::size_t>(i + j * kLdc)]);
        EXPECT_EQ(c, dc.read<float>());
      } else {
        const Buffer dc(narrow(c));
        ASSERT_EQ(kOk, gemm_ex(handle, types, &alpha, da.get(), db.get(), &beta, dc.get(), dc.get()));
        EXPECT_EQ(narrow(result), dc.read<std::uint16_t>());
      }
    }
  // All half: alpha and beta are half, too.
  const Buffer da(soft_test::to_half(a)), db(soft_test::to_half(b)), dc(soft_test::to_half(c));
  const rocblas_half half_alpha{0x4000}, half_beta{0x3c00};
  ASSERT_EQ(kOk, rocblas_hgemm(handle, kNone, kNone, kM, kN, kK, &half_alpha, da.as<rocblas_half>(), kLda,
                               db.as<rocblas_half>(), kLdb, &half_beta, dc.as<rocblas_half>(), kLdc));
  EXPECT_EQ(soft_test::to_half(result), dc.read<std::uint16_t>());
}

TEST(RocblasGemm, maps_gemm_ex_from_int8_to_int32) {
  RocblasHandle handle;
  std::vector<std::int8_t> a, b;
  for (const float v : integers(kLdc * 9, 1)) a.push_back(static_cast<std::int8_t>(v * 40));
  for (const float v : integers(kLdc * 9, 2)) b.push_back(static_cast<std::int8_t>(v * 40));
  const std::vector<std::int32_t> c(kLdc * 9, 5);
  const Buffer da(a), db(b), dc(c);
  const std::int32_t alpha = 3, beta = -2;
  const ExTypes types{rocblas_datatype_i8_r, rocblas_datatype_i32_r, rocblas_datatype_i32_r};
  ASSERT_EQ(kOk, gemm_ex(handle, types, &alpha, da.get(), db.get(), &beta, dc.get(), dc.get()));
  const auto got = dc.read<std::int32_t>();
  for (int j = 0; j < kN; ++j)
    for (int i = 0; i < kM; ++i) {
      int sum = 0;
      for (int k = 0; k < kK; ++k)
        sum += a[static_cast<std::size_t>(i + k * kLda)] * b[static_cast<std::size_t>(k + j * kLdb)];
      ASSERT_EQ(3 * sum - 10, got[static_cast<std::size_t>(i + j * kLdc)]);
    }
}

TEST(RocblasGemm, maps_device_pointer_mode) {
  RocblasHandle handle;
  const auto a = data<float>(1), b = data<float>(2), c = data<float>(3);
  const Buffer da(a), db(b), dc(c), scalars(std::vector<float>{2, -1});
  ASSERT_EQ(kOk, rocblas_set_pointer_mode(handle, rocblas_pointer_mode_device));
  const auto run = [&](const float* alpha, const float* beta) {
    return rocblas_sgemm(handle, kNone, kNone, kM, kN, kK, alpha, da.as<float>(), kLda, db.as<float>(), kLdb, beta,
                         dc.as<float>(), kLdc);
  };
  ASSERT_EQ(kOk, run(scalars.as<float>(), scalars.as<float>() + 1));
  EXPECT_EQ(expected(false, false, false, 2.0f, a, b, -1.0f, c), dc.read<float>());
  EXPECT_EQ(rocblas_status_invalid_pointer, run(&kOne, scalars.as<float>()));
  EXPECT_EQ(rocblas_status_invalid_pointer, run(nullptr, scalars.as<float>()));
  ASSERT_EQ(kOk, rocblas_set_pointer_mode(handle, rocblas_pointer_mode_host));
  EXPECT_EQ(rocblas_status_invalid_pointer, run(scalars.as<float>(), &kZero)) << "a device scalar in host mode";
}

TEST(RocblasGemm, maps_beta_zero_over_nan_and_alpha_zero_without_a_and_b) {
  RocblasHandle handle;
  const auto a = data<float>(1), b = data<float>(2);
  const std::vector<float> nan(kLdc * 9, std::numeric_limits<float>::quiet_NaN());
  const Buffer da(a), db(b), dc(nan);
  ASSERT_EQ(kOk, rocblas_sgemm(handle, kNone, kNone, kM, kN, kK, &kOne, da.as<float>(), kLda, db.as<float>(), kLdb,
                               &kZero, dc.as<float>(), kLdc));
  const auto got = dc.read<float>();
  const auto result = expected(false, false, false, 1.0f, a, b, 0.0f, std::vector<float>(kLdc * 9, 0.0f));
  for (int j = 0; j < kN; ++j)
    for (int i = 0; i < kLdc; ++i) {
      const auto at = static_cast<std::size_t>(i + j * kLdc);
      if (i < kM)
        ASSERT_EQ(result[at], got[at]);
      else
        ASSERT_TRUE(std::isnan(got[at]));
    }
  const float two = 2;
  const Buffer scaled(data<float>(3));
  ASSERT_EQ(kOk, rocblas_sgemm(handle, kNone, kNone, kM, kN, kK, &kZero, nullptr, kLda, nullptr, kLdb, &two,
                               scaled.as<float>(), kLdc));
  EXPECT_EQ(2 * data<float>(3)[0], scaled.read<float>()[0]);
}

TEST(RocblasGemm, maps_empty_products_to_success_before_looking_at_pointers) {
  RocblasHandle handle;
  for (const auto& [m, n] : {std::pair{0, 4}, {4, 0}, {0, 0}})
    EXPECT_EQ(kOk, rocblas_sgemm(handle, kNone, kNone, m, n, 4, nullptr, nullptr, 4, nullptr, 4, nullptr, nullptr, 4));
  EXPECT_EQ(kOk, rocblas_sgemm_strided_batched(handle, kNone, kNone, 4, 4, 4, nullptr, nullptr, 4, 0, nullptr, 4, 0,
                                               nullptr, nullptr, 4, 0, 0));
  // Nothing changes with beta 1 and no product; C need not be valid.
  EXPECT_EQ(kOk, rocblas_sgemm(handle, kNone, kNone, 4, 4, 0, nullptr, nullptr, 4, nullptr, 4, &kOne, nullptr, 4));
  EXPECT_EQ(kOk, rocblas_sgemm(handle, kNone, kNone, 4, 4, 4, &kZero, nullptr, 4, nullptr, 4, &kOne, nullptr, 4));
}

TEST(RocblasGemm, rejects_sizes_leading_dimensions_and_operations) {
  RocblasHandle handle;
  const Buffer d(data<float>(1));
  float* p = d.as<float>();
  const auto run = [&](rocblas_operation ta, rocblas_operation tb, int m, int n, int k, int lda, int ldb, int ldc) {
    return rocblas_sgemm(handle, ta, tb, m, n, k, &kOne, p, lda, p, ldb, &kZero, p, ldc);
  };
  EXPECT_EQ(kOk, run(kNone, kNone, 2, 3, 4, 2, 4, 2));
  for (const int i : {0, 1, 2}) {
    int v[] = {2, 3, 4};
    v[i] = -1;
    EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kNone, v[0], v[1], v[2], 4, 4, 4));
  }
  EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kNone, 2, 3, 4, 1, 4, 2));
  EXPECT_EQ(rocblas_status_invalid_size, run(kTrans, kNone, 2, 3, 4, 3, 4, 2));
  EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kNone, 2, 3, 4, 2, 3, 2));
  EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kTrans, 2, 3, 4, 2, 2, 2));
  EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kNone, 2, 3, 4, 2, 4, 1));
  EXPECT_EQ(rocblas_status_invalid_size, run(kNone, kNone, 0, 0, 0, 0, 1, 1));
  for (const int op : {0, 1, 110, 114, INT_MAX}) {
    EXPECT_EQ(rocblas_status_invalid_value, run(static_cast<rocblas_operation>(op), kNone, 2, 2, 2, 2, 2, 2));
    EXPECT_EQ(rocblas_status_invalid_value, run(kNone, static_cast<rocblas_operation>(op), 2, 2, 2, 2, 2, 2));
  }
  EXPECT_EQ(rocblas_status_invalid_size,
            rocblas_sgemm_strided_batched(handle, kNone, kNone, 2, 2, 2, &kOne, p, 2, 4, p, 2, 4, &kZero, p, 2, 4, -1));
}

TEST(RocblasGemm, rejects_null_host_freed_and_short_buffers) {
  RocblasHandle handle;
  const Buffer good(data<float>(1)), tiny(16);
  float host[128] = {};
  void* freed = nullptr;
  ASSERT_EQ(hipSuccess, hipMalloc(&freed, 4096));
  ASSERT_EQ(hipSuccess, hipFree(freed));
  for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(host), freed, tiny.get()})
    for (int operand = 0; operand < 3; ++operand) {
      float* p[] = {good.as<float>(), good.as<float>(), good.as<float>()};
      p[operand] = static_cast<float*>(bad);
      EXPECT_EQ(rocblas_status_invalid_pointer,
                rocblas_sgemm(handle, kNone, kNone, kM, kN, kK, &kOne, p[0], kLda, p[1], kLdb, &kZero, p[2], kLdc));
    }
  float* p = good.as<float>();
  const auto run = [&](const float* alpha, const float* beta) {
    return rocblas_sgemm(handle, kNone, kNone, kM, kN, kK, alpha, p, kLda, p, kLdb, beta, p, kLdc);
  };
  EXPECT_EQ(rocblas_status_invalid_pointer, run(nullptr, &kZero));
  EXPECT_EQ(rocblas_status_invalid_pointer, run(&kOne, nullptr));
  // Strides that leave the allocation, forwards and backwards, or overflow.
  for (const rocblas_stride stride :
       {rocblas_stride{1} << 20, -(rocblas_stride{1} << 20), std::numeric_limits<rocblas_stride>::max(),
        std::numeric_limits<rocblas_stride>::min()})
    EXPECT_EQ(rocblas_status_invalid_pointer, rocblas_sgemm_strided_batched(handle, kNone, kNone, 2, 2, 2, &kOne, p, 2,
                                                                            0, p, 2, 0, &kZero, p, 2, stride, 3));
}

TEST(RocblasGemm, rejects_bad_handles) {
  rocblas_handle freed = nullptr;
  ASSERT_EQ(kOk, rocblas_create_handle(&freed));
  ASSERT_EQ(kOk, rocblas_destroy_handle(freed));
  auto all = soft_test::foreign_pointers();
  all.push_back(freed);
  const ExTypes types{rocblas_datatype_f32_r, rocblas_datatype_f32_r, rocblas_datatype_f32_r};
  for (void* pointer : all) {
    const auto bad = static_cast<rocblas_handle>(pointer);
    EXPECT_EQ(rocblas_status_invalid_handle,
              rocblas_sgemm(bad, kNone, kNone, 0, 0, 0, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1));
    EXPECT_EQ(rocblas_status_invalid_handle, gemm_ex(bad, types, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  }
}

TEST(RocblasGemm, rejects_type_combinations_that_are_not_in_the_table) {
  RocblasHandle handle;
  const Buffer memory(1 << 14), other(1 << 14);
  const double scalar[2] = {0, 0};
  const auto status = [&](rocblas_datatype in, rocblas_datatype out, rocblas_datatype compute) {
    return gemm_ex(handle, {in, out, compute}, scalar, memory.get(), memory.get(), scalar, memory.get(), memory.get());
  };
  EXPECT_EQ(kOk, status(rocblas_datatype_f16_r, rocblas_datatype_f16_r, rocblas_datatype_f16_r));
  EXPECT_EQ(kOk, status(rocblas_datatype_f64_c, rocblas_datatype_f64_c, rocblas_datatype_f64_c));
  const ExTypes lacking[] = {{rocblas_datatype_bf16_r, rocblas_datatype_bf16_r, rocblas_datatype_bf16_r},
                             {rocblas_datatype_f32_r, rocblas_datatype_f16_r, rocblas_datatype_f32_r},
                             {rocblas_datatype_f32_r, rocblas_datatype_f32_r, rocblas_datatype_f64_r},
                             {rocblas_datatype_i8_r, rocblas_datatype_i8_r, rocblas_datatype_i32_r},
                             {rocblas_datatype_f8_r, rocblas_datatype_f8_r, rocblas_datatype_f32_r},
                             {rocblas_datatype_f16_r, rocblas_datatype_f32_r, rocblas_datatype_f16_r}};
  for (const auto& t : lacking) EXPECT_EQ(rocblas_status_not_implemented, status(t.in, t.out, t.compute));
  for (const int type : {0, 1, 149, 172, 255})
    EXPECT_EQ(rocblas_status_invalid_value,
              status(static_cast<rocblas_datatype>(type), rocblas_datatype_f32_r, rocblas_datatype_f32_r));
  const ExTypes plain{rocblas_datatype_f32_r, rocblas_datatype_f32_r, rocblas_datatype_f32_r};
  void* m = memory.get();
  EXPECT_EQ(rocblas_status_invalid_size, gemm_ex(handle, plain, scalar, m, m, scalar, m, m, kLdc + 1)) << "C is D";
  EXPECT_EQ(kOk, gemm_ex(handle, plain, scalar, m, m, scalar, m, other.get(), kLdc + 1));
  EXPECT_EQ(rocblas_status_invalid_value,
            gemm_ex(handle, plain, scalar, m, m, scalar, m, m, kLdc, static_cast<rocblas_gemm_algo>(5)));
  EXPECT_EQ(rocblas_status_invalid_value,
            gemm_ex(handle, plain, scalar, m, m, scalar, m, m, kLdc, rocblas_gemm_algo_solution_index, 17));
}

TEST(RocblasGemm, rejects_pointer_arrays_with_bad_entries_when_they_run) {
  RUN_ALONE()
  RocblasHandle handle;
  const Buffer good(data<float>(1)), arrays(std::vector<void*>{good.get(), nullptr});
  ASSERT_EQ(kOk, rocblas_sgemm_batched(handle, kNone, kNone, 2, 2, 2, &kOne, arrays.as<const float*>(), 2,
                                       arrays.as<const float*>(), 2, &kZero, arrays.as<float*>(), 2, 2));
  EXPECT_NE(hipSuccess, hipDeviceSynchronize()) << "as on a card: the fault comes when the product runs";
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);  // the device is lost; nothing more can be freed
}

}  // namespace
