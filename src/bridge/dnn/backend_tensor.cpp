// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Tensor, convolution and variant-pack descriptors of the graph API, and the ones that take part in no graph yet.
#include "bridge/dnn/backend_nodes.hpp"

namespace rb::dnn {
namespace {

constexpr std::int64_t kMaxSpatial = kMaxDims - 2;
constexpr std::int64_t kMaxPointers = 1024;

/// Attribute numbers of the descriptors that no supported graph uses.
struct OtherType {
  cudnnBackendDescriptorType_t type;
  int first, last;
};
constexpr OtherType kOthers[] = {
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0, 9},
    {CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR, 500, 503},
    {CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, 1200, 1203},
    {CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR, 1100, 1101},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 750, 758},
    {CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, 770, 774},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, 1500, 1503},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 1520, 1527},
    {CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR, 780, 796},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 1600, 1601},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 1610, 1612},
    {CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, 1620, 1630},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, 1700, 1708},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, 1710, 1716},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, 1720, 1727},
    {CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, 1800, 1803},
    {CUDNN_BACKEND_OPERATION_SIGNAL_DESCRIPTOR, 1900, 1904},
    {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, 2000, 2014},
    {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, 2100, 2110},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 2200, 2201},
    {CUDNN_BACKEND_RNG_DESCRIPTOR, 2300, 2305},
    {CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, 2310, 2313},
};

Status take_type(const Attribute& attribute, const void* data, std::optional<cudnnDataType_t>* out) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  RB_TRY(take_one(attribute, CUDNN_TYPE_DATA_TYPE, data, &type));
  if (element_bytes(type) == 0)
    return attribute_fault(attribute, "data type %d is not one of cudnnDataType_t", static_cast<int>(type));
  *out = type;
  return {};
}

/// A bool is one byte; another value than 0 and 1 counts as true.
Status take_bool(const Attribute& attribute, const void* data, bool* out) {
  unsigned char value = 0;
  RB_TRY(take_one(attribute, CUDNN_TYPE_BOOLEAN, data, &value));
  *out = value != 0;
  return {};
}

}  // namespace

std::shared_ptr<Node> make_tensor_node(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) return std::make_shared<TensorNode>();
  if (type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) return std::make_shared<ConvolutionNode>();
  if (type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) return std::make_shared<VariantPackNode>();
  for (const OtherType& other : kOthers)
    if (other.type == type) return std::make_shared<OtherNode>(type, other.first, other.last);
  return nullptr;
}

// ---- tensor ---------------------------------------------------------------------------------------------------------

Status TensorNode::set(const Attribute& attribute, const void* data) {
  switch (attribute.name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
      return take_type(attribute, data, &data_type_);
    case CUDNN_ATTR_TENSOR_DIMENSIONS: {
      std::vector<std::int64_t> dims;
      RB_TRY(take_many(attribute, CUDNN_TYPE_INT64, kMaxDims, data, &dims));
      for (const std::int64_t dim : dims)
        if (dim < 1)
          return attribute_fault(attribute, "a dimension is %lld; it must be at least 1", static_cast<long long>(dim));
      dims_ = std::move(dims);
      return {};
    }
    case CUDNN_ATTR_TENSOR_STRIDES:
      return take_many(attribute, CUDNN_TYPE_INT64, kMaxDims, data, &strides_);
    case CUDNN_ATTR_TENSOR_UNIQUE_ID: {
      std::int64_t id = 0;
      RB_TRY(take_one(attribute, CUDNN_TYPE_INT64, data, &id));
      unique_id_ = id;
      return {};
    }
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT: {
      std::int64_t alignment = 0;
      RB_TRY(take_one(attribute, CUDNN_TYPE_INT64, data, &alignment));
      if (alignment < 1 || (alignment & (alignment - 1)) != 0)
        return attribute_fault(attribute, "the alignment is %lld; it must be a power of two",
                               static_cast<long long>(alignment));
      alignment_ = alignment;
      return {};
    }
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
      return take_bool(attribute, data, &is_virtual_);
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
      return take_bool(attribute, data, &is_by_value_);
    case CUDNN_ATTR_TENSOR_VECTOR_COUNT: {
      std::int64_t vector = 0;
      RB_TRY(take_one(attribute, CUDNN_TYPE_INT64, data, &vector));
      if (vector < 1) return attribute_fault(attribute, "the vector count is %lld", static_cast<long long>(vector));
      vector_count_ = vector;
      return {};
    }
    case CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION:
      return take_one(attribute, CUDNN_TYPE_INT64, data, &vector_dimension_);
    case CUDNN_ATTR_TENSOR_REORDERING_MODE:
      return take_one(attribute, CUDNN_TYPE_TENSOR_REORDERING_MODE, data, &reordering_);
    case CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC: {
      std::shared_ptr<const Node> offsets;
      RB_TRY(take_node(attribute, CUDNN_BACKEND_TENSOR_DESCRIPTOR, data, &offsets));
      ragged_ = true;
      return {};
    }
    default:
      return unknown_attribute(*this, attribute);
  }
}

Status TensorNode::finalize() {
  if (!data_type_ || !unique_id_ || dims_.empty() || strides_.empty() || alignment_ == 0)
    return bad_param("backend-attribute", "the TENSOR descriptor lacks its %s",
                     !data_type_        ? "data type"
                     : !unique_id_      ? "unique id"
                     : dims_.empty()    ? "dimensions"
                     : strides_.empty() ? "strides"
                                        : "byte alignment");
  if (dims_.size() != strides_.size())
    return bad_param("backend-attribute", "the TENSOR descriptor has %zu dimensions and %zu strides", dims_.size(),
                     strides_.size());
  return {};
}

Status TensorNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  const unsigned char is_virtual = is_virtual_ ? 1 : 0;
  const unsigned char is_by_value = is_by_value_ ? 1 : 0;
  switch (attribute.name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
      return give(attribute, CUDNN_TYPE_DATA_TYPE, &*data_type_, 1, count, data);
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
      return give(attribute, CUDNN_TYPE_INT64, dims_.data(), dims_.size(), count, data);
    case CUDNN_ATTR_TENSOR_STRIDES:
      return give(attribute, CUDNN_TYPE_INT64, strides_.data(), strides_.size(), count, data);
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
      return give(attribute, CUDNN_TYPE_INT64, &*unique_id_, 1, count, data);
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:  // measured on NVIDIA's own library
      return not_supported("backend-attribute", "the byte alignment of a tensor cannot be read back");
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
      return give(attribute, CUDNN_TYPE_BOOLEAN, &is_virtual, 1, count, data);
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
      return give(attribute, CUDNN_TYPE_BOOLEAN, &is_by_value, 1, count, data);
    case CUDNN_ATTR_TENSOR_VECTOR_COUNT:
      return give(attribute, CUDNN_TYPE_INT64, &vector_count_, 1, count, data);
    case CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION:
      return give(attribute, CUDNN_TYPE_INT64, &vector_dimension_, 1, count, data);
    case CUDNN_ATTR_TENSOR_REORDERING_MODE:
      return give(attribute, CUDNN_TYPE_TENSOR_REORDERING_MODE, &reordering_, 1, count, data);
    default:
      return unknown_attribute(*this, attribute);
  }
}

// ---- convolution ----------------------------------------------------------------------------------------------------

Status ConvolutionNode::set(const Attribute& attribute, const void* data) {
  const auto take_lengths = [&](std::int64_t least, std::vector<std::int64_t>* out) -> Status {
    std::vector<std::int64_t> values;
    RB_TRY(take_many(attribute, CUDNN_TYPE_INT64, kMaxSpatial, data, &values));
    for (const std::int64_t value : values)
      if (value < least || value > INT32_MAX)
        return attribute_fault(attribute, "a value is %lld; it must be %lld to 2^31 - 1", static_cast<long long>(value),
                               static_cast<long long>(least));
    *out = std::move(values);
    return {};
  };
  switch (attribute.name) {
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
      return take_type(attribute, data, &compute_);
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE: {
      cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
      RB_TRY(take_one(attribute, CUDNN_TYPE_CONVOLUTION_MODE, data, &mode));
      if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION)
        return attribute_fault(attribute, "mode %d is not one of cudnnConvolutionMode_t", static_cast<int>(mode));
      mode_ = mode;
      return {};
    }
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS: {
      std::int64_t spatial = 0;
      RB_TRY(take_one(attribute, CUDNN_TYPE_INT64, data, &spatial));
      if (spatial < 1 || spatial > kMaxSpatial)
        return attribute_fault(attribute, "%lld spatial dimensions", static_cast<long long>(spatial));
      spatial_ = spatial;
      return {};
    }
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
      return take_lengths(0, &pad_);
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS:
      return take_lengths(0, &post_pad_);
    case CUDNN_ATTR_CONVOLUTION_DILATIONS:
      return take_lengths(1, &dilation_);
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
      return take_lengths(1, &stride_);
    default:
      return unknown_attribute(*this, attribute);
  }
}

Status ConvolutionNode::finalize() {
  if (!compute_ || !mode_ || !spatial_)
    return bad_param("backend-attribute", "the CONVOLUTION descriptor lacks its %s",
                     !compute_ ? "compute type"
                     : !mode_  ? "mode"
                               : "spatial dimensions");
  const std::size_t spatial = static_cast<std::size_t>(*spatial_);
  for (const std::vector<std::int64_t>* values : {&pad_, &post_pad_, &dilation_, &stride_})
    if (values->size() != spatial)
      return bad_param("backend-attribute",
                       "the CONVOLUTION descriptor has %zu spatial dimensions, but %zu paddings, %zu post-paddings, "
                       "%zu dilations, %zu strides",
                       spatial, pad_.size(), post_pad_.size(), dilation_.size(), stride_.size());
  return {};
}

Status ConvolutionNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  switch (attribute.name) {
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
      return give(attribute, CUDNN_TYPE_DATA_TYPE, &*compute_, 1, count, data);
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
      return give(attribute, CUDNN_TYPE_CONVOLUTION_MODE, &*mode_, 1, count, data);
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS:
      return give(attribute, CUDNN_TYPE_INT64, &*spatial_, 1, count, data);
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
      return give(attribute, CUDNN_TYPE_INT64, pad_.data(), pad_.size(), count, data);
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS:
      return give(attribute, CUDNN_TYPE_INT64, post_pad_.data(), post_pad_.size(), count, data);
    case CUDNN_ATTR_CONVOLUTION_DILATIONS:
      return give(attribute, CUDNN_TYPE_INT64, dilation_.data(), dilation_.size(), count, data);
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
      return give(attribute, CUDNN_TYPE_INT64, stride_.data(), stride_.size(), count, data);
    default:
      return unknown_attribute(*this, attribute);
  }
}

// ---- variant pack ---------------------------------------------------------------------------------------------------

Status VariantPackNode::set(const Attribute& attribute, const void* data) {
  switch (attribute.name) {
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
      return take_many(attribute, CUDNN_TYPE_VOID_PTR, kMaxPointers, data, &pointers_);
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
      return take_many(attribute, CUDNN_TYPE_INT64, kMaxPointers, data, &ids_);
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
      return take_one(attribute, CUDNN_TYPE_VOID_PTR, data, &workspace_);
    case CUDNN_ATTR_VARIANT_PACK_INTERMEDIATES:
      return not_supported("graph-pattern", "plans of one convolution have no intermediates that a caller could give");
    default:
      return unknown_attribute(*this, attribute);
  }
}

Status VariantPackNode::finalize() {
  if (pointers_.empty() || pointers_.size() != ids_.size())
    return bad_param("backend-attribute", "the VARIANT_PACK descriptor has %zu data pointers and %zu unique ids",
                     pointers_.size(), ids_.size());
  return {};
}

Status VariantPackNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  switch (attribute.name) {
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
      return give(attribute, CUDNN_TYPE_VOID_PTR, pointers_.data(), pointers_.size(), count, data);
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
      return give(attribute, CUDNN_TYPE_INT64, ids_.data(), ids_.size(), count, data);
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
      return give(attribute, CUDNN_TYPE_VOID_PTR, &workspace_, 1, count, data);
    default:
      return unknown_attribute(*this, attribute);
  }
}

bool VariantPackNode::find(std::int64_t id, void** pointer) const {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] != id) continue;
    *pointer = pointers_[i];
    return true;
  }
  return false;
}

// ---- the others -----------------------------------------------------------------------------------------------------

Status OtherNode::set(const Attribute& attribute, const void* data) {
  const int number = static_cast<int>(attribute.name);
  if (number < first_ || number > last_) return unknown_attribute(*this, attribute);
  const int value_type = static_cast<int>(attribute.type);
  if (value_type < CUDNN_TYPE_HANDLE || value_type > 29)
    return attribute_fault(attribute, "%d is not one of cudnnBackendAttributeType_t", value_type);
  if (attribute.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) return {};
  for (std::int64_t i = 0; i < attribute.count; ++i) {
    void* handle = nullptr;
    __builtin_memcpy(&handle, static_cast<const char*>(data) + static_cast<std::size_t>(i) * sizeof handle,
                     sizeof handle);
    RB_TRY(std::move(node_of(handle, "the attribute's descriptor")).status());
  }
  return {};
}

Status OtherNode::get(const Attribute& attribute, std::int64_t*, void*) const {
  const int number = static_cast<int>(attribute.name);
  if (number < first_ || number > last_) return unknown_attribute(*this, attribute);
  return not_supported("graph-pattern", "the attributes of a %s descriptor cannot be read back",
                       backend_type_name(type()));
}

}  // namespace rb::dnn
