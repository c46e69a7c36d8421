// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuDNN's graph ("backend") API. A descriptor handle names a slot that points to a node; nodes are shared, and fixed
// once they are finalised. So a program may destroy its tensors, operation, graph and heuristics before it builds the
// plan (PyTorch does), and the library fills descriptors that the caller made by pointing them at finished nodes.
// Attribute numbers, types and counts: cuDNN API reference, "cudnn_backend", descriptor types.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridge/dnn/plan.hpp"

namespace rb::dnn {

/// What a Set or Get call carries.
struct Attribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t count;  ///< given, or asked for
};

class Node {
 public:
  explicit Node(cudnnBackendDescriptorType_t type) : type_(type) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  cudnnBackendDescriptorType_t type() const { return type_; }
  bool finalized() const { return finalized_.load(std::memory_order_acquire); }
  void mark_finalized() { finalized_.store(true, std::memory_order_release); }
  /// Held while the node is set or finalised.
  std::mutex& mutex() { return mutex_; }

  /// Takes a value over by copy. `data` is not null when count is above 0. Faults: bad_param, not_supported.
  virtual Status set(const Attribute& attribute, const void* data) = 0;
  /// Checks what was set; afterwards the node never changes.
  virtual Status finalize() = 0;
  /// Gives how many elements there are to `count` and at most attribute.count of them to `data`; either may be null.
  virtual Status get(const Attribute& attribute, std::int64_t* count, void* data) const = 0;

 private:
  cudnnBackendDescriptorType_t type_;
  std::atomic<bool> finalized_{false};
  std::mutex mutex_;
};

/// The slot behind a descriptor handle. The lock guards the pointer alone and is never held while another is taken: a
/// descriptor may name itself as its attribute.
struct BackendObject {
  std::shared_ptr<Node> node;
  SlotMutex lock;
};
using BackendTable = bridge::HandleTable<BackendObject, bridge::Kind::backend>;
BackendTable& backend_objects();

/// A new node of a type that cuDNN lists; null for an unknown number.
std::shared_ptr<Node> make_node(cudnnBackendDescriptorType_t type);
const char* backend_type_name(cudnnBackendDescriptorType_t type);

/// The node behind a handle. Faults: invalid_handle.
Result<std::shared_ptr<Node>> node_of(const void* handle, const char* what);
/// The same, finalised and of the type that is needed; bad_param otherwise.
Result<std::shared_ptr<Node>> finished_node(const void* handle, cudnnBackendDescriptorType_t type, const char* what);

// ---- helpers for attributes
// ------------------------------------------------------------------------------------------

[[gnu::format(printf, 2, 3)]] Fault attribute_fault(const Attribute& attribute, const char* format, ...);
/// The attribute is none of the descriptor's.
Fault unknown_attribute(const Node& node, const Attribute& attribute);

/// One value of a plain type.
template <class T>
Status take_one(const Attribute& attribute, cudnnBackendAttributeType_t type, const void* data, T* out) {
  if (attribute.type != type)
    return attribute_fault(attribute, "its type is %d, not %d", static_cast<int>(type),
                           static_cast<int>(attribute.type));
  if (attribute.count != 1)
    return attribute_fault(attribute, "it holds 1 element, not %lld", static_cast<long long>(attribute.count));
  __builtin_memcpy(out, data, sizeof(T));
  return {};
}

/// Between 1 and `most` values.
template <class T>
Status take_many(const Attribute& attribute, cudnnBackendAttributeType_t type, std::int64_t most, const void* data,
                 std::vector<T>* out) {
  if (attribute.type != type)
    return attribute_fault(attribute, "its type is %d, not %d", static_cast<int>(type),
                           static_cast<int>(attribute.type));
  if (attribute.count < 1 || attribute.count > most)
    return attribute_fault(attribute, "it holds 1 to %lld elements, not %lld", static_cast<long long>(most),
                           static_cast<long long>(attribute.count));
  std::vector<T> taken(static_cast<std::size_t>(attribute.count));
  __builtin_memcpy(taken.data(), data, taken.size() * sizeof(T));
  *out = std::move(taken);
  return {};
}

/// One finalised descriptor of a type.
Status take_node(const Attribute& attribute, cudnnBackendDescriptorType_t type, const void* data,
                 std::shared_ptr<const Node>* out);

/// Gives plain values to a Get call.
template <class T>
Status give(const Attribute& attribute, cudnnBackendAttributeType_t type, const T* values, std::size_t available,
            std::int64_t* count, void* data) {
  if (attribute.type != type)
    return attribute_fault(attribute, "its type is %d, not %d", static_cast<int>(type),
                           static_cast<int>(attribute.type));
  if (attribute.count < 0)
    return attribute_fault(attribute, "%lld elements were asked for", static_cast<long long>(attribute.count));
  put(count, static_cast<std::int64_t>(available));
  const std::size_t room = static_cast<std::size_t>(attribute.count);
  const std::size_t copied = available < room ? available : room;
  if (data != nullptr && copied != 0) __builtin_memcpy(data, values, copied * sizeof(T));
  return {};
}

/// Points descriptors that the caller made at nodes; `data` is an array of attribute.count handles. The count given is
/// the number available when none was asked for, else the number filled.
Status give_nodes(const Attribute& attribute, const std::vector<std::shared_ptr<Node>>& nodes,
                  cudnnBackendDescriptorType_t type, std::int64_t* count, void* data);

/// Makes the nodes of each family (backend_tensor.cpp, backend_operation.cpp, backend_engine.cpp); null for other
/// types.
std::shared_ptr<Node> make_tensor_node(cudnnBackendDescriptorType_t type);
std::shared_ptr<Node> make_operation_node(cudnnBackendDescriptorType_t type);
std::shared_ptr<Node> make_engine_node(cudnnBackendDescriptorType_t type);

}  // namespace rb::dnn
