// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/copy.hpp"

#include <cstring>
#include <new>

#include "softrocm/front/hip/host_threads.hpp"
#include "softrocm/front/hip/memory.hpp"
#include "softrocm/front/hip/stream.hpp"

namespace soft {
namespace {

/// Largest copy that goes through staging memory.
constexpr std::size_t kMaxStaging = 8u << 20;

/// Bytes from the first to the last byte of a pitched box; 0 on overflow.
std::size_t span(std::size_t width, std::size_t height, std::size_t depth, std::size_t pitch, std::size_t slice) {
  std::size_t planes = 0;
  std::size_t rows = 0;
  std::size_t sum = 0;
  if (__builtin_mul_overflow(depth - 1, slice, &planes) || __builtin_mul_overflow(height - 1, pitch, &rows) ||
      __builtin_add_overflow(planes, rows, &sum) || __builtin_add_overflow(sum, width, &sum))
    return 0;
  return sum;
}

bool fits(const Range& range, const void* address, std::size_t bytes) {
  if (range.kind == Memory::none) return true;
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(address) - range.base;
  return bytes <= range.size - offset;
}

void copy_rows(std::byte* dst, const std::byte* src, const Box& box) {
  for (std::size_t z = 0; z < box.depth; ++z)
    for (std::size_t y = 0; y < box.height; ++y)
      std::memmove(dst + z * box.dst_slice + y * box.dst_pitch, src + z * box.src_slice + y * box.src_pitch, box.width);
}

/// A copy that a host function carries out. Pointers are the front's.
struct Job {
  std::byte* dst;
  const std::byte* src;
  Box box;
};

void run_job(void* argument) {
  Job* job = static_cast<Job*>(argument);
  copy_rows(job->dst, job->src, job->box);
  delete job;
}

/// Everything before the copy in its stream is done after this.
hipError_t wait_for_turn(const Session& session, hipStream_t stream) {
  if (session.control->schedule_seed == 0 && nothing_before(stream)) return device_status(session);
  Point point;
  const hipError_t error = submit_command(stream, wire::kOperationEmpty, nullptr, 0, &point);
  return error != hipSuccess ? error : wait(point);
}

hipError_t copy_on_device(const Box& box, std::uint64_t src, hipStream_t stream, Point* point) {
  const wire::CopyPayload payload{reinterpret_cast<std::uint64_t>(box.dst),
                                  src,
                                  box.width,
                                  box.height,
                                  box.depth,
                                  box.dst_pitch,
                                  box.src_pitch,
                                  box.dst_slice,
                                  box.src_slice};
  return submit_command(stream, wire::kCommandCopy, &payload, sizeof payload, point);
}

/// Whether the kind agrees with where the pointers are.
bool kind_agrees(hipMemcpyKind kind, Side dst, Side src) {
  switch (kind) {
    case hipMemcpyHostToDevice:
      return dst != Side::host && src != Side::device;
    case hipMemcpyDeviceToHost:
      return src != Side::host && dst != Side::device;
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU:
      return dst != Side::host && src != Side::host;
    default:
      return true;
  }
}

bool is_known(hipMemcpyKind kind) {
  const int value = static_cast<int>(kind);
  return (value >= hipMemcpyHostToHost && value <= hipMemcpyDefault) || value == hipMemcpyDeviceToDeviceNoCU;
}

hipError_t copy_staged(const Session& session, const Box& box, const std::byte* src, hipStream_t stream) {
  const std::size_t bytes = box.width * box.height * box.depth;
  const std::uint64_t staging = take_staging(bytes);
  if (staging == 0) return hipErrorOutOfMemory;
  Box packed = box;
  packed.dst_pitch = box.width;
  packed.dst_slice = box.width * box.height;
  copy_rows(static_cast<std::byte*>(session.segments.memory(staging, bytes)), src, packed);
  Box out = box;
  out.src_pitch = packed.dst_pitch;
  out.src_slice = packed.dst_slice;
  Point point;
  const hipError_t error = copy_on_device(out, staging, stream, &point);
  release_staging_at(staging, point);
  return error;
}

}  // namespace

hipError_t copy(const Box& box, hipMemcpyKind kind, hipStream_t stream, bool wait_until_done) {
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  if (box.width == 0 || box.height == 0 || box.depth == 0) return hipSuccess;
  if (!is_known(kind)) return hipErrorInvalidMemcpyDirection;
  if (box.dst == nullptr || box.src == nullptr) return hipErrorInvalidValue;
  const std::size_t dst_bytes = span(box.width, box.height, box.depth, box.dst_pitch, box.dst_slice);
  const std::size_t src_bytes = span(box.width, box.height, box.depth, box.src_pitch, box.src_slice);
  if (dst_bytes == 0 || src_bytes == 0) return hipErrorInvalidValue;
  Range dst_range;
  Range src_range;
  const Side dst_side = side_of(box.dst, &dst_range);
  const Side src_side = side_of(box.src, &src_range);
  if (dst_side == Side::dead || src_side == Side::dead) return hipErrorInvalidValue;
  if (!fits(dst_range, box.dst, dst_bytes) || !fits(src_range, box.src, src_bytes)) return hipErrorInvalidValue;
  if (!kind_agrees(kind, dst_side, src_side)) return hipErrorInvalidValue;

  if (dst_side != Side::host && src_side != Side::host) {
    Point point;
    const hipError_t error = copy_on_device(box, reinterpret_cast<std::uint64_t>(box.src), stream, &point);
    return error != hipSuccess || !wait_until_done ? error : wait(point);
  }

  const wire::Segments& segments = session->segments;
  std::byte* dst = static_cast<std::byte*>(box.dst);
  const std::byte* src = static_cast<const std::byte*>(box.src);
  const bool registered = (dst_side != Side::host || dst_range.kind == Memory::registered) &&
                          (src_side != Side::host || src_range.kind == Memory::registered);
  const bool through_staging =
      !wait_until_done && dst_side != Side::host && !registered && box.width * box.height * box.depth <= kMaxStaging;
  if (through_staging && (session->control->schedule_seed != 0 || !nothing_before(stream))) {
    const hipError_t error = copy_staged(*session, box, src, stream);
    if (error != hipErrorOutOfMemory) return error;
  }
  if (dst_side != Side::host)
    dst = static_cast<std::byte*>(segments.memory(reinterpret_cast<std::uint64_t>(dst), dst_bytes));
  if (src_side != Side::host)
    src = static_cast<const std::byte*>(segments.memory(reinterpret_cast<std::uint64_t>(src), src_bytes));
  if (!wait_until_done && registered) {
    Job* job = new (std::nothrow) Job{dst, src, box};
    if (job == nullptr) return hipErrorOutOfMemory;
    const hipError_t error =
        submit_host(stream, wire::kHostInternal, reinterpret_cast<std::uint64_t>(&run_job), job, nullptr);
    if (error != hipSuccess) delete job;
    return error;
  }
  if (const hipError_t error = wait_for_turn(*session, stream); error != hipSuccess) return error;
  copy_rows(dst, src, box);
  return hipSuccess;
}

hipError_t fill(const Fill& fill, hipStream_t stream, bool is_async) {
  Stream* object = nullptr;
  std::uint32_t slot = 0;
  if (const hipError_t error = resolve(stream, &object, &slot); error != hipSuccess) return error;
  Session* session = nullptr;
  if (const hipError_t error = soft::session(&session); error != hipSuccess) return error;
  if (fill.count == 0 || fill.height == 0 || fill.depth == 0) return hipSuccess;
  std::size_t width = 0;
  if (fill.dst == nullptr || __builtin_mul_overflow(fill.count, std::size_t{fill.element_bytes}, &width))
    return hipErrorInvalidValue;
  const std::size_t bytes = span(width, fill.height, fill.depth, fill.pitch, fill.slice);
  Range range;
  const Side side = side_of(fill.dst, &range);
  if (bytes == 0 || side == Side::dead || side == Side::host || !fits(range, fill.dst, bytes))
    return hipErrorInvalidValue;
  if (reinterpret_cast<std::uint64_t>(fill.dst) % fill.element_bytes != 0) return hipErrorInvalidValue;
  const wire::FillPayload payload{reinterpret_cast<std::uint64_t>(fill.dst),
                                  fill.count,
                                  fill.height,
                                  fill.depth,
                                  fill.pitch,
                                  fill.slice,
                                  fill.value,
                                  fill.element_bytes};
  Point point;
  const hipError_t error = submit_command(stream, wire::kCommandFill, &payload, sizeof payload, &point);
  // A synchronous fill of device memory returns at once, as in CUDA; one of memory that the host reads does not.
  return error != hipSuccess || is_async || side == Side::device ? error : wait(point);
}

}  // namespace soft
