// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// MIOpen's and rocBLAS's operations as the executor calls them: payloads, addresses, scalars on the device, faults.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "softrocm/engine/exec/registry.hpp"
#include "softrocm/engine/math/convert.hpp"
#include "softrocm/wire/blas.hpp"
#include "softrocm/wire/dnn.hpp"

namespace {

using soft::engine::Outcome;
using soft::wire::Direction;
using soft::wire::Element;
using soft::wire::Tensor4;

/// A device of 64 KiB whose addresses begin at kBase.
class Device : public soft::engine::Context {
 public:
  static constexpr std::uint64_t kBase = 0x7000'0000'0000;
  void* memory(std::uint64_t address, std::uint64_t bytes) override {
    if (address < kBase || bytes > arena.size() || address - kBase > arena.size() - bytes) return nullptr;
    return arena.data() + (address - kBase);
  }
  unsigned threads() const override { return 1; }
  const char* fault() const override { return kind.c_str(); }

  template <class T>
  std::uint64_t put(std::size_t offset, const std::vector<T>& values) {
    std::memcpy(arena.data() + offset, values.data(), values.size() * sizeof(T));
    return kBase + offset;
  }
  template <class T>
  std::vector<T> get(std::size_t offset, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), arena.data() + offset, count * sizeof(T));
    return values;
  }

  std::vector<char> arena = std::vector<char>(1 << 16, '\x11');
  std::string kind;
};

template <class Payload>
Outcome call(Device& device, std::uint32_t operation, const Payload& payload) {
  static const bool registered = [] {
    soft::engine::register_dnn();
    soft::engine::register_blas();
    return true;
  }();
  EXPECT_TRUE(registered);
  const auto handler = soft::engine::find_operation(operation);
  return handler ? handler(device, &payload, sizeof payload) : Outcome::internal;
}

// ---- convolution ---------------------------------------------------------------------------------------------------

constexpr std::size_t kX = 0, kW = 8192, kY = 16384, kWorkspace = 32768;

/// 1x1x4x4 input, one 3x3 filter, 2x2 output; all ones, so that every sum is a small integer.
soft::wire::Convolution convolution(Device& device, Direction direction, Element element) {
  soft::wire::Convolution c{};
  const auto tensor = [](std::int64_t h, std::int64_t w) { return Tensor4{{1, 1, h, w}, {h * w, h * w, w, 1}}; };
  c.problem.direction = direction;
  c.problem.element = element;
  c.problem.x = tensor(4, 4);
  c.problem.w = tensor(3, 3);
  c.problem.y = tensor(2, 2);
  c.problem.stride = c.problem.dilation = {1, 1};
  c.problem.groups = 1;
  c.solution = soft::wire::solutions(direction)[2].id;
  c.x = Device::kBase + kX;
  c.w = Device::kBase + kW;
  c.y = Device::kBase + kY;
  for (const std::size_t offset : {kX, kW, kY})
    for (std::int64_t i = 0; i < 16; ++i) soft::engine::store_float(element, device.arena.data() + offset, i, 1);
  return c;
}

std::vector<float> floats(const Device& device, Element element, std::size_t offset, std::int64_t count) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(soft::engine::load_float(element, device.arena.data() + offset, i));
  return result;
}

struct Output {
  Direction direction;
  std::size_t offset;
  std::int64_t count, row;  ///< elements, and those of the last row
  std::vector<float> expected;
};

const Output kOutputs[] = {
    {Direction::forward, kY, 4, 2, {9, 9, 9, 9}},
    {Direction::backward_data, kX, 16, 4, {1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1}},
    {Direction::backward_weights, kW, 9, 3, {4, 4, 4, 4, 4, 4, 4, 4, 4}},
};

TEST(EngineOperations, maps_convolution_in_every_direction_and_type) {
  for (const auto& output : kOutputs)
    for (const auto element : {Element::single, Element::half, Element::bfloat16}) {
      Device device;
      const auto c = convolution(device, output.direction, element);
      ASSERT_EQ(call(device, soft::wire::kConvolution, c), Outcome::ok);
      EXPECT_EQ(floats(device, element, output.offset, output.count), output.expected);
    }
}

TEST(EngineOperations, maps_each_fault_in_every_direction_and_type) {
  for (const auto& output : kOutputs)
    for (const auto element : {Element::single, Element::half, Element::bfloat16})
      for (const char* kind : {"zero-output", "stale-output", "last-row", "scale-row"}) {
        SCOPED_TRACE(kind);
        Device device;
        const auto c = convolution(device, output.direction, element);
        device.kind = kind;
        ASSERT_EQ(call(device, soft::wire::kConvolution, c), Outcome::ok);
        auto expected = output.expected;
        for (std::int64_t i = 0; i < output.count; ++i) {
          float& value = expected[static_cast<std::size_t>(i)];
          const bool in_row = i >= output.count - output.row;
          if (std::string(kind) == "zero-output") value = 0;
          if (std::string(kind) == "stale-output" || (std::string(kind) == "last-row" && in_row)) value = 1;
          if (std::string(kind) == "scale-row" && in_row) value *= 1.0625f;
        }
        EXPECT_EQ(floats(device, element, output.offset, output.count), expected);
      }
}

TEST(EngineOperations, rejects_addresses_outside_the_device) {
  for (int operand = 0; operand < 4; ++operand)
    for (const std::uint64_t bad :
         {std::uint64_t{0}, std::uint64_t{1}, Device::kBase + (1 << 16) - 8, ~std::uint64_t{0}}) {
      Device device;
      auto c = convolution(device, Direction::forward, Element::single);
      c.solution = soft::wire::solutions(Direction::forward)[1].id;
      c.workspace = Device::kBase + kWorkspace;
      c.workspace_bytes = 4096;
      (operand == 0 ? c.x : operand == 1 ? c.w : operand == 2 ? c.y : c.workspace) = bad;
      const auto before = device.arena;
      EXPECT_EQ(call(device, soft::wire::kConvolution, c), Outcome::invalid_address);
      EXPECT_EQ(device.arena, before);
    }
}

TEST(EngineOperations, rejects_payloads_of_a_wrong_size) {
  Device device;
  for (const std::uint32_t operation : {std::uint32_t{soft::wire::kConvolution}, std::uint32_t{soft::wire::kOpTensor},
                                        std::uint32_t{soft::wire::kSetTensor}, std::uint32_t{soft::wire::kGemm}})
    EXPECT_EQ(call(device, operation, std::array<char, 3>{}), Outcome::internal);
}

// ---- matrix products -----------------------------------------------------------------------------------------------

/// 2 x 2 column-major products: A = [1 3; 2 4], B = identity * 2, C = 10s.
soft::wire::Gemm gemm(Device& device) {
  soft::wire::Gemm g{};
  g.compute = Element::single;
  g.m = g.n = g.k = 2;
  g.batch = 1;
  g.a = {device.put(0, std::vector<float>{1, 2, 3, 4}), 2, 0, Element::single, 0};
  g.b = {device.put(256, std::vector<float>{2, 0, 0, 2}), 2, 0, Element::single, 0};
  g.c = g.d = {device.put(512, std::vector<float>{10, 10, 10, 10}), 2, 0, Element::single, 0};
  const float one = 1, zero = 0;
  std::memcpy(g.alpha.bytes.data(), &one, 4);
  std::memcpy(g.beta.bytes.data(), &zero, 4);
  return g;
}

TEST(EngineOperations, maps_gemm_with_host_and_device_scalars) {
  Device device;
  auto g = gemm(device);
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
  EXPECT_EQ(device.get<float>(512, 4), (std::vector<float>{2, 4, 6, 8}));
  g.alpha.address = device.put(1024, std::vector<float>{3});
  g.beta.address = device.put(1028, std::vector<float>{-1});
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
  EXPECT_EQ(device.get<float>(512, 4), (std::vector<float>{4, 8, 12, 16}));
}

TEST(EngineOperations, maps_strided_and_pointer_array_batches) {
  Device device;
  auto g = gemm(device);
  g.batch = 3;
  g.a.stride = 0;  // one A for all
  g.b.stride = 4;
  device.put(256, std::vector<float>{1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3});
  g.c.stride = g.d.stride = 8;
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
  for (int i = 0; i < 3; ++i) {
    const float f = static_cast<float>(i + 1);
    EXPECT_EQ(device.get<float>(512 + static_cast<std::size_t>(i) * 32, 4),
              (std::vector<float>{f, 2 * f, 3 * f, 4 * f}));
  }
  const std::uint64_t base = Device::kBase;
  g.a.address = device.put(2048, std::vector<std::uint64_t>{base, base, base});
  g.b.address = device.put(2112, std::vector<std::uint64_t>{base + 288, base + 272, base + 256});
  g.c.address = g.d.address = device.put(2176, std::vector<std::uint64_t>{base + 512, base + 600, base + 700});
  for (auto* matrix : {&g.a, &g.b, &g.c, &g.d}) {
    matrix->is_array = 1;
    matrix->stride = 0;
  }
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
  EXPECT_EQ(device.get<float>(512, 4), (std::vector<float>{3, 6, 9, 12}));
  EXPECT_EQ(device.get<float>(700, 4), (std::vector<float>{1, 2, 3, 4}));
}

TEST(EngineOperations, maps_operands_that_are_not_read_without_looking_at_them) {
  Device device;
  auto g = gemm(device);
  const float zero = 0, two = 2;
  std::memcpy(g.alpha.bytes.data(), &zero, 4);
  std::memcpy(g.beta.bytes.data(), &two, 4);
  g.a.address = g.b.address = 0;
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
  EXPECT_EQ(device.get<float>(512, 4), (std::vector<float>{20, 20, 20, 20}));
  g = gemm(device);
  g.c.address = 0;
  ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
}

TEST(EngineOperations, rejects_gemm_addresses_outside_the_device) {
  const auto spoil = [](auto change) {
    Device device;
    auto g = gemm(device);
    const float one = 1;
    std::memcpy(g.beta.bytes.data(), &one, 4);
    change(g, device);
    return call(device, soft::wire::kGemm, g);
  };
  EXPECT_EQ(spoil([](auto&, auto&) {}), Outcome::ok);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.a.address = 0; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.b.address = 16; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.c.address = 16; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.d.address = 16; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.alpha.address = 16; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto&) { g.batch = 1 << 20, g.a.stride = 4; }), Outcome::invalid_address);
  EXPECT_EQ(spoil([](auto& g, auto& device) {
              g.b.is_array = 1;
              g.b.address = device.put(4096, std::vector<std::uint64_t>{8});
            }),
            Outcome::invalid_address);
}

TEST(EngineOperations, maps_each_fault_of_gemm) {
  const std::pair<const char*, std::vector<float>> cases[] = {{"zero-output", {0, 0, 0, 0}},
                                                              {"stale-output", {10, 10, 10, 10}},
                                                              {"last-row", {2, 10, 6, 10}},
                                                              {"scale-row", {2, 4.25f, 6, 8.5f}},
                                                              {"scale-row:conv-forward", {2, 4, 6, 8}}};
  for (const auto& [kind, expected] : cases) {
    Device device;
    const auto g = gemm(device);
    device.kind = kind;
    ASSERT_EQ(call(device, soft::wire::kGemm, g), Outcome::ok);
    EXPECT_EQ(device.get<float>(512, 4), expected) << kind;
  }
}

TEST(EngineOperations, maps_tensor_operations) {
  Device device;
  soft::wire::FillTensor f{Element::single, {1, 1, 1, 2, 2}, {4, 4, 4, 2, 1}, Device::kBase, 2.5};
  ASSERT_EQ(call(device, soft::wire::kSetTensor, f), Outcome::ok);
  f.alpha = 2;
  ASSERT_EQ(call(device, soft::wire::kScaleTensor, f), Outcome::ok);
  EXPECT_EQ(device.get<float>(0, 4), (std::vector<float>{5, 5, 5, 5}));
  soft::wire::OpTensor o{};
  o.element = Element::single;
  o.lengths = f.lengths;
  o.b_lengths = {1, 1, 1, 1, 2};
  o.a_strides = o.c_strides = f.strides;
  o.b_strides = {2, 2, 2, 2, 1};
  o.alpha1 = o.alpha2 = 1;
  o.a = o.c = Device::kBase;
  o.b = device.put(64, std::vector<float>{1, 2});
  ASSERT_EQ(call(device, soft::wire::kOpTensor, o), Outcome::ok);
  EXPECT_EQ(device.get<float>(0, 4), (std::vector<float>{6, 7, 6, 7}));
  o.b = 0;
  EXPECT_EQ(call(device, soft::wire::kOpTensor, o), Outcome::invalid_address);
  f.y = Device::kBase + (1 << 16) - 12;
  EXPECT_EQ(call(device, soft::wire::kSetTensor, f), Outcome::invalid_address);
}

}  // namespace
