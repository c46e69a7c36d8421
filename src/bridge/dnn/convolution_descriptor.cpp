// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Setters and getters of cuDNN's convolution descriptor. Limits are those of the cuDNN API reference,
// "cudnn_cnn_infer".
#include "bridge/dnn/descriptors.hpp"
#include "bridge/dnn/problem.hpp"
#include "bridge/dnn_entries.hpp"

namespace rb::dnn {
namespace {

Status set_convolution(cudnnConvolutionDescriptor_t convDesc, int rank, const int* pad, const int* stride,
                       const int* dilation, cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  RB_ASSIGN(ConvolutionDescriptor * conv, convolutions().get(convDesc, "convDesc"));
  if (rank < 1) return bad_param("bad-dimension", "arrayLength is %d", rank);
  if (rank > kMaxDims)
    return not_supported("too-many-dimensions", "arrayLength is %d; at most %d are possible", rank, kMaxDims);
  if (pad == nullptr || stride == nullptr || dilation == nullptr)
    return bad_param("null-pointer", "%s is null",
                     pad == nullptr      ? "padA"
                     : stride == nullptr ? "filterStrideA"
                                         : "dilationA");
  for (int i = 0; i < rank; ++i) {
    if (pad[i] < 0) return bad_param("bad-dimension", "padding %d is %d; it must not be negative", i, pad[i]);
    if (stride[i] < 1) return bad_param("bad-dimension", "stride %d is %d; it must be at least 1", i, stride[i]);
    if (dilation[i] < 1) return bad_param("bad-dimension", "dilation %d is %d; it must be at least 1", i, dilation[i]);
  }
  if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION)
    return bad_param("unknown-enum", "mode %d is not one of cudnnConvolutionMode_t", static_cast<int>(mode));
  if (element_bytes(compute) == 0)
    return bad_param("unknown-enum", "compute type %d is not one of cudnnDataType_t", static_cast<int>(compute));
  conv->stamp.store(0);
  conv->rank = rank;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    conv->pad[at] = pad[i];
    conv->stride[at] = stride[i];
    conv->dilation[at] = dilation[i];
  }
  conv->mode = mode;
  conv->compute = compute;  // groups, math type and reorder type stay: measured on NVIDIA's own library
  conv->stamp.renew();
  return {};
}

/// Output sizes from any rank's descriptors (cudnnGetConvolutionNdForwardOutputDim).
Status output_dims(const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t inputDesc,
                   const cudnnFilterDescriptor_t filterDesc, int rank, int* out) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  RB_ASSIGN(const TensorDescriptor* x, tensors().get(inputDesc, "inputTensorDesc"));
  RB_ASSIGN(const FilterDescriptor* w, filters().get(filterDesc, "filterDesc"));
  if (rank < 3 || rank > kMaxDims || x->rank != rank || w->rank != rank || conv->rank != rank - 2)
    return bad_param("conv-mismatch",
                     "%d dimensions asked; the input has %d, the filter %d, the convolution %d spatial ones", rank,
                     x->rank, w->rank, conv->rank);
  if (static_cast<std::int64_t>(w->dims[1]) * conv->groups != x->dims[1])
    return bad_param("conv-mismatch", "the input has %d channels, the filter %d in each of %d groups", x->dims[1],
                     w->dims[1], conv->groups);
  int sizes[kMaxDims] = {x->dims[0], w->dims[0]};
  for (int i = 2; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t length =
        output_length(x->dims[at], w->dims[at], conv->pad[at - 2], conv->stride[at - 2], conv->dilation[at - 2]);
    if (length < 1)
      return bad_param("conv-mismatch", "the filter's dimension %d (%d) does not fit into the padded input (%d)", i,
                       w->dims[at], x->dims[at]);
    if (length > INT32_MAX)
      return not_supported("too-many-elements", "dimension %d of the output would be %lld", i,
                           static_cast<long long>(length));
    sizes[i] = static_cast<int>(length);
  }
  for (int i = 0; i < rank; ++i) out[i] = sizes[i];
  return {};
}

}  // namespace

Status create_convolution_descriptor(cudnnConvolutionDescriptor_t* convDesc) {
  if (convDesc == nullptr) return bad_param("null-pointer", "convDesc is null");
  ConvolutionDescriptor* conv = nullptr;
  RB_ASSIGN(const std::uint64_t handle, convolutions().create(&conv));
  *convDesc = bridge::to_handle<cudnnConvolutionDescriptor_t>(handle);
  return {};
}

Status destroy_convolution_descriptor(cudnnConvolutionDescriptor_t convDesc) {
  if (convDesc == nullptr) return {};
  RB_ASSIGN(ConvolutionDescriptor * conv, convolutions().get(convDesc, "convDesc"));
  conv->stamp.store(0);
  return convolutions().destroy(convDesc, "convDesc");
}

Status set_convolution2d_descriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u, int v,
                                    int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                    cudnnDataType_t computeType) {
  const int pad[2] = {pad_h, pad_w};
  const int stride[2] = {u, v};
  const int dilation[2] = {dilation_h, dilation_w};
  return set_convolution(convDesc, 2, pad, stride, dilation, mode, computeType);
}

Status set_convolution_nd_descriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength, const int* padA,
                                     const int* filterStrideA, const int* dilationA, cudnnConvolutionMode_t mode,
                                     cudnnDataType_t computeType) {
  return set_convolution(convDesc, arrayLength, padA, filterStrideA, dilationA, mode, computeType);
}

Status get_convolution2d_descriptor(const cudnnConvolutionDescriptor_t convDesc, int* pad_h, int* pad_w, int* u, int* v,
                                    int* dilation_h, int* dilation_w, cudnnConvolutionMode_t* mode,
                                    cudnnDataType_t* computeType) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  if (conv->rank != 2)
    return bad_param("bad-dimension", "convDesc has %d spatial dimensions; cudnnGetConvolution2dDescriptor reads 2",
                     conv->rank);
  put(pad_h, conv->pad[0]);
  put(pad_w, conv->pad[1]);
  put(u, conv->stride[0]);
  put(v, conv->stride[1]);
  put(dilation_h, conv->dilation[0]);
  put(dilation_w, conv->dilation[1]);
  put(mode, conv->mode);
  put(computeType, conv->compute);
  return {};
}

Status get_convolution_nd_descriptor(const cudnnConvolutionDescriptor_t convDesc, int arrayLengthRequested,
                                     int* arrayLength, int* padA, int* strideA, int* dilationA,
                                     cudnnConvolutionMode_t* mode, cudnnDataType_t* computeType) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  if (arrayLengthRequested < 0) return bad_param("bad-dimension", "arrayLengthRequested is %d", arrayLengthRequested);
  put(arrayLength, conv->rank);
  const int count = arrayLengthRequested < conv->rank ? arrayLengthRequested : conv->rank;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (padA != nullptr) padA[i] = conv->pad[at];
    if (strideA != nullptr) strideA[i] = conv->stride[at];
    if (dilationA != nullptr) dilationA[i] = conv->dilation[at];
  }
  put(mode, conv->mode);
  put(computeType, conv->compute);
  return {};
}

Status set_convolution_group_count(cudnnConvolutionDescriptor_t convDesc, int groupCount) {
  RB_ASSIGN(ConvolutionDescriptor * conv, convolutions().get(convDesc, "convDesc"));
  if (groupCount < 1) return bad_param("bad-dimension", "groupCount is %d; it must be at least 1", groupCount);
  conv->groups = groupCount;
  conv->stamp.renew();
  return {};
}

Status get_convolution_group_count(cudnnConvolutionDescriptor_t convDesc, int* groupCount) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  if (groupCount == nullptr) return bad_param("null-pointer", "groupCount is null");
  *groupCount = conv->groups;
  return {};
}

/// Kept for the getter and the results of queries: AMD's library computes fp32 as fp32 and halves with fp32 sums
/// whatever the math type allows.
Status set_convolution_math_type(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t mathType) {
  RB_ASSIGN(ConvolutionDescriptor * conv, convolutions().get(convDesc, "convDesc"));
  if (mathType < CUDNN_DEFAULT_MATH || mathType > CUDNN_FMA_MATH)
    return bad_param("unknown-enum", "math type %d is not one of cudnnMathType_t", static_cast<int>(mathType));
  conv->math = mathType;
  conv->stamp.renew();
  return {};
}

Status get_convolution_math_type(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t* mathType) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  if (mathType == nullptr) return bad_param("null-pointer", "mathType is null");
  *mathType = conv->math;
  return {};
}

/// Only int8x32 filters are ever reordered (cuDNN API reference, cudnnReorderType_t), and those are refused.
Status set_convolution_reorder_type(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t reorderType) {
  RB_ASSIGN(ConvolutionDescriptor * conv, convolutions().get(convDesc, "convDesc"));
  if (reorderType != CUDNN_DEFAULT_REORDER && reorderType != CUDNN_NO_REORDER)
    return bad_param("unknown-enum", "reorder type %d is not one of cudnnReorderType_t", static_cast<int>(reorderType));
  conv->reorder = reorderType;
  conv->stamp.renew();
  return {};
}

Status get_convolution_reorder_type(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t* reorderType) {
  RB_ASSIGN(const ConvolutionDescriptor* conv, convolutions().get(convDesc, "convDesc"));
  if (reorderType == nullptr) return bad_param("null-pointer", "reorderType is null");
  *reorderType = conv->reorder;
  return {};
}

Status get_convolution2d_forward_output_dim(const cudnnConvolutionDescriptor_t convDesc,
                                            const cudnnTensorDescriptor_t inputTensorDesc,
                                            const cudnnFilterDescriptor_t filterDesc, int* n, int* c, int* h, int* w) {
  int sizes[4];
  RB_TRY(output_dims(convDesc, inputTensorDesc, filterDesc, 4, sizes));
  if (n == nullptr || c == nullptr || h == nullptr || w == nullptr)
    return bad_param("null-pointer", "%s is null", n == nullptr ? "n" : c == nullptr ? "c" : h == nullptr ? "h" : "w");
  *n = sizes[0];
  *c = sizes[1];
  *h = sizes[2];
  *w = sizes[3];
  return {};
}

Status get_convolution_nd_forward_output_dim(const cudnnConvolutionDescriptor_t convDesc,
                                             const cudnnTensorDescriptor_t inputTensorDesc,
                                             const cudnnFilterDescriptor_t filterDesc, int nbDims,
                                             int* tensorOuputDimA) {
  int sizes[kMaxDims];
  RB_TRY(output_dims(convDesc, inputTensorDesc, filterDesc, nbDims, sizes));
  if (tensorOuputDimA == nullptr) return bad_param("null-pointer", "tensorOuputDimA is null");
  for (int i = 0; i < nbDims; ++i) tensorOuputDimA[i] = sizes[i];
  return {};
}

}  // namespace rb::dnn
