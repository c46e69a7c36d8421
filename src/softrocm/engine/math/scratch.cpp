// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/math/scratch.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace soft::engine {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kKept = std::size_t{1} << 30;  ///< bytes of free blocks above which the oldest are given back

struct Block {
  void* data;
  std::size_t size;
};

struct Pool {
  std::mutex mutex;
  std::vector<Block> free;  ///< oldest first
  std::size_t bytes = 0;
};

Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

}  // namespace

Scratch::Scratch(std::size_t bytes) {
  size_ = (std::max<std::size_t>(bytes, 1) + 4095) / 4096 * 4096;
  {
    std::lock_guard lock(pool().mutex);
    auto& blocks = pool().free;
    auto best = blocks.end();
    // A block more than four times too large stays for those who need it.
    for (auto block = blocks.begin(); block != blocks.end(); ++block)
      if (block->size >= size_ && block->size / 4 <= size_ && (best == blocks.end() || block->size < best->size))
        best = block;
    if (best != blocks.end()) {
      data_ = best->data;
      size_ = best->size;
      pool().bytes -= size_;
      blocks.erase(best);
      return;
    }
  }
  data_ = ::operator new(size_, kAlignment);
}

Scratch::~Scratch() {
  if (!data_) return;
  std::lock_guard lock(pool().mutex);
  auto& blocks = pool().free;
  blocks.push_back({data_, size_});
  pool().bytes += size_;
  while (pool().bytes > kKept && !blocks.empty()) {
    ::operator delete(blocks.front().data, kAlignment);
    pool().bytes -= blocks.front().size;
    blocks.erase(blocks.begin());
  }
}

}  // namespace soft::engine
