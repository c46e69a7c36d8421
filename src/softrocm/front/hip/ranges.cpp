// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/ranges.hpp"

#include <new>
#include <thread>

#include "softrocm/front/hip/device.hpp"

namespace soft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// Holds the sequence counter odd. Every later store of the change is a release and every load of a reader an acquire,
/// so a reader that saw any of them also sees, at its second look, that the counter moved. (No fences: the thread
/// sanitizer does not know them.)
class Change {
 public:
  explicit Change(std::atomic<std::uint32_t>& sequence) : sequence_(sequence) {
    sequence_.store(sequence_.load(kRelaxed) + 1, kRelaxed);
  }
  ~Change() { sequence_.store(sequence_.load(kRelaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t>& sequence_;
};

}  // namespace

Range RangeTable::read(const Block& block, unsigned index) {
  // Acquire keeps these loads before the reader's second look at the sequence counter.
  const auto& words = block.words[index];
  const std::uint64_t kind_flags = words[2].load(std::memory_order_acquire);
  return Range{words[0].load(std::memory_order_acquire), words[1].load(std::memory_order_acquire),
               static_cast<Memory>(kind_flags >> 32), static_cast<std::uint32_t>(kind_flags),
               words[3].load(std::memory_order_acquire)};
}

void RangeTable::write(Block& block, unsigned index, const Range& range) {
  auto& words = block.words[index];
  words[0].store(range.base, std::memory_order_release);
  words[1].store(range.size, std::memory_order_release);
  words[2].store(std::uint64_t{static_cast<std::uint32_t>(range.kind)} << 32 | range.flags, std::memory_order_release);
  words[3].store(range.id, std::memory_order_release);
}

/// Index of the last block whose first range does not begin behind `address`, or 0.
unsigned RangeTable::block_of(std::uint64_t address) const {
  unsigned low = 0;
  unsigned high = blocks_.load(std::memory_order_acquire);
  while (high - low > 1 && high > low) {
    const unsigned middle = (low + high) / 2;
    const Block* block = directory_[middle].load(std::memory_order_acquire);
    if (block != nullptr && block->words[0][0].load(std::memory_order_acquire) <= address)
      low = middle;
    else
      high = middle;
  }
  return low;
}

bool RangeTable::search(std::uint64_t address, Range* found) const {
  if (blocks_.load(std::memory_order_acquire) == 0) return false;
  const Block* block = directory_[block_of(address)].load(std::memory_order_acquire);
  if (block == nullptr) return false;
  unsigned low = 0;
  unsigned high = block->count.load(std::memory_order_acquire);
  if (high > kBlockRanges) return false;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (block->words[middle][0].load(std::memory_order_acquire) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return false;
  *found = read(*block, low - 1);
  return address - found->base < found->size;
}

bool RangeTable::find(std::uint64_t address, Range* found) const {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    const std::uint32_t before = sequence_.load(std::memory_order_acquire);
    if ((before & 1u) != 0) {
      std::this_thread::yield();
      continue;
    }
    const bool result = search(address, found);
    if (sequence_.load(kRelaxed) == before) return result;
  }
  if (is_forked_child()) return false;  // the thread that was changing the table does not exist here
  std::lock_guard lock(mutex_);
  return search(address, found);
}

RangeTable::Block* RangeTable::new_block() {
  if (spares_ > 0) return spare_[--spares_];
  return new (std::nothrow) Block;
}

bool RangeTable::add(std::uint64_t base, std::uint64_t size, Memory kind, std::uint32_t flags) {
  if (size == 0 || base + size < base) return false;
  std::lock_guard lock(mutex_);
  Range other;
  if (search(base, &other) || search(base + size - 1, &other)) return false;
  const unsigned blocks = blocks_.load(kRelaxed);
  const Range range{base, size, kind, flags, next_id_};
  if (blocks == 0) {
    Block* block = new_block();
    if (block == nullptr) return false;
    Change change(sequence_);
    write(*block, 0, range);
    block->count.store(1, std::memory_order_release);
    directory_[0].store(block, std::memory_order_release);
    blocks_.store(1, std::memory_order_release);
    ++next_id_;
    return true;
  }
  unsigned where = block_of(base);
  Block* block = directory_[where].load(kRelaxed);
  unsigned count = block->count.load(kRelaxed);
  Block* fresh = nullptr;
  if (count == kBlockRanges && (blocks == kMaxBlocks || (fresh = new_block()) == nullptr)) return false;
  unsigned at = 0;
  while (at < count && block->words[at][0].load(kRelaxed) < base) ++at;
  // A live range inside the new one would begin right behind the place.
  const Block* follows = at < count ? block : where + 1 < blocks ? directory_[where + 1].load(kRelaxed) : nullptr;
  if (follows != nullptr && follows->words[at < count ? at : 0][0].load(kRelaxed) < base + size) {
    if (fresh != nullptr) spare_[spares_++] = fresh;
    return false;
  }
  Change change(sequence_);
  if (fresh != nullptr) {
    constexpr unsigned kHalf = kBlockRanges / 2;
    for (unsigned i = kHalf; i < kBlockRanges; ++i) write(*fresh, i - kHalf, read(*block, i));
    fresh->count.store(kBlockRanges - kHalf, std::memory_order_release);
    block->count.store(kHalf, std::memory_order_release);
    for (unsigned i = blocks; i > where + 1; --i)
      directory_[i].store(directory_[i - 1].load(kRelaxed), std::memory_order_release);
    directory_[where + 1].store(fresh, std::memory_order_release);
    blocks_.store(blocks + 1, std::memory_order_release);
    if (at > kHalf) {
      at -= kHalf;
      block = fresh;
    }
    count = block->count.load(kRelaxed);
  }
  for (unsigned i = count; i > at; --i) write(*block, i, read(*block, i - 1));
  write(*block, at, range);
  block->count.store(count + 1, std::memory_order_release);
  ++next_id_;
  return true;
}

void RangeTable::erase(unsigned where, unsigned index) {
  Block* block = directory_[where].load(kRelaxed);
  const unsigned count = block->count.load(kRelaxed);
  Change change(sequence_);
  for (unsigned i = index; i + 1 < count; ++i) write(*block, i, read(*block, i + 1));
  block->count.store(count - 1, std::memory_order_release);
  if (count > 1) return;
  const unsigned blocks = blocks_.load(kRelaxed);
  for (unsigned i = where; i + 1 < blocks; ++i)
    directory_[i].store(directory_[i + 1].load(kRelaxed), std::memory_order_release);
  blocks_.store(blocks - 1, std::memory_order_release);
  spare_[spares_++] = block;
}

bool RangeTable::remove(std::uint64_t base, Memory kind, Range* removed) {
  std::lock_guard lock(mutex_);
  if (!search(base, removed) || removed->base != base || removed->kind != kind) return false;
  const unsigned where = block_of(base);
  const Block* block = directory_[where].load(kRelaxed);
  unsigned index = 0;
  while (block->words[index][0].load(kRelaxed) != base) ++index;
  erase(where, index);
  return true;
}

void RangeTable::remove_all(Memory kind, void (*each)(const Range&)) {
  std::lock_guard lock(mutex_);
  for (unsigned where = 0; where < blocks_.load(kRelaxed);) {
    const unsigned blocks = blocks_.load(kRelaxed);
    const Block* block = directory_[where].load(kRelaxed);
    bool block_gone = false;
    for (unsigned index = 0; index < block->count.load(kRelaxed);) {
      const Range range = read(*block, index);
      if (range.kind != kind) {
        ++index;
        continue;
      }
      erase(where, index);
      each(range);
      if (blocks_.load(kRelaxed) != blocks) {
        block_gone = true;
        break;
      }
    }
    if (!block_gone) ++where;
  }
}

RangeTable& ranges() {
  static RangeTable& table = *new RangeTable;
  return table;
}

}  // namespace soft
