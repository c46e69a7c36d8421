// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Refusals. Every export that is not built jumps here with its row's number and touches no argument; bridge functions
// that cannot do what was asked come here through their Fault. A refusal is one line on stderr (once per row and
// reason), one trace record, and the library's own not-supported status.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "bridge/library.hpp"

namespace rb::bridge {

/// One export of the database, by its number.
struct Row {
  const char* name;
  Api api;
  int not_supported;  ///< the library's status for it
  const char* reason;
  const char* result;  ///< C type that it returns
};
extern const Row kRows[];
extern const unsigned kRowCount;
extern const char* const kEntryNames[];

struct ReasonText {
  const char* id;
  const char* text;
  const char* remedy;
};
extern const ReasonText kReasonTexts[];
extern const unsigned kReasonTextCount;

/// Text and remedy of a reason id; null if unknown.
const ReasonText* find_reason(const char* id);

/// Reports a refused row: one log line per row and reason, a trace record always. A refused runtime function becomes
/// the thread's last error.
void report_refusal(unsigned row, const Fault& fault);
/// Whether this row and reason were not reported before; marks them.
bool first_report(unsigned row, const char* reason);

// ---- refused launches (DESIGN 5: a refusal is remembered until somebody has seen it) -------------------------------
/// Remembers that a kernel launch, or a function whose result nobody can check, was refused on this thread and device.
/// `code` is the CUDA runtime error that the following calls report (209 for a kernel, 801 for a function).
void remember_refusal(int code);
/// The same for a call of another thread (a check that failed later): refusal_thread() of that thread, and its device.
void remember_refusal(int code, int device, std::uint64_t thread);
/// Names the calling thread while it lives.
std::uint64_t refusal_thread();
/// The pending refusal that cudaGetLastError / cudaPeekAtLastError of this thread must report, or 0.
int pending_for_thread();
/// The pending refusal that a synchronising call or a device-to-host copy must report, or 0. Counts as one report; the
/// refusal is forgotten after two.
int pending_for_synchronise();
/// The program asked for the text or name of `code`: a pending refusal with this code was seen.
void refusal_was_seen(int code);
/// The device was reset.
void forget_refusals();

}  // namespace rb::bridge
