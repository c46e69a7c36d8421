// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen tensor descriptors: any rank up to 8, positive lengths and strides (MIOpen 3.3, TensorDescriptor).
#include <algorithm>
#include <limits>

#include "soft/miopen_entries.h"
#include "softrocm/front/dnn/objects.hpp"

namespace soft::miopen {

std::int64_t Tensor::span() const {
  std::int64_t last = 0;
  for (int i = 0; i < rank; ++i) last += (lengths[i] - 1) * strides[i];
  return last + 1;
}

bool Tensor::same_lengths(const Tensor& other) const {
  return rank == other.rank && std::equal(lengths.begin(), lengths.begin() + rank, other.lengths.begin());
}

namespace {

std::size_t element_size(miopenDataType_t type) {
  switch (type) {
    case miopenInt8:
    case miopenFloat8:
    case miopenBFloat8:
      return 1;
    case miopenHalf:
    case miopenBFloat16:
      return 2;
    case miopenFloat:
    case miopenInt32:
      return 4;
    case miopenDouble:
    case miopenInt64:
      return 8;
  }
  return 0;
}

/// Checks and stores; `strides` null: packed in the order of the dimensions.
template <class Length>
miopenStatus_t set(miopenTensorDescriptor_t descriptor, miopenDataType_t type, int rank, const Length* lengths,
                   const Length* strides, const char* entry) {
  Tensor* live = find(descriptor);
  if (!live) return refuse(miopenStatusBadParm, entry, "%p is no live tensor descriptor", descriptor);
  if (element_size(type) == 0) return refuse(miopenStatusBadParm, entry, "data type %d is unknown", type);
  if (rank < 1 || rank > kMaxRank || !lengths) return refuse(miopenStatusBadParm, entry, "rank %d", rank);
  Tensor tensor;
  tensor.type = type;
  tensor.rank = rank;
  // Bounded in 128 bits, so that no later sum over lengths and strides can overflow.
  __int128 count = 1, last = 0;
  for (int i = rank - 1; i >= 0; --i) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    const std::int64_t stride = strides ? static_cast<std::int64_t>(strides[i]) : static_cast<std::int64_t>(count);
    if (length <= 0)
      return refuse(miopenStatusBadParm, entry, "lengths[%d] is %lld", i, static_cast<long long>(length));
    if (stride <= 0)
      return refuse(miopenStatusBadParm, entry, "strides[%d] is %lld", i, static_cast<long long>(stride));
    tensor.lengths[i] = length;
    tensor.strides[i] = stride;
    count *= length;
    last += static_cast<__int128>(length - 1) * stride;
    if (count > (std::int64_t{1} << 58) || last > (std::int64_t{1} << 58))
      return refuse(miopenStatusBadParm, entry, "the tensor is larger than any memory");
  }
  *live = tensor;
  return miopenStatusSuccess;
}

/// A set descriptor's value; false if it is not live or not set.
bool copy(miopenTensorDescriptor_t descriptor, Tensor* out) {
  const Tensor* live = find(descriptor);
  if (!live || live->rank == 0) return false;
  *out = *live;
  return true;
}

int narrow(std::int64_t value) {
  return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
}

}  // namespace
}  // namespace soft::miopen

using namespace soft::miopen;

extern "C" {

miopenStatus_t soft_miopenCreateTensorDescriptor(miopenTensorDescriptor_t* tensorDesc) {
  constexpr const char* kEntry = "miopenCreateTensorDescriptor";
  return guarded(kEntry, [&] {
    MIOPEN_TRY(create(tensors(), tensorDesc, kEntry));
    *find(*tensorDesc) = Tensor{};
    return miopenStatusSuccess;
  });
}

miopenStatus_t soft_miopenDestroyTensorDescriptor(miopenTensorDescriptor_t tensorDesc) {
  if (!tensors().retire(tensorDesc))
    return refuse(miopenStatusBadParm, "miopenDestroyTensorDescriptor", "%p is no live tensor descriptor", tensorDesc);
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenSet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int n,
                                                int c, int h, int w) {
  const int lengths[] = {n, c, h, w};
  return set<int>(tensorDesc, dataType, 4, lengths, nullptr, "miopenSet4dTensorDescriptor");
}

miopenStatus_t soft_miopenSet4dTensorDescriptorEx(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType, int n,
                                                  int c, int h, int w, int nStride, int cStride, int hStride,
                                                  int wStride) {
  const int lengths[] = {n, c, h, w}, strides[] = {nStride, cStride, hStride, wStride};
  return set(tensorDesc, dataType, 4, lengths, strides, "miopenSet4dTensorDescriptorEx");
}

miopenStatus_t soft_miopenSetTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
                                              int nbDims, const int* dimsA, const int* stridesA) {
  return set(tensorDesc, dataType, nbDims, dimsA, stridesA, "miopenSetTensorDescriptor");
}

miopenStatus_t soft_miopenSetTensorDescriptorV2(miopenTensorDescriptor_t tensorDesc, miopenDataType_t dataType,
                                                int nbDims, const size_t* dimsA, const size_t* stridesA) {
  return set(tensorDesc, dataType, nbDims, dimsA, stridesA, "miopenSetTensorDescriptorV2");
}

miopenStatus_t soft_miopenSetNdTensorDescriptorWithLayout(miopenTensorDescriptor_t tensorDesc,
                                                          miopenDataType_t dataType, miopenTensorLayout_t tensorLayout,
                                                          const int* lens, int num_lens) {
  constexpr const char* kEntry = "miopenSetNdTensorDescriptorWithLayout";
  int rank = 0;
  switch (tensorLayout) {
    case miopenTensorNCHW:
    case miopenTensorNHWC:
    case miopenTensorCHWN:
      rank = 4;
      break;
    case miopenTensorNCDHW:
    case miopenTensorNDHWC:
      rank = 5;
      break;
    case miopenTensorNCHWc4:
    case miopenTensorNCHWc8:
    case miopenTensorCHWNc4:
    case miopenTensorCHWNc8:
      return refuse(miopenStatusNotImplemented, kEntry, "vectorised layout %d", tensorLayout);
    default:
      return refuse(miopenStatusBadParm, kEntry, "layout %d is unknown", tensorLayout);
  }
  if (!lens || num_lens != rank) return refuse(miopenStatusBadParm, kEntry, "%d lengths for rank %d", num_lens, rank);
  // Lengths are N, C, (D,) H, W whatever the layout; the layout says which dimension is the fastest.
  std::int64_t strides[5], lengths[5];
  std::copy_n(lens, rank, lengths);
  int order[5];  // from the fastest dimension
  int at = 0;
  if (tensorLayout == miopenTensorCHWN) order[at++] = 0;
  if (tensorLayout == miopenTensorNHWC || tensorLayout == miopenTensorNDHWC) order[at++] = 1;
  for (int i = rank - 1; i >= 0; --i)
    if (std::find(order, order + at, i) == order + at) order[at++] = i;
  std::int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    strides[order[i]] = stride;
    if (lengths[order[i]] <= 0 || __builtin_mul_overflow(stride, lengths[order[i]], &stride))
      return refuse(miopenStatusBadParm, kEntry, "lengths[%d] is %d", order[i], lens[order[i]]);
  }
  return set(tensorDesc, dataType, rank, lengths, strides, kEntry);
}

miopenStatus_t soft_miopenGet4dTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t* dataType, int* n,
                                                int* c, int* h, int* w, int* nStride, int* cStride, int* hStride,
                                                int* wStride) {
  Tensor tensor;
  if (!copy(tensorDesc, &tensor) || tensor.rank != 4)
    return refuse(miopenStatusBadParm, "miopenGet4dTensorDescriptor", "%p is no tensor descriptor of rank 4",
                  tensorDesc);
  if (dataType) *dataType = tensor.type;
  int* const lengths[] = {n, c, h, w};
  int* const strides[] = {nStride, cStride, hStride, wStride};
  for (int i = 0; i < 4; ++i) {
    if (lengths[i]) *lengths[i] = narrow(tensor.lengths[i]);
    if (strides[i]) *strides[i] = narrow(tensor.strides[i]);
  }
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetTensorDescriptor(miopenTensorDescriptor_t tensorDesc, miopenDataType_t* dataType,
                                              int* dimsA, int* stridesA) {
  Tensor tensor;
  if (!copy(tensorDesc, &tensor))
    return refuse(miopenStatusBadParm, "miopenGetTensorDescriptor", "%p is no set tensor descriptor", tensorDesc);
  if (dataType) *dataType = tensor.type;
  for (int i = 0; i < tensor.rank; ++i) {
    if (dimsA) dimsA[i] = narrow(tensor.lengths[i]);
    if (stridesA) stridesA[i] = narrow(tensor.strides[i]);
  }
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetTensorDescriptorSize(miopenTensorDescriptor_t tensorDesc, int* size) {
  const Tensor* live = find(tensorDesc);
  if (!live || !size)
    return refuse(miopenStatusBadParm, "miopenGetTensorDescriptorSize", "descriptor %p, result %p", tensorDesc, size);
  *size = live->rank;
  return miopenStatusSuccess;
}

miopenStatus_t soft_miopenGetTensorNumBytes(miopenTensorDescriptor_t tensorDesc, size_t* numBytes) {
  Tensor tensor;
  if (!copy(tensorDesc, &tensor) || !numBytes)
    return refuse(miopenStatusBadParm, "miopenGetTensorNumBytes", "descriptor %p, result %p", tensorDesc, numBytes);
  *numBytes = static_cast<size_t>(tensor.span()) * element_size(tensor.type);
  return miopenStatusSuccess;
}

}  // extern "C"
