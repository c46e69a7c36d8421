// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Payloads of the transport's own commands (numbers below kOperationDnnFirst): copies, fills, event records, waits and
// host functions. Addresses are the application's.
#pragma once

#include <cstdint>

#include "softrocm/wire/operations.hpp"

namespace soft::wire {

enum Command : std::uint32_t {
  kCommandCopy = 2,    ///< CopyPayload
  kCommandFill = 3,    ///< FillPayload
  kCommandRecord = 4,  ///< RecordPayload: writes the time into the event's slot
  kCommandWait = 5,    ///< WaitPayload: holds the stream until another stream's timeline has come so far
  kCommandHost = 6,    ///< HostPayload: a function that the front runs
  kCommandWrite = 7,   ///< WritePayload: one word
  kCommandWrap = 99,   ///< rest of the ring is unused
};

/// Copy of depth × height rows of `width` bytes between arena addresses. A linear copy has height and depth 1.
struct CopyPayload {
  std::uint64_t dst, src;
  std::uint64_t width, height, depth;
  std::uint64_t dst_pitch, src_pitch;  ///< bytes from row to row
  std::uint64_t dst_slice, src_slice;  ///< bytes from plane to plane
};

/// Fill of depth × height rows of `count` elements of 1, 2 or 4 bytes.
struct FillPayload {
  std::uint64_t dst;
  std::uint64_t count, height, depth;
  std::uint64_t pitch, slice;  ///< bytes
  std::uint32_t value;
  std::uint32_t element_bytes;
};

struct RecordPayload {
  std::uint32_t event;  ///< index into Control::events
};

struct WaitPayload {
  std::uint64_t sequence;
  std::uint32_t stream;  ///< slot
};

enum HostKind : std::uint32_t {
  kHostFunction = 0,  ///< void (*)(void* argument); not called once the device has failed
  kHostCallback = 1,  ///< void (*)(hipStream_t, hipError_t, void* argument); called in any case
  kHostInternal = 2,  ///< void (*)(void* argument) of the front itself; called in any case
};

struct HostPayload {
  std::uint64_t function, argument;
  std::uint64_t stream;  ///< the application's handle, for a callback
  std::uint32_t kind;
};

struct WritePayload {
  std::uint64_t dst;
  std::uint64_t value;
  std::uint32_t bytes;  ///< 4 or 8
};

}  // namespace soft::wire
