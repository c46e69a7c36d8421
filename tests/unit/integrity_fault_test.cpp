// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Wrong results must not pass. Each fault is put into an output that is otherwise right, or the right computation is
// done on a wrongly read problem; the verdict must name it. Faults below the stated resolution are not claimed: the
// last tests show where sight ends and that the resolution says so.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

#include "base/half.hpp"
#include "integrity_data.hpp"

namespace rb::integrity {
namespace {

using test::Kind;
using test::Order;
using test::Product;
using test::Random;
using test::Tensor;
using Dims = std::vector<std::int64_t>;

constexpr ElementType kTypes[] = {ElementType::fp32, ElementType::fp16, ElementType::bf16};
enum class Direction { forward, data, filter };
constexpr Direction kDirections[] = {Direction::forward, Direction::data, Direction::filter};

/// A convolution with two groups whose three tensors hold data.
struct Layer {
  Convolution problem;
  Dims x_dims, w_dims, y_dims;
  Tensor x, w, y;

  Layer(ElementType type, Random& random, Kind kind = Kind::normal) {
    problem.groups = 2;
    problem.padding[0] = problem.padding[1] = 1;
    x_dims = {2, 8, 9, 9};
    w_dims = {6, 4, 3, 3};
    y_dims = *convolution_output(problem, x_dims, w_dims);
    const auto tensor = [&](const Dims& dims, bool second) {
      std::int64_t count = 1;
      for (const std::int64_t dim : dims) count *= dim;
      return Tensor(type, dims, test::make_values(kind, type, static_cast<std::size_t>(count), second, random));
    };
    x = tensor(x_dims, false);
    w = tensor(w_dims, true);
    y = tensor(y_dims, false);
  }
  const Dims& output(Direction direction) const {
    return direction == Direction::forward ? y_dims : direction == Direction::data ? x_dims : w_dims;
  }
  Reference run(Direction direction, const Convolution& as, const Scaling& scaling = {}) const {
    switch (direction) {
      case Direction::forward:
        return *convolution_forward(as, x.view, w.view, y_dims, scaling, 1);
      case Direction::data:
        return *convolution_backward_data(as, w.view, y.view, x_dims, scaling, 1);
      default:
        return *convolution_backward_filter(as, x.view, y.view, w_dims, scaling, 1);
    }
  }
  Reference run(Direction direction) const { return run(direction, problem); }
};

Judgement judge_values(const Reference& reference, ElementType type, const std::vector<double>& values) {
  const Tensor got(type, reference.dims, values);
  Accuracy accuracy;
  accuracy.output = type;
  return judge(reference, got.view, accuracy, nullptr);
}

/// Runs `fault` on a correct result of every direction and type; the verdict must be drift or corrupt.
void expect_caught_everywhere(const char* name,
                              const std::function<void(const Layer&, Direction, std::vector<double>&)>& fault) {
  Random random(11);
  for (const ElementType type : kTypes) {
    const Layer layer(type, random);
    for (const Direction direction : kDirections) {
      const Reference reference = layer.run(direction);
      ASSERT_EQ(judge_values(reference, type, reference.value).verdict, Verdict::pass);
      std::vector<double> values = reference.value;
      for (double& value : values) value = round_to(type, value);
      fault(layer, direction, values);
      const Judgement judgement = judge_values(reference, type, values);
      EXPECT_EQ(judgement.verdict, Verdict::drift)
          << name << " " << name_of(type) << " direction " << static_cast<int>(direction);
      EXPECT_GT(judgement.failing, 0);
      ASSERT_FALSE(judgement.worst.empty());
    }
  }
}

TEST(IntegrityFaults, zero_and_stale_outputs_are_caught) {
  expect_caught_everywhere("zero",
                           [](const Layer&, Direction, std::vector<double>& v) { std::fill(v.begin(), v.end(), 0.0); });
  expect_caught_everywhere("stale", [](const Layer& layer, Direction direction, std::vector<double>& v) {
    Random other(99);
    v = Layer(layer.x.view.type, other).run(direction).value;
  });
  expect_caught_everywhere("previous call's first half",
                           [](const Layer& layer, Direction direction, std::vector<double>& v) {
                             Random other(98);
                             const auto old = Layer(layer.x.view.type, other).run(direction).value;
                             std::copy_n(old.begin(), v.size() / 2, v.begin());
                           });
}

TEST(IntegrityFaults, a_row_left_or_scaled_is_caught) {
  const auto row = [](const Layer& layer, Direction direction) {
    return static_cast<std::ptrdiff_t>(layer.output(direction).back());
  };
  expect_caught_everywhere("last row zero", [&](const Layer& layer, Direction d, std::vector<double>& v) {
    std::fill(v.end() - row(layer, d), v.end(), 0.0);
  });
  expect_caught_everywhere("row scaled", [&](const Layer& layer, Direction d, std::vector<double>& v) {
    const auto first = v.begin() + 7 * row(layer, d);
    for (auto it = first; it != first + row(layer, d); ++it) *it *= 1.0625;
  });
  expect_caught_everywhere(
      "one element replaced by its neighbour",
      [](const Layer&, Direction, std::vector<double>& v) { v[v.size() / 2] = v[v.size() / 2 + 1]; });
  expect_caught_everywhere("two images swapped", [](const Layer&, Direction, std::vector<double>& v) {
    std::swap_ranges(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2),
                     v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
  });
}

TEST(IntegrityFaults, wrongly_read_problems_are_caught) {
  const auto read_as = [](const char* name, const std::function<void(Convolution&)>& change) {
    expect_caught_everywhere(name, [&](const Layer& layer, Direction direction, std::vector<double>& v) {
      Convolution other = layer.problem;
      change(other);
      v = layer.run(direction, other).value;
    });
  };
  read_as("flipped filter", [](Convolution& c) { c.flip = true; });
  // Same output size, other taps: dilation 2 with padding 2.
  read_as("wrong dilation", [](Convolution& c) { c.dilation[1] = 2, c.padding[1] = 2; });
  expect_caught_everywhere("wrong padding", [](const Layer& layer, Direction direction, std::vector<double>& v) {
    // The image seen one place further right: what padding 0 in front and 2 behind gives.
    const std::int64_t w = layer.output(direction).back();
    for (std::size_t i = 0; i + 1 < v.size(); ++i) v[i] = static_cast<std::int64_t>(i + 1) % w ? v[i + 1] : 0;
  });
  expect_caught_everywhere("groups exchanged", [](const Layer& layer, Direction direction, std::vector<double>& v) {
    Layer other = layer;
    const std::vector<double> w = load_all(layer.w.view);
    std::vector<double> turned(w.begin() + static_cast<std::ptrdiff_t>(w.size() / 2), w.end());
    turned.insert(turned.end(), w.begin(), w.begin() + static_cast<std::ptrdiff_t>(w.size() / 2));
    store_all(other.w.view, turned);
    const std::vector<double> x = load_all(layer.x.view);
    std::vector<double> moved(x.begin() + 4 * 81, x.end());
    moved.insert(moved.end(), x.begin(), x.begin() + 4 * 81);
    store_all(other.x.view, moved);
    v = other.run(direction).value;
  });
  expect_caught_everywhere("NCHW read as NHWC", [](const Layer& layer, Direction direction, std::vector<double>& v) {
    Layer other = layer;
    for (Tensor* tensor : {&other.x, &other.w, &other.y}) {
      const auto& d = tensor->view.dims;
      tensor->view.strides = {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
    }
    v = other.run(direction).value;
  });
}

TEST(IntegrityFaults, inputs_rounded_on_the_way_are_caught_in_fp32) {
  Random random(12);
  const Layer layer(ElementType::fp32, random);
  for (const Direction direction : kDirections) {
    const Reference reference = layer.run(direction);
    for (const int digits : {8, 11}) {  // bf16, TF32 and fp16
      Layer rounded = layer;
      for (Tensor* tensor : {&rounded.x, &rounded.w, &rounded.y}) {
        std::vector<double> values = load_all(tensor->view);
        for (double& v : values) {
          const double ulp = std::ldexp(1.0, std::ilogb(v) - digits + 1);
          v = std::nearbyint(v / ulp) * ulp;
        }
        store_all(tensor->view, values);
      }
      EXPECT_EQ(judge_values(reference, ElementType::fp32, rounded.run(direction).value).verdict, Verdict::drift)
          << digits << " digits";
    }
  }
}

TEST(IntegrityFaults, scalars_ignored_or_applied_twice_are_caught) {
  Random random(13);
  for (const ElementType type : kTypes) {
    const Layer layer(type, random);
    for (const Direction direction : kDirections) {
      const std::size_t count = layer.run(direction).value.size();
      const Tensor prior(type, layer.output(direction), test::make_values(Kind::normal, type, count, false, random));
      const auto with = [&](double alpha, double beta) {
        return layer.run(direction, layer.problem, Scaling{alpha, 0, beta, 0, &prior.view});
      };
      const Reference reference = with(0.75, 0.5);
      EXPECT_EQ(judge_values(reference, type, reference.value).verdict, Verdict::pass);
      EXPECT_EQ(judge_values(reference, type, with(1, 0.5).value).verdict, Verdict::drift) << "alpha ignored";
      EXPECT_EQ(judge_values(reference, type, with(0.75, 0).value).verdict, Verdict::drift) << "beta ignored";
      EXPECT_EQ(judge_values(reference, type, with(0.75 * 0.75, 0.5).value).verdict, Verdict::drift) << "alpha twice";
      EXPECT_EQ(judge_values(reference, type, with(0.75, 1).value).verdict, Verdict::drift) << "beta as 1";
    }
  }
}

TEST(IntegrityFaults, matrix_products_of_the_wrong_operands_are_caught) {
  Random random(14);
  for (const ElementType type : kTypes) {
    const std::int64_t n = 24;
    const Product product(Kind::normal, type, n, n, n, random);
    const TensorView& a = product.a_tensor.view;
    const TensorView& b = product.b_tensor.view;
    const Reference reference = product.reference();
    const auto wrong = [&](const TensorView& left, const TensorView& right) {
      return judge_values(reference, type, (*gemm(left, false, right, false, Scaling{}, 1)).value).verdict;
    };
    TensorView a_turned = a, short_ld = a;
    std::swap(a_turned.strides[1], a_turned.strides[2]);
    short_ld.strides[1] = n - 1;
    EXPECT_EQ(wrong(b, a), Verdict::drift) << "operands swapped";
    EXPECT_EQ(wrong(a_turned, b), Verdict::drift) << "operand transposed";
    EXPECT_EQ(wrong(short_ld, b), Verdict::drift) << "leading dimension";
    for (const std::int64_t depth : {n, std::int64_t{576}, std::int64_t{4096}}) {
      const Product deep(Kind::normal, type, 16, 16, depth, random);
      const Reference whole = deep.reference();
      TensorView left = deep.a_tensor.view, right = deep.b_tensor.view;
      left.dims[2] = right.dims[1] = depth - 1;
      EXPECT_EQ(judge_values(whole, type, (*gemm(left, false, right, false, Scaling{}, 1)).value).verdict,
                Verdict::drift)
          << "last product dropped, depth " << depth << " " << name_of(type);
      std::vector<double> doubled = whole.value;
      for (std::int64_t i = 0; i < 16; ++i)
        for (std::int64_t j = 0; j < 16; ++j)
          doubled[static_cast<std::size_t>(i * 16 + j)] +=
              deep.a[static_cast<std::size_t>(i * depth)] * deep.b[static_cast<std::size_t>(j)];
      EXPECT_EQ(judge_values(whole, type, doubled).verdict, Verdict::drift) << "first product doubled, depth " << depth;
    }
  }
}

TEST(IntegrityFaults, batches_repeated_and_conjugation_ignored_are_caught) {
  Random random(15);
  const auto values = [&](std::size_t count) {
    return test::make_values(Kind::normal, ElementType::fp32, count, false, random);
  };
  const Tensor a(ElementType::complex64, {3, 8, 20}, values(960)), b(ElementType::complex64, {3, 20, 8}, values(960));
  const Reference reference = *gemm(a.view, true, b.view, false, Scaling{}, 1);
  Accuracy accuracy;
  accuracy.output = accuracy.accumulate = ElementType::complex64;
  const auto verdict = [&](const Reference& faulty) {
    const Tensor got(ElementType::complex64, reference.dims, faulty.value);
    return judge(reference, got.view, accuracy, nullptr).verdict;
  };
  EXPECT_EQ(verdict(reference), Verdict::pass);
  EXPECT_EQ(verdict(*gemm(a.view, false, b.view, false, Scaling{}, 1)), Verdict::drift);
  TensorView first = b.view;
  first.strides[0] = 0;
  EXPECT_EQ(verdict(*gemm(a.view, true, first, false, Scaling{}, 1)), Verdict::drift);
}

TEST(IntegrityFaults, half_subnormals_must_be_kept) {
  // 64 products of 1 and 2^-15: exactly 2^-9. A path that flushes half subnormals gives 0 (case B7).
  const Tensor a(ElementType::fp16, {1, 64, 64}, std::vector<double>(4096, 1.0));
  const Tensor b(ElementType::fp16, {1, 64, 64}, std::vector<double>(4096, 0x1p-15));
  const Reference reference = *gemm(a.view, false, b.view, false, Scaling{}, 1);
  EXPECT_EQ(judge_values(reference, ElementType::fp16, std::vector<double>(4096, 0x1p-9)).verdict, Verdict::pass);
  const Judgement flushed = judge_values(reference, ElementType::fp16, std::vector<double>(4096, 0.0));
  EXPECT_EQ(flushed.verdict, Verdict::drift);
  EXPECT_EQ(flushed.zero_share, 1);
  // Random data of that size: dropping the subnormal inputs alone must show.
  Random random(16);
  std::vector<double> small = test::make_values(Kind::normal, ElementType::fp16, 4096, false, random);
  for (double& v : small) v = round_to(ElementType::fp16, v * 0x1p-14);
  const Tensor c(ElementType::fp16, {1, 64, 64}, small);
  for (double& v : small) v = std::fabs(v) < 0x1p-14 ? 0 : v;
  const Tensor flushed_input(ElementType::fp16, {1, 64, 64}, small);
  const Reference exact = *gemm(a.view, false, c.view, false, Scaling{}, 1);
  EXPECT_EQ(
      judge_values(exact, ElementType::fp16, (*gemm(a.view, false, flushed_input.view, false, Scaling{}, 1)).value)
          .verdict,
      Verdict::drift);
}

TEST(IntegrityFaults, integers_leave_no_tolerance) {
  Random random(17);
  for (const ElementType type : kTypes) {
    const Product product(Kind::integer, type, 16, 16, 64, random);
    const Reference reference = product.reference();
    const Judgement clean = judge_values(reference, type, reference.value);
    EXPECT_EQ(clean.verdict, Verdict::pass);
    EXPECT_EQ(clean.relative_l1, 0);
    if (type == ElementType::fp32) {
      EXPECT_EQ(clean.bound, 0);
      std::vector<double> off = reference.value;
      off[3] += 0x1p-12;  // far below any usual tolerance
      EXPECT_EQ(judge_values(reference, type, off).verdict, Verdict::drift);
    }
  }
}

TEST(IntegrityFaults, accumulation_in_half_precision_is_caught_where_fp32_is_due) {
  Random random(18);
  for (const ElementType type : {ElementType::fp16, ElementType::bf16}) {
    const Product product(Kind::normal, type, 16, 16, 576, random);
    std::vector<double> values;
    for (std::int64_t i = 0; i < 16; ++i)
      for (std::int64_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < 576; ++k)
          sum = round_to(type, sum + product.a[static_cast<std::size_t>(i * 576 + k)] *
                                         product.b[static_cast<std::size_t>(k * 16 + j)]);
        values.push_back(sum);
      }
    EXPECT_EQ(judge_values(product.reference(), type, values).verdict, Verdict::drift) << name_of(type);
  }
}

TEST(IntegrityFaults, nan_inf_and_unwritten_elements_are_corrupt) {
  Random random(19);
  const Product product(Kind::normal, ElementType::fp32, 8, 8, 32, random);
  const Reference reference = product.reference();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> values = reference.value;
    values[5] = bad;
    const Judgement judgement = judge_values(reference, ElementType::fp32, values);
    EXPECT_EQ(judgement.verdict, Verdict::corrupt);
    EXPECT_EQ(judgement.bad_nonfinite, 1);
    EXPECT_EQ(judgement.worst.front().index, 5);
  }
  Tensor got(ElementType::fp32, reference.dims, reference.value);
  const Poison poison = choose_poison(ElementType::fp32, 7, {&product.a_tensor.view, &product.b_tensor.view});
  std::memcpy(got.bytes.data() + 4 * 63, &poison.bits, 4);
  Accuracy accuracy;
  const Judgement judgement = judge(reference, got.view, accuracy, &poison);
  EXPECT_EQ(judgement.verdict, Verdict::corrupt);
  EXPECT_EQ(judgement.unwritten, 1);
  EXPECT_EQ(judgement.first_unwritten, 63);
}

TEST(IntegrityFaults, an_error_above_the_stated_resolution_is_always_seen) {
  Random random(20);
  for (const ElementType type : kTypes) {
    for (const Kind kind : {Kind::normal, Kind::positive, Kind::relu, Kind::heavy, Kind::constant, Kind::integer}) {
      const Product product(kind, type, 12, 12, 300, random);
      const Reference reference = product.reference();
      const std::vector<double> correct = product.evaluate(Order::blocked);
      const Judgement clean = judge_values(reference, type, correct);
      ASSERT_EQ(clean.verdict, Verdict::pass) << test::name_of(kind);
      double rms = 0;
      for (const double ref : reference.value) rms += ref * ref;
      rms = std::sqrt(rms / static_cast<double>(reference.value.size()));
      std::printf("%-5s %-9s bound %.2e resolution %.2e\n", name_of(type), test::name_of(kind), clean.bound,
                  clean.resolution);
      for (std::size_t i = 0; i < correct.size(); i += 7) {
        for (const double sign : {-1.0, 1.0}) {
          std::vector<double> values = correct;
          for (double& v : values) v = round_to(type, v);
          // 1 % and one rounding of the output more than the resolution.
          const double size = std::max(std::fabs(reference.value[i]), rms);
          values[i] += sign * (1.01 * clean.resolution * size + ulp_at(type, reference.value[i]));
          EXPECT_EQ(judge_values(reference, type, values).verdict, Verdict::drift)
              << name_of(type) << " " << test::name_of(kind) << " element " << i;
        }
      }
    }
  }
}

TEST(IntegrityFaults, bits_flipped_are_seen_down_to_a_stated_position) {
  Random random(21);
  const Product product(Kind::normal, ElementType::fp32, 16, 16, 576, random);
  const Reference reference = product.reference();
  const Tensor correct(ElementType::fp32, reference.dims, product.evaluate(Order::fused));
  Accuracy accuracy;
  int lowest = 32;
  for (int bit = 31; bit >= 0; --bit) {
    Tensor got = correct;
    std::uint32_t word = 0;
    std::size_t at = 0;
    // An element of ordinary size: the resolution is stated relative to the tensor's rms.
    while (std::fabs(reference.value[at]) < 10) ++at;
    std::memcpy(&word, got.bytes.data() + 4 * at, 4);
    word ^= 1u << bit;
    std::memcpy(got.bytes.data() + 4 * at, &word, 4);
    const Verdict verdict = judge(reference, got.view, accuracy, nullptr).verdict;
    if (verdict == Verdict::pass) break;
    lowest = bit;
  }
  std::printf("fp32, depth 576: bit flips seen from bit %d up\n", lowest);
  EXPECT_LE(lowest, 14);
}

TEST(IntegrityFaults, mostly_zero_output_that_rounding_would_excuse_is_untrusted) {
  // Products far below fp16's smallest subnormal: zero is right, and proves nothing.
  const Tensor a(ElementType::fp16, {1, 8, 8}, std::vector<double>(64, 0x1p-20));
  const Reference reference = *gemm(a.view, false, a.view, false, Scaling{}, 1);
  EXPECT_EQ(judge_values(reference, ElementType::fp16, std::vector<double>(64, 0.0)).verdict, Verdict::untrusted);
  // All-zero inputs: zero is the exact answer.
  const Tensor zero(ElementType::fp16, {1, 8, 8});
  const Reference nothing = *gemm(zero.view, false, zero.view, false, Scaling{}, 1);
  EXPECT_EQ(judge_values(nothing, ElementType::fp16, std::vector<double>(64, 0.0)).verdict, Verdict::pass);
  std::vector<double> dirty(64, 0.0);
  dirty[9] = 0x1p-24;
  EXPECT_EQ(judge_values(nothing, ElementType::fp16, dirty).verdict, Verdict::drift);
}

TEST(IntegrityFaults, a_bound_too_wide_to_vouch_is_untrusted) {
  Random random(22);
  const Product product(Kind::normal, ElementType::fp16, 8, 8, 4096, random);
  Accuracy accuracy;
  accuracy.output = accuracy.accumulate = ElementType::fp16;
  const Reference reference = product.reference();
  const Tensor got(ElementType::fp16, reference.dims, reference.value);
  EXPECT_EQ(judge(reference, got.view, accuracy, nullptr).verdict, Verdict::untrusted);
}

}  // namespace
}  // namespace rb::integrity
