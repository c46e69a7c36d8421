// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's convolution on the software device: Find and immediate mode in three directions, and every refusal.
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "tests/soft/miopen_support.hpp"

namespace {

using soft_test::Buffer;
using soft_test::ConvDesc;
using soft_test::foreign_pointers;
using soft_test::integers;
using soft_test::MiopenHandle;
using soft_test::TensorDesc;

constexpr auto kOk = miopenStatusSuccess;
constexpr auto kBad = miopenStatusBadParm;
enum Direction { kForward, kBackwardData, kBackwardWeights };
constexpr Direction kDirections[] = {kForward, kBackwardData, kBackwardWeights};
constexpr float kOne = 1, kZero = 0;

/// 2 x 4 channels x 6 x 5, 6 filters 3 x 3 in 2 groups, pad 1, stride 2: output 2 x 6 x 3 x 3. Integer data.
struct Problem {
  static constexpr int kN = 2, kC = 4, kH = 6, kW = 5, kK = 6, kGroups = 2, kOh = 3, kOw = 3;
  explicit Problem(miopenDataType_t type = miopenFloat)
      : x_desc(type, {kN, kC, kH, kW}),
        w_desc(type, {kK, kC / kGroups, 3, 3}),
        y_desc(type, {kN, kK, kOh, kOw}),
        conv(1, 2, 1, kGroups),
        x_values(integers(kN * kC * kH * kW, 1)),
        w_values(integers(kK * kC / kGroups * 9, 2)),
        y_values(integers(kN * kK * kOh * kOw, 3)),
        x(bytes(type, x_values)),
        w(bytes(type, w_values)),
        y(bytes(type, y_values)) {}

  static std::vector<char> bytes(miopenDataType_t type, const std::vector<float>& values) {
    std::vector<char> result(values.size() * (type == miopenFloat ? 4 : 2));
    if (type == miopenFloat) {
      std::memcpy(result.data(), values.data(), result.size());
    } else {
      const auto bits = type == miopenHalf ? soft_test::to_half(values) : soft_test::to_bfloat16(values);
      std::memcpy(result.data(), bits.data(), result.size());
    }
    return result;
  }

  std::vector<float> expected(Direction direction) const {
    std::vector<float> out(direction == kForward        ? y_values.size()
                           : direction == kBackwardData ? x_values.size()
                                                        : w_values.size());
    for (int n = 0; n < kN; ++n)
      for (int k = 0; k < kK; ++k)
        for (int oh = 0; oh < kOh; ++oh)
          for (int ow = 0; ow < kOw; ++ow)
            for (int c = 0; c < kC / kGroups; ++c)
              for (int r = 0; r < 3; ++r)
                for (int s = 0; s < 3; ++s) {
                  const int h = 2 * oh - 1 + r, v = 2 * ow - 1 + s, channel = k / (kK / kGroups) * 2 + c;
                  if (h < 0 || h >= kH || v < 0 || v >= kW) continue;
                  const auto xi = static_cast<std::size_t>(((n * kC + channel) * kH + h) * kW + v),
                             wi = static_cast<std::size_t>(((k * 2 + c) * 3 + r) * 3 + s),
                             yi = static_cast<std::size_t>(((n * kK + k) * kOh + oh) * kOw + ow);
                  if (direction == kForward) out[yi] += x_values[xi] * w_values[wi];
                  if (direction == kBackwardData) out[xi] += y_values[yi] * w_values[wi];
                  if (direction == kBackwardWeights) out[wi] += y_values[yi] * x_values[xi];
                }
    return out;
  }

  Buffer& output(Direction direction) { return direction == kForward ? y : direction == kBackwardData ? x : w; }

  TensorDesc x_desc, w_desc, y_desc;
  ConvDesc conv;
  std::vector<float> x_values, w_values, y_values;
  Buffer x, w, y;
};

// One name for the three directions' functions, which differ in the order of their arguments only.
struct Api {
  miopenHandle_t handle;
  Direction direction;
  miopenTensorDescriptor_t xd, wd, yd;
  miopenConvolutionDescriptor_t conv;

  Api(miopenHandle_t handle, Direction direction, const Problem& p)
      : handle(handle), direction(direction), xd(p.x_desc), wd(p.w_desc), yd(p.y_desc), conv(p.conv) {}

  template <class Forward, class Data, class Weights>
  auto pick(Forward forward, Data data, Weights weights) const {
    return direction == kForward ? forward() : direction == kBackwardData ? data() : weights();
  }
  miopenStatus_t workspace(size_t* bytes) const {
    return pick([&] { return miopenConvolutionForwardGetWorkSpaceSize(handle, wd, xd, conv, yd, bytes); },
                [&] { return miopenConvolutionBackwardDataGetWorkSpaceSize(handle, yd, wd, conv, xd, bytes); },
                [&] { return miopenConvolutionBackwardWeightsGetWorkSpaceSize(handle, yd, xd, conv, wd, bytes); });
  }
  miopenStatus_t find(const void* x, const void* w, const void* y, int requested, int* returned,
                      miopenConvAlgoPerf_t* results, void* ws, size_t bytes, bool exhaustive = false) const {
    auto out = [](const void* p) { return const_cast<void*>(p); };
    return pick(
        [&] {
          return miopenFindConvolutionForwardAlgorithm(handle, xd, x, wd, w, conv, yd, out(y), requested, returned,
                                                       results, ws, bytes, exhaustive);
        },
        [&] {
          return miopenFindConvolutionBackwardDataAlgorithm(handle, yd, y, wd, w, conv, xd, out(x), requested, returned,
                                                            results, ws, bytes, exhaustive);
        },
        [&] {
          return miopenFindConvolutionBackwardWeightsAlgorithm(handle, yd, y, xd, x, conv, wd, out(w), requested,
                                                               returned, results, ws, bytes, exhaustive);
        });
  }
  miopenStatus_t run(const void* alpha, const void* beta, const void* x, const void* w, const void* y, int algorithm,
                     void* ws, size_t bytes) const {
    auto out = [](const void* p) { return const_cast<void*>(p); };
    return pick(
        [&] {
          return miopenConvolutionForward(handle, alpha, xd, x, wd, w, conv,
                                          static_cast<miopenConvFwdAlgorithm_t>(algorithm), beta, yd, out(y), ws,
                                          bytes);
        },
        [&] {
          return miopenConvolutionBackwardData(handle, alpha, yd, y, wd, w, conv,
                                               static_cast<miopenConvBwdDataAlgorithm_t>(algorithm), beta, xd, out(x),
                                               ws, bytes);
        },
        [&] {
          return miopenConvolutionBackwardWeights(handle, alpha, yd, y, xd, x, conv,
                                                  static_cast<miopenConvBwdWeightsAlgorithm_t>(algorithm), beta, wd,
                                                  out(w), ws, bytes);
        });
  }
  miopenStatus_t count(size_t* n) const {
    return pick([&] { return miopenConvolutionForwardGetSolutionCount(handle, wd, xd, conv, yd, n); },
                [&] { return miopenConvolutionBackwardDataGetSolutionCount(handle, yd, wd, conv, xd, n); },
                [&] { return miopenConvolutionBackwardWeightsGetSolutionCount(handle, yd, xd, conv, wd, n); });
  }
  miopenStatus_t solutions(size_t limit, size_t* n, miopenConvSolution_t* results) const {
    return pick(
        [&] { return miopenConvolutionForwardGetSolution(handle, wd, xd, conv, yd, limit, n, results); },
        [&] { return miopenConvolutionBackwardDataGetSolution(handle, yd, wd, conv, xd, limit, n, results); },
        [&] { return miopenConvolutionBackwardWeightsGetSolution(handle, yd, xd, conv, wd, limit, n, results); });
  }
  miopenStatus_t solution_workspace(uint64_t id, size_t* bytes) const {
    return pick(
        [&] { return miopenConvolutionForwardGetSolutionWorkspaceSize(handle, wd, xd, conv, yd, id, bytes); },
        [&] { return miopenConvolutionBackwardDataGetSolutionWorkspaceSize(handle, yd, wd, conv, xd, id, bytes); },
        [&] { return miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(handle, yd, xd, conv, wd, id, bytes); });
  }
  miopenStatus_t compile(uint64_t id) const {
    return pick([&] { return miopenConvolutionForwardCompileSolution(handle, wd, xd, conv, yd, id); },
                [&] { return miopenConvolutionBackwardDataCompileSolution(handle, yd, wd, conv, xd, id); },
                [&] { return miopenConvolutionBackwardWeightsCompileSolution(handle, yd, xd, conv, wd, id); });
  }
  miopenStatus_t immediate(const void* x, const void* w, const void* y, void* ws, size_t bytes, uint64_t id) const {
    auto out = [](const void* p) { return const_cast<void*>(p); };
    return pick(
        [&] { return miopenConvolutionForwardImmediate(handle, wd, w, xd, x, conv, yd, out(y), ws, bytes, id); },
        [&] { return miopenConvolutionBackwardDataImmediate(handle, yd, y, wd, w, conv, xd, out(x), ws, bytes, id); },
        [&] {
          return miopenConvolutionBackwardWeightsImmediate(handle, yd, y, xd, x, conv, wd, out(w), ws, bytes, id);
        });
  }
};

std::vector<miopenConvSolution_t> all_solutions(const Api& api) {
  size_t count = 0;
  EXPECT_EQ(kOk, api.count(&count));
  std::vector<miopenConvSolution_t> result(count + 2);
  EXPECT_EQ(kOk, api.solutions(result.size(), &count, result.data()));
  result.resize(count);
  return result;
}

TEST(MiopenConvolution, maps_immediate_mode_in_every_direction_and_type) {
  MiopenHandle handle;
  for (const auto type : {miopenFloat, miopenHalf, miopenBFloat16})
    for (const auto direction : kDirections) {
      Problem p(type);
      const Api api(handle, direction, p);
      const auto solutions = all_solutions(api);
      ASSERT_EQ(3u, solutions.size());
      for (std::size_t i = 0; i < solutions.size(); ++i) {
        const auto& solution = solutions[i];
        SCOPED_TRACE(solution.solution_id);
        EXPECT_GT(solution.time, 0);
        EXPECT_GE(solution.time, solutions[i == 0 ? 0 : i - 1].time);
        size_t bytes = 0;
        ASSERT_EQ(kOk, api.solution_workspace(solution.solution_id, &bytes));
        EXPECT_EQ(solution.workspace_size, bytes);
        EXPECT_EQ(kOk, api.compile(solution.solution_id));
        miopenConvAlgorithm_t algorithm;
        EXPECT_EQ(kOk, miopenGetSolverIdConvAlgorithm(solution.solution_id, &algorithm));
        EXPECT_EQ(solution.algorithm, algorithm);
        ASSERT_EQ(hipSuccess, hipMemset(p.output(direction).get(), 0xff, p.output(direction).bytes()));
        const Buffer workspace(bytes);
        ASSERT_EQ(kOk, api.immediate(p.x.get(), p.w.get(), p.y.get(), bytes ? workspace.get() : nullptr, bytes,
                                     solution.solution_id));
        EXPECT_EQ(Problem::bytes(type, p.expected(direction)), p.output(direction).read<char>());
      }
    }
}

TEST(MiopenConvolution, maps_find_then_run_and_measures) {
  for (const auto direction : kDirections) {
    MiopenHandle handle;
    Problem p;
    const Api api(handle, direction, p);
    ASSERT_EQ(kOk, miopenSetConvolutionFindMode(p.conv, 1));
    size_t bytes = 0;
    ASSERT_EQ(kOk, api.workspace(&bytes));
    ASSERT_GT(bytes, 0u) << "find mode normal asks for the most demanding solution";
    const Buffer workspace(bytes);
    int returned = -1;
    miopenConvAlgoPerf_t results[4];
    ASSERT_EQ(hipSuccess, hipMemset(p.output(direction).get(), 0xff, p.output(direction).bytes()));
    ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 4, &returned, results, workspace.get(), bytes));
    ASSERT_EQ(2, returned);
    EXPECT_LE(results[0].time, results[1].time);
    EXPECT_GT(results[0].time, 0);
    EXPECT_EQ(bytes, std::max(results[0].memory, results[1].memory));
    // Find has overwritten the output, here with the result.
    EXPECT_EQ(Problem::bytes(miopenFloat, p.expected(direction)), p.output(direction).read<char>());
    for (int i = 0; i < returned; ++i) {
      ASSERT_EQ(hipSuccess, hipMemset(p.output(direction).get(), 0xff, p.output(direction).bytes()));
      ASSERT_EQ(kOk,
                api.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), results[i].fwd_algo, workspace.get(), bytes));
      EXPECT_EQ(Problem::bytes(miopenFloat, p.expected(direction)), p.output(direction).read<char>());
    }
    // The measured order is the immediate mode's order afterwards.
    const auto solutions = all_solutions(api);
    EXPECT_EQ(results[0].time, solutions[0].time);
  }
}

TEST(MiopenConvolution, maps_find_with_a_short_workspace_to_fewer_solutions) {
  MiopenHandle handle;
  Problem p;
  const Api api(handle, kForward, p);
  ASSERT_EQ(kOk, miopenSetConvolutionFindMode(p.conv, 1));
  size_t bytes = 0;
  ASSERT_EQ(kOk, api.workspace(&bytes));
  const Buffer workspace(bytes);
  int returned = 0;
  miopenConvAlgoPerf_t results[4];
  ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 4, &returned, results, workspace.get(), bytes - 1));
  ASSERT_EQ(1, returned);
  EXPECT_EQ(0u, results[0].memory);
  ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 4, &returned, results, workspace.get(), bytes, true));
  EXPECT_EQ(3, returned);
  ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 1, &returned, results, workspace.get(), bytes));
  EXPECT_EQ(1, returned);
}

TEST(MiopenConvolution, rejects_a_run_without_a_find_on_the_same_handle) {
  MiopenHandle handle, other;
  Problem p;
  int returned = 0;
  miopenConvAlgoPerf_t results[4];
  for (const auto direction : kDirections) {
    const Api api(handle, direction, p), elsewhere(other, direction, p);
    EXPECT_EQ(miopenStatusUnknownError, api.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), 5, nullptr, 0));
    ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 4, &returned, results, nullptr, 0));
    EXPECT_EQ(kOk, api.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), results[0].fwd_algo, nullptr, 0));
    EXPECT_EQ(miopenStatusUnknownError,
              elsewhere.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), results[0].fwd_algo, nullptr, 0));
    EXPECT_EQ(miopenStatusUnknownError, api.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), 3, nullptr, 0))
        << "Winograd";
  }
  Problem half(miopenHalf);
  EXPECT_EQ(miopenStatusUnknownError,
            Api(handle, kForward, half).run(&kOne, &kZero, half.x.get(), half.w.get(), half.y.get(), 5, nullptr, 0));
}

TEST(MiopenConvolution, rejects_alpha_other_than_one_and_beta_other_than_zero) {
  MiopenHandle handle;
  Problem p;
  const float two = 2;
  int returned = 0;
  miopenConvAlgoPerf_t results[4];
  for (const auto direction : kDirections) {
    const Api api(handle, direction, p);
    ASSERT_EQ(kOk, api.find(p.x.get(), p.w.get(), p.y.get(), 4, &returned, results, nullptr, 0));
    const auto run = [&](const void* alpha, const void* beta) {
      return api.run(alpha, beta, p.x.get(), p.w.get(), p.y.get(), results[0].fwd_algo, nullptr, 0);
    };
    const auto before = p.output(direction).read<char>();
    EXPECT_EQ(miopenStatusNotImplemented, run(&two, &kZero));
    EXPECT_EQ(miopenStatusNotImplemented, run(&kOne, &kOne));
    EXPECT_EQ(miopenStatusNotImplemented, run(&kZero, &kZero));
    EXPECT_EQ(kBad, run(nullptr, &kZero));
    EXPECT_EQ(kBad, run(&kOne, nullptr));
    EXPECT_EQ(kBad, run(p.x.get(), &kZero)) << "a scalar in device memory";
    EXPECT_EQ(before, p.output(direction).read<char>());
    EXPECT_EQ(kOk, run(&kOne, &kZero));
  }
}

TEST(MiopenConvolution, rejects_a_workspace_one_byte_short) {
  MiopenHandle handle;
  for (const auto direction : kDirections) {
    Problem p;
    const Api api(handle, direction, p);
    int with_workspace = 0;
    for (const auto& solution : all_solutions(api)) {
      if (solution.workspace_size == 0) continue;
      ++with_workspace;
      const Buffer workspace(solution.workspace_size);
      const auto run = [&](void* ws, size_t bytes) {
        return api.immediate(p.x.get(), p.w.get(), p.y.get(), ws, bytes, solution.solution_id);
      };
      const auto before = p.output(direction).read<char>();
      EXPECT_EQ(kBad, run(workspace.get(), solution.workspace_size - 1));
      EXPECT_EQ(kBad, run(nullptr, solution.workspace_size));
      EXPECT_EQ(kBad, run(nullptr, 0));
      EXPECT_EQ(kBad, run(workspace.as<char>() + 4096, solution.workspace_size)) << "memory that ends too early";
      std::vector<char> host(solution.workspace_size);
      EXPECT_EQ(kBad, run(host.data(), solution.workspace_size));
      EXPECT_EQ(before, p.output(direction).read<char>());
      EXPECT_EQ(kOk, run(workspace.get(), solution.workspace_size));
    }
    EXPECT_EQ(1, with_workspace);
  }
}

TEST(MiopenConvolution, rejects_ids_of_nothing_and_of_other_directions) {
  MiopenHandle handle;
  Problem p;
  for (const auto direction : kDirections) {
    const Api api(handle, direction, p);
    const auto other = all_solutions(Api(handle, direction == kForward ? kBackwardData : kForward, p))[0].solution_id;
    for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{85}, ~uint64_t{0}, other}) {
      size_t bytes = 0;
      EXPECT_EQ(kBad, api.solution_workspace(id, &bytes));
      EXPECT_EQ(kBad, api.compile(id));
      EXPECT_EQ(kBad, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, id));
    }
  }
  miopenConvAlgorithm_t algorithm;
  EXPECT_EQ(kBad, miopenGetSolverIdConvAlgorithm(7, &algorithm));
}

TEST(MiopenConvolution, rejects_null_host_freed_and_short_buffers) {
  MiopenHandle handle;
  Problem p;
  void* freed = nullptr;
  ASSERT_EQ(hipSuccess, hipMalloc(&freed, 4096));
  ASSERT_EQ(hipSuccess, hipFree(freed));
  const Buffer tiny(16);
  float host[4096] = {};
  int returned = 0;
  miopenConvAlgoPerf_t results[4];
  for (const auto direction : kDirections) {
    const Api api(handle, direction, p);
    const auto id = all_solutions(api)[0].solution_id;
    for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(host), freed, tiny.get()})
      for (int operand = 0; operand < 3; ++operand) {
        void* buffers[] = {p.x.get(), p.w.get(), p.y.get()};
        buffers[operand] = bad;
        EXPECT_EQ(kBad, api.immediate(buffers[0], buffers[1], buffers[2], nullptr, 0, id));
        EXPECT_EQ(kBad, api.find(buffers[0], buffers[1], buffers[2], 4, &returned, results, nullptr, 0));
      }
  }
}

TEST(MiopenConvolution, rejects_what_no_solver_takes) {
  MiopenHandle handle;
  size_t count = 0;
  const auto status = [&](const std::function<void(Problem&)>& change, miopenTensorDescriptor_t y = nullptr) {
    Problem p;
    change(p);
    Api api(handle, kForward, p);
    if (y) api.yd = y;
    return api.count(&count);
  };
  const auto set = [](miopenTensorDescriptor_t d, miopenDataType_t t, std::vector<int> l) {
    return miopenSet4dTensorDescriptor(d, t, l[0], l[1], l[2], l[3]);
  };
  EXPECT_EQ(kOk, status([](Problem&) {}));
  EXPECT_EQ(miopenStatusNotImplemented, status([&](Problem& p) {
              set(p.x_desc, miopenDouble, {2, 4, 6, 5});
              set(p.w_desc, miopenDouble, {6, 2, 3, 3});
              set(p.y_desc, miopenDouble, {2, 6, 3, 3});
            }));
  EXPECT_EQ(miopenStatusNotImplemented, status([&](Problem& p) {
              set(p.x_desc, miopenInt8, {2, 4, 6, 5});
              set(p.w_desc, miopenInt8, {6, 2, 3, 3});
              set(p.y_desc, miopenInt8, {2, 6, 3, 3});
            }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.w_desc, miopenHalf, {6, 2, 3, 3}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.y_desc, miopenHalf, {2, 6, 3, 3}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.y_desc, miopenFloat, {2, 6, 3, 4}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.y_desc, miopenFloat, {1, 6, 3, 3}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.w_desc, miopenFloat, {6, 3, 3, 3}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { set(p.w_desc, miopenFloat, {6, 2, 30, 3}); }));
  EXPECT_EQ(kBad, status([&](Problem& p) { miopenSetConvolutionGroupCount(p.conv, 4); }));
  EXPECT_EQ(miopenStatusUnsupportedOp,
            status([&](Problem& p) { miopenInitConvolutionDescriptor(p.conv, miopenTranspose, 1, 1, 2, 2, 1, 1); }));
  EXPECT_EQ(kBad, status([&](Problem& p) {  // output elements on top of each other
              miopenSet4dTensorDescriptorEx(p.y_desc, miopenFloat, 2, 6, 3, 3, 1, 1, 1, 1);
            }));
  TensorDesc unset;
  EXPECT_EQ(kBad, status([](Problem&) {}, unset));
  // 3-D is refused as not built.
  TensorDesc x(miopenFloat, {1, 2, 4, 4, 4}), w(miopenFloat, {3, 2, 3, 3, 3}), y(miopenFloat, {1, 3, 2, 2, 2});
  ConvDesc conv;
  const int zeros[] = {0, 0, 0}, ones[] = {1, 1, 1};
  ASSERT_EQ(kOk, miopenInitConvolutionNdDescriptor(conv, 3, zeros, ones, ones, miopenConvolution));
  EXPECT_EQ(miopenStatusUnsupportedOp, miopenConvolutionForwardGetSolutionCount(handle, w, x, conv, y, &count));
}

TEST(MiopenConvolution, rejects_null_freed_foreign_and_wrong_kind_objects) {
  MiopenHandle handle;
  Problem p;
  miopenTensorDescriptor_t freed = nullptr;
  ASSERT_EQ(kOk, miopenCreateTensorDescriptor(&freed));
  ASSERT_EQ(kOk, miopenDestroyTensorDescriptor(freed));
  auto all = foreign_pointers();
  all.push_back(freed);
  for (const auto direction : kDirections) {
    const auto id = all_solutions(Api(handle, direction, p))[0].solution_id;
    for (void* bad : all)
      for (int argument = 0; argument < 5; ++argument) {
        Api api(handle, direction, p);
        if (argument == 0) api.handle = static_cast<miopenHandle_t>(bad);
        if (argument == 1) api.xd = static_cast<miopenTensorDescriptor_t>(bad);
        if (argument == 2) api.wd = static_cast<miopenTensorDescriptor_t>(bad);
        if (argument == 3) api.yd = static_cast<miopenTensorDescriptor_t>(bad);
        if (argument == 4) api.conv = static_cast<miopenConvolutionDescriptor_t>(bad);
        size_t value = 0;
        int returned = 0;
        miopenConvSolution_t solution;
        miopenConvAlgoPerf_t results[1];
        EXPECT_EQ(kBad, api.workspace(&value));
        EXPECT_EQ(kBad, api.count(&value));
        EXPECT_EQ(kBad, api.solutions(1, &value, &solution));
        EXPECT_EQ(kBad, api.solution_workspace(id, &value));
        EXPECT_EQ(kBad, api.compile(id));
        EXPECT_EQ(kBad, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, id));
        EXPECT_EQ(kBad, api.find(p.x.get(), p.w.get(), p.y.get(), 1, &returned, results, nullptr, 0));
        EXPECT_EQ(kBad, api.run(&kOne, &kZero, p.x.get(), p.w.get(), p.y.get(), 5, nullptr, 0));
      }
    const Api api(handle, direction, p);
    EXPECT_EQ(kBad, api.workspace(nullptr));
    EXPECT_EQ(kBad, api.count(nullptr));
    size_t count = 0;
    EXPECT_EQ(kBad, api.solutions(1, &count, nullptr));
    int returned = 0;
    miopenConvAlgoPerf_t results[1];
    EXPECT_EQ(kBad, api.find(p.x.get(), p.w.get(), p.y.get(), 0, &returned, results, nullptr, 0));
    EXPECT_EQ(kBad, api.find(p.x.get(), p.w.get(), p.y.get(), 1, nullptr, results, nullptr, 0));
    EXPECT_EQ(kBad, api.find(p.x.get(), p.w.get(), p.y.get(), 1, &returned, nullptr, nullptr, 0));
  }
}

TEST(MiopenConvolution, runs_on_the_handles_stream_and_returns_before_it_is_done) {
  MiopenHandle handle;
  Problem p;
  soft_test::Stream stream;
  ASSERT_EQ(kOk, miopenSetStream(handle, stream.get()));
  const Api api(handle, kForward, p);
  const auto id = all_solutions(api)[0].solution_id;
  hip_test::Gate gate;
  ASSERT_EQ(hipSuccess, hipLaunchHostFunc(stream.get(), hip_test::Gate::wait, &gate));
  ASSERT_EQ(kOk, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, id));
  EXPECT_EQ(hipErrorNotReady, hipStreamQuery(stream.get()));
  gate.open();
  ASSERT_EQ(hipSuccess, hipStreamSynchronize(stream.get()));
  EXPECT_EQ(Problem::bytes(miopenFloat, p.expected(kForward)), p.y.read<char>());
}

TEST(MiopenConvolution, rejects_a_handle_whose_stream_was_destroyed) {
  MiopenHandle handle;
  Problem p;
  const Api api(handle, kForward, p);
  const auto id = all_solutions(api)[0].solution_id;
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipSuccess, hipStreamCreate(&stream));
  ASSERT_EQ(kOk, miopenSetStream(handle, stream));
  ASSERT_EQ(hipSuccess, hipStreamDestroy(stream));
  EXPECT_EQ(kBad, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, id));
}

TEST(MiopenConvolution, maps_many_threads_with_a_handle_each) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      MiopenHandle handle;
      soft_test::Stream stream;
      ASSERT_EQ(kOk, miopenSetStream(handle, stream.get()));
      for (int i = 0; i < 5; ++i)
        for (const auto direction : kDirections) {
          Problem p;
          const Api api(handle, direction, p);
          ASSERT_EQ(kOk, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, all_solutions(api)[0].solution_id));
          ASSERT_EQ(hipSuccess, hipStreamSynchronize(stream.get()));
          ASSERT_EQ(Problem::bytes(miopenFloat, p.expected(direction)), p.output(direction).read<char>());
        }
    });
  for (auto& thread : threads) thread.join();
}

TEST(MiopenConvolution, maps_each_fault_on_purpose_to_a_wrong_result) {
  RUN_ALONE({"ROCBRIDGE_SOFT_FAULT", "last-row:conv-backward-weights"})
  MiopenHandle handle;
  for (const auto direction : kDirections) {
    Problem p;
    const Api api(handle, direction, p);
    ASSERT_EQ(kOk, api.immediate(p.x.get(), p.w.get(), p.y.get(), nullptr, 0, all_solutions(api)[0].solution_id));
    const auto clean = Problem::bytes(miopenFloat, p.expected(direction));
    if (direction == kBackwardWeights)
      EXPECT_NE(clean, p.output(direction).read<char>());
    else
      EXPECT_EQ(clean, p.output(direction).read<char>());
  }
}

TEST(MiopenConvolution, rejects_an_unknown_fault_at_the_start_of_the_device) {
  RUN_ALONE({"ROCBRIDGE_SOFT_FAULT", "no-such-fault"})
  miopenHandle_t handle = nullptr;
  EXPECT_EQ(miopenStatusNotInitialized, miopenCreate(&handle));
  EXPECT_EQ(nullptr, handle);
  void* p = nullptr;
  EXPECT_EQ(hipErrorNoDevice, hipMalloc(&p, 16));
}

}  // namespace
