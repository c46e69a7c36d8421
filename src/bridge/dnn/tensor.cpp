// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/descriptors.hpp"
#include "bridge/dnn_entries.hpp"

namespace rb::dnn {
namespace {

/// Formats and types that go together (cuDNN API reference, cudnnTensorFormat_t).
Status check_format(cudnnTensorFormat_t format, cudnnDataType_t type) {
  if (element_bytes(type) == 0)
    return bad_param("unknown-enum", "data type %d is not one of cudnnDataType_t", static_cast<int>(type));
  const bool vector_type = type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32;
  switch (format) {
    case CUDNN_TENSOR_NCHW:
    case CUDNN_TENSOR_NHWC:
      if (vector_type) return bad_param("vector-layout", "type %s needs the format NCHW_VECT_C", type_name(type));
      return {};
    case CUDNN_TENSOR_NCHW_VECT_C:
      if (!vector_type)
        return bad_param("vector-layout", "the format NCHW_VECT_C needs a vector type, not %s", type_name(type));
      return not_supported("vector-layout", "vectorised layouts (%s) have no counterpart in AMD's library",
                           type_name(type));
  }
  return bad_param("unknown-enum", "format %d is not one of cudnnTensorFormat_t", static_cast<int>(format));
}

Status check_type(cudnnDataType_t type) {
  if (element_bytes(type) == 0)
    return bad_param("unknown-enum", "data type %d is not one of cudnnDataType_t", static_cast<int>(type));
  return {};
}

void store(TensorDescriptor& tensor, cudnnDataType_t type, int rank, const int* dims, const int* strides) {
  tensor.stamp.store(0);
  tensor.type = type;
  tensor.rank = rank;
  for (int i = 0; i < rank; ++i) {
    tensor.dims[static_cast<std::size_t>(i)] = dims[i];
    tensor.strides[static_cast<std::size_t>(i)] = strides[i];
  }
  tensor.stamp.renew();
}

}  // namespace

Status create_tensor_descriptor(cudnnTensorDescriptor_t* tensorDesc) {
  if (tensorDesc == nullptr) return bad_param("null-pointer", "tensorDesc is null");
  TensorDescriptor* tensor = nullptr;
  RB_ASSIGN(const std::uint64_t handle, tensors().create(&tensor));
  *tensorDesc = bridge::to_handle<cudnnTensorDescriptor_t>(handle);
  return {};
}

Status destroy_tensor_descriptor(cudnnTensorDescriptor_t tensorDesc) {
  if (tensorDesc == nullptr) return {};
  RB_ASSIGN(TensorDescriptor * tensor, tensors().get(tensorDesc, "tensorDesc"));
  tensor->stamp.store(0);
  return tensors().destroy(tensorDesc, "tensorDesc");
}

Status set_tensor4d_descriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format, cudnnDataType_t dataType,
                               int n, int c, int h, int w) {
  RB_ASSIGN(TensorDescriptor * tensor, tensors().get(tensorDesc, "tensorDesc"));
  const int dims[4] = {n, c, h, w};
  RB_TRY(check_format(format, dataType));
  RB_TRY(check_dims(4, dims));
  int strides[4];
  packed_strides(format, 4, dims, strides);
  store(*tensor, dataType, 4, dims, strides);
  return {};
}

Status set_tensor4d_descriptor_ex(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int n, int c, int h,
                                  int w, int nStride, int cStride, int hStride, int wStride) {
  RB_ASSIGN(TensorDescriptor * tensor, tensors().get(tensorDesc, "tensorDesc"));
  const int dims[4] = {n, c, h, w};
  const int strides[4] = {nStride, cStride, hStride, wStride};
  RB_TRY(check_type(dataType));
  RB_TRY(check_dims(4, dims));
  store(*tensor, dataType, 4, dims, strides);
  return {};
}

Status set_tensor_nd_descriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int nbDims,
                                const int* dimA, const int* strideA) {
  RB_ASSIGN(TensorDescriptor * tensor, tensors().get(tensorDesc, "tensorDesc"));
  if (dimA == nullptr || strideA == nullptr)
    return bad_param("null-pointer", "%s is null", dimA == nullptr ? "dimA" : "strideA");
  RB_TRY(check_type(dataType));
  RB_TRY(check_dims(nbDims, dimA));
  store(*tensor, dataType, nbDims, dimA, strideA);
  return {};
}

Status set_tensor_nd_descriptor_ex(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
                                   cudnnDataType_t dataType, int nbDims, const int* dimA) {
  RB_ASSIGN(TensorDescriptor * tensor, tensors().get(tensorDesc, "tensorDesc"));
  if (dimA == nullptr) return bad_param("null-pointer", "dimA is null");
  RB_TRY(check_format(format, dataType));
  RB_TRY(check_dims(nbDims, dimA));
  int strides[kMaxDims];
  packed_strides(format, nbDims, dimA, strides);
  store(*tensor, dataType, nbDims, dimA, strides);
  return {};
}

Status get_tensor4d_descriptor(const cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t* dataType, int* n, int* c,
                               int* h, int* w, int* nStride, int* cStride, int* hStride, int* wStride) {
  RB_ASSIGN(const TensorDescriptor* tensor, tensors().get(tensorDesc, "tensorDesc"));
  if (tensor->rank != 4)
    return bad_param("bad-dimension", "tensorDesc has %d dimensions; cudnnGetTensor4dDescriptor reads 4", tensor->rank);
  put(dataType, tensor->type);
  int* const dims[4] = {n, c, h, w};
  int* const strides[4] = {nStride, cStride, hStride, wStride};
  for (std::size_t i = 0; i < 4; ++i) {
    put(dims[i], tensor->dims[i]);
    put(strides[i], tensor->strides[i]);
  }
  return {};
}

Status get_tensor_nd_descriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested,
                                cudnnDataType_t* dataType, int* nbDims, int* dimA, int* strideA) {
  RB_ASSIGN(const TensorDescriptor* tensor, tensors().get(tensorDesc, "tensorDesc"));
  if (nbDimsRequested < 0) return bad_param("bad-dimension", "nbDimsRequested is %d", nbDimsRequested);
  put(dataType, tensor->type);
  put(nbDims, tensor->rank);
  const int count = nbDimsRequested < tensor->rank ? nbDimsRequested : tensor->rank;
  for (int i = 0; i < count; ++i) {
    if (dimA != nullptr) dimA[i] = tensor->dims[static_cast<std::size_t>(i)];
    if (strideA != nullptr) strideA[i] = tensor->strides[static_cast<std::size_t>(i)];
  }
  return {};
}

Status get_tensor_size_in_bytes(const cudnnTensorDescriptor_t tensorDesc, std::size_t* size) {
  RB_ASSIGN(const TensorDescriptor* tensor, tensors().get(tensorDesc, "tensorDesc"));
  if (size == nullptr) return bad_param("null-pointer", "size is null");
  *size = extent_bytes(*tensor);
  return {};
}

}  // namespace rb::dnn
