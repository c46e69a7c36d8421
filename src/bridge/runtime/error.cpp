// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/error_text.hpp"
#include "bridge/last_error.hpp"
#include "bridge/runtime_entries.hpp"
#include "bridge/trap.hpp"

namespace rb::runtime {

using namespace bridge;

const char* get_error_name(cudaError_t error) {
  refusal_was_seen(static_cast<int>(error));
  const ErrorText* row = find_error_text(static_cast<int>(error));
  return row != nullptr && row->runtime_name != nullptr ? row->runtime_name : "unrecognized error code";
}

const char* get_error_string(cudaError_t error) {
  refusal_was_seen(static_cast<int>(error));
  const ErrorText* row = find_error_text(static_cast<int>(error));
  return row != nullptr && row->runtime_name != nullptr ? row->text : "unrecognized error code";
}

/// A refused launch that nobody has seen yet is not cleared by asking (DESIGN 5, rule A).
Status get_last_error() {
  const int pending = pending_for_thread();
  const int code = pending != 0 ? pending : last_error();
  clear_last_error();
  return answer(code);
}

Status peek_at_last_error() {
  const int pending = pending_for_thread();
  return answer(pending != 0 ? pending : last_error());
}

}  // namespace rb::runtime
