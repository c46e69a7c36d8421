// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The bridge's tables: handles, live streams and events, memory, driver functions by name, error texts.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "bridge/error_text.hpp"
#include "bridge/handle.hpp"
#include "bridge/live_table.hpp"
#include "bridge/lookup.hpp"
#include "bridge/memory_map.hpp"
#include "bridge/trap.hpp"

namespace rb::bridge {
namespace {

struct Thing {
  int value = 0;
};
using Things = HandleTable<Thing, Kind::lrn>;

const void* pointer(std::uint64_t word) {
  return reinterpret_cast<const void*>(word);
}

TEST(BridgeHandle, tells_what_is_wrong) {
  Things& things = *new Things;
  Thing* thing = nullptr;
  const Result<std::uint64_t> handle = things.create(&thing);
  ASSERT_TRUE(handle.ok());
  thing->value = 42;
  ASSERT_NE(things.find(pointer(*handle)), nullptr);
  EXPECT_EQ(things.find(pointer(*handle))->value, 42);
  EXPECT_STREQ(things.get(nullptr, "x").fault().reason, "handle-null");
  EXPECT_STREQ(things.get(&handle, "x").fault().reason, "handle-foreign");
  const std::uint64_t other_kind =
      (*handle & ~(std::uint64_t{0xff} << 48)) | (std::uint64_t{static_cast<unsigned>(Kind::tensor)} << 48);
  EXPECT_STREQ(things.get(pointer(other_kind), "x").fault().reason, "handle-kind");
  ASSERT_TRUE(things.destroy(pointer(*handle), "x").ok());
  EXPECT_STREQ(things.get(pointer(*handle), "x").fault().reason, "handle-freed");
  EXPECT_FALSE(things.destroy(pointer(*handle), "x").ok());
}

TEST(BridgeHandle, never_takes_a_freed_one_for_a_new_one) {
  Things& things = *new Things;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 20000; ++i) {
    Thing* thing = nullptr;
    const Result<std::uint64_t> handle = things.create(&thing);
    ASSERT_TRUE(handle.ok());
    ASSERT_TRUE(seen.insert(*handle).second) << "given twice";
    ASSERT_TRUE(things.destroy(pointer(*handle), "x").ok());
  }
  for (const std::uint64_t handle : seen) ASSERT_EQ(things.find(pointer(handle)), nullptr);
}

TEST(BridgeLive, finds_what_was_inserted_and_not_removed) {
  LiveTable& table = *new LiveTable;
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(1), nullptr);
  for (std::uint64_t i = 1; i <= 5000; ++i)
    table.insert(i * 4096, static_cast<int>(i % 3), static_cast<unsigned>(i), -1);
  EXPECT_EQ(table.count(), 5000u);
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    const LiveEntry* entry = table.find(i * 4096);
    ASSERT_NE(entry, nullptr) << i;
    EXPECT_EQ(entry->flags.load(), i);
    EXPECT_EQ(table.find(i * 4096 + 8), nullptr);
  }
  for (std::uint64_t i = 1; i <= 5000; i += 2) ASSERT_TRUE(table.erase(i * 4096));
  for (std::uint64_t i = 1; i <= 5000; ++i) ASSERT_EQ(table.find(i * 4096) != nullptr, i % 2 == 0) << i;
  EXPECT_FALSE(table.erase(4096));
  table.clear(0);
  for (std::uint64_t i = 2; i <= 5000; i += 2) ASSERT_EQ(table.find(i * 4096) != nullptr, i % 3 != 0) << i;
}

TEST(BridgeLive, stays_small_under_churn) {
  LiveTable& table = *new LiveTable;
  for (std::uint64_t i = 1; i <= 1000000; ++i) {
    table.insert(i * 64, 0, 0, 0);
    ASSERT_TRUE(table.erase(i * 64));
  }
  EXPECT_EQ(table.count(), 0u);
  EXPECT_EQ(table.find(64), nullptr);
}

TEST(BridgeLive, one_of_two_threads_removes) {
  LiveTable& table = *new LiveTable;
  for (int round = 0; round < 200; ++round) {
    table.insert(0x1000, 0, 0, 0);
    std::atomic<int> removed{0};
    std::thread other([&] { removed += table.erase(0x1000) ? 1 : 0; });
    removed += table.erase(0x1000) ? 1 : 0;
    other.join();
    ASSERT_EQ(removed.load(), 1);
  }
}

Allocation make(std::uint64_t base, std::uint64_t bytes, int device = 63) {
  Allocation allocation;
  allocation.base = base;
  allocation.bytes = bytes;
  allocation.device = device;
  allocation.device_base = base;
  allocation.kind = MemoryKind::device;
  allocation.flags = 7;
  return allocation;
}

constexpr std::uint64_t kFar = std::uint64_t{0x5000} << 32;

TEST(BridgeMemory, finds_by_any_address_inside) {
  for (std::uint64_t i = 0; i < 1000; ++i) remember_allocation(make(kFar + ((i * 7919) % 1000) * 0x10000, 0x8000));
  Allocation found;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t base = kFar + i * 0x10000;
    ASSERT_TRUE(find_allocation(base, &found));
    EXPECT_EQ(found.base, base);
    EXPECT_EQ(found.flags, 7u);
    EXPECT_EQ(found.device, 63);
    ASSERT_TRUE(find_allocation(base + 0x7fff, &found));
    EXPECT_EQ(found.base, base);
    ASSERT_FALSE(find_allocation(base + 0x8000, &found)) << "behind the end";
    ASSERT_FALSE(find_allocation(base - 1, &found)) << "before the start";
  }
  EXPECT_FALSE(forget_allocation(kFar + 8, &found)) << "not a start";
  ASSERT_TRUE(forget_allocation(kFar + 0x10000, &found));
  EXPECT_EQ(found.bytes, 0x8000u);
  EXPECT_FALSE(find_allocation(kFar + 0x10000, &found));
  forget_device_memory(63);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_FALSE(find_allocation(kFar + i * 0x10000, &found));
}

TEST(BridgeMemory, readers_see_whole_rows_while_others_write) {
  remember_allocation(make(kFar, 0x1000));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int round = 0; round < 20000; ++round) {
      remember_allocation(make(kFar - 0x10000, 0x1000));
      remember_allocation(make(kFar + 0x10000, 0x1000));
      forget_allocation(kFar - 0x10000, nullptr);
      forget_allocation(kFar + 0x10000, nullptr);
    }
    stop = true;
  });
  long looked = 0;
  bool wrong = false;
  while (!stop.load()) {
    Allocation found;
    if (!find_allocation(kFar + 0x800, &found) || found.base != kFar || found.bytes != 0x1000) wrong = true;
    if (find_allocation(kFar + 0x10010, &found) && found.base != kFar + 0x10000) wrong = true;
    ++looked;
  }
  writer.join();
  EXPECT_FALSE(wrong);
  EXPECT_GT(looked, 0);
  forget_device_memory(63);
}

TEST(BridgeLookup, gives_the_newest_form_that_the_version_knows) {
  void* function = nullptr;
  EXPECT_EQ(find_driver_function("cuMemAlloc", 12000, false, &function), Lookup::found);
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(find_driver_function("cuMemAlloc", 2000, false, &function), Lookup::version_too_old);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(find_driver_function("", 0, false, &function), Lookup::not_found);
  EXPECT_EQ(find_driver_function("cuMemAlloc_v2", 12000, false, &function), Lookup::not_found)
      << "names have no suffix";
}

TEST(BridgeText, has_names_and_texts) {
  ASSERT_NE(find_error_text(209), nullptr);
  EXPECT_STREQ(find_error_text(209)->driver_name, "CUDA_ERROR_NO_BINARY_FOR_GPU");
  EXPECT_EQ(find_error_text(-1), nullptr);
  EXPECT_EQ(find_error_text(123456), nullptr);
}

TEST(BridgeRefusal, reports_each_row_and_reason_once) {
  EXPECT_TRUE(first_report(4321, "test-reason"));
  EXPECT_FALSE(first_report(4321, "test-reason"));
  EXPECT_TRUE(first_report(4321, "test-other-reason"));
}

}  // namespace
}  // namespace rb::bridge
