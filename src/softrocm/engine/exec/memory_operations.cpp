// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Copies and fills of arena memory.
#include <cstring>

#include "softrocm/engine/exec/registry.hpp"
#include "softrocm/wire/commands.hpp"

namespace soft::engine {
namespace {

/// Bytes from the first to the last byte of a pitched box, 0 if it is empty.
std::uint64_t span(std::uint64_t width, std::uint64_t height, std::uint64_t depth, std::uint64_t pitch,
                   std::uint64_t slice) {
  if (width == 0 || height == 0 || depth == 0) return 0;
  return (depth - 1) * slice + (height - 1) * pitch + width;
}

template <class Payload>
bool read_payload(const void* bytes, std::size_t size, Payload* payload) {
  if (size != sizeof *payload) return false;
  std::memcpy(payload, bytes, size);
  return true;
}

Outcome copy(Context& context, const void* bytes, std::size_t size) {
  wire::CopyPayload p;
  if (!read_payload(bytes, size, &p)) return Outcome::internal;
  const std::uint64_t dst_bytes = span(p.width, p.height, p.depth, p.dst_pitch, p.dst_slice);
  const std::uint64_t src_bytes = span(p.width, p.height, p.depth, p.src_pitch, p.src_slice);
  if (dst_bytes == 0) return Outcome::ok;
  std::byte* dst = static_cast<std::byte*>(context.memory(p.dst, dst_bytes));
  const std::byte* src = static_cast<const std::byte*>(context.memory(p.src, src_bytes));
  if (dst == nullptr || src == nullptr) return Outcome::invalid_address;
  for (std::uint64_t z = 0; z < p.depth; ++z)
    for (std::uint64_t y = 0; y < p.height; ++y)
      std::memmove(dst + z * p.dst_slice + y * p.dst_pitch, src + z * p.src_slice + y * p.src_pitch, p.width);
  return Outcome::ok;
}

void fill_row(std::byte* row, std::uint64_t count, std::uint32_t value, std::uint32_t element_bytes) {
  if (element_bytes == 1) {
    std::memset(row, static_cast<int>(value & 0xffu), count);
  } else if (element_bytes == 2) {
    const std::uint16_t word = static_cast<std::uint16_t>(value);
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(row + 2 * i, &word, 2);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(row + 4 * i, &value, 4);
  }
}

Outcome fill(Context& context, const void* bytes, std::size_t size) {
  wire::FillPayload p;
  if (!read_payload(bytes, size, &p)) return Outcome::internal;
  const std::uint64_t range = span(p.count * p.element_bytes, p.height, p.depth, p.pitch, p.slice);
  if (range == 0) return Outcome::ok;
  std::byte* dst = static_cast<std::byte*>(context.memory(p.dst, range));
  if (dst == nullptr) return Outcome::invalid_address;
  for (std::uint64_t z = 0; z < p.depth; ++z)
    for (std::uint64_t y = 0; y < p.height; ++y)
      fill_row(dst + z * p.slice + y * p.pitch, p.count, p.value, p.element_bytes);
  return Outcome::ok;
}

Outcome write_word(Context& context, const void* bytes, std::size_t size) {
  wire::WritePayload p;
  if (!read_payload(bytes, size, &p)) return Outcome::internal;
  void* dst = context.memory(p.dst, p.bytes);
  if (dst == nullptr || (p.bytes != 4 && p.bytes != 8)) return Outcome::invalid_address;
  std::memcpy(dst, &p.value, p.bytes);
  return Outcome::ok;
}

}  // namespace

void register_memory() {
  register_operation(wire::kCommandCopy, copy);
  register_operation(wire::kCommandFill, fill);
  register_operation(wire::kCommandWrite, write_word);
}

}  // namespace soft::engine
