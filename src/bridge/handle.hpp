// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Library handles and descriptors that we hand out. A handle is no address: bits 63..56 are 0x5B, which no mapping can
// have on x86-64 (neither with 4 nor with 5 page levels), then kind, generation and index. So null, freed, foreign and
// wrong-kind handles are told apart in a few nanoseconds without reading through a stranger's pointer, and a freed one
// is never taken for a reused one. Objects live in type-stable memory: a thread that uses a handle while another
// destroys it reads an old object, never unmapped memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "base/result.hpp"

namespace rb::bridge {

enum class Kind : std::uint8_t {
  none,
  cudnn_handle,
  tensor,
  filter,
  convolution,
  activation,
  pooling,
  op_tensor,
  reduce,
  dropout,
  lrn,
  ctc,
  rnn,
  rnn_data,
  attention,
  spatial,
  tensor_transform,
  backend,
  cublas_handle,
  lt_matmul,
  lt_layout,
  lt_preference,
  cusolver_handle,
  fat_binary,
  context,
  count
};

const char* kind_name(Kind kind);

inline constexpr std::uint64_t kHandleTag = 0x5B;
inline constexpr unsigned kIndexBits = 20;
inline constexpr unsigned kGenerationBits = 28;

inline std::uint64_t handle_word(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
/// The kind a handle claims to be; none if it is not one of ours.
inline Kind handle_kind(const void* handle) {
  const std::uint64_t word = handle_word(handle);
  const unsigned kind = static_cast<unsigned>(word >> 48) & 0xffu;
  return (word >> 56) == kHandleTag && kind < static_cast<unsigned>(Kind::count) ? static_cast<Kind>(kind) : Kind::none;
}

/// What is wrong with a handle, for messages: "null", "freed", "a filter descriptor", "not a handle of rocbridge".
Fault bad_handle(const char* what, const void* handle, Kind wanted);

/// Objects of one kind. T must be default constructible.
template <class T, Kind kKind>
class HandleTable {
 public:
  /// A new object with a fresh handle; alloc_failed when 2^20 are alive.
  Result<std::uint64_t> create(T** object) {
    std::lock_guard lock(mutex_);
    std::uint32_t index = 0;
    // Freed slots are reused in order of freeing and only when many wait, so that a stale handle stays stale long.
    if (free_.size() > 64 || used_ == kMaximum) {
      if (free_.empty())
        return fail(Errc::alloc_failed, "too-many-handles", "%u %ss are alive", kMaximum, kind_name(kKind));
      index = free_.front();
      free_.pop_front();
    } else {
      index = used_++;
    }
    Slot* slot = slot_of(index, true);
    const std::uint32_t generation = (slot->generation.load(std::memory_order_relaxed) + 1) & kGenerationMask;
    slot->object = T{};
    *object = &slot->object;
    slot->generation.store(generation | kAlive, std::memory_order_release);
    return (kHandleTag << 56) | (static_cast<std::uint64_t>(kKind) << 48) |
           (static_cast<std::uint64_t>(generation) << kIndexBits) | index;
  }

  /// The live object behind a handle, or nullptr.
  T* find(const void* handle) const {
    const std::uint64_t word = handle_word(handle);
    if ((word >> 48) != ((kHandleTag << 8) | static_cast<std::uint64_t>(kKind))) return nullptr;
    Slot* slot = slot_of(static_cast<std::uint32_t>(word) & (kMaximum - 1), false);
    const std::uint32_t generation = static_cast<std::uint32_t>(word >> kIndexBits) & kGenerationMask;
    if (slot == nullptr || slot->generation.load(std::memory_order_acquire) != (generation | kAlive)) return nullptr;
    return &slot->object;
  }

  /// The live object or a Fault that says what is wrong with the handle.
  Result<T*> get(const void* handle, const char* what) const {
    if (T* object = find(handle); object != nullptr) return object;
    return bad_handle(what, handle, kKind);
  }

  Status destroy(const void* handle, const char* what) {
    std::lock_guard lock(mutex_);
    if (find(handle) == nullptr) return bad_handle(what, handle, kKind);
    const std::uint32_t index = static_cast<std::uint32_t>(handle_word(handle)) & (kMaximum - 1);
    Slot* slot = slot_of(index, false);
    slot->generation.fetch_and(~kAlive, std::memory_order_release);
    if ((slot->generation.load(std::memory_order_relaxed) & kGenerationMask) != kGenerationMask) free_.push_back(index);
    return {};
  }

 private:
  static constexpr std::uint32_t kMaximum = 1u << kIndexBits;
  static constexpr std::uint32_t kGenerationMask = (1u << kGenerationBits) - 1;
  static constexpr std::uint32_t kAlive = 1u << 31;
  static constexpr std::uint32_t kChunk = 1024;

  struct Slot {
    std::atomic<std::uint32_t> generation{0};
    T object{};
  };

  Slot* slot_of(std::uint32_t index, bool make) const {
    std::atomic<Slot*>& chunk = chunks_[index / kChunk];
    Slot* slots = chunk.load(std::memory_order_acquire);
    if (slots == nullptr) {
      if (!make) return nullptr;
      slots = new Slot[kChunk];
      chunk.store(slots, std::memory_order_release);
    }
    return slots + index % kChunk;
  }

  mutable std::mutex mutex_;
  mutable std::atomic<Slot*> chunks_[kMaximum / kChunk] = {};
  std::deque<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

/// The table of a kind, made at first use and never destroyed.
template <class T, Kind kKind>
HandleTable<T, kKind>& table_of() {
  static HandleTable<T, kKind>& table = *new HandleTable<T, kKind>;
  return table;
}

template <class Handle>
Handle to_handle(std::uint64_t word) {
  return reinterpret_cast<Handle>(word);
}

}  // namespace rb::bridge
