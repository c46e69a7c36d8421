// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The front's accounts of memory: arenas, the table of live ranges, patterns; the rings of the wire.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/half.hpp"
#include "softrocm/front/hip/arena.hpp"
#include "softrocm/front/hip/handles.hpp"
#include "softrocm/front/hip/ranges.hpp"
#include "softrocm/wire/commands.hpp"
#include "softrocm/wire/segments.hpp"

namespace {

TEST(SoftArena, gives_disjoint_aligned_pieces_and_joins_them_again) {
  constexpr std::uint64_t kBase = 1 << 20;
  constexpr std::uint64_t kSize = 64 << 20;
  soft::Arena arena;
  arena.reset(kBase, kSize, 256);
  std::mt19937 random(7);
  std::map<std::uint64_t, std::uint64_t> live;
  std::uint64_t used = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (live.empty() || random() % 3 != 0) {
      const std::uint64_t bytes = 1 + random() % (random() % 50 == 0 ? 4u << 20 : 5000u);
      const std::uint64_t at = arena.allocate(bytes);
      if (at == 0) continue;
      const std::uint64_t rounded = (bytes + 255) / 256 * 256;
      ASSERT_EQ(0u, at % 256);
      ASSERT_TRUE(at >= kBase && at + rounded <= kBase + kSize);
      const auto next = live.lower_bound(at);
      ASSERT_TRUE(next == live.end() || next->first >= at + rounded);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= at);
      live.emplace(at, rounded);
      used += rounded;
    } else {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
      ASSERT_TRUE(arena.release(victim->first));
      ASSERT_FALSE(arena.release(victim->first));
      used -= victim->second;
      live.erase(victim);
    }
    ASSERT_EQ(used, arena.used());
  }
  for (const auto& [at, bytes] : live) ASSERT_TRUE(arena.release(at));
  EXPECT_EQ(kBase, arena.allocate(kSize));  // one piece again
  EXPECT_EQ(0u, arena.allocate(1));
}

TEST(SoftArena, rejects_impossible_sizes) {
  soft::Arena arena;
  arena.reset(4096, 1 << 20, 256);
  EXPECT_EQ(0u, arena.allocate(0));
  EXPECT_EQ(0u, arena.allocate((1 << 20) + 1));
  EXPECT_EQ(0u, arena.allocate(~std::uint64_t{0}));
  EXPECT_FALSE(arena.release(4096));
}

TEST(SoftRanges, agrees_with_a_plain_map) {
  const auto table = std::make_unique<soft::RangeTable>();
  std::map<std::uint64_t, std::uint64_t> live;
  std::mt19937_64 random(11);
  const auto holds = [&](std::uint64_t address) {
    auto it = live.upper_bound(address);
    return it != live.begin() && address - std::prev(it)->first < std::prev(it)->second;
  };
  for (int i = 0; i < 60'000; ++i) {
    const std::uint64_t base = 4096 + random() % 400'000 * 16;
    const std::uint64_t size = 1 + random() % 200;
    if (random() % 5 < 3) {
      const auto next = live.lower_bound(base);
      const bool free = !holds(base) && (next == live.end() || next->first >= base + size);
      ASSERT_EQ(free, table->add(base, size, soft::Memory::device, 5));
      if (free) live.emplace(base, size);
    } else if (!live.empty()) {
      auto victim = live.lower_bound(base);
      if (victim == live.end()) victim = live.begin();
      soft::Range removed;
      ASSERT_FALSE(table->remove(victim->first, soft::Memory::pinned, &removed));
      ASSERT_TRUE(table->remove(victim->first, soft::Memory::device, &removed));
      ASSERT_EQ(victim->second, removed.size);
      live.erase(victim);
    }
    const std::uint64_t probe = 4096 + random() % (400'000 * 16);
    soft::Range found;
    ASSERT_EQ(holds(probe), table->find(probe, &found));
  }
  std::size_t left = 0;
  for (const auto& [base, size] : live) {
    soft::Range found;
    left += table->find(base + size - 1, &found) && found.base == base && found.size == size && found.flags == 5;
  }
  EXPECT_EQ(live.size(), left);
  table->remove_all(soft::Memory::device, [](const soft::Range&) {});
  soft::Range found;
  for (const auto& [base, size] : live) ASSERT_FALSE(table->find(base, &found));
}

TEST(SoftRanges, readers_never_see_a_half_made_range) {
  const auto table = std::make_unique<soft::RangeTable>();
  constexpr std::uint64_t kStep = 1 << 12;
  // Every other range stays for ever; those between come and go. A range's size and flags follow from its base.
  const auto size_of = [](std::uint64_t index) { return 64 + index % 7; };
  for (std::uint64_t i = 0; i < 600; i += 2)
    ASSERT_TRUE(table->add((i + 1) * kStep, size_of(i), soft::Memory::device, static_cast<std::uint32_t>(i)));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        const std::uint64_t i = random() % 600;
        soft::Range found;
        const bool there = table->find((i + 1) * kStep + 5, &found);
        if (i % 2 == 0 && !there) ++wrong;
        if (there && (found.base != (i + 1) * kStep || found.size != size_of(i) || found.flags != i)) ++wrong;
      }
    });
  }
  std::mt19937 random(99);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t i = random() % 300 * 2 + 1;
    soft::Range removed;
    if (!table->add((i + 1) * kStep, size_of(i), soft::Memory::device, static_cast<std::uint32_t>(i)))
      table->remove((i + 1) * kStep, soft::Memory::device, &removed);
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(0, wrong.load());
}

struct Object {
  std::atomic<std::uint32_t> generation{0};
};

TEST(SoftHandles, a_freed_handle_is_never_taken_for_its_successor) {
  using Table = soft::HandleTable<Object, soft::Kind::event, 128>;
  const auto table = std::make_unique<Table>();
  std::uint32_t index = 0;
  const auto always = [](std::uint32_t) { return true; };
  Object* object = table->take(0, &index, always);
  void* first = table->publish(object, index);
  EXPECT_EQ(object, table->find(first, nullptr));
  EXPECT_TRUE(table->retire(first));
  EXPECT_FALSE(table->retire(first));
  Object* again = table->take(0, &index, always);
  EXPECT_EQ(object, again);
  void* second = table->publish(again, index);
  EXPECT_NE(first, second);
  EXPECT_EQ(nullptr, table->find(first, nullptr));
  EXPECT_EQ(again, table->find(second, nullptr));
  EXPECT_EQ(nullptr, table->find(nullptr, nullptr));
  EXPECT_EQ(nullptr, table->find(object, nullptr));
  using Other = soft::HandleTable<Object, soft::Kind::stream, 128>;
  EXPECT_EQ(nullptr, std::make_unique<Other>()->find(second, nullptr));
  int made = 1;
  while (table->take(0, &index, always) != nullptr) ++made;
  EXPECT_EQ(128, made);
}

TEST(SoftPattern, is_finite_moderate_and_depends_on_seed_and_place) {
  std::vector<std::uint16_t> a(4096);
  std::vector<std::uint16_t> b(4096);
  soft::wire::write_pattern(1, 0, a.data(), a.size() * 2);
  soft::wire::write_pattern(2, 0, b.data(), b.size() * 2);
  EXPECT_NE(a, b);
  soft::wire::write_pattern(1, 65536, b.data(), b.size() * 2);
  EXPECT_NE(a, b);
  for (std::uint16_t word : a) {
    ASSERT_NE(0, word & 0xff);
    ASSERT_NE(0, word >> 8);
    ASSERT_TRUE(std::fabs(rb::half_to_float(word)) > 2 && std::fabs(rb::half_to_float(word)) < 6);
    ASSERT_TRUE(std::fabs(rb::bfloat16_to_float(word)) > 2 && std::fabs(rb::bfloat16_to_float(word)) < 4096);
  }
  for (std::size_t i = 0; i + 4 <= a.size(); i += 4) {
    double value = 0;
    std::memcpy(&value, &a[i], 8);
    ASSERT_TRUE(std::isfinite(value) && value != 0);
  }
}

TEST(SoftRing, keeps_order_and_content_over_many_wraps) {
  const auto control = std::make_unique<soft::wire::StreamControl>();
  std::vector<std::byte> bytes(soft::wire::kRingBytes + 64);
  void* aligned = bytes.data();
  std::size_t room = bytes.size();
  std::align(64, soft::wire::kRingBytes, aligned, room);
  soft::wire::Ring ring(*control, static_cast<std::byte*>(aligned));
  std::mt19937 random(3);
  std::uint32_t written = 0;
  std::uint32_t read = 0;
  std::vector<std::uint32_t> payload(soft::wire::kMaxPayload / 4);
  bool was_full = false;
  while (read < 50'000) {
    for (unsigned n = random() % 600; n > 0; --n) {
      const std::size_t words = written % (payload.size() + 1);
      for (std::size_t i = 0; i < words; ++i) payload[i] = written + static_cast<std::uint32_t>(i);
      if (!ring.write(200 + written % 50, written, payload.data(), words * 4)) {
        was_full = true;
        break;
      }
      ++written;
    }
    for (unsigned n = random() % 600; n > 0 && read < written; --n, ++read) {
      const soft::wire::Record* record = ring.front();
      ASSERT_NE(nullptr, record);
      ASSERT_EQ(read, record->ticket);
      ASSERT_EQ(200 + read % 50, record->operation);
      const auto* words = static_cast<const std::uint32_t*>(record->payload());
      ASSERT_EQ(read % (payload.size() + 1) * 4, record->payload_bytes);
      for (std::uint32_t i = 0; i < record->payload_bytes / 4; ++i) ASSERT_EQ(read + i, words[i]);
      ring.pop(*record);
    }
  }
  EXPECT_TRUE(was_full);
}

}  // namespace
