// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's operations as the executor calls them: payload and addresses checked, then the kernel.
#include <cstring>

#include "softrocm/engine/dnn/convolution.hpp"
#include "softrocm/engine/dnn/layout.hpp"
#include "softrocm/engine/dnn/tensor_ops.hpp"
#include "softrocm/engine/math/fault.hpp"

namespace soft::engine {
namespace {

using wire::Direction;
using wire::Tensor4;

template <class Payload>
bool read(const void* data, std::size_t size, Payload& payload) {
  if (size != sizeof payload) return false;
  std::memcpy(&payload, data, size);
  return true;
}

std::uint64_t bytes(const Tensor4& tensor, wire::Element element) {
  return static_cast<std::uint64_t>(tensor.span()) * wire::size_of(element);
}

const char* fault_name(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "conv-forward";
    case Direction::backward_data:
      return "conv-backward-data";
    case Direction::backward_weights:
      return "conv-backward-weights";
  }
  return "";
}

/// The last (n, c, h) row of a tensor.
Row last_row(const Tensor4& t, wire::Element element, void* data) {
  std::int64_t first = 0;
  for (int i = 0; i < 3; ++i) first += (t.lengths[i] - 1) * t.strides[i];
  return {static_cast<char*>(data) + first * static_cast<std::int64_t>(wire::size_of(element)), t.lengths[3],
          t.strides[3]};
}

void zero(const Tensor4& t, wire::Element element, void* data, unsigned threads) {
  const Scratch zeros(static_cast<std::size_t>(t.count()) * sizeof(float));
  std::memset(zeros.get(), 0, static_cast<std::size_t>(t.count()) * sizeof(float));
  unpack(t, element, zeros.floats(), data, threads);
}

Outcome convolution(Context& context, const void* data, std::size_t size) {
  wire::Convolution c;
  if (!read(data, size, c)) return Outcome::internal;
  const wire::ConvolutionProblem& p = c.problem;
  const ConvolutionMemory memory{context.memory(c.x, bytes(p.x, p.element)), context.memory(c.w, bytes(p.w, p.element)),
                                 context.memory(c.y, bytes(p.y, p.element)),
                                 c.workspace_bytes ? context.memory(c.workspace, c.workspace_bytes) : nullptr,
                                 c.workspace_bytes};
  if (!memory.x || !memory.w || !memory.y || (c.workspace_bytes && !memory.workspace)) return Outcome::invalid_address;
  const bool to_y = p.direction == Direction::forward, to_x = p.direction == Direction::backward_data;
  const Tensor4& output = to_y ? p.y : to_x ? p.x : p.w;
  void* written = to_y ? memory.y : to_x ? memory.x : memory.w;
  Outcome outcome = Outcome::ok;
  with_fault(
      context.fault(), fault_name(p.direction), p.element, last_row(output, p.element, written),
      [&] { outcome = run_convolution(p, c.solution, memory, context.threads()); },
      [&] { zero(output, p.element, written, context.threads()); });
  return outcome;
}

/// Bytes from the first to the last element.
std::uint64_t bytes(const std::array<std::int64_t, 5>& lengths, const std::array<std::int64_t, 5>& strides,
                    wire::Element element) {
  std::int64_t last = 0;
  for (int i = 0; i < 5; ++i) last += (lengths[i] - 1) * strides[i];
  return static_cast<std::uint64_t>(last + 1) * wire::size_of(element);
}

Outcome op_tensor_operation(Context& context, const void* data, std::size_t size) {
  wire::OpTensor o;
  if (!read(data, size, o)) return Outcome::internal;
  const void* a = context.memory(o.a, bytes(o.lengths, o.a_strides, o.element));
  const void* b = context.memory(o.b, bytes(o.b_lengths, o.b_strides, o.element));
  void* c = context.memory(o.c, bytes(o.lengths, o.c_strides, o.element));
  if (!a || !b || !c) return Outcome::invalid_address;
  return op_tensor(o, a, b, c, context.threads());
}

template <Outcome (*kKernel)(const wire::FillTensor&, void*)>
Outcome fill_operation(Context& context, const void* data, std::size_t size) {
  wire::FillTensor f;
  if (!read(data, size, f)) return Outcome::internal;
  void* y = context.memory(f.y, bytes(f.lengths, f.strides, f.element));
  return y ? kKernel(f, y) : Outcome::invalid_address;
}

/// No exception leaves a handler: the executor's worker is not the place to end a process.
template <Handler kHandler>
Outcome guarded(Context& context, const void* data, std::size_t size) try {
  return kHandler(context, data, size);
} catch (const std::bad_alloc&) {
  return Outcome::out_of_memory;
} catch (...) {
  return Outcome::internal;
}

}  // namespace

void register_dnn() {
  register_operation(wire::kConvolution, guarded<convolution>);
  register_operation(wire::kOpTensor, guarded<op_tensor_operation>);
  register_operation(wire::kSetTensor, guarded<fill_operation<set_tensor>>);
  register_operation(wire::kScaleTensor, guarded<fill_operation<scale_tensor>>);
}

}  // namespace soft::engine
