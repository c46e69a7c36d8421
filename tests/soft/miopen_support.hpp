// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's functions and owners of its objects for the tests.
#pragma once

#include "soft/miopen_entries.h"
#include "tests/soft/library_support.hpp"

AMD_FUNCTION(miopenCreate)
AMD_FUNCTION(miopenCreateWithStream)
AMD_FUNCTION(miopenDestroy)
AMD_FUNCTION(miopenSetStream)
AMD_FUNCTION(miopenGetStream)
AMD_FUNCTION(miopenGetVersion)
AMD_FUNCTION(miopenGetErrorString)
AMD_FUNCTION(miopenCreateTensorDescriptor)
AMD_FUNCTION(miopenDestroyTensorDescriptor)
AMD_FUNCTION(miopenSet4dTensorDescriptor)
AMD_FUNCTION(miopenSet4dTensorDescriptorEx)
AMD_FUNCTION(miopenSetTensorDescriptor)
AMD_FUNCTION(miopenSetTensorDescriptorV2)
AMD_FUNCTION(miopenSetNdTensorDescriptorWithLayout)
AMD_FUNCTION(miopenGet4dTensorDescriptor)
AMD_FUNCTION(miopenGetTensorDescriptor)
AMD_FUNCTION(miopenGetTensorDescriptorSize)
AMD_FUNCTION(miopenGetTensorNumBytes)
AMD_FUNCTION(miopenCreateConvolutionDescriptor)
AMD_FUNCTION(miopenDestroyConvolutionDescriptor)
AMD_FUNCTION(miopenInitConvolutionDescriptor)
AMD_FUNCTION(miopenInitConvolutionNdDescriptor)
AMD_FUNCTION(miopenGetConvolutionDescriptor)
AMD_FUNCTION(miopenGetConvolutionNdDescriptor)
AMD_FUNCTION(miopenGetConvolutionSpatialDim)
AMD_FUNCTION(miopenSetConvolutionGroupCount)
AMD_FUNCTION(miopenGetConvolutionGroupCount)
AMD_FUNCTION(miopenSetConvolutionAttribute)
AMD_FUNCTION(miopenGetConvolutionAttribute)
AMD_FUNCTION(miopenSetConvolutionFindMode)
AMD_FUNCTION(miopenGetConvolutionFindMode)
AMD_FUNCTION(miopenGetConvolutionForwardOutputDim)
AMD_FUNCTION(miopenGetConvolutionNdForwardOutputDim)
AMD_FUNCTION(miopenConvolutionForwardGetWorkSpaceSize)
AMD_FUNCTION(miopenConvolutionBackwardDataGetWorkSpaceSize)
AMD_FUNCTION(miopenConvolutionBackwardWeightsGetWorkSpaceSize)
AMD_FUNCTION(miopenFindConvolutionForwardAlgorithm)
AMD_FUNCTION(miopenFindConvolutionBackwardDataAlgorithm)
AMD_FUNCTION(miopenFindConvolutionBackwardWeightsAlgorithm)
AMD_FUNCTION(miopenConvolutionForward)
AMD_FUNCTION(miopenConvolutionBackwardData)
AMD_FUNCTION(miopenConvolutionBackwardWeights)
AMD_FUNCTION(miopenConvolutionForwardGetSolutionCount)
AMD_FUNCTION(miopenConvolutionForwardGetSolution)
AMD_FUNCTION(miopenConvolutionForwardGetSolutionWorkspaceSize)
AMD_FUNCTION(miopenConvolutionForwardCompileSolution)
AMD_FUNCTION(miopenConvolutionForwardImmediate)
AMD_FUNCTION(miopenConvolutionBackwardDataGetSolutionCount)
AMD_FUNCTION(miopenConvolutionBackwardDataGetSolution)
AMD_FUNCTION(miopenConvolutionBackwardDataGetSolutionWorkspaceSize)
AMD_FUNCTION(miopenConvolutionBackwardDataCompileSolution)
AMD_FUNCTION(miopenConvolutionBackwardDataImmediate)
AMD_FUNCTION(miopenConvolutionBackwardWeightsGetSolutionCount)
AMD_FUNCTION(miopenConvolutionBackwardWeightsGetSolution)
AMD_FUNCTION(miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize)
AMD_FUNCTION(miopenConvolutionBackwardWeightsCompileSolution)
AMD_FUNCTION(miopenConvolutionBackwardWeightsImmediate)
AMD_FUNCTION(miopenGetSolverIdConvAlgorithm)
AMD_FUNCTION(miopenOpTensor)
AMD_FUNCTION(miopenSetTensor)
AMD_FUNCTION(miopenScaleTensor)

namespace soft_test {

struct MiopenHandle {
  MiopenHandle() { EXPECT_EQ(miopenStatusSuccess, miopenCreate(&handle)); }
  MiopenHandle(const MiopenHandle&) = delete;
  MiopenHandle& operator=(const MiopenHandle&) = delete;
  ~MiopenHandle() { EXPECT_EQ(miopenStatusSuccess, miopenDestroy(handle)); }
  operator miopenHandle_t() const { return handle; }
  miopenHandle_t handle = nullptr;
};

struct TensorDesc {
  TensorDesc() { EXPECT_EQ(miopenStatusSuccess, miopenCreateTensorDescriptor(&desc)); }
  TensorDesc(miopenDataType_t type, const std::vector<int>& lengths, const std::vector<int>& strides = {})
      : TensorDesc() {
    EXPECT_EQ(miopenStatusSuccess,
              miopenSetTensorDescriptor(desc, type, static_cast<int>(lengths.size()), lengths.data(),
                                        strides.empty() ? nullptr : strides.data()));
  }
  TensorDesc(const TensorDesc&) = delete;
  TensorDesc& operator=(const TensorDesc&) = delete;
  ~TensorDesc() { EXPECT_EQ(miopenStatusSuccess, miopenDestroyTensorDescriptor(desc)); }
  operator miopenTensorDescriptor_t() const { return desc; }
  miopenTensorDescriptor_t desc = nullptr;
};

struct ConvDesc {
  ConvDesc() { EXPECT_EQ(miopenStatusSuccess, miopenCreateConvolutionDescriptor(&desc)); }
  ConvDesc(int pad, int stride, int dilation, int groups = 1) : ConvDesc() {
    EXPECT_EQ(miopenStatusSuccess,
              miopenInitConvolutionDescriptor(desc, miopenConvolution, pad, pad, stride, stride, dilation, dilation));
    EXPECT_EQ(miopenStatusSuccess, miopenSetConvolutionGroupCount(desc, groups));
  }
  ConvDesc(const ConvDesc&) = delete;
  ConvDesc& operator=(const ConvDesc&) = delete;
  ~ConvDesc() { EXPECT_EQ(miopenStatusSuccess, miopenDestroyConvolutionDescriptor(desc)); }
  operator miopenConvolutionDescriptor_t() const { return desc; }
  miopenConvolutionDescriptor_t desc = nullptr;
};

}  // namespace soft_test
