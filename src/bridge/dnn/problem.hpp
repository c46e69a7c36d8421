// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One convolution as the program asks for it, whichever of cuDNN's two APIs it used: sizes, strides, type, mode. Plain
// bytes, so that it serves as the key under which plans are remembered.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "bridge/dnn/descriptors.hpp"

namespace rb::dnn {

enum class Direction : std::uint32_t { forward = 0, backward_data = 1, backward_filter = 2 };
const char* direction_name(Direction direction);

/// Lengths and strides in elements, in the order N, C, H, W (filters K, C of one group, R, S).
struct Tensor4 {
  std::array<std::int64_t, 4> dims{};
  std::array<std::int64_t, 4> strides{};

  std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  /// Elements from the first to the end of the last one.
  std::int64_t extent() const;
  /// Whether elements follow each other without a gap in the order N, C, H, W (N, H, W, C). Strides of lengths 1 do not
  /// matter, so a tensor can be both.
  bool is_nchw() const;
  bool is_nhwc() const;
  static Tensor4 packed(const std::array<std::int64_t, 4>& dims, bool nhwc);
};

/// x and y are the tensors of the forward direction whatever the direction is: in backward data x stands for dx and y
/// for dy, in the filter gradient w stands for dw.
struct Problem {
  Direction direction = Direction::forward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Tensor4 x, w, y;
  std::array<std::int32_t, 2> pad{}, stride{}, dilation{};
  std::int32_t groups = 1;
  std::int32_t flip = 0;  ///< 1: real convolution, the filter is turned by 180 degrees
  std::int32_t device = 0;
  std::int32_t reserved = 0;

  bool operator==(const Problem&) const;
  std::uint64_t hash() const;
  /// The tensor that the direction writes: y, x (dx) or w (dw).
  const Tensor4& output() const;
  std::size_t element() const { return element_bytes(type); }
  /// "forward fp16 x 8x64x56x56 w 64x64x3x3 pad 1x1 stride 1x1 dilation 1x1 groups 1 NCHW"
  std::string describe() const;
};

/// 1 + (in + 2 pad - ((filter - 1) dilation + 1)) / stride (cuDNN API reference,
/// cudnnGetConvolution2dForwardOutputDim); 0 or less when the filter does not fit.
std::int64_t output_length(std::int64_t in, std::int64_t filter, std::int64_t pad, std::int64_t stride,
                           std::int64_t dilation);

/// From the descriptors of the classic API. Faults: bad_param when a descriptor is unset or they do not fit each other,
/// not_supported for types and ranks that are refused, with the reason.
Result<Problem> make_problem(Direction direction, const TensorDescriptor& x, const FilterDescriptor& w,
                             const ConvolutionDescriptor& conv, const TensorDescriptor& y, int device);

/// What a problem must keep to whichever API it came from: fitting sizes (bad_param), and strides that can be carried
/// out (not_supported).
Status check_problem(const Problem& problem);

}  // namespace rb::dnn
