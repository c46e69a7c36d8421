// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the references share: facts about operands, alpha and beta.
#include "integrity/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rb::integrity {

namespace {

constexpr std::int64_t kSamples = 1 << 16;
constexpr int kNoGranularity = std::numeric_limits<int>::max();
constexpr std::uint64_t kMantissa = (1ull << 52) - 1;

}  // namespace

FactsBuilder::FactsBuilder(std::int64_t total) : step_(std::max<std::int64_t>(1, total / kSamples)) {
  granularity_ = kNoGranularity;
}

void FactsBuilder::add(const double* values, std::int64_t count) {
  if (facts_.elements == 0 && count > 0) {
    first_ = values[0];
    facts_.constant = true;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = values[i];
    const auto bits = std::bit_cast<std::uint64_t>(value);
    facts_.constant &= value == first_;
    if (value == 0) {
      ++facts_.zeros;
      continue;
    }
    const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t mantissa = bits & kMantissa;
    if (exponent == 0x7ff) {
      ++(mantissa ? facts_.nans : facts_.infinities);
      continue;
    }
    // Least bit set: 2^(exponent - 1075 + trailing zeros of the mantissa with its hidden bit).
    const std::uint64_t significand = exponent ? mantissa | (kMantissa + 1) : mantissa;
    granularity_ = std::min(granularity_, std::max(exponent, 1) - 1075 + std::countr_zero(significand));
    if (facts_.elements + i >= next_sample_) {
      next_sample_ = facts_.elements + i + step_;
      sample(mantissa);
    }
  }
  facts_.elements += count;
}

void FactsBuilder::sample(std::uint64_t mantissa) {
  ++sampled_;
  int free_slot = -1;
  for (int c = 0; c < kCandidates; ++c) {
    if (counts_[c] == 0)
      free_slot = c;
    else if (candidates_[c] == mantissa) {
      ++counts_[c];
      return;
    }
  }
  if (free_slot >= 0) {
    candidates_[free_slot] = mantissa;
    counts_[free_slot] = 1;
    return;
  }
  for (std::int64_t& count : counts_) --count;
}

OperandFacts FactsBuilder::finish() const {
  OperandFacts facts = facts_;
  facts.granularity = granularity_ == kNoGranularity ? 0 : granularity_;
  std::int64_t frequent = 0;
  for (const std::int64_t count : counts_) frequent += count;
  // Fewer than 16 samples say nothing: small operands count as discrete only when constant.
  facts.discrete = facts.constant || (sampled_ >= 16 && frequent * 4 >= sampled_);
  return facts;
}

Reference empty_reference(const std::vector<std::int64_t>& dims, int components, std::int64_t plane) {
  Reference reference;
  reference.dims = dims;
  reference.components = components;
  reference.plane = plane;
  auto count = static_cast<std::size_t>(components);
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  for (auto* sums : {&reference.value, &reference.peaks, &reference.squares, &reference.magnitudes})
    sums->assign(count, 0.0);
  return reference;
}

Status apply_scaling(Reference& reference, const Scaling& scaling) {
  const bool has_beta = scaling.beta != 0 || scaling.beta_imag != 0;
  const bool zero_alpha = scaling.alpha == 0 && scaling.alpha_imag == 0;
  reference.scaled = has_beta || scaling.alpha != 1 || scaling.alpha_imag != 0;
  if (!reference.scaled) return {};
  reference.alpha_magnitude = std::hypot(scaling.alpha, scaling.alpha_imag);
  const std::size_t count = reference.value.size();
  const bool complex = reference.components == 2;
  std::vector<double> prior;
  if (has_beta) {
    if (!scaling.prior) return fail(Errc::invalid_value, "bad-shape", "beta is not 0 but there is no prior output");
    RB_TRY(check_view(*scaling.prior, "prior output"));
    const auto& dims = scaling.prior->dims;
    if (static_cast<std::size_t>(scaling.prior->rank) != reference.dims.size() ||
        !std::equal(reference.dims.begin(), reference.dims.end(), dims.begin()) ||
        components_of(scaling.prior->type) != reference.components)
      return fail(Errc::invalid_value, "bad-shape", "the prior output has another shape than the output");
    prior = load_all(*scaling.prior);
    reference.added.resize(count);
  }
  if (zero_alpha) {
    std::fill(reference.value.begin(), reference.value.end(), 0.0);
    std::fill(reference.peaks.begin(), reference.peaks.end(), 0.0);
    std::fill(reference.squares.begin(), reference.squares.end(), 0.0);
    std::fill(reference.magnitudes.begin(), reference.magnitudes.end(), 0.0);
  } else if (complex) {
    const double re = scaling.alpha, im = scaling.alpha_imag;
    for (std::size_t i = 0; i + 1 < count; i += 2) {
      const auto turn = [](std::vector<double>& v, std::size_t at, double r, double m, double sign) {
        const double x = v[at], y = v[at + 1];
        v[at] = r * x + sign * m * y;
        v[at + 1] = r * y + m * x;
      };
      turn(reference.value, i, re, im, -1);
      turn(reference.peaks, i, std::fabs(re), std::fabs(im), 1);
      turn(reference.squares, i, re * re, im * im, 1);
      turn(reference.magnitudes, i, std::fabs(re), std::fabs(im), 1);
    }
  } else {
    const double alpha = scaling.alpha;
    for (std::size_t i = 0; i < count; ++i) {
      reference.value[i] *= alpha;
      reference.peaks[i] *= std::fabs(alpha);
      reference.squares[i] *= alpha * alpha;
      reference.magnitudes[i] *= std::fabs(alpha);
    }
  }
  reference.scaled_sum = reference.value;
  if (!has_beta) return {};
  const double re = scaling.beta, im = complex ? scaling.beta_imag : 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!complex || im == 0) {
      reference.value[i] += re * prior[i];
      reference.added[i] = std::fabs(re * prior[i]);
      continue;
    }
    const double other = i % 2 == 0 ? -im * prior[i + 1] : im * prior[i - 1];
    reference.value[i] += re * prior[i] + other;
    reference.added[i] = std::fabs(re * prior[i]) + std::fabs(other);
  }
  return {};
}

}  // namespace rb::integrity
