// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// No false alarm: correct sums in fp32, in five orders, over every kind of data, every output type and depths from 1 to
// 8192. `untrusted` is no alarm; it is counted, and only data that cannot be judged may give it.
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "integrity_data.hpp"

namespace rb::integrity {
namespace {

using test::Kind;
using test::Order;
using test::Product;
using test::Random;
using test::Tensor;

struct Counts {
  std::int64_t checks = 0, elements = 0, untrusted = 0;
  double largest_ratio = 0;  ///< error / tolerance
};

void check_clean(Kind kind, ElementType type, std::int64_t depth, Counts* counts, Random& random) {
  const std::int64_t rows = 1 + random.below(12), columns = 1 + random.below(16);
  const Product product(kind, type, rows, columns, depth, random);
  const Reference reference = product.reference();
  Accuracy accuracy;
  accuracy.output = type;
  for (const Order order : test::kOrders) {
    const Tensor got(type, {1, rows, columns}, product.evaluate(order));
    const Judgement judgement = judge(reference, got.view, accuracy, nullptr);
    ++counts->checks;
    counts->elements += judgement.elements;
    counts->untrusted += judgement.verdict == Verdict::untrusted;
    if (!judgement.worst.empty()) {
      const WorstElement& worst = judgement.worst.front();
      counts->largest_ratio = std::max(counts->largest_ratio, std::fabs(worst.got - worst.ref) / worst.tolerance);
    }
    ASSERT_TRUE(judgement.verdict == Verdict::pass || judgement.verdict == Verdict::untrusted)
        << test::name_of(kind) << " " << name_of(type) << " depth " << depth << " order " << static_cast<int>(order)
        << ": " << verdict_line(judgement, "gemm", "c", reference.dims, class_name("gemm", accuracy), 1, "");
    if (judgement.verdict == Verdict::pass) {
      ASSERT_LE(judgement.relative_l1, judgement.bound);
    }
  }
}

TEST(IntegrityClean, no_alarm_for_any_kind_of_data_type_depth_and_order) {
  Random random(5);
  std::int64_t elements = 0;
  for (const ElementType type : {ElementType::fp32, ElementType::fp16, ElementType::bf16}) {
    for (const Kind kind : test::kKinds) {
      Counts counts;
      for (const std::int64_t depth : {1, 2, 3, 5, 9, 17, 27, 64, 100, 147, 255, 576, 1000, 1152, 2048, 4608, 8192}) {
        const int rounds = depth < 600 ? 8 : 1;
        for (int round = 0; round < rounds; ++round) {
          check_clean(kind, type, depth, &counts, random);
          if (HasFatalFailure()) return;
        }
      }
      elements += counts.elements;
      std::printf("%-5s %-11s %6lld checks, %4lld untrusted, largest error/tolerance %.3f\n", name_of(type),
                  test::name_of(kind), static_cast<long long>(counts.checks), static_cast<long long>(counts.untrusted),
                  counts.largest_ratio);
      // Large fp16 and fp32 products overflow; subnormal results lie below the rounding of their type.
      const bool may_be_untrusted = kind == Kind::large || kind == Kind::denormal || kind == Kind::cancelling;
      if (!may_be_untrusted) {
        EXPECT_LE(counts.untrusted * 20, counts.checks) << test::name_of(kind) << " " << name_of(type);
      }
    }
  }
  EXPECT_GT(elements, 1000000 / 4);
}

TEST(IntegrityClean, no_alarm_for_double_precision) {
  Random random(6);
  for (const Kind kind : test::kKinds) {
    for (const std::int64_t depth : {1, 7, 64, 576, 4096}) {
      const Product product(kind, ElementType::fp64, 8, 8, depth, random);
      const Reference reference = product.reference();
      std::vector<double> forward, blocked;
      for (std::int64_t i = 0; i < 8; ++i) {
        for (std::int64_t j = 0; j < 8; ++j) {
          double sum = 0, lanes[4] = {};
          for (std::int64_t k = 0; k < depth; ++k) {
            const double p =
                product.a[static_cast<std::size_t>(i * depth + k)] * product.b[static_cast<std::size_t>(k * 8 + j)];
            sum += p;
            lanes[k % 4] += p;
          }
          forward.push_back(sum);
          blocked.push_back((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        }
      }
      Accuracy accuracy;
      accuracy.output = accuracy.accumulate = ElementType::fp64;
      for (const auto& values : {forward, blocked}) {
        const Tensor got(ElementType::fp64, {1, 8, 8}, values);
        const Judgement judgement = judge(reference, got.view, accuracy, nullptr);
        EXPECT_TRUE(judgement.verdict == Verdict::pass ||
                    (judgement.verdict == Verdict::untrusted && kind == Kind::denormal))
            << verdict_line(judgement, "dgemm", "c", reference.dims, test::name_of(kind), 1, "");
      }
    }
  }
}

TEST(IntegrityClean, half_precision_sums_pass_with_their_worst_case_bound) {
  Random random(7);
  for (const ElementType type : {ElementType::fp16, ElementType::bf16}) {
    for (const std::int64_t depth : {1, 4, 16, 64}) {
      const Product product(Kind::positive, type, 8, 8, depth, random);
      std::vector<double> values;
      for (std::int64_t i = 0; i < 8; ++i)
        for (std::int64_t j = 0; j < 8; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            sum = round_to(type, sum + product.a[static_cast<std::size_t>(i * depth + k)] *
                                           product.b[static_cast<std::size_t>(k * 8 + j)]);
          values.push_back(sum);
        }
      Accuracy accuracy;
      accuracy.output = accuracy.accumulate = type;
      const Tensor got(type, {1, 8, 8}, values);
      const Judgement judgement = judge(product.reference(), got.view, accuracy, nullptr);
      EXPECT_TRUE(judgement.verdict == Verdict::pass || judgement.verdict == Verdict::untrusted);
      EXPECT_EQ(judgement.failing, 0);
    }
  }
}

TEST(IntegrityClean, tf32_inputs_pass_where_the_class_allows_them_and_only_there) {
  Random random(8);
  for (const Kind kind : {Kind::normal, Kind::positive, Kind::constant, Kind::mask, Kind::relu}) {
    Product product(kind, ElementType::fp32, 8, 8, 512, random);
    const Reference reference = product.reference();
    for (auto* operand : {&product.a, &product.b})
      for (double& v : *operand)
        v = v == 0 ? 0 : std::ldexp(std::nearbyint(std::ldexp(v, 10 - std::ilogb(v))), std::ilogb(v) - 10);
    const Tensor got(ElementType::fp32, {1, 8, 8}, product.evaluate(Order::fused));
    Accuracy strict, tf32;
    tf32.input_unit = 0x1p-11;
    EXPECT_EQ(judge(reference, got.view, tf32, nullptr).failing, 0) << test::name_of(kind);
    EXPECT_EQ(judge(reference, got.view, strict, nullptr).verdict, Verdict::drift) << test::name_of(kind);
  }
}

TEST(IntegrityClean, scaled_results_pass_whether_or_not_the_sum_is_staged) {
  Random random(9);
  for (const ElementType type : {ElementType::fp32, ElementType::fp16, ElementType::bf16}) {
    for (const double alpha : {1.0, 0.5, -1.25, 3.0e-3, 0.0}) {
      for (const double beta : {0.0, 1.0, 0.7}) {
        const Product product(Kind::normal, type, 8, 16, 288, random);
        const Tensor prior(type, {1, 8, 16}, test::make_values(Kind::normal, type, 128, false, random));
        const Scaling scaling{alpha, 0, beta, 0, &prior.view};
        const Reference reference = *gemm(product.a_tensor.view, false, product.b_tensor.view, false, scaling, 1);
        const std::vector<double> sums = product.evaluate(Order::fused), old = load_all(prior.view);
        for (const bool staged : {false, true}) {
          std::vector<double> values(sums.size());
          for (std::size_t i = 0; i < sums.size(); ++i) {
            const auto sum = static_cast<float>(staged ? round_to(type, sums[i]) : sums[i]);
            values[i] = static_cast<float>(alpha) * sum + static_cast<float>(beta) * static_cast<float>(old[i]);
          }
          const Tensor got(type, {1, 8, 16}, values);
          Accuracy accuracy;
          accuracy.output = type;
          accuracy.staged = staged;
          EXPECT_EQ(judge(reference, got.view, accuracy, nullptr).verdict, Verdict::pass)
              << name_of(type) << " alpha " << alpha << " beta " << beta << " staged " << staged;
        }
      }
    }
  }
}

TEST(IntegrityClean, infinities_and_nans_that_the_data_ask_for_are_no_fault) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a(ElementType::fp16, {1, 5, 2}, std::vector<double>{300, 0, nan, 1, 2, 1, 1, 1, 3, 2});
  const Tensor b(ElementType::fp16, {1, 2, 2}, std::vector<double>{300, -300, 1, 1});
  const Reference reference = *gemm(a.view, false, b.view, false, Scaling{}, 1);
  Accuracy accuracy;
  accuracy.output = ElementType::fp16;
  // 300 * 300 leaves fp16's range, so infinity is the right answer; a NaN row stays NaN.
  const std::vector<double> values = {inf, -inf, nan, nan, 601, -599, 301, -299, 902, -898};
  const auto verdict_with = [&](std::size_t at, double value) {
    std::vector<double> changed = values;
    changed[at] = value;
    const Tensor got(ElementType::fp16, {1, 5, 2}, changed);
    return judge(reference, got.view, accuracy, nullptr).verdict;
  };
  EXPECT_EQ(verdict_with(0, inf), Verdict::pass);
  EXPECT_EQ(verdict_with(0, 65504), Verdict::drift) << "infinity clamped";
  EXPECT_EQ(verdict_with(0, -inf), Verdict::corrupt) << "infinity of the wrong sign";
  EXPECT_EQ(verdict_with(2, 0), Verdict::corrupt) << "NaN swallowed";
  EXPECT_EQ(verdict_with(4, nan), Verdict::corrupt) << "NaN from nowhere";
  EXPECT_EQ(verdict_with(4, inf), Verdict::corrupt) << "infinity from nowhere";
  accuracy.method = Method::winograd;  // its tiles may spread a NaN
  EXPECT_NE(verdict_with(4, nan), Verdict::corrupt);
}

}  // namespace
}  // namespace rb::integrity
