// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/live_table.hpp"

namespace rb::bridge {
namespace {

constexpr std::uint64_t kRemoved = 1;

std::uint32_t hash(std::uint64_t key) {
  return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32);
}

void fill(LiveEntry* entry, int device, std::uint32_t flags, int priority, std::uint32_t serial) {
  entry->device.store(device, std::memory_order_relaxed);
  entry->flags.store(flags, std::memory_order_relaxed);
  entry->priority.store(priority, std::memory_order_relaxed);
  entry->serial.store(serial, std::memory_order_relaxed);
}

}  // namespace

LiveTable::Slots* LiveTable::make(std::uint32_t capacity) {
  Slots* slots = new Slots;
  slots->mask = capacity - 1;
  slots->entries = new LiveEntry[capacity];
  return slots;
}

LiveEntry* LiveTable::find(std::uint64_t key) const {
  const Slots* slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr || key <= kRemoved) return nullptr;
  for (std::uint32_t i = hash(key) & slots->mask, steps = 0; steps <= slots->mask; i = (i + 1) & slots->mask, ++steps) {
    const std::uint64_t found = slots->entries[i].key.load(std::memory_order_acquire);
    if (found == key) return &slots->entries[i];
    if (found == 0) return nullptr;
  }
  return nullptr;
}

/// The slot for a key that is not there: the first removed or empty one of its chain.
LiveEntry* LiveTable::place(Slots* slots, std::uint64_t key) {
  std::uint32_t i = hash(key) & slots->mask;
  while (slots->entries[i].key.load(std::memory_order_relaxed) > kRemoved) i = (i + 1) & slots->mask;
  return &slots->entries[i];
}

void LiveTable::insert(std::uint64_t key, int device, std::uint32_t flags, int priority) {
  std::lock_guard lock(mutex_);
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr) {
    slots = make(1024);
    slots_.store(slots, std::memory_order_release);
  }
  LiveEntry* entry = find(key);  // HIP gave the address again although the old owner was never destroyed through us
  if (entry == nullptr) {
    if (used_.load(std::memory_order_relaxed) * 2 > slots->mask) {
      Slots* larger = make((slots->mask + 1) * 2);
      for (std::uint32_t i = 0; i <= slots->mask; ++i) {
        const LiveEntry& old = slots->entries[i];
        const std::uint64_t old_key = old.key.load(std::memory_order_relaxed);
        if (old_key <= kRemoved) continue;
        LiveEntry* target = place(larger, old_key);
        fill(target, old.device.load(std::memory_order_relaxed), old.flags.load(std::memory_order_relaxed),
             old.priority.load(std::memory_order_relaxed), old.serial.load(std::memory_order_relaxed));
        target->key.store(old_key, std::memory_order_relaxed);
      }
      slots_.store(larger, std::memory_order_release);
      slots = larger;
    }
    entry = place(slots, key);
    used_.fetch_add(1, std::memory_order_relaxed);
  }
  fill(entry, device, flags, priority, ++serial_);
  entry->key.store(key, std::memory_order_release);
}

bool LiveTable::erase(std::uint64_t key) {
  std::lock_guard lock(mutex_);
  LiveEntry* entry = find(key);
  if (entry == nullptr) return false;
  Slots* slots = slots_.load(std::memory_order_relaxed);
  std::uint32_t i = static_cast<std::uint32_t>(entry - slots->entries);
  entry->key.store(kRemoved, std::memory_order_release);
  used_.fetch_sub(1, std::memory_order_relaxed);
  // Removed slots before an empty one end no chain any more.
  if (slots->entries[(i + 1) & slots->mask].key.load(std::memory_order_relaxed) == 0)
    while (slots->entries[i].key.load(std::memory_order_relaxed) == kRemoved) {
      slots->entries[i].key.store(0, std::memory_order_release);
      i = (i - 1) & slots->mask;
    }
  return true;
}

void LiveTable::clear(int device) {
  std::lock_guard lock(mutex_);
  Slots* slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr) return;
  for (std::uint32_t i = 0; i <= slots->mask; ++i) {
    LiveEntry& entry = slots->entries[i];
    if (entry.key.load(std::memory_order_relaxed) <= kRemoved || entry.device.load(std::memory_order_relaxed) != device)
      continue;
    entry.key.store(kRemoved, std::memory_order_release);
    used_.fetch_sub(1, std::memory_order_relaxed);
  }
}

LiveTable& live_streams() {
  static LiveTable& table = *new LiveTable;
  return table;
}

LiveTable& live_events() {
  static LiveTable& table = *new LiveTable;
  return table;
}

}  // namespace rb::bridge
