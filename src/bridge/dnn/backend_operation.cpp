// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Convolution operations and operation graphs of the graph API.
#include "bridge/amd.hpp"
#include "bridge/dnn/backend_nodes.hpp"
#include "bridge/guard.hpp"
#include "bridge/trap.hpp"

namespace rb::dnn {
namespace {

/// What an attribute of a convolution operation means, whichever of the three it belongs to.
enum class Field { none, x, w, y, conv, alpha, beta };

Field field_of(Direction direction, cudnnBackendAttributeName_t name) {
  switch (direction) {
    case Direction::forward:
      switch (name) {
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X:
          return Field::x;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
          return Field::w;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y:
          return Field::y;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
          return Field::conv;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA:
          return Field::alpha;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA:
          return Field::beta;
        default:
          return Field::none;
      }
    case Direction::backward_data:
      switch (name) {
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX:
          return Field::x;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W:
          return Field::w;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY:
          return Field::y;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
          return Field::conv;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA:
          return Field::alpha;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA:
          return Field::beta;
        default:
          return Field::none;
      }
    case Direction::backward_filter:
      switch (name) {
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X:
          return Field::x;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW:
          return Field::w;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY:
          return Field::y;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC:
          return Field::conv;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA:
          return Field::alpha;
        case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA:
          return Field::beta;
        default:
          return Field::none;
      }
  }
  return Field::none;
}

/// alpha and beta are floats or doubles.
Status take_scalar(const Attribute& attribute, const void* data, std::optional<double>* out) {
  if (attribute.type == CUDNN_TYPE_DOUBLE) {
    double value = 0;
    RB_TRY(take_one(attribute, CUDNN_TYPE_DOUBLE, data, &value));
    *out = value;
    return {};
  }
  float value = 0;
  RB_TRY(take_one(attribute, CUDNN_TYPE_FLOAT, data, &value));
  *out = value;
  return {};
}

Status give_scalar(const Attribute& attribute, double value, std::int64_t* count, void* data) {
  const float narrow = static_cast<float>(value);
  if (attribute.type == CUDNN_TYPE_DOUBLE) return give(attribute, CUDNN_TYPE_DOUBLE, &value, 1, count, data);
  return give(attribute, CUDNN_TYPE_FLOAT, &narrow, 1, count, data);
}

const TensorNode& tensor(const std::shared_ptr<const Node>& node) {
  return static_cast<const TensorNode&>(*node);
}

/// Four dimensions from three (a 1-D convolution has height 1) or four.
Tensor4 widen(const TensorNode& node) {
  const std::vector<std::int64_t>& dims = node.dims();
  const std::vector<std::int64_t>& strides = node.strides();
  Tensor4 out;
  if (dims.size() == 3) {
    out.dims = {dims[0], dims[1], 1, dims[2]};
    out.strides = {strides[0], strides[1], 1, strides[2]};
  } else {
    for (std::size_t i = 0; i < 4; ++i) {
      out.dims[i] = dims[i];
      out.strides[i] = strides[i];
    }
  }
  return out;
}

bool too_large(const Tensor4& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape.dims) {
    if (dim > INT32_MAX) return true;
    elements *= dim;
    if (elements > INT32_MAX) return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<Node> make_operation_node(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return std::make_shared<ConvolutionOperationNode>(type, Direction::forward);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return std::make_shared<ConvolutionOperationNode>(type, Direction::backward_data);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return std::make_shared<ConvolutionOperationNode>(type, Direction::backward_filter);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return std::make_shared<GraphNode>();
    default:
      return nullptr;
  }
}

ConvolutionOperationNode::ConvolutionOperationNode(cudnnBackendDescriptorType_t type, Direction direction)
    : Node(type), direction_(direction) {}

Status ConvolutionOperationNode::set(const Attribute& attribute, const void* data) {
  switch (field_of(direction_, attribute.name)) {
    case Field::x:
      return take_node(attribute, CUDNN_BACKEND_TENSOR_DESCRIPTOR, data, &x_);
    case Field::w:
      return take_node(attribute, CUDNN_BACKEND_TENSOR_DESCRIPTOR, data, &w_);
    case Field::y:
      return take_node(attribute, CUDNN_BACKEND_TENSOR_DESCRIPTOR, data, &y_);
    case Field::conv:
      return take_node(attribute, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, data, &conv_);
    case Field::alpha:
      return take_scalar(attribute, data, &alpha_);
    case Field::beta:
      return take_scalar(attribute, data, &beta_);
    case Field::none:
      break;
  }
  return unknown_attribute(*this, attribute);
}

Status ConvolutionOperationNode::finalize() {
  if (x_ == nullptr || w_ == nullptr || y_ == nullptr || conv_ == nullptr || !alpha_ || !beta_)
    return bad_param("backend-attribute", "the %s descriptor lacks its %s", backend_type_name(type()),
                     x_ == nullptr      ? "X tensor"
                     : w_ == nullptr    ? "W tensor"
                     : y_ == nullptr    ? "Y tensor"
                     : conv_ == nullptr ? "convolution"
                     : !alpha_          ? "alpha"
                                        : "beta");
  Status built = build();
  if (built.ok()) return {};
  Fault fault = built.take();
  // Inconsistent descriptors are refused here; what AMD's library cannot do is told by the heuristics, with no engine.
  if (fault.code != Errc::not_supported) return fault;
  convolution_.refusal = std::move(fault);
  return {};
}

Status ConvolutionOperationNode::build() {
  const TensorNode& x = tensor(x_);
  const TensorNode& w = tensor(w_);
  const TensorNode& y = tensor(y_);
  const ConvolutionNode& conv = static_cast<const ConvolutionNode&>(*conv_);
  const std::size_t rank = x.dims().size();
  if (w.dims().size() != rank || y.dims().size() != rank || conv.pad().size() + 2 != rank)
    return bad_param("conv-mismatch", "X has %zu dimensions, W %zu, Y %zu, the convolution %zu spatial ones", rank,
                     w.dims().size(), y.dims().size(), conv.pad().size());
  convolution_.alpha = static_cast<float>(*alpha_);
  convolution_.beta = static_cast<float>(*beta_);
  convolution_.x_id = x.unique_id();
  convolution_.w_id = w.unique_id();
  convolution_.y_id = y.unique_id();
  convolution_.x_alignment = x.alignment();
  convolution_.w_alignment = w.alignment();
  convolution_.y_alignment = y.alignment();
  const std::int64_t channels = x.dims()[1];
  const std::int64_t group_channels = w.dims()[1];
  if (channels % group_channels != 0)
    return bad_param("conv-mismatch", "X has %lld channels; W has %lld, which is no divisor of it",
                     static_cast<long long>(channels), static_cast<long long>(group_channels));
  if (rank > 4)
    return not_supported("conv-3d", "a convolution with %zu spatial dimensions; up to 2 are built", rank - 2);
  if (x.data_type() != w.data_type() || x.data_type() != y.data_type())
    return not_supported("conv-type", "X is %s, W %s, Y %s; AMD's library needs one type", type_name(x.data_type()),
                         type_name(w.data_type()), type_name(y.data_type()));
  const cudnnDataType_t type = x.data_type();
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
    return not_supported("conv-type", "a convolution of %s tensors; fp32, fp16 and bf16 are built", type_name(type));
  if (conv.compute() != CUDNN_DATA_FLOAT && conv.compute() != type)
    return not_supported("conv-type", "compute type %s with %s tensors; AMD's library computes in fp32",
                         type_name(conv.compute()), type_name(type));

  Problem& problem = convolution_.problem;
  problem.direction = direction_;
  problem.type = type;
  problem.x = widen(x);
  problem.w = widen(w);
  problem.y = widen(y);
  problem.stride = {1, 1};
  problem.dilation = {1, 1};
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const std::size_t to = i + 4 - rank;
    problem.pad[to] = static_cast<std::int32_t>(conv.pad()[i]);
    problem.stride[to] = static_cast<std::int32_t>(conv.stride()[i]);
    problem.dilation[to] = static_cast<std::int32_t>(conv.dilation()[i]);
  }
  problem.groups = static_cast<std::int32_t>(channels / group_channels);
  problem.flip = conv.mode() == CUDNN_CONVOLUTION ? 1 : 0;
  if (too_large(problem.x) || too_large(problem.w) || too_large(problem.y))
    return not_supported("too-many-elements", "a tensor of more than 2^31 - 1 elements");
  if (conv.pad() != conv.post_pad())
    return not_supported("conv-padding",
                         "padding before and after differs; AMD's library has one figure for both sides");
  return check_problem(problem);
}

bool ConvolutionOperationNode::is_plain() const {
  return tensor(x_).is_plain() && tensor(w_).is_plain() && tensor(y_).is_plain();
}

Status ConvolutionOperationNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  const auto give_node = [&](const std::shared_ptr<const Node>& node) {
    return give_nodes(attribute, {std::const_pointer_cast<Node>(node)}, node->type(), count, data);
  };
  switch (field_of(direction_, attribute.name)) {
    case Field::x:
      return give_node(x_);
    case Field::w:
      return give_node(w_);
    case Field::y:
      return give_node(y_);
    case Field::conv:
      return give_node(conv_);
    case Field::alpha:
      return give_scalar(attribute, *alpha_, count, data);
    case Field::beta:
      return give_scalar(attribute, *beta_, count, data);
    case Field::none:
      break;
  }
  return unknown_attribute(*this, attribute);
}

// ---- graph ----------------------------------------------------------------------------------------------------------

Status GraphNode::set(const Attribute& attribute, const void* data) {
  switch (attribute.name) {
    case CUDNN_ATTR_OPERATIONGRAPH_OPS: {
      std::vector<void*> given;
      RB_TRY(take_many(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1024, data, &given));
      std::vector<std::shared_ptr<const Node>> operations;
      for (void* handle : given) {
        RB_ASSIGN(const std::shared_ptr<Node> node, node_of(handle, "an operation"));
        if (std::string(backend_type_name(node->type())).rfind("OPERATION_", 0) != 0)
          return attribute_fault(attribute, "a %s descriptor is no operation", backend_type_name(node->type()));
        if (!node->finalized())
          return bad_param("backend-state", "an operation (%s) was not finalised", backend_type_name(node->type()));
        operations.push_back(node);
      }
      operations_ = std::move(operations);
      return {};
    }
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE: {
      cudnnHandle_t handle = nullptr;
      RB_TRY(take_one(attribute, CUDNN_TYPE_HANDLE, data, &handle));
      RB_TRY(std::move(handles().get(handle, "the graph's handle")).status());
      handle_ = handle;
      return {};
    }
    default:
      return unknown_attribute(*this, attribute);
  }
}

Status GraphNode::finalize() {
  if (operations_.empty() || handle_ == nullptr)
    return bad_param("backend-attribute", "the OPERATIONGRAPH descriptor lacks its %s",
                     operations_.empty() ? "operations" : "handle");
  const auto* operation = dynamic_cast<const ConvolutionOperationNode*>(operations_.front().get());
  if (operations_.size() != 1 || operation == nullptr) {
    std::string names;
    for (const auto& node : operations_)
      names += (names.empty() ? "" : ", ") + std::string(backend_type_name(node->type()));
    return not_supported("graph-pattern", "a graph of %zu operations (%s); graphs of a single convolution are built",
                         operations_.size(), names.c_str());
  }
  if (!operation->is_plain())
    return not_supported(
        "graph-pattern",
        "a tensor of the convolution is virtual, by value, vectorised or ragged; plain tensors are built");
  RB_TRY(bridge::device_ready());
  RB_ASSIGN(DnnHandle * handle, handles().get(handle_, "the graph's handle"));
  convolution_ = operation->convolution();
  convolution_.problem.device = handle->device;
  if (convolution_.refusal) return {};
  RB_ASSIGN(plan_, plan_for(*handle, convolution_.problem));
  if (plan_->solutions().empty())
    convolution_.refusal = not_supported("conv-no-solution", "AMD's library has no solution for %s",
                                         convolution_.problem.describe().c_str());
  return {};
}

Status GraphNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  switch (attribute.name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT: {
      const std::int64_t available = engines();
      return give(attribute, CUDNN_TYPE_INT64, &available, 1, count, data);
    }
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
      return give(attribute, CUDNN_TYPE_HANDLE, &handle_, 1, count, data);
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
      return give_nodes(attribute, {std::const_pointer_cast<Node>(operations_.front())}, operations_.front()->type(),
                        count, data);
    default:
      return unknown_attribute(*this, attribute);
  }
}

}  // namespace rb::dnn
