// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// cuDNN's tensor, filter and convolution descriptors as the program set them. They are plain values: AMD's descriptors
// are made from them when a convolution is planned.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/cudnn8.h"
#include "base/result.hpp"
#include "bridge/handle.hpp"

namespace rb::dnn {

inline constexpr int kMaxDims = CUDNN_DIM_MAX;

/// Number of a descriptor's content, unique in the process: plans are remembered by it. 0: destroyed or never set.
/// Copies as a value, since slots of a handle table are assigned.
class Stamp {
 public:
  Stamp() = default;
  Stamp(const Stamp& other) { store(other.load()); }
  Stamp& operator=(const Stamp& other) {
    store(other.load());
    return *this;
  }
  std::uint64_t load() const { return value_.load(std::memory_order_relaxed); }
  void store(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  /// Takes a number that no content had before.
  void renew();

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Sizes and strides in elements, in the order N, C, then spatial.
struct TensorDescriptor {
  Stamp stamp;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;  ///< 0: never set
  std::array<int, kMaxDims> dims{};
  std::array<int, kMaxDims> strides{};
};

/// Sizes in the order K, C (of one group), then spatial; packed in the order that the format says.
struct FilterDescriptor {
  Stamp stamp;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int rank = 0;
  std::array<int, kMaxDims> dims{};
};

struct ConvolutionDescriptor {
  Stamp stamp;
  int rank = 0;  ///< spatial dimensions; 0: never set
  std::array<int, kMaxDims> pad{};
  std::array<int, kMaxDims> stride{};
  std::array<int, kMaxDims> dilation{};
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};

using TensorTable = bridge::HandleTable<TensorDescriptor, bridge::Kind::tensor>;
using FilterTable = bridge::HandleTable<FilterDescriptor, bridge::Kind::filter>;
using ConvolutionTable = bridge::HandleTable<ConvolutionDescriptor, bridge::Kind::convolution>;
TensorTable& tensors();
FilterTable& filters();
ConvolutionTable& convolutions();

/// Bytes of one element; 0 for a value that cudnnDataType_t does not list.
std::size_t element_bytes(cudnnDataType_t type);
const char* type_name(cudnnDataType_t type);

/// Faults with the cuDNN status they give: BAD_PARAM and NOT_SUPPORTED.
[[gnu::format(printf, 2, 3)]] Fault bad_param(const char* reason, const char* format, ...);
[[gnu::format(printf, 2, 3)]] Fault not_supported(const char* reason, const char* format, ...);

/// Checks sizes that a setter was given. Faults: bad_param for a rank below 3 or a size below 1, not_supported for more
/// than eight dimensions or more than 2^31 - 1 elements (measured: facts page on NVIDIA's own library).
Status check_dims(int rank, const int* dims);

/// Strides of a packed tensor in the order of a format (NCHW or NHWC).
void packed_strides(cudnnTensorFormat_t format, int rank, const int* dims, int* strides);

/// Bytes from a tensor's first element to the end of its last; strides count with their absolute value.
std::uint64_t extent_bytes(const TensorDescriptor& tensor);
std::uint64_t extent_bytes(const FilterDescriptor& filter);

template <class T>
void put(T* target, T value) {
  if (target != nullptr) *target = value;
}

}  // namespace rb::dnn
