// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What benchmarks share: figures that must reach a bound, printed at the end with the bound, and timing of two ways in
// turns, so that both see the same machine.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

struct Bar {
  std::string name;
  double value, bound;
  bool at_least;
  const char* unit;
  bool reached() const { return at_least ? value >= bound : value <= bound; }
};

inline std::vector<Bar>& bars() {
  static std::vector<Bar> all;
  return all;
}

inline void at_least(std::string name, double value, double bound, const char* unit) {
  bars().push_back({std::move(name), value, bound, true, unit});
}
inline void at_most(std::string name, double value, double bound, const char* unit) {
  bars().push_back({std::move(name), value, bound, false, unit});
}

/// Prints the bars; 0, or 1 if one is missed.
inline int report() {
  int missed = 0;
  for (const Bar& bar : bars()) {
    std::printf("%-58s %9.3f %-6s must be %s %.3f: %s\n", bar.name.c_str(), bar.value, bar.unit,
                bar.at_least ? ">=" : "<=", bar.bound, bar.reached() ? "reached" : "MISSED");
    missed += bar.reached() ? 0 : 1;
  }
  return missed == 0 ? 0 : 1;
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Seconds that one call takes.
template <class Call>
double seconds(Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Pair {
  double ours = 0, theirs = 0;  ///< median seconds
};

/// Runs both ways in turns under a Google Benchmark state with manual time (ours) and counters.
template <class Ours, class Theirs>
Pair compare(benchmark::State& state, Ours&& ours, Theirs&& theirs) {
  for (int warm = 0; warm < 3; ++warm) {
    ours();
    theirs();
  }
  std::vector<double> a;
  std::vector<double> b;
  for (auto _ : state) {
    a.push_back(seconds(ours));
    b.push_back(seconds(theirs));
    state.SetIterationTime(a.back());
  }
  const Pair pair{median(std::move(a)), median(std::move(b))};
  state.counters["ours_ms"] = pair.ours * 1e3;
  state.counters["direct_ms"] = pair.theirs * 1e3;
  state.counters["ratio"] = pair.theirs / pair.ours;
  return pair;
}

/// Ends the program with a message when a CUDA call failed.
inline void require(int status, const char* call) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d\n", call, status);
  std::exit(3);
}

}  // namespace bench

#define BENCH_CHECK(call) ::bench::require(static_cast<int>(call), #call)
