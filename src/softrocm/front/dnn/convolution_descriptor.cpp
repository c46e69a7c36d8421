// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen convolution descriptors (2-D and 3-D are kept; what cannot be run is refused by the calls that run).
#include <algorithm>

#include "soft/miopen_entries.h"
#include "softrocm/front/dnn/objects.hpp"
#include "softrocm/front/dnn/problem.hpp"

namespace soft::miopen {
namespace {

miopenStatus_t set(miopenConvolutionDescriptor_t descriptor, miopenConvolutionMode_t mode, int spatial, const int* pad,
                   const int* stride, const int* dilation, const char* entry) {
  ConvolutionDescriptor* live = find(descriptor);
  if (!live) return refuse(miopenStatusBadParm, entry, "%p is no live convolution descriptor", descriptor);
  if (spatial != 2 && spatial != 3) return refuse(miopenStatusBadParm, entry, "%d spatial dimensions", spatial);
  if (!pad || !stride || !dilation) return refuse(miopenStatusBadParm, entry, "an array is null");
  // Groups come by SetConvolutionGroupCount; the modes 2 and 3 of old releases are refused by the constructor.
  if (mode != miopenConvolution && mode != miopenTranspose)
    return refuse(miopenStatusBadParm, entry, "convolution mode %d", mode);
  ConvolutionDescriptor value = *live;
  value.mode = mode;
  value.spatial = spatial;
  for (int i = 0; i < spatial; ++i) {
    if (pad[i] < 0 || stride[i] < 1 || dilation[i] < 1)
      return refuse(miopenStatusBadParm, entry, "pad %d, stride %d, dilation %d", pad[i], stride[i], dilation[i]);
    value.pad[i] = pad[i];
    value.stride[i] = stride[i];
    value.dilation[i] = dilation[i];
  }
  *live = value;
  return miopenStatusSuccess;
}

/// Forward output lengths as N, K, spatial...
miopenStatus_t output_lengths(miopenConvolutionDescriptor_t descriptor, miopenTensorDescriptor_t input,
                              miopenTensorDescriptor_t filter, const char* entry, std::array<std::int64_t, 5>* lengths,
                              int* rank) {
  const ConvolutionDescriptor* c = find(descriptor);
  const Tensor *x = find(input), *w = find(filter);
  if (!c || !x || !w) return refuse(miopenStatusBadParm, entry, "a descriptor is not live");
  return forward_output(*c, *x, *w, entry, lengths, rank);
}

miopenStatus_t unknown(miopenConvolutionDescriptor_t descriptor, const char* entry) {
  return refuse(miopenStatusBadParm, entry, "%p is no live convolution descriptor, or a result is null", descriptor);
}

bool is_attribute_value(miopenConvolutionAttrib_t attribute, int value) {
  switch (attribute) {
    case MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL:
      return value >= -1 && value <= 1;
    case MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC:
    case MIOPEN_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE:
      return value == 0 || value == 1;
  }
  return false;
}

}  // namespace
}  // namespace soft::miopen

using namespace soft::miopen;

extern "C" {

miopenStatus_t soft_miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* convDesc) {
  constexpr const char* kEntry = "miopenCreateConvolutionDescriptor";
  return guarded(kEntry, [&] {
    MIOPEN_TRY(create(convolutions(), convDesc, kEntry));
    *find(*convDesc) = ConvolutionDescriptor{};
    return miopenStatusSuccess;
  });
}

miopenStatus_t soft_miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc) {
  if (!convolutions().retire(convDesc)) return unknown(convDesc, "miopenDestroyConvolutionDescriptor");
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenInitConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                    miopenConvolutionMode_t c_mode, int pad_h, int pad_w, int stride_h,
                                                    int stride_w, int dilation_h, int dilation_w) {
  const int pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w}, dilation[] = {dilation_h, dilation_w};
  return set(convDesc, c_mode, 2, pad, stride, dilation, "miopenInitConvolutionDescriptor");
}

miopenStatus_t soft_miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc, int spatialDim,
                                                      const int* padA, const int* strideA, const int* dilationA,
                                                      miopenConvolutionMode_t c_mode) {
  return set(convDesc, c_mode, spatialDim, padA, strideA, dilationA, "miopenInitConvolutionNdDescriptor");
}

miopenStatus_t soft_miopenGetConvolutionDescriptor(miopenConvolutionDescriptor_t convDesc,
                                                   miopenConvolutionMode_t* c_mode, int* pad_h, int* pad_w,
                                                   int* stride_h, int* stride_w, int* dilation_h, int* dilation_w) {
  constexpr const char* kEntry = "miopenGetConvolutionDescriptor";
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c) return unknown(convDesc, kEntry);
  if (c->spatial != 2) return refuse(miopenStatusBadParm, kEntry, "%d spatial dimensions", c->spatial);
  if (c_mode) *c_mode = c->mode;
  int* const results[] = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w};
  const int values[] = {c->pad[0], c->pad[1], c->stride[0], c->stride[1], c->dilation[0], c->dilation[1]};
  for (int i = 0; i < 6; ++i)
    if (results[i]) *results[i] = values[i];
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionNdDescriptor(miopenConvolutionDescriptor_t convDesc, int requestedSpatialDim,
                                                     int* spatialDim, int* padA, int* strideA, int* dilationA,
                                                     miopenConvolutionMode_t* c_mode) {
  constexpr const char* kEntry = "miopenGetConvolutionNdDescriptor";
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c) return unknown(convDesc, kEntry);
  if (requestedSpatialDim < c->spatial)
    return refuse(miopenStatusBadParm, kEntry, "room for %d of %d dimensions", requestedSpatialDim, c->spatial);
  if (spatialDim) *spatialDim = c->spatial;
  if (padA) std::copy_n(c->pad.begin(), c->spatial, padA);
  if (strideA) std::copy_n(c->stride.begin(), c->spatial, strideA);
  if (dilationA) std::copy_n(c->dilation.begin(), c->spatial, dilationA);
  if (c_mode) *c_mode = c->mode;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionSpatialDim(miopenConvolutionDescriptor_t convDesc, int* spatialDim) {
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c || !spatialDim) return unknown(convDesc, "miopenGetConvolutionSpatialDim");
  *spatialDim = c->spatial;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc, int groupCount) {
  constexpr const char* kEntry = "miopenSetConvolutionGroupCount";
  ConvolutionDescriptor* c = find(convDesc);
  if (!c) return unknown(convDesc, kEntry);
  if (groupCount < 1) return refuse(miopenStatusBadParm, kEntry, "%d groups", groupCount);
  c->groups = groupCount;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionGroupCount(miopenConvolutionDescriptor_t convDesc, int* groupCount) {
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c || !groupCount) return unknown(convDesc, "miopenGetConvolutionGroupCount");
  *groupCount = c->groups;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                  const miopenConvolutionAttrib_t attr, int value) {
  constexpr const char* kEntry = "miopenSetConvolutionAttribute";
  ConvolutionDescriptor* c = find(convDesc);
  if (!c) return unknown(convDesc, kEntry);
  if (!is_attribute_value(attr, value)) return refuse(miopenStatusBadParm, kEntry, "attribute %d = %d", attr, value);
  c->attributes[static_cast<std::size_t>(attr)] = value;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionAttribute(miopenConvolutionDescriptor_t convDesc,
                                                  const miopenConvolutionAttrib_t attr, int* value) {
  constexpr const char* kEntry = "miopenGetConvolutionAttribute";
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c || !value) return unknown(convDesc, kEntry);
  if (!is_attribute_value(attr, 0)) return refuse(miopenStatusBadParm, kEntry, "attribute %d is unknown", attr);
  *value = c->attributes[static_cast<std::size_t>(attr)];
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenSetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                 miopenConvolutionFindMode_t findMode) {
  constexpr const char* kEntry = "miopenSetConvolutionFindMode";
  ConvolutionDescriptor* c = find(convDesc);
  if (!c) return unknown(convDesc, kEntry);
  // 1 normal, 2 fast, 3 hybrid, 5 dynamic hybrid; 4 was given up by AMD.
  if (findMode != 1 && findMode != 2 && findMode != 3 && findMode != 5)
    return refuse(miopenStatusBadParm, kEntry, "find mode %d", findMode);
  c->find_mode = findMode;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionFindMode(miopenConvolutionDescriptor_t convDesc,
                                                 miopenConvolutionFindMode_t* findMode) {
  const ConvolutionDescriptor* c = find(convDesc);
  if (!c || !findMode) return unknown(convDesc, "miopenGetConvolutionFindMode");
  *findMode = c->find_mode;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionForwardOutputDim(miopenConvolutionDescriptor_t convDesc,
                                                         const miopenTensorDescriptor_t inputTensorDesc,
                                                         const miopenTensorDescriptor_t filterDesc, int* n, int* c,
                                                         int* h, int* w) {
  constexpr const char* kEntry = "miopenGetConvolutionForwardOutputDim";
  std::array<std::int64_t, 5> lengths;
  int rank = 0;
  if (!n || !c || !h || !w) return refuse(miopenStatusBadParm, kEntry, "a result is null");
  MIOPEN_TRY(output_lengths(convDesc, inputTensorDesc, filterDesc, kEntry, &lengths, &rank));
  if (rank != 4) return refuse(miopenStatusBadParm, kEntry, "the output has rank %d", rank);
  int* const results[] = {n, c, h, w};
  for (int i = 0; i < 4; ++i) *results[i] = static_cast<int>(lengths[i]);
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetConvolutionNdForwardOutputDim(miopenConvolutionDescriptor_t convDesc,
                                                           const miopenTensorDescriptor_t inputTensorDesc,
                                                           const miopenTensorDescriptor_t filterDesc, int* nDim,
                                                           int* outputTensorDimA) {
  constexpr const char* kEntry = "miopenGetConvolutionNdForwardOutputDim";
  std::array<std::int64_t, 5> lengths;
  int rank = 0;
  if (!nDim || !outputTensorDimA) return refuse(miopenStatusBadParm, kEntry, "a result is null");
  MIOPEN_TRY(output_lengths(convDesc, inputTensorDesc, filterDesc, kEntry, &lengths, &rank));
  *nDim = rank;
  for (int i = 0; i < rank; ++i) outputTensorDimA[i] = static_cast<int>(lengths[i]);
  return miopenStatusSuccess;
}

}  // extern "C"
