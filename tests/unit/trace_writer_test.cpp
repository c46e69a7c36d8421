// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "trace_support.hpp"

namespace {

using namespace trace_test;
using nlohmann::json;

trace::CheckRecord sample_check(std::uint64_t call) {
  trace::CheckRecord check;
  check.call = call;
  check.entry = 1;
  check.verdict = trace::Verdict::drift;
  check.level = 4;
  check.reference = trace::Reference::full_fp64;
  check.type = trace::ElementType::float16;
  check.relative_l1 = 3.1e-3;
  check.bound = 2e-3;
  check.elements = 100;
  check.compared = 100;
  check.outside = 3;
  check.worst = 17;
  check.tensor = "y";
  check.shape = "1x2x5x10 fp16 NCHW";
  check.tolerance_class = "conv/fp16";
  check.reason = "outside-tolerance";
  check.text = "3 of 100 elements";
  return check;
}

TEST(TraceWriter, maps_every_kind_of_record) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    trace::setting("trace", "calls", "environment");
    trace::DeviceRecord device;
    device.name = "AMD Radeon RX 9060 XT";
    device.architecture = "gfx1200";
    device.wave = 32;
    device.memory_bytes = std::uint64_t{16} << 30;
    device.software = true;
    device.generation = 6;
    device.directory = "/opt/rocm/lib";
    device.text = "no real device";
    trace::device(device);
    trace::Call call;
    {
      auto record = trace::call_begin(call, 1, 3);
      record.argument(0, trace::ArgumentKind::handle, 0x5b00000000000001u);
      record.argument(1, trace::ArgumentKind::value, 42);
      record.stream(0x77);
      trace::TensorSnapshot tensor;
      tensor.type = trace::ElementType::float32;
      tensor.rank = 4;
      for (int i = 0; i < 4; ++i) {
        tensor.dims[i] = i + 1;
        tensor.strides[i] = 10 * i;
      }
      record.snapshot(2, trace::SnapshotKind::tensor, &tensor, sizeof tensor);
      trace::ConvolutionSnapshot convolution;
      convolution.rank = 2;
      convolution.mode = 1;
      convolution.pads[0] = 5;
      record.snapshot(3, trace::SnapshotKind::convolution, &convolution, sizeof convolution);
      const double alpha = 0.5;
      record.snapshot(4, trace::SnapshotKind::scalar, &alpha, sizeof alpha);
      EXPECT_TRUE(record.commit());
    }
    trace::layout("pack", "x strided -> packed");
    trace::allocation({trace::AllocationKind::workspace, false, 0, 0xabc000, 4096});
    const std::uint64_t begin = trace::now();
    trace::amd_call(1, 7, begin, trace::now(), "solution 3");
    trace::refusal({1, 9, "not-built", "no such thing", "use another", "cudnnConvolutionForward(): x"});
    trace::note(1, "bridge", "a \"line\" with \xff a bad byte");
    trace::call_end(call, 9);
    trace::check(sample_check(call.id));
  });
  const Read read = read_all(folder.path());
  ASSERT_TRUE(read.opened);
  EXPECT_EQ(read.damage, 0u);
  std::vector<json> lines;
  for (const std::string& line : read.lines) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 12u);
  const char* const kinds[] = {"process",    "thread_start", "setting", "device", "call_begin", "layout",
                               "allocation", "amd_call",     "refusal", "note",   "call_end",   "check"};
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["kind"], kinds[i]) << read.lines[i];
  for (std::size_t i = 2; i < lines.size(); ++i) EXPECT_GE(lines[i]["time_ns"], lines[i - 1]["time_ns"]);

  EXPECT_EQ(lines[0]["version"], "0.1.0");
  EXPECT_FALSE(lines[0]["program"].get<std::string>().empty());
  EXPECT_GE(lines[0]["arguments"].size(), 1u);
  EXPECT_EQ(lines[2]["origin"], "environment");
  EXPECT_EQ(lines[3]["gfx"], "gfx1200");
  EXPECT_EQ(lines[3]["software"], true);
  EXPECT_EQ(lines[4]["entry"], "cudnnConvolutionForward");
  EXPECT_EQ(lines[4]["call"], 1);
  EXPECT_TRUE(lines[4]["parent"].is_null());
  EXPECT_EQ(lines[4]["stream"], "0x77");
  EXPECT_EQ(lines[4]["arguments"][0]["role"], "handle");
  EXPECT_EQ(lines[4]["arguments"][0]["word"], "0x5b00000000000001");
  EXPECT_EQ(lines[4]["snapshots"][0]["dims"], json({1, 2, 3, 4}));
  EXPECT_EQ(lines[4]["snapshots"][0]["strides"], json({0, 10, 20, 30}));
  EXPECT_EQ(lines[4]["snapshots"][1]["mode"], "cross_correlation");
  EXPECT_EQ(lines[4]["snapshots"][1]["pads"], json({5, 0}));
  EXPECT_EQ(lines[4]["snapshots"][2]["value"], 0.5);
  EXPECT_EQ(lines[5]["what"], "pack");
  EXPECT_EQ(lines[5]["call"], 1);
  EXPECT_EQ(lines[6]["memory"], "workspace");
  EXPECT_EQ(lines[6]["address"], "0xabc000");
  EXPECT_EQ(lines[7]["function"], "miopenConvolutionForwardImmediate");
  EXPECT_EQ(lines[7]["status"], 7);
  EXPECT_EQ(lines[7]["solution"], "solution 3");
  EXPECT_EQ(lines[8]["reason"], "not-built");
  EXPECT_EQ(lines[8]["where"], "cudnnConvolutionForward(): x");
  EXPECT_EQ(lines[9]["level"], "warn");
  EXPECT_EQ(lines[10]["status"], 9);
  EXPECT_EQ(lines[11]["verdict"], "drift");
  EXPECT_EQ(lines[11]["relative_l1"], 3.1e-3);
  EXPECT_TRUE(lines[11]["resolution"].is_null());
  EXPECT_EQ(lines[11]["worst"], 17);
  EXPECT_EQ(lines[11]["call"], 1);
}

TEST(TraceWriter, maps_durations_to_nanoseconds) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    trace::Call call;
    trace::call_begin(call, 0, 0).commit();
    ::usleep(50000);
    trace::call_end(call, 0);
  });
  for_each<trace::CallEnd>(folder.path(), [](const trace::Event&, const trace::CallEnd& end) {
    EXPECT_GT(end.duration_ns, 49'000'000u);
    EXPECT_LT(end.duration_ns, 5'000'000'000u);
  });
}

TEST(TraceWriter, maps_nested_calls_to_their_parents) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    trace::Call outer;
    trace::call_begin(outer, 0, 0).commit();
    trace::Call inner;
    trace::call_begin(inner, 1, 0).commit();
    trace::amd_call(0, 0, trace::now(), trace::now());
    trace::call_end(inner, 0);
    trace::amd_call(1, 0, trace::now(), trace::now());
    trace::call_end(outer, 0);
    if (trace::current_call() != 0) ::_exit(3);
  });
  std::vector<std::uint64_t> parents;
  std::vector<std::uint64_t> amd;
  for_each<trace::CallBegin>(folder.path(), [&](auto&, auto& call) { parents.push_back(call.fixed.parent); });
  for_each<trace::AmdCall>(folder.path(), [&](auto&, auto& call) { amd.push_back(call.fixed.call); });
  EXPECT_EQ(parents, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(amd, (std::vector<std::uint64_t>{2, 1}));
}

TEST(TraceWriter, writes_nothing_before_the_first_record) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {});
  EXPECT_TRUE(folder.files("").empty());
}

TEST(TraceWriter, writes_nothing_when_off) {
  Folder folder;
  run_program(
      folder.path(), 1 << 16, [] { trace::note(0, "x", "y"); }, trace::Level::off);
  EXPECT_TRUE(folder.files("").empty());
}

TEST(TraceWriter, counts_what_does_not_fit_without_a_collector) {
  Folder folder;
  auto* stored = shared_memory<std::uint64_t>();
  run_program(folder.path(), 4096, [&] {
    for (int i = 0; i < 1000; ++i)
      if (write_call(1, static_cast<std::uint64_t>(i))) ++*stored;
  });
  ASSERT_GT(*stored, 5u);
  ASSERT_LT(*stored, 100u);
  std::uint64_t begins = 0;
  std::uint64_t others = 0;
  for_each<trace::CallBegin>(folder.path(), [&](auto&, auto& call) {
    EXPECT_EQ(call.arguments[0].word, begins);
    ++begins;
  });
  EXPECT_EQ(begins, *stored);
  for_each<trace::CallEnd>(folder.path(), [&](auto&, auto&) { ++others; });
  for_each<trace::AmdCall>(folder.path(), [&](auto&, auto&) { ++others; });
  std::uint64_t gaps = 0;
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto& gap) {
    EXPECT_EQ(gap.cause, trace::GapCause::dropped);
    EXPECT_LE(gap.from_ns, gap.to_ns);
    gaps += gap.records;
  });
  EXPECT_EQ(begins + others + gaps, 3000u);
}

TEST(TraceWriter, drops_a_record_larger_than_half_the_ring) {
  Folder folder;
  run_program(folder.path(), 4096, [] {
    const std::string large(3000, 'x');
    trace::note(2, "a", large);
    trace::note(2, "b", "small");
  });
  std::vector<std::string> notes;
  std::uint64_t dropped = 0;
  for_each<trace::NoteEvent>(folder.path(), [&](auto&, auto& note) { notes.emplace_back(note.component); });
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto& gap) { dropped += gap.records; });
  EXPECT_EQ(notes, std::vector<std::string>{"b"});
  EXPECT_EQ(dropped, 1u);
}

TEST(TraceWriter, waits_for_the_collector_and_loses_nothing) {
  Folder folder;
  auto collector = trace::Collector::start(folder.path());
  ASSERT_TRUE(collector.ok()) << collector.fault().text;
  constexpr std::uint64_t kCalls = 20000;
  run_program(folder.path(), 4096, [] {
    for (std::uint64_t i = 0; i < kCalls; ++i)
      if (!write_call(1, i)) ::_exit(3);
  });
  const auto statistics = (*collector)->stop();
  EXPECT_EQ(statistics.failure, "");
  EXPECT_EQ(statistics.rings, 1u);
  EXPECT_EQ(statistics.processes, 1u);
  EXPECT_EQ(statistics.dropped, 0u);
  EXPECT_TRUE(folder.files(".ring").empty()) << "a collected ring of a dead program is not removed";
  std::uint64_t next = 0;
  std::uint64_t gaps = 0;
  for_each<trace::CallBegin>(folder.path(), [&](auto&, auto& call) { EXPECT_EQ(call.arguments[0].word, next++); });
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto&) { ++gaps; });
  EXPECT_EQ(next, kCalls);
  EXPECT_EQ(gaps, 0u);
  EXPECT_EQ(read_all(folder.path()).damage, 0u);
}

TEST(TraceWriter, tells_the_gap_once_room_is_there_again) {
  Folder folder;
  auto* step = shared_memory<std::atomic<int>>();
  const pid_t pid = start_program(folder.path(), 4096, [&] {
    for (int i = 0; i < 100; ++i) write_call(1, 0);
    step->store(1);
    while (step->load() != 2) ::usleep(100);
    write_call(2, 99);
  });
  while (step->load() != 1) ::usleep(100);
  auto collector = trace::Collector::start(folder.path());
  ASSERT_TRUE(collector.ok());
  while ((*collector)->statistics().bytes == 0) ::usleep(100);
  step->store(2);
  EXPECT_EQ(wait_for(pid), 0);
  const auto statistics = (*collector)->stop();
  EXPECT_GT(statistics.dropped, 0u);
  std::uint64_t told = 0;
  std::vector<std::string> order;
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto& gap) { told += gap.records; });
  EXPECT_EQ(told, statistics.dropped);
  std::uint64_t last_entry = 0;
  for_each<trace::CallBegin>(folder.path(), [&](auto&, auto& call) { last_entry = call.fixed.entry; });
  EXPECT_EQ(last_entry, 2u);
}

TEST(TraceWriter, reuses_the_ring_of_a_thread_that_ended) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    for (std::uint64_t i = 0; i < 10; ++i) std::thread([i] { write_call(1, i); }).join();
  });
  EXPECT_EQ(folder.files(".ring").size(), 1u);
  std::set<std::uint32_t> threads;
  std::set<std::uint64_t> ids;
  std::uint64_t next = 0;
  for_each<trace::CallBegin>(folder.path(), [&](auto& event, auto& call) {
    EXPECT_EQ(call.arguments[0].word, next++);
    threads.insert(event.tid);
    ids.insert(call.fixed.call);
  });
  EXPECT_EQ(next, 10u);
  EXPECT_EQ(threads.size(), 10u);
  EXPECT_EQ(ids.size(), 10u);
  std::uint64_t ends = 0;
  for_each<trace::ThreadEnd>(folder.path(), [&](auto&, auto&) { ++ends; });
  EXPECT_EQ(ends, 10u);
}

TEST(TraceWriter, gives_each_thread_its_own_ring_and_unique_calls) {
  Folder folder;
  run_program(folder.path(), 1 << 18, [] {
    std::atomic<int> ready{0};
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t)
      threads.emplace_back([t, &ready, &done] {
        ++ready;
        while (ready.load() < 8) std::this_thread::yield();
        for (std::uint64_t i = 0; i < 200; ++i) write_call(1, t * 1000 + i);
        ++done;
        while (done.load() < 8) std::this_thread::yield();
      });
    for (auto& thread : threads) thread.join();
  });
  EXPECT_EQ(folder.files(".ring").size(), 8u);
  std::set<std::uint64_t> ids;
  std::map<std::uint32_t, std::uint64_t> last;
  std::uint64_t time = 0;
  for_each<trace::CallBegin>(folder.path(), [&](auto& event, auto& call) {
    EXPECT_TRUE(ids.insert(call.fixed.call).second);
    EXPECT_GE(event.time_ns, time);
    time = event.time_ns;
    auto [found, first] = last.emplace(event.tid, call.arguments[0].word);
    if (!first) {
      EXPECT_EQ(call.arguments[0].word, found->second + 1);
    }
    found->second = call.arguments[0].word;
  });
  EXPECT_EQ(ids.size(), 1600u);
}

TEST(TraceWriter, gives_a_forked_child_its_own_rings) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    write_call(1, 1);
    const pid_t child = ::fork();
    if (child == 0) {
      write_call(1, 2);
      std::thread([] { write_call(1, 3); }).join();
      ::_exit(0);
    }
    write_call(1, 4);
    if (wait_for(child) != 0) ::_exit(3);
    write_call(1, 5);
  });
  std::map<std::uint32_t, std::set<std::uint64_t>> words;
  std::map<std::uint32_t, const trace::Process*> processes;
  auto reader = trace::Reader::open(folder.path());
  ASSERT_TRUE(reader.ok());
  trace::Event event;
  while ((*reader)->next(&event))
    if (const auto* call = std::get_if<trace::CallBegin>(&event.body)) {
      words[event.process->pid].insert(call->arguments[0].word);
      processes[event.process->pid] = event.process;
    }
  EXPECT_EQ((*reader)->damage_count(), 0u);
  ASSERT_EQ(words.size(), 2u);
  const trace::Process* parent = nullptr;
  const trace::Process* child = nullptr;
  for (const auto& [pid, process] : processes) (words[pid].count(1) != 0 ? parent : child) = process;
  ASSERT_NE(parent, nullptr);
  ASSERT_NE(child, nullptr);
  EXPECT_EQ(words[parent->pid], (std::set<std::uint64_t>{1, 4, 5}));
  EXPECT_EQ(words[child->pid], (std::set<std::uint64_t>{2, 3}));
  EXPECT_EQ(child->parent_token, parent->token);
  EXPECT_EQ(child->parent_pid, parent->pid);
}

TEST(TraceWriter, drops_a_record_that_begins_inside_another) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    trace::Call call;
    auto record = trace::call_begin(call, 0, 0);
    trace::note(0, "signal", "handler");
    record.commit();
    trace::note(0, "after", "it");
  });
  std::vector<std::string> notes;
  std::uint64_t dropped = 0;
  for_each<trace::NoteEvent>(folder.path(), [&](auto&, auto& note) { notes.emplace_back(note.component); });
  for_each<trace::GapEvent>(folder.path(), [&](auto&, auto& gap) { dropped += gap.records; });
  EXPECT_EQ(notes, std::vector<std::string>{"after"});
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(read_all(folder.path()).damage, 0u);
}

TEST(TraceWriter, stores_tensors_only_at_level_full) {
  for (const trace::Level level : {trace::Level::calls, trace::Level::full}) {
    Folder folder;
    run_program(
        folder.path(), 1 << 16,
        [] {
          std::vector<char> data(10000);
          for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7);
          const std::int64_t dims[] = {100, 25};
          trace::TensorRecord tensor;
          tensor.name = "y";
          tensor.type = trace::ElementType::float32;
          tensor.dims = dims;
          tensor.rank = 2;
          tensor.data = data.data();
          tensor.bytes = data.size();
          trace::tensor(tensor);
          trace::note(0, "a", "b");
        },
        level);
    std::vector<char> got;
    for_each<trace::TensorEvent>(folder.path(), [&](auto&, auto& tensor) {
      EXPECT_EQ(tensor.dims, (std::vector<std::int64_t>{100, 25}));
      EXPECT_EQ(tensor.fixed.offset, got.size());
      got.insert(got.end(), tensor.data.begin(), tensor.data.end());
    });
    if (level == trace::Level::calls) {
      EXPECT_TRUE(got.empty());
      continue;
    }
    ASSERT_EQ(got.size(), 10000u);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<char>(i * 7));
  }
}

TEST(TraceWriter, switches_off_where_it_cannot_write) {
  Folder folder;
  const std::string blocked = folder.path() + "/file";
  write_file(blocked, {'x'}, 1);
  run_program(blocked, 1 << 16, [] {
    trace::note(0, "a", "b");
    if (trace::on()) ::_exit(3);
    trace::note(0, "a", "b");
  });
}

TEST(TraceWriter, rejects_impossible_options) {
  trace::Level level = trace::Level::off;
  EXPECT_TRUE(trace::parse_level("full", &level));
  EXPECT_EQ(level, trace::Level::full);
  EXPECT_FALSE(trace::parse_level("everything", &level));
  const int status = wait_for(start_program("", 4096, [] {}));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(TraceWriter, keeps_errno) {
  Folder folder;
  run_program(folder.path(), 4096, [] {
    for (int i = 0; i < 100; ++i) {
      errno = 77;
      write_call(1, 0);
      if (errno != 77) ::_exit(3);
    }
  });
}

}  // namespace
