// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/dnn/find.hpp"

#include <algorithm>
#include <cstring>

#include "base/os.hpp"
#include "softrocm/front/core.hpp"
#include "softrocm/front/scalar.hpp"

namespace soft::miopen {
namespace {

constexpr int kFindModeNormal = 1;
constexpr std::uint32_t kDirect = 1;  ///< algorithm of the portable solutions

bool is_portable(const wire::Solution& solution) {
  return solution.algorithm == kDirect;
}

/// Milliseconds of one run, the shortest of `runs` after a first one that warms up.
miopenStatus_t measure(const Call& call, const Problem& problem, const wire::Solution& solution, const Buffers& buffers,
                       int runs, float* milliseconds) {
  const hipStream_t stream = problem.handle->stream;
  *milliseconds = 0;
  for (int i = 0; i <= runs; ++i) {
    const std::uint64_t begin = rb::os::now_ns();
    MIOPEN_TRY(run(call, problem, solution, buffers));
    MIOPEN_TRY(from_hip(synchronize(stream), call.entry));
    const float time = std::max(1e-6f, static_cast<float>(rb::os::now_ns() - begin) * 1e-6f);
    if (i > 0) *milliseconds = i == 1 ? time : std::min(*milliseconds, time);
  }
  return miopenStatusSuccess;
}

/// All types that are built take float scalars.
bool equals(const void* scalar, float wanted) {
  float value;
  std::memcpy(&value, scalar, sizeof value);
  return value == wanted;
}

}  // namespace

miopenStatus_t find_algorithms(const Call& call, const Buffers& buffers, int requested, int* returned,
                               miopenConvAlgoPerf_t* results, bool exhaustive) {
  if (!returned || !results || requested < 1)
    return refuse(miopenStatusBadParm, call.entry, "%d results requested", requested);
  *returned = 0;
  Problem problem;
  MIOPEN_TRY(make_problem(call, &problem));
  MIOPEN_TRY(check_buffers(call, problem, buffers));
  std::vector<const wire::Solution*> candidates;
  for (const auto& solution : wire::solutions(call.direction))
    if (wire::is_applicable(solution, problem.wire) &&
        wire::workspace_bytes(solution, problem.wire) <= buffers.workspace_bytes)
      candidates.push_back(&solution);
  const bool only_portable = std::ranges::all_of(candidates, [](auto* s) { return is_portable(*s); });
  std::vector<Found> found;
  for (const auto* solution : candidates) {
    if (is_portable(*solution) && !only_portable && !exhaustive) continue;
    Found entry{solution, 0};
    MIOPEN_TRY(measure(call, problem, *solution, buffers, exhaustive ? 3 : 1, &entry.time));
    found.push_back(entry);
  }
  std::ranges::stable_sort(found, {}, &Found::time);
  for (const Found& entry : found) {
    if (*returned == requested) break;
    miopenConvAlgoPerf_t& result = results[(*returned)++];
    result = {};
    result.fwd_algo = static_cast<miopenConvFwdAlgorithm_t>(entry.solution->algorithm);
    result.time = entry.time;
    result.memory = wire::workspace_bytes(*entry.solution, problem.wire);
  }
  std::lock_guard lock(problem.handle->mutex);
  problem.handle->found[key(problem.wire)] = std::move(found);
  return miopenStatusSuccess;
}

miopenStatus_t run_found(const Call& call, const Buffers& buffers, const void* alpha, const void* beta, int algorithm) {
  if (!host_can_read(alpha) || !host_can_read(beta))
    return refuse(miopenStatusBadParm, call.entry, "alpha or beta is null or device memory");
  Problem problem;
  MIOPEN_TRY(make_problem(call, &problem));
  if (!equals(alpha, 1) || !equals(beta, 0))
    return refuse(miopenStatusNotImplemented, call.entry, "only alpha 1 and beta 0 are supported");
  MIOPEN_TRY(check_buffers(call, problem, buffers));
  const wire::Solution* solution = nullptr;
  {
    std::lock_guard lock(problem.handle->mutex);
    const auto found = problem.handle->found.find(key(problem.wire));
    if (found == problem.handle->found.end())
      return refuse(miopenStatusUnknownError, call.entry, "no Find ran on this handle for the problem");
    for (const Found& entry : found->second)
      if (entry.solution->algorithm == static_cast<std::uint32_t>(algorithm)) solution = entry.solution;
  }
  if (!solution) return refuse(miopenStatusUnknownError, call.entry, "Find did not return algorithm %d", algorithm);
  return run(call, problem, *solution, buffers);
}

miopenStatus_t workspace_size(const Call& call, size_t* bytes) {
  if (!bytes) return refuse(miopenStatusBadParm, call.entry, "the pointer to the result is null");
  *bytes = 0;
  Problem problem;
  MIOPEN_TRY(make_problem(call, &problem));
  const auto order = ranked(problem);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || problem.find_mode == kFindModeNormal)
      *bytes = std::max<size_t>(*bytes, wire::workspace_bytes(*order[i].solution, problem.wire));
  return miopenStatusSuccess;
}

}  // namespace soft::miopen
