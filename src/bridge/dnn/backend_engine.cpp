// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Heuristics, engines, configurations and plans of the graph API. An engine is one solution of AMD's library for the
// graph's convolution; its global index is the solution's place in the plan's list, fastest first. Engines have no
// knobs.
#include "bridge/amd.hpp"
#include "bridge/dnn/backend_nodes.hpp"
#include "bridge/guard.hpp"
#include "bridge/trap.hpp"

namespace rb::dnn {
namespace {

constexpr int kMaxKnobs = 256;

const GraphNode& graph_of(const std::shared_ptr<const Node>& node) {
  return static_cast<const GraphNode&>(*node);
}

Status take_sm_target(const Attribute& attribute, const void* data, std::int32_t* out) {
  RB_TRY(take_one(attribute, CUDNN_TYPE_INT32, data, out));
  if (*out < 0) return attribute_fault(attribute, "the number of multiprocessors is %d", *out);
  return {};
}

class EngineNode final : public Node {
 public:
  EngineNode() : Node(CUDNN_BACKEND_ENGINE_DESCRIPTOR) {}
  EngineNode(std::shared_ptr<const Node> graph, std::int64_t index)
      : Node(CUDNN_BACKEND_ENGINE_DESCRIPTOR), graph_(std::move(graph)), index_(index) {
    mark_finalized();
  }
  Status set(const Attribute& attribute, const void* data) override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
        return take_node(attribute, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, data, &graph_);
      case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        return take_one(attribute, CUDNN_TYPE_INT64, data, &index_);
      case CUDNN_ATTR_ENGINE_SM_COUNT_TARGET:
        return take_sm_target(attribute, data, &sm_target_);
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  Status finalize() override {
    if (graph_ == nullptr || index_ < 0)
      return bad_param("backend-attribute", "the ENGINE descriptor lacks its %s",
                       graph_ == nullptr ? "operation graph" : "global index");
    const std::int64_t engines = graph_of(graph_).engines();
    if (index_ >= engines)
      return not_supported("conv-no-solution", "engine %lld of a graph for which AMD's library has %lld",
                           static_cast<long long>(index_), static_cast<long long>(engines));
    return {};
  }
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        return give(attribute, CUDNN_TYPE_INT64, &index_, 1, count, data);
      case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
        return give_nodes(attribute, {std::const_pointer_cast<Node>(graph_)}, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                          count, data);
      case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
        const std::vector<cudnnBackendNumericalNote_t> notes = numerical_notes();
        return give(attribute, CUDNN_TYPE_NUMERICAL_NOTE, notes.data(), notes.size(), count, data);
      }
      case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
        return give<int>(attribute, CUDNN_TYPE_BEHAVIOR_NOTE, nullptr, 0, count, data);
      case CUDNN_ATTR_ENGINE_KNOB_INFO:
        return give_nodes(attribute, {}, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, count, data);
      case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
        return give_nodes(attribute, {}, CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR, count, data);
      case CUDNN_ATTR_ENGINE_SM_COUNT_TARGET:
        return give(attribute, CUDNN_TYPE_INT32, &sm_target_, 1, count, data);
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  const std::shared_ptr<const Node>& graph() const { return graph_; }
  std::int64_t index() const { return index_; }

 private:
  std::vector<cudnnBackendNumericalNote_t> numerical_notes() const {
    std::vector<cudnnBackendNumericalNote_t> notes;
    const Plan& plan = *graph_of(graph_).plan();
    switch (plan.solutions()[static_cast<std::size_t>(index_)].algorithm) {
      case miopenConvolutionAlgoFFT:
        notes.push_back(CUDNN_NUMERICAL_NOTE_FFT);
        break;
      case miopenConvolutionAlgoWinograd:
        notes.push_back(CUDNN_NUMERICAL_NOTE_WINOGRAD);
        break;
      default:
        break;
    }
    if (!plan.deterministic()) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    return notes;
  }

  std::shared_ptr<const Node> graph_;
  std::int64_t index_ = -1;
  std::int32_t sm_target_ = 0;
};

class KnobChoiceNode final : public Node {
 public:
  KnobChoiceNode() : Node(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override {
    switch (attribute.name) {
      case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE: {
        int type = 0;
        RB_TRY(take_one(attribute, CUDNN_TYPE_KNOB_TYPE, data, &type));
        type_ = type;
        return {};
      }
      case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE: {
        std::int64_t value = 0;
        RB_TRY(take_one(attribute, CUDNN_TYPE_INT64, data, &value));
        value_ = value;
        return {};
      }
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  Status finalize() override {
    if (!type_ || !value_)
      return bad_param("backend-attribute", "the KNOB_CHOICE descriptor lacks its %s", !type_ ? "type" : "value");
    return {};
  }
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override {
    switch (attribute.name) {
      case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
        return give(attribute, CUDNN_TYPE_KNOB_TYPE, &*type_, 1, count, data);
      case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
        return give(attribute, CUDNN_TYPE_INT64, &*value_, 1, count, data);
      default:
        return unknown_attribute(*this, attribute);
    }
  }

 private:
  std::optional<int> type_;
  std::optional<std::int64_t> value_;
};

class EngineConfigNode final : public Node {
 public:
  EngineConfigNode() : Node(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {}
  explicit EngineConfigNode(std::shared_ptr<const Node> engine)
      : Node(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), engine_(std::move(engine)) {
    mark_finalized();
  }
  Status set(const Attribute& attribute, const void* data) override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINECFG_ENGINE:
        return take_node(attribute, CUDNN_BACKEND_ENGINE_DESCRIPTOR, data, &engine_);
      case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: {
        if (attribute.type == CUDNN_TYPE_BACKEND_DESCRIPTOR && attribute.count == 0) return {};
        std::vector<void*> choices;
        RB_TRY(take_many(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMaxKnobs, data, &choices));
        for (void* choice : choices)
          RB_TRY(std::move(finished_node(choice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "a knob choice")).status());
        return not_supported("backend-attribute", "engines of AMD's library have no knobs; %zu choices were given",
                             choices.size());
      }
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  Status finalize() override {
    if (engine_ == nullptr) return bad_param("backend-attribute", "the ENGINECFG descriptor lacks its engine");
    return {};
  }
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINECFG_ENGINE:
        return give_nodes(attribute, {std::const_pointer_cast<Node>(engine_)}, CUDNN_BACKEND_ENGINE_DESCRIPTOR, count,
                          data);
      case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
        return give_nodes(attribute, {}, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, count, data);
      case CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO:
        return give_nodes(attribute, {}, CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR, count, data);
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  const EngineNode& engine() const { return static_cast<const EngineNode&>(*engine_); }

 private:
  std::shared_ptr<const Node> engine_;
};

class HeuristicsNode final : public Node {
 public:
  HeuristicsNode() : Node(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {}
  Status set(const Attribute& attribute, const void* data) override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
        return take_node(attribute, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, data, &graph_);
      case CUDNN_ATTR_ENGINEHEUR_MODE: {
        cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_INSTANT;
        RB_TRY(take_one(attribute, CUDNN_TYPE_HEUR_MODE, data, &mode));
        if (mode < CUDNN_HEUR_MODE_INSTANT || mode >= CUDNN_HEUR_MODES_COUNT)
          return attribute_fault(attribute, "mode %d is not one of cudnnBackendHeurMode_t", static_cast<int>(mode));
        mode_ = mode;
        return {};
      }
      case CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET:
        return take_sm_target(attribute, data, &sm_target_);
      default:
        return unknown_attribute(*this, attribute);
    }
  }
  Status finalize() override {
    if (graph_ == nullptr || !mode_)
      return bad_param("backend-attribute", "the ENGINEHEUR descriptor lacks its %s",
                       graph_ == nullptr ? "operation graph" : "mode");
    const GraphNode& graph = graph_of(graph_);
    if (graph.convolution().refusal) {
      // No status tells the program why there is no engine; the log and the trace do.
      if (bridge::call().info != nullptr)
        bridge::report_refusal(bridge::call().info->row, *graph.convolution().refusal);
      return {};
    }
    if (*mode_ == CUDNN_HEUR_MODE_FALLBACK) {
      // For programs that found no plan of the first list usable, say for its workspace: the one that needs least.
      const Plan& plan = *graph.plan();
      int least = 0;
      for (int i = 1; i < static_cast<int>(plan.solutions().size()); ++i)
        if (plan.workspace_bytes(i, graph.convolution().scaled()) <
            plan.workspace_bytes(least, graph.convolution().scaled()))
          least = i;
      results_.push_back(make_config(least));
      return {};
    }
    for (std::int64_t i = 0; i < graph.engines(); ++i) results_.push_back(make_config(i));
    return {};
  }
  Status get(const Attribute& attribute, std::int64_t* count, void* data) const override {
    switch (attribute.name) {
      case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return give_nodes(attribute, results_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count, data);
      case CUDNN_ATTR_ENGINEHEUR_MODE:
        return give(attribute, CUDNN_TYPE_HEUR_MODE, &*mode_, 1, count, data);
      case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
        return give_nodes(attribute, {std::const_pointer_cast<Node>(graph_)}, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                          count, data);
      case CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET:
        return give(attribute, CUDNN_TYPE_INT32, &sm_target_, 1, count, data);
      default:
        return unknown_attribute(*this, attribute);
    }
  }

 private:
  std::shared_ptr<Node> make_config(std::int64_t index) const {
    return std::make_shared<EngineConfigNode>(std::make_shared<EngineNode>(graph_, index));
  }

  std::shared_ptr<const Node> graph_;
  std::optional<cudnnBackendHeurMode_t> mode_;
  std::int32_t sm_target_ = 0;
  std::vector<std::shared_ptr<Node>> results_;
};

}  // namespace

std::shared_ptr<Node> make_engine_node(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return std::make_shared<EngineNode>();
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return std::make_shared<EngineConfigNode>();
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return std::make_shared<HeuristicsNode>();
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      return std::make_shared<KnobChoiceNode>();
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return std::make_shared<PlanNode>();
    default:
      return nullptr;
  }
}

Status PlanNode::set(const Attribute& attribute, const void* data) {
  switch (attribute.name) {
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      return take_node(attribute, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, data, &config_);
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE: {
      cudnnHandle_t handle = nullptr;
      RB_TRY(take_one(attribute, CUDNN_TYPE_HANDLE, data, &handle));
      RB_TRY(std::move(handles().get(handle, "the plan's handle")).status());
      handle_ = handle;
      return {};
    }
    default:
      return unknown_attribute(*this, attribute);
  }
}

Status PlanNode::finalize() {
  if (config_ == nullptr || handle_ == nullptr)
    return bad_param("backend-attribute", "the EXECUTION_PLAN descriptor lacks its %s",
                     config_ == nullptr ? "engine configuration" : "handle");
  RB_TRY(bridge::device_ready());
  RB_ASSIGN(DnnHandle * handle, handles().get(handle_, "the plan's handle"));
  const EngineNode& engine = static_cast<const EngineConfigNode&>(*config_).engine();
  const GraphNode& graph = graph_of(engine.graph());
  const int solution = static_cast<int>(engine.index());
  {
    std::lock_guard lock(handle->lock.mutex);
    DeviceScope device;
    RB_TRY(device.enter(handle->device));
    RB_TRY(graph.plan()->compile(*handle, solution));
  }
  convolution_ = graph.convolution();
  plan_ = graph.plan();
  solution_ = solution;
  return {};
}

Status PlanNode::get(const Attribute& attribute, std::int64_t* count, void* data) const {
  switch (attribute.name) {
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const std::int64_t bytes = static_cast<std::int64_t>(workspace_bytes());
      return give(attribute, CUDNN_TYPE_INT64, &bytes, 1, count, data);
    }
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE:
      return give(attribute, CUDNN_TYPE_HANDLE, &handle_, 1, count, data);
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      return give_nodes(attribute, {std::const_pointer_cast<Node>(config_)}, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count,
                        data);
    case CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS:
    case CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS:
      return give<std::int64_t>(attribute, CUDNN_TYPE_INT64, nullptr, 0, count, data);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
      return not_supported("backend-attribute", "plans are not written down as text; build them anew");
    default:
      return unknown_attribute(*this, attribute);
  }
}

}  // namespace rb::dnn
