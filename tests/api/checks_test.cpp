// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Checks around real calls: a program that knows only the CUDA API, the software device, and its deliberate faults.
// Controls are read once in a process, so every scenario runs in a child of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/cublas_functions.h"
#include "abi/cudart_functions.h"
#include "abi/cudnn8_functions.h"
#include "base/half.hpp"

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Outcome {
  int code = -1;      ///< what the scenario returned; 255: it ended by a signal or an exception
  std::string lines;  ///< stderr
  std::size_t count(const std::string& text) const {
    std::size_t found = 0;
    for (std::size_t at = lines.find(text); at != std::string::npos; at = lines.find(text, at + 1)) ++found;
    return found;
  }
};

/// Runs `scenario` in a child with the settings.
Outcome in_child(const Settings& settings, const std::function<int()>& scenario) {
  const std::string path = std::filesystem::temp_directory_path() / ("rocbridge-checks-" + std::to_string(getpid()));
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(path.c_str(), "w", stderr) == nullptr) _exit(254);
    alarm(120);
    setenv("ROCBRIDGE_ROCM_DIR", ROCBRIDGE_BUILD "/lib/rocm/6", 1);
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    int code = 253;
    try {
      code = scenario();
    } catch (...) {
    }
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  outcome.lines = text.str();
  std::filesystem::remove(path);
  return outcome;
}

const Settings kAllWait = {{"ROCBRIDGE_INTEGRITY", "all"}, {"ROCBRIDGE_INTEGRITY_WAIT", "call"}};

Settings with(Settings settings, const std::string& name, const std::string& value) {
  settings.emplace_back(name, value);
  return settings;
}

std::size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

/// Pseudo-random values in the type, the same in every run.
std::vector<char> make_data(cudnnDataType_t type, std::size_t count, unsigned seed) {
  std::vector<char> data(count * bytes_of(type));
  std::uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (std::size_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const float value = static_cast<float>(static_cast<double>(state >> 11) * 0x1p-53 * 2 - 1);
    if (type == CUDNN_DATA_FLOAT) {
      std::memcpy(data.data() + 4 * i, &value, 4);
    } else {
      const std::uint16_t bits = type == CUDNN_DATA_HALF ? rb::float_to_half(value) : rb::float_to_bfloat16(value);
      std::memcpy(data.data() + 2 * i, &bits, 2);
    }
  }
  return data;
}

void* upload(const std::vector<char>& data) {
  void* device = nullptr;
  if (cudaMalloc(&device, data.size()) != cudaSuccess) throw 1;
  if (cudaMemcpy(device, data.data(), data.size(), cudaMemcpyHostToDevice) != cudaSuccess) throw 2;
  return device;
}

/// A small convolution through cuDNN's API.
class Layer {
 public:
  enum class Direction { forward, data, filter };

  explicit Layer(cudnnDataType_t type, bool gaps = false) : type_(type) {
    if (cudnnCreate(&handle_) != CUDNN_STATUS_SUCCESS) throw 10;
    cudnnCreateTensorDescriptor(&x_desc_);
    cudnnCreateTensorDescriptor(&y_desc_);
    cudnnCreateFilterDescriptor(&w_desc_);
    cudnnCreateConvolutionDescriptor(&conv_);
    cudnnSetTensor4dDescriptor(x_desc_, CUDNN_TENSOR_NCHW, type, kN, kC, kH, kW);
    const int channel = kH * kW + (gaps ? 7 : 0);
    y_elements_ = static_cast<std::size_t>(kN) * kK * static_cast<std::size_t>(channel);
    if (cudnnSetTensor4dDescriptorEx(y_desc_, type, kN, kK, kH, kW, kK * channel, channel, kW, 1) !=
        CUDNN_STATUS_SUCCESS)
      throw 11;
    cudnnSetFilter4dDescriptor(w_desc_, type, CUDNN_TENSOR_NCHW, kK, kC, 3, 3);
    cudnnSetConvolution2dDescriptor(conv_, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    x_ = upload(make_data(type, static_cast<std::size_t>(kN) * kC * kH * kW, 1));
    w_ = upload(make_data(type, static_cast<std::size_t>(kK) * kC * 9, 2));
    y_ = upload(make_data(type, y_elements_, 3));
    // Outputs of their own: what a fault leaves in one is no input of the next call.
    x_out_ = upload(make_data(type, static_cast<std::size_t>(kN) * kC * kH * kW, 4));
    w_out_ = upload(make_data(type, static_cast<std::size_t>(kK) * kC * 9, 5));
    y_out_ = upload(make_data(type, y_elements_, 6));
    if (cudaMalloc(&workspace_, kWorkspace) != cudaSuccess) throw 12;
  }

  void use_stream(cudaStream_t stream) { cudnnSetStream(handle_, stream); }

  int run(Direction direction, float alpha = 1, float beta = 0) {
    switch (direction) {
      case Direction::forward:
        return cudnnConvolutionForward(handle_, &alpha, x_desc_, x_, w_desc_, w_, conv_,
                                       CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, workspace_, kWorkspace, &beta, y_desc_,
                                       y_out_);
      case Direction::data:
        return cudnnConvolutionBackwardData(handle_, &alpha, w_desc_, w_, y_desc_, y_, conv_,
                                            CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace_, kWorkspace, &beta, x_desc_,
                                            x_out_);
      default:
        return cudnnConvolutionBackwardFilter(handle_, &alpha, x_desc_, x_, y_desc_, y_, conv_,
                                              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, workspace_, kWorkspace, &beta,
                                              w_desc_, w_out_);
    }
  }
  void* y() const { return y_out_; }
  std::size_t y_bytes() const { return y_elements_ * bytes_of(type_); }

 private:
  static constexpr int kN = 2, kC = 8, kH = 12, kW = 12, kK = 16;
  static constexpr std::size_t kWorkspace = 16u << 20;
  cudnnDataType_t type_;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_desc_ = nullptr, y_desc_ = nullptr;
  cudnnFilterDescriptor_t w_desc_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  void *x_ = nullptr, *w_ = nullptr, *y_ = nullptr, *workspace_ = nullptr;
  void *x_out_ = nullptr, *w_out_ = nullptr, *y_out_ = nullptr;
  std::size_t y_elements_ = 0;
};

using Direction = Layer::Direction;
constexpr Direction kDirections[] = {Direction::forward, Direction::data, Direction::filter};
constexpr cudnnDataType_t kTypes[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
constexpr const char* kEntries[] = {"cudnnConvolutionForward", "cudnnConvolutionBackwardData",
                                    "cudnnConvolutionBackwardFilter"};

/// Runs the three directions of all types; the number of calls that did not succeed.
int run_layers() {
  int failed = 0;
  for (const cudnnDataType_t type : kTypes) {
    Layer layer(type);
    for (const Direction direction : kDirections) failed += layer.run(direction) != CUDNN_STATUS_SUCCESS;
  }
  return failed;
}

TEST(Checks, maps_clean_convolutions_to_success) {
  const Outcome outcome = in_child(with(kAllWait, "ROCBRIDGE_LOG", "debug"), run_layers);
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("PASS cudnnConvolution"), 9u) << outcome.lines;
  EXPECT_EQ(outcome.count("UNTRUSTED") + outcome.count("UNCHECKED"), 0u) << outcome.lines;
}

TEST(Checks, traps_every_fault_in_every_direction_and_type) {
  for (const char* fault : {"zero-output", "stale-output", "last-row", "scale-row"}) {
    const Outcome outcome = in_child(with(kAllWait, "ROCBRIDGE_SOFT_FAULT", fault), run_layers);
    EXPECT_EQ(outcome.code, 9) << fault << "\n" << outcome.lines;
    for (const char* entry : kEntries)
      EXPECT_EQ(
          outcome.count(std::string("check: DRIFT ") + entry) + outcome.count(std::string("check: CORRUPT ") + entry),
          3u)
          << fault << " " << entry << "\n"
          << outcome.lines;
    EXPECT_NE(outcome.lines.find("MIOpenDriver conv"), std::string::npos);
  }
}

TEST(Checks, traps_faults_under_alpha_and_beta_and_strided_outputs) {
  const auto scenario = [] {
    int failed = 0;
    for (const bool gaps : {false, true}) {
      Layer layer(CUDNN_DATA_FLOAT, gaps);
      failed += layer.run(Direction::forward, 0.75f, 0.5f) != 0;
      failed += layer.run(Direction::forward) != 0;
      failed += layer.run(Direction::data, 2.0f, 0.0f) != 0;
      failed += layer.run(Direction::filter, 0.5f, 1.0f) != 0;
    }
    return failed;
  };
  EXPECT_EQ(in_child(kAllWait, scenario).code, 0);
  const Outcome faulty = in_child(with(kAllWait, "ROCBRIDGE_SOFT_FAULT", "scale-row"), scenario);
  EXPECT_EQ(faulty.code, 8) << faulty.lines;
}

TEST(Checks, policy_warn_reports_and_lets_the_call_succeed) {
  const Outcome outcome =
      in_child(with(with(kAllWait, "ROCBRIDGE_SOFT_FAULT", "zero-output"), "ROCBRIDGE_POLICY", "warn"), [] {
        const int failed = run_layers();
        return failed + static_cast<int>(cudaDeviceSynchronize());
      });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("DRIFT"), 9u) << outcome.lines;
}

TEST(Checks, traps_a_failed_check_at_the_next_synchronising_call_when_nobody_waits) {
  const Settings settings = {{"ROCBRIDGE_INTEGRITY", "all"}, {"ROCBRIDGE_SOFT_FAULT", "zero-output"}};
  const Outcome outcome = in_child(settings, [] {
    Layer layer(CUDNN_DATA_FLOAT);
    if (layer.run(Direction::forward) != 0) return 1;
    if (cudaDeviceSynchronize() != cudaErrorNotSupported) return 2;
    if (cudaDeviceSynchronize() != cudaErrorNotSupported) return 3;  // seen by nobody yet
    if (cudaDeviceSynchronize() != cudaSuccess) return 4;            // returned twice: seen
    if (layer.run(Direction::forward) != 0) return 5;
    std::vector<char> host(layer.y_bytes());
    if (cudaMemcpy(host.data(), layer.y(), host.size(), cudaMemcpyDeviceToHost) != cudaErrorNotSupported) return 6;
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("DRIFT cudnnConvolutionForward y"), 2u) << outcome.lines;
}

TEST(Checks, default_checks_the_first_three_uses_of_each_problem) {
  const Settings settings = {{"ROCBRIDGE_SOFT_FAULT", "zero-output"},
                             {"ROCBRIDGE_POLICY", "warn"},
                             {"ROCBRIDGE_INTEGRITY", "first"},
                             {"ROCBRIDGE_INTEGRITY_WAIT", "call"}};
  const Outcome outcome = in_child(settings, [] {
    Layer layer(CUDNN_DATA_FLOAT);
    for (int i = 0; i < 10; ++i)
      if (layer.run(Direction::forward) != 0) return 1;
    for (int i = 0; i < 2; ++i)
      if (layer.run(Direction::filter) != 0) return 2;
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("DRIFT cudnnConvolutionForward"), 3u) << outcome.lines;
  EXPECT_EQ(outcome.count("DRIFT cudnnConvolutionBackwardFilter"), 2u) << outcome.lines;
}

TEST(Checks, off_checks_nothing) {
  const Outcome outcome =
      in_child({{"ROCBRIDGE_INTEGRITY", "off"}, {"ROCBRIDGE_SOFT_FAULT", "zero-output"}, {"ROCBRIDGE_LOG", "info"}},
               [] { return run_layers() + static_cast<int>(cudaDeviceSynchronize()); });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("DRIFT") + outcome.count("CORRUPT") + outcome.count("UNCHECKED"), 0u) << outcome.lines;
}

std::atomic<bool> g_gate{false};
void wait_at_gate(void*) {
  while (!g_gate.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Checks, a_call_behind_a_blocked_host_function_is_judged_late) {
  const Outcome outcome =
      in_child(with(with(kAllWait, "ROCBRIDGE_SOFT_FAULT", "zero-output"), "ROCBRIDGE_LOG", "info"), [] {
        Layer layer(CUDNN_DATA_FLOAT);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        cudaStream_t blocked = nullptr;
        if (cudaStreamCreate(&blocked) != cudaSuccess) return 2;
        layer.use_stream(blocked);
        if (cudaLaunchHostFunc(blocked, wait_at_gate, nullptr) != cudaSuccess) return 3;
        // A second problem, so that planning is not part of the time.
        const auto begin = std::chrono::steady_clock::now();
        if (layer.run(Direction::forward) != 0) return 4;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (took.count() > 5) return 5;
        if (cudaStreamQuery(blocked) != cudaErrorNotReady) return 6;
        g_gate.store(true);
        if (cudaStreamSynchronize(blocked) != cudaErrorNotSupported) return 7;
        return 0;
      });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("judged late"), 1u) << outcome.lines;
}

TEST(Checks, a_checked_call_does_not_wait_for_a_blocked_stream) {
  const Outcome outcome = in_child({{"ROCBRIDGE_LOG", "debug"}}, [] {
    Layer warm(CUDNN_DATA_HALF), layer(CUDNN_DATA_FLOAT);
    if (warm.run(Direction::forward) != 0 || layer.run(Direction::forward) != 0 ||
        cudaDeviceSynchronize() != cudaSuccess)
      return 1;
    cudaStream_t blocked = nullptr;
    if (cudaStreamCreate(&blocked) != cudaSuccess) return 2;
    layer.use_stream(blocked);
    if (cudaLaunchHostFunc(blocked, wait_at_gate, nullptr) != cudaSuccess) return 3;
    double least = 1;
    for (int i = 0; i < 2; ++i) {  // the second and third use: both are checked
      const auto begin = std::chrono::steady_clock::now();
      if (layer.run(Direction::forward) != 0) return 4;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      least = std::min(least, took.count());
    }
    std::fprintf(stderr, "call took %.6f s\n", least);
    if (least > 1e-3) return 5;
    g_gate.store(true);
    return cudaStreamSynchronize(blocked) == cudaSuccess ? 0 : 6;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("PASS cudnnConvolutionForward"), 4u) << outcome.lines;
}

TEST(Checks, goes_on_after_a_device_reset) {
  const Outcome outcome = in_child({{"ROCBRIDGE_INTEGRITY", "all"}, {"ROCBRIDGE_LOG", "debug"}}, [] {
    for (int round = 0; round < 3; ++round) {
      Layer layer(CUDNN_DATA_FLOAT);
      if (layer.run(Direction::forward) != 0) return 1;
      if (cudaDeviceReset() != cudaSuccess) return 2;  // also takes the copies that the check works on
    }
    Layer layer(CUDNN_DATA_FLOAT);
    if (layer.run(Direction::forward) != 0) return 3;
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 4;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("PASS cudnnConvolutionForward"), 4u) << outcome.lines;
}

TEST(Checks, what_cannot_be_checked_is_unchecked_and_strict_refuses_it) {
  const Settings small = with(with(kAllWait, "ROCBRIDGE_INTEGRITY_STAGING_BYTES", "4096"), "ROCBRIDGE_LOG", "info");
  const auto scenario = [] {
    const int failed = run_layers();
    return failed * 10 + static_cast<int>(cudaGetLastError() != cudaSuccess);
  };
  const Outcome loose = in_child(small, scenario);
  EXPECT_EQ(loose.code, 0) << loose.lines;
  EXPECT_EQ(loose.count("UNCHECKED cudnnConvolution"), 9u) << loose.lines;
  EXPECT_EQ(loose.count("[unchecked-memory]"), 9u) << loose.lines;
  const Outcome strict = in_child(with(small, "ROCBRIDGE_STRICT", "1"), scenario);
  EXPECT_EQ(strict.code, 90) << strict.lines;
}

/// C = A B over all of sgemm, GemmEx in half and bfloat16, and a strided batch; the number of calls that failed.
int run_products(float alpha = 1, float beta = 0) {
  cublasHandle_t handle = nullptr;
  if (cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) throw 20;
  constexpr int kSide = 48;
  constexpr std::size_t kCount = 3 * kSide * kSide;
  int failed = 0;
  void *a = upload(make_data(CUDNN_DATA_FLOAT, kCount, 4)), *b = upload(make_data(CUDNN_DATA_FLOAT, kCount, 5));
  void* c = upload(make_data(CUDNN_DATA_FLOAT, kCount, 6));
  failed +=
      cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_T, kSide, kSide - 5, kSide - 1, &alpha, static_cast<float*>(a),
                     kSide, static_cast<float*>(b), kSide, &beta, static_cast<float*>(c), kSide) != 0;
  failed += cublasSgemmStridedBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, kSide, kSide, kSide, &alpha,
                                      static_cast<float*>(a), kSide, kSide * kSide, static_cast<float*>(b), kSide, 0,
                                      &beta, static_cast<float*>(c), kSide, kSide * kSide, 3) != 0;
  for (const bool half : {true, false}) {
    const cudnnDataType_t kind = half ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
    const cudaDataType type = half ? CUDA_R_16F : CUDA_R_16BF;
    void *p = upload(make_data(kind, kCount, 7)), *q = upload(make_data(kind, kCount, 8)),
         *r = upload(make_data(kind, kCount, 9));
    failed += cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &alpha, p, type, kSide, q, type,
                           kSide, &beta, r, type, kSide, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != 0;
  }
  return failed;
}

TEST(Checks, maps_clean_products_and_traps_faulty_ones) {
  const Outcome clean =
      in_child(with(kAllWait, "ROCBRIDGE_LOG", "debug"), [] { return run_products() + run_products(0.5f, -2.0f); });
  EXPECT_EQ(clean.code, 0) << clean.lines;
  EXPECT_EQ(clean.count("PASS cublas"), 8u) << clean.lines;
  for (const char* fault : {"zero-output", "stale-output", "last-row", "scale-row"}) {
    const Outcome outcome = in_child(with(kAllWait, "ROCBRIDGE_SOFT_FAULT", fault), [] { return run_products(); });
    EXPECT_EQ(outcome.code, 4) << fault << "\n" << outcome.lines;
    EXPECT_NE(outcome.lines.find("rocblas-bench -f gemm"), std::string::npos) << outcome.lines;
  }
}

TEST(Checks, products_with_scalars_on_the_device_and_of_nothing_are_judged) {
  const Outcome outcome = in_child(with(kAllWait, "ROCBRIDGE_LOG", "debug"), [] {
    cublasHandle_t handle = nullptr;
    if (cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    constexpr int kSide = 32;
    void *a = upload(make_data(CUDNN_DATA_FLOAT, kSide * kSide, 4)),
         *c = upload(make_data(CUDNN_DATA_FLOAT, kSide * kSide, 6));
    const float scalars[2] = {1.5f, 0.25f};
    std::vector<char> bytes(sizeof scalars);
    std::memcpy(bytes.data(), scalars, sizeof scalars);
    float* device = static_cast<float*>(upload(bytes));
    cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
    if (cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, device, static_cast<float*>(a), kSide,
                       static_cast<float*>(a), kSide, device + 1, static_cast<float*>(c), kSide) != 0)
      return 2;
    cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
    const float zero = 0, half = 0.5f;
    if (cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &zero, nullptr, kSide, nullptr, kSide,
                       &half, static_cast<float*>(c), kSide) != 0)
      return 3;
    if (cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &zero, nullptr, kSide, nullptr, kSide,
                       &zero, static_cast<float*>(c), kSide) != 0)
      return 4;
    return 0;
  });
  EXPECT_EQ(outcome.code, 0) << outcome.lines;
  EXPECT_EQ(outcome.count("PASS cublasSgemm_v2"), 3u) << outcome.lines;
}

}  // namespace
