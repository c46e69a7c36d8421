// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/export.hpp"

namespace rb::trace {
namespace {

template <std::size_t N>
std::string_view pick(const char* const (&names)[N], std::size_t number) {
  return number < N ? names[number] : "?";
}

}  // namespace

std::string_view kind_name(const Event& event) {
  return kEventKinds[event.body.index()];
}

std::string_view verdict_name(std::uint8_t verdict) {
  static constexpr const char* kNames[] = {"pass", "drift", "corrupt", "untrusted", "unchecked", "trapped"};
  return pick(kNames, verdict);
}

std::string_view reference_name(std::uint8_t reference) {
  static constexpr const char* kNames[] = {"none", "full_fp64", "sampled_fp64", "projection", "copy", "pytorch"};
  return pick(kNames, reference);
}

std::string_view allocation_kind_name(std::uint8_t kind) {
  static constexpr const char* kNames[] = {"tensors", "workspace", "staging", "bridge"};
  return pick(kNames, kind);
}

std::string_view element_type_name(std::uint8_t type) {
  static constexpr const char* kNames[] = {"unknown", "fp32",  "fp16",  "bf16",      "fp64",     "int8",
                                           "int32",   "int64", "uint8", "complex32", "complex64"};
  return pick(kNames, type);
}

std::string_view argument_kind_name(std::uint8_t kind) {
  static constexpr const char* kNames[] = {"value",      "handle",       "descriptor", "device_in",
                                           "device_out", "device_inout", "host_in",    "host_out",
                                           "host_inout", "scalar",       "handle_out"};
  return pick(kNames, kind);
}

std::string_view level_name(std::uint32_t level) {
  static constexpr const char* kNames[] = {"off", "calls", "full"};
  return pick(kNames, level);
}

}  // namespace rb::trace
