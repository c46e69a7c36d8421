// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Compares an output with its reference element by element and gives the verdict, with the figures that the inspector
// shows. A verdict is never better than its evidence: what could not be judged is `untrusted` or `unchecked`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integrity/bounds.hpp"
#include "integrity/poison.hpp"
#include "integrity/reference.hpp"

namespace rb::integrity {

enum class Verdict : std::uint8_t {
  pass,       ///< every element within its bound
  drift,      ///< an element outside its bound
  corrupt,    ///< not written, non-finite from finite data, bytes between elements changed
  untrusted,  ///< within the bound, but the bound or the data vouch for little
  unchecked,  ///< not compared, with the reason
  trapped,    ///< the call was refused
};
/// "pass", "drift", ...
const char* name_of(Verdict verdict);

struct WorstElement {
  std::int64_t index = 0;  ///< in index order of the output (complex: of its real parts and imaginary parts)
  double got = 0, ref = 0, tolerance = 0;
};

struct Judgement {
  Verdict verdict = Verdict::unchecked;
  std::string reason;  ///< in a few words, for every verdict but pass
  std::int64_t elements = 0;
  int components = 1;        ///< 2: complex; the figures below then count real and imaginary parts
  std::int64_t failing = 0;  ///< elements outside their bound (non-finite ones included)
  double relative_l1 = 0;    ///< sum |got - ref| / sum |ref|
  double relative_l2 = 0;
  double bound = 0;       ///< sum of tolerances / sum |ref|
  bool absolute = false;  ///< all of ref is 0: the three above are absolute sums
  double resolution = 0;  ///< an error above this, relative to max(|ref|, rms of ref), is seen in any element
  double max_ulp = 0;     ///< largest difference in units in the last place of the output type
  std::int64_t nans = 0, infinities = 0;  ///< in the output
  std::int64_t bad_nonfinite = 0;         ///< of these, without cause in data or range
  std::int64_t unwritten = 0;             ///< elements that still hold this call's poison
  std::int64_t first_unwritten = -1;
  double zero_share = 0;            ///< of the output
  std::vector<WorstElement> worst;  ///< largest error / tolerance first, at most 20
};

/// Judges `got` against `reference`. `poison` is the pattern that the output was filled with before the call, or null.
/// `got` must have the reference's dimensions (else the verdict is unchecked with the reason).
Judgement judge(const Reference& reference, const TensorView& got, const Accuracy& accuracy, const Poison* poison);

/// A verdict without a comparison.
Judgement verdict_of(Verdict verdict, std::string reason);

/// Tolerance class as shown: "conv/fp16", "gemm/fp32/split_k".
std::string class_name(const char* family, const Accuracy& accuracy);

/// One line, the same for all screens:
/// `DRIFT cudnnConvolutionForward y 3.1e-3 > 2e-3 (conv/fp16, resolution 4e-4) call 118  repro: rocbridge repro ...`.
/// Where single elements fail although the whole does not, the worst one is named with its index. `call` 0 (not traced)
/// and an empty `repro` are left out.
std::string verdict_line(const Judgement& judgement, const std::string& entry, const std::string& tensor,
                         const std::vector<std::int64_t>& dims, const std::string& tolerance_class, std::uint64_t call,
                         const std::string& repro);

}  // namespace rb::integrity
