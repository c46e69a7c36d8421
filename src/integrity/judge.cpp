// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "integrity/parallel.hpp"

namespace rb::integrity {

namespace {

constexpr std::size_t kWorst = 20;
constexpr const char* kNames[] = {"pass", "drift", "corrupt", "untrusted", "unchecked", "trapped"};

/// The elements with the largest error for their tolerance.
class WorstList {
 public:
  void offer(double ratio, const WorstElement& element) {
    if (kept_.size() == kWorst && ratio <= least_) return;
    if (kept_.size() == kWorst) kept_.pop_back();
    const auto place = std::find_if(kept_.begin(), kept_.end(), [&](const auto& other) { return ratio > other.first; });
    kept_.insert(place, {ratio, element});
    least_ = kept_.back().first;
  }
  std::vector<WorstElement> take() {
    std::vector<WorstElement> elements;
    for (const auto& [ratio, element] : kept_) elements.push_back(element);
    return elements;
  }

 private:
  std::vector<std::pair<double, WorstElement>> kept_;
  double least_ = 0;
};

/// Two digits, as on every screen: 3.1e-3, 0.25, 2e-3.
std::string figure(double value) {
  if (value == 0 || !std::isfinite(value) || (std::fabs(value) >= 0.01 && std::fabs(value) < 1000))
    return text("%.2g", value);
  int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  double mantissa = std::round(value / std::pow(10.0, exponent) * 10) / 10;
  if (std::fabs(mantissa) >= 10) mantissa /= 10, ++exponent;
  return text("%.2ge%d", mantissa, exponent);
}

/// What became of one element.
enum class Finding : std::uint8_t { within, outside, nonfinite, expected_nonfinite, excused };

class Judge {
 public:
  Judge(const Reference& reference, const Accuracy& accuracy)
      : reference_(reference),
        accuracy_(accuracy),
        bound_(reference, accuracy),
        output_(component_of(accuracy.output)),
        overflow_(overflow_of(output_)),
        finite_inputs_(reference.a.finite() && reference.b.finite()) {
    double squares = 0;
    for (const double ref : reference.value) {
      if (!std::isfinite(ref)) continue;
      squares += ref * ref;
      ++finite_;
    }
    rms_ = finite_ > 0 ? std::sqrt(squares / static_cast<double>(finite_)) : 0;
    if (!std::isfinite(rms_)) rms_ = 0;  // squares left fp64's range: each element is measured against itself
  }

  void element(std::size_t i, double got) {
    const double ref = reference_.value[i];
    result_.nans += std::isnan(got);
    result_.infinities += std::isinf(got);
    zeros_ += got == 0;
    zeros_from_values_ += got == 0 && ref != 0;
    const double tolerance = std::isfinite(ref) ? bound_.tolerance(i) : 0;
    switch (classify(i, got, ref, tolerance)) {
      case Finding::within:
        break;
      case Finding::outside:
        ++result_.failing;
        break;
      case Finding::nonfinite:
        ++result_.failing;
        ++result_.bad_nonfinite;
        worst_.offer(std::numeric_limits<double>::infinity(), {static_cast<std::int64_t>(i), got, ref, tolerance});
        count_missing(ref, tolerance);
        return;
      case Finding::expected_nonfinite:
        ++expected_nonfinite_;
        return;
      case Finding::excused:
        ++excused_;
        return;
    }
    measure(i, got, ref, tolerance);
  }

  Judgement finish(const Poison* poison, const TensorView& got) {
    result_.components = reference_.components;
    result_.elements = static_cast<std::int64_t>(reference_.value.size()) / reference_.components;
    const auto parts = static_cast<double>(reference_.value.size());
    result_.zero_share = parts > 0 ? static_cast<double>(zeros_) / parts : 0;
    result_.absolute = sum_ref_ == 0;
    result_.relative_l1 = result_.absolute ? sum_error_ : sum_error_ / sum_ref_;
    result_.relative_l2 = result_.absolute ? std::sqrt(sum_error2_) : std::sqrt(sum_error2_ / sum_ref2_);
    result_.bound = result_.absolute ? sum_tolerance_ : sum_tolerance_ / sum_ref_;
    if (compared_ == 0) {
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      result_.relative_l1 = result_.relative_l2 = result_.bound = result_.resolution = result_.max_ulp = unknown;
    }
    result_.worst = worst_.take();
    if (poison) {
      const PoisonLeft left = scan(got, *poison);
      // An integer pattern may be a value: it counts only where the comparison fails too.
      if (left.elements > 0 && (poison->certain || result_.failing > 0)) {
        result_.unwritten = left.elements;
        result_.first_unwritten = left.first;
      }
    }
    decide();
    return std::move(result_);
  }

 private:
  Finding classify(std::size_t i, double got, double ref, double tolerance) const {
    const bool spreads = !finite_inputs_ && (rule_of(accuracy_.method).plane_scope || padded(i));
    if (std::isnan(ref)) {
      if (std::isnan(got)) return Finding::expected_nonfinite;
      // fp64 itself left its range: nothing is known about the element.
      if (finite_inputs_ || spreads) return Finding::excused;
      return Finding::nonfinite;
    }
    if (std::isinf(ref)) {
      if (got == ref) return Finding::expected_nonfinite;
      return finite_inputs_ || (spreads && !std::isfinite(got)) ? Finding::excused : Finding::nonfinite;
    }
    if (std::isfinite(got)) {
      if (std::isnan(tolerance) || std::isinf(tolerance)) return Finding::excused;
      return std::fabs(got - ref) <= tolerance ? Finding::within : Finding::outside;
    }
    const bool out_of_range =
        std::isinf(got) && std::signbit(got) == std::signbit(ref) && std::fabs(ref) + tolerance >= overflow_;
    if (out_of_range || spreads) return Finding::expected_nonfinite;
    return bound_.may_overflow(i) ? Finding::excused : Finding::nonfinite;
  }

  /// Kernels that multiply padding zeros make NaN of 0 * Inf where the reference leaves the product out.
  bool padded(std::size_t i) const { return reference_.terms[i % reference_.terms.size()] < reference_.full_terms; }

  /// A value that is none counts as missing: its error is the reference itself.
  void count_missing(double ref, double tolerance) {
    if (!std::isfinite(ref) || !std::isfinite(tolerance)) return;
    ++compared_;
    sum_error_ += std::fabs(ref);
    sum_error2_ += ref * ref;
    sum_ref_ += std::fabs(ref);
    sum_ref2_ += ref * ref;
    sum_tolerance_ += tolerance;
  }

  void measure(std::size_t i, double got, double ref, double tolerance) {
    const double error = std::fabs(got - ref);
    ++compared_;
    sum_error_ += error;
    sum_error2_ += error * error;
    sum_ref_ += std::fabs(ref);
    sum_ref2_ += ref * ref;
    sum_tolerance_ += tolerance;
    const double squares = reference_.squares[i];
    sum_scale_ += std::max(std::fabs(ref), squares > 0 ? std::sqrt(squares) : 0.0);
    result_.max_ulp = std::max(result_.max_ulp, error / ulp_at(output_, ref));
    const double size = std::max(std::fabs(ref), rms_);
    const double seen = tolerance + std::min(error, tolerance);
    result_.resolution = std::max(result_.resolution, size > 0 ? seen / size : seen);
    if (error == 0) return;
    const double ratio = tolerance > 0 ? error / tolerance : std::numeric_limits<double>::infinity();
    worst_.offer(ratio, {static_cast<std::int64_t>(i), got, ref, tolerance});
  }

  void decide() {
    const auto elements = static_cast<long long>(result_.elements);
    const auto parts = static_cast<std::int64_t>(reference_.value.size());
    const auto set = [&](Verdict verdict, std::string reason) {
      result_.verdict = verdict;
      result_.reason = std::move(reason);
    };
    if (result_.unwritten > 0)
      return set(Verdict::corrupt,
                 text("%lld of %lld elements not written", static_cast<long long>(result_.unwritten), elements));
    if (result_.bad_nonfinite > 0)
      return set(Verdict::corrupt, text("%lld non-finite values without cause, or lost ones",
                                        static_cast<long long>(result_.bad_nonfinite)));
    if (result_.failing > 0)
      return set(Verdict::drift,
                 text("%lld of %lld elements outside their bound%s", static_cast<long long>(result_.failing), elements,
                      zeros_ == parts ? ", output is all zero" : ""));
    if (excused_ > 0)
      return set(Verdict::untrusted, text("%lld elements left the range of the sum", static_cast<long long>(excused_)));
    if (expected_nonfinite_ * 2 > parts)
      return set(Verdict::untrusted,
                 finite_inputs_ ? "most of the output overflows" : "most of the output is not finite, like its inputs");
    if (zeros_from_values_ * 2 > parts) return set(Verdict::untrusted, "output mostly zero from data that is not");
    if (sum_tolerance_ > kTrustedShare * sum_scale_)
      return set(Verdict::untrusted, "bound " + figure(result_.bound) + " is too wide to vouch for the values");
    result_.verdict = Verdict::pass;
  }

  const Reference& reference_;
  const Accuracy& accuracy_;
  const Bound bound_;
  const ElementType output_;
  const double overflow_;
  const bool finite_inputs_;
  double rms_ = 0;
  std::int64_t finite_ = 0, compared_ = 0, zeros_ = 0, zeros_from_values_ = 0, excused_ = 0, expected_nonfinite_ = 0;
  double sum_error_ = 0, sum_error2_ = 0, sum_ref_ = 0, sum_ref2_ = 0, sum_tolerance_ = 0, sum_scale_ = 0;
  WorstList worst_;
  Judgement result_;
};

std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  if (size <= 0 || flat < 0 || flat >= size) return text("[%lld]", static_cast<long long>(flat));
  std::string out(1, '[');
  for (const std::int64_t dim : dims) {
    size /= dim;
    if (out.size() > 1) out += ',';
    out += std::to_string(flat / size);
    flat %= size;
  }
  out += ']';
  return out;
}

}  // namespace

const char* name_of(Verdict verdict) {
  return kNames[static_cast<int>(verdict)];
}

Judgement verdict_of(Verdict verdict, std::string reason) {
  Judgement judgement;
  judgement.verdict = verdict;
  judgement.reason = std::move(reason);
  return judgement;
}

Judgement judge(const Reference& reference, const TensorView& got, const Accuracy& accuracy, const Poison* poison) {
  const DefaultFloat settings;
  if (const Status status = check_view(got, "output"); !status.ok())
    return verdict_of(Verdict::unchecked, status.fault().text);
  const auto& dims = reference.dims;
  if (static_cast<std::size_t>(got.rank) != dims.size() || !std::equal(dims.begin(), dims.end(), got.dims.begin()) ||
      components_of(got.type) != reference.components || got.type != accuracy.output)
    return verdict_of(Verdict::unchecked, "the output has another shape or type than the reference");
  Judge judge(reference, accuracy);
  const auto parts = static_cast<std::size_t>(reference.components);
  std::vector<double> row(static_cast<std::size_t>(got.dims[dims.size() - 1]) * parts);
  for (RowWalk walk(got); !walk.done(); walk.next()) {
    load(got.type, walk.row(), walk.stride(), walk.length(), row.data());
    const std::size_t first = static_cast<std::size_t>(walk.flat()) * parts;
    for (std::size_t i = 0; i < row.size(); ++i) judge.element(first + i, row[i]);
  }
  return judge.finish(poison, got);
}

std::string class_name(const char* family, const Accuracy& accuracy) {
  std::string name = std::string(family) + "/" + name_of(accuracy.output);
  // Sums are in fp32 for fp32 and narrower types, in fp64 and int32 for theirs; only another one is named.
  const ElementType output = component_of(accuracy.output), sum = component_of(accuracy.accumulate);
  const ElementType usual = output == ElementType::fp64 ? ElementType::fp64
                            : is_integer(output)        ? ElementType::int32
                                                        : ElementType::fp32;
  if (sum != usual) name += std::string("/") + name_of(sum) + "-sum";
  if (accuracy.method != Method::direct && accuracy.method != Method::gemm)
    name += std::string("/") + rule_of(accuracy.method).name;
  return name;
}

std::string verdict_line(const Judgement& judgement, const std::string& entry, const std::string& tensor,
                         const std::vector<std::int64_t>& dims, const std::string& tolerance_class, std::uint64_t call,
                         const std::string& repro) {
  std::string word = name_of(judgement.verdict);
  for (char& letter : word) letter = static_cast<char>(letter - 'a' + 'A');
  std::string line = word + " " + entry + " " + tensor;
  if (judgement.elements == 0) {  // nothing was compared
    line += ": " + judgement.reason;
  } else {
    const bool over = judgement.relative_l1 > judgement.bound;
    const WorstElement* worst = judgement.worst.empty() ? nullptr : &judgement.worst.front();
    if (judgement.verdict == Verdict::corrupt) {
      if (judgement.first_unwritten >= 0)
        line += index_text(judgement.first_unwritten, dims);
      else if (worst && judgement.bad_nonfinite > 0)
        line += index_text(worst->index / judgement.components, dims) + text(" %g for %.6g", worst->got, worst->ref);
    } else if (std::isnan(judgement.relative_l1)) {
      line += " nothing compared";
    } else if (worst && judgement.failing > 0 && !over) {
      line += index_text(worst->index / judgement.components, dims);
      line += text(" |%.6g - %.6g| = ", worst->got, worst->ref);
      line += figure(std::fabs(worst->got - worst->ref));
      line += " > ";
      line += figure(worst->tolerance);
    } else {
      line += ' ';
      line += figure(judgement.relative_l1);
      line += over ? " > " : " <= ";
      line += figure(judgement.bound);
      if (judgement.absolute) line += " absolute";
    }
    line += " (";
    line += tolerance_class;
    if (!std::isnan(judgement.resolution)) line += ", resolution " + figure(judgement.resolution);
    line += ')';
    if (!judgement.reason.empty()) line += ' ';
    line += judgement.reason;
  }
  if (call != 0) line += text(" call %llu", static_cast<unsigned long long>(call));
  if (!repro.empty()) line += "  repro: " + repro;
  return line;
}

}  // namespace rb::integrity
