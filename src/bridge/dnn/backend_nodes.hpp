// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The nodes of the graph API that carry content from one another: tensor, convolution, operation, graph, plan, variant
// pack.
#pragma once

#include <optional>

#include "bridge/dnn/backend.hpp"

namespace rb::dnn {

class TensorNode final : public Node {
 public:
  TensorNode() : Node(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

  cudnnDataType_t data_type() const { return *data_type_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }
  std::int64_t unique_id() const { return *unique_id_; }
  std::int64_t alignment() const { return alignment_; }
  bool is_plain() const { return !is_virtual_ && !is_by_value_ && vector_count_ == 1 && !ragged_; }

 private:
  std::optional<cudnnDataType_t> data_type_;
  std::vector<std::int64_t> dims_, strides_;
  std::optional<std::int64_t> unique_id_;
  std::int64_t alignment_ = 0;
  std::int64_t vector_count_ = 1;
  std::int64_t vector_dimension_ = -1;
  bool is_virtual_ = false;
  bool is_by_value_ = false;
  bool ragged_ = false;
  cudnnBackendTensorReordering_t reordering_ = CUDNN_TENSOR_REORDERING_NONE;
};

class ConvolutionNode final : public Node {
 public:
  ConvolutionNode() : Node(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

  cudnnDataType_t compute() const { return *compute_; }
  cudnnConvolutionMode_t mode() const { return *mode_; }
  const std::vector<std::int64_t>& pad() const { return pad_; }
  const std::vector<std::int64_t>& post_pad() const { return post_pad_; }
  const std::vector<std::int64_t>& stride() const { return stride_; }
  const std::vector<std::int64_t>& dilation() const { return dilation_; }

 private:
  std::optional<cudnnDataType_t> compute_;
  std::optional<cudnnConvolutionMode_t> mode_;
  std::optional<std::int64_t> spatial_;
  std::vector<std::int64_t> pad_, post_pad_, stride_, dilation_;
};

/// A convolution of the graph API, ready to be planned, or the reason why AMD's library cannot run it.
struct GraphConvolution {
  Problem problem;
  std::optional<Fault> refusal;
  float alpha = 1, beta = 0;
  std::int64_t x_id = 0, w_id = 0, y_id = 0;
  std::int64_t x_alignment = 1, w_alignment = 1, y_alignment = 1;
  bool scaled() const { return alpha != 1.0f || beta != 0.0f; }
};

class ConvolutionOperationNode final : public Node {
 public:
  ConvolutionOperationNode(cudnnBackendDescriptorType_t type, Direction direction);
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;
  /// Only after finalize.
  const GraphConvolution& convolution() const { return convolution_; }
  bool is_plain() const;

 private:
  Status build();

  Direction direction_;
  std::shared_ptr<const Node> x_, w_, y_, conv_;
  std::optional<double> alpha_, beta_;
  GraphConvolution convolution_;
};

/// A graph and what AMD's library offers for it.
class GraphNode final : public Node {
 public:
  GraphNode() : Node(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

  const GraphConvolution& convolution() const { return convolution_; }
  /// Null when the convolution is refused.
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  std::int64_t engines() const { return plan_ == nullptr ? 0 : static_cast<std::int64_t>(plan_->solutions().size()); }

 private:
  std::vector<std::shared_ptr<const Node>> operations_;
  cudnnHandle_t handle_ = nullptr;
  GraphConvolution convolution_;
  std::shared_ptr<const Plan> plan_;
};

/// A node whose type the library knows but that takes part in no graph that it runs: it takes its attributes, so that
/// the refusal comes from the graph, with its reason.
class OtherNode final : public Node {
 public:
  OtherNode(cudnnBackendDescriptorType_t type, int first, int last) : Node(type), first_(first), last_(last) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override { return {}; }
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

 private:
  int first_, last_;
};

/// A plan of the graph API: everything that an execution needs.
class PlanNode final : public Node {
 public:
  PlanNode() : Node(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

  const GraphConvolution& convolution() const { return convolution_; }
  const Plan& plan() const { return *plan_; }
  int solution() const { return solution_; }
  std::size_t workspace_bytes() const { return plan_->workspace_bytes(solution_, convolution_.scaled()); }

 private:
  std::shared_ptr<const Node> config_;
  cudnnHandle_t handle_ = nullptr;
  GraphConvolution convolution_;
  std::shared_ptr<const Plan> plan_;
  int solution_ = -1;
};

class VariantPackNode final : public Node {
 public:
  VariantPackNode() : Node(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override;
  Status finalize() override;
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override;

  /// The pointer given for an id; false if the pack has none.
  bool find(std::int64_t id, void** pointer) const;
  void* workspace() const { return workspace_; }

 private:
  std::vector<void*> pointers_;
  std::vector<std::int64_t> ids_;
  void* workspace_ = nullptr;
};

}  // namespace rb::dnn
