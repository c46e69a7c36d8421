// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Puts a check around a call that computes (DESIGN 7, levels 1 and 4). The bridge function describes the operation
// before AMD's call and finishes after it:
//
//   checks::Scope check;
//   if (checks::wanted(key)) RB_TRY(check.begin(stream, describe()));   // copies of inputs and prior output, poison
//   RB_TRY(launch());                                                   // destroys the check when it fails
//   return check.finish();                                              // copy of the output, verdict
//
// All copies are ordered on the call's stream; a checker thread that calls no HIP function computes the reference.
// Controls: integrity.mode, .first, .wait, .policy, .strict, .staging_bytes, .threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "abi/hip.h"
#include "base/result.hpp"
#include "integrity/bounds.hpp"
#include "integrity/reference.hpp"
#include "integrity/tensor.hpp"

namespace rb::bridge::checks {

namespace detail {
enum class Mode : std::uint8_t { unread, off, first, all };
inline std::atomic<Mode> g_mode{Mode::unread};
bool wanted_slow(std::uint64_t key);
}  // namespace detail

/// Whether this use of (problem, solution) is to be checked; counts the use. `key` names the pair within the process
/// and is not 0. A few nanoseconds once the first uses are over. A call that is not wanted stays `unchecked`: the
/// inspector counts it by its missing check.
inline bool wanted(std::uint64_t key) {
  if (detail::g_mode.load(std::memory_order_relaxed) == detail::Mode::off) return false;
  return detail::wanted_slow(key);
}

enum class Direction : std::uint8_t { forward, backward_data, backward_filter };

/// Views carry device addresses in `data` and the bytes from there to the last element's end. x stands for dx in
/// backward data, w for dw in the filter gradient, y for dy in both.
struct Convolution {
  Direction direction = Direction::forward;
  integrity::Convolution problem;
  integrity::TensorView x, w, y;
  double alpha = 1, beta = 0;
  integrity::Accuracy accuracy;
  std::string reproducer;  ///< a command that shows the same on AMD's side, or empty
};

/// c = alpha a b + beta c; views (batch, rows, columns) with device addresses.
struct Gemm {
  integrity::TensorView a, b, c;
  bool conjugate_a = false, conjugate_b = false;
  bool reads_inputs = true;  ///< false: alpha or k is 0, a and b are not set
  double alpha = 1, alpha_imag = 0, beta = 0, beta_imag = 0;
  /// Scalars in device memory, of `scalar_type`; null: the four numbers above hold.
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  integrity::ElementType scalar_type = integrity::ElementType::fp32;
  integrity::Accuracy accuracy;
  std::string reproducer;
  /// A product that has no reference (another type, an array of pointers): the call is recorded as unchecked with this.
  const char* no_reference = nullptr;
};

struct Job;

/// The check of one call. Never touches the program's last error.
class Scope {
 public:
  Scope() = default;
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Orders copies of the operands and, where every element is due to be written, poison into the output. The device of
  /// the stream is current. What cannot be checked is recorded as unchecked and succeeds, but under integrity.strict
  /// with policy trap it is refused (not_supported, with the reason) before AMD's call.
  Status begin(hipStream_t stream, Convolution convolution);
  Status begin(hipStream_t stream, Gemm gemm);
  /// Orders the copy of the output and hands over to the checker. With integrity.wait=call, waits for the verdict and
  /// returns not_supported (check-drift, check-corrupt) when policy is trap and the check failed. Does nothing when
  /// nothing was begun.
  Status finish();

 private:
  Status start(hipStream_t stream, std::shared_ptr<Job> job);
  void abandon();
  std::shared_ptr<Job> job_;
};

}  // namespace rb::bridge::checks
