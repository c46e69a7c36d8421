// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Views, level 0 (contracts), level 1 (poison, bytes between elements) and the verdict's text.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/half.hpp"
#include "integrity/contracts.hpp"
#include "integrity/parallel.hpp"
#include "integrity_data.hpp"

namespace rb::integrity {
namespace {

using test::Random;
using test::Tensor;
using Dims = std::vector<std::int64_t>;

constexpr ElementType kAllTypes[] = {ElementType::fp64,      ElementType::fp32,      ElementType::fp16,
                                     ElementType::bf16,      ElementType::int8,      ElementType::int32,
                                     ElementType::complex64, ElementType::complex128};

TEST(IntegrityTensor, rounds_each_type_once_to_nearest_even) {
  EXPECT_EQ(round_to(ElementType::fp16, 1 + 0x1p-11), 1);
  EXPECT_EQ(round_to(ElementType::fp16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);
  // Above half by less than a float can hold: rounding through float would give 1.
  EXPECT_EQ(round_to(ElementType::fp16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(round_to(ElementType::bf16, 1 + 0x1p-8), 1);
  EXPECT_EQ(round_to(ElementType::fp16, 65519), 65504);
  EXPECT_EQ(round_to(ElementType::fp16, 65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(ElementType::fp16, 0x1p-25), 0);
  EXPECT_EQ(round_to(ElementType::fp16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(round_to(ElementType::fp32, 0x1.000001p0), 1);
  EXPECT_EQ(round_to(ElementType::int8, 300), 127);
  EXPECT_EQ(round_to(ElementType::int8, -300), -128);
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const double v = random.normal() * std::ldexp(1.0, static_cast<int>(random.below(60)) - 40);
    EXPECT_EQ(round_to(ElementType::fp32, v), static_cast<float>(v));
    EXPECT_EQ(round_to(ElementType::fp16, static_cast<float>(v)), half_to_float(float_to_half(static_cast<float>(v))));
    EXPECT_EQ(round_to(ElementType::bf16, static_cast<float>(v)),
              bfloat16_to_float(float_to_bfloat16(static_cast<float>(v))));
  }
}

TEST(IntegrityTensor, refuses_views_that_leave_their_bytes) {
  char memory[64] = {};
  const auto reason = [](const TensorView& view) -> std::string {
    const Status status = check_view(view, "x");
    return status.ok() ? "" : status.fault().reason;
  };
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {4, 4}, memory, 64)), "");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {4, 4}, memory, 63)), "out-of-range");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {4, 4}, nullptr, 64)), "null-pointer");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {4, 0}, memory, 64)), "bad-dimension");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {-4, 4}, memory, 64)), "bad-dimension");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {}, memory, 64)), "bad-rank");
  EXPECT_EQ(reason(packed_view(ElementType::fp32, Dims(9, 1), memory, 64)), "bad-rank");
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(reason(packed_view(ElementType::fp32, {huge, huge}, memory, 64)), "size-overflow");
  EXPECT_EQ(reason(strided_view(ElementType::fp32, {4}, {-1}, memory, 64)), "out-of-range");
  EXPECT_EQ(reason(strided_view(ElementType::fp32, {2}, {std::numeric_limits<std::int64_t>::max()}, memory, 64)),
            "out-of-range");
  TensorView reversed = strided_view(ElementType::fp32, {4}, {-1}, memory, 64);
  reversed.offset = 3;
  EXPECT_EQ(reason(reversed), "");
}

TEST(IntegrityContracts, extent_range_alias_and_alignment) {
  EXPECT_EQ(extent_bytes(ElementType::fp32, {2, 3}, {3, 1}), 24u);
  EXPECT_EQ(extent_bytes(ElementType::fp16, {2, 3}, {10, 2}), 30u);
  EXPECT_EQ(extent_bytes(ElementType::fp16, {2, 0}, {10, 2}), std::nullopt);
  EXPECT_EQ(extent_bytes(ElementType::fp16, {2, 3}, {-10, 2}), std::nullopt);
  EXPECT_EQ(extent_bytes(ElementType::fp64, {std::int64_t{1} << 60, 2}, {2, 1}), std::nullopt);
  EXPECT_EQ(extent_bytes(ElementType::fp64, {2}, {1, 1}), std::nullopt);

  EXPECT_TRUE(range_inside(100, 50, 100, 50));
  EXPECT_TRUE(range_inside(150, 0, 100, 50));
  EXPECT_FALSE(range_inside(100, 51, 100, 50));
  EXPECT_FALSE(range_inside(99, 1, 100, 50));
  EXPECT_FALSE(range_inside(120, std::numeric_limits<std::uint64_t>::max(), 100, 50));

  EXPECT_TRUE(ranges_overlap(0, 10, 9, 1));
  EXPECT_FALSE(ranges_overlap(0, 10, 10, 5));
  EXPECT_FALSE(ranges_overlap(5, 0, 0, 10));
  EXPECT_TRUE(ranges_overlap(9, 1, 0, 10));

  EXPECT_TRUE(aligned_for(0x1002, ElementType::fp16));
  EXPECT_FALSE(aligned_for(0x1002, ElementType::fp32));
  EXPECT_TRUE(aligned_for(0x1004, ElementType::complex64));

  EXPECT_TRUE(workspace_short(0x1000, 10, 11));
  EXPECT_TRUE(workspace_short(0, 11, 11));
  EXPECT_FALSE(workspace_short(0, 0, 0));
  EXPECT_FALSE(workspace_short(0x1000, 11, 11));
}

TEST(IntegrityContracts, strides_that_name_an_element_twice_are_found) {
  EXPECT_FALSE(strides_overlap({2, 3, 4, 5}, {60, 20, 5, 1}));
  EXPECT_FALSE(strides_overlap({2, 3, 4, 5}, {60, 1, 15, 3}));
  EXPECT_TRUE(strides_overlap({2, 3}, {3, 0}));
  EXPECT_TRUE(strides_overlap({3, 3}, {2, 1}));
  EXPECT_FALSE(strides_overlap({1, 3}, {0, 1}));
  EXPECT_FALSE(strides_overlap({3, 2}, {2, 3}));  // 0 2 4 3 5 7: interleaved, yet distinct
  EXPECT_TRUE(strides_overlap({4, 3}, {2, 3}));   // 6 = 3 * 2 = 2 * 3
  Random random(2);
  for (int round = 0; round < 2000; ++round) {  // against a list of all places
    const Dims dims = {1 + random.below(4), 1 + random.below(4), 1 + random.below(4)};
    const Dims strides = {random.below(14), random.below(14), random.below(14)};
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < dims[0]; ++i)
      for (std::int64_t j = 0; j < dims[1]; ++j)
        for (std::int64_t k = 0; k < dims[2]; ++k) places.push_back(i * strides[0] + j * strides[1] + k * strides[2]);
    std::sort(places.begin(), places.end());
    const bool twice = std::adjacent_find(places.begin(), places.end()) != places.end();
    EXPECT_EQ(strides_overlap(dims, strides), twice);
  }
}

TEST(IntegrityPoison, fills_elements_only_and_finds_what_is_left) {
  for (const ElementType type : kAllTypes) {
    Tensor tensor = Tensor::strided(type, {3, 4}, {7, 1});
    std::fill(tensor.bytes.begin(), tensor.bytes.end(), 0x11);
    const std::vector<unsigned char> before = tensor.bytes;
    const Poison poison = choose_poison(type, 42, {});
    EXPECT_EQ(poison.certain, !is_integer(type));
    fill(tensor.view, poison);
    EXPECT_EQ(changed_between_elements(tensor.view, before.data(), tensor.bytes.data()), -1);
    EXPECT_EQ(scan(tensor.view, poison).elements, 12);
    const std::vector<double> one(static_cast<std::size_t>(components_of(type)), 1.0);
    for (std::int64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(scan(tensor.view, poison).first, i);
      store(type, tensor.bytes.data() + static_cast<std::size_t>(i / 4 * 7 + i % 4) * size_of(type), 1, 1, one.data());
    }
    EXPECT_EQ(scan(tensor.view, poison).elements, 0);
    EXPECT_EQ(scan(tensor.view, poison).first, -1);
    if (!is_integer(type)) {
      Tensor single(type, {1});
      fill(single.view, poison);
      EXPECT_TRUE(std::isnan(load_all(single.view)[0])) << name_of(type);
    }
  }
}

TEST(IntegrityPoison, belongs_to_its_call_and_differs_from_what_came_in) {
  for (const ElementType type : {ElementType::fp64, ElementType::fp32, ElementType::fp16, ElementType::bf16}) {
    const Poison first = choose_poison(type, 1, {}), second = choose_poison(type, 2, {});
    EXPECT_NE(first.bits, second.bits) << name_of(type);
    EXPECT_EQ(first.bits, choose_poison(type, 1, {}).bits);
    // An input that holds the very pattern: another is chosen, so a NaN that came in is no proof of a fault.
    Tensor input(type, {5});
    fill(input.view, first);
    const Poison other = choose_poison(type, 1, {&input.view});
    EXPECT_NE(other.bits, first.bits);
    EXPECT_TRUE(other.certain);
    Tensor quiet(type, {5}, std::vector<double>(5, std::numeric_limits<double>::quiet_NaN()));
    EXPECT_EQ(scan(quiet.view, first).elements, 0) << name_of(type);
  }
  // bf16 has 63 payloads; when the input holds them all the pattern proves nothing and says so.
  Tensor all(ElementType::bf16, {64});
  for (std::uint16_t i = 0; i < 64; ++i) {
    const std::uint16_t bits = static_cast<std::uint16_t>(0xffc0u | i);
    std::memcpy(all.bytes.data() + 2 * i, &bits, 2);
  }
  EXPECT_FALSE(choose_poison(ElementType::bf16, 1, {&all.view}).certain);
}

TEST(IntegrityPoison, bytes_between_rows_and_around_must_stay) {
  Tensor tensor = Tensor::strided(ElementType::fp16, {2, 3}, {5, 1});
  tensor.bytes.resize(tensor.bytes.size() + 8);  // a red zone of four bytes before and after
  tensor.view.data = tensor.bytes.data();
  tensor.view.bytes = tensor.bytes.size();
  tensor.view.offset = 2;
  std::vector<unsigned char> after = tensor.bytes;
  const auto first_change = [&] { return changed_between_elements(tensor.view, tensor.bytes.data(), after.data()); };
  EXPECT_EQ(first_change(), -1);
  after[4] = 9;   // element (0, 0)
  after[19] = 9;  // element (1, 2)
  EXPECT_EQ(first_change(), -1);
  after[10] = 1;  // between the rows
  EXPECT_EQ(first_change(), 10);
  after[3] = 1;  // before the first element
  EXPECT_EQ(first_change(), 3);
  after[3] = after[10] = 0;
  after[20] = 1;  // after the last
  EXPECT_EQ(first_change(), 20);
}

TEST(IntegrityVerdict, line_has_the_shape_of_every_screen) {
  Judgement judgement;
  judgement.verdict = Verdict::drift;
  judgement.reason = "40 of 40 elements outside their bound";
  judgement.elements = judgement.failing = 40;
  judgement.relative_l1 = 3.1e-3;
  judgement.bound = 2e-3;
  judgement.resolution = 4e-4;
  EXPECT_EQ(verdict_line(judgement, "cudnnConvolutionForward", "y", {4, 10}, "conv/fp16", 118, "rocbridge repro 118"),
            "DRIFT cudnnConvolutionForward y 3.1e-3 > 2e-3 (conv/fp16, resolution 4e-4) 40 of 40 elements outside "
            "their bound call 118  repro: rocbridge repro 118");
  judgement.relative_l1 = 1e-3;
  judgement.failing = 1;
  judgement.reason = "1 of 40 elements outside their bound";
  judgement.worst = {{23, 1.5, 1.25, 0.125}};
  EXPECT_EQ(verdict_line(judgement, "cudnnConvolutionForward", "y", {4, 10}, "conv/fp16", 118, ""),
            "DRIFT cudnnConvolutionForward y[2,3] |1.5 - 1.25| = 0.25 > 0.12 (conv/fp16, resolution 4e-4) 1 of 40 "
            "elements outside their bound call 118");
  EXPECT_EQ(verdict_line(verdict_of(Verdict::unchecked, "no memory for the copy"), "cublasSgemm_v2", "C", {4},
                         "gemm/fp32", 3, ""),
            "UNCHECKED cublasSgemm_v2 C: no memory for the copy call 3");
}

TEST(IntegrityVerdict, output_of_another_shape_or_type_is_unchecked) {
  const Tensor a(ElementType::fp32, {1, 2, 2}, std::vector<double>{1, 2, 3, 4});
  const Reference reference = *gemm(a.view, false, a.view, false, Scaling{}, 1);
  const Tensor narrow(ElementType::fp32, {1, 2, 1}), other(ElementType::fp16, {1, 2, 2});
  Accuracy accuracy;
  EXPECT_EQ(judge(reference, narrow.view, accuracy, nullptr).verdict, Verdict::unchecked);
  EXPECT_EQ(judge(reference, other.view, accuracy, nullptr).verdict, Verdict::unchecked);
  TensorView outside = a.view;
  outside.bytes = 3;
  EXPECT_EQ(judge(reference, outside, accuracy, nullptr).verdict, Verdict::unchecked);
}

TEST(IntegrityParallel, runs_every_task_once_and_passes_an_exception_on) {
  for (const int threads : {0, 1, 3}) {
    std::vector<std::atomic<int>> seen(100);
    parallel_for(threads, 100, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
  EXPECT_THROW(parallel_for(2, 10,
                            [](std::int64_t i) {
                              if (i == 3) throw std::runtime_error("task");
                            }),
               std::runtime_error);
}

TEST(IntegrityFacts, recognises_constant_discrete_and_diverse_data) {
  const auto facts = [](const std::vector<double>& values) {
    FactsBuilder builder(static_cast<std::int64_t>(values.size()));
    builder.add(values.data(), static_cast<std::int64_t>(values.size()) / 2);
    builder.add(values.data() + values.size() / 2, static_cast<std::int64_t>(values.size() - values.size() / 2));
    return builder.finish();
  };
  Random random(3);
  const auto make = [&](test::Kind kind, bool second) {
    return facts(test::make_values(kind, ElementType::fp32, 5000, second, random));
  };
  EXPECT_TRUE(make(test::Kind::constant, false).constant);
  EXPECT_TRUE(make(test::Kind::mask, false).discrete);
  EXPECT_FALSE(make(test::Kind::mask, false).constant);
  EXPECT_TRUE(make(test::Kind::outlier, false).discrete);
  EXPECT_FALSE(make(test::Kind::normal, false).discrete);
  EXPECT_FALSE(make(test::Kind::relu, false).discrete);
  EXPECT_GT(make(test::Kind::relu, false).zeros, 2000);
  EXPECT_EQ(facts({4, 12, -20, 0, 8}).granularity, 2);
  EXPECT_EQ(facts({0.375, 3}).granularity, -3);
  EXPECT_EQ(facts({0x1p-1074, 1}).granularity, -1074);
  const OperandFacts bad =
      facts({1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
  EXPECT_EQ(bad.nans, 1);
  EXPECT_EQ(bad.infinities, 1);
  EXPECT_FALSE(bad.finite());
}

}  // namespace
}  // namespace rb::integrity
