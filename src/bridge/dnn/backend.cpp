// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/backend.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "bridge/amd.hpp"
#include "bridge/dnn/backend_nodes.hpp"
#include "bridge/dnn/run.hpp"
#include "bridge/dnn_entries.hpp"
#include "bridge/memory_map.hpp"

namespace rb::dnn {
namespace {

/// Set after finalize, or get before it (cuDNN API reference: NOT_INITIALIZED in both cases).
Fault state_fault(const Node& node, const char* text) {
  Fault fault = bad_param("backend-state", "%s: %s", backend_type_name(node.type()), text);
  fault.native = CUDNN_STATUS_NOT_INITIALIZED;
  return fault;
}

Status check_pointer(const char* name, const void* pointer, std::int64_t alignment) {
  if (alignment > 1 && reinterpret_cast<std::uint64_t>(pointer) % static_cast<std::uint64_t>(alignment) != 0)
    return bad_param("buffer-misaligned",
                     "%s is %p, which is not a multiple of the %lld bytes that its descriptor promises", name, pointer,
                     static_cast<long long>(alignment));
  return {};
}

}  // namespace

BackendTable& backend_objects() {
  return bridge::table_of<BackendObject, bridge::Kind::backend>();
}

const char* backend_type_name(cudnnBackendDescriptorType_t type) {
  static const char* const names[] = {"POINTWISE",
                                      "CONVOLUTION",
                                      "ENGINE",
                                      "ENGINECFG",
                                      "ENGINEHEUR",
                                      "EXECUTION_PLAN",
                                      "INTERMEDIATE_INFO",
                                      "KNOB_CHOICE",
                                      "KNOB_INFO",
                                      "LAYOUT_INFO",
                                      "OPERATION_CONVOLUTION_FORWARD",
                                      "OPERATION_CONVOLUTION_BACKWARD_FILTER",
                                      "OPERATION_CONVOLUTION_BACKWARD_DATA",
                                      "OPERATION_POINTWISE",
                                      "OPERATION_GEN_STATS",
                                      "OPERATIONGRAPH",
                                      "VARIANT_PACK",
                                      "TENSOR",
                                      "MATMUL",
                                      "OPERATION_MATMUL",
                                      "OPERATION_BN_FINALIZE_STATISTICS",
                                      "REDUCTION",
                                      "OPERATION_REDUCTION",
                                      "OPERATION_BN_BWD_WEIGHTS",
                                      "RESAMPLE",
                                      "OPERATION_RESAMPLE_FWD",
                                      "OPERATION_RESAMPLE_BWD",
                                      "OPERATION_CONCAT",
                                      "OPERATION_SIGNAL",
                                      "OPERATION_NORM_FORWARD",
                                      "OPERATION_NORM_BACKWARD",
                                      "OPERATION_RESHAPE",
                                      "RNG",
                                      "OPERATION_RNG"};
  const int number = static_cast<int>(type);
  return number >= 0 && number < static_cast<int>(sizeof names / sizeof *names) ? names[number] : "unknown";
}

Fault attribute_fault(const Attribute& attribute, const char* format, ...) {
  char buffer[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return bad_param("backend-attribute", "attribute %d: %s", static_cast<int>(attribute.name), buffer);
}

Fault unknown_attribute(const Node& node, const Attribute& attribute) {
  return attribute_fault(attribute, "the %s descriptor has no such attribute for this call",
                         backend_type_name(node.type()));
}

std::shared_ptr<Node> make_node(cudnnBackendDescriptorType_t type) {
  if (auto node = make_tensor_node(type)) return node;
  if (auto node = make_operation_node(type)) return node;
  return make_engine_node(type);
}

Result<std::shared_ptr<Node>> node_of(const void* handle, const char* what) {
  RB_ASSIGN(BackendObject * object, backend_objects().get(handle, what));
  std::lock_guard lock(object->lock.mutex);
  // Looked up again under the lock: destroying takes it, too.
  if (backend_objects().find(handle) == nullptr || object->node == nullptr)
    return bridge::bad_handle(what, handle, bridge::Kind::backend);
  return object->node;
}

Result<std::shared_ptr<Node>> finished_node(const void* handle, cudnnBackendDescriptorType_t type, const char* what) {
  RB_ASSIGN(std::shared_ptr<Node> node, node_of(handle, what));
  if (node->type() != type)
    return bad_param("backend-attribute", "%s is a %s descriptor, not %s", what, backend_type_name(node->type()),
                     backend_type_name(type));
  if (!node->finalized())
    return bad_param("backend-state", "%s is a %s descriptor that was not finalised", what, backend_type_name(type));
  return node;
}

Status take_node(const Attribute& attribute, cudnnBackendDescriptorType_t type, const void* data,
                 std::shared_ptr<const Node>* out) {
  void* handle = nullptr;
  RB_TRY(take_one(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, data, &handle));
  RB_ASSIGN(*out, finished_node(handle, type, "the attribute's descriptor"));
  return {};
}

Status give_nodes(const Attribute& attribute, const std::vector<std::shared_ptr<Node>>& nodes,
                  cudnnBackendDescriptorType_t type, std::int64_t* count, void* data) {
  if (attribute.type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return attribute_fault(attribute, "its type is %d, not %d", static_cast<int>(CUDNN_TYPE_BACKEND_DESCRIPTOR),
                           static_cast<int>(attribute.type));
  if (attribute.count < 0)
    return attribute_fault(attribute, "%lld elements were asked for", static_cast<long long>(attribute.count));
  if (attribute.count == 0 || data == nullptr) {
    put(count, static_cast<std::int64_t>(nodes.size()));
    return {};
  }
  const std::size_t room = static_cast<std::size_t>(attribute.count);
  const std::size_t filled = nodes.size() < room ? nodes.size() : room;
  std::vector<void*> targets(filled);
  if (filled != 0) std::memcpy(targets.data(), data, filled * sizeof(void*));
  for (std::size_t i = 0; i < filled; ++i) {  // all are checked before the first is filled
    RB_ASSIGN(const std::shared_ptr<Node> target, node_of(targets[i], "an element of arrayOfElements"));
    if (target->type() != type)
      return attribute_fault(attribute, "element %zu is a %s descriptor, not %s", i, backend_type_name(target->type()),
                             backend_type_name(type));
  }
  for (std::size_t i = 0; i < filled; ++i) {
    RB_ASSIGN(BackendObject * object, backend_objects().get(targets[i], "an element of arrayOfElements"));
    std::shared_ptr<Node> released = nodes[i];
    std::lock_guard lock(object->lock.mutex);
    if (backend_objects().find(targets[i]) == object) std::swap(object->node, released);
  }
  put(count, static_cast<std::int64_t>(filled));
  return {};
}

Status backend_create_descriptor(cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return bad_param("null-pointer", "descriptor is null");
  std::shared_ptr<Node> node = make_node(descriptorType);
  if (node == nullptr) {
    // Measured on NVIDIA's own cuDNN 8: ALLOC_FAILED.
    Fault fault = bad_param("unknown-enum", "descriptor type %d is not one of cudnnBackendDescriptorType_t",
                            static_cast<int>(descriptorType));
    fault.native = CUDNN_STATUS_ALLOC_FAILED;
    return fault;
  }
  BackendObject* object = nullptr;
  RB_ASSIGN(const std::uint64_t handle, backend_objects().create(&object));
  object->node = std::move(node);
  *descriptor = bridge::to_handle<cudnnBackendDescriptor_t>(handle);
  return {};
}

Status backend_destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return {};
  RB_ASSIGN(BackendObject * object, backend_objects().get(descriptor, "descriptor"));
  std::shared_ptr<Node> released;  // destroyed after the lock is given back
  std::lock_guard lock(object->lock.mutex);
  // The node leaves the slot before the handle does: afterwards the slot may be given out again at any time.
  if (backend_objects().find(descriptor) == nullptr)
    return bridge::bad_handle("descriptor", descriptor, bridge::Kind::backend);
  released = std::move(object->node);
  object->node = nullptr;
  return backend_objects().destroy(descriptor, "descriptor");
}

Status backend_set_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                             cudnnBackendAttributeType_t attributeType, int64_t elementCount,
                             const void* arrayOfElements) {
  RB_ASSIGN(const std::shared_ptr<Node> node, node_of(descriptor, "descriptor"));
  const Attribute attribute{attributeName, attributeType, elementCount};
  if (elementCount < 0) return attribute_fault(attribute, "elementCount is %lld", static_cast<long long>(elementCount));
  if (elementCount > 0 && arrayOfElements == nullptr) return attribute_fault(attribute, "arrayOfElements is null");
  std::lock_guard lock(node->mutex());
  if (node->finalized()) return state_fault(*node, "it is finalised and cannot be set any more");
  return node->set(attribute, arrayOfElements);
}

Status backend_get_attribute(const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                             cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
                             int64_t* elementCount, void* arrayOfElements) {
  RB_ASSIGN(const std::shared_ptr<Node> node, node_of(descriptor, "descriptor"));
  if (!node->finalized()) return state_fault(*node, "it was not finalised and cannot be read yet");
  return node->get({attributeName, attributeType, requestedElementCount}, elementCount, arrayOfElements);
}

Status backend_finalize(cudnnBackendDescriptor_t descriptor) {
  RB_ASSIGN(const std::shared_ptr<Node> node, node_of(descriptor, "descriptor"));
  std::lock_guard lock(node->mutex());
  if (node->finalized()) return {};
  RB_TRY(node->finalize());
  node->mark_finalized();
  return {};
}

Status backend_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                       cudnnBackendDescriptor_t variantPack) {
  RB_TRY(bridge::device_ready());
  RB_ASSIGN(DnnHandle * object, handles().get(handle, "handle"));
  RB_ASSIGN(const std::shared_ptr<Node> plan_node,
            finished_node(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "executionPlan"));
  RB_ASSIGN(const std::shared_ptr<Node> pack_node,
            finished_node(variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variantPack"));
  const PlanNode& plan = static_cast<const PlanNode&>(*plan_node);
  const VariantPackNode& pack = static_cast<const VariantPackNode&>(*pack_node);
  const GraphConvolution& convolution = plan.convolution();
  if (object->device != plan.plan().problem().device)
    return bad_param("backend-attribute", "the plan was made for device %d; the handle is on device %d",
                     plan.plan().problem().device, object->device);
  Operands operands;
  struct {
    const char* name;
    std::int64_t id, alignment;
    void** pointer;
  } const wanted[] = {{"x", convolution.x_id, convolution.x_alignment, &operands.x},
                      {"w", convolution.w_id, convolution.w_alignment, &operands.w},
                      {"y", convolution.y_id, convolution.y_alignment, &operands.y}};
  for (const auto& tensor : wanted) {
    if (!pack.find(tensor.id, tensor.pointer))
      return bad_param("backend-attribute", "the variant pack has no pointer for tensor %s (unique id %lld)",
                       tensor.name, static_cast<long long>(tensor.id));
    RB_TRY(check_pointer(tensor.name, *tensor.pointer, tensor.alignment));
  }
  // The graph API gives no size with the workspace: what the plan reported must lie behind the pointer.
  const Workspace workspace{pack.workspace(), plan.workspace_bytes()};
  if (workspace.bytes != 0) RB_TRY(bridge::check_device_buffer(workspace.address, workspace.bytes, "the workspace"));
  return execute(*object, plan.plan(), plan.solution(), operands, workspace, convolution.alpha, convolution.beta);
}

}  // namespace rb::dnn
