// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Faults on purpose, conversions, element-wise operations and kept scratch memory of the engine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "softrocm/engine/dnn/layout.hpp"
#include "softrocm/engine/dnn/tensor_ops.hpp"
#include "softrocm/engine/math/convert.hpp"
#include "softrocm/engine/math/fault.hpp"

namespace {

using soft::engine::Outcome;
using soft::engine::Row;
using soft::engine::with_fault;
using soft::wire::Element;

/// A 3 x 4 column-major "result"; computing sets element i to i + 1; the spoiled row is the last one.
std::vector<float> run(const char* fault, const char* operation) {
  std::vector<float> result(12, -7.0f);
  with_fault(
      fault, operation, Element::single, Row{result.data() + 2, 4, 3},
      [&] { std::iota(result.begin(), result.end(), 1.0f); }, [&] { std::fill(result.begin(), result.end(), 0.0f); });
  return result;
}

std::vector<float> clean() {
  return run("", "gemm");
}

TEST(EngineFault, maps_no_fault_and_other_operations_to_the_plain_result) {
  EXPECT_EQ(clean()[11], 12.0f);
  EXPECT_EQ(run("zero-output:conv-forward", "gemm"), clean());
  EXPECT_NE(run("zero-output:gemm", "gemm"), clean());
}

TEST(EngineFault, maps_zero_output) {
  EXPECT_EQ(run("zero-output", "gemm"), std::vector<float>(12, 0.0f));
}

TEST(EngineFault, maps_stale_output) {
  EXPECT_EQ(run("stale-output", "conv-forward"), std::vector<float>(12, -7.0f));
}

TEST(EngineFault, maps_last_row_to_one_row_that_is_not_written) {
  auto expected = clean();
  for (int i = 2; i < 12; i += 3) expected[static_cast<std::size_t>(i)] = -7.0f;
  EXPECT_EQ(run("last-row", "conv-backward-data"), expected);
}

TEST(EngineFault, maps_scale_row_to_one_row_times_one_and_a_sixteenth) {
  auto expected = clean();
  for (int i = 2; i < 12; i += 3) expected[static_cast<std::size_t>(i)] *= 1.0625f;
  EXPECT_EQ(run("scale-row", "conv-backward-weights"), expected);
}

TEST(EngineFault, maps_scale_row_in_every_type) {
  for (const auto element : {Element::half, Element::bfloat16}) {
    std::uint16_t data[4];
    soft::engine::store_float(element, data, 0, 32);
    soft::engine::store_float(element, data, 1, 5);
    with_fault(
        "scale-row", "gemm", element, Row{data, 1, 1}, [] {}, [] {});
    EXPECT_EQ(soft::engine::load_float(element, data, 0), 34);
    EXPECT_EQ(soft::engine::load_float(element, data, 1), 5);
  }
  double wide[2] = {16, 32};
  with_fault(
      "scale-row", "gemm", Element::complex64, Row{wide, 1, 1}, [] {}, [] {});
  EXPECT_EQ(wide[0], 17);
  EXPECT_EQ(wide[1], 34);
  std::int32_t whole = 160;
  with_fault(
      "scale-row", "gemm", Element::int32, Row{&whole, 1, 1}, [] {}, [] {});
  EXPECT_EQ(whole, 170);
}

TEST(EngineFault, rejects_unknown_kinds) {
  using soft::engine::is_known_fault;
  for (const char* known :
       {"", "zero-output", "stale-output", "last-row", "scale-row", "last-row:gemm", "scale-row:conv-backward-weights"})
    EXPECT_TRUE(is_known_fault(known)) << known;
  for (const char* unknown : {"zero", "zero-output:", ":gemm", "last-row:gem", "last-row:gemm:x", "ZERO-OUTPUT"})
    EXPECT_FALSE(is_known_fault(unknown)) << unknown;
}

TEST(EngineConvert, maps_every_half_and_bfloat16_as_the_scalar_code_does) {
  std::vector<std::uint16_t> all(65536), back(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  std::vector<float> wide(all.size());
  for (const auto element : {Element::half, Element::bfloat16}) {
    soft::engine::to_float(element, all.data(), wide.data(), all.size());
    soft::engine::from_float(element, wide.data(), back.data(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float expected = soft::engine::load_float(element, all.data(), static_cast<std::int64_t>(i));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i]));
        ASSERT_TRUE(std::isnan(soft::engine::load_float(element, back.data(), static_cast<std::int64_t>(i))));
        continue;
      }
      ASSERT_EQ(std::memcmp(&wide[i], &expected, 4), 0) << i;
      ASSERT_EQ(back[i], all[i]);
    }
  }
}

TEST(EngineConvert, maps_float_to_half_with_the_rounding_of_the_scalar_code) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0xffff0000u; bits += 0x3fdu * 0x25u) values.push_back(std::bit_cast<float>(bits));
  std::vector<std::uint16_t> got(values.size());
  for (const auto element : {Element::half, Element::bfloat16}) {
    soft::engine::from_float(element, values.data(), got.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(got[i], element == Element::half ? rb::float_to_half(values[i]) : rb::float_to_bfloat16(values[i]))
          << values[i];
    }
  }
}

soft::wire::OpTensor operation(soft::wire::TensorOperation kind) {
  soft::wire::OpTensor o{};
  o.operation = kind;
  o.element = Element::single;
  o.lengths = {1, 1, 2, 3, 2};
  o.b_lengths = {1, 1, 1, 3, 1};
  o.a_strides = {12, 12, 6, 2, 1};
  o.b_strides = {3, 3, 3, 1, 1};
  o.c_strides = {24, 24, 12, 4, 2};
  o.alpha1 = 2;
  o.alpha2 = -1;
  return o;
}

TEST(EngineTensor, maps_op_tensor_with_a_repeated_operand_and_gaps) {
  const float a[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[3] = {10, -20, 30};
  using Operation = soft::wire::TensorOperation;
  for (const auto kind : {Operation::add, Operation::multiply, Operation::minimum, Operation::maximum})
    for (const float beta : {0.0f, 0.5f}) {
      auto o = operation(kind);
      o.beta = beta;
      std::vector<float> c(24, beta == 0 ? NAN : 4.0f);
      ASSERT_EQ(soft::engine::op_tensor(o, a, b, c.data(), 2), Outcome::ok);
      for (int i = 0; i < 12; ++i) {
        const float x = 2 * a[i], y = -b[i / 2 % 3];
        const float value = kind == Operation::add        ? x + y
                            : kind == Operation::multiply ? x * y
                            : kind == Operation::minimum  ? std::min(x, y)
                                                          : std::max(x, y);
        EXPECT_EQ(c[static_cast<std::size_t>(2 * i)], value + beta * 4.0f) << i;
        if (beta == 0) continue;
        EXPECT_EQ(c[static_cast<std::size_t>(2 * i + 1)], 4.0f) << "the gap changed";
      }
    }
}

TEST(EngineTensor, maps_set_and_scale) {
  soft::wire::FillTensor f{Element::half, {1, 1, 1, 2, 3}, {1, 1, 1, 8, 2}, 0, 1.5};
  std::vector<std::uint16_t> y(16, 0x4200);  // 3
  ASSERT_EQ(soft::engine::scale_tensor(f, y.data()), Outcome::ok);
  for (const int i : {0, 2, 4, 8, 10, 12}) EXPECT_EQ(rb::half_to_float(y[static_cast<std::size_t>(i)]), 4.5f);
  for (const int i : {1, 3, 5, 6, 7, 9, 11, 13}) EXPECT_EQ(y[static_cast<std::size_t>(i)], 0x4200);
  ASSERT_EQ(soft::engine::set_tensor(f, y.data()), Outcome::ok);
  EXPECT_EQ(rb::half_to_float(y[8]), 1.5f);
  EXPECT_EQ(y[9], 0x4200);
  f.element = Element::bfloat16;
  EXPECT_EQ(soft::engine::scale_tensor(f, y.data()), Outcome::unsupported);
}

TEST(EngineScratch, maps_released_memory_to_the_next_user) {
  void* first = nullptr;
  {
    const soft::engine::Scratch scratch(1 << 20);
    first = scratch.get();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    const soft::engine::Scratch other(1 << 20);
    EXPECT_NE(other.get(), first);
  }
  const soft::engine::Scratch again((1 << 20) - 100), more(1 << 20);
  EXPECT_TRUE(again.get() == first || more.get() == first);
}

TEST(WireTensor, maps_layouts_to_packed_dense_and_overlapping) {
  using soft::wire::Tensor4;
  const Tensor4 nchw{{2, 3, 4, 5}, {60, 20, 5, 1}}, nhwc{{2, 3, 4, 5}, {60, 1, 15, 3}},
      gaps{{2, 3, 4, 5}, {99, 30, 6, 1}}, overlap{{2, 3, 4, 5}, {1, 1, 1, 1}}, repeat{{2, 3, 4, 5}, {60, 20, 4, 1}},
      ones{{1, 3, 1, 1}, {7, 1, 9, 4}};
  EXPECT_TRUE(nchw.is_packed() && nchw.is_injective() && soft::engine::is_dense(nchw));
  EXPECT_TRUE(!nhwc.is_packed() && nhwc.is_injective() && soft::engine::is_dense(nhwc));
  EXPECT_TRUE(!gaps.is_packed() && gaps.is_injective() && !soft::engine::is_dense(gaps));
  EXPECT_TRUE(nchw.is_nested() && nhwc.is_nested() && gaps.is_nested());
  const Tensor4 tight{{2, 3, 4, 5}, {108, 36, 9, 2}};
  EXPECT_TRUE(tight.is_injective() && !tight.is_nested());
  EXPECT_FALSE(overlap.is_injective());
  EXPECT_FALSE(repeat.is_injective());
  EXPECT_TRUE(ones.is_packed());
  EXPECT_EQ(gaps.span(), 99 + 60 + 18 + 4 + 1);
}

}  // namespace
