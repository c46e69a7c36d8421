// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Names and texts of CUDA's error codes. The runtime and the driver share the numbers (CUDA 12.1, cudaError_t and
// CUresult).
#pragma once

namespace rb::bridge {

struct ErrorText {
  int code;
  const char* runtime_name;
  const char* driver_name;  ///< null where the driver has no such code
  const char* text;
};

/// Null for an unknown code.
const ErrorText* find_error_text(int code);

}  // namespace rb::bridge
