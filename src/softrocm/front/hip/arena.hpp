// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Divides one arena among allocations: best fit, neighbours joined when freed, O(log n). It only keeps accounts; the
// memory itself is never touched, so freed bytes stay what they were.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace soft {

class Arena {
 public:
  /// Starts with one free piece [base, base + size). `step` is the grain of addresses and sizes, a power of two.
  void reset(std::uint64_t base, std::uint64_t size, std::uint64_t step);
  /// Address of `bytes` bytes, or 0 if there is no free piece of that size.
  std::uint64_t allocate(std::uint64_t bytes);
  /// Gives an allocation back. False if `address` is not the beginning of one.
  bool release(std::uint64_t address);
  std::uint64_t used() const;
  std::uint64_t size() const;
  /// End of the highest address that was ever given away.
  std::uint64_t high_water() const;

 private:
  void insert_free(std::uint64_t address, std::uint64_t bytes);
  void erase_free(std::map<std::uint64_t, std::uint64_t>::iterator piece);

  mutable std::mutex mutex_;
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t step_ = 256;
  std::uint64_t used_ = 0;
  std::uint64_t high_ = 0;
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::map<std::uint64_t, std::uint64_t> free_;                   ///< by address
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_sizes_;  ///< (size, address)
};

}  // namespace soft
