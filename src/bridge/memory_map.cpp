// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/memory_map.hpp"

#include <atomic>
#include <mutex>

#include "bridge/amd.hpp"

namespace rb::bridge {
namespace {

/// One allocation in five words, each read and written atomically; the sequence lock tells a torn read.
struct Row {
  std::atomic<std::uint64_t> base;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> device_base;
  std::atomic<std::uint64_t> traits;  ///< kind, async, device, flags
};

/// Sorted by address. Programs allocate seldom (they cache) and look up in every call.
struct Map {
  std::mutex mutex;  ///< writers
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<Row*> rows{nullptr};
  std::atomic<std::uint32_t> count{0};
  std::uint32_t room = 0;
};

/// An allocation that a thread found a moment ago. Good until any allocation is forgotten: most calls name the same few
/// buffers, and this is four times as fast as the search.
struct Hit {
  std::uint64_t base = 0, bytes = 0;
  std::uint64_t epoch = 0;  ///< 0: empty
};
constexpr unsigned kHits = 16;
thread_local constinit Hit t_hits[kHits] __attribute__((tls_model("initial-exec")));
constinit std::atomic<std::uint64_t> g_epoch{1};

Hit& hit_of(std::uint64_t address) {
  return t_hits[(address >> 21) % kHits];
}
void drop_hits() {
  g_epoch.fetch_add(1, std::memory_order_acq_rel);
}

Map& map() {
  static Map& instance = *new Map;
  return instance;
}

void copy(Row* to, const Row& from) {
  to->base.store(from.base.load(std::memory_order_relaxed), std::memory_order_relaxed);
  to->bytes.store(from.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  to->device_base.store(from.device_base.load(std::memory_order_relaxed), std::memory_order_relaxed);
  to->traits.store(from.traits.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void store(Row* to, const Allocation& from) {
  to->base.store(from.base, std::memory_order_relaxed);
  to->bytes.store(from.bytes, std::memory_order_relaxed);
  to->device_base.store(from.device_base, std::memory_order_relaxed);
  to->traits.store(static_cast<std::uint64_t>(from.kind) | static_cast<std::uint64_t>(from.async) << 8 |
                       static_cast<std::uint64_t>(from.device & 0xff) << 16 |
                       static_cast<std::uint64_t>(from.flags) << 32,
                   std::memory_order_relaxed);
}

Allocation load(const Row& row) {
  const std::uint64_t traits = row.traits.load(std::memory_order_relaxed);
  Allocation out;
  out.base = row.base.load(std::memory_order_relaxed);
  out.bytes = row.bytes.load(std::memory_order_relaxed);
  out.device_base = row.device_base.load(std::memory_order_relaxed);
  out.kind = static_cast<MemoryKind>(traits & 0xff);
  out.async = ((traits >> 8) & 1) != 0;
  out.device = static_cast<int>((traits >> 16) & 0xff);
  out.flags = static_cast<std::uint32_t>(traits >> 32);
  return out;
}

/// Index of the first row whose base is above `address`.
std::uint32_t upper(const Row* rows, std::uint32_t count, std::uint64_t address) {
  std::uint32_t low = 0;
  while (count > 0) {
    const std::uint32_t half = count / 2;
    if (rows[low + half].base.load(std::memory_order_relaxed) <= address) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

class Writing {
 public:
  explicit Writing(Map& all) : all_(all) {
    all_.sequence.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Writing() { all_.sequence.fetch_add(1, std::memory_order_release); }

 private:
  Map& all_;
};

void erase_at(Map& all, Row* rows, std::uint32_t index) {
  const std::uint32_t count = all.count.load(std::memory_order_relaxed);
  for (std::uint32_t i = index; i + 1 < count; ++i) copy(&rows[i], rows[i + 1]);
  all.count.store(count - 1, std::memory_order_release);
}

const char* kind_text(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
      return "device memory";
    case MemoryKind::pinned:
      return "pinned host memory";
    case MemoryKind::managed:
      return "managed memory";
    case MemoryKind::registered:
      return "registered host memory";
  }
  return "memory";
}

}  // namespace

void remember_allocation(const Allocation& allocation) {
  Map& all = map();
  std::lock_guard lock(all.mutex);
  const std::uint32_t count = all.count.load(std::memory_order_relaxed);
  Row* rows = all.rows.load(std::memory_order_relaxed);
  if (count == all.room) {
    const std::uint32_t room = all.room != 0 ? all.room * 2 : 256;
    Row* larger = new Row[room]();
    for (std::uint32_t i = 0; i < count; ++i) copy(&larger[i], rows[i]);
    all.room = room;
    all.rows.store(larger, std::memory_order_release);  // the old one is kept: a reader may still be in it
    rows = larger;
  }
  Writing writing(all);
  const std::uint32_t at = upper(rows, count, allocation.base);
  if (at > 0 && rows[at - 1].base.load(std::memory_order_relaxed) == allocation.base) {
    store(&rows[at - 1], allocation);  // freed behind our back and given out again
    drop_hits();
    return;
  }
  for (std::uint32_t i = count; i > at; --i) copy(&rows[i], rows[i - 1]);
  store(&rows[at], allocation);
  all.count.store(count + 1, std::memory_order_release);
}

bool forget_allocation(std::uint64_t base, Allocation* allocation) {
  Map& all = map();
  std::lock_guard lock(all.mutex);
  Row* rows = all.rows.load(std::memory_order_relaxed);
  const std::uint32_t at = upper(rows, all.count.load(std::memory_order_relaxed), base);
  if (at == 0 || rows[at - 1].base.load(std::memory_order_relaxed) != base) return false;
  if (allocation != nullptr) *allocation = load(rows[at - 1]);
  Writing writing(all);
  erase_at(all, rows, at - 1);
  drop_hits();
  return true;
}

bool find_allocation(std::uint64_t address, Allocation* allocation) {
  Map& all = map();
  for (;;) {
    const std::uint32_t before = all.sequence.load(std::memory_order_acquire);
    // In this order: the rows are at least those that the count belongs to.
    const std::uint32_t count = all.count.load(std::memory_order_acquire);
    const Row* rows = all.rows.load(std::memory_order_acquire);
    if (rows == nullptr) return false;
    bool found = false;
    if ((before & 1) == 0) {
      const std::uint32_t at = upper(rows, count, address);
      if (at > 0) {
        *allocation = load(rows[at - 1]);
        found = address - allocation->base < allocation->bytes;
      }
      std::atomic_thread_fence(std::memory_order_acquire);
      if (all.sequence.load(std::memory_order_relaxed) == before) return found;
    }
  }
}

void forget_device_memory(int device) {
  Map& all = map();
  std::lock_guard lock(all.mutex);
  Row* rows = all.rows.load(std::memory_order_relaxed);
  Writing writing(all);
  for (std::uint32_t i = all.count.load(std::memory_order_relaxed); i > 0; --i)
    if (load(rows[i - 1]).device == device) erase_at(all, rows, i - 1);
  drop_hits();
}

Status check_device_buffer(const void* address, std::uint64_t bytes, const char* what) {
  if (bytes == 0) return {};
  const std::uint64_t word = reinterpret_cast<std::uint64_t>(address);
  Hit& hit = hit_of(word);
  const std::uint64_t epoch = g_epoch.load(std::memory_order_acquire);  // before the search: a later forgetting counts
  if (word - hit.base < hit.bytes && bytes <= hit.bytes - (word - hit.base) && hit.epoch == epoch) [[likely]]
    return {};
  if (address == nullptr)
    return fail(Errc::invalid_value, "buffer-null", "%s is null; %llu bytes are needed", what,
                static_cast<unsigned long long>(bytes));
  Allocation allocation;
  if (find_allocation(word, &allocation)) {
    const std::uint64_t left = allocation.base + allocation.bytes - word;
    if (left < bytes)
      return fail(Errc::invalid_value, "buffer-short",
                  "%s needs %llu bytes at %p, but that allocation (%s) ends after %llu", what,
                  static_cast<unsigned long long>(bytes), address, kind_text(allocation.kind),
                  static_cast<unsigned long long>(left));
    hit = {allocation.base, allocation.bytes, epoch};
    return {};
  }
  // Memory that the program took from HIP itself is as good.
  hipDeviceptr_t base = nullptr;
  std::size_t size = 0;
  if (RB_AMD_RAW(hipMemGetAddressRange, &base, &size, const_cast<void*>(address)) == hipSuccess && base != nullptr) {
    const std::uint64_t left = reinterpret_cast<std::uint64_t>(base) + size - word;
    if (left >= bytes) return {};
    return fail(Errc::invalid_value, "buffer-short", "%s needs %llu bytes at %p, but its allocation ends after %llu",
                what, static_cast<unsigned long long>(bytes), address, static_cast<unsigned long long>(left));
  }
  return fail(Errc::invalid_value, "buffer-not-device",
              "%s is %p, which is no live device memory (host memory, freed or foreign)", what, address);
}

}  // namespace rb::bridge
