// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// kill -9 at random times: each thread counts what it committed in shared memory, right after the commit; every record
// below the counter must be read back.
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "trace_support.hpp"

namespace {

using namespace trace_test;

constexpr unsigned kThreads = 4;
constexpr std::uint64_t kMost = 1 << 20;
constexpr int kRounds = 50;

struct Shared {
  std::atomic<std::uint64_t> committed[kThreads];
  /// With a collector that dies records may be dropped: which were not.
  std::atomic<std::uint8_t> stored[kThreads][kMost];
};

/// Four threads that write until they are killed, or have written `most` records each.
void write_for_ever(Shared* shared, std::uint64_t most) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([=] {
      for (std::uint64_t i = 0; i < most; ++i) {
        trace::Call call;
        auto record = trace::call_begin(call, t % 3, 2);
        record.argument(0, trace::ArgumentKind::value, t);
        record.argument(1, trace::ArgumentKind::value, i);
        if (record.commit()) shared->stored[t][i].store(1, std::memory_order_relaxed);
        shared->committed[t].store(i + 1, std::memory_order_release);
        trace::call_end(call, static_cast<std::int64_t>(i));
      }
      for (;;) ::pause();
    });
  for (auto& thread : threads) thread.join();
}

/// Every stored record below the counters is in the trace, in order, each once.
void expect_all(const std::string& directory, const Shared& shared, bool may_drop) {
  std::vector<std::vector<std::uint8_t>> seen(kThreads);
  std::vector<std::uint64_t> last(kThreads, 0);
  auto reader = trace::Reader::open(directory);
  ASSERT_TRUE(reader.ok()) << reader.fault().text;
  trace::Event event;
  std::uint64_t gaps = 0;
  while ((*reader)->next(&event)) {
    if (const auto* gap = std::get_if<trace::GapEvent>(&event.body)) {
      EXPECT_EQ(gap->cause, trace::GapCause::dropped);
      gaps += gap->records;
    }
    const auto* call = std::get_if<trace::CallBegin>(&event.body);
    if (call == nullptr) continue;
    ASSERT_EQ(call->arguments.size(), 2u);
    const std::uint64_t t = call->arguments[0].word;
    const std::uint64_t i = call->arguments[1].word;
    ASSERT_LT(t, kThreads);
    if (seen[t].size() <= i) seen[t].resize(i + 1);
    ASSERT_EQ(seen[t][i], 0) << "record " << i << " of thread " << t << " was read twice";
    seen[t][i] = 1;
    ASSERT_GE(i + 1, last[t]);
    last[t] = i + 1;
  }
  EXPECT_EQ((*reader)->damage_count(), 0u)
      << (*reader)->damage().front().file << " " << (*reader)->damage().front().text;
  std::uint64_t missing = 0;
  std::uint64_t dropped = 0;
  for (unsigned t = 0; t < kThreads; ++t)
    for (std::uint64_t i = 0; i < shared.committed[t].load(); ++i) {
      if (shared.stored[t][i].load() == 0)
        ++dropped;
      else if (i >= seen[t].size() || seen[t][i] == 0)
        ++missing;
    }
  EXPECT_EQ(missing, 0u);
  if (!may_drop) {
    EXPECT_EQ(dropped, 0u);
    EXPECT_EQ(gaps, 0u);
  } else {
    EXPECT_GE(gaps, dropped);
  }
}

void kill_after(pid_t pid, unsigned microseconds) {
  ::usleep(microseconds);
  ::kill(pid, SIGKILL);
  wait_for(pid);
}

TEST(TraceKill, loses_nothing_without_a_collector) {
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    Folder folder;
    auto* shared = shared_memory<Shared>();
    // All that a ring of 256 KiB holds for certain.
    const pid_t pid = start_program(folder.path(), 1 << 18, [&] { write_for_ever(shared, 1500); });
    kill_after(pid, 1000 + random() % 8000);
    if (!folder.files(".ring").empty()) expect_all(folder.path(), *shared, false);
    ::munmap(shared, sizeof *shared);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(TraceKill, loses_nothing_with_a_collector) {
  std::mt19937 random(2);
  std::uint64_t records = 0;
  for (int round = 0; round < kRounds; ++round) {
    Folder folder;
    auto* shared = shared_memory<Shared>();
    auto collector = trace::Collector::start(folder.path());
    ASSERT_TRUE(collector.ok());
    // Small rings: they are full all the time, and the threads wait.
    const pid_t pid = start_program(folder.path(), 1 << 14, [&] { write_for_ever(shared, kMost); });
    kill_after(pid, 1000 + random() % 40000);
    const auto statistics = (*collector)->stop();
    EXPECT_EQ(statistics.failure, "");
    expect_all(folder.path(), *shared, false);
    EXPECT_TRUE(folder.files(".ring").empty());
    for (const auto& committed : shared->committed) records += committed.load();
    ::munmap(shared, sizeof *shared);
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(records, 10000u);  // else nothing was proven
}

TEST(TraceKill, loses_nothing_when_the_collector_is_killed) {
  std::mt19937 random(3);
  for (int round = 0; round < kRounds; ++round) {
    Folder folder;
    auto* shared = shared_memory<Shared>();
    const pid_t collecting = ::fork();
    if (collecting == 0) {
      auto collector = trace::Collector::start(folder.path());
      if (!collector.ok()) ::_exit(1);
      for (;;) ::pause();
    }
    const pid_t pid = start_program(folder.path(), 1 << 14, [&] { write_for_ever(shared, kMost); });
    kill_after(collecting, 1000 + random() % 20000);
    kill_after(pid, random() % 50000);
    if (!folder.files(".ring").empty()) expect_all(folder.path(), *shared, true);
    // Another collector takes over what the first one left.
    if (round % 2 == 0) {
      auto again = trace::Collector::start(folder.path());
      ASSERT_TRUE(again.ok()) << again.fault().text;
      EXPECT_EQ((*again)->stop().failure, "");
      expect_all(folder.path(), *shared, true);
    }
    ::munmap(shared, sizeof *shared);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(TraceKill, goes_on_without_a_collector_that_was_stopped) {
  Folder folder;
  const pid_t collecting = ::fork();
  if (collecting == 0) {
    auto collector = trace::Collector::start(folder.path());
    if (!collector.ok()) ::_exit(1);
    for (;;) ::pause();
  }
  // Only then: a program that finds no collector drops from the start.
  const std::string control = folder.path() + "/" + trace::kControlName;
  const auto attached = [&] {
    const std::vector<char> page = read_file(control);
    return page.size() > offsetof(trace::ControlPage, attached) && page[offsetof(trace::ControlPage, attached)] == 1;
  };
  while (!attached()) ::usleep(1000);
  auto* written = shared_memory<std::atomic<std::uint64_t>>();
  const pid_t pid = start_program(folder.path(), 1 << 14, [&] {
    for (std::uint64_t i = 0;; ++i) {
      write_call(1, i);
      written->store(i);
    }
  });
  while (written->load() < 1000) ::usleep(1000);
  ::kill(collecting, SIGSTOP);
  const std::uint64_t before = written->load();
  // It waits as long as the collector seems alive (10 s), and then drops and goes on.
  for (int i = 0; i < 400 && written->load() < before + 10000; ++i) ::usleep(50000);
  EXPECT_GE(written->load(), before + 10000);
  kill_after(pid, 0);
  kill_after(collecting, 0);
  std::uint64_t gaps = 0;
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto& gap) { gaps += gap.records; });
  EXPECT_GT(gaps, 0u);
}

TEST(TraceKill, rejects_a_second_collector) {
  Folder folder;
  auto first = trace::Collector::start(folder.path());
  ASSERT_TRUE(first.ok());
  const auto second = trace::Collector::start(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_STREQ(second.fault().reason, "missing-right");
  (*first)->stop();
}

}  // namespace
