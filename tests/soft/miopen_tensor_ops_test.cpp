// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's op-tensor, set and scale on the software device.
#include <cmath>
#include <limits>

#include "tests/soft/miopen_support.hpp"

namespace {

using soft_test::Buffer;
using soft_test::foreign_pointers;
using soft_test::integers;
using soft_test::MiopenHandle;
using soft_test::TensorDesc;

constexpr auto kOk = miopenStatusSuccess;
constexpr auto kBad = miopenStatusBadParm;
constexpr float kOne = 1, kZero = 0;

TEST(MiopenOpTensor, maps_every_operation_scalar_and_repeated_operand) {
  MiopenHandle handle;
  const TensorDesc full(miopenFloat, {2, 3, 4, 5}), bias(miopenFloat, {1, 3, 1, 1});
  const auto a = integers(120, 1), b = std::vector<float>{10, -20, 30};
  for (const auto op : {miopenTensorOpAdd, miopenTensorOpMul, miopenTensorOpMin, miopenTensorOpMax})
    for (const float beta : {0.0f, -2.0f}) {
      const float alpha1 = 3, alpha2 = 0.5f;
      const std::vector<float> c(120, beta == 0 ? std::numeric_limits<float>::quiet_NaN() : 4.0f);
      const Buffer da(a), db(b), dc(c);
      ASSERT_EQ(kOk,
                miopenOpTensor(handle, op, &alpha1, full, da.get(), &alpha2, bias, db.get(), &beta, full, dc.get()));
      const auto got = dc.read<float>();
      for (std::size_t i = 0; i < 120; ++i) {
        const float x = 3 * a[i], y = 0.5f * b[i / 20 % 3];
        const float value = op == miopenTensorOpAdd   ? x + y
                            : op == miopenTensorOpMul ? x * y
                            : op == miopenTensorOpMin ? std::min(x, y)
                                                      : std::max(x, y);
        ASSERT_EQ(value + (beta == 0 ? 0 : beta * 4), got[i]) << i;
      }
    }
}

TEST(MiopenOpTensor, maps_half_with_float_scalars_in_place) {
  MiopenHandle handle;
  const TensorDesc desc(miopenHalf, {2, 8});
  const auto a = integers(16, 1), b = integers(16, 2);
  const Buffer da(soft_test::to_half(a)), db(soft_test::to_half(b));
  const float half = 0.5f;
  ASSERT_EQ(kOk, miopenOpTensor(handle, miopenTensorOpAdd, &kOne, desc, da.get(), &half, desc, db.get(), &kZero, desc,
                                da.get()));
  std::vector<float> sum;
  for (std::size_t i = 0; i < 16; ++i) sum.push_back(a[i] + 0.5f * b[i]);
  EXPECT_EQ(soft_test::to_half(sum), da.read<std::uint16_t>());
}

TEST(MiopenOpTensor, rejects_what_miopen_refuses) {
  MiopenHandle handle;
  const Buffer memory(1 << 12);
  void* m = memory.get();
  const TensorDesc c(miopenFloat, {2, 3, 4, 5}), one(miopenFloat, {1, 3, 1, 1}), two(miopenFloat, {2, 2, 4, 5}),
      half(miopenHalf, {2, 3, 4, 5}), bf16(miopenBFloat16, {2, 3, 4, 5}), rank3(miopenFloat, {3, 4, 5}),
      rank6(miopenFloat, {1, 1, 2, 3, 4, 5}), overlap(miopenFloat, {2, 3, 4, 5}, {1, 1, 1, 1});
  TensorDesc unset;
  const auto run = [&](miopenTensorDescriptor_t ad, miopenTensorDescriptor_t bd, miopenTensorDescriptor_t cd,
                       int op = 0) {
    return miopenOpTensor(handle, static_cast<miopenTensorOp_t>(op), &kOne, ad, m, &kOne, bd, m, &kZero, cd, m);
  };
  EXPECT_EQ(kOk, run(c, one, c));
  EXPECT_EQ(kBad, run(one, c, c)) << "A never repeats";
  EXPECT_EQ(kBad, run(c, c, one));
  EXPECT_EQ(kBad, run(c, two, c));
  EXPECT_EQ(kBad, run(c, rank3, c));
  EXPECT_EQ(kBad, run(rank6, rank6, rank6));
  EXPECT_EQ(kBad, run(c, half, c));
  EXPECT_EQ(kBad, run(c, c, overlap));
  EXPECT_EQ(kBad, run(unset, c, c));
  EXPECT_EQ(kBad, run(unset, unset, unset));
  EXPECT_EQ(miopenStatusNotImplemented, run(bf16, bf16, bf16));
  EXPECT_EQ(kBad, run(c, c, c, 4));
  EXPECT_EQ(kBad, run(c, c, c, -1));
  for (void* bad : foreign_pointers()) {
    const auto tensor = static_cast<miopenTensorDescriptor_t>(bad);
    EXPECT_EQ(kBad, run(tensor, c, c));
    EXPECT_EQ(kBad, run(c, tensor, c));
    EXPECT_EQ(kBad, run(c, c, tensor));
    EXPECT_EQ(kBad, miopenSetTensor(handle, tensor, m, &kOne));
    EXPECT_EQ(kBad, miopenScaleTensor(static_cast<miopenHandle_t>(bad), c, m, &kOne));
  }
  float host[128] = {};
  for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(host)}) {
    EXPECT_EQ(kBad, miopenOpTensor(handle, miopenTensorOpAdd, &kOne, c, bad, &kOne, c, m, &kZero, c, m));
    EXPECT_EQ(kBad, miopenOpTensor(handle, miopenTensorOpAdd, &kOne, c, m, &kOne, c, bad, &kZero, c, m));
    EXPECT_EQ(kBad, miopenOpTensor(handle, miopenTensorOpAdd, &kOne, c, m, &kOne, c, m, &kZero, c, bad));
    EXPECT_EQ(kBad, miopenSetTensor(handle, c, bad, &kOne));
  }
  EXPECT_EQ(kBad, miopenOpTensor(handle, miopenTensorOpAdd, nullptr, c, m, &kOne, c, m, &kZero, c, m));
  EXPECT_EQ(kBad, miopenOpTensor(handle, miopenTensorOpAdd, &kOne, c, m, &kOne, c, m, m, c, m)) << "device scalar";
}

TEST(MiopenTensorFill, maps_set_and_scale_with_scalars_of_the_tensors_type) {
  MiopenHandle handle;
  const TensorDesc gaps(miopenHalf, {2, 3}, {8, 2});
  Buffer memory(std::vector<std::uint16_t>(16, 0x4200));
  const std::uint16_t half = 0x3800;
  ASSERT_EQ(kOk, miopenScaleTensor(handle, gaps, memory.get(), &half));
  auto got = memory.read<std::uint16_t>();
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(i % 8 < 6 && i % 2 == 0 ? 0x3e00 : 0x4200, got[i]) << i;
  ASSERT_EQ(kOk, miopenSetTensor(handle, gaps, memory.get(), &half));
  EXPECT_EQ(0x3800, memory.read<std::uint16_t>()[8]);
  const TensorDesc wide(miopenDouble, {2});
  const double eighth = 0.125;
  ASSERT_EQ(kOk, miopenSetTensor(handle, wide, memory.get(), &eighth));
  EXPECT_EQ(0.125, memory.read<double>()[1]);
  const TensorDesc bf16(miopenBFloat16, {4});
  EXPECT_EQ(miopenStatusNotImplemented, miopenScaleTensor(handle, bf16, memory.get(), &half));
}

}  // namespace
