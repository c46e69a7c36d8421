// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/dnn/problem.hpp"

#include <algorithm>
#include <limits>

#include "softrocm/front/core.hpp"

namespace soft::miopen {
namespace {

using wire::Element;
using wire::Tensor4;

Tensor4 to_wire(const Tensor& tensor) {
  Tensor4 result;
  std::copy_n(tensor.lengths.begin(), 4, result.lengths.begin());
  std::copy_n(tensor.strides.begin(), 4, result.strides.begin());
  return result;
}

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

miopenStatus_t check_buffer(const Call& call, const char* name, const void* buffer, std::uint64_t bytes) {
  if (!buffer) return refuse(miopenStatusBadParm, call.entry, "%s is null", name);
  if (!device_can_touch(buffer, bytes))
    return refuse(miopenStatusBadParm, call.entry, "%s: %llu bytes at %p are not device memory", name,
                  static_cast<unsigned long long>(bytes), buffer);
  return miopenStatusSuccess;
}

}  // namespace

miopenStatus_t forward_output(const ConvolutionDescriptor& c, const Tensor& x, const Tensor& w, const char* entry,
                              std::array<std::int64_t, 5>* lengths, int* rank) {
  *rank = c.spatial + 2;
  if (x.rank != *rank || w.rank != *rank)
    return refuse(miopenStatusBadParm, entry, "ranks %d and %d for %d spatial dimensions", x.rank, w.rank, c.spatial);
  if (x.type != w.type) return refuse(miopenStatusBadParm, entry, "data types %d and %d", x.type, w.type);
  if (c.mode == miopenTranspose) return refuse(miopenStatusUnsupportedOp, entry, "transposed mode is not built");
  if (w.lengths[1] * c.groups != x.lengths[1] || w.lengths[0] % c.groups != 0)
    return refuse(miopenStatusBadParm, entry, "%lld channels, filter %lld x %lld, %d groups",
                  static_cast<long long>(x.lengths[1]), static_cast<long long>(w.lengths[0]),
                  static_cast<long long>(w.lengths[1]), c.groups);
  (*lengths)[0] = x.lengths[0];
  (*lengths)[1] = w.lengths[0];
  for (int i = 0; i < c.spatial; ++i) {
    const std::int64_t filter = (w.lengths[i + 2] - 1) * c.dilation[i] + 1;
    const std::int64_t room = x.lengths[i + 2] + 2 * std::int64_t{c.pad[i]} - filter;
    if (room < 0)
      return refuse(miopenStatusBadParm, entry, "the filter is larger than the padded input in dimension %d", i);
    (*lengths)[i + 2] = room / c.stride[i] + 1;
  }
  return miopenStatusSuccess;
}

miopenStatus_t make_problem(const Call& call, Problem* problem) {
  problem->handle = find(call.handle);
  if (!problem->handle) return refuse(miopenStatusBadParm, call.entry, "%p is no live handle", call.handle);
  const ConvolutionDescriptor* live = find(call.convolution);
  const Tensor *live_x = find(call.x_desc), *live_w = find(call.w_desc), *live_y = find(call.y_desc);
  if (!live || !live_x || !live_w || !live_y)
    return refuse(miopenStatusBadParm, call.entry, "a descriptor is not live");
  const ConvolutionDescriptor c = *live;
  const Tensor x = *live_x, w = *live_w, y = *live_y;
  std::array<std::int64_t, 5> expected{};
  int rank = 0;
  MIOPEN_TRY(forward_output(c, x, w, call.entry, &expected, &rank));
  if (y.rank != rank || !std::equal(expected.begin(), expected.begin() + rank, y.lengths.begin()))
    return refuse(miopenStatusBadParm, call.entry, "the output's lengths do not follow from the others'");
  if (y.type != x.type) return refuse(miopenStatusBadParm, call.entry, "data types %d and %d", x.type, y.type);
  if (c.spatial != 2) return refuse(miopenStatusUnsupportedOp, call.entry, "3-D convolution is not built");

  wire::ConvolutionProblem& p = problem->wire;
  p = {};
  switch (x.type) {
    case miopenHalf:
      p.element = Element::half;
      break;
    case miopenFloat:
      p.element = Element::single;
      break;
    case miopenBFloat16:
      p.element = Element::bfloat16;
      break;
    default:
      return refuse(miopenStatusNotImplemented, call.entry, "no solver for data type %d", x.type);
  }
  p.direction = call.direction;
  p.x = to_wire(x);
  p.w = to_wire(w);
  p.y = to_wire(y);
  p.pad = {c.pad[0], c.pad[1]};
  p.stride = {c.stride[0], c.stride[1]};
  p.dilation = {c.dilation[0], c.dilation[1]};
  p.groups = c.groups;
  const Tensor4& output = call.direction == wire::Direction::forward         ? p.y
                          : call.direction == wire::Direction::backward_data ? p.x
                                                                             : p.w;
  if (!output.is_injective()) return refuse(miopenStatusBadParm, call.entry, "elements of the output overlap");
  problem->find_mode = c.find_mode;
  return miopenStatusSuccess;
}

miopenStatus_t check_buffers(const Call& call, const Problem& problem, const Buffers& buffers) {
  const wire::ConvolutionProblem& p = problem.wire;
  const auto bytes = [&](const Tensor4& tensor) {
    return static_cast<std::uint64_t>(tensor.span()) * wire::size_of(p.element);
  };
  MIOPEN_TRY(check_buffer(call, "x", buffers.x, bytes(p.x)));
  MIOPEN_TRY(check_buffer(call, "w", buffers.w, bytes(p.w)));
  return check_buffer(call, "y", buffers.y, bytes(p.y));
}

miopenStatus_t run(const Call& call, const Problem& problem, const wire::Solution& solution, const Buffers& buffers) {
  const std::uint64_t needed = wire::workspace_bytes(solution, problem.wire);
  if (needed > 0) {
    if (buffers.workspace_bytes < needed)
      return refuse(miopenStatusBadParm, call.entry, "%s needs %llu bytes of workspace, %zu given", solution.name,
                    static_cast<unsigned long long>(needed), buffers.workspace_bytes);
    MIOPEN_TRY(check_buffer(call, "the workspace", buffers.workspace, needed));
  }
  const wire::Convolution operation{problem.wire,
                                    solution.id,
                                    address(buffers.x),
                                    address(buffers.w),
                                    address(buffers.y),
                                    needed ? address(buffers.workspace) : 0,
                                    needed};
  return from_hip(submit(problem.handle->stream, wire::kConvolution, &operation, sizeof operation), call.entry);
}

std::string key(const wire::ConvolutionProblem& problem) {
  return {reinterpret_cast<const char*>(&problem), sizeof problem};
}

std::vector<Found> ranked(const Problem& problem) {
  std::vector<Found> result;
  {
    std::lock_guard lock(problem.handle->mutex);
    if (const auto found = problem.handle->found.find(key(problem.wire)); found != problem.handle->found.end())
      result = found->second;
  }
  // A model's figure does not compare with a measured one: what Find left out comes after what it measured.
  const auto measured = static_cast<std::ptrdiff_t>(result.size());
  const float slowest = result.empty() ? 0 : result.back().time;
  for (const auto& solution : wire::solutions(problem.wire.direction)) {
    const bool known = std::ranges::any_of(result, [&](const Found& f) { return f.solution == &solution; });
    if (!known && wire::is_applicable(solution, problem.wire))
      result.push_back({&solution, std::max(slowest, wire::modelled_time(solution, problem.wire))});
  }
  std::stable_sort(result.begin() + measured, result.end(),
                   [](const Found& a, const Found& b) { return a.time < b.time; });
  return result;
}

}  // namespace soft::miopen
