// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// How a matrix product is cut and which types it may have, without a device.
#include <gtest/gtest.h>

#include "bridge/blas/product.hpp"

namespace {

using namespace rb::blas;

Product product(cublasOperation_t ta, cublasOperation_t tb, std::int64_t m, std::int64_t n, std::int64_t k) {
  Product p;
  p.trans_a = ta;
  p.trans_b = tb;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a.ld = ta == CUBLAS_OP_N ? m : k;
  p.b.ld = tb == CUBLAS_OP_N ? k : n;
  p.c.ld = m;
  return p;
}

/// The largest element offset that a part meets.
std::int64_t reach(const Product& p, const Parts& parts) {
  const bool na = p.trans_a == CUBLAS_OP_N;
  const bool nb = p.trans_b == CUBLAS_OP_N;
  const std::int64_t a = na ? p.a.ld * (parts.k - 1) + parts.m : p.a.ld * (parts.m - 1) + parts.k;
  const std::int64_t b = nb ? p.b.ld * (parts.n - 1) + parts.k : p.b.ld * (parts.k - 1) + parts.n;
  const std::int64_t c = p.c.ld * (parts.n - 1) + parts.m;
  return std::max({a, b, c});
}

TEST(BlasProduct, maps_ordinary_products_to_one_part) {
  for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const Product p = product(ta, tb, 4096, 4096, 4096);
      const Parts parts = parts_of(p);
      EXPECT_EQ(parts.m, p.m);
      EXPECT_EQ(parts.n, p.n);
      EXPECT_EQ(parts.k, p.k);
    }
}

// cases/bugs B10
TEST(BlasProduct, maps_long_sides_to_parts_of_2_to_the_19) {
  EXPECT_EQ(parts_of(product(CUBLAS_OP_N, CUBLAS_OP_N, 16, 600000, 16)).n, 524288);
  EXPECT_EQ(parts_of(product(CUBLAS_OP_N, CUBLAS_OP_N, 600000, 16, 16)).m, 524288);
  EXPECT_EQ(parts_of(product(CUBLAS_OP_N, CUBLAS_OP_N, 16, 524288, 16)).n, 524288);
}

// cases/bugs B27: lda * (k - 1) + m >= 2^31
TEST(BlasProduct, maps_wide_strides_to_31_bit_offsets) {
  for (const auto ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const auto tb : {CUBLAS_OP_N, CUBLAS_OP_T})
      for (const std::int64_t ld : {std::int64_t{65536}, std::int64_t{1} << 20, (std::int64_t{1} << 31) - 1}) {
        Product p = product(ta, tb, 40000, 40000, 40000);
        p.a.ld = p.b.ld = p.c.ld = ld;
        const Parts parts = parts_of(p);
        EXPECT_GE(parts.m, 1);
        EXPECT_GE(parts.n, 1);
        EXPECT_GE(parts.k, 1);
        EXPECT_LE(reach(p, parts), std::int64_t{1} << 31) << ld;
        EXPECT_TRUE(parts.m < p.m || parts.n < p.n || parts.k < p.k);
      }
}

TEST(BlasProduct, maps_extents_of_batches) {
  Operand operand{nullptr, CUDA_R_32F, 10, 100};
  const Extent forward = extent(operand, 4, 3, 5);
  EXPECT_EQ(static_cast<std::int64_t>(forward.begin), 0);
  EXPECT_EQ(static_cast<std::int64_t>(forward.end), 4 * 100 + 2 * 10 + 4);
  operand.stride = -100;
  const Extent backward = extent(operand, 4, 3, 5);
  EXPECT_EQ(static_cast<std::int64_t>(backward.begin), -400);
  EXPECT_EQ(static_cast<std::int64_t>(backward.end), 24);
  const Extent none = extent(operand, 0, 3, 5);
  EXPECT_TRUE(none.begin == none.end);
}

TEST(BlasProduct, maps_and_rejects_types) {
  const auto compute = [](cudaDataType in, cudaDataType out, int type) { return compute_type_of(in, in, out, type); };
  EXPECT_EQ(*compute(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F), rocblas_datatype_f32_r);
  EXPECT_EQ(*compute(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F), rocblas_datatype_f16_r);
  EXPECT_EQ(*compute(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC), rocblas_datatype_f32_r);
  EXPECT_EQ(*compute(CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F), rocblas_datatype_f64_c);
  EXPECT_EQ(*compute(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I), rocblas_datatype_i32_r);
  EXPECT_EQ(*compute(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F), rocblas_datatype_f32_r) << "the number before CUDA 11";
  EXPECT_EQ(compute(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_64F).fault().code, rb::Errc::not_supported);
  EXPECT_EQ(compute(CUDA_R_16F, CUDA_R_16F, 66).fault().code, rb::Errc::invalid_value);
  EXPECT_EQ(compute(static_cast<cudaDataType>(99), CUDA_R_16F, 68).fault().code, rb::Errc::invalid_value);
  EXPECT_EQ(compute_type_of(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, 68).fault().code, rb::Errc::not_supported);
}

}  // namespace
