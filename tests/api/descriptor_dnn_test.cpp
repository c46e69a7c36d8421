// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuDNN's handle, tensor, filter and convolution descriptors: setters, getters, sizes, and what they refuse.
#include <climits>
#include <string>
#include <thread>

#include "tests/api/dnn_support.hpp"

namespace dnn_test {
namespace {

struct Tensor {
  cudnnTensorDescriptor_t desc = nullptr;
  Tensor() { EXPECT_EQ(cudnnCreateTensorDescriptor(&desc), CUDNN_STATUS_SUCCESS); }
  ~Tensor() { cudnnDestroyTensorDescriptor(desc); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
};
struct Filter {
  cudnnFilterDescriptor_t desc = nullptr;
  Filter() { EXPECT_EQ(cudnnCreateFilterDescriptor(&desc), CUDNN_STATUS_SUCCESS); }
  ~Filter() { cudnnDestroyFilterDescriptor(desc); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
};
struct Convolution {
  cudnnConvolutionDescriptor_t desc = nullptr;
  Convolution() { EXPECT_EQ(cudnnCreateConvolutionDescriptor(&desc), CUDNN_STATUS_SUCCESS); }
  ~Convolution() { cudnnDestroyConvolutionDescriptor(desc); }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
};

template <class Handle>
Handle foreign() {
  static long object[16] = {};
  return reinterpret_cast<Handle>(object);
}

TEST(DnnHandle, maps_life_and_stream) {
  cudnnHandle_t handle = nullptr;
  DNN_OK(cudnnCreate(&handle));
  ASSERT_NE(handle, nullptr);
  cudaStream_t stream = nullptr, read = nullptr;
  CUDA_OK(cudaStreamCreate(&stream));
  DNN_OK(cudnnSetStream(handle, stream));
  DNN_OK(cudnnGetStream(handle, &read));
  EXPECT_EQ(read, stream);
  DNN_OK(cudnnSetStream(handle, nullptr));
  DNN_OK(cudnnGetStream(handle, &read));
  EXPECT_EQ(read, nullptr);
  cudnnStatus_t state = CUDNN_STATUS_INTERNAL_ERROR;
  DNN_OK(cudnnQueryRuntimeError(handle, &state, CUDNN_ERRQUERY_BLOCKING, nullptr));
  EXPECT_EQ(state, CUDNN_STATUS_SUCCESS);
  DNN_OK(cudnnQueryRuntimeError(handle, &state, CUDNN_ERRQUERY_RAWCODE, nullptr));
  EXPECT_EQ(state, CUDNN_STATUS_SUCCESS);
  CUDA_OK(cudaStreamDestroy(stream));
  EXPECT_EQ(cudnnSetStream(handle, stream), CUDNN_STATUS_BAD_PARAM) << "a destroyed stream";
  DNN_OK(cudnnDestroy(handle));
  EXPECT_EQ(cudnnDestroy(handle), CUDNN_STATUS_BAD_PARAM) << "destroyed twice";
  EXPECT_EQ(cudnnGetStream(handle, &read), CUDNN_STATUS_BAD_PARAM) << "used after destroy";
}

TEST(DnnHandle, maps_versions_and_texts) {
  EXPECT_EQ(cudnnGetVersion(), 8902u);
  int major = 0, minor = 0, patch = 0;
  DNN_OK(cudnnGetProperty(static_cast<libraryPropertyType>(0), &major));
  DNN_OK(cudnnGetProperty(static_cast<libraryPropertyType>(1), &minor));
  DNN_OK(cudnnGetProperty(static_cast<libraryPropertyType>(2), &patch));
  EXPECT_EQ(major * 1000 + minor * 100 + patch, 8902);
  EXPECT_EQ(cudnnGetProperty(static_cast<libraryPropertyType>(7), &patch), CUDNN_STATUS_INVALID_VALUE);
  EXPECT_EQ(cudnnGetProperty(static_cast<libraryPropertyType>(0), nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_GE(cudnnGetCudartVersion(), 11000u);
  EXPECT_GE(cudnnGetMaxDeviceVersion(), 800u);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_SUCCESS), "CUDNN_STATUS_SUCCESS");
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED");
  EXPECT_NE(cudnnGetErrorString(static_cast<cudnnStatus_t>(12345)), nullptr);
  DNN_OK(cudnnOpsInferVersionCheck());
  DNN_OK(cudnnOpsTrainVersionCheck());
  DNN_OK(cudnnCnnInferVersionCheck());
  DNN_OK(cudnnCnnTrainVersionCheck());
  DNN_OK(cudnnAdvInferVersionCheck());
  DNN_OK(cudnnAdvTrainVersionCheck());
}

TEST(DnnHandle, maps_callbacks) {
  int mine = 0;
  const auto function = [](cudnnSeverity_t, void*, const cudnnDebug_t*, const char*) {};
  DNN_OK(cudnnSetCallback(5, &mine, function));
  unsigned mask = 0;
  void* user = nullptr;
  cudnnCallback_t read = nullptr;
  DNN_OK(cudnnGetCallback(&mask, &user, &read));
  EXPECT_EQ(mask, 5u);
  EXPECT_EQ(user, &mine);
  EXPECT_EQ(read, static_cast<cudnnCallback_t>(function));
  DNN_OK(cudnnGetCallback(nullptr, nullptr, nullptr));
  DNN_OK(cudnnSetCallback(0, nullptr, nullptr));
}

TEST(DnnHandle, rejects_bad_handles) {
  Tensor tensor;
  for (const cudnnHandle_t bad :
       {static_cast<cudnnHandle_t>(nullptr), foreign<cudnnHandle_t>(), reinterpret_cast<cudnnHandle_t>(tensor.desc),
        reinterpret_cast<cudnnHandle_t>(std::uintptr_t{1})}) {
    cudaStream_t stream = nullptr;
    int count = 0;
    EXPECT_EQ(cudnnSetStream(bad, nullptr), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetStream(bad, &stream), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetConvolutionForwardAlgorithmMaxCount(bad, &count), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetConvolutionBackwardDataAlgorithmMaxCount(bad, &count), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(bad, &count), CUDNN_STATUS_BAD_PARAM);
    if (bad == nullptr) continue;
    EXPECT_EQ(cudnnDestroy(bad), CUDNN_STATUS_BAD_PARAM);
  }
  DNN_OK(cudnnDestroy(nullptr));  // measured: destroying null succeeds
  EXPECT_EQ(cudnnCreate(nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetStream(nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
}

TEST(DnnTensor, maps_setters_and_getters) {
  Tensor tensor;
  DNN_OK(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 4, 5));
  cudnnDataType_t type{};
  int d[4], s[4];
  DNN_OK(cudnnGetTensor4dDescriptor(tensor.desc, &type, &d[0], &d[1], &d[2], &d[3], &s[0], &s[1], &s[2], &s[3]));
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ((std::vector<int>(d, d + 4)), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ((std::vector<int>(s, s + 4)), (std::vector<int>{60, 1, 15, 3}));
  std::size_t bytes = 0;
  DNN_OK(cudnnGetTensorSizeInBytes(tensor.desc, &bytes));
  EXPECT_EQ(bytes, 240u);

  DNN_OK(cudnnSetTensor4dDescriptorEx(tensor.desc, CUDNN_DATA_FLOAT, 2, 3, 4, 5, 100, 30, 6, 1));
  DNN_OK(cudnnGetTensor4dDescriptor(tensor.desc, nullptr, nullptr, &d[1], nullptr, nullptr, nullptr, &s[1], nullptr,
                                    nullptr));
  EXPECT_EQ(d[1], 3);
  EXPECT_EQ(s[1], 30);
  DNN_OK(cudnnGetTensorSizeInBytes(tensor.desc, &bytes));
  EXPECT_EQ(bytes, (100u + 60 + 18 + 4 + 1) * 4);
  DNN_OK(cudnnSetTensor4dDescriptorEx(tensor.desc, CUDNN_DATA_FLOAT, 2, 3, 4, 5, -60, 20, 5, 1));  // measured: accepted

  const int dims[5] = {2, 3, 4, 5, 6}, strides[5] = {360, 120, 30, 6, 1};
  DNN_OK(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_DOUBLE, 5, dims, strides));
  int rank = 0, read_dims[8] = {}, read_strides[8] = {};
  DNN_OK(cudnnGetTensorNdDescriptor(tensor.desc, 8, &type, &rank, read_dims, read_strides));
  EXPECT_EQ(rank, 5);
  EXPECT_EQ((std::vector<int>(read_dims, read_dims + 6)), (std::vector<int>{2, 3, 4, 5, 6, 0}));
  int few[3] = {-1, -1, -1};
  DNN_OK(cudnnGetTensorNdDescriptor(tensor.desc, 2, nullptr, &rank, few, nullptr));
  EXPECT_EQ(rank, 5);
  EXPECT_EQ((std::vector<int>(few, few + 3)), (std::vector<int>{2, 3, -1}));
  DNN_OK(cudnnSetTensorNdDescriptorEx(tensor.desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 5, dims));
  DNN_OK(cudnnGetTensorNdDescriptor(tensor.desc, 5, &type, &rank, read_dims, read_strides));
  EXPECT_EQ((std::vector<int>(read_strides, read_strides + 5)), (std::vector<int>{360, 1, 90, 18, 3}));
  EXPECT_EQ(cudnnGetTensor4dDescriptor(tensor.desc, &type, &d[0], &d[1], &d[2], &d[3], &s[0], &s[1], &s[2], &s[3]),
            CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnSetTensorNdDescriptorEx(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_BFLOAT16, 3, dims));
}

TEST(DnnTensor, rejects_bad_values) {
  Tensor tensor;
  for (const int bad : {0, -1, INT_MIN}) {
    EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, bad, 1, 1, 1),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, bad),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensor4dDescriptorEx(tensor.desc, CUDNN_DATA_FLOAT, 1, bad, 1, 1, 1, 1, 1, 1),
              CUDNN_STATUS_BAD_PARAM);
  }
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, static_cast<cudnnTensorFormat_t>(9), CUDNN_DATA_FLOAT, 1, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, static_cast<cudnnDataType_t>(99), 1, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, static_cast<cudnnDataType_t>(-1), 1, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_FLOAT, 1, 4, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 1, 4, 1, 1),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 65536, 65536, 1, 1),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(
      cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, INT_MAX, INT_MAX, INT_MAX, INT_MAX),
      CUDNN_STATUS_NOT_SUPPORTED);
  DNN_OK(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, INT_MAX, 1, 1, 1));
  const int ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, 9, ones, ones), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, 2, ones, ones), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, 1, ones, ones), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, -4, ones, ones), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, 4, nullptr, ones), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor.desc, CUDNN_DATA_FLOAT, 4, ones, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetTensorNdDescriptorEx(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetTensorSizeInBytes(tensor.desc, nullptr), CUDNN_STATUS_BAD_PARAM);
  // What was set before is still there.
  std::size_t bytes = 0;
  DNN_OK(cudnnGetTensorSizeInBytes(tensor.desc, &bytes));
  EXPECT_EQ(bytes, 4 * static_cast<std::size_t>(INT_MAX));
}

TEST(DnnTensor, rejects_bad_descriptors) {
  Filter filter;
  cudnnTensorDescriptor_t freed = nullptr;
  DNN_OK(cudnnCreateTensorDescriptor(&freed));
  DNN_OK(cudnnDestroyTensorDescriptor(freed));
  std::size_t bytes = 0;
  const int ones[4] = {1, 1, 1, 1};
  for (const cudnnTensorDescriptor_t bad :
       {static_cast<cudnnTensorDescriptor_t>(nullptr), freed, foreign<cudnnTensorDescriptor_t>(),
        reinterpret_cast<cudnnTensorDescriptor_t>(filter.desc)}) {
    EXPECT_EQ(cudnnSetTensor4dDescriptor(bad, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensor4dDescriptorEx(bad, CUDNN_DATA_FLOAT, 1, 1, 1, 1, 1, 1, 1, 1), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensorNdDescriptor(bad, CUDNN_DATA_FLOAT, 4, ones, ones), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnSetTensorNdDescriptorEx(bad, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, ones), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetTensor4dDescriptor(bad, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                         nullptr),
              CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetTensorNdDescriptor(bad, 4, nullptr, nullptr, nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(cudnnGetTensorSizeInBytes(bad, &bytes), CUDNN_STATUS_BAD_PARAM);
    if (bad == nullptr) continue;
    EXPECT_EQ(cudnnDestroyTensorDescriptor(bad), CUDNN_STATUS_BAD_PARAM);
  }
  DNN_OK(cudnnDestroyTensorDescriptor(nullptr));
  EXPECT_EQ(cudnnCreateTensorDescriptor(nullptr), CUDNN_STATUS_BAD_PARAM);
}

TEST(DnnFilter, maps_setters_and_getters) {
  Filter filter;
  DNN_OK(cudnnSetFilter4dDescriptor(filter.desc, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 6, 4, 3, 2));
  cudnnDataType_t type{};
  cudnnTensorFormat_t format{};
  int k = 0, c = 0, h = 0, w = 0;
  DNN_OK(cudnnGetFilter4dDescriptor(filter.desc, &type, &format, &k, &c, &h, &w));
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ(format, CUDNN_TENSOR_NHWC);
  EXPECT_EQ((std::vector<int>{k, c, h, w}), (std::vector<int>{6, 4, 3, 2}));
  std::size_t bytes = 0;
  DNN_OK(cudnnGetFilterSizeInBytes(filter.desc, &bytes));
  EXPECT_EQ(bytes, 288u);
  const int dims[3] = {50, 1, 1};  // as PyTorch's RNN weights
  DNN_OK(cudnnSetFilterNdDescriptor(filter.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, dims));
  int rank = 0, read[4] = {-1, -1, -1, -1};
  DNN_OK(cudnnGetFilterNdDescriptor(filter.desc, 3, &type, &format, &rank, read));
  EXPECT_EQ(rank, 3);
  EXPECT_EQ((std::vector<int>(read, read + 4)), (std::vector<int>{50, 1, 1, -1}));
}

TEST(DnnFilter, rejects_bad_values_and_descriptors) {
  Filter filter;
  const int dims[4] = {1, 1, 1, 1}, bad_dims[4] = {1, 0, 1, 1};
  EXPECT_EQ(cudnnSetFilterNdDescriptor(filter.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, bad_dims),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetFilterNdDescriptor(filter.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetFilterNdDescriptor(filter.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 9, dims),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnSetFilterNdDescriptor(filter.desc, static_cast<cudnnDataType_t>(40), CUDNN_TENSOR_NCHW, 4, dims),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetFilter4dDescriptor(filter.desc, CUDNN_DATA_FLOAT, static_cast<cudnnTensorFormat_t>(3), 1, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetFilter4dDescriptor(nullptr, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 1, 1, 1, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetFilterSizeInBytes(filter.desc, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetFilter4dDescriptor(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetFilterNdDescriptor(foreign<cudnnFilterDescriptor_t>(), 4, nullptr, nullptr, nullptr, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnDestroyFilterDescriptor(nullptr));
}

TEST(DnnConvolution, maps_setters_and_getters) {
  Convolution conv;
  DNN_OK(cudnnSetConvolutionGroupCount(conv.desc, 4));
  DNN_OK(cudnnSetConvolution2dDescriptor(conv.desc, 1, 2, 3, 4, 5, 6, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  int ph = 0, pw = 0, u = 0, v = 0, dh = 0, dw = 0;
  cudnnConvolutionMode_t mode{};
  cudnnDataType_t compute{};
  DNN_OK(cudnnGetConvolution2dDescriptor(conv.desc, &ph, &pw, &u, &v, &dh, &dw, &mode, &compute));
  EXPECT_EQ((std::vector<int>{ph, pw, u, v, dh, dw}), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(mode, CUDNN_CROSS_CORRELATION);
  int groups = 0;
  DNN_OK(cudnnGetConvolutionGroupCount(conv.desc, &groups));
  EXPECT_EQ(groups, 4) << "the group count survives a later Set (measured)";
  const int three[3] = {1, 2, 3};
  DNN_OK(cudnnSetConvolutionNdDescriptor(conv.desc, 3, three, three, three, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT));
  int length = 0, pads[4] = {-1, -1, -1, -1}, strides[4] = {}, dilations[4] = {};
  DNN_OK(cudnnGetConvolutionNdDescriptor(conv.desc, 2, &length, pads, strides, dilations, &mode, &compute));
  EXPECT_EQ(length, 3);
  EXPECT_EQ((std::vector<int>(pads, pads + 3)), (std::vector<int>{1, 2, -1}));
  EXPECT_EQ(cudnnGetConvolution2dDescriptor(conv.desc, &ph, &pw, &u, &v, &dh, &dw, &mode, &compute),
            CUDNN_STATUS_BAD_PARAM);
  for (const cudnnMathType_t math :
       {CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, CUDNN_FMA_MATH}) {
    DNN_OK(cudnnSetConvolutionMathType(conv.desc, math));
    cudnnMathType_t read{};
    DNN_OK(cudnnGetConvolutionMathType(conv.desc, &read));
    EXPECT_EQ(read, math);
  }
  cudnnReorderType_t reorder{};
  DNN_OK(cudnnSetConvolutionReorderType(conv.desc, CUDNN_NO_REORDER));
  DNN_OK(cudnnGetConvolutionReorderType(conv.desc, &reorder));
  EXPECT_EQ(reorder, CUDNN_NO_REORDER);
}

TEST(DnnConvolution, rejects_bad_values) {
  Convolution conv;
  EXPECT_EQ(cudnnSetConvolution2dDescriptor(conv.desc, -1, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolution2dDescriptor(conv.desc, 0, 0, 0, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolution2dDescriptor(conv.desc, 0, 0, 1, 1, 1, 0, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolution2dDescriptor(conv.desc, 0, 0, 1, 1, 1, 1, static_cast<cudnnConvolutionMode_t>(2),
                                            CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(
      cudnnSetConvolution2dDescriptor(conv.desc, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, static_cast<cudnnDataType_t>(77)),
      CUDNN_STATUS_BAD_PARAM);
  const int ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(cudnnSetConvolutionNdDescriptor(conv.desc, -1, ones, ones, ones, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionNdDescriptor(conv.desc, 9, ones, ones, ones, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnSetConvolutionNdDescriptor(conv.desc, 2, nullptr, ones, ones, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(conv.desc, 0), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(conv.desc, -3), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionMathType(conv.desc, static_cast<cudnnMathType_t>(4)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionReorderType(conv.desc, static_cast<cudnnReorderType_t>(-1)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetConvolutionGroupCount(nullptr, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolutionGroupCount(conv.desc, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolutionMathType(foreign<cudnnConvolutionDescriptor_t>(), nullptr), CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnDestroyConvolutionDescriptor(nullptr));
}

TEST(DnnConvolution, maps_output_dimensions) {
  Tensor x;
  Filter w;
  Convolution conv;
  DNN_OK(cudnnSetTensor4dDescriptor(x.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 8, 11, 13));
  DNN_OK(cudnnSetFilter4dDescriptor(w.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 6, 4, 3, 5));
  DNN_OK(cudnnSetConvolution2dDescriptor(conv.desc, 1, 2, 2, 3, 2, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  DNN_OK(cudnnSetConvolutionGroupCount(conv.desc, 2));
  int d[4] = {};
  DNN_OK(cudnnGetConvolution2dForwardOutputDim(conv.desc, x.desc, w.desc, &d[0], &d[1], &d[2], &d[3]));
  EXPECT_EQ((std::vector<int>(d, d + 4)), (std::vector<int>{2, 6, 5, 5}));
  int nd[4] = {};
  DNN_OK(cudnnGetConvolutionNdForwardOutputDim(conv.desc, x.desc, w.desc, 4, nd));
  EXPECT_EQ((std::vector<int>(nd, nd + 4)), (std::vector<int>(d, d + 4)));
  EXPECT_EQ(cudnnGetConvolutionNdForwardOutputDim(conv.desc, x.desc, w.desc, 5, nd), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolution2dForwardOutputDim(conv.desc, x.desc, w.desc, nullptr, &d[1], &d[2], &d[3]),
            CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnSetConvolutionGroupCount(conv.desc, 1));
  EXPECT_EQ(cudnnGetConvolution2dForwardOutputDim(conv.desc, x.desc, w.desc, &d[0], &d[1], &d[2], &d[3]),
            CUDNN_STATUS_BAD_PARAM)
      << "channels";
  DNN_OK(cudnnSetConvolutionGroupCount(conv.desc, 2));
  DNN_OK(cudnnSetFilter4dDescriptor(w.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 6, 4, 30, 5));
  EXPECT_EQ(cudnnGetConvolution2dForwardOutputDim(conv.desc, x.desc, w.desc, &d[0], &d[1], &d[2], &d[3]),
            CUDNN_STATUS_BAD_PARAM)
      << "filter too large";
  const int five[5] = {1, 4, 6, 7, 8}, filter5[5] = {3, 4, 3, 3, 3}, ones[3] = {1, 1, 1};
  DNN_OK(cudnnSetTensorNdDescriptorEx(x.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, five));
  DNN_OK(cudnnSetFilterNdDescriptor(w.desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 5, filter5));
  DNN_OK(cudnnSetConvolutionNdDescriptor(conv.desc, 3, ones, ones, ones, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  DNN_OK(cudnnSetConvolutionGroupCount(conv.desc, 1));
  int out[5] = {};
  DNN_OK(cudnnGetConvolutionNdForwardOutputDim(conv.desc, x.desc, w.desc, 5, out));
  EXPECT_EQ((std::vector<int>(out, out + 5)), (std::vector<int>{1, 3, 6, 7, 8}));
}

TEST(DnnDescriptors, maps_many_threads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (int round = 0; round < 500; ++round) {
        Tensor tensor;
        ASSERT_EQ(cudnnSetTensor4dDescriptor(tensor.desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, i + 1, 2, 3, 4),
                  CUDNN_STATUS_SUCCESS);
        std::size_t bytes = 0;
        ASSERT_EQ(cudnnGetTensorSizeInBytes(tensor.desc, &bytes), CUDNN_STATUS_SUCCESS);
        ASSERT_EQ(bytes, 96u * static_cast<std::size_t>(i + 1));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dnn_test
