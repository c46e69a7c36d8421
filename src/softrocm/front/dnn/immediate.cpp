// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's immediate mode: solutions by id, no Find needed. The filter comes before the image here.
#include <algorithm>

#include "soft/miopen_entries.h"
#include "softrocm/front/dnn/problem.hpp"

namespace soft::miopen {
namespace {

miopenStatus_t count_solutions(const Call& call, size_t* count) {
  if (!count) return refuse(miopenStatusBadParm, call.entry, "the pointer to the result is null");
  Problem problem;
  MIOPEN_TRY(make_problem(call, &problem));
  *count = ranked(problem).size();
  return miopenStatusSuccess;
}

miopenStatus_t list_solutions(const Call& call, size_t limit, size_t* count, miopenConvSolution_t* results) {
  if (!count || !results) return refuse(miopenStatusBadParm, call.entry, "a pointer to a result is null");
  *count = 0;
  Problem problem;
  MIOPEN_TRY(make_problem(call, &problem));
  for (const Found& found : ranked(problem)) {
    if (*count == limit) break;
    results[(*count)++] = {found.time, wire::workspace_bytes(*found.solution, problem.wire), found.solution->id,
                           static_cast<miopenConvAlgorithm_t>(found.solution->algorithm)};
  }
  return miopenStatusSuccess;
}

/// The solution of an id if it can run the problem.
miopenStatus_t pick(const Call& call, std::uint64_t id, Problem* problem, const wire::Solution** solution) {
  MIOPEN_TRY(make_problem(call, problem));
  *solution = wire::find_solution(id);
  if (!*solution)
    return refuse(miopenStatusBadParm, call.entry, "no solution has id %llu", static_cast<unsigned long long>(id));
  if (!wire::is_applicable(**solution, problem->wire))
    return refuse(miopenStatusBadParm, call.entry, "%s is not applicable to the problem", (*solution)->name);
  return miopenStatusSuccess;
}

miopenStatus_t solution_workspace(const Call& call, std::uint64_t id, size_t* bytes) {
  if (!bytes) return refuse(miopenStatusBadParm, call.entry, "the pointer to the result is null");
  Problem problem;
  const wire::Solution* solution = nullptr;
  MIOPEN_TRY(pick(call, id, &problem, &solution));
  *bytes = wire::workspace_bytes(*solution, problem.wire);
  return miopenStatusSuccess;
}

/// Nothing is left to compile; what cannot run is refused here already.
miopenStatus_t compile(const Call& call, std::uint64_t id) {
  Problem problem;
  const wire::Solution* solution = nullptr;
  return pick(call, id, &problem, &solution);
}

miopenStatus_t run_solution(const Call& call, std::uint64_t id, const Buffers& buffers) {
  Problem problem;
  const wire::Solution* solution = nullptr;
  MIOPEN_TRY(pick(call, id, &problem, &solution));
  MIOPEN_TRY(check_buffers(call, problem, buffers));
  return run(call, problem, *solution, buffers);
}

}  // namespace
}  // namespace soft::miopen

using namespace soft::miopen;
using soft::wire::Direction;

extern "C" {

miopenStatus_t soft_miopenConvolutionForwardGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, size_t* solutionCount) {
  const Call call{
      "miopenConvolutionForwardGetSolutionCount", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return count_solutions(call, solutionCount); });
}

miopenStatus_t soft_miopenConvolutionForwardGetSolution(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
                                                        const miopenTensorDescriptor_t xDesc,
                                                        const miopenConvolutionDescriptor_t convDesc,
                                                        const miopenTensorDescriptor_t yDesc,
                                                        const size_t maxSolutionCount, size_t* solutionCount,
                                                        miopenConvSolution_t* solutions) {
  const Call call{"miopenConvolutionForwardGetSolution", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return list_solutions(call, maxSolutionCount, solutionCount, solutions); });
}

miopenStatus_t soft_miopenConvolutionForwardGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, const uint64_t solution_id,
    size_t* workSpaceSize) {
  const Call call{
      "miopenConvolutionForwardGetSolutionWorkspaceSize", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return solution_workspace(call, solution_id, workSpaceSize); });
}

miopenStatus_t soft_miopenConvolutionForwardCompileSolution(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
                                                            const miopenTensorDescriptor_t xDesc,
                                                            const miopenConvolutionDescriptor_t convDesc,
                                                            const miopenTensorDescriptor_t yDesc,
                                                            const uint64_t solution_id) {
  const Call call{"miopenConvolutionForwardCompileSolution", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return compile(call, solution_id); });
}

miopenStatus_t soft_miopenConvolutionForwardImmediate(miopenHandle_t handle, const miopenTensorDescriptor_t wDesc,
                                                      const void* w, const miopenTensorDescriptor_t xDesc,
                                                      const void* x, const miopenConvolutionDescriptor_t convDesc,
                                                      const miopenTensorDescriptor_t yDesc, void* y, void* workSpace,
                                                      size_t workSpaceSize, const uint64_t solution_id) {
  const Call call{"miopenConvolutionForwardImmediate", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return run_solution(call, solution_id, {x, w, y, workSpace, workSpaceSize}); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, size_t* solutionCount) {
  const Call call{"miopenConvolutionBackwardDataGetSolutionCount",
                  Direction::backward_data,
                  handle,
                  dxDesc,
                  wDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return count_solutions(call, solutionCount); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const size_t maxSolutionCount,
    size_t* solutionCount, miopenConvSolution_t* solutions) {
  const Call call{
      "miopenConvolutionBackwardDataGetSolution", Direction::backward_data, handle, dxDesc, wDesc, dyDesc, convDesc};
  return guarded(call.entry, [&] { return list_solutions(call, maxSolutionCount, solutionCount, solutions); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id,
    size_t* workSpaceSize) {
  const Call call{"miopenConvolutionBackwardDataGetSolutionWorkspaceSize",
                  Direction::backward_data,
                  handle,
                  dxDesc,
                  wDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return solution_workspace(call, solution_id, workSpaceSize); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, const uint64_t solution_id) {
  const Call call{"miopenConvolutionBackwardDataCompileSolution",
                  Direction::backward_data,
                  handle,
                  dxDesc,
                  wDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return compile(call, solution_id); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataImmediate(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc,
                                                           const void* dy, const miopenTensorDescriptor_t wDesc,
                                                           const void* w, const miopenConvolutionDescriptor_t convDesc,
                                                           const miopenTensorDescriptor_t dxDesc, void* dx,
                                                           void* workSpace, size_t workSpaceSize,
                                                           const uint64_t solution_id) {
  const Call call{
      "miopenConvolutionBackwardDataImmediate", Direction::backward_data, handle, dxDesc, wDesc, dyDesc, convDesc};
  return guarded(call.entry, [&] { return run_solution(call, solution_id, {dx, w, dy, workSpace, workSpaceSize}); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsGetSolutionCount(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, size_t* solutionCount) {
  const Call call{"miopenConvolutionBackwardWeightsGetSolutionCount",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return count_solutions(call, solutionCount); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsGetSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const size_t maxSolutionCount,
    size_t* solutionCount, miopenConvSolution_t* solutions) {
  const Call call{"miopenConvolutionBackwardWeightsGetSolution",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return list_solutions(call, maxSolutionCount, solutionCount, solutions); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id,
    size_t* workSpaceSize) {
  const Call call{"miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return solution_workspace(call, solution_id, workSpaceSize); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsCompileSolution(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, const uint64_t solution_id) {
  const Call call{"miopenConvolutionBackwardWeightsCompileSolution",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return compile(call, solution_id); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsImmediate(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void* dy, const miopenTensorDescriptor_t xDesc,
    const void* x, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void* dw,
    void* workSpace, size_t workSpaceSize, const uint64_t solution_id) {
  const Call call{"miopenConvolutionBackwardWeightsImmediate",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return run_solution(call, solution_id, {x, dw, dy, workSpace, workSpaceSize}); });
}

miopenStatus_t soft_miopenGetSolverIdConvAlgorithm(uint64_t solverId, miopenConvAlgorithm_t* result) {
  constexpr const char* kEntry = "miopenGetSolverIdConvAlgorithm";
  const soft::wire::Solution* solution = soft::wire::find_solution(solverId);
  if (!solution || !result)
    return refuse(miopenStatusBadParm, kEntry, "id %llu, result %p", static_cast<unsigned long long>(solverId),
                  static_cast<void*>(result));
  *result = static_cast<miopenConvAlgorithm_t>(solution->algorithm);
  return miopenStatusSuccess;
}

}  // extern "C"
