// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The engine's convolution solutions against a plain sum in double: directions, types, groups, strides, layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "softrocm/engine/dnn/convolution.hpp"

namespace {

using soft::engine::ConvolutionMemory;
using soft::engine::Outcome;
using soft::engine::run_convolution;
using soft::wire::ConvolutionProblem;
using soft::wire::Direction;
using soft::wire::Element;
using soft::wire::Tensor4;

constexpr unsigned kThreads = 2;
constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data, Direction::backward_weights};
constexpr Element kElements[] = {Element::single, Element::half, Element::bfloat16};
enum class Layout { nchw, nhwc, gaps, tight };

struct Case {
  std::int64_t n, c, h, w, k, r, s;
  int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups;
};

const Case kCases[] = {
    {2, 3, 7, 9, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1},    {1, 8, 8, 8, 16, 1, 1, 0, 0, 1, 1, 1, 1, 1},
    {2, 16, 10, 11, 8, 3, 3, 1, 1, 2, 2, 1, 1, 1}, {1, 6, 12, 10, 9, 3, 2, 2, 1, 1, 2, 2, 3, 3},
    {2, 8, 9, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1, 8},    {1, 4, 9, 7, 8, 5, 3, 0, 2, 3, 1, 1, 1, 4},
    {1, 1, 5, 5, 1, 5, 5, 0, 0, 1, 1, 1, 1, 1},    {3, 2, 4, 4, 2, 1, 1, 1, 1, 2, 2, 1, 1, 2},
    {1, 2, 3, 3, 2, 3, 3, 4, 4, 1, 1, 1, 1, 1},    {1, 16, 14, 14, 32, 3, 3, 2, 2, 1, 1, 2, 2, 2},
};

Tensor4 tensor(std::array<std::int64_t, 4> lengths, Layout layout) {
  Tensor4 t{lengths, {}};
  const auto [n, c, h, w] = lengths;
  switch (layout) {
    case Layout::nchw:
      t.strides = {c * h * w, h * w, w, 1};
      break;
    case Layout::nhwc:
      t.strides = {c * h * w, 1, w * c, c};
      break;
    case Layout::gaps:
      t.strides = {c * (h * (2 * w + 3) + 5) + 7, h * (2 * w + 3) + 5, 2 * w + 3, 2};
      break;
    case Layout::tight: {  // a row begins right after the last element of the one before, with gaps inside
      std::int64_t extent = 1;
      for (int i = 3; i >= 0; --i) {
        t.strides[i] = i == 3 ? 2 : extent;
        extent += (t.lengths[i] - 1) * t.strides[i];
      }
      break;
    }
  }
  return t;
}

ConvolutionProblem problem(const Case& c, Direction direction, Element element, Layout layout) {
  ConvolutionProblem p{};
  p.direction = direction;
  p.element = element;
  p.pad = {c.pad_h, c.pad_w};
  p.stride = {c.stride_h, c.stride_w};
  p.dilation = {c.dilation_h, c.dilation_w};
  p.groups = c.groups;
  const auto out = [](std::int64_t in, std::int64_t filter, int pad, int stride, int dilation) {
    return (in + 2 * pad - ((filter - 1) * dilation + 1)) / stride + 1;
  };
  p.x = tensor({c.n, c.c, c.h, c.w}, layout);
  p.w = tensor({c.k, c.c / c.groups, c.r, c.s}, layout);
  p.y = tensor(
      {c.n, c.k, out(c.h, c.r, c.pad_h, c.stride_h, c.dilation_h), out(c.w, c.s, c.pad_w, c.stride_w, c.dilation_w)},
      layout);
  return p;
}

double load(Element element, const void* data, std::int64_t i) {
  if (element == Element::single) return static_cast<const float*>(data)[i];
  const auto bits = static_cast<const std::uint16_t*>(data)[i];
  return element == Element::half ? rb::half_to_float(bits) : rb::bfloat16_to_float(bits);
}

void store(Element element, void* data, std::int64_t i, float value) {
  if (element == Element::single)
    static_cast<float*>(data)[i] = value;
  else
    static_cast<std::uint16_t*>(data)[i] =
        element == Element::half ? rb::float_to_half(value) : rb::float_to_bfloat16(value);
}

double unit(Element element) {
  return element == Element::single ? 0x1p-24 : element == Element::half ? 0x1p-11 : 0x1p-8;
}

/// Offsets of all elements in the order n, c, h, w.
std::vector<std::int64_t> offsets(const Tensor4& t) {
  std::vector<std::int64_t> result;
  for (std::int64_t n = 0; n < t.lengths[0]; ++n)
    for (std::int64_t c = 0; c < t.lengths[1]; ++c)
      for (std::int64_t h = 0; h < t.lengths[2]; ++h)
        for (std::int64_t w = 0; w < t.lengths[3]; ++w)
          result.push_back(n * t.strides[0] + c * t.strides[1] + h * t.strides[2] + w * t.strides[3]);
  return result;
}

std::size_t bytes(const Tensor4& t, Element element) {
  return static_cast<std::size_t>(t.span()) * soft::wire::size_of(element);
}

struct Data {
  std::vector<char> x, w, y;

  Data(const ConvolutionProblem& p, bool integers, unsigned seed)
      : x(bytes(p.x, p.element), '\x5a'), w(bytes(p.w, p.element), '\x5a'), y(bytes(p.y, p.element), '\x5a') {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> small(-3, 3);
    for (auto [t, data] : {std::pair{&p.x, &x}, {&p.w, &w}, {&p.y, &y}})
      for (const auto i : offsets(*t))
        store(p.element, data->data(), i, integers ? static_cast<float>(small(random)) : normal(random));
  }
  ConvolutionMemory memory(std::vector<char>& workspace) {
    return {x.data(), w.data(), y.data(), workspace.data(), workspace.size()};
  }
  std::vector<char>& output(Direction d) { return d == Direction::forward ? y : d == Direction::backward_data ? x : w; }
};

const Tensor4& output(const ConvolutionProblem& p) {
  return p.direction == Direction::forward ? p.y : p.direction == Direction::backward_data ? p.x : p.w;
}

struct Reference {
  std::vector<double> value, squares, terms;  ///< of each output element: sum, sum of squared products, their number
};

Reference reference(const ConvolutionProblem& p, const Data& data) {
  const std::size_t count = static_cast<std::size_t>(output(p).count());
  Reference result{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count)};
  const auto xo = offsets(p.x), wo = offsets(p.w), yo = offsets(p.y);
  const std::int64_t group_k = p.w.lengths[0] / p.groups, group_c = p.w.lengths[1];
  const auto index = [](const Tensor4& t, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return static_cast<std::size_t>(((a * t.lengths[1] + b) * t.lengths[2] + c) * t.lengths[3] + d);
  };
  for (std::int64_t n = 0; n < p.y.lengths[0]; ++n)
    for (std::int64_t k = 0; k < p.y.lengths[1]; ++k)
      for (std::int64_t oh = 0; oh < p.y.lengths[2]; ++oh)
        for (std::int64_t ow = 0; ow < p.y.lengths[3]; ++ow)
          for (std::int64_t c = 0; c < group_c; ++c)
            for (std::int64_t r = 0; r < p.w.lengths[2]; ++r)
              for (std::int64_t s = 0; s < p.w.lengths[3]; ++s) {
                const std::int64_t h = oh * p.stride[0] - p.pad[0] + r * p.dilation[0];
                const std::int64_t w = ow * p.stride[1] - p.pad[1] + s * p.dilation[1];
                if (h < 0 || h >= p.x.lengths[2] || w < 0 || w >= p.x.lengths[3]) continue;
                const auto xi = index(p.x, n, k / group_k * group_c + c, h, w), wi = index(p.w, k, c, r, s),
                           yi = index(p.y, n, k, oh, ow);
                const double x = load(p.element, data.x.data(), xo[xi]), f = load(p.element, data.w.data(), wo[wi]),
                             y = load(p.element, data.y.data(), yo[yi]);
                const auto [at, product] = p.direction == Direction::forward         ? std::pair{yi, x * f}
                                           : p.direction == Direction::backward_data ? std::pair{xi, y * f}
                                                                                     : std::pair{wi, x * y};
                result.value[at] += product;
                result.squares[at] += product * product;
                result.terms[at] += 1;
              }
  return result;
}

std::uint64_t workspace_of(const ConvolutionProblem& p, std::uint64_t id) {
  return soft::wire::workspace_bytes(*soft::wire::find_solution(id), p);
}

std::string describe(const ConvolutionProblem& p, const char* solution, std::size_t number) {
  return std::string(solution) + " case " + std::to_string(number) + " element " +
         std::to_string(static_cast<int>(p.element));
}

/// Runs every solution of the problem and compares; integers are compared exactly.
void check(const ConvolutionProblem& p, bool integers, std::size_t number) {
  const Data inputs(p, integers, static_cast<unsigned>(number) + 1);
  const Reference ref = reference(p, inputs);
  const auto at = offsets(output(p));
  for (const auto& solution : soft::wire::solutions(p.direction)) {
    SCOPED_TRACE(describe(p, solution.name, number));
    ASSERT_TRUE(soft::wire::is_applicable(solution, p));
    Data data = inputs;
    auto& out = data.output(p.direction);
    std::vector<char> before(out.size(), '\xff');  // NaN in every type: an element that is not written shows
    out = before;
    std::vector<char> workspace(workspace_of(p, solution.id), '\xff');
    ASSERT_EQ(run_convolution(p, solution.id, data.memory(workspace), 1 + number % 2), Outcome::ok);
    double worst = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double got = load(p.element, out.data(), at[i]), expected = ref.value[i];
      if (integers) {
        float rounded = static_cast<float>(expected);
        char bits[4];
        store(p.element, bits, 0, rounded);
        ASSERT_EQ(got, load(p.element, bits, 0)) << "element " << i;
        continue;
      }
      const double tolerance = unit(p.element) * std::abs(expected) +
                               8 * 0x1p-24 * std::sqrt(ref.terms[i] * ref.squares[i]) +
                               8 * 0x1p-24 * std::abs(expected) * std::sqrt(ref.terms[i] / 3) + 0x1p-25;
      ASSERT_FALSE(std::isnan(got)) << "element " << i;
      worst = std::max(worst, std::abs(got - expected) / tolerance);
    }
    EXPECT_LE(worst, 1.0);
    const std::size_t size = soft::wire::size_of(p.element);
    std::vector<char> restored = out;
    for (const auto i : at) std::memset(restored.data() + static_cast<std::size_t>(i) * size, 0xff, size);
    EXPECT_EQ(restored, before) << "bytes between the elements changed";
  }
}

TEST(EngineConvolution, maps_every_direction_type_and_layout_exactly_on_integers) {
  for (std::size_t i = 0; i < std::size(kCases); ++i)
    for (const auto direction : kDirections)
      for (const auto element : kElements)
        for (const auto layout : {Layout::nchw, Layout::nhwc, Layout::gaps, Layout::tight})
          check(problem(kCases[i], direction, element, layout), true, i);
}

TEST(EngineConvolution, maps_random_data_within_the_rounding_bound) {
  for (std::size_t i = 0; i < std::size(kCases); ++i)
    for (const auto direction : kDirections)
      for (const auto element : kElements) check(problem(kCases[i], direction, element, Layout::nchw), false, i);
}

TEST(EngineConvolution, maps_a_long_weight_gradient_within_the_rounding_bound) {
  const Case long_sum{8, 8, 40, 40, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1};
  for (const auto element : kElements)
    check(problem(long_sum, Direction::backward_weights, element, Layout::nchw), false, 100);
}

TEST(EngineConvolution, rejects_a_workspace_that_is_one_byte_short) {
  int with_workspace = 0;
  for (const auto direction : kDirections)
    for (const auto element : kElements) {
      const auto p = problem(kCases[0], direction, element, Layout::nhwc);
      for (const auto& solution : soft::wire::solutions(direction)) {
        const auto needed = workspace_of(p, solution.id);
        if (!needed) continue;
        ++with_workspace;
        Data data(p, true, 1);
        const auto untouched = data.output(direction);
        std::vector<char> workspace(needed - 1);
        EXPECT_EQ(run_convolution(p, solution.id, data.memory(workspace), kThreads), Outcome::unsupported);
        EXPECT_EQ(data.output(direction), untouched);
        workspace.resize(needed);
        EXPECT_EQ(run_convolution(p, solution.id, data.memory(workspace), kThreads), Outcome::ok);
      }
    }
  EXPECT_EQ(with_workspace, 9);
}

TEST(EngineConvolution, maps_the_workspace_only_within_the_bytes_it_asked_for) {
  for (const auto direction : kDirections) {
    const auto p = problem(kCases[3], direction, Element::half, Layout::gaps);
    const auto gemm = soft::wire::solutions(direction)[1];
    ASSERT_STREQ(std::string(gemm.name).substr(0, 4).c_str(), "Gemm");
    const auto needed = workspace_of(p, gemm.id);
    Data data(p, true, 1);
    std::vector<char> workspace(needed + 256, '\x77');
    ASSERT_EQ(run_convolution(p, gemm.id, data.memory(workspace), kThreads), Outcome::ok);
    EXPECT_EQ(std::string(workspace.data() + needed, 256), std::string(256, '\x77'));
    EXPECT_NE(std::string(workspace.data(), needed), std::string(needed, '\x77'));
  }
}

TEST(EngineConvolution, maps_a_forced_solution_to_its_own_arithmetic) {
  const Case wide{1, 64, 12, 12, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1};
  for (const auto direction : kDirections) {
    const auto p = problem(wide, direction, Element::single, Layout::nchw);
    std::vector<std::vector<char>> results;
    for (const auto& solution : soft::wire::solutions(direction)) {
      Data data(p, false, 5);
      std::vector<char> workspace(workspace_of(p, solution.id));
      ASSERT_EQ(run_convolution(p, solution.id, data.memory(workspace), kThreads), Outcome::ok);
      results.push_back(data.output(direction));
    }
    EXPECT_NE(results[0], results[1]);
    EXPECT_NE(results[0], results[2]);
    EXPECT_NE(results[1], results[2]);
  }
}

TEST(EngineConvolution, maps_the_same_call_to_the_same_bits) {
  for (const auto direction : kDirections) {
    const auto p = problem(kCases[9], direction, Element::single, Layout::nchw);
    for (const auto& solution : soft::wire::solutions(direction)) {
      std::vector<char> first;
      for (int i = 0; i < 3; ++i) {
        Data data(p, false, 9);
        std::vector<char> workspace(workspace_of(p, solution.id));
        ASSERT_EQ(run_convolution(p, solution.id, data.memory(workspace), kThreads), Outcome::ok);
        if (i == 0) first = data.output(direction);
        EXPECT_EQ(data.output(direction), first) << solution.name;
      }
    }
  }
}

TEST(EngineConvolution, rejects_unknown_and_foreign_solutions) {
  const auto p = problem(kCases[0], Direction::forward, Element::single, Layout::nchw);
  Data data(p, true, 1);
  std::vector<char> workspace(1 << 20);
  EXPECT_EQ(run_convolution(p, 0, data.memory(workspace), kThreads), Outcome::unsupported);
  EXPECT_EQ(run_convolution(p, 12345, data.memory(workspace), kThreads), Outcome::unsupported);
  const auto other = soft::wire::solutions(Direction::backward_data)[0].id;
  EXPECT_EQ(run_convolution(p, other, data.memory(workspace), kThreads), Outcome::unsupported);
}

TEST(EngineConvolution, uses_no_reference_implementation_of_onednn) {
  for (const auto& c : kCases)
    for (const auto direction : kDirections) {
      const auto name =
          soft::engine::onednn_implementation(problem(c, direction, Element::single, Layout::nchw), kThreads);
      EXPECT_EQ(name.find("ref"), std::string::npos) << name;
    }
}

TEST(WireDnn, orders_solutions_with_distinct_ids_and_positive_times) {
  for (const auto direction : kDirections) {
    const auto p = problem(kCases[0], direction, Element::single, Layout::nchw);
    for (const auto& solution : soft::wire::solutions(direction)) {
      EXPECT_GT(soft::wire::modelled_time(solution, p), 0);
      EXPECT_EQ(soft::wire::find_solution(solution.id), &solution);
      EXPECT_EQ(solution.direction, direction);
    }
  }
}

}  // namespace
