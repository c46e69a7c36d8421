// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's classic convolution entries of the three directions (MIOpen 3.3, convolution_api.cpp).
#include "soft/miopen_entries.h"
#include "softrocm/front/dnn/find.hpp"

using namespace soft::miopen;
using soft::wire::Direction;

extern "C" {

miopenStatus_t soft_miopenConvolutionForwardGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t wDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t yDesc, size_t* workSpaceSize) {
  const Call call{
      "miopenConvolutionForwardGetWorkSpaceSize", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return workspace_size(call, workSpaceSize); });
}

miopenStatus_t soft_miopenConvolutionBackwardDataGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t wDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, size_t* workSpaceSize) {
  const Call call{"miopenConvolutionBackwardDataGetWorkSpaceSize",
                  Direction::backward_data,
                  handle,
                  dxDesc,
                  wDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return workspace_size(call, workSpaceSize); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc,
    const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, size_t* workSpaceSize) {
  const Call call{"miopenConvolutionBackwardWeightsGetWorkSpaceSize",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] { return workspace_size(call, workSpaceSize); });
}

miopenStatus_t soft_miopenFindConvolutionForwardAlgorithm(miopenHandle_t handle, const miopenTensorDescriptor_t xDesc,
                                                          const void* x, const miopenTensorDescriptor_t wDesc,
                                                          const void* w, const miopenConvolutionDescriptor_t convDesc,
                                                          const miopenTensorDescriptor_t yDesc, void* y,
                                                          const int requestAlgoCount, int* returnedAlgoCount,
                                                          miopenConvAlgoPerf_t* perfResults, void* workSpace,
                                                          size_t workSpaceSize, bool exhaustiveSearch) {
  const Call call{"miopenFindConvolutionForwardAlgorithm", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] {
    return find_algorithms(call, {x, w, y, workSpace, workSpaceSize}, requestAlgoCount, returnedAlgoCount, perfResults,
                           exhaustiveSearch);
  });
}

miopenStatus_t soft_miopenFindConvolutionBackwardDataAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void* dy, const miopenTensorDescriptor_t wDesc,
    const void* w, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dxDesc, void* dx,
    const int requestAlgoCount, int* returnedAlgoCount, miopenConvAlgoPerf_t* perfResults, void* workSpace,
    size_t workSpaceSize, bool exhaustiveSearch) {
  const Call call{
      "miopenFindConvolutionBackwardDataAlgorithm", Direction::backward_data, handle, dxDesc, wDesc, dyDesc, convDesc};
  return guarded(call.entry, [&] {
    return find_algorithms(call, {dx, w, dy, workSpace, workSpaceSize}, requestAlgoCount, returnedAlgoCount,
                           perfResults, exhaustiveSearch);
  });
}

miopenStatus_t soft_miopenFindConvolutionBackwardWeightsAlgorithm(
    miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void* dy, const miopenTensorDescriptor_t xDesc,
    const void* x, const miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t dwDesc, void* dw,
    const int requestAlgoCount, int* returnedAlgoCount, miopenConvAlgoPerf_t* perfResults, void* workSpace,
    size_t workSpaceSize, bool exhaustiveSearch) {
  const Call call{"miopenFindConvolutionBackwardWeightsAlgorithm",
                  Direction::backward_weights,
                  handle,
                  xDesc,
                  dwDesc,
                  dyDesc,
                  convDesc};
  return guarded(call.entry, [&] {
    return find_algorithms(call, {x, dw, dy, workSpace, workSpaceSize}, requestAlgoCount, returnedAlgoCount,
                           perfResults, exhaustiveSearch);
  });
}

miopenStatus_t soft_miopenConvolutionForward(miopenHandle_t handle, const void* alpha,
                                             const miopenTensorDescriptor_t xDesc, const void* x,
                                             const miopenTensorDescriptor_t wDesc, const void* w,
                                             const miopenConvolutionDescriptor_t convDesc,
                                             miopenConvFwdAlgorithm_t algo, const void* beta,
                                             const miopenTensorDescriptor_t yDesc, void* y, void* workSpace,
                                             size_t workSpaceSize) {
  const Call call{"miopenConvolutionForward", Direction::forward, handle, xDesc, wDesc, yDesc, convDesc};
  return guarded(call.entry, [&] { return run_found(call, {x, w, y, workSpace, workSpaceSize}, alpha, beta, algo); });
}

miopenStatus_t soft_miopenConvolutionBackwardData(miopenHandle_t handle, const void* alpha,
                                                  const miopenTensorDescriptor_t dyDesc, const void* dy,
                                                  const miopenTensorDescriptor_t wDesc, const void* w,
                                                  const miopenConvolutionDescriptor_t convDesc,
                                                  miopenConvBwdDataAlgorithm_t algo, const void* beta,
                                                  const miopenTensorDescriptor_t dxDesc, void* dx, void* workSpace,
                                                  size_t workSpaceSize) {
  const Call call{"miopenConvolutionBackwardData", Direction::backward_data, handle, dxDesc, wDesc, dyDesc, convDesc};
  return guarded(call.entry, [&] { return run_found(call, {dx, w, dy, workSpace, workSpaceSize}, alpha, beta, algo); });
}

miopenStatus_t soft_miopenConvolutionBackwardWeights(miopenHandle_t handle, const void* alpha,
                                                     const miopenTensorDescriptor_t dyDesc, const void* dy,
                                                     const miopenTensorDescriptor_t xDesc, const void* x,
                                                     const miopenConvolutionDescriptor_t convDesc,
                                                     miopenConvBwdWeightsAlgorithm_t algo, const void* beta,
                                                     const miopenTensorDescriptor_t dwDesc, void* dw, void* workSpace,
                                                     size_t workSpaceSize) {
  const Call call{
      "miopenConvolutionBackwardWeights", Direction::backward_weights, handle, xDesc, dwDesc, dyDesc, convDesc};
  return guarded(call.entry, [&] { return run_found(call, {x, dw, dy, workSpace, workSpaceSize}, alpha, beta, algo); });
}

}  // extern "C"
