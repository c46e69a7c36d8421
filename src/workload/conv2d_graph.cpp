// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A convolution through cuDNN's graph ("backend") functions, in the order of attributes and lifetimes that PyTorch has.
#include <cstdint>

#include "workload/conv2d.hpp"

namespace rb::workload {
namespace {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { RB_CHECK(cudnnBackendCreateDescriptor(type, &value_)); }
  ~Descriptor() {
    if (value_ != nullptr) cudnnBackendDestroyDescriptor(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(other.value_) { other.value_ = nullptr; }
  Descriptor& operator=(Descriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* data) {
    RB_CHECK(cudnnBackendSetAttribute(value_, name, type, count, data));
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.value_);
  }
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room, void* data) {
    std::int64_t count = 0;
    RB_CHECK(cudnnBackendGetAttribute(value_, name, type, room, &count, data));
    return count;
  }
  void finalize() { RB_CHECK(cudnnBackendFinalize(value_)); }
  cudnnBackendDescriptor_t& value() { return value_; }

 private:
  cudnnBackendDescriptor_t value_ = nullptr;
};

Descriptor tensor(const Problem& p, const int (&size)[4], const int (&stride)[4], std::int64_t id) {
  const cudnnDataType_t type = p.precision == Precision::fp32   ? CUDNN_DATA_FLOAT
                               : p.precision == Precision::fp16 ? CUDNN_DATA_HALF
                                                                : CUDNN_DATA_BFLOAT16;
  std::int64_t sizes[4];
  std::int64_t strides[4];
  for (int i = 0; i < 4; ++i) {
    sizes[i] = size[i];
    strides[i] = stride[i];
  }
  const std::int64_t alignment = 32;
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes);
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  d.finalize();
  return d;
}

Descriptor convolution(const Layer& layer) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const std::int64_t rank = 2;
  const std::int64_t padding[2] = {layer.padding, layer.padding};
  const std::int64_t dilation[2] = {layer.dilation, layer.dilation};
  const std::int64_t stride[2] = {layer.stride, layer.stride};
  Descriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank);
  d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
  d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
  d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
  d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
  d.finalize();
  return d;
}

/// Attribute numbers of one pass's operation.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

Names names_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Pass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Pass::backward_filter:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

constexpr std::int64_t kIds[3] = {'x', 'y', 'w'};

/// The engine configurations that the library offers for a pass.
std::vector<Descriptor> configurations(cudnnHandle_t handle, Pass pass, const Problem& p) {
  const Names names = names_of(pass);
  Descriptor operation(names.operation);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  {
    const Descriptor x = tensor(p, p.x_size, p.x_stride, kIds[0]);
    const Descriptor y = tensor(p, p.y_size, p.y_stride, kIds[1]);
    const Descriptor w = tensor(p, p.w_size, p.w_stride, kIds[2]);
    const Descriptor conv = convolution(p.layer);
    const float alpha = 1;
    const float beta = 0;
    operation.set(names.x, x);
    operation.set(names.w, w);
    operation.set(names.y, y);
    operation.set(names.convolution, conv);
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &beta);
    operation.finalize();
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    graph.finalize();
  }
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_INSTANT;
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristic.finalize();
  const std::int64_t offered = heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> out;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < offered; ++i) {
    out.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(out.back().value());
  }
  const std::int64_t got =
      heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, raw.data());
  while (static_cast<std::int64_t>(out.size()) > got) out.pop_back();
  return out;
}

}  // namespace

void run_graph(cudnnHandle_t handle, Pass pass, const Problem& p) {
  std::vector<Descriptor> configs = configurations(handle, pass, p);
  if (configs.empty()) stop("the library offers no engine for this convolution");
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs.front());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  plan.finalize();
  std::int64_t bytes = 0;
  RB_CHECK(cudnnBackendGetAttribute(plan.value(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                    nullptr, &bytes));
  const DeviceMemory workspace(static_cast<std::size_t>(bytes));
  void* const pointers[3] = {p.x, p.y, p.w};
  void* const scratch = workspace.get();
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, kIds);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
  pack.finalize();
  RB_CHECK(cudnnBackendExecute(handle, plan.value(), pack.value()));
  RB_CHECK(cudaStreamSynchronize(nullptr));
}

}  // namespace rb::workload
