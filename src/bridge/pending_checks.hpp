// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What synchronising calls and host functions have to do with checks, apart from them so that both include little: a
// synchronising call waits for the verdicts on data that has arrived, and a call does not wait for its own verdict
// while the program's host functions are under way, since its stream may depend on one.
#pragma once

#include <atomic>
#include <cstdint>

namespace rb::bridge::checks {

namespace detail {
inline std::atomic<std::uint64_t> g_arrived{0};  ///< checks whose data lies on the host
inline std::atomic<std::uint64_t> g_judged{0};   ///< of these, the ones with a verdict; they are judged in order
inline std::atomic<std::int64_t> g_host_actions{0};
void settle_arrived();
}  // namespace detail

/// Waits until every check whose data had arrived has its verdict. Called after the device was waited for, before the
/// remembered refusals are looked at.
inline void settle() {
  if (detail::g_arrived.load(std::memory_order_acquire) != detail::g_judged.load(std::memory_order_acquire))
      [[unlikely]]
    detail::settle_arrived();
}

/// Called before a device is reset, which takes the staging memory away: waits for the device and the verdicts.
void before_reset();

/// A host function of the program was given to a stream; it has returned. Checks' own are not counted.
inline void host_action_begins() {
  detail::g_host_actions.fetch_add(1, std::memory_order_acq_rel);
}
inline void host_action_ends() {
  detail::g_host_actions.fetch_sub(1, std::memory_order_acq_rel);
}
inline bool host_action_pending() {
  return detail::g_host_actions.load(std::memory_order_acquire) > 0;
}

}  // namespace rb::bridge::checks
