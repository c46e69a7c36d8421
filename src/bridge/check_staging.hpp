// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Pinned host memory for the copies that checks work on. Taken from HIP in large pieces, never given back (freeing
// pinned memory may wait for the device), bounded by integrity.staging_bytes.
#pragma once

#include <cstddef>

namespace rb::bridge::checks {

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;  ///< rounded up
};

/// A block of at least `bytes`; data is null when the bound or the host's memory does not allow it. Calls HIP when it
/// has to grow.
Block take_block(std::size_t bytes);
/// Calls no HIP function.
void give_block(const Block& block);

}  // namespace rb::bridge::checks
