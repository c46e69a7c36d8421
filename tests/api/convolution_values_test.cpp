// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Values of cudnnConvolutionForward, cudnnConvolutionBackwardData and cudnnConvolutionBackwardFilter against an fp64
// reference in this program: types, layouts, parameters, alpha and beta, modes, algorithms, workspaces, streams.
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "tests/api/dnn_support.hpp"

namespace dnn_test {
namespace {

constexpr Direction kDirections[] = {Direction::forward, Direction::data, Direction::filter};
constexpr cudnnDataType_t kTypes[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};

/// Every algorithm that the library offers; at least one.
void check_all(const Layer& layer, float alpha = 1, float beta = 0) {
  for (const Direction direction : kDirections) {
    int offered = 0;
    for (int algorithm = 0; algorithm < algorithms(direction); ++algorithm) {
      std::size_t bytes = 0;
      const cudnnStatus_t status = layer.workspace(direction, algorithm, &bytes);
      if (status == CUDNN_STATUS_NOT_SUPPORTED) continue;
      ASSERT_EQ(status, CUDNN_STATUS_SUCCESS);
      ++offered;
      layer.check(direction, algorithm, alpha, beta);
    }
    EXPECT_GE(offered, 2) << name_of(direction);
  }
}

/// The default algorithm of every direction.
void check_default(const Layer& layer, float alpha = 1, float beta = 0) {
  for (const Direction direction : kDirections) layer.check(direction, 1, alpha, beta);
}

TEST(ConvolutionValues, maps_every_algorithm_in_every_type) {
  for (const cudnnDataType_t type : kTypes) {
    SCOPED_TRACE(static_cast<int>(type));
    check_all(Layer(Shape{}, type));
  }
}

TEST(ConvolutionValues, maps_stride_padding_dilation_and_uneven_filters) {
  Shape strided;
  strided.stride_h = 2;
  strided.stride_w = 3;
  strided.pad_h = 2;
  strided.pad_w = 0;
  Shape dilated;
  dilated.dilation_h = 2;
  dilated.dilation_w = 3;
  dilated.pad_h = 3;
  Shape uneven;
  uneven.r = 1;
  uneven.s = 5;
  uneven.pad_h = 0;
  uneven.pad_w = 2;
  Shape one;
  one.r = one.s = 1;
  one.pad_h = one.pad_w = 0;
  Shape line;  // a 1-D convolution as frameworks pass it
  line.h = 1;
  line.r = 1;
  line.pad_h = 0;
  line.w = 33;
  for (const Shape& shape : {strided, dilated, uneven, one, line})
    for (const cudnnDataType_t type : kTypes) check_default(Layer(shape, type));
}

TEST(ConvolutionValues, maps_groups_and_depthwise) {
  Shape grouped;
  grouped.c = 8;
  grouped.k = 12;
  grouped.groups = 4;
  Shape depthwise;
  depthwise.c = depthwise.groups = 6;
  depthwise.k = 12;
  for (const Shape& shape : {grouped, depthwise})
    for (const cudnnDataType_t type : kTypes) {
      check_default(Layer(shape, type));
      check_default(Layer(shape, type, CUDNN_TENSOR_NHWC));
    }
}

TEST(ConvolutionValues, maps_channels_last) {
  for (const cudnnDataType_t type : kTypes) check_all(Layer(Shape{}, type, CUDNN_TENSOR_NHWC));
}

TEST(ConvolutionValues, maps_mixed_layouts_and_gaps) {
  const Shape shape;
  const Dims x = nchw(shape.x());
  Dims gap = x;  // a channel slice of a larger tensor, and rows with padding
  gap[0] = x[0] * 2;
  Dims rows{(shape.c * shape.h) * (shape.w + 3), shape.h * (shape.w + 3), shape.w + 3, 1};
  Dims y_gap = nchw(shape.y());
  y_gap[0] += 11;
  for (const cudnnDataType_t type : kTypes) {
    check_default(Layer(shape, type, nhwc(shape.x()), CUDNN_TENSOR_NCHW, nchw(shape.y()), false));
    check_default(Layer(shape, type, nchw(shape.x()), CUDNN_TENSOR_NHWC, nhwc(shape.y()), false));
    check_default(Layer(shape, type, gap, CUDNN_TENSOR_NCHW, y_gap, false));
    check_default(Layer(shape, type, rows, CUDNN_TENSOR_NCHW, nhwc(shape.y()), false));
  }
}

TEST(ConvolutionValues, maps_alpha_and_beta) {
  const float pairs[][2] = {{2, 0}, {1, 1}, {-0.5f, 3}, {0, 2}, {0, 0}, {1, -1}};
  for (const cudnnDataType_t type : kTypes)
    for (const auto& pair : pairs) check_default(Layer(Shape{}, type), pair[0], pair[1]);
  check_all(Layer(Shape{}, CUDNN_DATA_FLOAT), 0.75f, -2);
}

TEST(ConvolutionValues, maps_real_convolution_with_alpha_beta_and_gaps) {
  Shape shape;
  shape.s = 2;
  Dims gap = nchw(shape.x());
  gap[0] += 5;
  for (const cudnnDataType_t type : kTypes) {
    check_default(Layer(shape, type, CUDNN_TENSOR_NCHW, true));
    check_default(Layer(shape, type, CUDNN_TENSOR_NHWC, true), 2, 0.5f);
    check_default(Layer(shape, type, gap, CUDNN_TENSOR_NCHW, nhwc(shape.y()), true), -1, 1);
  }
}

TEST(ConvolutionValues, maps_beta_zero_over_nan) {
  for (const float alpha : {1.0f, 2.0f})
    for (const bool gaps : {false, true}) {
      const Shape shape;
      Dims strides = nchw(shape.y());
      if (gaps) strides[0] += 3;
      Layer layer(shape, CUDNN_DATA_FLOAT, nchw(shape.x()), CUDNN_TENSOR_NCHW, strides, false);
      layer.y.fill([] { return std::numeric_limits<double>::quiet_NaN(); });
      layer.check(Direction::forward, 1, alpha, 0);
    }
}

// The scale of alpha and beta also goes into a workspace that is large enough, beyond what the query reported.
TEST(ConvolutionValues, maps_alpha_and_beta_in_a_large_workspace) {
  const Layer layer(Shape{}, CUDNN_DATA_HALF);
  std::size_t bytes = 0;
  DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
  Device x(layer.x), w(layer.w), y(layer.y), work(bytes + (1u << 20));
  const float alpha = 3, beta = 0.25f;
  DNN_OK(layer.run(Direction::forward, 1, &alpha, &beta, x.get(), w.get(), y.get(), work.get(), work.bytes()));
  CUDA_OK(cudaDeviceSynchronize());
  HostTensor got = layer.y;
  y.download(&got);
  expect_close(got, reference_of(Direction::forward, layer.shape, false, layer.x, layer.w, layer.y), alpha, beta,
               layer.y, "large workspace");
}

// Public bug reports (MIOpen 1495 and others): skipped positions of a strided data gradient are exactly zero.
TEST(ConvolutionValues, maps_skipped_positions_of_strided_data_gradient_to_zero) {
  Shape shape;
  shape.n = 1;
  shape.c = 8;
  shape.k = 4;
  shape.h = shape.w = 2;
  shape.r = shape.s = 1;
  shape.pad_h = shape.pad_w = 0;
  shape.stride_h = shape.stride_w = 2;
  Layer layer(shape, CUDNN_DATA_FLOAT);
  layer.x.fill([] { return std::numeric_limits<double>::quiet_NaN(); });
  for (int algorithm = 0; algorithm < 2; ++algorithm) layer.check(Direction::data, algorithm, 1, 0);
}

// rocm-libraries 4998: each group depends on its own inputs only.
TEST(ConvolutionValues, maps_groups_with_constant_weights) {
  Shape shape;
  shape.n = 1;
  shape.c = 32;
  shape.h = shape.w = 16;
  shape.k = 32;
  shape.groups = 2;
  Layer layer(shape, CUDNN_DATA_HALF);
  int index = 0;
  layer.w.fill([&] { return index++ < 16 * 16 * 9 ? 0.125 : -0.5; });
  check_all(layer);
}

// MIOpen 670: a long reduction of the filter gradient is summed in fp32 and rounded once.
TEST(ConvolutionValues, maps_long_reductions_of_the_filter_gradient) {
  Shape shape;
  shape.n = 16;
  shape.c = 3;
  shape.k = 2;
  shape.h = shape.w = 28;
  shape.r = shape.s = 1;
  shape.pad_h = shape.pad_w = 0;
  Layer layer(shape, CUDNN_DATA_HALF);
  for (int algorithm = 0; algorithm < 2; ++algorithm) layer.check(Direction::filter, algorithm, 1, 0);
}

// rocm-libraries 11938: subnormal halves count; scaling by a power of two is lossless.
TEST(ConvolutionValues, maps_subnormal_halves) {
  for (const Direction direction : {Direction::data, Direction::filter}) {
    Layer layer(Shape{}, CUDNN_DATA_HALF);
    Random random(7);
    layer.y.fill([&] { return random.uniform() * 0x1p-15; });
    layer.check(direction, 1, 1, 0);
  }
}

// legacy-rocm-build 2748: 25 at every point.
TEST(ConvolutionValues, maps_depthwise_ones) {
  Shape shape;
  shape.n = 1;
  shape.c = shape.k = shape.groups = 3;
  shape.h = shape.w = 64;
  shape.r = shape.s = 5;
  shape.pad_h = shape.pad_w = 0;
  Layer layer(shape, CUDNN_DATA_FLOAT);
  layer.x.fill([] { return 1; });
  layer.w.fill([] { return 1; });
  Device x(layer.x), w(layer.w), y(layer.y);
  std::size_t bytes = 0;
  DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
  Device work(bytes);
  const float one = 1, zero = 0;
  DNN_OK(layer.run(Direction::forward, 1, &one, &zero, x.get(), w.get(), y.get(), work.get(), bytes));
  CUDA_OK(cudaDeviceSynchronize());
  HostTensor got = layer.y;
  y.download(&got);
  got.each([&](int a, int b, int c, int d) { ASSERT_EQ(got.at(a, b, c, d), 25.0); });
}

TEST(ConvolutionValues, maps_without_a_query) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  Device x(layer.x), w(layer.w), y(layer.y);
  const float one = 1, zero = 0;
  // A fresh problem and no workspace: the algorithm that needs least.
  DNN_OK(layer.run(Direction::forward, 0, &one, &zero, x.get(), w.get(), y.get(), nullptr, 0));
  CUDA_OK(cudaDeviceSynchronize());
  HostTensor got = layer.y;
  y.download(&got);
  expect_close(got, reference_of(Direction::forward, layer.shape, false, layer.x, layer.w, layer.y), 1, 0, layer.y,
               "no query");
}

// ---- streams --------------------------------------------------------------------------------------------------------

struct Gate {
  std::atomic<bool> open{false};
};
void wait_at_gate(void* data) {
  auto* gate = static_cast<Gate*>(data);
  while (!gate->open.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

TEST(ConvolutionStreams, maps_order_on_a_stream_with_an_asynchronous_producer) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT, nhwc(Shape{}.x()), CUDNN_TENSOR_NCHW, nchw(Shape{}.y()), true);
  cudaStream_t stream = nullptr, other = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, 1));
  CUDA_OK(cudaStreamCreateWithFlags(&other, 1));
  DNN_OK(cudnnSetStream(layer.handle, stream));
  cudaStream_t read = nullptr;
  DNN_OK(cudnnGetStream(layer.handle, &read));
  EXPECT_EQ(read, stream);
  std::size_t bytes = 0;
  DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
  Device x(layer.x.raw.size()), w(layer.w), y(layer.y), work(bytes), second(layer.y);
  void* pinned = nullptr;
  CUDA_OK(cudaHostAlloc(&pinned, layer.x.raw.size(), 0));
  std::memcpy(pinned, layer.x.raw.data(), layer.x.raw.size());
  CUDA_OK(cudaMemset(x.get(), 0, x.bytes()));
  CUDA_OK(cudaDeviceSynchronize());
  const float alpha = 2, beta = 1;
  // The first call plans; the one that is timed comes behind a blocked host function.
  DNN_OK(layer.run(Direction::forward, 1, &alpha, &beta, x.get(), w.get(), second.get(), work.get(), bytes));
  CUDA_OK(cudaStreamSynchronize(stream));

  Gate gate;
  CUDA_OK(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
  CUDA_OK(cudaMemcpyAsync(x.get(), pinned, layer.x.raw.size(), cudaMemcpyHostToDevice, stream));
  const auto begin = std::chrono::steady_clock::now();
  const cudnnStatus_t status =
      layer.run(Direction::forward, 1, &alpha, &beta, x.get(), w.get(), y.get(), work.get(), bytes);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(static_cast<int>(cudaStreamQuery(stream)), 600);
  EXPECT_EQ(static_cast<int>(cudaMemsetAsync(second.get(), 0, second.bytes(), other)), 0);
  EXPECT_EQ(static_cast<int>(cudaStreamSynchronize(other)), 0);
  gate.open = true;
  EXPECT_EQ(status, CUDNN_STATUS_SUCCESS);
  EXPECT_LT(took,
            std::chrono::milliseconds(200));  // it did not wait for the stream; the bench measures the real figure
  CUDA_OK(cudaStreamSynchronize(stream));
  HostTensor got = layer.y;
  y.download(&got);
  expect_close(got, reference_of(Direction::forward, layer.shape, true, layer.x, layer.w, layer.y), alpha, beta,
               layer.y, "behind a producer");
  DNN_OK(cudnnSetStream(layer.handle, nullptr));
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_OK(cudaStreamDestroy(other));
  CUDA_OK(cudaFreeHost(pinned));
}

// The handle's own scratch (alpha, beta) is handed from stream to stream in order.
TEST(ConvolutionStreams, maps_scratch_across_streams) {
  const Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  std::size_t bytes = 0;
  DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
  constexpr int kStreams = 4;
  cudaStream_t streams[kStreams];
  Device x(layer.x), w(layer.w);
  std::vector<std::unique_ptr<Device>> outputs, works;
  for (auto& stream : streams) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream, 1));
    outputs.push_back(std::make_unique<Device>(layer.y));
    works.push_back(std::make_unique<Device>(bytes));
  }
  CUDA_OK(cudaDeviceSynchronize());
  for (int round = 0; round < 8; ++round)
    for (int i = 0; i < kStreams; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const float alpha = static_cast<float>(i + 1), beta = 0;
      DNN_OK(cudnnSetStream(layer.handle, streams[i]));
      DNN_OK(layer.run(Direction::forward, 1, &alpha, &beta, x.get(), w.get(), outputs[at]->get(), works[at]->get(),
                       bytes));
    }
  CUDA_OK(cudaDeviceSynchronize());
  const Reference reference = reference_of(Direction::forward, layer.shape, false, layer.x, layer.w, layer.y);
  for (int i = 0; i < kStreams; ++i) {
    HostTensor got = layer.y;
    outputs[static_cast<std::size_t>(i)]->download(&got);
    expect_close(got, reference, i + 1, 0, layer.y, "stream " + std::to_string(i));
    CUDA_OK(cudaStreamDestroy(streams[i]));
  }
}

// ---- threads --------------------------------------------------------------------------------------------------------

void run_many(const Layer& layer, int rounds, std::atomic<int>* failures) {
  std::size_t bytes = 0;
  if (layer.workspace(Direction::forward, 1, &bytes) != CUDNN_STATUS_SUCCESS) ++*failures;
  Device x(layer.x), w(layer.w), y(layer.y), work(bytes);
  const Reference reference = reference_of(Direction::forward, layer.shape, false, layer.x, layer.w, layer.y);
  for (int i = 0; i < rounds; ++i) {
    const float alpha = 1.0f + static_cast<float>(i % 2), beta = 0;
    if (layer.run(Direction::forward, 1, &alpha, &beta, x.get(), w.get(), y.get(), work.get(), bytes) !=
        CUDNN_STATUS_SUCCESS)
      ++*failures;
    if (cudaDeviceSynchronize() != cudaSuccess) ++*failures;
    HostTensor got = layer.y;
    y.download(&got);
    expect_close(got, reference, alpha, 0, layer.y, "thread");
  }
}

TEST(ConvolutionThreads, maps_many_threads_with_a_handle_each) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      Shape shape;
      shape.k = 4 + i;
      const Layer layer(shape, kTypes[i % 3]);
      run_many(layer, 10, &failures);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(ConvolutionThreads, maps_many_threads_with_one_handle) {
  const Layer shared(Shape{}, CUDNN_DATA_FLOAT);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back([&] { run_many(shared, 10, &failures); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

// Descriptors that are set anew between calls: the plan follows, although the handles stay.
TEST(ConvolutionPlans, maps_descriptors_that_change) {
  Layer layer(Shape{}, CUDNN_DATA_FLOAT);
  for (const int pad : {1, 0, 1, 2, 0}) {
    layer.shape.pad_h = pad;
    DNN_OK(cudnnSetConvolution2dDescriptor(layer.conv, pad, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    const Dims dims = layer.shape.y(), strides = nchw(dims);
    DNN_OK(cudnnSetTensorNdDescriptor(layer.y_desc, CUDNN_DATA_FLOAT, 4, dims.data(), strides.data()));
    layer.y = HostTensor(CUDNN_DATA_FLOAT, dims, strides);
    layer.y.fill([] { return 0.5; });
    check_default(layer);
  }
}

}  // namespace
}  // namespace dnn_test
