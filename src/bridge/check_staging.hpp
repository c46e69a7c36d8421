// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Pinned host memory for the copies that checks work on. Taken from HIP in large pieces, never given back (freeing
// pinned memory may wait for the device), bounded by integrity.staging_bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rb::bridge::checks {

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;         ///< rounded up
  std::uint64_t generation = 0;  ///< of the staging memory; another one's is gone
};

/// A block of at least `bytes`; data is null when the bound or the host's memory does not allow it. Calls HIP when it
/// has to grow.
Block take_block(std::size_t bytes);
/// Calls no HIP function.
void give_block(const Block& block);
/// Whether the block's memory still exists.
bool block_lives(const Block& block);
/// A device reset takes all pinned memory with it: what was taken from HIP is forgotten. False: there was none.
bool forget_staging();

}  // namespace rb::bridge::checks
