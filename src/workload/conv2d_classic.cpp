// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A convolution through cuDNN's classic functions.
#include <algorithm>

#include "workload/conv2d.hpp"

namespace rb::workload {
namespace {

constexpr int kMostAlgorithms = 8;

cudnnDataType_t type_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return CUDNN_DATA_FLOAT;
    case Precision::fp16:
      return CUDNN_DATA_HALF;
    case Precision::bf16:
      break;
  }
  return CUDNN_DATA_BFLOAT16;
}

struct Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;

  explicit Descriptors(const Problem& p) {
    const cudnnDataType_t type = type_of(p.precision);
    RB_CHECK(cudnnCreateTensorDescriptor(&x));
    RB_CHECK(cudnnSetTensorNdDescriptor(x, type, 4, p.x_size, p.x_stride));
    RB_CHECK(cudnnCreateFilterDescriptor(&w));
    RB_CHECK(cudnnSetFilterNdDescriptor(w, type, p.layer.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, 4,
                                        p.w_size));
    RB_CHECK(cudnnCreateTensorDescriptor(&y));
    RB_CHECK(cudnnSetTensorNdDescriptor(y, type, 4, p.y_size, p.y_stride));
    const int padding[2] = {p.layer.padding, p.layer.padding};
    const int stride[2] = {p.layer.stride, p.layer.stride};
    const int dilation[2] = {p.layer.dilation, p.layer.dilation};
    RB_CHECK(cudnnCreateConvolutionDescriptor(&conv));
    RB_CHECK(
        cudnnSetConvolutionNdDescriptor(conv, 2, padding, stride, dilation, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    RB_CHECK(cudnnSetConvolutionGroupCount(conv, p.layer.groups));
    RB_CHECK(cudnnSetConvolutionMathType(conv, CUDNN_DEFAULT_MATH));
    RB_CHECK(cudnnSetConvolutionMathType(conv, p.precision == Precision::fp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
  }
  ~Descriptors() {
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(x);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
};

/// The first algorithm of a list that the library says it can run.
template <class Perf>
const Perf& choose(const Perf (&found)[kMostAlgorithms], int returned, const char* pass) {
  for (int i = 0; i < returned; ++i)
    if (found[i].status == CUDNN_STATUS_SUCCESS) return found[i];
  stop(std::string("no algorithm for ") + pass);
}

}  // namespace

void run_classic(cudnnHandle_t handle, Pass pass, const Problem& p) {
  const Descriptors d(p);
  const float alpha = 1;
  const float beta = 0;
  int returned = 0;
  switch (pass) {
    case Pass::forward: {
      cudnnConvolutionFwdAlgoPerf_t found[kMostAlgorithms] = {};
      RB_CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, d.x, d.w, d.conv, d.y, 8, &returned, found));
      const auto& best = choose(found, returned, "forward");
      RB_CHECK(cudnnSetConvolutionMathType(d.conv, best.mathType));
      const DeviceMemory workspace(best.memory);
      RB_CHECK(cudnnConvolutionForward(handle, &alpha, d.x, p.x, d.w, p.w, d.conv, best.algo, workspace.get(),
                                       best.memory, &beta, d.y, p.y));
      RB_CHECK(cudaStreamSynchronize(nullptr));
      break;
    }
    case Pass::backward_data: {
      cudnnConvolutionBwdDataAlgoPerf_t found[kMostAlgorithms] = {};
      RB_CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, d.w, d.y, d.conv, d.x, 6, &returned, found));
      const auto& best = choose(found, returned, "backward data");
      RB_CHECK(cudnnSetConvolutionMathType(d.conv, best.mathType));
      const DeviceMemory workspace(best.memory);
      RB_CHECK(cudnnConvolutionBackwardData(handle, &alpha, d.w, p.w, d.y, p.y, d.conv, best.algo, workspace.get(),
                                            best.memory, &beta, d.x, p.x));
      RB_CHECK(cudaStreamSynchronize(nullptr));
      break;
    }
    case Pass::backward_filter: {
      cudnnConvolutionBwdFilterAlgoPerf_t found[kMostAlgorithms] = {};
      RB_CHECK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, d.x, d.y, d.conv, d.w, 6, &returned, found));
      const auto& best = choose(found, returned, "backward filter");
      RB_CHECK(cudnnSetConvolutionMathType(d.conv, best.mathType));
      const DeviceMemory workspace(best.memory);
      RB_CHECK(cudnnConvolutionBackwardFilter(handle, &alpha, d.x, p.x, d.y, p.y, d.conv, best.algo, workspace.get(),
                                              best.memory, &beta, d.w, p.w));
      RB_CHECK(cudaStreamSynchronize(nullptr));
      break;
    }
  }
}

}  // namespace rb::workload
