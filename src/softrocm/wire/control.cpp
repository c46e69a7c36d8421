// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/wire/control.hpp"

#include "base/os.hpp"

namespace soft::wire {

void ring_doorbell(Control& control) {
  // Sequentially consistent against the worker's "state = asleep; look at the doorbell again": one of the two sees the
  // other, so no command is left behind.
  control.doorbell.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t state = control.primary_state.load(std::memory_order_seq_cst);
  if (state == kPrimaryAsleep) {
    rb::os::futex_wake_all(&control.doorbell);
  } else if (state == kPrimaryBusy) {
    control.helper_bell.fetch_add(1, std::memory_order_seq_cst);
    rb::os::futex_wake_all(&control.helper_bell);
  }
}

void mark_lost(Control& control, Lost reason) {
  std::uint32_t expected = kLostNot;
  control.lost.compare_exchange_strong(expected, reason, std::memory_order_seq_cst);
  for (StreamControl& stream : control.streams) {
    if (stream.waiters.load(std::memory_order_seq_cst) == 0) continue;
    stream.signal.fetch_add(1, std::memory_order_seq_cst);
    rb::os::futex_wake_all(&stream.signal);
  }
  control.doorbell.fetch_add(1, std::memory_order_seq_cst);
  control.helper_bell.fetch_add(1, std::memory_order_seq_cst);
  rb::os::futex_wake_all(&control.doorbell);
  rb::os::futex_wake_all(&control.helper_bell);
  rb::os::futex_wake_all(&control.host_posted);
  rb::os::futex_wake_all(&control.engine_pid);
}

void publish_completion(StreamControl& stream) {
  stream.completed.fetch_add(1, std::memory_order_seq_cst);
  if (stream.waiters.load(std::memory_order_seq_cst) == 0) return;
  stream.signal.fetch_add(1, std::memory_order_seq_cst);
  rb::os::futex_wake_all(&stream.signal);
}

}  // namespace soft::wire
