// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Tensors in host memory as the checks see them: a type, up to eight dimensions with strides, and a byte range that no
// access may leave. A view owns nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/result.hpp"

namespace rb::integrity {

enum class ElementType : std::uint8_t { fp64, fp32, fp16, bf16, int8, int32, complex64, complex128 };

/// Bytes of one element.
std::size_t size_of(ElementType type);
/// 2 for complex types, else 1.
int components_of(ElementType type);
/// The real type of a complex type's parts; the type itself otherwise.
ElementType component_of(ElementType type);
bool is_integer(ElementType type);
/// Short name as in tolerance classes: "fp16", "c64", ...
const char* name_of(ElementType type);

/// Rounding unit (half the distance from 1 to the next number); 0 for integers.
double unit_of(ElementType type);
/// Smallest positive subnormal; 0 for integers.
double subnormal_of(ElementType type);
/// Smallest positive normal number; 0 for integers.
double normal_of(ElementType type);
/// The least magnitude that rounds to infinity (integers: one more than the largest value).
double overflow_of(ElementType type);
/// Distance between neighbouring numbers of the type at `value` (1 for integers).
double ulp_at(ElementType type, double value);
/// `value` rounded to the type (to nearest, ties to even; integers saturate), as a double. Real types only.
double round_to(ElementType type, double value);

inline constexpr int kMaxRank = 8;

/// Element (i0, i1, ...) lies at data + (offset + sum of i*stride) * size_of(type). Strides count elements.
struct TensorView {
  ElementType type = ElementType::fp32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> dims{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t offset = 0;
  void* data = nullptr;
  std::size_t bytes = 0;

  std::int64_t elements() const;
  /// True when elements follow each other without a gap in index order.
  bool packed() const;
};

/// A packed row-major view.
TensorView packed_view(ElementType type, const std::vector<std::int64_t>& dims, const void* data, std::size_t bytes);
/// A view with strides. More than kMaxRank dimensions give a view that `check_view` refuses.
TensorView strided_view(ElementType type, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int64_t>& strides, const void* data, std::size_t bytes);

/// Refuses null data, a rank outside 1..8, dimensions below 1, products that overflow, and elements outside the bytes.
Status check_view(const TensorView& view, const char* name);

/// Reads `count` elements from `first`, `stride` elements apart; complex types give two doubles an element.
void load(ElementType type, const void* first, std::int64_t stride, std::int64_t count, double* out);
/// Rounds `count` doubles into the type (complex: two doubles an element), `stride` elements apart.
void store(ElementType type, void* first, std::int64_t stride, std::int64_t count, const double* in);

/// Whole view in index order as packed doubles (complex: two an element). The view must have passed check_view.
std::vector<double> load_all(const TensorView& view);
/// The reverse of load_all.
void store_all(const TensorView& view, const std::vector<double>& values);

/// Walks a view in index order one innermost row at a time.
class RowWalk {
 public:
  explicit RowWalk(const TensorView& view);
  bool done() const { return done_; }
  void next();
  /// Address of the row's first element.
  char* row() const { return row_; }
  std::int64_t length() const { return length_; }
  std::int64_t stride() const { return stride_; }
  /// Index, in index order, of the row's first element.
  std::int64_t flat() const { return flat_; }

 private:
  const TensorView& view_;
  std::array<std::int64_t, kMaxRank> index_{};
  char* row_;
  std::int64_t length_;
  std::int64_t stride_;
  std::int64_t flat_ = 0;
  bool done_;
};

}  // namespace rb::integrity
