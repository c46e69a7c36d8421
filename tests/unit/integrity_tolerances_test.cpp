// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// api/tolerances.toml is what people read; src/integrity is what runs. They must say the same.
#include <gtest/gtest.h>

#include <toml++/toml.h>

#include "integrity/bounds.hpp"
#include "integrity/judge.hpp"

namespace rb::integrity {
namespace {

TEST(IntegrityTolerances, data_and_code_agree) {
  const toml::table file = toml::parse_file(ROCBRIDGE_TEST_DATA "/../../api/tolerances.toml");
  EXPECT_EQ(file["lambda"].value<double>(), kLambda);
  EXPECT_EQ(file["near_constant"].value<double>(), kNearConstant);
  EXPECT_EQ(file["trusted_share"].value<double>(), kTrustedShare);
  const toml::table* methods = file["method"].as_table();
  ASSERT_NE(methods, nullptr);
  EXPECT_EQ(methods->size(), static_cast<std::size_t>(kMethods));
  for (int i = 0; i < kMethods; ++i) {
    const MethodRule& rule = rule_of(static_cast<Method>(i));
    const toml::table* row = (*methods)[rule.name].as_table();
    ASSERT_NE(row, nullptr) << rule.name;
    EXPECT_EQ((*row)["factor"].value<double>(), rule.factor) << rule.name;
    EXPECT_EQ((*row)["exact_sums"].value<bool>(), rule.exact_sums) << rule.name;
    EXPECT_EQ((*row)["plane_scope"].value<bool>(), rule.plane_scope) << rule.name;
  }
}

TEST(IntegrityTolerances, class_names_say_type_sum_and_method) {
  Accuracy accuracy;
  EXPECT_EQ(class_name("conv", accuracy), "conv/fp32");
  accuracy.output = ElementType::fp16;
  accuracy.method = Method::winograd;
  EXPECT_EQ(class_name("conv", accuracy), "conv/fp16/winograd");
  accuracy.method = Method::gemm;
  accuracy.accumulate = ElementType::fp16;
  EXPECT_EQ(class_name("gemm", accuracy), "gemm/fp16/fp16-sum");
  accuracy.output = accuracy.accumulate = ElementType::complex64;
  EXPECT_EQ(class_name("gemm", accuracy), "gemm/c64");
}

TEST(IntegrityTolerances, winograd_sums_are_judged_by_their_plane) {
  // One large element and zeros: what a Winograd tile spreads into its neighbours is rounding there, a fault elsewhere.
  std::vector<double> x(36, 0.0);
  x[14] = 1;
  std::vector<unsigned char> x_bytes(36 * 4), w_bytes(9 * 4), y_bytes(36 * 4);
  const TensorView xv = packed_view(ElementType::fp32, {1, 1, 6, 6}, x_bytes.data(), x_bytes.size());
  const TensorView wv = packed_view(ElementType::fp32, {1, 1, 3, 3}, w_bytes.data(), w_bytes.size());
  const TensorView yv = packed_view(ElementType::fp32, {1, 1, 6, 6}, y_bytes.data(), y_bytes.size());
  store_all(xv, x);
  store_all(wv, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9});
  Convolution problem;
  problem.padding[0] = problem.padding[1] = 1;
  const Result<Reference> reference = convolution_forward(problem, xv, wv, {1, 1, 6, 6}, Scaling{}, 1);
  ASSERT_TRUE(reference.ok());
  std::vector<double> got = (*reference).value;
  got[35] += 0x1p-22;
  store_all(yv, got);
  Accuracy accuracy;
  EXPECT_EQ(judge(*reference, yv, accuracy, nullptr).verdict, Verdict::drift);
  accuracy.method = Method::winograd;
  EXPECT_EQ(judge(*reference, yv, accuracy, nullptr).verdict, Verdict::pass);
  got[35] += 1e-3;
  store_all(yv, got);
  EXPECT_EQ(judge(*reference, yv, accuracy, nullptr).verdict, Verdict::drift);
}

}  // namespace
}  // namespace rb::integrity
