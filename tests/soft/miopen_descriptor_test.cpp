// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen handles and descriptors on the software device, and what MIOpen refuses of them.
#include <climits>
#include <string>

#include "tests/soft/miopen_support.hpp"

namespace {

using soft_test::ConvDesc;
using soft_test::foreign_pointers;
using soft_test::MiopenHandle;
using soft_test::Stream;
using soft_test::TensorDesc;

constexpr auto kOk = miopenStatusSuccess;
constexpr auto kBad = miopenStatusBadParm;

TEST(MiopenHandles, maps_create_stream_and_destroy) {
  Stream stream;
  miopenHandle_t handle = nullptr;
  ASSERT_EQ(kOk, miopenCreateWithStream(&handle, stream.get()));
  hipStream_t got = nullptr;
  EXPECT_EQ(kOk, miopenGetStream(handle, &got));
  EXPECT_EQ(stream.get(), got);
  EXPECT_EQ(kOk, miopenSetStream(handle, nullptr));
  EXPECT_EQ(kOk, miopenGetStream(handle, &got));
  EXPECT_EQ(nullptr, got);
  EXPECT_EQ(kOk, miopenDestroy(handle));
  EXPECT_EQ(kBad, miopenGetStream(handle, &got));
  EXPECT_EQ(kBad, miopenSetStream(handle, nullptr));
  EXPECT_EQ(kBad, miopenDestroy(handle));
}

TEST(MiopenHandles, rejects_null_and_foreign_handles_and_dead_streams) {
  EXPECT_EQ(kBad, miopenCreate(nullptr));
  hipStream_t stream = nullptr;
  for (void* pointer : foreign_pointers()) {
    const auto handle = static_cast<miopenHandle_t>(pointer);
    EXPECT_EQ(kBad, miopenDestroy(handle));
    EXPECT_EQ(kBad, miopenSetStream(handle, nullptr));
    EXPECT_EQ(kBad, miopenGetStream(handle, &stream));
  }
  MiopenHandle handle;
  EXPECT_EQ(kBad, miopenGetStream(handle, nullptr));
  ASSERT_EQ(hipSuccess, hipStreamCreate(&stream));
  ASSERT_EQ(hipSuccess, hipStreamDestroy(stream));
  EXPECT_EQ(kBad, miopenSetStream(handle, stream));
  miopenHandle_t other = nullptr;
  EXPECT_EQ(kBad, miopenCreateWithStream(&other, stream));
}

TEST(MiopenHandles, maps_version_and_error_texts) {
  size_t major = 0, minor = 0, patch = 9;
  EXPECT_EQ(kOk, miopenGetVersion(&major, &minor, &patch));
  EXPECT_EQ(3u, major);
  EXPECT_EQ(3u, minor);
  EXPECT_EQ(0u, patch);
  EXPECT_STREQ("miopenStatusGpuOperationsSkipped", miopenGetErrorString(miopenStatusGpuOperationsSkipped));
  EXPECT_NE(nullptr, miopenGetErrorString(static_cast<miopenStatus_t>(99)));
}

TEST(MiopenTensors, maps_packed_strided_and_laid_out_tensors) {
  TensorDesc desc;
  int size = -1;
  EXPECT_EQ(kOk, miopenGetTensorDescriptorSize(desc, &size));
  EXPECT_EQ(0, size);
  ASSERT_EQ(kOk, miopenSet4dTensorDescriptor(desc, miopenHalf, 2, 3, 4, 5));
  miopenDataType_t type;
  int n, c, h, w, ns, cs, hs, ws;
  ASSERT_EQ(kOk, miopenGet4dTensorDescriptor(desc, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws));
  EXPECT_EQ(miopenHalf, type);
  EXPECT_EQ((std::vector<int>{2, 3, 4, 5, 60, 20, 5, 1}), (std::vector<int>{n, c, h, w, ns, cs, hs, ws}));
  size_t bytes = 0;
  ASSERT_EQ(kOk, miopenGetTensorNumBytes(desc, &bytes));
  EXPECT_EQ(240u, bytes);

  ASSERT_EQ(kOk, miopenSet4dTensorDescriptorEx(desc, miopenFloat, 2, 3, 4, 5, 100, 1, 20, 3));
  ASSERT_EQ(kOk, miopenGetTensorNumBytes(desc, &bytes));
  EXPECT_EQ((100u + 2 + 60 + 12 + 1) * 4, bytes);

  const int lengths[] = {2, 3, 4, 5};
  int got_lengths[8], got_strides[8];
  const std::pair<miopenTensorLayout_t, std::vector<int>> layouts[] = {
      {miopenTensorNCHW, {60, 20, 5, 1}}, {miopenTensorNHWC, {60, 1, 15, 3}}, {miopenTensorCHWN, {1, 40, 10, 2}}};
  for (const auto& [layout, strides] : layouts) {
    ASSERT_EQ(kOk, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, layout, lengths, 4));
    ASSERT_EQ(kOk, miopenGetTensorDescriptor(desc, &type, got_lengths, got_strides));
    EXPECT_EQ((std::vector<int>{2, 3, 4, 5}), std::vector<int>(got_lengths, got_lengths + 4));
    EXPECT_EQ(strides, std::vector<int>(got_strides, got_strides + 4));
  }
  const int five[] = {1, 2, 3, 4, 5};
  ASSERT_EQ(kOk, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, miopenTensorNDHWC, five, 5));
  ASSERT_EQ(kOk, miopenGetTensorDescriptor(desc, &type, got_lengths, got_strides));
  EXPECT_EQ((std::vector<int>{120, 1, 40, 10, 2}), std::vector<int>(got_strides, got_strides + 5));

  const size_t long_lengths[] = {3, 7}, long_strides[] = {9, 1};
  ASSERT_EQ(kOk, miopenSetTensorDescriptorV2(desc, miopenDouble, 2, long_lengths, long_strides));
  ASSERT_EQ(kOk, miopenGetTensorNumBytes(desc, &bytes));
  EXPECT_EQ(25u * 8, bytes);
  EXPECT_EQ(kBad, miopenGet4dTensorDescriptor(desc, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws));
}

TEST(MiopenTensors, rejects_lengths_strides_types_and_layouts) {
  TensorDesc desc(miopenFloat, {1, 2, 3, 4});
  for (int i = 0; i < 4; ++i)
    for (const int bad : {0, -1, INT_MIN}) {
      int v[] = {1, 2, 3, 4};
      v[i] = bad;
      EXPECT_EQ(kBad, miopenSet4dTensorDescriptor(desc, miopenFloat, v[0], v[1], v[2], v[3]));
      // Stride 0 would repeat: cuDNN allows it, MIOpen does not.
      EXPECT_EQ(kBad, miopenSet4dTensorDescriptorEx(desc, miopenFloat, 1, 2, 3, 4, v[0], v[1], v[2], v[3]));
    }
  for (const int type : {-1, 4, 10, 100})
    EXPECT_EQ(kBad, miopenSet4dTensorDescriptor(desc, static_cast<miopenDataType_t>(type), 1, 1, 1, 1));
  const int lengths[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const int rank : {0, -1, 9, INT_MAX})
    EXPECT_EQ(kBad, miopenSetTensorDescriptor(desc, miopenFloat, rank, lengths, nullptr));
  EXPECT_EQ(kBad, miopenSetTensorDescriptor(desc, miopenFloat, 4, nullptr, nullptr));
  EXPECT_EQ(kBad, miopenSet4dTensorDescriptor(desc, miopenFloat, INT_MAX, INT_MAX, INT_MAX, INT_MAX));
  EXPECT_EQ(kBad, miopenSet4dTensorDescriptorEx(desc, miopenFloat, INT_MAX, 1, 1, INT_MAX, INT_MAX, 1, 1, INT_MAX));
  EXPECT_EQ(kBad, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, miopenTensorNCHW, lengths, 5));
  EXPECT_EQ(kBad, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, miopenTensorNCDHW, lengths, 4));
  EXPECT_EQ(kBad, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, miopenTensorNCHW, nullptr, 4));
  EXPECT_EQ(kBad, miopenSetNdTensorDescriptorWithLayout(desc, miopenFloat, static_cast<miopenTensorLayout_t>(44),
                                                        lengths, 4));
  EXPECT_EQ(miopenStatusNotImplemented,
            miopenSetNdTensorDescriptorWithLayout(desc, miopenInt8, miopenTensorNCHWc4, lengths, 4));
  // A refused call leaves the descriptor as it was.
  size_t bytes = 0;
  EXPECT_EQ(kOk, miopenGetTensorNumBytes(desc, &bytes));
  EXPECT_EQ(96u, bytes);
}

TEST(MiopenTensors, rejects_null_freed_foreign_and_unset_descriptors) {
  EXPECT_EQ(kBad, miopenCreateTensorDescriptor(nullptr));
  miopenTensorDescriptor_t freed = nullptr;
  ASSERT_EQ(kOk, miopenCreateTensorDescriptor(&freed));
  ASSERT_EQ(kOk, miopenDestroyTensorDescriptor(freed));
  TensorDesc successor;  // may take the freed one's place
  ConvDesc wrong_kind;
  auto all = foreign_pointers();
  all.push_back(freed);
  all.push_back(wrong_kind.desc);
  int value = 0;
  size_t bytes = 0;
  miopenDataType_t type;
  for (void* pointer : all) {
    const auto desc = static_cast<miopenTensorDescriptor_t>(pointer);
    EXPECT_EQ(kBad, miopenDestroyTensorDescriptor(desc));
    EXPECT_EQ(kBad, miopenSet4dTensorDescriptor(desc, miopenFloat, 1, 1, 1, 1));
    EXPECT_EQ(kBad, miopenGetTensorDescriptorSize(desc, &value));
    EXPECT_EQ(kBad, miopenGetTensorNumBytes(desc, &bytes));
    EXPECT_EQ(kBad, miopenGetTensorDescriptor(desc, &type, &value, &value));
  }
  EXPECT_EQ(kBad, miopenGetTensorNumBytes(successor, &bytes)) << "not set yet";
  EXPECT_EQ(kBad, miopenGetTensorDescriptorSize(successor, nullptr));
}

TEST(MiopenConvolutions, maps_descriptor_values_back) {
  ConvDesc desc;
  ASSERT_EQ(kOk, miopenInitConvolutionDescriptor(desc, miopenConvolution, 1, 2, 3, 4, 5, 6));
  miopenConvolutionMode_t mode;
  int v[6];
  ASSERT_EQ(kOk, miopenGetConvolutionDescriptor(desc, &mode, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
  EXPECT_EQ(miopenConvolution, mode);
  EXPECT_EQ((std::vector<int>{1, 2, 3, 4, 5, 6}), std::vector<int>(v, v + 6));
  int groups = 0, spatial = 0, value = -7;
  ASSERT_EQ(kOk, miopenGetConvolutionGroupCount(desc, &groups));
  EXPECT_EQ(1, groups);
  ASSERT_EQ(kOk, miopenSetConvolutionGroupCount(desc, 4));
  ASSERT_EQ(kOk, miopenGetConvolutionGroupCount(desc, &groups));
  EXPECT_EQ(4, groups);
  ASSERT_EQ(kOk, miopenSetConvolutionAttribute(desc, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 1));
  ASSERT_EQ(kOk, miopenGetConvolutionAttribute(desc, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, &value));
  EXPECT_EQ(1, value);
  ASSERT_EQ(kOk, miopenGetConvolutionFindMode(desc, &value));
  EXPECT_EQ(5, value);
  const int pad[] = {1, 0, 2}, stride[] = {1, 2, 1}, dilation[] = {1, 1, 3};
  ASSERT_EQ(kOk, miopenInitConvolutionNdDescriptor(desc, 3, pad, stride, dilation, miopenConvolution));
  ASSERT_EQ(kOk, miopenGetConvolutionSpatialDim(desc, &spatial));
  EXPECT_EQ(3, spatial);
  int p[3], s[3], d[3];
  ASSERT_EQ(kOk, miopenGetConvolutionNdDescriptor(desc, 3, &spatial, p, s, d, &mode));
  EXPECT_EQ((std::vector<int>{1, 0, 2}), std::vector<int>(p, p + 3));
  EXPECT_EQ(kBad, miopenGetConvolutionNdDescriptor(desc, 2, &spatial, p, s, d, &mode));
  EXPECT_EQ(kBad, miopenGetConvolutionDescriptor(desc, &mode, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
}

TEST(MiopenConvolutions, rejects_bad_values) {
  ConvDesc desc(1, 1, 1);
  for (int i = 0; i < 6; ++i) {
    int v[] = {1, 1, 1, 1, 1, 1};
    v[i] = i < 2 ? -1 : 0;
    EXPECT_EQ(kBad, miopenInitConvolutionDescriptor(desc, miopenConvolution, v[0], v[1], v[2], v[3], v[4], v[5]));
  }
  for (const int mode : {-1, 2, 3, 7})
    EXPECT_EQ(kBad,
              miopenInitConvolutionDescriptor(desc, static_cast<miopenConvolutionMode_t>(mode), 0, 0, 1, 1, 1, 1));
  const int ones[] = {1, 1, 1, 1};
  for (const int spatial : {-1, 0, 1, 4})
    EXPECT_EQ(kBad, miopenInitConvolutionNdDescriptor(desc, spatial, ones, ones, ones, miopenConvolution));
  EXPECT_EQ(kBad, miopenInitConvolutionNdDescriptor(desc, 2, nullptr, ones, ones, miopenConvolution));
  EXPECT_EQ(kBad, miopenSetConvolutionGroupCount(desc, 0));
  EXPECT_EQ(kBad, miopenSetConvolutionGroupCount(desc, -2));
  EXPECT_EQ(kBad, miopenSetConvolutionAttribute(desc, MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, 2));
  EXPECT_EQ(kBad, miopenSetConvolutionAttribute(desc, static_cast<miopenConvolutionAttrib_t>(9), 0));
  EXPECT_EQ(kBad, miopenSetConvolutionFindMode(desc, 4));
  EXPECT_EQ(kBad, miopenSetConvolutionFindMode(desc, 0));
  miopenConvolutionDescriptor_t freed = nullptr;
  ASSERT_EQ(kOk, miopenCreateConvolutionDescriptor(&freed));
  ASSERT_EQ(kOk, miopenDestroyConvolutionDescriptor(freed));
  TensorDesc wrong_kind;
  auto all = foreign_pointers();
  all.push_back(freed);
  all.push_back(wrong_kind.desc);
  for (void* pointer : all) {
    const auto bad = static_cast<miopenConvolutionDescriptor_t>(pointer);
    EXPECT_EQ(kBad, miopenDestroyConvolutionDescriptor(bad));
    EXPECT_EQ(kBad, miopenInitConvolutionDescriptor(bad, miopenConvolution, 0, 0, 1, 1, 1, 1));
    EXPECT_EQ(kBad, miopenSetConvolutionGroupCount(bad, 1));
  }
}

TEST(MiopenConvolutions, maps_forward_output_lengths) {
  const TensorDesc x(miopenFloat, {2, 6, 11, 9}), w(miopenFloat, {4, 3, 3, 2});
  ConvDesc desc;
  ASSERT_EQ(kOk, miopenInitConvolutionDescriptor(desc, miopenConvolution, 1, 0, 2, 1, 2, 3));
  ASSERT_EQ(kOk, miopenSetConvolutionGroupCount(desc, 2));
  int n, c, h, wide;
  ASSERT_EQ(kOk, miopenGetConvolutionForwardOutputDim(desc, x, w, &n, &c, &h, &wide));
  EXPECT_EQ((std::vector<int>{2, 4, 5, 6}), (std::vector<int>{n, c, h, wide}));
  int rank = 0, lengths[5] = {};
  ASSERT_EQ(kOk, miopenGetConvolutionNdForwardOutputDim(desc, x, w, &rank, lengths));
  EXPECT_EQ(4, rank);
  EXPECT_EQ(5, lengths[2]);
  const TensorDesc half(miopenHalf, {4, 3, 3, 2}), wide_filter(miopenFloat, {4, 3, 30, 2}),
      three(miopenFloat, {4, 3, 3});
  EXPECT_EQ(kBad, miopenGetConvolutionForwardOutputDim(desc, x, half, &n, &c, &h, &wide));
  EXPECT_EQ(kBad, miopenGetConvolutionForwardOutputDim(desc, x, wide_filter, &n, &c, &h, &wide));
  EXPECT_EQ(kBad, miopenGetConvolutionForwardOutputDim(desc, x, three, &n, &c, &h, &wide));
  EXPECT_EQ(kBad, miopenGetConvolutionForwardOutputDim(desc, x, w, &n, &c, nullptr, &wide));
  ASSERT_EQ(kOk, miopenSetConvolutionGroupCount(desc, 3));
  EXPECT_EQ(kBad, miopenGetConvolutionForwardOutputDim(desc, x, w, &n, &c, &h, &wide));
}

}  // namespace
