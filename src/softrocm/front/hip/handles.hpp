// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Handles of streams, events and contexts. A handle is a number that is no valid address (index and generation below a
// tag), so a freed or foreign one is recognised without reading through it, and a freed one is never taken for its
// successor in the same slot.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace soft {

enum class Kind : std::uint64_t {
  stream = 1,
  event = 2,
  context = 3,
  pool = 4,
  miopen = 8,  ///< miopenHandle_t
  tensor = 9,
  convolution = 10,
  rocblas = 11,  ///< rocblas_handle
};

/// 0x5a | kind (4 bits) | index (20 bits) | generation (32 bits).
inline constexpr std::uint64_t make_handle(Kind kind, std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{0x5a} << 56 | static_cast<std::uint64_t>(kind) << 52 | std::uint64_t{index} << 32 | generation;
}

/// Slots of one kind of object. T has a member `std::atomic<std::uint32_t> generation{0}`, odd while the slot is live.
/// Blocks of slots are made on demand and stay for ever, so a look-up may read any slot without a lock.
template <class T, Kind kKind, std::uint32_t kMax>
class HandleTable {
 public:
  /// The live object of a handle, or nullptr.
  T* find(const void* handle, std::uint32_t* index) {
    const std::uint64_t bits = reinterpret_cast<std::uint64_t>(handle);
    if (bits >> 52 != make_handle(kKind, 0, 0) >> 52) return nullptr;
    const std::uint32_t slot = static_cast<std::uint32_t>(bits >> 32) & 0xfffffu;
    if (slot >= kMax) return nullptr;
    T* block = blocks_[slot / kBlock].load(std::memory_order_acquire);
    if (block == nullptr) return nullptr;
    T* object = block + slot % kBlock;
    const std::uint32_t generation = static_cast<std::uint32_t>(bits);
    if ((generation & 1u) == 0 || object->generation.load(std::memory_order_acquire) != generation) return nullptr;
    if (index != nullptr) *index = slot;
    return object;
  }

  /// Slot `index`, whether live or not; nullptr if it was never made.
  T* at(std::uint32_t index) {
    T* block = index < kMax ? blocks_[index / kBlock].load(std::memory_order_acquire) : nullptr;
    return block == nullptr ? nullptr : block + index % kBlock;
  }

  /// A slot that is not live, for the caller to fill and then publish(); nullptr when all are taken. A freed slot is
  /// given out again only if `reusable` says so. Indexes below `first` are never given out.
  template <class Reusable>
  T* take(std::uint32_t first, std::uint32_t* index, Reusable reusable) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (!reusable(free_[i])) continue;
      *index = free_[i];
      free_[i] = free_.back();
      free_.pop_back();
      return at(*index);
    }
    if (used_ < first) used_ = first;
    if (used_ >= kMax) return nullptr;
    if (at(used_) == nullptr) {
      T* block = new (std::nothrow) T[kBlock];
      if (block == nullptr) return nullptr;
      blocks_[used_ / kBlock].store(block, std::memory_order_release);
    }
    *index = used_++;
    return at(*index);
  }

  /// Makes a taken slot live; its handle.
  void* publish(T* object, std::uint32_t index) {
    const std::uint32_t generation = object->generation.load(std::memory_order_relaxed) + 1;
    object->generation.store(generation, std::memory_order_release);
    return reinterpret_cast<void*>(make_handle(kKind, index, generation));
  }

  /// Ends the life of a handle. Only one of several callers gets true.
  bool retire(const void* handle) {
    std::uint32_t index = 0;
    T* object = find(handle, &index);
    if (object == nullptr) return false;
    std::uint32_t generation = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle));
    if (!object->generation.compare_exchange_strong(generation, generation + 1)) return false;
    std::lock_guard lock(mutex_);
    free_.push_back(index);
    return true;
  }

  /// Number of slots that were ever made.
  std::uint32_t used() {
    std::lock_guard lock(mutex_);
    return used_;
  }

  /// Retires every live slot.
  void retire_all() {
    std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < used_; ++i) {
      T* object = at(i);
      if (object == nullptr) continue;
      std::uint32_t generation = object->generation.load();
      if ((generation & 1u) != 0 && object->generation.compare_exchange_strong(generation, generation + 1))
        free_.push_back(i);
    }
  }

 private:
  static constexpr std::uint32_t kBlock = 64;
  std::mutex mutex_;
  std::atomic<T*> blocks_[kMax / kBlock] = {};
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace soft
