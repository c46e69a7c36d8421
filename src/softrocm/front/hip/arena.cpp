// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/arena.hpp"

namespace soft {

void Arena::reset(std::uint64_t base, std::uint64_t size, std::uint64_t step) {
  std::lock_guard lock(mutex_);
  base_ = base;
  size_ = size / step * step;
  step_ = step;
  used_ = 0;
  if (high_ < base) high_ = base;
  taken_.clear();
  free_.clear();
  free_sizes_.clear();
  insert_free(base_, size_);
}

void Arena::insert_free(std::uint64_t address, std::uint64_t bytes) {
  free_.emplace(address, bytes);
  free_sizes_.emplace(bytes, address);
}

void Arena::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator piece) {
  free_sizes_.erase({piece->second, piece->first});
  free_.erase(piece);
}

std::uint64_t Arena::allocate(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > size_) return 0;
  const std::uint64_t rounded = (bytes + step_ - 1) / step_ * step_;
  const auto fit = free_sizes_.lower_bound({rounded, 0});
  if (fit == free_sizes_.end()) return 0;
  const std::uint64_t address = fit->second;
  const std::uint64_t piece = fit->first;
  erase_free(free_.find(address));
  if (piece > rounded) insert_free(address + rounded, piece - rounded);
  taken_.emplace(address, rounded);
  used_ += rounded;
  if (address + rounded > high_) high_ = address + rounded;
  return address;
}

bool Arena::release(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto taken = taken_.find(address);
  if (taken == taken_.end()) return false;
  std::uint64_t begin = address;
  std::uint64_t bytes = taken->second;
  used_ -= bytes;
  taken_.erase(taken);
  const auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + bytes) {
    bytes += next->second;
    erase_free(next);
  }
  auto previous = free_.lower_bound(begin);
  if (previous != free_.begin()) {
    --previous;
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      bytes += previous->second;
      erase_free(previous);
    }
  }
  insert_free(begin, bytes);
  return true;
}

std::uint64_t Arena::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}
std::uint64_t Arena::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}
std::uint64_t Arena::high_water() const {
  std::lock_guard lock(mutex_);
  return high_;
}

}  // namespace soft
