// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/bounds.hpp"

#include <algorithm>
#include <cmath>

namespace rb::integrity {

namespace {

// MIOpen allows ten times the usual tolerance for Winograd (guide: weight gradients); transforms of FFT are of that
// order too. Split-K adds one more level of sums.
constexpr MethodRule kRules[kMethods] = {
    {"direct", 1, true, false},    {"gemm", 1, true, false}, {"split_k", 2, true, false},
    {"winograd", 10, false, true}, {"fft", 10, false, true},
};

/// Squares of products below 2^-1022 vanish in fp64: below this root, the sum of magnitudes stands in.
constexpr double kSafeSquares = 1e-290;

}  // namespace

const MethodRule& rule_of(Method method) {
  return kRules[static_cast<int>(method)];
}

Bound::Bound(const Reference& reference, const Accuracy& accuracy)
    : reference_(reference),
      accuracy_(accuracy),
      rule_(rule_of(accuracy.method)),
      output_(component_of(accuracy.output)),
      accumulate_(component_of(accuracy.accumulate)),
      unit_(unit_of(accumulate_) + unit_of(ElementType::fp64)),
      low_precision_sum_(accumulate_ == ElementType::fp16 || accumulate_ == ElementType::bf16),
      discrete_(reference.a.discrete && reference.b.discrete),
      sum_overflow_(accuracy.staged ? std::min(overflow_of(accumulate_), overflow_of(output_))
                                    : overflow_of(accumulate_)) {
  if (is_integer(accumulate_)) {
    // Integer sums are exact up to the reference's own 2^53; a sum that leaves int32 is overflow, not rounding.
    exact_limit_ = std::min(overflow_of(accumulate_), 0x1p53);
  } else if (rule_.exact_sums && accuracy.input_unit == 0) {
    exact_limit_ = std::ldexp(1.0, reference.granularity) / unit_of(accumulate_);
    // The smallest unit of the products must itself be a number of the accumulator.
    if (std::ldexp(1.0, reference.granularity) < subnormal_of(accumulate_)) exact_limit_ = 0;
  }
  underflow_each_ = subnormal_of(accumulate_) / 2;
  underflow_once_ = subnormal_of(output_) / 2;
  if (accuracy.flushes_subnormals) underflow_once_ = normal_of(output_);
  if (!rule_.plane_scope) return;
  const auto plane = static_cast<std::size_t>(std::max<std::int64_t>(reference.plane, 1));
  for (std::size_t at = 0; at < reference.squares.size(); at += plane) {
    const auto first = static_cast<std::ptrdiff_t>(at);
    const auto last = static_cast<std::ptrdiff_t>(std::min(at + plane, reference.squares.size()));
    const auto most = [&](const std::vector<double>& of) {
      return *std::max_element(of.begin() + first, of.begin() + last);
    };
    plane_squares_.push_back(most(reference.squares));
    plane_magnitudes_.push_back(most(reference.magnitudes));
    plane_peaks_.push_back(most(reference.peaks));
  }
}

double Bound::products_term(std::size_t i) const {
  double squares = reference_.squares[i];
  double magnitudes = reference_.magnitudes[i];
  double peak = reference_.peaks[i];
  double terms = reference_.terms[i % reference_.terms.size()];
  if (rule_.plane_scope) {
    const std::size_t plane = i / static_cast<std::size_t>(std::max<std::int64_t>(reference_.plane, 1));
    squares = plane_squares_[plane];
    magnitudes = plane_magnitudes_[plane];
    peak = plane_peaks_[plane];
    terms = reference_.full_terms;
  } else if (magnitudes == 0 || (magnitudes <= exact_limit_ && !reference_.scaled)) {
    return 0;
  }
  const double root = squares > kSafeSquares && std::isfinite(squares) ? std::sqrt(squares) : magnitudes;
  const bool near_constant = discrete_ || root == magnitudes ||
                             terms * squares <= (1 + kNearConstant * kNearConstant) * magnitudes * magnitudes;
  double error;
  if (low_precision_sum_) {
    error = terms * unit_ * magnitudes;
  } else {
    const double walk = kLambda * std::sqrt(terms) * unit_ * root;
    const double mean = near_constant ? terms * unit_ * magnitudes : kLambda * unit_ * peak * std::sqrt(terms / 3);
    error = walk + mean;
  }
  double inputs = 0;
  if (accuracy_.input_unit > 0)
    inputs = near_constant ? 2 * accuracy_.input_unit * magnitudes
                           : accuracy_.input_unit * (kLambda * std::sqrt(2.0) * root);
  return rule_.factor * error + inputs + terms * underflow_each_ * std::max(1.0, reference_.alpha_magnitude);
}

double Bound::tolerance(std::size_t i) const {
  const double value = std::fabs(reference_.value[i]);
  const double products = products_term(i);
  const double unit_out = unit_of(output_);
  double tolerance = products;
  double sum = 0, added = 0;
  if (reference_.scaled) {
    sum = std::fabs(reference_.scaled_sum[i]);
    if (!reference_.added.empty()) added = reference_.added[i];
  }
  // Nothing is rounded anywhere: an exact sum, not scaled (or 0), that the output type holds.
  if (products == 0 && sum + added == 0 && round_to(output_, reference_.value[i]) == reference_.value[i]) return 0;
  // alpha itself, its product, the product with beta and their sum are each rounded once in the compute type.
  tolerance += 3 * unit_ * (sum + added);
  if (reference_.scaled && accuracy_.staged)
    tolerance += unit_out * (sum + products) + underflow_once_ * reference_.alpha_magnitude;
  return tolerance + unit_out * (value + tolerance) + underflow_once_;
}

bool Bound::may_overflow(std::size_t i) const {
  if (reference_.alpha_magnitude == 0) return false;
  return !(reference_.magnitudes[i] < sum_overflow_ * reference_.alpha_magnitude);
}

}  // namespace rb::integrity
