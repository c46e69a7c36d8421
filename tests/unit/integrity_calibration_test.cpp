// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Where lambda comes from: the least lambda that sums in fp32 need, over kinds of data, depths and orders. The sequence
// of the generator is fixed, so the table is the same on every host. docs/policy/integrity.md quotes it.
#include <gtest/gtest.h>

#include <cstdio>

#include "integrity_data.hpp"

namespace rb::integrity {
namespace {

using test::Kind;
using test::Order;
using test::Product;
using test::Random;

struct Need {
  double full = 0;   ///< lambda of the formula with its mean term
  double bare = 0;   ///< lambda of lambda * sqrt(K) * u * sqrt(sum of squares) alone
  double worst = 0;  ///< error over K * u * sum of magnitudes, which can never exceed 1 by more than second order
};

Need need_of(Kind kind, std::int64_t depth, Random& random) {
  const std::int64_t rows = 12, columns = 16;
  const Product product(kind, ElementType::fp32, rows, columns, depth, random);
  const Reference reference = product.reference();
  const double unit = unit_of(ElementType::fp32);
  Need need;
  for (const Order order : test::kOrders) {
    const std::vector<double> got = product.evaluate(order);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double ref = reference.value[i];
      const double error = std::fabs(got[i] - ref) - unit * std::fabs(ref) -
                           subnormal_of(ElementType::fp32) * static_cast<double>(depth);
      if (error <= 0) continue;
      const double terms = static_cast<double>(depth);
      const double walk = std::sqrt(terms) * unit * std::sqrt(reference.squares[i]);
      need.bare = std::max(need.bare, error / walk);
      need.full = std::max(need.full, error / (walk + unit * reference.peaks[i] * std::sqrt(terms / 3)));
      need.worst = std::max(need.worst, error / (terms * unit * reference.magnitudes[i]));
    }
  }
  return need;
}

TEST(IntegrityCalibration, lambda_has_room_over_what_sums_in_fp32_need) {
  EXPECT_GE(kLambda, 4);
  Random random(17);
  std::printf("%-12s %8s %8s %8s   (least lambda; worst: share of K*u*sum|ab|)\n", "data", "bare", "full", "worst");
  double bare_positive = 0;
  for (const Kind kind : test::kKinds) {
    Need most;
    for (const std::int64_t depth : {1, 2, 3, 9, 27, 64, 147, 576, 1152, 2048, 4608, 8192}) {
      const Need need = need_of(kind, depth, random);
      most.full = std::max(most.full, need.full);
      most.bare = std::max(most.bare, need.bare);
      most.worst = std::max(most.worst, need.worst);
    }
    std::printf("%-12s %8.2f %8.2f %8.3f\n", test::name_of(kind), most.bare, most.full, most.worst);
    RecordProperty(std::string("lambda_") + test::name_of(kind), std::to_string(most.full));
    EXPECT_LE(most.worst, 1.0) << test::name_of(kind);
    // Repeating magnitudes have a bound of their own (Bound's discrete and near-constant rules).
    if (kind == Kind::constant || kind == Kind::mask || kind == Kind::outlier || kind == Kind::cancelling) continue;
    EXPECT_LE(most.full, kLambda / 2) << test::name_of(kind);
    if (kind == Kind::positive) bare_positive = most.bare;
  }
  // The reason for the mean term: without it a lambda that holds would be useless.
  EXPECT_GT(bare_positive, 4 * kLambda / 2);
}

}  // namespace
}  // namespace rb::integrity
