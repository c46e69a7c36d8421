// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuDNN's questions about algorithms: counts, workspace sizes, Get...Algorithm_v7 and Find...Algorithm(Ex). All answers
// come from the plan that a later execution uses.
#include "base/log.hpp"
#include "bridge/amd.hpp"
#include "bridge/dnn/find.hpp"
#include "bridge/dnn_entries.hpp"
#include "bridge/last_error.hpp"

namespace rb::dnn {
namespace {

/// The descriptors of a question, by the forward direction's names.
struct Query {
  Direction direction;
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  cudnnTensorDescriptor_t y;
};

struct Answer {
  DnnHandle* handle = nullptr;
  std::shared_ptr<const Plan> plan;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

Result<Answer> plan_query(const Query& query) {
  RB_TRY(bridge::device_ready());
  Answer answer;
  RB_ASSIGN(answer.handle, handles().get(query.handle, "handle"));
  RB_ASSIGN(const TensorDescriptor* x, tensors().get(query.x, "the descriptor of x"));
  RB_ASSIGN(const FilterDescriptor* w, filters().get(query.w, "the descriptor of the filter"));
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(query.conv, "convDesc"));
  RB_ASSIGN(const TensorDescriptor* y, tensors().get(query.y, "the descriptor of y"));
  RB_ASSIGN(const Problem problem, make_problem(query.direction, *x, *w, *conv, *y, answer.handle->device));
  answer.math = conv->math;
  RB_ASSIGN(answer.plan, plan_for(*answer.handle, problem));
  if (answer.plan->solutions().empty())
    return not_supported("conv-no-solution", "AMD's library has no solution for %s", problem.describe().c_str());
  return answer;
}

Status max_count(cudnnHandle_t handle, int* count, Direction direction) {
  RB_TRY(std::move(handles().get(handle, "handle")).status());
  if (count == nullptr) return bad_param("null-pointer", "count is null");
  *count = algorithm_count(direction);
  return {};
}

Status workspace_size(const Query& query, int algorithm, std::size_t* size) {
  if (size == nullptr) return bad_param("null-pointer", "sizeInBytes is null");
  RB_ASSIGN(const Answer answer, plan_query(query));
  if (algorithm < 0 || algorithm >= algorithm_count(query.direction))
    return bad_param("unknown-enum", "algo is %d; there are %d algorithms", algorithm,
                     algorithm_count(query.direction));
  const int solution = answer.plan->solution_of(algorithm);
  if (solution < 0) {
    // Programs ask for each algorithm in turn to learn which there are: an answer, not a refusal of work.
    RB_LOG(info, "convolution", "algorithm %s has no solution of AMD's library for %s",
           algorithm_name(query.direction, algorithm), answer.plan->problem().describe().c_str());
    return bridge::answer(CUDNN_STATUS_NOT_SUPPORTED);
  }
  *size = answer.plan->workspace_bytes(solution, false);
  return {};
}

Status check_room(int requested, const int* returned, const void* results) {
  if (requested < 1) return bad_param("bad-dimension", "requestedAlgoCount is %d; it must be at least 1", requested);
  if (returned == nullptr || results == nullptr)
    return bad_param("null-pointer", "%s is null", returned == nullptr ? "returnedAlgoCount" : "perfResults");
  return {};
}

template <class Perf>
void fill(const Answer& answer, const std::vector<AlgorithmResult>& from, int requested, int* returned, Perf* results) {
  const int count = requested < static_cast<int>(from.size()) ? requested : static_cast<int>(from.size());
  for (int i = 0; i < count; ++i) {
    const AlgorithmResult& result = from[static_cast<std::size_t>(i)];
    Perf perf{};
    perf.algo = static_cast<decltype(perf.algo)>(result.algorithm);
    perf.status = result.status;
    perf.time = result.time;
    perf.memory = result.memory;
    perf.determinism = answer.plan->deterministic() ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    perf.mathType = answer.math;  // PyTorch insists on FMA when it asked for it
    results[i] = perf;
  }
  *returned = count;
}

template <class Perf>
Status get_algorithm(const Query& query, int requested, int* returned, Perf* results) {
  RB_TRY(check_room(requested, returned, results));
  RB_ASSIGN(const Answer answer, plan_query(query));
  fill(answer, rank_algorithms(*answer.plan), requested, returned, results);
  return {};
}

template <class Perf>
Status find_algorithm(const Query& query, int requested, int* returned, Perf* results) {
  RB_TRY(check_room(requested, returned, results));
  RB_ASSIGN(const Answer answer, plan_query(query));
  RB_ASSIGN(const std::vector<AlgorithmResult> found, measure_algorithms(*answer.handle, *answer.plan));
  fill(answer, found, requested, returned, results);
  return {};
}

template <class Perf>
Status find_algorithm_ex(const Query& query, const void* x, const void* w, const void* y, int requested, int* returned,
                         Perf* results, void* workspace, std::size_t bytes) {
  RB_TRY(check_room(requested, returned, results));
  RB_ASSIGN(const Answer answer, plan_query(query));
  const Operands operands{const_cast<void*>(x), const_cast<void*>(w), const_cast<void*>(y)};
  RB_ASSIGN(const std::vector<AlgorithmResult> found,
            measure_algorithms(*answer.handle, *answer.plan, operands, {workspace, bytes}));
  fill(answer, found, requested, returned, results);
  return {};
}

}  // namespace

Status get_convolution_forward_algorithm_max_count(cudnnHandle_t handle, int* count) {
  return max_count(handle, count, Direction::forward);
}
Status get_convolution_backward_data_algorithm_max_count(cudnnHandle_t handle, int* count) {
  return max_count(handle, count, Direction::backward_data);
}
Status get_convolution_backward_filter_algorithm_max_count(cudnnHandle_t handle, int* count) {
  return max_count(handle, count, Direction::backward_filter);
}

Status get_convolution_forward_workspace_size(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                              const cudnnFilterDescriptor_t wDesc,
                                              const cudnnConvolutionDescriptor_t convDesc,
                                              const cudnnTensorDescriptor_t yDesc, cudnnConvolutionFwdAlgo_t algo,
                                              size_t* sizeInBytes) {
  return workspace_size({Direction::forward, handle, xDesc, wDesc, convDesc, yDesc}, static_cast<int>(algo),
                        sizeInBytes);
}

Status get_convolution_backward_data_workspace_size(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc,
                                                    const cudnnTensorDescriptor_t dyDesc,
                                                    const cudnnConvolutionDescriptor_t convDesc,
                                                    const cudnnTensorDescriptor_t dxDesc,
                                                    cudnnConvolutionBwdDataAlgo_t algo, size_t* sizeInBytes) {
  return workspace_size({Direction::backward_data, handle, dxDesc, wDesc, convDesc, dyDesc}, static_cast<int>(algo),
                        sizeInBytes);
}

Status get_convolution_backward_filter_workspace_size(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                      const cudnnTensorDescriptor_t dyDesc,
                                                      const cudnnConvolutionDescriptor_t convDesc,
                                                      const cudnnFilterDescriptor_t gradDesc,
                                                      cudnnConvolutionBwdFilterAlgo_t algo, size_t* sizeInBytes) {
  return workspace_size({Direction::backward_filter, handle, xDesc, gradDesc, convDesc, dyDesc}, static_cast<int>(algo),
                        sizeInBytes);
}

Status get_convolution_forward_algorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc,
                                            const cudnnFilterDescriptor_t filterDesc,
                                            const cudnnConvolutionDescriptor_t convDesc,
                                            const cudnnTensorDescriptor_t destDesc, const int requestedAlgoCount,
                                            int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults) {
  return get_algorithm({Direction::forward, handle, srcDesc, filterDesc, convDesc, destDesc}, requestedAlgoCount,
                       returnedAlgoCount, perfResults);
}

Status get_convolution_backward_data_algorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t filterDesc,
                                                  const cudnnTensorDescriptor_t diffDesc,
                                                  const cudnnConvolutionDescriptor_t convDesc,
                                                  const cudnnTensorDescriptor_t gradDesc, const int requestedAlgoCount,
                                                  int* returnedAlgoCount,
                                                  cudnnConvolutionBwdDataAlgoPerf_t* perfResults) {
  return get_algorithm({Direction::backward_data, handle, gradDesc, filterDesc, convDesc, diffDesc}, requestedAlgoCount,
                       returnedAlgoCount, perfResults);
}

Status get_convolution_backward_filter_algorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc,
                                                    const cudnnTensorDescriptor_t diffDesc,
                                                    const cudnnConvolutionDescriptor_t convDesc,
                                                    const cudnnFilterDescriptor_t gradDesc,
                                                    const int requestedAlgoCount, int* returnedAlgoCount,
                                                    cudnnConvolutionBwdFilterAlgoPerf_t* perfResults) {
  return get_algorithm({Direction::backward_filter, handle, srcDesc, gradDesc, convDesc, diffDesc}, requestedAlgoCount,
                       returnedAlgoCount, perfResults);
}

Status find_convolution_forward_algorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                          const cudnnFilterDescriptor_t wDesc,
                                          const cudnnConvolutionDescriptor_t convDesc,
                                          const cudnnTensorDescriptor_t yDesc, const int requestedAlgoCount,
                                          int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults) {
  return find_algorithm({Direction::forward, handle, xDesc, wDesc, convDesc, yDesc}, requestedAlgoCount,
                        returnedAlgoCount, perfResults);
}

Status find_convolution_backward_data_algorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc,
                                                const cudnnTensorDescriptor_t dyDesc,
                                                const cudnnConvolutionDescriptor_t convDesc,
                                                const cudnnTensorDescriptor_t dxDesc, const int requestedAlgoCount,
                                                int* returnedAlgoCount,
                                                cudnnConvolutionBwdDataAlgoPerf_t* perfResults) {
  return find_algorithm({Direction::backward_data, handle, dxDesc, wDesc, convDesc, dyDesc}, requestedAlgoCount,
                        returnedAlgoCount, perfResults);
}

Status find_convolution_backward_filter_algorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                  const cudnnTensorDescriptor_t dyDesc,
                                                  const cudnnConvolutionDescriptor_t convDesc,
                                                  const cudnnFilterDescriptor_t dwDesc, const int requestedAlgoCount,
                                                  int* returnedAlgoCount,
                                                  cudnnConvolutionBwdFilterAlgoPerf_t* perfResults) {
  return find_algorithm({Direction::backward_filter, handle, xDesc, dwDesc, convDesc, dyDesc}, requestedAlgoCount,
                        returnedAlgoCount, perfResults);
}

Status find_convolution_forward_algorithm_ex(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void* x,
                                             const cudnnFilterDescriptor_t wDesc, const void* w,
                                             const cudnnConvolutionDescriptor_t convDesc,
                                             const cudnnTensorDescriptor_t yDesc, void* y, const int requestedAlgoCount,
                                             int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults,
                                             void* workSpace, size_t workSpaceSizeInBytes) {
  return find_algorithm_ex({Direction::forward, handle, xDesc, wDesc, convDesc, yDesc}, x, w, y, requestedAlgoCount,
                           returnedAlgoCount, perfResults, workSpace, workSpaceSizeInBytes);
}

Status find_convolution_backward_data_algorithm_ex(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc,
                                                   const void* w, const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                                   const cudnnConvolutionDescriptor_t convDesc,
                                                   const cudnnTensorDescriptor_t dxDesc, void* dx,
                                                   const int requestedAlgoCount, int* returnedAlgoCount,
                                                   cudnnConvolutionBwdDataAlgoPerf_t* perfResults, void* workSpace,
                                                   size_t workSpaceSizeInBytes) {
  return find_algorithm_ex({Direction::backward_data, handle, dxDesc, wDesc, convDesc, dyDesc}, dx, w, dy,
                           requestedAlgoCount, returnedAlgoCount, perfResults, workSpace, workSpaceSizeInBytes);
}

Status find_convolution_backward_filter_algorithm_ex(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                     const void* x, const cudnnTensorDescriptor_t dyDesc, const void* y,
                                                     const cudnnConvolutionDescriptor_t convDesc,
                                                     const cudnnFilterDescriptor_t dwDesc, void* dw,
                                                     const int requestedAlgoCount, int* returnedAlgoCount,
                                                     cudnnConvolutionBwdFilterAlgoPerf_t* perfResults, void* workSpace,
                                                     size_t workSpaceSizeInBytes) {
  return find_algorithm_ex({Direction::backward_filter, handle, xDesc, dwDesc, convDesc, dyDesc}, x, dw, y,
                           requestedAlgoCount, returnedAlgoCount, perfResults, workSpace, workSpaceSizeInBytes);
}

}  // namespace rb::dnn
