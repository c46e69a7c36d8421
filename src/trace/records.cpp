// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/writer_state.hpp"

namespace rb::trace {

void check(const CheckRecord& record) {
  if (!on()) return;
  CheckFixed fixed;
  fixed.call = record.call;
  fixed.entry = record.entry;
  fixed.verdict = static_cast<std::uint8_t>(record.verdict);
  fixed.level = record.level;
  fixed.reference = static_cast<std::uint8_t>(record.reference);
  fixed.type = static_cast<std::uint8_t>(record.type);
  fixed.relative_l1 = record.relative_l1;
  fixed.bound = record.bound;
  fixed.max_error = record.max_error;
  fixed.tolerance = record.tolerance;
  fixed.resolution = record.resolution;
  fixed.relative_l2 = record.relative_l2;
  fixed.elements = record.elements;
  fixed.compared = record.compared;
  fixed.outside = record.outside;
  fixed.zeros = record.zeros;
  fixed.not_finite = record.not_finite;
  fixed.poisoned = record.poisoned;
  fixed.worst = record.worst;
  fixed.duration_ns = record.duration_ns;
  Record out(Kind::check, now(), &fixed, sizeof fixed);
  out.text(Tag::name, record.tensor);
  out.text(Tag::shape, record.shape);
  out.text(Tag::tolerance, record.tolerance_class);
  out.text(Tag::reason, record.reason);
  out.text(Tag::text, record.text);
  out.text(Tag::reproducer, record.reproducer);
  out.commit();
}

void allocation(const AllocationRecord& record) {
  if (!on()) return;
  AllocationFixed fixed;
  fixed.call = current_call();
  fixed.address = record.address;
  fixed.bytes = record.bytes;
  fixed.kind = static_cast<std::uint8_t>(record.kind);
  fixed.freed = record.freed ? 1 : 0;
  fixed.device = record.device;
  Record(Kind::allocation, now(), &fixed, sizeof fixed).commit();
}

void refusal(const RefusalRecord& record) {
  if (!on()) return;
  const RefusalFixed fixed{current_call(), record.entry, record.status};
  Record out(Kind::refusal, now(), &fixed, sizeof fixed);
  out.text(Tag::reason, record.reason);
  out.text(Tag::text, record.text);
  out.text(Tag::remedy, record.remedy);
  out.text(Tag::where, record.where);
  out.commit();
}

void layout(std::string_view what, std::string_view text) {
  if (!on()) return;
  const LayoutFixed fixed{current_call()};
  Record out(Kind::layout, now(), &fixed, sizeof fixed);
  out.text(Tag::name, what);
  out.text(Tag::text, text);
  out.commit();
}

void note(unsigned level, std::string_view component, std::string_view text) {
  if (!on()) return;
  const NoteFixed fixed{current_call(), level, 0};
  Record out(Kind::note, now(), &fixed, sizeof fixed);
  out.text(Tag::component, component);
  out.text(Tag::text, text);
  out.commit();
}

void setting(std::string_view key, std::string_view value, std::string_view origin) {
  if (!on()) return;
  Record out(Kind::setting, now(), nullptr, 0);
  out.text(Tag::name, key);
  out.text(Tag::value, value);
  out.text(Tag::origin, origin);
  out.commit();
}

void device(const DeviceRecord& record) {
  if (!on()) return;
  const DeviceFixed fixed{record.memory_bytes, record.wave, record.software ? 1u : 0u, record.generation, record.index};
  Record out(Kind::device, now(), &fixed, sizeof fixed);
  out.text(Tag::name, record.name);
  out.text(Tag::architecture, record.architecture);
  out.text(Tag::directory, record.directory);
  out.text(Tag::text, record.text);
  out.commit();
}

void tensor(const TensorRecord& record) {
  if (level() != Level::full) return;
  // Pieces small against the ring, so that a collector can keep up while the tensor is written.
  const std::uint64_t piece_limit = detail::g_state.ring_bytes / 16;
  std::uint64_t offset = 0;
  do {
    const std::uint64_t left = record.bytes - offset;
    const std::uint64_t piece = left < piece_limit ? left : piece_limit;
    TensorFixed fixed;
    fixed.call = record.call;
    fixed.address = record.address;
    fixed.bytes = record.bytes;
    fixed.offset = offset;
    fixed.type = static_cast<std::uint8_t>(record.type);
    fixed.after = record.after ? 1 : 0;
    Record out(Kind::tensor, now(), &fixed, sizeof fixed);
    out.text(Tag::name, record.name);
    out.item(Tag::dims, 0, 0, record.dims, record.rank * sizeof(std::int64_t));
    out.item(Tag::data, 0, 0, static_cast<const char*>(record.data) + offset, piece);
    out.commit();
    offset += piece;
  } while (offset < record.bytes);
}

}  // namespace rb::trace
