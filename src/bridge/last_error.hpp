// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The runtime's last error: per thread, a later error wins, success never clears it (CUDA Runtime API, Error Handling).
// "Not ready" is no error.
#pragma once

#include "base/result.hpp"

namespace rb::bridge {

namespace detail {
extern thread_local constinit int t_last_error __attribute__((tls_model("initial-exec")));
}

inline void set_last_error(int code) {
  if (code != 0 && code != 600) detail::t_last_error = code;
}
inline int last_error() {
  return detail::t_last_error;
}
inline void clear_last_error() {
  detail::t_last_error = 0;
}

/// A status number that an entry answers without anything having failed in the entry itself (cudaGetLastError,
/// cudaStreamQuery): neither logged nor remembered.
inline Status answer(int code) {
  if (code == 0) return {};
  Fault fault;
  fault.code = Errc::ok;
  fault.native = code;
  return fault;
}

}  // namespace rb::bridge
