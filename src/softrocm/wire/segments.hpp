// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One process's view of the three memory files: control segment, device arena, host arena. The front creates them, the
// engine maps what it inherits. Addresses of the application are turned into addresses of this process here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softrocm/wire/control.hpp"
#include "softrocm/wire/ring.hpp"

namespace soft::wire {

/// Numbers under which the engine's process inherits its files.
enum Inherited : int { kFdControl = 3, kFdDevice = 4, kFdHost = 5, kFdParent = 6 };

struct Segments {
  Control* control = nullptr;
  std::byte* device = nullptr;  ///< this process's window on the device arena
  std::byte* host = nullptr;    ///< this process's mapping of the host arena

  Ring ring(unsigned stream) const {
    return Ring(control->streams[stream],
                reinterpret_cast<std::byte*>(control) + ring_offset(control->device_bytes) + stream * kRingBytes);
  }

  /// Address in this process of `bytes` bytes at `address`, or nullptr if they do not lie inside one arena. Memory of
  /// the device arena that nobody has touched yet gets its pattern first.
  void* memory(std::uint64_t address, std::uint64_t bytes) const;

  /// Gives every fresh chunk of [offset, offset + bytes) of the device arena its pattern.
  void ensure_pattern(std::uint64_t offset, std::uint64_t bytes) const;
};

/// Writes the pattern of fresh memory: every 16-bit, 32-bit and 64-bit float in it is finite, of moderate size and not
/// zero, no byte is zero, and it depends on the seed and on the place.
void write_pattern(std::uint64_t seed, std::uint64_t offset, void* memory, std::size_t bytes);

/// Maps the files that the engine's process inherits. False if they are not what they should be.
bool map_inherited(Segments* segments);

/// Set by an engine that is linked into the program (soft.engine=inprocess): starts its threads on these segments.
using InprocessEngine = void (*)(const Segments& segments);
void set_inprocess_engine(InprocessEngine start);
InprocessEngine inprocess_engine();

}  // namespace soft::wire
