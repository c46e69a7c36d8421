// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"

namespace rb::integrity {

namespace {

struct Format {
  std::uint8_t size;
  std::uint8_t digits;  // significant bits, the leading one included; 0 for integers
  std::int16_t least;   // exponent of the smallest normal number
  std::int16_t most;    // exponent of the largest number
  const char* name;
};

constexpr Format kFormats[] = {
    {8, 53, -1022, 1023, "fp64"}, {4, 24, -126, 127, "fp32"}, {2, 11, -14, 15, "fp16"},  {2, 8, -126, 127, "bf16"},
    {1, 0, 0, 7, "int8"},         {4, 0, 0, 31, "int32"},     {8, 24, -126, 127, "c64"}, {16, 53, -1022, 1023, "c128"},
};

const Format& format_of(ElementType type) {
  return kFormats[static_cast<int>(type)];
}

template <class T, class Convert>
void load_as(const void* first, std::int64_t stride, std::int64_t count, double* out, Convert convert) {
  const char* source = static_cast<const char*>(first);
  const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i, source += step) {
    T element;
    std::memcpy(&element, source, sizeof element);
    out[i] = convert(element);
  }
}

template <class T, class Convert>
void store_as(void* first, std::int64_t stride, std::int64_t count, const double* in, Convert convert) {
  char* target = static_cast<char*>(first);
  const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i, target += step) {
    const T element = convert(in[i]);
    std::memcpy(target, &element, sizeof element);
  }
}

template <class T>
T saturate(double value) {
  if (!(value > static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
  if (value > static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(value));
}

}  // namespace

std::size_t size_of(ElementType type) {
  return format_of(type).size;
}

int components_of(ElementType type) {
  return type == ElementType::complex64 || type == ElementType::complex128 ? 2 : 1;
}

ElementType component_of(ElementType type) {
  if (type == ElementType::complex64) return ElementType::fp32;
  if (type == ElementType::complex128) return ElementType::fp64;
  return type;
}

bool is_integer(ElementType type) {
  return format_of(type).digits == 0;
}

const char* name_of(ElementType type) {
  return format_of(type).name;
}

double unit_of(ElementType type) {
  return is_integer(type) ? 0.0 : std::ldexp(1.0, -format_of(type).digits);
}

double subnormal_of(ElementType type) {
  const Format& format = format_of(type);
  return format.digits == 0 ? 0.0 : std::ldexp(1.0, format.least - format.digits + 1);
}

double normal_of(ElementType type) {
  return is_integer(type) ? 0.0 : std::ldexp(1.0, format_of(type).least);
}

double overflow_of(ElementType type) {
  const Format& format = format_of(type);
  if (format.digits == 0) return std::ldexp(1.0, format.most);
  if (format.digits == 53) return std::numeric_limits<double>::infinity();
  return std::ldexp(2.0 - std::ldexp(1.0, -format.digits), format.most);
}

double ulp_at(ElementType type, double value) {
  const Format& format = format_of(type);
  if (format.digits == 0) return 1.0;
  if (!std::isfinite(value)) return std::ldexp(1.0, format.most - format.digits + 1);
  int exponent = format.least;
  if (value != 0.0) exponent = std::clamp<int>(std::ilogb(value), format.least, format.most);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

double round_to(ElementType type, double value) {
  if (std::isnan(value)) return value;
  if (type == ElementType::int8) return saturate<std::int8_t>(value);
  if (type == ElementType::int32) return saturate<std::int32_t>(value);
  if (format_of(type).digits == 53 || std::isinf(value)) return value;
  if (std::fabs(value) >= overflow_of(type)) return std::copysign(std::numeric_limits<double>::infinity(), value);
  // One rounding from double: going through float would round twice. Scaling by a power of two is exact here.
  const double ulp = ulp_at(type, value);
  return std::nearbyint(value / ulp) * ulp;
}

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= dims[static_cast<std::size_t>(i)];
  return count;
}

bool TensorView::packed() const {
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    if (dims[at] != 1 && strides[at] != expected) return false;
    expected *= dims[at];
  }
  return true;
}

TensorView packed_view(ElementType type, const std::vector<std::int64_t>& dims, const void* data, std::size_t bytes) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, dims[i], &stride)) stride = std::numeric_limits<std::int64_t>::max();
  }
  return strided_view(type, dims, strides, data, bytes);
}

TensorView strided_view(ElementType type, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& strides, const void* data, std::size_t bytes) {
  TensorView view;
  view.type = type;
  view.data = const_cast<void*>(data);
  view.bytes = bytes;
  if (dims.size() > kMaxRank || strides.size() != dims.size()) {
    view.rank = -1;
    return view;
  }
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  return view;
}

Status check_view(const TensorView& view, const char* name) {
  if (!view.data) return fail(Errc::invalid_value, "null-pointer", "%s has no memory", name);
  if (view.rank < 1 || view.rank > kMaxRank)
    return fail(Errc::invalid_value, "bad-rank", "%s has no rank in 1..%d", name, kMaxRank);
  std::int64_t low = view.offset, high = view.offset, count = 1;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t dim = view.dims[at];
    std::int64_t reach = 0;
    if (dim < 1)
      return fail(Errc::invalid_value, "bad-dimension", "%s: dimension %d is %lld", name, i,
                  static_cast<long long>(dim));
    if (__builtin_mul_overflow(count, dim, &count) || __builtin_mul_overflow(dim - 1, view.strides[at], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      return fail(Errc::invalid_value, "size-overflow", "%s: sizes overflow at dimension %d", name, i);
  }
  std::int64_t end = 0;
  const auto size = static_cast<std::int64_t>(size_of(view.type));
  if (low < 0 || __builtin_add_overflow(high, 1, &end) || __builtin_mul_overflow(end, size, &end) ||
      static_cast<std::uint64_t>(end) > view.bytes)
    return fail(Errc::invalid_value, "out-of-range", "%s reaches elements %lld..%lld of %llu bytes", name,
                static_cast<long long>(low), static_cast<long long>(high), static_cast<unsigned long long>(view.bytes));
  return {};
}

void load(ElementType type, const void* first, std::int64_t stride, std::int64_t count, double* out) {
  switch (type) {
    case ElementType::fp64:
      return load_as<double>(first, stride, count, out, [](double v) { return v; });
    case ElementType::fp32:
      return load_as<float>(first, stride, count, out, [](float v) { return double{v}; });
    case ElementType::fp16:
      return load_as<std::uint16_t>(first, stride, count, out,
                                    [](std::uint16_t v) { return double{half_to_float(v)}; });
    case ElementType::bf16:
      return load_as<std::uint16_t>(first, stride, count, out,
                                    [](std::uint16_t v) { return double{bfloat16_to_float(v)}; });
    case ElementType::int8:
      return load_as<std::int8_t>(first, stride, count, out, [](std::int8_t v) { return double(v); });
    case ElementType::int32:
      return load_as<std::int32_t>(first, stride, count, out, [](std::int32_t v) { return double(v); });
    case ElementType::complex64:
    case ElementType::complex128: {
      const ElementType part = component_of(type);
      const char* source = static_cast<const char*>(first);
      for (std::int64_t i = 0; i < count; ++i, source += stride * static_cast<std::int64_t>(size_of(type)))
        load(part, source, 1, 2, out + 2 * i);
      return;
    }
  }
}

void store(ElementType type, void* first, std::int64_t stride, std::int64_t count, const double* in) {
  switch (type) {
    case ElementType::fp64:
      return store_as<double>(first, stride, count, in, [](double v) { return v; });
    case ElementType::fp32:
      return store_as<float>(first, stride, count, in, [](double v) { return static_cast<float>(v); });
    case ElementType::fp16:
      return store_as<std::uint16_t>(first, stride, count, in, [](double v) {
        return float_to_half(static_cast<float>(round_to(ElementType::fp16, v)));
      });
    case ElementType::bf16:
      return store_as<std::uint16_t>(first, stride, count, in, [](double v) {
        return float_to_bfloat16(static_cast<float>(round_to(ElementType::bf16, v)));
      });
    case ElementType::int8:
      return store_as<std::int8_t>(first, stride, count, in, saturate<std::int8_t>);
    case ElementType::int32:
      return store_as<std::int32_t>(first, stride, count, in, saturate<std::int32_t>);
    case ElementType::complex64:
    case ElementType::complex128: {
      const ElementType part = component_of(type);
      char* target = static_cast<char*>(first);
      for (std::int64_t i = 0; i < count; ++i, target += stride * static_cast<std::int64_t>(size_of(type)))
        store(part, target, 1, 2, in + 2 * i);
      return;
    }
  }
}

std::vector<double> load_all(const TensorView& view) {
  const int parts = components_of(view.type);
  std::vector<double> values(static_cast<std::size_t>(view.elements() * parts));
  for (RowWalk walk(view); !walk.done(); walk.next())
    load(view.type, walk.row(), walk.stride(), walk.length(), values.data() + walk.flat() * parts);
  return values;
}

void store_all(const TensorView& view, const std::vector<double>& values) {
  const int parts = components_of(view.type);
  for (RowWalk walk(view); !walk.done(); walk.next())
    store(view.type, walk.row(), walk.stride(), walk.length(), values.data() + walk.flat() * parts);
}

RowWalk::RowWalk(const TensorView& view)
    : view_(view),
      row_(static_cast<char*>(view.data) + view.offset * static_cast<std::int64_t>(size_of(view.type))),
      length_(view.dims[static_cast<std::size_t>(view.rank - 1)]),
      stride_(view.strides[static_cast<std::size_t>(view.rank - 1)]),
      done_(view.elements() == 0) {}

void RowWalk::next() {
  flat_ += length_;
  const auto size = static_cast<std::int64_t>(size_of(view_.type));
  for (int i = view_.rank - 2; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    row_ += view_.strides[at] * size;
    if (++index_[at] < view_.dims[at]) return;
    row_ -= view_.strides[at] * size * view_.dims[at];
    index_[at] = 0;
  }
  done_ = true;
}

}  // namespace rb::integrity
