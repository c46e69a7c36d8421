// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Cost of the trace for one convolution call as the bridge writes it: begin with 13 arguments and 4 descriptor
// snapshots, one AMD call, end. Goal: 250 ns in all, the ring wrapped many times. A thread that only gives room back
// stands for the collector, so that its copying is not measured; Collected has the real one.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "trace/collector.hpp"
#include "trace/writer.hpp"

namespace {

namespace trace = rb::trace;

const char* const kNames[] = {"cudnnConvolutionForward"};

/// A trace of this process: one folder for all benchmarks, removed at the end.
const std::string& folder() {
  static const std::string& path = *[] {
    char name[] = "/tmp/rb-trace-bench-XXXXXX";
    auto* made = new std::string(::mkdtemp(name));
    std::atexit([] { std::filesystem::remove_all(folder()); });
    trace::NameTables names;
    names.entries = names.functions = kNames;
    names.entry_count = names.function_count = 1;
    trace::Options options;
    options.level = trace::Level::calls;
    options.directory = *made;
    trace::init(names, options);
    return made;
  }();
  return path;
}

void one_call() {
  static const trace::TensorSnapshot tensor;
  static const trace::ConvolutionSnapshot convolution;
  trace::Call call;
  {
    auto record = trace::call_begin(call, 0, 13);
    for (unsigned i = 0; i < 13; ++i) record.argument(i, trace::ArgumentKind::value, 0x5b00000000000000u + i);
    record.snapshot(2, trace::SnapshotKind::tensor, &tensor, sizeof tensor);
    record.snapshot(4, trace::SnapshotKind::filter, &tensor, sizeof tensor);
    record.snapshot(6, trace::SnapshotKind::convolution, &convolution, sizeof convolution);
    record.snapshot(11, trace::SnapshotKind::tensor, &tensor, sizeof tensor);
    record.stream(1);
    record.commit();
  }
  const std::uint64_t begin = trace::now();
  trace::amd_call(0, 0, begin, trace::now());
  trace::call_end(call, 0);
}

/// First: a process begins to trace only once.
void Off(benchmark::State& state) {
  for (auto _ : state) trace::amd_call(0, 0, 0, 0);
}
BENCHMARK(Off);

void Call(benchmark::State& state) {
  folder();
  one_call();
  trace::detail::Lane* lane = trace::detail::t_lane;
  if (lane == nullptr) return state.SkipWithError("no ring");
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const std::uint64_t before = lane->head;
    one_call();
    bytes += lane->head - before;
    lane->shared->tail.store(lane->head, std::memory_order_release);
  }
  if (lane->shared->dropped.load() != 0) state.SkipWithError("records were dropped");
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
  state.counters["laps"] = static_cast<double>(bytes) / static_cast<double>(lane->mask + 1);
}
BENCHMARK(Call)->MinTime(0.3);

void Collected(benchmark::State& state) {
  auto collector = trace::Collector::start(folder());
  if (!collector.ok()) return state.SkipWithError(collector.fault().text.c_str());
  for (auto _ : state) one_call();
  const auto statistics = (*collector)->stop();
  state.counters["dropped"] = static_cast<double>(statistics.dropped);
}
BENCHMARK(Collected)->Iterations(200000)->UseRealTime();

void Clock(benchmark::State& state) {
  folder();
  for (auto _ : state) benchmark::DoNotOptimize(trace::now());
}
BENCHMARK(Clock);

}  // namespace

BENCHMARK_MAIN();
