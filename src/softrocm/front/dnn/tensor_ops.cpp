// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's element-wise tensor operations: op-tensor, set and scale (MIOpen 3.3, tensor_api.cpp).
#include <algorithm>
#include <cstring>

#include "base/half.hpp"
#include "soft/miopen_entries.h"
#include "softrocm/front/core.hpp"
#include "softrocm/front/dnn/objects.hpp"
#include "softrocm/front/scalar.hpp"

namespace soft::miopen {
namespace {

using wire::Element;
using Five = std::array<std::int64_t, 5>;

constexpr int kRank = 5;  ///< the operations take up to five dimensions

/// The values of a descriptor's dimensions, ones in front.
Five leading_ones(const std::array<std::int64_t, kMaxRank>& values, int rank) {
  Five result;
  result.fill(1);
  std::copy_n(values.begin(), rank, result.begin() + (kRank - rank));
  return result;
}

bool to_element(miopenDataType_t type, Element* element) {
  switch (type) {
    case miopenHalf:
      *element = Element::half;
      return true;
    case miopenFloat:
      *element = Element::single;
      return true;
    case miopenBFloat16:
      *element = Element::bfloat16;
      return true;
    case miopenDouble:
      *element = Element::real64;
      return true;
    case miopenInt32:
      *element = Element::int32;
      return true;
    case miopenInt8:
      *element = Element::int8;
      return true;
    default:
      return false;
  }
}

bool overlaps(const Tensor& t) {
  wire::Tensor4 inner{{1, 1, 1, 1}, {1, 1, 1, 1}};
  const int kept = std::min(t.rank, 4);
  std::copy_n(t.lengths.begin() + (t.rank - kept), kept, inner.lengths.begin());
  std::copy_n(t.strides.begin() + (t.rank - kept), kept, inner.strides.begin());
  if (!inner.is_injective()) return true;
  // A fifth, outermost dimension must step over the others.
  return t.rank == kRank && t.lengths[0] > 1 && t.strides[0] < inner.span();
}

miopenStatus_t check_memory(const char* entry, const char* name, const Tensor& tensor, Element element,
                            const void* data) {
  const auto bytes = static_cast<std::uint64_t>(tensor.span()) * wire::size_of(element);
  if (data && device_can_touch(data, bytes)) return miopenStatusSuccess;
  return refuse(miopenStatusBadParm, entry, "%s: %llu bytes at %p are not device memory", name,
                static_cast<unsigned long long>(bytes), data);
}

float read_float(const void* scalar) {
  float value;
  std::memcpy(&value, scalar, sizeof value);
  return value;
}

/// A scalar in the tensor's own type.
double read_scalar(Element element, const void* scalar) {
  const auto read = [&](auto type) {
    std::memcpy(&type, scalar, sizeof type);
    return type;
  };
  switch (element) {
    case Element::half:
      return rb::half_to_float(read(std::uint16_t{}));
    case Element::bfloat16:
      return rb::bfloat16_to_float(read(std::uint16_t{}));
    case Element::single:
      return read(float{});
    case Element::real64:
      return read(double{});
    case Element::int32:
      return read(std::int32_t{});
    case Element::int8:
      return read(std::int8_t{});
    default:
      return 0;
  }
}

miopenStatus_t fill(const char* entry, wire::DnnOperation operation, miopenHandle_t handle,
                    miopenTensorDescriptor_t descriptor, void* y, const void* alpha) {
  Handle* live = find(handle);
  const Tensor* live_y = find(descriptor);
  if (!live || !live_y || live_y->rank == 0 || !host_can_read(alpha))
    return refuse(miopenStatusBadParm, entry, "handle %p, descriptor %p, alpha %p", handle, descriptor, alpha);
  const Tensor tensor = *live_y;
  wire::FillTensor payload{};
  const bool known = to_element(tensor.type, &payload.element);
  const bool scale_lacks = payload.element == Element::bfloat16 || payload.element == Element::int8;
  if (!known || tensor.rank > kRank || (operation == wire::kScaleTensor && scale_lacks))
    return refuse(miopenStatusNotImplemented, entry, "data type %d, rank %d", tensor.type, tensor.rank);
  MIOPEN_TRY(check_memory(entry, "y", tensor, payload.element, y));
  payload.lengths = leading_ones(tensor.lengths, tensor.rank);
  payload.strides = leading_ones(tensor.strides, tensor.rank);
  payload.y = reinterpret_cast<std::uint64_t>(y);
  payload.alpha = read_scalar(payload.element, alpha);
  return from_hip(submit(live->stream, operation, &payload, sizeof payload), entry);
}

}  // namespace
}  // namespace soft::miopen

using namespace soft::miopen;

extern "C" {

miopenStatus_t soft_miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp, const void* alpha1,
                                   const miopenTensorDescriptor_t aDesc, const void* A, const void* alpha2,
                                   const miopenTensorDescriptor_t bDesc, const void* B, const void* beta,
                                   const miopenTensorDescriptor_t cDesc, void* C) {
  constexpr const char* kEntry = "miopenOpTensor";
  Handle* live = find(handle);
  const Tensor *live_a = find(aDesc), *live_b = find(bDesc), *live_c = find(cDesc);
  if (!live || !live_a || !live_b || !live_c || !soft::host_can_read(alpha1) || !soft::host_can_read(alpha2) ||
      !soft::host_can_read(beta))
    return refuse(miopenStatusBadParm, kEntry, "a handle or descriptor is not live or a scalar is not host memory");
  if (tensorOp < miopenTensorOpAdd || tensorOp > miopenTensorOpMax)
    return refuse(miopenStatusBadParm, kEntry, "operation %d is unknown", tensorOp);
  const Tensor a = *live_a, b = *live_b, c = *live_c;
  if (c.rank == 0 || c.rank > kRank || !a.same_lengths(c) || b.rank != c.rank)
    return refuse(miopenStatusBadParm, kEntry, "A and C need equal lengths and all one rank up to 5; A never repeats");
  for (int i = 0; i < c.rank; ++i)
    if (b.lengths[i] != 1 && b.lengths[i] != c.lengths[i])
      return refuse(miopenStatusBadParm, kEntry, "length %d of B is neither 1 nor that of C", i);
  if (a.type != c.type || b.type != c.type)
    return refuse(miopenStatusBadParm, kEntry, "data types %d, %d, %d", a.type, b.type, c.type);
  if (c.type != miopenFloat && c.type != miopenHalf)
    return refuse(miopenStatusNotImplemented, kEntry, "no kernel for data type %d", c.type);
  if (overlaps(c)) return refuse(miopenStatusBadParm, kEntry, "elements of C overlap");
  soft::wire::OpTensor payload{};
  payload.operation = static_cast<soft::wire::TensorOperation>(tensorOp);
  to_element(c.type, &payload.element);
  MIOPEN_TRY(check_memory(kEntry, "A", a, payload.element, A));
  MIOPEN_TRY(check_memory(kEntry, "B", b, payload.element, B));
  MIOPEN_TRY(check_memory(kEntry, "C", c, payload.element, C));
  payload.lengths = leading_ones(c.lengths, c.rank);
  payload.b_lengths = leading_ones(b.lengths, b.rank);
  payload.a_strides = leading_ones(a.strides, a.rank);
  payload.b_strides = leading_ones(b.strides, b.rank);
  payload.c_strides = leading_ones(c.strides, c.rank);
  // Always float, whatever the tensors' type.
  payload.alpha1 = read_float(alpha1);
  payload.alpha2 = read_float(alpha2);
  payload.beta = read_float(beta);
  payload.a = reinterpret_cast<std::uint64_t>(A);
  payload.b = reinterpret_cast<std::uint64_t>(B);
  payload.c = reinterpret_cast<std::uint64_t>(C);
  return from_hip(soft::submit(live->stream, soft::wire::kOpTensor, &payload, sizeof payload), kEntry);
}

miopenStatus_t soft_miopenSetTensor(miopenHandle_t handle, const miopenTensorDescriptor_t yDesc, void* y,
                                    const void* alpha) {
  return fill("miopenSetTensor", soft::wire::kSetTensor, handle, yDesc, y, alpha);
}

miopenStatus_t soft_miopenScaleTensor(miopenHandle_t handle, const miopenTensorDescriptor_t yDesc, void* y,
                                      const void* alpha) {
  return fill("miopenScaleTensor", soft::wire::kScaleTensor, handle, yDesc, y, alpha);
}

}  // extern "C"
