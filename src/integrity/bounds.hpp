// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The rounding bound of one output element, from the data of this very call (docs/policy/integrity.md): what a correct
// computation in the stated types may differ from the fp64 reference. No fixed epsilon anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "integrity/reference.hpp"
#include "integrity/tensor.hpp"

namespace rb::integrity {

/// How the AMD solution computes sums; each has constants of its own (api/tolerances.toml).
enum class Method : std::uint8_t { direct, gemm, split_k, winograd, fft };
inline constexpr int kMethods = 5;

struct MethodRule {
  const char* name;
  double factor;     ///< multiplies the accumulation error
  bool exact_sums;   ///< sums of small integers come out exact
  bool plane_scope;  ///< errors and non-finite values spread over a tile: the plane's largest element sets the bound
};
const MethodRule& rule_of(Method method);

/// Standard deviations (times about 1.7) allowed to a random walk of roundings; chosen by the calibration test.
inline constexpr double kLambda = 6;
/// Near-constant products: standard deviation of their magnitudes below this share of the mean magnitude.
inline constexpr double kNearConstant = 0.1;
/// A check whose whole tolerance exceeds this share of the data's size vouches for nothing.
inline constexpr double kTrustedShare = 0.25;

struct Accuracy {
  ElementType output = ElementType::fp32;
  /// Type of the running sum. fp16 and bf16 sums get the worst case, K * u.
  ElementType accumulate = ElementType::fp32;
  Method method = Method::direct;
  /// Rounding unit of a conversion of the inputs inside the solution (TF32: 2^-11); 0: taken as they are.
  double input_unit = 0;
  /// The sum is rounded to the output type before alpha and beta are applied.
  bool staged = false;
  /// The solution may replace subnormal inputs and outputs of the output type by zero.
  bool flushes_subnormals = false;
};

/// Tolerances of one output tensor. Keeps references to its arguments.
class Bound {
 public:
  Bound(const Reference& reference, const Accuracy& accuracy);
  /// Largest difference from reference.value[i] that rounding explains; infinity or NaN where nothing can be said.
  double tolerance(std::size_t i) const;
  /// Whether the running sum of element i may leave the range of the accumulator (or of the staging type).
  bool may_overflow(std::size_t i) const;

 private:
  double products_term(std::size_t i) const;
  const Reference& reference_;
  const Accuracy& accuracy_;
  const MethodRule& rule_;
  ElementType output_;      // real type of the output's parts
  ElementType accumulate_;  // and of the sum
  double unit_;             // of the sum, the reference's own error included
  bool low_precision_sum_;
  bool discrete_;
  double exact_limit_ = 0;  // sums of magnitudes up to this are exact; 0: never
  double underflow_each_ = 0, underflow_once_ = 0;
  double sum_overflow_;
  std::vector<double> plane_squares_, plane_magnitudes_, plane_peaks_;
};

}  // namespace rb::integrity
