// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/check.hpp"

namespace rb::dnn {
namespace {

namespace checks = bridge::checks;
using integrity::ElementType;

ElementType element_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return ElementType::fp16;
    case CUDNN_DATA_BFLOAT16:
      return ElementType::bf16;
    case CUDNN_DATA_DOUBLE:
      return ElementType::fp64;
    default:
      return ElementType::fp32;
  }
}

integrity::TensorView view_of(ElementType type, const Tensor4& tensor, const void* address, std::size_t bytes) {
  return integrity::strided_view(type, {tensor.dims.begin(), tensor.dims.end()},
                                 {tensor.strides.begin(), tensor.strides.end()}, address, bytes);
}

/// MIOpen's kernels for filter gradients split the long sum over images and positions between work-groups.
integrity::Method method_of(Direction direction, miopenConvAlgorithm_t algorithm) {
  switch (algorithm) {
    case miopenConvolutionAlgoWinograd:
      return integrity::Method::winograd;
    case miopenConvolutionAlgoFFT:
      return integrity::Method::fft;
    case miopenConvolutionAlgoDirect:
      return integrity::Method::direct;
    default:
      return direction == Direction::backward_filter ? integrity::Method::split_k : integrity::Method::gemm;
  }
}

/// The same convolution as MIOpen's own driver runs and verifies it (MIOpen documentation, MIOpenDriver).
std::string reproducer(const Problem& p) {
  const char* const type = p.type == CUDNN_DATA_HALF       ? "convfp16"
                           : p.type == CUDNN_DATA_BFLOAT16 ? "convbfp16"
                                                           : "conv";
  const int direction = p.direction == Direction::forward ? 1 : p.direction == Direction::backward_data ? 2 : 4;
  const auto n = [](std::int64_t value) { return static_cast<long long>(value); };
  return text(
      "MIOpenDriver %s -n %lld -c %lld -H %lld -W %lld -k %lld -y %lld -x %lld -p %d -q %d -u %d -v %d -l %d -j %d -g "
      "%d -F %d -V 1%s",
      type, n(p.x.dims[0]), n(p.x.dims[1]), n(p.x.dims[2]), n(p.x.dims[3]), n(p.w.dims[0]), n(p.w.dims[2]),
      n(p.w.dims[3]), p.pad[0], p.pad[1], p.stride[0], p.stride[1], p.dilation[0], p.dilation[1], p.groups, direction,
      p.x.is_nhwc() && !p.x.is_nchw() ? " --in_layout NHWC --fil_layout NHWC --out_layout NHWC" : "");
}

}  // namespace

checks::Convolution describe_check(const Plan& plan, int solution, const Operands& operands, float alpha, float beta) {
  const Problem& problem = plan.problem();
  const ElementType type = element_of(problem.type);
  checks::Convolution check;
  check.direction = static_cast<checks::Direction>(problem.direction);
  check.problem.spatial = 2;
  check.problem.groups = problem.groups;
  check.problem.flip = problem.flip != 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    check.problem.padding[axis] = problem.pad[axis];
    check.problem.stride[axis] = problem.stride[axis];
    check.problem.dilation[axis] = problem.dilation[axis];
  }
  check.x = view_of(type, problem.x, operands.x, plan.x_bytes());
  check.w = view_of(type, problem.w, operands.w, plan.w_bytes());
  check.y = view_of(type, problem.y, operands.y, plan.y_bytes());
  check.alpha = alpha;
  check.beta = beta;
  check.accuracy.output = type;
  check.accuracy.accumulate = type == ElementType::fp64 ? ElementType::fp64 : ElementType::fp32;
  check.accuracy.method = method_of(problem.direction, plan.solutions()[static_cast<std::size_t>(solution)].algorithm);
  // Winograd's transforms round half inputs to half again.
  if (check.accuracy.method == integrity::Method::winograd && type == ElementType::fp16)
    check.accuracy.input_unit = integrity::unit_of(ElementType::fp16);
  // The plain result goes through a tensor of the output's type before alpha and beta are applied (run_composed).
  check.accuracy.staged = alpha != 1.0f || beta != 0.0f;
  check.reproducer = reproducer(problem);
  return check;
}

Status run_checked(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands,
                   const Workspace& workspace, float alpha, float beta) {
  if (!stream_is_usable(handle.stream)) return run(handle, plan, solution, operands, workspace, alpha, beta);
  DeviceScope device;
  RB_TRY(device.enter(handle.device));
  checks::Scope check;
  RB_TRY(check.begin(handle.stream, describe_check(plan, solution, operands, alpha, beta)));
  RB_TRY(run(handle, plan, solution, operands, workspace, alpha, beta));
  return check.finish();
}

}  // namespace rb::dnn
