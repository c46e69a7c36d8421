// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the cuDNN tests share: device tensors with strides, host values of every type, an fp64 reference of the three
// convolutions, and a convolution that is set up through cuDNN's API like in an application.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"
#include "base/half.hpp"

namespace dnn_test {

#define DNN_OK(call) ASSERT_EQ(static_cast<int>(call), static_cast<int>(CUDNN_STATUS_SUCCESS)) << #call
#define CUDA_OK(call) ASSERT_EQ(static_cast<int>(call), 0) << #call

inline std::size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

inline void store(cudnnDataType_t type, unsigned char* to, double value) {
  if (type == CUDNN_DATA_DOUBLE) {
    std::memcpy(to, &value, 8);
  } else if (type == CUDNN_DATA_FLOAT) {
    const float narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, 4);
  } else {
    const float narrow = static_cast<float>(value);
    const std::uint16_t bits = type == CUDNN_DATA_HALF ? rb::float_to_half(narrow) : rb::float_to_bfloat16(narrow);
    std::memcpy(to, &bits, 2);
  }
}

inline double load(cudnnDataType_t type, const unsigned char* from) {
  if (type == CUDNN_DATA_DOUBLE) {
    double value = 0;
    std::memcpy(&value, from, 8);
    return value;
  }
  if (type == CUDNN_DATA_FLOAT) {
    float value = 0;
    std::memcpy(&value, from, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, 2);
  return type == CUDNN_DATA_HALF ? rb::half_to_float(bits) : rb::bfloat16_to_float(bits);
}

/// Rounding unit of the type.
inline double unit_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF ? 0x1p-11 : type == CUDNN_DATA_BFLOAT16 ? 0x1p-8 : 0x1p-24;
}

struct Random {
  explicit Random(std::uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 88172645463325252u) {}
  std::uint64_t state;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  /// Uniform in [-1, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }
};

using Dims = std::array<int, 4>;

inline Dims nchw(const Dims& d) {
  return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}
inline Dims nhwc(const Dims& d) {
  return {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
}

/// A tensor on the host with strides; `values` holds its elements in index order, `raw` its bytes with gaps.
struct HostTensor {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dims dims{}, strides{};
  std::vector<unsigned char> raw;

  HostTensor() = default;
  HostTensor(cudnnDataType_t t, const Dims& d, const Dims& s) : type(t), dims(d), strides(s) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < 4; ++i) last += static_cast<std::size_t>(d[i] - 1) * static_cast<std::size_t>(s[i]);
    raw.assign((last + 1) * bytes_of(t), 0xA5);
  }
  std::size_t offset(int a, int b, int c, int d) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(strides[0]) +
           static_cast<std::size_t>(b) * static_cast<std::size_t>(strides[1]) +
           static_cast<std::size_t>(c) * static_cast<std::size_t>(strides[2]) +
           static_cast<std::size_t>(d) * static_cast<std::size_t>(strides[3]);
  }
  double at(int a, int b, int c, int d) const { return load(type, raw.data() + offset(a, b, c, d) * bytes_of(type)); }
  void put(int a, int b, int c, int d, double value) {
    store(type, raw.data() + offset(a, b, c, d) * bytes_of(type), value);
  }
  void each(const std::function<void(int, int, int, int)>& visit) const {
    for (int a = 0; a < dims[0]; ++a)
      for (int b = 0; b < dims[1]; ++b)
        for (int c = 0; c < dims[2]; ++c)
          for (int d = 0; d < dims[3]; ++d) visit(a, b, c, d);
  }
  void fill(const std::function<double()>& make) {
    each([&](int a, int b, int c, int d) { put(a, b, c, d, make()); });
  }
  /// Marks the bytes that belong to elements.
  std::vector<bool> owned() const {
    std::vector<bool> mine(raw.size(), false);
    each([&](int a, int b, int c, int d) {
      for (std::size_t i = 0; i < bytes_of(type); ++i) mine[offset(a, b, c, d) * bytes_of(type) + i] = true;
    });
    return mine;
  }
};

/// Device memory with the content of a host tensor.
class Device {
 public:
  Device() = default;
  explicit Device(std::size_t bytes) { allocate(bytes); }
  explicit Device(const HostTensor& tensor) {
    allocate(tensor.raw.size());
    EXPECT_EQ(static_cast<int>(cudaMemcpy(data_, tensor.raw.data(), tensor.raw.size(), cudaMemcpyHostToDevice)), 0);
  }
  ~Device() {
    if (data_ != nullptr) cudaFree(data_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  void allocate(std::size_t bytes) {
    bytes_ = bytes;
    if (bytes == 0) return;
    EXPECT_EQ(static_cast<int>(cudaMalloc(&data_, bytes)), 0);
  }
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void download(HostTensor* tensor) const {
    EXPECT_EQ(static_cast<int>(cudaMemcpy(tensor->raw.data(), data_, tensor->raw.size(), cudaMemcpyDeviceToHost)), 0);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

enum class Direction { forward, data, filter };
inline const char* name_of(Direction direction) {
  return direction == Direction::forward ? "forward" : direction == Direction::data ? "data" : "filter";
}
inline int algorithms(Direction direction) {
  return direction == Direction::forward ? 8 : direction == Direction::data ? 6 : 7;
}

/// A layer: sizes and parameters.
struct Shape {
  int n = 2, c = 4, h = 9, w = 8;
  int k = 6, r = 3, s = 3;
  int pad_h = 1, pad_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int groups = 1;
  Dims x() const { return {n, c, h, w}; }
  Dims filter() const { return {k, c / groups, r, s}; }
  int out_h() const { return 1 + (h + 2 * pad_h - ((r - 1) * dilation_h + 1)) / stride_h; }
  int out_w() const { return 1 + (w + 2 * pad_w - ((s - 1) * dilation_w + 1)) / stride_w; }
  Dims y() const { return {n, k, out_h(), out_w()}; }
};

/// Reference of one direction with the bound of each element: sums of products and of their squares in fp64.
struct Reference {
  std::vector<double> value, squares, magnitudes;
};

/// The output before alpha and beta, from x, w and y (whichever of them the direction reads), in index order.
inline Reference reference_of(Direction direction, const Shape& shape, bool flip, const HostTensor& x,
                              const HostTensor& w, const HostTensor& y) {
  const Dims out = direction == Direction::forward ? shape.y()
                   : direction == Direction::data  ? shape.x()
                                                   : shape.filter();
  const std::size_t count = static_cast<std::size_t>(out[0]) * static_cast<std::size_t>(out[1]) *
                            static_cast<std::size_t>(out[2]) * static_cast<std::size_t>(out[3]);
  Reference reference;
  reference.value.assign(count, 0);
  reference.squares.assign(count, 0);
  reference.magnitudes.assign(count, 0);
  const auto index = [&](int a, int b, int c, int d) {
    return ((static_cast<std::size_t>(a) * static_cast<std::size_t>(out[1]) + static_cast<std::size_t>(b)) *
                static_cast<std::size_t>(out[2]) +
            static_cast<std::size_t>(c)) *
               static_cast<std::size_t>(out[3]) +
           static_cast<std::size_t>(d);
  };
  const int group_k = shape.k / shape.groups;
  const int group_c = shape.c / shape.groups;
  for (int n = 0; n < shape.n; ++n)
    for (int k = 0; k < shape.k; ++k)
      for (int oh = 0; oh < shape.out_h(); ++oh)
        for (int ow = 0; ow < shape.out_w(); ++ow)
          for (int c = 0; c < group_c; ++c)
            for (int r = 0; r < shape.r; ++r)
              for (int s = 0; s < shape.s; ++s) {
                const int ih = oh * shape.stride_h - shape.pad_h + r * shape.dilation_h;
                const int iw = ow * shape.stride_w - shape.pad_w + s * shape.dilation_w;
                if (ih < 0 || iw < 0 || ih >= shape.h || iw >= shape.w) continue;
                const int fr = flip ? shape.r - 1 - r : r;
                const int fs = flip ? shape.s - 1 - s : s;
                const int ic = k / group_k * group_c + c;
                double product = 0;
                std::size_t at = 0;
                if (direction == Direction::forward) {
                  product = x.at(n, ic, ih, iw) * w.at(k, c, fr, fs);
                  at = index(n, k, oh, ow);
                } else if (direction == Direction::data) {
                  product = y.at(n, k, oh, ow) * w.at(k, c, fr, fs);
                  at = index(n, ic, ih, iw);
                } else {
                  product = x.at(n, ic, ih, iw) * y.at(n, k, oh, ow);
                  at = index(k, c, fr, fs);
                }
                reference.value[at] += product;
                reference.squares[at] += product * product;
                reference.magnitudes[at] += std::fabs(product);
              }
  return reference;
}

/// Compares an output with alpha * reference + beta * prior. The bound follows from the data: one rounding of the
/// result, one more of the plain result where alpha and beta are applied after it, and fp32 sums.
inline void expect_close(const HostTensor& got, const Reference& reference, double alpha, double beta,
                         const HostTensor& prior, const std::string& what) {
  const double unit = unit_of(got.type);
  const bool staged = alpha != 1 || beta != 0;
  std::size_t i = 0;
  int wrong = 0;
  got.each([&](int a, int b, int c, int d) {
    const double plain = reference.value[i];
    const double kept = beta == 0 ? 0 : beta * prior.at(a, b, c, d);  // with beta 0 the prior content is not read
    const double wanted = alpha * plain + kept;
    double tolerance =
        unit * std::fabs(wanted) +
        std::fabs(alpha) * 16 * 0x1p-24 * (std::sqrt(reference.squares[i]) + reference.magnitudes[i] * 0.25);
    if (staged) tolerance += unit * std::fabs(alpha * plain) + 0x1p-23 * std::fabs(kept);
    if (got.type == CUDNN_DATA_HALF) tolerance += 0x1p-24;
    const double value = got.at(a, b, c, d);
    if (!(std::fabs(value - wanted) <= tolerance) && ++wrong <= 3)
      ADD_FAILURE() << what << ": element " << a << "," << b << "," << c << "," << d << " is " << value << ", wanted "
                    << wanted << " +- " << tolerance;
    ++i;
  });
  EXPECT_EQ(wrong, 0) << what;
}

/// The bytes between elements must be what they were.
inline void expect_gaps_kept(const HostTensor& got, const HostTensor& prior, const std::string& what) {
  const std::vector<bool> mine = got.owned();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i]) continue;
    ASSERT_EQ(got.raw[i], prior.raw[i]) << what << ": byte " << i << " between elements was overwritten";
  }
}

/// A convolution set up through the classic API.
struct Layer {
  Shape shape;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dims x_strides{}, y_strides{};
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  bool flip = false;
  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t x_desc = nullptr, y_desc = nullptr;
  cudnnFilterDescriptor_t w_desc = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  HostTensor x, w, y;

  Layer(const Shape& s, cudnnDataType_t t, cudnnTensorFormat_t f = CUDNN_TENSOR_NCHW, bool real_convolution = false)
      : Layer(s, t, f == CUDNN_TENSOR_NHWC ? nhwc(s.x()) : nchw(s.x()), f,
              f == CUDNN_TENSOR_NHWC ? nhwc(s.y()) : nchw(s.y()), real_convolution) {}

  Layer(const Shape& s, cudnnDataType_t t, const Dims& xs, cudnnTensorFormat_t f, const Dims& ys, bool real_convolution)
      : shape(s), type(t), x_strides(xs), y_strides(ys), format(f), flip(real_convolution) {
    EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateTensorDescriptor(&x_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateTensorDescriptor(&y_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateFilterDescriptor(&w_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateConvolutionDescriptor(&conv), CUDNN_STATUS_SUCCESS);
    const Dims xd = s.x(), wd = s.filter(), yd = s.y();
    EXPECT_EQ(cudnnSetTensorNdDescriptor(x_desc, t, 4, xd.data(), xs.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetTensorNdDescriptor(y_desc, t, 4, yd.data(), ys.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetFilterNdDescriptor(w_desc, t, f, 4, wd.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetConvolution2dDescriptor(
                  conv, s.pad_h, s.pad_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w,
                  real_convolution ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetConvolutionGroupCount(conv, s.groups), CUDNN_STATUS_SUCCESS);
    x = HostTensor(t, xd, xs);
    w = HostTensor(t, wd, f == CUDNN_TENSOR_NHWC ? nhwc(wd) : nchw(wd));
    y = HostTensor(t, yd, ys);
    Random random(static_cast<std::uint64_t>(s.c * 131 + s.k * 17 + s.r));
    for (HostTensor* tensor : {&x, &w, &y}) tensor->fill([&] { return random.uniform(); });
  }
  ~Layer() {
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroyFilterDescriptor(w_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroy(handle);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const HostTensor& output(Direction direction) const {
    return direction == Direction::forward ? y : direction == Direction::data ? x : w;
  }

  cudnnStatus_t workspace(Direction direction, int algorithm, std::size_t* bytes) const {
    switch (direction) {
      case Direction::forward:
        return cudnnGetConvolutionForwardWorkspaceSize(handle, x_desc, w_desc, conv, y_desc,
                                                       static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), bytes);
      case Direction::data:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, w_desc, y_desc, conv, x_desc, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), bytes);
      default:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle, x_desc, y_desc, conv, w_desc, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), bytes);
    }
  }

  cudnnStatus_t run(Direction direction, int algorithm, const void* alpha, const void* beta, void* xp, void* wp,
                    void* yp, void* work, std::size_t bytes) const {
    switch (direction) {
      case Direction::forward:
        return cudnnConvolutionForward(handle, alpha, x_desc, xp, w_desc, wp, conv,
                                       static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), work, bytes, beta, y_desc,
                                       yp);
      case Direction::data:
        return cudnnConvolutionBackwardData(handle, alpha, w_desc, wp, y_desc, yp, conv,
                                            static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), work, bytes, beta,
                                            x_desc, xp);
      default:
        return cudnnConvolutionBackwardFilter(handle, alpha, x_desc, xp, y_desc, yp, conv,
                                              static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), work, bytes,
                                              beta, w_desc, wp);
    }
  }

  /// Runs one algorithm with exactly the queried workspace and compares everything.
  void check(Direction direction, int algorithm, float alpha, float beta) const {
    const std::string what = std::string(name_of(direction)) + " algorithm " + std::to_string(algorithm) + " alpha " +
                             std::to_string(alpha) + " beta " + std::to_string(beta);
    std::size_t bytes = 0;
    DNN_OK(workspace(direction, algorithm, &bytes));
    Device dx(x), dw(w), dy(y), work(bytes);
    DNN_OK(run(direction, algorithm, &alpha, &beta, dx.get(), dw.get(), dy.get(), work.get(), bytes));
    CUDA_OK(cudaDeviceSynchronize());
    HostTensor got = output(direction);
    (direction == Direction::forward ? dy : direction == Direction::data ? dx : dw).download(&got);
    expect_close(got, reference_of(direction, shape, flip, x, w, y), alpha, beta, output(direction), what);
    expect_gaps_kept(got, output(direction), what);
  }
};

}  // namespace dnn_test
