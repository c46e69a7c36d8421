// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Loops over several threads. OpenMP, because oneDNN uses its threads, too: one team for a worker thread instead of two
// that compete.
#pragma once

#include <algorithm>
#include <cstdint>

namespace soft::engine {

/// Calls body(i) for i in [0, count), in pieces of neighbours, one piece a thread. The body must not throw.
template <class Body>
void parallel_for(std::int64_t count, unsigned threads, const Body& body) {
  const int team = static_cast<int>(std::clamp<std::int64_t>(count, 1, threads ? threads : 1));
  if (team == 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace soft::engine
