// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/wire/segments.hpp"

#include <cstring>

#include "base/os.hpp"

namespace soft::wire {
namespace {

std::atomic<InprocessEngine> inprocess{nullptr};

enum PatternState : std::uint8_t { kFresh = 0, kWriting = 1, kWritten = 2 };

std::atomic<std::uint8_t>* pattern_states(Control* control) {
  return reinterpret_cast<std::atomic<std::uint8_t>*>(reinterpret_cast<std::byte*>(control) + pattern_offset());
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void write_pattern(std::uint64_t seed, std::uint64_t offset, void* memory, std::size_t bytes) {
  // Halfwords 0x4101..0x44ff with any sign: 2.5 to 5 as fp16, 8 to 2,040 as bf16 and as the top of fp32 and fp64.
  std::uint64_t state = mix(seed ^ mix(offset));
  std::byte* out = static_cast<std::byte*>(memory);
  for (std::size_t at = 0; at < bytes; at += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const std::uint64_t high = 0x4100410041004100u + (state & 0x0300030003000300u);
    const std::uint64_t word = high | (state & 0x80ff80ff80ff80ffu) | 0x0001000100010001u;
    std::memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

void Segments::ensure_pattern(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return;
  std::atomic<std::uint8_t>* states = pattern_states(control);
  for (std::uint64_t chunk = offset / kChunk; chunk <= (offset + bytes - 1) / kChunk; ++chunk) {
    std::uint8_t state = states[chunk].load(std::memory_order_acquire);
    if (state == kWritten) continue;
    if (state == kFresh && states[chunk].compare_exchange_strong(state, kWriting, std::memory_order_acq_rel)) {
      const std::uint64_t at = chunk * kChunk;
      const std::size_t size = control->device_bytes - at < kChunk ? control->device_bytes - at : kChunk;
      write_pattern(control->pattern_seed, at, device + at, size);
      states[chunk].store(kWritten, std::memory_order_release);
      continue;
    }
    // The other process or another thread is at it: some microseconds, unless that process has just died. Then the
    // device is lost anyway and what stands in the chunk no longer matters.
    const std::uint64_t start = rb::os::now_ns();
    while (states[chunk].load(std::memory_order_acquire) != kWritten && rb::os::now_ns() - start < 2'000'000'000u) {
    }
  }
}

void* Segments::memory(std::uint64_t address, std::uint64_t bytes) const {
  const Control& c = *control;
  if (address >= c.device_base && address - c.device_base <= c.device_bytes) {
    const std::uint64_t offset = address - c.device_base;
    if (bytes > c.device_bytes - offset) return nullptr;
    ensure_pattern(offset, bytes);
    return device + offset;
  }
  if (address >= c.host_base && address - c.host_base <= c.host_bytes) {
    const std::uint64_t offset = address - c.host_base;
    if (bytes > c.host_bytes - offset) return nullptr;
    return host + offset;
  }
  return nullptr;
}

bool map_inherited(Segments* segments) {
  const void* head = rb::os::map_shared_read(kFdControl, 0, rb::os::kPage);
  if (head == nullptr) return false;
  const Control* first = static_cast<const Control*>(head);
  const std::uint64_t control_bytes = first->control_bytes;
  const std::uint64_t device_bytes = first->device_bytes;
  const std::uint64_t host_bytes = first->host_bytes;
  const bool right = first->magic == kMagic && control_bytes == control_size(device_bytes);
  rb::os::unmap(const_cast<void*>(head), rb::os::kPage);
  if (!right) return false;
  segments->control = static_cast<Control*>(rb::os::map_shared(kFdControl, 0, control_bytes));
  segments->device = static_cast<std::byte*>(rb::os::map_shared(kFdDevice, 0, device_bytes));
  segments->host = static_cast<std::byte*>(rb::os::map_shared(kFdHost, 0, host_bytes));
  return segments->control != nullptr && segments->device != nullptr && segments->host != nullptr;
}

void set_inprocess_engine(InprocessEngine start) {
  inprocess.store(start);
}
InprocessEngine inprocess_engine() {
  return inprocess.load();
}

}  // namespace soft::wire
