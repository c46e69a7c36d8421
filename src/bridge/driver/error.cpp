// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/driver_entries.hpp"
#include "bridge/error_text.hpp"
#include "bridge/trap.hpp"

namespace rb::driver {

using namespace bridge;

namespace {

/// Unknown codes give a null text and invalid value (CUDA Driver API, Error Handling).
Status text_of(CUresult error, const char** out, bool name) {
  if (out == nullptr) return fail(Errc::invalid_value, "null-output", "pStr is null");
  refusal_was_seen(static_cast<int>(error));
  const ErrorText* row = find_error_text(static_cast<int>(error));
  *out = row == nullptr || row->driver_name == nullptr ? nullptr : name ? row->driver_name : row->text;
  if (*out == nullptr)
    return fail(Errc::invalid_value, "bad-code", "%d is no error of the driver", static_cast<int>(error));
  return {};
}

}  // namespace

Status get_error_name(CUresult error, const char** pStr) {
  return text_of(error, pStr, true);
}
Status get_error_string(CUresult error, const char** pStr) {
  return text_of(error, pStr, false);
}

}  // namespace rb::driver
