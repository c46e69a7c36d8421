// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The streams and events that are alive. They keep AMD's pointer as their value, and HIP itself may crash on a stale
// one, so every handle is looked up here before it reaches HIP. Looking up takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rb::bridge {

/// What is known of a live stream or event.
struct LiveEntry {
  std::atomic<std::uint64_t> key{0};  ///< 0: never used, 1: removed
  std::atomic<std::int32_t> device{0};
  std::atomic<std::uint32_t> flags{0};
  std::atomic<std::int32_t> priority{0};
  std::atomic<std::uint32_t> serial{0};  ///< counts creations: tells apart two that had the same address
};

/// Open addressing, one writer at a time. A table that was outgrown is kept: a reader may still be in it.
class LiveTable {
 public:
  /// The live entry of a handle, or null.
  LiveEntry* find(std::uint64_t key) const;
  void insert(std::uint64_t key, int device, std::uint32_t flags, int priority);
  /// False when the handle is not alive: of two threads that destroy the same one, one succeeds.
  bool erase(std::uint64_t key);
  /// Forgets what belongs to a device (device reset).
  void clear(int device);
  std::uint32_t count() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Slots {
    std::uint32_t mask = 0;
    LiveEntry* entries = nullptr;
  };
  static Slots* make(std::uint32_t capacity);
  static LiveEntry* place(Slots* slots, std::uint64_t key);

  std::mutex mutex_;
  std::atomic<Slots*> slots_{nullptr};
  std::atomic<std::uint32_t> used_{0};
  std::uint32_t serial_ = 0;
};

LiveTable& live_streams();
LiveTable& live_events();

}  // namespace rb::bridge
