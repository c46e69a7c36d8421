// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The ring of one stream: variable-sized records, one writer at a time (the front, under the stream's lock), one reader
// (the engine). A record is published by the writer's release store of StreamControl::written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softrocm/wire/control.hpp"

namespace soft::wire {

struct Record {
  std::uint32_t operation;
  std::uint32_t record_bytes;  ///< with header, a multiple of 64
  std::uint64_t ticket;        ///< place in the global order of submissions
  std::uint32_t payload_bytes;
  std::uint32_t unused[11];
  const void* payload() const { return this + 1; }
  void* payload() { return this + 1; }
};
static_assert(sizeof(Record) == 64);

/// Bytes that a record with such a payload takes.
inline constexpr std::size_t record_bytes(std::size_t payload_bytes) {
  return align_up(sizeof(Record) + payload_bytes, 64);
}

/// One stream's ring as seen from one mapping of the control segment.
class Ring {
 public:
  Ring(StreamControl& stream, std::byte* bytes) : stream_(stream), bytes_(bytes) {}

  /// Writes a record and publishes it; false if it does not fit now. Payload at most kMaxPayload bytes.
  bool write(std::uint32_t operation, std::uint64_t ticket, const void* payload, std::size_t payload_bytes);

  /// The oldest record that was not consumed, or nullptr. Steps over wrap marks.
  const Record* front();
  /// Consumes what front() returned.
  void pop(const Record& record);

 private:
  StreamControl& stream_;
  std::byte* bytes_;
};

}  // namespace soft::wire
