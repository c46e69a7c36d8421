// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The bridge's records in the trace that do not belong to a call's begin or end (call_trace.cpp).
#pragma once

namespace rb::bridge {

/// A refusal: row, the library's status, reason id, text, remedy, path of the bad value.
void trace_refusal(unsigned row, int status, const char* reason, const char* text, const char* remedy,
                   const char* where);

}  // namespace rb::bridge
