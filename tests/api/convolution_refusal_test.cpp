// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the classic convolutions answer about algorithms and what they refuse: exact workspaces, bad operands, shapes
// that do not fit, types and ranks that are not built. Nothing here may crash or write where it must not.
#include <climits>
#include <cstdlib>

#include "tests/api/dnn_support.hpp"

namespace dnn_test {
namespace {

/// A small device, so that a test can fill it.
[[maybe_unused]] const int kSmallDevice = setenv("ROCBRIDGE_SOFT_MEMORY", "134217728", 0);

constexpr Direction kDirections[] = {Direction::forward, Direction::data, Direction::filter};

class ConvolutionCalls : public ::testing::Test {
 protected:
  ConvolutionCalls() : layer(Shape{}, CUDNN_DATA_FLOAT), x(layer.x), w(layer.w), y(layer.y), work(1u << 22) {}
  cudnnStatus_t run(Direction direction, void* xp, void* wp, void* yp, void* workspace, std::size_t bytes,
                    int algorithm = 1) const {
    return layer.run(direction, algorithm, &one, &zero, xp, wp, yp, workspace, bytes);
  }
  cudnnStatus_t run(Direction direction) const {
    return run(direction, x.get(), w.get(), y.get(), work.get(), work.bytes());
  }

  Layer layer;
  Device x, w, y, work;
  float one = 1, zero = 0;
};

TEST_F(ConvolutionCalls, maps_exact_workspaces_and_rejects_one_byte_less) {
  int with_workspace = 0;
  for (const Direction direction : kDirections)
    for (int algorithm = 0; algorithm < algorithms(direction); ++algorithm) {
      std::size_t bytes = 0;
      if (layer.workspace(direction, algorithm, &bytes) != CUDNN_STATUS_SUCCESS) continue;
      EXPECT_EQ(run(direction, x.get(), w.get(), y.get(), work.get(), bytes, algorithm), CUDNN_STATUS_SUCCESS);
      if (bytes == 0) continue;
      ++with_workspace;
      EXPECT_EQ(run(direction, x.get(), w.get(), y.get(), work.get(), bytes - 1, algorithm), CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(run(direction, x.get(), w.get(), y.get(), nullptr, bytes, algorithm), CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(run(direction, x.get(), w.get(), y.get(), nullptr, 0, algorithm), CUDNN_STATUS_BAD_PARAM);
      Device shorter(bytes / 2);
      EXPECT_EQ(run(direction, x.get(), w.get(), y.get(), shorter.get(), bytes, algorithm), CUDNN_STATUS_BAD_PARAM)
          << "the buffer is shorter than it says";
      std::size_t again = 0;
      DNN_OK(layer.workspace(direction, algorithm, &again));
      EXPECT_EQ(again, bytes) << "the answer does not change";
    }
  EXPECT_GT(with_workspace, 0);
  CUDA_OK(cudaDeviceSynchronize());
}

// The answer must not depend on how much memory is left (MIOpen 90).
TEST_F(ConvolutionCalls, maps_workspace_sizes_when_memory_is_nearly_full) {
  std::size_t before = 0, after = 0, free_bytes = 0, total = 0;
  DNN_OK(layer.workspace(Direction::forward, 2, &before));
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total));
  void* hog = nullptr;
  CUDA_OK(cudaMalloc(&hog, free_bytes / 20 * 19));
  cudnnHandle_t other = nullptr;
  DNN_OK(cudnnCreate(&other));
  DNN_OK(cudnnGetConvolutionForwardWorkspaceSize(other, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_GEMM, &after));
  EXPECT_EQ(before, after);
  DNN_OK(cudnnDestroy(other));
  CUDA_OK(cudaFree(hog));
}

TEST_F(ConvolutionCalls, rejects_scratch_and_searches_when_memory_is_full) {
  std::size_t bytes = 0, free_bytes = 0, total = 0;
  DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total));
  std::vector<void*> hogs;
  for (std::size_t size = free_bytes; size >= 256; size /= 2) {
    void* hog = nullptr;
    while (cudaMalloc(&hog, size) == cudaSuccess) hogs.push_back(hog);
  }
  cudaGetLastError();
  const float two = 2;
  const auto scaled = [&] {
    return layer.run(Direction::forward, 1, &two, &zero, x.get(), w.get(), y.get(), work.get(), bytes);
  };
  EXPECT_EQ(scaled(), CUDNN_STATUS_ALLOC_FAILED);
  cudnnConvolutionFwdAlgoPerf_t result;
  int returned = 0;
  EXPECT_EQ(cudnnFindConvolutionForwardAlgorithm(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, 1,
                                                 &returned, &result),
            CUDNN_STATUS_ALLOC_FAILED);
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_SUCCESS) << "what needs no memory still runs";
  for (void* hog : hogs) CUDA_OK(cudaFree(hog));
  EXPECT_EQ(scaled(), CUDNN_STATUS_SUCCESS) << "and the rest does again";
  CUDA_OK(cudaDeviceSynchronize());
}

template <class Perf, class Get>
void check_results(const Layer& layer, Direction direction, int room, Get&& get) {
  std::vector<Perf> results(static_cast<std::size_t>(room) + 1);
  std::memset(static_cast<void*>(results.data()), 0x5c, results.size() * sizeof(Perf));
  int returned = -1;
  DNN_OK(get(room, &returned, results.data()));
  ASSERT_EQ(returned, room < algorithms(direction) ? room : algorithms(direction));
  Perf untouched;
  std::memset(static_cast<void*>(&untouched), 0x5c, sizeof untouched);
  EXPECT_EQ(std::memcmp(&results[static_cast<std::size_t>(returned)], &untouched, sizeof untouched), 0)
      << "no more than asked";
  ASSERT_EQ(results[0].status, CUDNN_STATUS_SUCCESS);
  bool failed = false;
  for (int i = 0; i < returned; ++i) {
    const Perf& result = results[static_cast<std::size_t>(i)];
    std::size_t bytes = 0;
    const cudnnStatus_t status = layer.workspace(direction, static_cast<int>(result.algo), &bytes);
    if (result.status == CUDNN_STATUS_SUCCESS) {
      EXPECT_FALSE(failed) << "usable algorithms come first";
      EXPECT_EQ(status, CUDNN_STATUS_SUCCESS);
      EXPECT_EQ(result.memory, bytes);
      EXPECT_GT(result.time, 0);
      EXPECT_EQ(result.mathType, CUDNN_FMA_MATH) << "the descriptor's math type comes back";
      EXPECT_LE(results[static_cast<std::size_t>(i > 0 ? i - 1 : 0)].time, result.time);
    } else {
      failed = true;
      EXPECT_EQ(result.time, -1);
      EXPECT_EQ(result.status, CUDNN_STATUS_NOT_SUPPORTED);
    }
  }
}

TEST_F(ConvolutionCalls, maps_algorithm_queries) {
  DNN_OK(cudnnSetConvolutionMathType(layer.conv, CUDNN_FMA_MATH));
  int count = 0;
  DNN_OK(cudnnGetConvolutionForwardAlgorithmMaxCount(layer.handle, &count));
  EXPECT_EQ(count, 8);
  DNN_OK(cudnnGetConvolutionBackwardDataAlgorithmMaxCount(layer.handle, &count));
  EXPECT_EQ(count, 6);
  DNN_OK(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(layer.handle, &count));
  EXPECT_EQ(count, 7);
  for (const int room : {1, 6, 8, 20}) {
    check_results<cudnnConvolutionFwdAlgoPerf_t>(
        layer, Direction::forward, room, [&](int n, int* out, cudnnConvolutionFwdAlgoPerf_t* results) {
          return cudnnGetConvolutionForwardAlgorithm_v7(layer.handle, layer.x_desc, layer.w_desc, layer.conv,
                                                        layer.y_desc, n, out, results);
        });
    check_results<cudnnConvolutionBwdDataAlgoPerf_t>(
        layer, Direction::data, room, [&](int n, int* out, cudnnConvolutionBwdDataAlgoPerf_t* results) {
          return cudnnGetConvolutionBackwardDataAlgorithm_v7(layer.handle, layer.w_desc, layer.y_desc, layer.conv,
                                                             layer.x_desc, n, out, results);
        });
    check_results<cudnnConvolutionBwdFilterAlgoPerf_t>(
        layer, Direction::filter, room, [&](int n, int* out, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
          return cudnnGetConvolutionBackwardFilterAlgorithm_v7(layer.handle, layer.x_desc, layer.y_desc, layer.conv,
                                                               layer.w_desc, n, out, results);
        });
  }
}

TEST_F(ConvolutionCalls, maps_searches) {
  DNN_OK(cudnnSetConvolutionMathType(layer.conv, CUDNN_FMA_MATH));
  check_results<cudnnConvolutionFwdAlgoPerf_t>(
      layer, Direction::forward, 8, [&](int n, int* out, cudnnConvolutionFwdAlgoPerf_t* results) {
        return cudnnFindConvolutionForwardAlgorithm(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                    n, out, results);
      });
  check_results<cudnnConvolutionBwdDataAlgoPerf_t>(
      layer, Direction::data, 6, [&](int n, int* out, cudnnConvolutionBwdDataAlgoPerf_t* results) {
        return cudnnFindConvolutionBackwardDataAlgorithm(layer.handle, layer.w_desc, layer.y_desc, layer.conv,
                                                         layer.x_desc, n, out, results);
      });
  check_results<cudnnConvolutionBwdFilterAlgoPerf_t>(
      layer, Direction::filter, 6, [&](int n, int* out, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
        return cudnnFindConvolutionBackwardFilterAlgorithm(layer.handle, layer.x_desc, layer.y_desc, layer.conv,
                                                           layer.w_desc, n, out, results);
      });
  check_results<cudnnConvolutionFwdAlgoPerf_t>(
      layer, Direction::forward, 8, [&](int n, int* out, cudnnConvolutionFwdAlgoPerf_t* results) {
        return cudnnFindConvolutionForwardAlgorithmEx(layer.handle, layer.x_desc, x.get(), layer.w_desc, w.get(),
                                                      layer.conv, layer.y_desc, y.get(), n, out, results, work.get(),
                                                      work.bytes());
      });
  check_results<cudnnConvolutionBwdDataAlgoPerf_t>(
      layer, Direction::data, 6, [&](int n, int* out, cudnnConvolutionBwdDataAlgoPerf_t* results) {
        return cudnnFindConvolutionBackwardDataAlgorithmEx(layer.handle, layer.w_desc, w.get(), layer.y_desc, y.get(),
                                                           layer.conv, layer.x_desc, x.get(), n, out, results,
                                                           work.get(), work.bytes());
      });
  check_results<cudnnConvolutionBwdFilterAlgoPerf_t>(
      layer, Direction::filter, 6, [&](int n, int* out, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
        return cudnnFindConvolutionBackwardFilterAlgorithmEx(layer.handle, layer.x_desc, x.get(), layer.y_desc, y.get(),
                                                             layer.conv, layer.w_desc, w.get(), n, out, results,
                                                             work.get(), work.bytes());
      });
}

// A byte limit leaves algorithms out; those within it are offered (MIOpen 381).
TEST_F(ConvolutionCalls, maps_searches_within_a_limit) {
  cudnnConvolutionFwdAlgoPerf_t results[8];
  int returned = 0;
  DNN_OK(cudnnFindConvolutionForwardAlgorithmEx(layer.handle, layer.x_desc, x.get(), layer.w_desc, w.get(), layer.conv,
                                                layer.y_desc, y.get(), 8, &returned, results, nullptr, 0));
  ASSERT_EQ(returned, 8);
  for (const auto& result : results) {
    if (result.status == CUDNN_STATUS_SUCCESS) {
      EXPECT_EQ(result.memory, 0u);
    } else {
      EXPECT_EQ(result.status, CUDNN_STATUS_NOT_SUPPORTED);
    }
  }
  // x and the filter of a search are left as they are.
  HostTensor got = layer.x;
  x.download(&got);
  EXPECT_EQ(got.raw, layer.x.raw);
  HostTensor filter = layer.w;
  w.download(&filter);
  EXPECT_EQ(filter.raw, layer.w.raw);
}

TEST_F(ConvolutionCalls, rejects_bad_rooms) {
  cudnnConvolutionFwdAlgoPerf_t result;
  int returned = 0;
  EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                   0, &returned, &result),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                   -1, &returned, &result),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                   1, nullptr, &result),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc,
                                                   1, &returned, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(layer.workspace(Direction::forward, 1, nullptr), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(ConvolutionCalls, rejects_bad_buffers) {
  std::vector<float> host(4096);
  void* freed = nullptr;
  CUDA_OK(cudaMalloc(&freed, 1u << 20));
  CUDA_OK(cudaFree(freed));
  for (const Direction direction : kDirections) {
    SCOPED_TRACE(name_of(direction));
    for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(host.data()), freed,
                      reinterpret_cast<void*>(std::uintptr_t{0x5b00000000000123}),
                      static_cast<void*>(static_cast<char*>(x.get()) + 2)}) {
      EXPECT_EQ(run(direction, bad, w.get(), y.get(), work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(run(direction, x.get(), bad, y.get(), work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(run(direction, x.get(), w.get(), bad, work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    }
    // Too few bytes behind the pointer.
    const auto late = [](const Device& device) {
      return static_cast<void*>(static_cast<char*>(device.get()) + device.bytes() - 4);
    };
    EXPECT_EQ(run(direction, late(x), w.get(), y.get(), work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(run(direction, x.get(), late(w), y.get(), work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(run(direction, x.get(), w.get(), late(y), work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(run(direction), CUDNN_STATUS_SUCCESS) << "and still works";
  }
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_F(ConvolutionCalls, rejects_aliases_of_the_output) {
  Device all(1u << 20);
  char* base = static_cast<char*>(all.get());
  for (const Direction direction : kDirections) {
    void* shared = base + 4096;
    void* inside = base + 4096 + 64;
    void* apart = base + (1u << 18);
    if (direction == Direction::filter) {  // here x and y are both read
      EXPECT_EQ(run(direction, shared, inside, apart, work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    } else {
      EXPECT_EQ(run(direction, shared, apart, shared, work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
      EXPECT_EQ(run(direction, shared, apart, inside, work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    }
    if (direction != Direction::data) {
      EXPECT_EQ(run(direction, apart, shared, shared, work.get(), work.bytes()), CUDNN_STATUS_BAD_PARAM);
    }
    // The workspace may not touch an operand either.
    std::size_t bytes = 0;
    const int algorithm = direction == Direction::forward ? 2 : direction == Direction::filter ? 3 : 0;
    if (layer.workspace(direction, algorithm, &bytes) != CUDNN_STATUS_SUCCESS || bytes == 0) continue;
    EXPECT_EQ(run(direction, x.get(), w.get(), apart, apart, bytes, algorithm), CUDNN_STATUS_BAD_PARAM);
  }
  // Two inputs may be the same memory.
  EXPECT_EQ(run(Direction::forward, base, base, base + (1u << 18), work.get(), work.bytes()), CUDNN_STATUS_SUCCESS);
  CUDA_OK(cudaDeviceSynchronize());
}

// x and y are channel slices of one buffer, as in concatenating networks: interleaved, but apart.
TEST(ConvolutionAliases, maps_interleaved_channel_slices) {
  Shape shape;
  shape.k = shape.c;
  for (const bool last : {false, true}) {
    const int channels = shape.c + shape.k;
    const Dims whole{shape.n, channels, shape.h, shape.w};
    const Dims strides = last ? nhwc(whole) : nchw(whole);
    Layer layer(shape, CUDNN_DATA_FLOAT, strides, last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, strides, false);
    HostTensor both(CUDNN_DATA_FLOAT, whole, strides);
    both.each([&](int a, int b, int c, int d) { both.put(a, b, c, d, b < shape.c ? layer.x.at(a, b, c, d) : -1); });
    Device buffer(both), w(layer.w);
    const std::size_t offset = static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(strides[1]) * 4;
    std::size_t bytes = 0;
    DNN_OK(layer.workspace(Direction::forward, 1, &bytes));
    Device work(bytes);
    const float one = 1, zero = 0;
    DNN_OK(layer.run(Direction::forward, 1, &one, &zero, buffer.get(), w.get(),
                     static_cast<char*>(buffer.get()) + offset, work.get(), bytes));
    CUDA_OK(cudaDeviceSynchronize());
    HostTensor got = both;
    buffer.download(&got);
    HostTensor y = layer.y;
    y.each([&](int a, int b, int c, int d) { y.put(a, b, c, d, got.at(a, b + shape.c, c, d)); });
    expect_close(y, reference_of(Direction::forward, shape, false, layer.x, layer.w, layer.y), 1, 0, layer.y,
                 last ? "NHWC" : "NCHW");
    got.each([&](int a, int b, int c, int d) {
      if (b >= shape.c) return;
      ASSERT_EQ(got.at(a, b, c, d), both.at(a, b, c, d)) << "x is untouched";
    });
    EXPECT_EQ(layer.run(Direction::forward, 1, &one, &zero, buffer.get(), w.get(),
                        static_cast<char*>(buffer.get()) + offset / 2, work.get(), bytes),
              CUDNN_STATUS_BAD_PARAM)
        << "half a slice further they overlap";
  }
}

TEST_F(ConvolutionCalls, rejects_bad_handles_and_scalars) {
  EXPECT_EQ(layer.run(Direction::forward, 1, nullptr, &zero, x.get(), w.get(), y.get(), work.get(), work.bytes()),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(layer.run(Direction::forward, 1, &one, nullptr, x.get(), w.get(), y.get(), work.get(), work.bytes()),
            CUDNN_STATUS_BAD_PARAM);
  const auto call = [&](cudnnHandle_t h, cudnnTensorDescriptor_t xd, cudnnFilterDescriptor_t wd,
                        cudnnConvolutionDescriptor_t cd, cudnnTensorDescriptor_t yd, int algorithm) {
    return cudnnConvolutionForward(h, &one, xd, x.get(), wd, w.get(), cd,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), work.get(), work.bytes(), &zero,
                                   yd, y.get());
  };
  // First a good call, so that the thread has something remembered.
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, 1), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(call(nullptr, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(layer.handle, nullptr, layer.w_desc, layer.conv, layer.y_desc, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(layer.handle, layer.x_desc, nullptr, layer.conv, layer.y_desc, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, nullptr, layer.y_desc, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, nullptr, 1), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(nullptr, nullptr, nullptr, nullptr, nullptr, -1), CUDNN_STATUS_BAD_PARAM);
  for (const int algorithm : {-1, 8, 99, INT_MAX, INT_MIN})
    EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, algorithm),
              CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(call(layer.handle, reinterpret_cast<cudnnTensorDescriptor_t>(layer.w_desc), layer.w_desc, layer.conv,
                 layer.y_desc, 1),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(
      call(layer.handle, reinterpret_cast<cudnnTensorDescriptor_t>(&one), layer.w_desc, layer.conv, layer.y_desc, 1),
      CUDNN_STATUS_BAD_PARAM);
  // Destroyed after it was remembered.
  cudnnTensorDescriptor_t y2 = nullptr;
  DNN_OK(cudnnCreateTensorDescriptor(&y2));
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, y2, 1), CUDNN_STATUS_BAD_PARAM) << "never set";
  const Dims dims = layer.shape.y(), strides = nchw(dims);
  DNN_OK(cudnnSetTensorNdDescriptor(y2, CUDNN_DATA_FLOAT, 4, dims.data(), strides.data()));
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, y2, 1), CUDNN_STATUS_SUCCESS);
  DNN_OK(cudnnDestroyTensorDescriptor(y2));
  EXPECT_EQ(call(layer.handle, layer.x_desc, layer.w_desc, layer.conv, y2, 1), CUDNN_STATUS_BAD_PARAM) << "destroyed";
  cudnnHandle_t h2 = nullptr;
  DNN_OK(cudnnCreate(&h2));
  EXPECT_EQ(call(h2, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, 1), CUDNN_STATUS_SUCCESS);
  CUDA_OK(cudaDeviceSynchronize());
  DNN_OK(cudnnDestroy(h2));
  EXPECT_EQ(call(h2, layer.x_desc, layer.w_desc, layer.conv, layer.y_desc, 1), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(ConvolutionCalls, rejects_shapes_that_do_not_fit) {
  const auto set_y = [&](int n, int c, int h, int v) {
    ASSERT_EQ(cudnnSetTensor4dDescriptor(layer.y_desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, v),
              CUDNN_STATUS_SUCCESS);
  };
  const Dims y_dims = layer.shape.y();
  for (std::size_t i = 0; i < 4; ++i)
    for (const int change : {-1, 1}) {
      Dims bad = y_dims;
      bad[i] += change;
      set_y(bad[0], bad[1], bad[2], bad[3]);
      for (const Direction direction : kDirections) EXPECT_EQ(run(direction), CUDNN_STATUS_BAD_PARAM) << i;
    }
  set_y(y_dims[0], y_dims[1], y_dims[2], y_dims[3]);
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_SUCCESS);
  DNN_OK(cudnnSetConvolutionGroupCount(layer.conv, 2));
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_BAD_PARAM) << "channels and groups";
  DNN_OK(cudnnSetConvolutionGroupCount(layer.conv, INT_MAX));
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_BAD_PARAM);
  DNN_OK(cudnnSetConvolutionGroupCount(layer.conv, 1));
  DNN_OK(cudnnSetFilter4dDescriptor(layer.w_desc, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 6, 4, 3, 3));
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_BAD_PARAM) << "types";
  DNN_OK(cudnnSetFilter4dDescriptor(layer.w_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 6, 4, 50, 3));
  EXPECT_EQ(run(Direction::forward), CUDNN_STATUS_BAD_PARAM) << "filter larger than the input";
  CUDA_OK(cudaDeviceSynchronize());
}

// MIOpen 180: groups that the filters cannot be shared among.
TEST(ConvolutionShapes, rejects_a_wrong_group_count) {
  Shape shape;
  shape.n = 3;
  shape.c = 2;
  shape.h = shape.w = 8;
  shape.k = 4;
  shape.r = shape.s = 4;
  shape.pad_h = shape.pad_w = 0;
  Layer layer(shape, CUDNN_DATA_FLOAT);
  DNN_OK(cudnnSetConvolutionGroupCount(layer.conv, 4));
  std::size_t bytes = 0;
  EXPECT_EQ(layer.workspace(Direction::forward, 1, &bytes), CUDNN_STATUS_BAD_PARAM);
  Device x(layer.x), w(layer.w), y(layer.y);
  const float one = 1, zero = 0;
  EXPECT_EQ(layer.run(Direction::forward, 1, &one, &zero, x.get(), w.get(), y.get(), nullptr, 0),
            CUDNN_STATUS_BAD_PARAM);
}

TEST(ConvolutionShapes, rejects_fp64_other_types_and_3d) {
  const double one = 1, zero = 0;
  Layer wide(Shape{}, CUDNN_DATA_DOUBLE);
  Device x(wide.x), w(wide.w), y(wide.y);
  std::size_t bytes = 0;
  for (const Direction direction : kDirections) {
    EXPECT_EQ(wide.workspace(direction, 1, &bytes), CUDNN_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(wide.run(direction, 1, &one, &zero, x.get(), w.get(), y.get(), nullptr, 0), CUDNN_STATUS_NOT_SUPPORTED);
  }
  cudnnConvolutionFwdAlgoPerf_t result;
  int returned = 0;
  EXPECT_EQ(cudnnGetConvolutionForwardAlgorithm_v7(wide.handle, wide.x_desc, wide.w_desc, wide.conv, wide.y_desc, 1,
                                                   &returned, &result),
            CUDNN_STATUS_NOT_SUPPORTED);
  const int x5[5] = {1, 2, 4, 4, 4}, w5[5] = {2, 2, 1, 1, 1}, zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1};
  DNN_OK(cudnnSetTensorNdDescriptorEx(wide.x_desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, x5));
  DNN_OK(cudnnSetTensorNdDescriptorEx(wide.y_desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, x5));
  DNN_OK(cudnnSetFilterNdDescriptor(wide.w_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 5, w5));
  DNN_OK(cudnnSetConvolutionNdDescriptor(wide.conv, 3, zeros, ones, ones, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  EXPECT_EQ(wide.workspace(Direction::forward, 1, &bytes), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST(ConvolutionShapes, rejects_strides_without_a_meaning_for_amd) {
  const Shape shape;
  const float one = 1, zero = 0;
  Dims zero_stride = nchw(shape.x()), overlapping = nchw(shape.y());
  zero_stride[0] = 0;
  overlapping[0] = 1;
  Layer broadcast(shape, CUDNN_DATA_FLOAT, zero_stride, CUDNN_TENSOR_NCHW, nchw(shape.y()), false);
  Layer twice(shape, CUDNN_DATA_FLOAT, nchw(shape.x()), CUDNN_TENSOR_NCHW, overlapping, false);
  for (const Layer* layer : {&broadcast, &twice}) {
    Device x(layer->x), w(layer->w), y(layer->y);
    EXPECT_EQ(layer->run(Direction::forward, 1, &one, &zero, x.get(), w.get(), y.get(), nullptr, 0),
              CUDNN_STATUS_NOT_SUPPORTED);
  }
  Layer backwards(shape, CUDNN_DATA_FLOAT);
  DNN_OK(cudnnSetTensor4dDescriptorEx(backwards.x_desc, CUDNN_DATA_FLOAT, shape.n, shape.c, shape.h, shape.w, -288, 72,
                                      8, 1));
  std::size_t bytes = 0;
  EXPECT_EQ(backwards.workspace(Direction::forward, 1, &bytes), CUDNN_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace dnn_test
