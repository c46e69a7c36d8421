// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "base/result.hpp"

#include <cstdarg>
#include <cstdio>

namespace rb {
namespace {

std::string format_text(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  std::string out(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  if (size > 0) std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

}  // namespace

std::string text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string out = format_text(format, arguments);
  va_end(arguments);
  return out;
}

Fault fail(Errc code, const char* reason, const char* format, ...) {
  Fault fault;
  fault.code = code;
  fault.reason = reason;
  va_list arguments;
  va_start(arguments, format);
  fault.text = format_text(format, arguments);
  va_end(arguments);
  return fault;
}

}  // namespace rb
