// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The three convolutions of cuDNN's classic API.
#include "bridge/amd.hpp"
#include "bridge/dnn/run.hpp"
#include "bridge/dnn/thread_cache.hpp"
#include "bridge/dnn_entries.hpp"

namespace rb::dnn {
namespace {

/// A call with its tensors by the forward direction's names.
struct ClassicCall {
  Direction direction;
  cudnnHandle_t handle;
  const void* alpha;
  cudnnTensorDescriptor_t x_desc;
  const void* x;
  cudnnFilterDescriptor_t w_desc;
  const void* w;
  cudnnConvolutionDescriptor_t conv_desc;
  int algorithm;
  void* workspace;
  std::size_t workspace_bytes;
  const void* beta;
  cudnnTensorDescriptor_t y_desc;
  const void* y;

  int key() const { return static_cast<int>(direction) << 8 | algorithm; }
};

/// Looks at everything anew and remembers the outcome for the next call with the same descriptors.
[[gnu::noinline]] Status plan_call(const ClassicCall& call, RememberedCall& slot) {
  RB_ASSIGN(DnnHandle * handle, handles().get(call.handle, "handle"));
  const bool forward = call.direction == Direction::forward;
  const bool filter = call.direction == Direction::backward_filter;
  RB_ASSIGN(const TensorDescriptor* x,
            tensors().get(call.x_desc, call.direction == Direction::backward_data ? "dxDesc" : "xDesc"));
  RB_ASSIGN(const FilterDescriptor* w, filters().get(call.w_desc, filter ? "dwDesc" : "wDesc"));
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(call.conv_desc, "convDesc"));
  RB_ASSIGN(const TensorDescriptor* y, tensors().get(call.y_desc, forward ? "yDesc" : "dyDesc"));
  if (call.algorithm < 0 || call.algorithm >= algorithm_count(call.direction))
    return bad_param("unknown-enum", "algo is %d; there are %d algorithms", call.algorithm,
                     algorithm_count(call.direction));
  // The stamps are read before the contents: a descriptor that is set meanwhile has a newer stamp than the remembered
  // one, and the next call plans anew.
  const std::array<std::uint64_t, 5> stamps{handle->stamp.load(), x->stamp.load(), w->stamp.load(), conv->stamp.load(),
                                            y->stamp.load()};
  RB_ASSIGN(const Problem problem, make_problem(call.direction, *x, *w, *conv, *y, handle->device));
  RB_ASSIGN(std::shared_ptr<const Plan> plan, plan_for(*handle, problem));
  const int solution = plan->solution_of(call.algorithm);
  if (solution < 0)
    return not_supported("conv-no-solution", "algorithm %s has no solution of AMD's library for %s",
                         algorithm_name(call.direction, call.algorithm), problem.describe().c_str());
  slot =
      RememberedCall{call.handle, call.x_desc, call.w_desc, call.conv_desc, call.y_desc, call.key(), solution,
                     handle,      x,           w,           conv,           y,           stamps,     std::move(plan)};
  return {};
}

inline Status convolve(const ClassicCall& call) {
  RB_TRY(bridge::device_ready());
  RememberedCall& slot = thread_cache().call_for(call.x_desc, call.w_desc, call.conv_desc, call.y_desc, call.key());
  if (!slot.holds(call.handle, call.x_desc, call.w_desc, call.conv_desc, call.y_desc, call.key())) [[unlikely]]
    RB_TRY(plan_call(call, slot));
  if (call.alpha == nullptr || call.beta == nullptr) [[unlikely]]
    return bad_param("null-pointer", "%s is null", call.alpha == nullptr ? "alpha" : "beta");
  // Scalars are floats for every type but fp64 (cuDNN developer guide, "Scaling parameters"), and that is refused.
  const float alpha = *static_cast<const float*>(call.alpha);
  const float beta = *static_cast<const float*>(call.beta);
  const Operands operands{const_cast<void*>(call.x), const_cast<void*>(call.w), const_cast<void*>(call.y)};
  return execute(*slot.handle_object, *slot.plan, slot.solution, operands, {call.workspace, call.workspace_bytes},
                 alpha, beta);
}

}  // namespace

Status convolution_forward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xDesc, const void* x,
                           const cudnnFilterDescriptor_t wDesc, const void* w,
                           const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo, void* workSpace,
                           size_t workSpaceSizeInBytes, const void* beta, const cudnnTensorDescriptor_t yDesc,
                           void* y) {
  return convolve({Direction::forward, handle, alpha, xDesc, x, wDesc, w, convDesc, static_cast<int>(algo), workSpace,
                   workSpaceSizeInBytes, beta, yDesc, y});
}

Status convolution_backward_data(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t wDesc,
                                 const void* w, const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                 const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdDataAlgo_t algo,
                                 void* workSpace, size_t workSpaceSizeInBytes, const void* beta,
                                 const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return convolve({Direction::backward_data, handle, alpha, dxDesc, dx, wDesc, w, convDesc, static_cast<int>(algo),
                   workSpace, workSpaceSizeInBytes, beta, dyDesc, dy});
}

Status convolution_backward_filter(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xDesc,
                                   const void* x, const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                   const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdFilterAlgo_t algo,
                                   void* workSpace, size_t workSpaceSizeInBytes, const void* beta,
                                   const cudnnFilterDescriptor_t dwDesc, void* dw) {
  return convolve({Direction::backward_filter, handle, alpha, xDesc, x, dwDesc, dw, convDesc, static_cast<int>(algo),
                   workSpace, workSpaceSizeInBytes, beta, dyDesc, dy});
}

}  // namespace rb::dnn
