// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/unimplemented.hpp"

#include <atomic>
#include <cstdint>

#include "base/log.hpp"

extern "C" __attribute__((visibility("default"))) std::intptr_t soft_unimplemented(unsigned row) {
  if (row >= soft::kUnimplementedCount) return 1;
  static std::atomic<std::uint64_t>* const said = new std::atomic<std::uint64_t>[soft::kUnimplementedCount / 64 + 1]();
  const std::uint64_t bit = std::uint64_t{1} << (row % 64);
  const soft::UnimplementedRow& entry = soft::kUnimplemented[row];
  if ((said[row / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0)
    RB_LOG(warn, "softrocm", "%s (%s) is not built: status %d", entry.name, entry.soname, entry.status);
  return entry.status;
}
