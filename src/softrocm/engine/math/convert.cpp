// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/math/convert.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace soft::engine {
namespace {

void half_to_float_plain(const std::uint16_t* src, float* dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = rb::half_to_float(src[i]);
}

void float_to_half_plain(const float* src, std::uint16_t* dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dst[i] = rb::float_to_half(src[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) void half_to_float_f16c(const std::uint16_t* src, float* dst, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i))));
  half_to_float_plain(src + i, dst + i, count - i);
}

__attribute__((target("avx2,f16c"))) void float_to_half_f16c(const float* src, std::uint16_t* dst, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  float_to_half_plain(src + i, dst + i, count - i);
}

bool has_f16c() {
  static const bool value = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return value;
}
#else
bool has_f16c() {
  return false;
}
const auto half_to_float_f16c = half_to_float_plain;
const auto float_to_half_f16c = float_to_half_plain;
#endif

}  // namespace

void to_float(wire::Element element, const void* src, float* dst, std::size_t count) {
  if (element == wire::Element::single) {
    std::memcpy(dst, src, count * sizeof(float));
    return;
  }
  const auto* bits = static_cast<const std::uint16_t*>(src);
  if (element == wire::Element::half) {
    (has_f16c() ? half_to_float_f16c : half_to_float_plain)(bits, dst, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) dst[i] = rb::bfloat16_to_float(bits[i]);
  }
}

void from_float(wire::Element element, const float* src, void* dst, std::size_t count) {
  if (element == wire::Element::single) {
    std::memcpy(dst, src, count * sizeof(float));
    return;
  }
  auto* bits = static_cast<std::uint16_t*>(dst);
  if (element == wire::Element::half) {
    (has_f16c() ? float_to_half_f16c : float_to_half_plain)(src, bits, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) bits[i] = rb::float_to_bfloat16(src[i]);
  }
}

}  // namespace soft::engine
