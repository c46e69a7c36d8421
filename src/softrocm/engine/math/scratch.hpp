// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Host memory for intermediate results. Blocks are kept and used again: the page faults of fresh memory would cost more
// than many of the operations that need it.
#pragma once

#include <cstddef>
#include <utility>

namespace soft::engine {

/// A block of memory, aligned to 64 bytes, contents undefined. Goes back to the pool at the end of its scope.
/// Throws std::bad_alloc when there is none.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  void* get() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace soft::engine
