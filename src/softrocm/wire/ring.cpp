// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/wire/ring.hpp"

#include <cstring>

#include "softrocm/wire/commands.hpp"

namespace soft::wire {

bool Ring::write(std::uint32_t operation, std::uint64_t ticket, const void* payload, std::size_t payload_bytes) {
  const std::size_t size = record_bytes(payload_bytes);
  std::uint64_t written = stream_.written.load(std::memory_order_relaxed);
  const std::uint64_t read = stream_.read.load(std::memory_order_acquire);
  const std::size_t offset = written % kRingBytes;
  const std::size_t left = kRingBytes - offset;
  const std::size_t skip = left < size ? left : 0;
  if (written + skip + size - read > kRingBytes) return false;
  if (skip != 0) {
    Record* wrap = new (bytes_ + offset) Record{};
    wrap->operation = kCommandWrap;
    wrap->record_bytes = static_cast<std::uint32_t>(skip);
    written += skip;
  }
  Record* record = new (bytes_ + written % kRingBytes) Record;
  record->operation = operation;
  record->record_bytes = static_cast<std::uint32_t>(size);
  record->ticket = ticket;
  record->payload_bytes = static_cast<std::uint32_t>(payload_bytes);
  if (payload_bytes != 0) std::memcpy(record->payload(), payload, payload_bytes);
  stream_.written.store(written + size, std::memory_order_seq_cst);
  return true;
}

const Record* Ring::front() {
  for (;;) {
    const std::uint64_t read = stream_.read.load(std::memory_order_relaxed);
    if (read == stream_.written.load(std::memory_order_acquire)) return nullptr;
    const Record* record = reinterpret_cast<const Record*>(bytes_ + read % kRingBytes);
    if (record->operation != kCommandWrap) return record;
    stream_.read.store(read + record->record_bytes, std::memory_order_release);
  }
}

void Ring::pop(const Record& record) {
  stream_.read.store(stream_.read.load(std::memory_order_relaxed) + record.record_bytes, std::memory_order_release);
}

}  // namespace soft::wire
