// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One check under way: what was asked, where the copies lie, and what became of it. Shared by the calling side
// (checks.cpp) and the checker thread (check_worker.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bridge/check_staging.hpp"
#include "bridge/checks.hpp"
#include "integrity/judge.hpp"

namespace rb::bridge::checks {

struct Settings {
  bool trap = true;  ///< policy
  bool strict = false;
  bool wait = false;
  bool all = false;
  unsigned first = 3;
  int threads = 2;
};
const Settings& settings();

struct Job {
  std::variant<Convolution, Gemm> what;  ///< its views name host memory once the copies are ordered
  const char* output_name = "";
  integrity::TensorView output;         ///< the copy after the call
  const void* device_output = nullptr;  ///< where it was copied from
  const void* before = nullptr;         ///< copy of the same bytes before it; null: none
  bool compare_gaps = false;            ///< the bytes between the elements are the output's own
  bool poisoned = false;
  integrity::Poison poison;
  const void* alpha = nullptr;  ///< copies of scalars in device memory
  const void* beta = nullptr;
  std::vector<Block> blocks;
  bool abandoned = false;  ///< AMD's call failed: nothing to judge

  hipStream_t stream = nullptr;
  std::uint64_t call = 0;  ///< in the trace
  std::uint32_t row = 0xffffffffu;
  const char* entry = "";
  int device = 0;
  std::uint64_t thread = 0;  ///< for remembered refusals

  /// The caller waits for the verdict and reports it itself. Guarded by the worker's mutex.
  bool awaited = false;
  bool done = false;
  integrity::Judgement judgement;
  const char* unchecked_reason = "unchecked-size";
  std::string line;  ///< of the verdict, without the reproducer

  const integrity::Accuracy& accuracy() const {
    return std::visit([](const auto& of) -> const integrity::Accuracy& { return of.accuracy; }, what);
  }
  const std::string& reproducer() const {
    return std::visit([](const auto& of) -> const std::string& { return of.reproducer; }, what);
  }
  const char* family() const { return what.index() == 0 ? "conv" : "gemm"; }
};

/// Whether a verdict is against the settings.
bool is_failure(integrity::Verdict verdict);
/// Reason id of a job's verdict; "" for pass.
const char* reason_of(const Job& job);
/// Trace record of a call that is not compared; `reason` is an id of api/reasons.toml.
void record_unchecked(const Job& job, const char* reason, const std::string& text);

/// Starts the checker thread if there is none yet; false if the system gives none.
bool worker_ready();
/// HIP's host function: the copies of the job (a std::shared_ptr<Job>*, which it takes) have arrived.
void copies_arrived(void* job);
/// Waits until an awaited job is judged (true), or may not be waited for any longer: it is then no longer awaited.
bool await(Job& job);

}  // namespace rb::bridge::checks
