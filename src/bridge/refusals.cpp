// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Refused launches that nobody has seen yet. Programs ignore what cudaLaunchKernel returns, some even clear the last
// error, and then read a buffer that no kernel wrote; so the refusal comes back until it was noticed.
#include <atomic>
#include <mutex>
#include <vector>

#include "bridge/context.hpp"
#include "bridge/pending_checks.hpp"
#include "bridge/trap.hpp"

namespace rb::bridge {
namespace {

struct Pending {
  int code = 0;
  int device = 0;
  std::uint64_t thread = 0;  ///< that launched
  std::uint64_t teller = 0;  ///< thread that a synchronising call reported it to last
  unsigned reports = 0;      ///< by synchronising calls
};

constexpr unsigned kReportsNeeded = 2;

std::atomic<unsigned> g_count{0};

struct List {
  std::mutex mutex;
  std::vector<Pending> items;
};

List& list() {
  static List& instance = *new List;
  return instance;
}

/// Address of a thread-local variable: names the thread while it lives.
std::uint64_t this_thread() {
  static thread_local char marker;
  return reinterpret_cast<std::uint64_t>(&marker);
}

template <class Condition>
void remove_if(Condition&& condition) {
  List& all = list();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.items, condition);
  g_count.store(static_cast<unsigned>(all.items.size()), std::memory_order_release);
}

}  // namespace

void remember_refusal(int code) {
  remember_refusal(code, current_device(), this_thread());
}

std::uint64_t refusal_thread() {
  return this_thread();
}

void remember_refusal(int code, int device, std::uint64_t thread) {
  List& all = list();
  std::lock_guard lock(all.mutex);
  for (Pending& item : all.items)
    if (item.code == code && item.thread == thread && item.device == device) {
      item.reports = 0;
      return;
    }
  all.items.push_back({code, device, thread, 0, 0});
  g_count.store(static_cast<unsigned>(all.items.size()), std::memory_order_release);
}

int pending_for_thread() {
  if (g_count.load(std::memory_order_acquire) == 0) return 0;
  List& all = list();
  const std::uint64_t thread = this_thread();
  std::lock_guard lock(all.mutex);
  for (auto item = all.items.rbegin(); item != all.items.rend(); ++item)
    if (item->thread == thread) return item->code;
  return 0;
}

int pending_for_synchronise() {
  checks::settle();  // what the device has done is judged before the program relies on it
  if (g_count.load(std::memory_order_acquire) == 0) return 0;
  List& all = list();
  const int device = current_device();
  std::lock_guard lock(all.mutex);
  int code = 0;
  for (Pending& item : all.items)
    if (item.device == device) {
      item.teller = this_thread();
      ++item.reports;
      code = item.code;
    }
  std::erase_if(all.items, [](const Pending& item) { return item.reports >= kReportsNeeded; });
  g_count.store(static_cast<unsigned>(all.items.size()), std::memory_order_release);
  return code;
}

void refusal_was_seen(int code) {
  if (g_count.load(std::memory_order_acquire) == 0) return;
  const std::uint64_t thread = this_thread();
  remove_if([&](const Pending& item) { return item.code == code && (item.thread == thread || item.teller == thread); });
}

void forget_refusals() {
  if (g_count.load(std::memory_order_acquire) == 0) return;
  const int device = current_device();
  remove_if([&](const Pending& item) { return item.device == device; });
}

}  // namespace rb::bridge
