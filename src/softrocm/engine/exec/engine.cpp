// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/exec/engine.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "base/os.hpp"
#include "softrocm/engine/exec/registry.hpp"
#include "softrocm/engine/exec/scheduler.hpp"

namespace soft::engine {
namespace {

void register_all() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_memory();
    register_dnn();
    register_blas();
  });
}

}  // namespace

void serve(const wire::Segments& segments, int parent_fd) {
  register_all();
  wire::Control& control = *segments.control;
  Scheduler& scheduler = *new Scheduler(segments);  // detached workers outlive this function
  std::thread([&scheduler] { scheduler.run(true); }).detach();
  std::thread([&scheduler] { scheduler.run(false); }).detach();
  const std::uint32_t watchdog = control.watchdog_ms == 0 ? 4000 : control.watchdog_ms;
  const int period_ms = static_cast<int>(std::clamp<std::uint32_t>(watchdog / 4, 20, 1000));
  while (control.lost.load() == wire::kLostNot) {
    if (parent_fd >= 0) {
      if (rb::os::wait_readable({parent_fd}, period_ms) == 0) return;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
    }
    control.heartbeat.fetch_add(1, std::memory_order_relaxed);
    if (!scheduler.is_stuck()) continue;
    RB_LOG(error, "softrocm", "an operation ran longer than %u ms (soft.watchdog_ms): the device gives up",
           control.watchdog_ms);
    wire::mark_lost(control, wire::kLostStuck);
  }
}

void enable_inprocess() {
  wire::set_inprocess_engine([](const wire::Segments& segments) {
    segments.control->engine_pid.store(rb::os::process_id());
    std::thread([segments] { serve(segments, -1); }).detach();
  });
}

}  // namespace soft::engine
