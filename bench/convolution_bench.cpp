// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The three passes of a convolution through cuDNN's API on the software device, checks off, against oneDNN called
// directly in this process, with its reorders from and to NCHW counted. Both in turns, on all cores.
#include <unistd.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"
#include "bench/bars.hpp"

namespace {

constexpr int kBatch = 8, kChannels = 64, kFilters = 64, kSide = 56, kFilter = 3;
constexpr double kBar = 0.85;

enum class Pass { forward, backward_data, backward_weights };
constexpr const char* kNames[] = {"forward", "backward data", "backward weights"};

std::vector<float> values(std::size_t count) {
  std::vector<float> out(count);
  unsigned state = 1;
  for (float& value : out) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return out;
}

constexpr std::size_t kTensor = std::size_t{kBatch} * kChannels * kSide * kSide;
constexpr std::size_t kWeights = std::size_t{kFilters} * kChannels * kFilter * kFilter;

/// Through the CUDA libraries.
class Ours {
 public:
  explicit Ours(Pass pass) : pass_(pass) {
    BENCH_CHECK(cudnnCreate(&handle_));
    BENCH_CHECK(cudnnCreateTensorDescriptor(&x_));
    BENCH_CHECK(cudnnSetTensor4dDescriptor(x_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, kBatch, kChannels, kSide, kSide));
    BENCH_CHECK(cudnnCreateTensorDescriptor(&y_));
    BENCH_CHECK(cudnnSetTensor4dDescriptor(y_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, kBatch, kFilters, kSide, kSide));
    BENCH_CHECK(cudnnCreateFilterDescriptor(&w_));
    BENCH_CHECK(
        cudnnSetFilter4dDescriptor(w_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, kFilters, kChannels, kFilter, kFilter));
    BENCH_CHECK(cudnnCreateConvolutionDescriptor(&conv_));
    BENCH_CHECK(cudnnSetConvolution2dDescriptor(conv_, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    int count = 0;
    std::size_t bytes = 0;
    if (pass == Pass::forward) {
      cudnnConvolutionFwdAlgoPerf_t best;
      BENCH_CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, conv_, y_, 1, &count, &best));
      algorithm_ = best.algo;
      bytes = best.memory;
    } else if (pass == Pass::backward_data) {
      cudnnConvolutionBwdDataAlgoPerf_t best;
      BENCH_CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, w_, y_, conv_, x_, 1, &count, &best));
      algorithm_ = best.algo;
      bytes = best.memory;
    } else {
      cudnnConvolutionBwdFilterAlgoPerf_t best;
      BENCH_CHECK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_, x_, y_, conv_, w_, 1, &count, &best));
      algorithm_ = best.algo;
      bytes = best.memory;
    }
    x_data_ = upload(kTensor);
    y_data_ = upload(kTensor);
    w_data_ = upload(kWeights);
    if (bytes != 0) BENCH_CHECK(cudaMalloc(&workspace_, bytes));
    workspace_bytes_ = bytes;
  }

  void operator()() {
    const float alpha = 1;
    const float beta = 0;
    switch (pass_) {
      case Pass::forward:
        BENCH_CHECK(cudnnConvolutionForward(handle_, &alpha, x_, x_data_, w_, w_data_, conv_,
                                            static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace_,
                                            workspace_bytes_, &beta, y_, y_data_));
        break;
      case Pass::backward_data:
        BENCH_CHECK(cudnnConvolutionBackwardData(handle_, &alpha, w_, w_data_, y_, y_data_, conv_,
                                                 static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_), workspace_,
                                                 workspace_bytes_, &beta, x_, x_data_));
        break;
      case Pass::backward_weights:
        BENCH_CHECK(cudnnConvolutionBackwardFilter(handle_, &alpha, x_, x_data_, y_, y_data_, conv_,
                                                   static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_), workspace_,
                                                   workspace_bytes_, &beta, w_, w_data_));
        break;
    }
    BENCH_CHECK(cudaStreamSynchronize(nullptr));
  }

 private:
  static void* upload(std::size_t count) {
    const std::vector<float> host = values(count);
    void* data = nullptr;
    BENCH_CHECK(cudaMalloc(&data, count * sizeof(float)));
    BENCH_CHECK(cudaMemcpy(data, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    return data;
  }

  Pass pass_;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  int algorithm_ = 0;
  void *x_data_ = nullptr, *y_data_ = nullptr, *w_data_ = nullptr, *workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
};

/// oneDNN itself: the layout it chooses, with reorders of inputs and output.
class Direct {
 public:
  explicit Direct(Pass pass) {
    using dnnl::memory;
    const memory::dims x = {kBatch, kChannels, kSide, kSide};
    const memory::dims w = {kFilters, kChannels, kFilter, kFilter};
    const memory::dims y = {kBatch, kFilters, kSide, kSide};
    const auto any = [](const memory::dims& dims) {
      return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    const memory::dims one = {1, 1};
    const auto forward = dnnl::convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any(x), any(w), any(y), one, one, one},
        engine_);
    const memory::desc plain_x(x, memory::data_type::f32, memory::format_tag::nchw);
    const memory::desc plain_w(w, memory::data_type::f32, memory::format_tag::oihw);
    const memory::desc plain_y(y, memory::data_type::f32, memory::format_tag::nchw);
    switch (pass) {
      case Pass::forward:
        input(DNNL_ARG_SRC, plain_x, forward.src_desc());
        input(DNNL_ARG_WEIGHTS, plain_w, forward.weights_desc());
        output(DNNL_ARG_DST, plain_y, forward.dst_desc());
        primitive_ = dnnl::convolution_forward(forward);
        break;
      case Pass::backward_data: {
        const auto desc = dnnl::convolution_backward_data::primitive_desc(
            {dnnl::algorithm::convolution_direct, any(x), any(w), any(y), one, one, one}, engine_, forward);
        input(DNNL_ARG_DIFF_DST, plain_y, desc.diff_dst_desc());
        input(DNNL_ARG_WEIGHTS, plain_w, desc.weights_desc());
        output(DNNL_ARG_DIFF_SRC, plain_x, desc.diff_src_desc());
        primitive_ = dnnl::convolution_backward_data(desc);
        break;
      }
      case Pass::backward_weights: {
        const auto desc = dnnl::convolution_backward_weights::primitive_desc(
            {dnnl::algorithm::convolution_direct, any(x), any(w), any(y), one, one, one}, engine_, forward);
        input(DNNL_ARG_DIFF_DST, plain_y, desc.diff_dst_desc());
        input(DNNL_ARG_SRC, plain_x, desc.src_desc());
        output(DNNL_ARG_DIFF_WEIGHTS, plain_w, desc.diff_weights_desc());
        primitive_ = dnnl::convolution_backward_weights(desc);
        break;
      }
    }
  }

  void operator()() {
    for (Side& side : inputs_)
      if (side.needs_reorder) side.reorder.execute(stream_, side.plain, side.inside);
    primitive_.execute(stream_, arguments_);
    for (Side& side : outputs_)
      if (side.needs_reorder) side.reorder.execute(stream_, side.inside, side.plain);
    stream_.wait();
  }

 private:
  struct Side {
    dnnl::memory plain, inside;
    dnnl::reorder reorder;
    bool needs_reorder = false;
  };

  Side side(const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
    Side out;
    out.plain = dnnl::memory(plain, engine_);
    const std::vector<float> data = values(plain.get_size() / sizeof(float));
    std::copy(data.begin(), data.end(), static_cast<float*>(out.plain.get_data_handle()));
    out.needs_reorder = plain != wanted;
    out.inside = out.needs_reorder ? dnnl::memory(wanted, engine_) : out.plain;
    return out;
  }
  void input(int argument, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
    inputs_.push_back(side(plain, wanted));
    Side& s = inputs_.back();
    if (s.needs_reorder) s.reorder = dnnl::reorder(s.plain, s.inside);
    arguments_.insert({argument, s.inside});
  }
  void output(int argument, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
    outputs_.push_back(side(plain, wanted));
    Side& s = outputs_.back();
    if (s.needs_reorder) s.reorder = dnnl::reorder(s.inside, s.plain);
    arguments_.insert({argument, s.inside});
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::vector<Side> inputs_, outputs_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

void convolution(benchmark::State& state) {
  const auto pass = static_cast<Pass>(state.range(0));
  state.SetLabel(kNames[state.range(0)]);
  Ours ours(pass);
  Direct direct(pass);
  const bench::Pair pair = bench::compare(state, ours, direct);
  bench::at_least(std::string("conv 8x64x56x56, 64 filters 3x3, fp32, ") + kNames[state.range(0)] + ": oneDNN / ours",
                  pair.theirs / pair.ours, kBar, "");
}
BENCHMARK(convolution)->Arg(0)->Arg(1)->Arg(2)->UseManualTime()->Iterations(60)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  // Threads of this process that wait must not take the cores that the device process computes on, and the reverse.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("ROCBRIDGE_INTEGRITY", "off", 1);
    execv("/proc/self/exe", argv);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return bench::report();
}
