// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/problem.hpp"

#include <algorithm>
#include <cstring>

namespace rb::dnn {
namespace {

bool is_packed_in(const Tensor4& tensor, const std::array<int, 4>& order) {
  std::int64_t expected = 1;
  for (int i = 3; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    if (tensor.dims[at] != 1 && tensor.strides[at] != expected) return false;
    expected *= tensor.dims[at];
  }
  return true;
}

/// Whether two indices can name the same element. Strides that nest (each at least the extent of the smaller ones) do
/// not; everything else counts as overlapping.
bool may_overlap(const Tensor4& tensor) {
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  std::int64_t extent = 1;
  for (const std::size_t at : order) {
    if (tensor.dims[at] == 1) continue;
    if (tensor.strides[at] < extent) return true;
    extent += (tensor.dims[at] - 1) * tensor.strides[at];
  }
  return false;
}

Status check_strides(const Tensor4& tensor, const char* name, bool written) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (tensor.dims[i] == 1) continue;
    if (tensor.strides[i] < 0)
      return not_supported("conv-layout", "%s: stride %zu is %lld; it runs backwards", name, i,
                           static_cast<long long>(tensor.strides[i]));
    if (tensor.strides[i] == 0)
      return not_supported("conv-layout", "%s: stride %zu is 0 for a length of %lld", name, i,
                           static_cast<long long>(tensor.dims[i]));
  }
  if (written && may_overlap(tensor))
    return not_supported("conv-layout", "%s: its strides name some element twice, so the result has no defined value",
                         name);
  return {};
}

std::string shape(const Tensor4& tensor) {
  return text("%lldx%lldx%lldx%lld", static_cast<long long>(tensor.dims[0]), static_cast<long long>(tensor.dims[1]),
              static_cast<long long>(tensor.dims[2]), static_cast<long long>(tensor.dims[3]));
}

const char* layout(const Tensor4& tensor) {
  return tensor.is_nchw() ? "NCHW" : tensor.is_nhwc() ? "NHWC" : "strided";
}

}  // namespace

const char* direction_name(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward_data:
      return "backward data";
    case Direction::backward_filter:
      return "backward filter";
  }
  return "";
}

std::int64_t Tensor4::extent() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < 4; ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

bool Tensor4::is_nchw() const {
  return is_packed_in(*this, {0, 1, 2, 3});
}
bool Tensor4::is_nhwc() const {
  return is_packed_in(*this, {0, 2, 3, 1});
}

Tensor4 Tensor4::packed(const std::array<std::int64_t, 4>& dims, bool nhwc) {
  Tensor4 out;
  out.dims = dims;
  if (nhwc)
    out.strides = {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
  else
    out.strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  return out;
}

bool Problem::operator==(const Problem& other) const {
  static_assert(std::has_unique_object_representations_v<Problem>);
  return std::memcmp(this, &other, sizeof *this) == 0;
}

std::uint64_t Problem::hash() const {
  std::uint64_t words[sizeof(Problem) / 8];
  static_assert(sizeof words == sizeof(Problem));
  std::memcpy(words, this, sizeof words);
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

const Tensor4& Problem::output() const {
  return direction == Direction::forward ? y : direction == Direction::backward_data ? x : w;
}

std::string Problem::describe() const {
  return text("%s %s x %s w %s pad %dx%d stride %dx%d dilation %dx%d groups %d %s%s", direction_name(direction),
              type_name(type), shape(x).c_str(), shape(w).c_str(), pad[0], pad[1], stride[0], stride[1], dilation[0],
              dilation[1], groups, layout(x), flip != 0 ? " flipped filter" : "");
}

std::int64_t output_length(std::int64_t in, std::int64_t filter, std::int64_t pad, std::int64_t stride,
                           std::int64_t dilation) {
  const std::int64_t room = in + 2 * pad - ((filter - 1) * dilation + 1);
  return room < 0 ? 0 : 1 + room / stride;
}

Status check_problem(const Problem& problem) {
  const Tensor4& x = problem.x;
  const Tensor4& w = problem.w;
  const Tensor4& y = problem.y;
  if (problem.groups < 1) return bad_param("conv-mismatch", "the group count is %d", problem.groups);
  if (x.dims[1] != w.dims[1] * problem.groups)
    return bad_param("conv-mismatch", "x has %lld channels; the filter has %lld in each of %d groups",
                     static_cast<long long>(x.dims[1]), static_cast<long long>(w.dims[1]), problem.groups);
  if (w.dims[0] % problem.groups != 0)
    return bad_param("conv-mismatch", "%lld filters cannot be shared out among %d groups",
                     static_cast<long long>(w.dims[0]), problem.groups);
  std::array<std::int64_t, 4> expected{x.dims[0], w.dims[0], 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    if (problem.pad[i] < 0 || problem.stride[i] < 1 || problem.dilation[i] < 1)
      return bad_param("conv-mismatch", "padding %d, stride %d, dilation %d; they must be at least 0, 1, 1",
                       problem.pad[i], problem.stride[i], problem.dilation[i]);
    expected[i + 2] =
        output_length(x.dims[i + 2], w.dims[i + 2], problem.pad[i], problem.stride[i], problem.dilation[i]);
    if (expected[i + 2] < 1)
      return bad_param("conv-mismatch",
                       "the filter (length %lld, dilation %d) does not fit into x (length %lld, padding %d)",
                       static_cast<long long>(w.dims[i + 2]), problem.dilation[i],
                       static_cast<long long>(x.dims[i + 2]), problem.pad[i]);
  }
  if (y.dims != expected) {
    Tensor4 wanted;
    wanted.dims = expected;
    return bad_param("conv-mismatch", "y is %s; x %s and w %s give %s", shape(y).c_str(), shape(x).c_str(),
                     shape(w).c_str(), shape(wanted).c_str());
  }
  RB_TRY(check_strides(x, "x", problem.direction == Direction::backward_data));
  RB_TRY(check_strides(w, "w", problem.direction == Direction::backward_filter));
  RB_TRY(check_strides(y, "y", problem.direction == Direction::forward));
  return {};
}

Result<Problem> make_problem(Direction direction, const TensorDescriptor& x, const FilterDescriptor& w,
                             const ConvolutionDescriptor& conv, const TensorDescriptor& y, int device) {
  if (x.rank == 0 || w.rank == 0 || conv.rank == 0 || y.rank == 0)
    return bad_param("conv-mismatch", "the %s descriptor was created but never set",
                     x.rank == 0      ? "x tensor"
                     : w.rank == 0    ? "filter"
                     : conv.rank == 0 ? "convolution"
                                      : "y tensor");
  if (x.rank != w.rank || x.rank != y.rank || x.rank != conv.rank + 2)
    return bad_param("conv-mismatch", "x has %d dimensions, the filter %d, y %d, the convolution %d spatial ones",
                     x.rank, w.rank, y.rank, conv.rank);
  if (x.type != w.type || x.type != y.type)
    return bad_param("conv-mismatch", "x is %s, the filter %s, y %s; they must be of one type", type_name(x.type),
                     type_name(w.type), type_name(y.type));
  if (conv.rank != 2)
    return not_supported("conv-3d", "a convolution with %d spatial dimensions; 2 are built", conv.rank);
  if (x.type != CUDNN_DATA_FLOAT && x.type != CUDNN_DATA_HALF && x.type != CUDNN_DATA_BFLOAT16)
    return not_supported("conv-type", "a convolution of %s tensors; fp32, fp16 and bf16 are built", type_name(x.type));
  if (conv.compute != CUDNN_DATA_FLOAT && !(conv.compute == x.type))
    return not_supported("conv-type", "compute type %s with %s tensors; AMD's library computes in fp32",
                         type_name(conv.compute), type_name(x.type));
  Problem problem;
  problem.direction = direction;
  problem.type = x.type;
  std::array<int, kMaxDims> filter_strides{};
  packed_strides(w.format, 4, w.dims.data(), filter_strides.data());
  for (std::size_t i = 0; i < 4; ++i) {
    problem.x.dims[i] = x.dims[i];
    problem.x.strides[i] = x.strides[i];
    problem.w.dims[i] = w.dims[i];
    problem.w.strides[i] = filter_strides[i];
    problem.y.dims[i] = y.dims[i];
    problem.y.strides[i] = y.strides[i];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    problem.pad[i] = conv.pad[i];
    problem.stride[i] = conv.stride[i];
    problem.dilation[i] = conv.dilation[i];
  }
  problem.groups = conv.groups;
  problem.flip = conv.mode == CUDNN_CONVOLUTION ? 1 : 0;
  problem.device = device;
  RB_TRY(check_problem(problem));
  return problem;
}

}  // namespace rb::dnn
