// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/math/fault.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "softrocm/engine/math/convert.hpp"

namespace soft::engine {
namespace {

constexpr std::string_view kKinds[] = {"zero-output", "stale-output", "last-row", "scale-row"};
constexpr std::string_view kOperations[] = {"conv-forward", "conv-backward-data", "conv-backward-weights", "gemm"};

struct Parsed {
  std::string_view kind, operation;
};

Parsed parse(const char* fault) {
  const std::string_view text = fault ? fault : "";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

template <class T>
void scale(const Row& row) {
  for (std::int64_t i = 0; i < row.count; ++i) {
    T& value = static_cast<T*>(row.data)[i * row.stride];
    value = static_cast<T>(static_cast<double>(value) * 1.0625);
  }
}

void scale_row(wire::Element element, const Row& row) {
  switch (element) {
    case wire::Element::int8:
      return scale<std::int8_t>(row);
    case wire::Element::int32:
      return scale<std::int32_t>(row);
    case wire::Element::real64:
      return scale<double>(row);
    case wire::Element::half:
    case wire::Element::bfloat16:
    case wire::Element::single:
      for (std::int64_t i = 0; i < row.count; ++i)
        store_float(element, row.data, i * row.stride, load_float(element, row.data, i * row.stride) * 1.0625f);
      return;
    case wire::Element::complex32:
      scale<float>({row.data, row.count, 2 * row.stride});
      return scale<float>({static_cast<float*>(row.data) + 1, row.count, 2 * row.stride});
    case wire::Element::complex64:
      scale<double>({row.data, row.count, 2 * row.stride});
      return scale<double>({static_cast<double*>(row.data) + 1, row.count, 2 * row.stride});
  }
}

/// Copies the row's elements to or from `saved`, which is packed.
void copy_row(wire::Element element, const Row& row, std::vector<char>& saved, bool restore) {
  const std::size_t size = wire::size_of(element);
  saved.resize(static_cast<std::size_t>(row.count) * size);
  for (std::int64_t i = 0; i < row.count; ++i) {
    char* in_row = static_cast<char*>(row.data) + i * row.stride * static_cast<std::int64_t>(size);
    char* in_saved = saved.data() + static_cast<std::size_t>(i) * size;
    std::memcpy(restore ? in_row : in_saved, restore ? in_saved : in_row, size);
  }
}

}  // namespace

bool is_known_fault(const char* fault) {
  const auto [kind, operation] = parse(fault);
  if (!fault || !*fault) return true;
  const bool has_colon = std::strchr(fault, ':') != nullptr;
  return std::ranges::find(kKinds, kind) != std::end(kKinds) &&
         (!has_colon || std::ranges::find(kOperations, operation) != std::end(kOperations));
}

const char* known_faults() {
  return "zero-output, stale-output, last-row, scale-row, each alone or with :conv-forward, :conv-backward-data, "
         ":conv-backward-weights or :gemm";
}

void with_fault(const char* fault, const char* operation, wire::Element element, const Row& row,
                const std::function<void()>& compute, const std::function<void()>& zero) {
  const auto [kind, wanted] = parse(fault);
  const bool applies = !kind.empty() && (wanted.empty() || wanted == operation);
  if (!applies) return compute();
  if (kind == "stale-output") return;
  std::vector<char> saved;
  if (kind == "last-row") copy_row(element, row, saved, false);
  compute();
  if (kind == "zero-output") zero();
  if (kind == "last-row") copy_row(element, row, saved, true);
  if (kind == "scale-row") scale_row(element, row);
}

}  // namespace soft::engine
