// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/memory.hpp"

#include "bridge/amd.hpp"
#include "bridge/call_trace.hpp"
#include "bridge/context.hpp"
#include "bridge/process.hpp"
#include "bridge/streams.hpp"

namespace rb::bridge {
namespace {

constexpr std::size_t kPitchAlignment = 512;
constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

std::uint64_t word(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

/// An exact runtime number where the runtime distinguishes; the driver has only "invalid value".
Fault numbered(int number, const char* reason, std::string message) {
  Fault fault;
  fault.code = Errc::invalid_value;
  fault.reason = reason;
  fault.text = std::move(message);
  if (call().info != nullptr && call().info->api == Api::cudart) fault.native = number;
  return fault;
}

void remember(void* address, std::size_t bytes, MemoryKind kind, unsigned flags, void* device_address) {
  if (address == nullptr) return;
  Allocation allocation;
  allocation.base = word(address);
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.device = current_device();
  allocation.flags = flags;
  allocation.device_base = word(device_address);
  remember_allocation(allocation);
  trace_allocation(kind == MemoryKind::device || kind == MemoryKind::managed ? trace::AllocationKind::tensors
                                                                             : trace::AllocationKind::staging,
                   false, allocation.device, allocation.base, bytes);
}

/// Takes an allocation of one of two kinds out of the map and frees it; puts it back when HIP refuses.
template <class Free>
Status release(void* address, MemoryKind kind, MemoryKind other, const char* what, Free&& free_it) {
  Allocation allocation;
  if (find_allocation(word(address), &allocation) &&
      (allocation.base != word(address) || (allocation.kind != kind && allocation.kind != other)))
    return fail(Errc::invalid_value, "buffer-not-base", "%p is not the start of %s", address, what);
  const bool known = forget_allocation(word(address), &allocation);
  Status status = free_it();
  if (!known) return status;
  if (!status.ok()) {
    remember_allocation(allocation);
    return status;
  }
  trace_allocation(kind == MemoryKind::device ? trace::AllocationKind::tensors : trace::AllocationKind::staging, true,
                   allocation.device, allocation.base, allocation.bytes);
  return status;
}

Place place_of_hip(const void* address, std::uint64_t* left) {
  hipPointerAttribute_t attributes{};
  *left = kUnlimited;
  if (RB_AMD_RAW(hipPointerGetAttributes, &attributes, address) != hipSuccess) return Place::host;
  switch (attributes.type) {
    case hipMemoryTypeDevice:
      return Place::device;
    case hipMemoryTypeHost:
    case hipMemoryTypeManaged:
    case hipMemoryTypeUnified:
      return Place::both;
    default:
      return Place::host;
  }
}

Status check_range(const void* address, std::uint64_t bytes, std::uint64_t left, const char* what) {
  if (bytes <= left) return {};
  return fail(Errc::invalid_value, "buffer-short", "%s is %p: %llu bytes leave its allocation, which ends after %llu",
              what, address, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(left));
}

/// Bytes from the first to the last one of a pitched area; kUnlimited on overflow.
std::uint64_t span(std::size_t bytes, std::size_t pitch, std::size_t rows) {
  if (rows <= 1) return bytes;
  std::uint64_t lines = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(pitch), static_cast<std::uint64_t>(rows - 1), &lines))
    return kUnlimited;
  std::uint64_t total = 0;
  return __builtin_add_overflow(lines, static_cast<std::uint64_t>(bytes), &total) ? kUnlimited : total;
}

}  // namespace

Status allocate_device(void** out, std::size_t bytes) {
  if (out == nullptr) return null_output("devPtr");
  RB_TRY(check_process_again());
  void* address = nullptr;
  RB_TRY(RB_HIP(hipMalloc, &address, bytes));
  remember(address, bytes, MemoryKind::device, 0, address);
  *out = address;
  return {};
}

Status free_device(void* address) {
  if (address == nullptr) return {};
  return release(address, MemoryKind::device, MemoryKind::managed, "device memory",
                 [&] { return RB_HIP(hipFree, address); });
}

Status allocate_pinned(void** out, std::size_t bytes, unsigned flags) {
  if (out == nullptr) return null_output("pHost");
  if (flags > 7) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 1, 2 and 4 exist", flags);
  if (bytes == 0) {
    *out = nullptr;
    return {};
  }
  void* address = nullptr;
  RB_TRY(RB_HIP(hipHostMalloc, &address, bytes, flags));
  remember(address, bytes, MemoryKind::pinned, flags, address);
  *out = address;
  return {};
}

Status free_pinned(void* address) {
  if (address == nullptr) return {};
  Allocation allocation;
  if (!find_allocation(word(address), &allocation))
    return fail(Errc::invalid_value, "buffer-not-pinned", "%p was not allocated by cudaHostAlloc or cudaMallocHost",
                address);
  return release(address, MemoryKind::pinned, MemoryKind::pinned, "pinned memory",
                 [&] { return RB_HIP(hipHostFree, address); });
}

Status allocate_managed(void** out, std::size_t bytes, unsigned flags) {
  if (out == nullptr) return null_output("devPtr");
  if (flags != 1 && flags != 2)
    return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 1 (global) or 2 (host) is needed", flags);
  if (bytes == 0) return fail(Errc::invalid_value, "zero-size", "managed memory of 0 bytes");
  void* address = nullptr;
  RB_TRY(RB_HIP(hipMallocManaged, &address, bytes, flags));
  remember(address, bytes, MemoryKind::managed, flags, address);
  *out = address;
  return {};
}

Status allocate_pitched(void** out, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (out == nullptr || pitch == nullptr) return null_output(out == nullptr ? "devPtr" : "pitch");
  std::size_t line = 0;
  std::size_t bytes = 0;
  if (__builtin_add_overflow(width, kPitchAlignment - 1, &line))
    return fail(Errc::alloc_failed, "too-large", "rows of %zu bytes", width);
  line -= line % kPitchAlignment;
  if (__builtin_mul_overflow(line, height, &bytes))
    return fail(Errc::alloc_failed, "too-large", "%zu rows of %zu bytes", height, line);
  RB_TRY(allocate_device(out, bytes));
  *pitch = line;
  return {};
}

Status register_host(void* address, std::size_t bytes, unsigned flags) {
  if (address == nullptr || bytes == 0)
    return fail(Errc::invalid_value, "buffer-null", "ptr is %p, size %zu", address, bytes);
  if (flags > 15) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; 1, 2, 4 and 8 exist", flags);
  if (word(address) + bytes < bytes)
    return fail(Errc::invalid_value, "too-large", "%zu bytes at %p leave the address space", bytes, address);
  Allocation allocation;
  if (find_allocation(word(address), &allocation)) {
    Fault fault =
        numbered(712, "already-registered", text("%p lies in memory that is pinned or registered already", address));
    if (fault.native < 0) fault.native = 712;
    return fault;
  }
  RB_TRY(RB_HIP(hipHostRegister, address, bytes, flags));
  void* device_address = nullptr;
  if (RB_AMD_RAW(hipHostGetDevicePointer, &device_address, address, 0) != hipSuccess) device_address = nullptr;
  remember(address, bytes, MemoryKind::registered, flags, device_address);
  return {};
}

Status unregister_host(void* address) {
  Allocation allocation;
  if (address == nullptr) return fail(Errc::invalid_value, "buffer-null", "ptr is null");
  if (!find_allocation(word(address), &allocation) || allocation.base != word(address) ||
      allocation.kind != MemoryKind::registered) {
    Fault fault = fail(Errc::invalid_value, "not-registered", "%p is not the start of registered memory", address);
    fault.native = 713;
    return fault;
  }
  return release(address, MemoryKind::registered, MemoryKind::registered, "registered memory",
                 [&] { return RB_HIP(hipHostUnregister, address); });
}

Status host_device_pointer(void** out, void* host, unsigned flags) {
  if (out == nullptr) return null_output("pDevice");
  if (flags != 0) return fail(Errc::invalid_value, "bad-flags", "flags are 0x%x; they must be 0", flags);
  Allocation allocation;
  if (!find_allocation(word(host), &allocation) || allocation.kind == MemoryKind::device)
    return fail(Errc::invalid_value, "buffer-not-pinned", "%p is no pinned, managed or registered host memory", host);
  if (allocation.device_base == 0)
    return fail(Errc::not_supported, "amd-refuses", "the device cannot reach registered host memory at %p", host);
  *out = reinterpret_cast<void*>(allocation.device_base + (word(host) - allocation.base));
  return {};
}

Status host_flags(unsigned* flags, void* host) {
  if (flags == nullptr) return null_output("pFlags");
  Allocation allocation;
  if (!find_allocation(word(host), &allocation) ||
      (allocation.kind != MemoryKind::pinned && allocation.kind != MemoryKind::registered))
    return fail(Errc::invalid_value, "buffer-not-pinned", "%p is no pinned or registered host memory", host);
  *flags = allocation.flags;
  return {};
}

Status memory_info(std::size_t* free_bytes, std::size_t* total) {
  std::size_t unused_free = 0;
  std::size_t unused_total = 0;
  RB_TRY(RB_HIP(hipMemGetInfo, &unused_free, &unused_total));
  if (free_bytes != nullptr) *free_bytes = unused_free;
  if (total != nullptr) *total = unused_total;
  return {};
}

Place place_of(const void* address, std::uint64_t* left) {
  Allocation allocation;
  if (!find_allocation(word(address), &allocation)) return place_of_hip(address, left);
  *left = allocation.base + allocation.bytes - word(address);
  // A host range may go on behind what was registered of it.
  if (allocation.kind == MemoryKind::registered) *left = kUnlimited;
  return allocation.kind == MemoryKind::device ? Place::device : Place::both;
}

Status copy_memory(const Copy& copy) {
  if (copy.bytes == 0 || copy.rows == 0) return {};
  if (copy.direction < 0 || copy.direction > 4)
    return numbered(21, "bad-direction", text("the copy's direction is %d; 0 to 4 exist", copy.direction));
  if (copy.rows > 1 && (copy.bytes > copy.to_pitch || copy.bytes > copy.from_pitch))
    return numbered(
        12, "bad-pitch",
        text("rows of %zu bytes are wider than the pitch (%zu, %zu)", copy.bytes, copy.to_pitch, copy.from_pitch));
  if (copy.to == nullptr || copy.from == nullptr)
    return fail(Errc::invalid_value, "buffer-null", "%s is null", copy.to == nullptr ? "dst" : "src");
  std::uint64_t to_left = 0;
  std::uint64_t from_left = 0;
  const Place to = place_of(copy.to, &to_left);
  const Place from = place_of(copy.from, &from_left);
  RB_TRY(check_range(copy.to, span(copy.bytes, copy.to_pitch, copy.rows), to_left, "dst"));
  RB_TRY(check_range(copy.from, span(copy.bytes, copy.from_pitch, copy.rows), from_left, "src"));
  Direction direction = static_cast<Direction>(copy.direction);
  const bool to_device = direction == Direction::host_to_device || direction == Direction::device_to_device;
  const bool from_device = direction == Direction::device_to_host || direction == Direction::device_to_device;
  if (direction == Direction::host_to_host) {
    direction = Direction::automatic;  // CUDA looks at the pointers here, too
  } else if (direction != Direction::automatic) {
    const Place wanted_to = to_device ? Place::device : Place::host;
    const Place wanted_from = from_device ? Place::device : Place::host;
    if ((to != Place::both && to != wanted_to) || (from != Place::both && from != wanted_from))
      return fail(Errc::invalid_value, "wrong-direction",
                  "direction %d does not fit: dst %p is %s memory, src %p is %s memory", copy.direction, copy.to,
                  to == Place::host ? "host" : "device", copy.from, from == Place::host ? "host" : "device");
  }
  const hipMemcpyKind kind = static_cast<hipMemcpyKind>(static_cast<int>(direction));
  Status status;
  if (copy.waits) {
    status = copy.rows == 1
                 ? RB_HIP(hipMemcpy, copy.to, copy.from, copy.bytes, kind)
                 : RB_HIP(hipMemcpy2D, copy.to, copy.to_pitch, copy.from, copy.from_pitch, copy.bytes, copy.rows, kind);
  } else {
    RB_ASSIGN(const hipStream_t stream, stream_of(copy.stream));
    status = copy.rows == 1 ? RB_HIP(hipMemcpyAsync, copy.to, copy.from, copy.bytes, kind, stream)
                            : RB_HIP(hipMemcpy2DAsync, copy.to, copy.to_pitch, copy.from, copy.from_pitch, copy.bytes,
                                     copy.rows, kind, stream);
  }
  if (!status.ok()) return status;
  const bool reads_back = direction == Direction::device_to_host ||
                          (direction == Direction::automatic && from == Place::device && to != Place::device);
  return reads_back ? pending_refusal() : Status();
}

Status copy_peer(const Copy& copy, int to_device, int from_device) {
  if (copy.bytes == 0) return {};
  RB_TRY(check_device(to_device));
  RB_TRY(check_device(from_device));
  if (to_device == from_device) {
    Copy plain = copy;
    plain.direction = static_cast<int>(Direction::device_to_device);
    return copy_memory(plain);
  }
  if (copy.to == nullptr || copy.from == nullptr)
    return fail(Errc::invalid_value, "buffer-null", "%s is null", copy.to == nullptr ? "dst" : "src");
  RB_TRY(check_device_buffer(copy.to, copy.bytes, "dst"));
  RB_TRY(check_device_buffer(copy.from, copy.bytes, "src"));
  if (copy.waits) return RB_HIP(hipMemcpyPeer, copy.to, to_device, copy.from, from_device, copy.bytes);
  RB_ASSIGN(const hipStream_t stream, stream_of(copy.stream));
  return RB_HIP(hipMemcpyPeerAsync, copy.to, to_device, copy.from, from_device, copy.bytes, stream);
}

Status fill_memory(const Fill& fill) {
  if (fill.count == 0 || fill.rows == 0) return {};
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(fill.count, static_cast<std::size_t>(fill.width), &bytes))
    return fail(Errc::invalid_value, "too-large", "%zu elements of %u bytes", fill.count, fill.width);
  if (fill.rows > 1 && bytes > fill.pitch)
    return fail(Errc::invalid_value, "bad-pitch", "rows of %zu bytes are wider than the pitch %zu", bytes, fill.pitch);
  if (word(fill.to) % fill.width != 0)
    return fail(Errc::invalid_value, "misaligned", "%p is not aligned for values of %u bytes", fill.to, fill.width);
  const std::uint64_t all = span(bytes, fill.pitch, fill.rows);
  RB_TRY(check_device_buffer(fill.to, all, "devPtr"));
  RB_ASSIGN(const hipStream_t stream, stream_of(fill.stream));
  const int value = static_cast<int>(fill.value);
  if (fill.rows > 1 && fill.width != 1)
    return fail(Errc::not_supported, "pitched-fill", "a pitched fill with values of %u bytes", fill.width);
  if (fill.rows > 1) {
    if (fill.waits) return RB_HIP(hipMemset2D, fill.to, fill.pitch, value, bytes, fill.rows);
    return RB_HIP(hipMemset2DAsync, fill.to, fill.pitch, value, bytes, fill.rows, stream);
  }
  switch (fill.width) {
    case 1:
      return fill.waits ? RB_HIP(hipMemset, fill.to, value, fill.count)
                        : RB_HIP(hipMemsetAsync, fill.to, value, fill.count, stream);
    case 2:
      return fill.waits ? RB_HIP(hipMemsetD16, fill.to, static_cast<unsigned short>(value), fill.count)
                        : RB_HIP(hipMemsetD16Async, fill.to, static_cast<unsigned short>(value), fill.count, stream);
    default:
      return fill.waits ? RB_HIP(hipMemsetD32, fill.to, value, fill.count)
                        : RB_HIP(hipMemsetD32Async, fill.to, value, fill.count, stream);
  }
}

PointerFacts pointer_facts(const void* address) {
  PointerFacts facts;
  void* const same = const_cast<void*>(address);
  Allocation allocation;
  if (find_allocation(word(address), &allocation)) {
    facts.type = allocation.kind == MemoryKind::device ? 2 : allocation.kind == MemoryKind::managed ? 3 : 1;
    facts.device = allocation.device;
    facts.base = allocation.base;
    facts.bytes = allocation.bytes;
    facts.device_pointer = allocation.device_base != 0
                               ? reinterpret_cast<void*>(allocation.device_base + (word(address) - allocation.base))
                               : nullptr;
    facts.host_pointer = allocation.kind == MemoryKind::device ? nullptr : same;
    return facts;
  }
  hipPointerAttribute_t attributes{};
  facts.host_pointer = same;
  if (address == nullptr || RB_AMD_RAW(hipPointerGetAttributes, &attributes, address) != hipSuccess) return facts;
  switch (attributes.type) {
    case hipMemoryTypeDevice:
      facts.type = 2;
      break;
    case hipMemoryTypeHost:
      facts.type = 1;
      break;
    case hipMemoryTypeManaged:
    case hipMemoryTypeUnified:
      facts.type = 3;
      break;
    default:
      return facts;
  }
  facts.device = attributes.device;
  facts.device_pointer = attributes.devicePointer;
  facts.host_pointer = facts.type == 2 ? nullptr : attributes.hostPointer;
  hipDeviceptr_t base = nullptr;
  std::size_t size = 0;
  if (RB_AMD_RAW(hipMemGetAddressRange, &base, &size, same) == hipSuccess) {
    facts.base = word(base);
    facts.bytes = size;
  }
  return facts;
}

}  // namespace rb::bridge
