// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Which memory is live: device, pinned, managed and registered ranges by address. Looking up takes no lock (a sequence
// counter guards the table), so that every call can afford to check its pointers; changes take one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace soft {

enum class Memory : std::uint32_t { none, device, pinned, managed, registered };

struct Range {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  Memory kind = Memory::none;
  std::uint32_t flags = 0;  ///< flags of the call that made it
  std::uint64_t id = 0;     ///< never used twice
  std::uint64_t end() const { return base + size; }
};

class RangeTable {
 public:
  /// Adds a range; false if it overlaps a live one or the table is full (a million ranges).
  bool add(std::uint64_t base, std::uint64_t size, Memory kind, std::uint32_t flags);
  /// Takes the range that begins at `base` out, if it is of that kind.
  bool remove(std::uint64_t base, Memory kind, Range* removed);
  /// The range that holds `address`; false if there is none.
  bool find(std::uint64_t address, Range* found) const;
  /// Takes all ranges of a kind out and calls `each` on them.
  void remove_all(Memory kind, void (*each)(const Range&));

 private:
  static constexpr unsigned kBlockRanges = 128;
  static constexpr unsigned kMaxBlocks = 16384;
  static constexpr unsigned kWords = 4;
  struct Block {
    std::atomic<std::uint32_t> count{0};
    std::atomic<std::uint64_t> words[kBlockRanges][kWords] = {};
  };

  static Range read(const Block& block, unsigned index);
  static void write(Block& block, unsigned index, const Range& range);
  bool search(std::uint64_t address, Range* found) const;
  unsigned block_of(std::uint64_t address) const;
  void erase(unsigned block, unsigned index);
  Block* new_block();

  mutable std::mutex mutex_;
  std::atomic<std::uint32_t> sequence_{0};  ///< odd while somebody changes the table
  std::atomic<std::uint32_t> blocks_{0};
  std::atomic<Block*> directory_[kMaxBlocks] = {};
  Block* spare_[kMaxBlocks] = {};
  unsigned spares_ = 0;
  std::uint64_t next_id_ = 1;
};

/// The process's table.
RangeTable& ranges();

}  // namespace soft
