// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/descriptors.hpp"
#include "bridge/dnn_entries.hpp"

namespace rb::dnn {
namespace {

Status set_filter(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t type, cudnnTensorFormat_t format, int rank,
                  const int* dims) {
  RB_ASSIGN(FilterDescriptor * filter, filters().get(filterDesc, "filterDesc"));
  if (element_bytes(type) == 0)
    return bad_param("unknown-enum", "data type %d is not one of cudnnDataType_t", static_cast<int>(type));
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC && format != CUDNN_TENSOR_NCHW_VECT_C)
    return bad_param("unknown-enum", "format %d is not one of cudnnTensorFormat_t", static_cast<int>(format));
  const bool vector_type = type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32;
  if (vector_type != (format == CUDNN_TENSOR_NCHW_VECT_C))
    return bad_param("vector-layout", "the format NCHW_VECT_C and a vector type go together; type is %s",
                     type_name(type));
  if (vector_type)
    return not_supported("vector-layout", "vectorised layouts (%s) have no counterpart in AMD's library",
                         type_name(type));
  if (dims == nullptr) return bad_param("null-pointer", "filterDimA is null");
  RB_TRY(check_dims(rank, dims));
  filter->stamp.store(0);
  filter->type = type;
  filter->format = format;
  filter->rank = rank;
  for (int i = 0; i < rank; ++i) filter->dims[static_cast<std::size_t>(i)] = dims[i];
  filter->stamp.renew();
  return {};
}

}  // namespace

Status create_filter_descriptor(cudnnFilterDescriptor_t* filterDesc) {
  if (filterDesc == nullptr) return bad_param("null-pointer", "filterDesc is null");
  FilterDescriptor* filter = nullptr;
  RB_ASSIGN(const std::uint64_t handle, filters().create(&filter));
  *filterDesc = bridge::to_handle<cudnnFilterDescriptor_t>(handle);
  return {};
}

Status destroy_filter_descriptor(cudnnFilterDescriptor_t filterDesc) {
  if (filterDesc == nullptr) return {};
  RB_ASSIGN(FilterDescriptor * filter, filters().get(filterDesc, "filterDesc"));
  filter->stamp.store(0);
  return filters().destroy(filterDesc, "filterDesc");
}

Status set_filter4d_descriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format,
                               int k, int c, int h, int w) {
  const int dims[4] = {k, c, h, w};
  return set_filter(filterDesc, dataType, format, 4, dims);
}

Status set_filter_nd_descriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
                                cudnnTensorFormat_t format, int nbDims, const int* filterDimA) {
  return set_filter(filterDesc, dataType, format, nbDims, filterDimA);
}

Status get_filter4d_descriptor(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t* dataType,
                               cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  RB_ASSIGN(const FilterDescriptor* filter, filters().get(filterDesc, "filterDesc"));
  if (filter->rank != 4)
    return bad_param("bad-dimension", "filterDesc has %d dimensions; cudnnGetFilter4dDescriptor reads 4", filter->rank);
  put(dataType, filter->type);
  put(format, filter->format);
  int* const dims[4] = {k, c, h, w};
  for (std::size_t i = 0; i < 4; ++i) put(dims[i], filter->dims[i]);
  return {};
}

Status get_filter_nd_descriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
                                cudnnDataType_t* dataType, cudnnTensorFormat_t* format, int* nbDims, int* filterDimA) {
  RB_ASSIGN(const FilterDescriptor* filter, filters().get(filterDesc, "filterDesc"));
  if (nbDimsRequested < 0) return bad_param("bad-dimension", "nbDimsRequested is %d", nbDimsRequested);
  put(dataType, filter->type);
  put(format, filter->format);
  put(nbDims, filter->rank);
  const int count = nbDimsRequested < filter->rank ? nbDimsRequested : filter->rank;
  for (int i = 0; i < count; ++i)
    if (filterDimA != nullptr) filterDimA[i] = filter->dims[static_cast<std::size_t>(i)];
  return {};
}

Status get_filter_size_in_bytes(const cudnnFilterDescriptor_t filterDesc, std::size_t* size) {
  RB_ASSIGN(const FilterDescriptor* filter, filters().get(filterDesc, "filterDesc"));
  if (size == nullptr) return bad_param("null-pointer", "size is null");
  *size = extent_bytes(*filter);
  return {};
}

}  // namespace rb::dnn
