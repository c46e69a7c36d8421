// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/trap.hpp"

#include <atomic>
#include <cstring>
#include <limits>

#include "base/log.hpp"
#include "bridge/last_error.hpp"
#include "bridge/library.hpp"
#include "bridge/refusal_trace.hpp"

namespace rb::bridge {
namespace {

/// One bit per row and reason, by a hash: two that share a bit cost one log line, never a status.
constexpr unsigned kReportBits = 1u << 16;
constinit std::atomic<std::uint64_t> g_reported[kReportBits / 64] = {};

void refuse(unsigned row) {
  if (row >= kRowCount) return;
  Fault fault;
  fault.code = Errc::not_supported;
  fault.reason = kRows[row].reason;
  report_refusal(row, fault);
}

}  // namespace

const ReasonText* find_reason(const char* id) {
  for (unsigned i = 0; i < kReasonTextCount; ++i)
    if (std::strcmp(kReasonTexts[i].id, id) == 0) return &kReasonTexts[i];
  return nullptr;
}

bool first_report(unsigned row, const char* reason) {
  std::uint32_t hash = (row + 1) * 2654435761u;
  for (; *reason != '\0'; ++reason) hash = (hash ^ static_cast<unsigned char>(*reason)) * 16777619u;
  const unsigned index = hash >> 16;
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  std::atomic<std::uint64_t>& word = g_reported[index / 64];
  return (word.load(std::memory_order_relaxed) & bit) == 0 &&
         (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void report_refusal(unsigned row, const Fault& fault) {
  const ReasonText* reason = find_reason(fault.reason);
  const char* text = !fault.text.empty() ? fault.text.c_str() : reason != nullptr ? reason->text : "refused";
  const char* remedy = !fault.remedy.empty() ? fault.remedy.c_str() : reason != nullptr ? reason->remedy : "";
  const int status = fault.native >= 0 ? fault.native : kRows[row].not_supported;
  trace_refusal(row, status, fault.reason, text, remedy, fault.where.c_str());
  if (kRows[row].api == Api::cudart) set_last_error(status);
  if (first_report(row, fault.reason))
    RB_LOG(warn, "refused", "%s: %s%s%s [%s]%s%s", kRows[row].name, fault.where.c_str(),
           fault.where.empty() ? "" : ": ", text, fault.reason, *remedy != '\0' ? "; " : "", remedy);
}

}  // namespace rb::bridge

// The handlers that the jump stubs of refused exports reach, one per kind of result. They read no argument but the row.
#define RB_TRAP __attribute__((visibility("default")))

extern "C" {

RB_TRAP int rb_trap_status(unsigned row) {
  rb::bridge::refuse(row);
  return row < rb::bridge::kRowCount ? rb::bridge::kRows[row].not_supported : 1;
}

RB_TRAP void rb_trap_void(unsigned row) {
  rb::bridge::refuse(row);
  rb::bridge::remember_refusal(801);
}

RB_TRAP void* rb_trap_zero(unsigned row) {
  rb::bridge::refuse(row);
  rb::bridge::remember_refusal(801);
  return nullptr;
}

/// Legacy cuBLAS functions that return an index: -1.
RB_TRAP int rb_trap_index(unsigned row) {
  rb::bridge::refuse(row);
  rb::bridge::remember_refusal(801);
  return -1;
}

/// Legacy cuBLAS functions that return float or two floats in one register: NaN in both halves.
RB_TRAP double rb_trap_nan_float(unsigned row) {
  rb::bridge::refuse(row);
  rb::bridge::remember_refusal(801);
  const std::uint64_t bits = 0x7fc000007fc00000u;
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct rb_two_doubles {
  double first, second;
};

/// Legacy cuBLAS functions that return double or two doubles in two registers: NaN in both.
RB_TRAP rb_two_doubles rb_trap_nan_double(unsigned row) {
  rb::bridge::refuse(row);
  rb::bridge::remember_refusal(801);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {nan, nan};
}
}
