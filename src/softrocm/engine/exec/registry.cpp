// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/exec/registry.hpp"

namespace soft::engine {
namespace {

std::atomic<Handler> handlers[kMaxOperation];

}  // namespace

void register_operation(std::uint32_t operation, Handler handler) {
  if (operation < kMaxOperation) handlers[operation].store(handler, std::memory_order_release);
}

Handler find_operation(std::uint32_t operation) {
  return operation < kMaxOperation ? handlers[operation].load(std::memory_order_acquire) : nullptr;
}

}  // namespace soft::engine
