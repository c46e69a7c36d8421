// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The one loop under every reference: c[m][n] = sum over k of a[m][k] * b[k][n] in fp64, with the sums of squared and
// of absolute products. Operands are addressed by offsets, so that convolutions need no im2col matrix.
#pragma once

#include <cstdint>
#include <vector>

namespace rb::integrity {

/// Element (lane, k) of an operand is data[batch_offset + lanes[lane] + steps[k]].
struct Operand {
  const double* data = nullptr;
  /// Same geometry as data: 0 marks places that hold no operand (padding). Null: every place counts.
  const std::uint8_t* valid = nullptr;
  std::vector<std::int64_t> lanes;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> batches;  ///< offset of each batch
};

/// Where the sums go: element (batch, m, n) at batches[batch] + m * row + n * column.
struct Sums {
  double* value = nullptr;
  double* peak = nullptr;  ///< largest magnitude of the running sum (looked at now and then, in the order of the steps)
  double* squares = nullptr;
  double* magnitudes = nullptr;
  std::vector<std::int64_t> batches;
  std::int64_t row = 0;
  std::int64_t column = 1;
};

/// Fills the sums, which the caller has set to zero. `a` gives the rows, `b` the columns; both have
/// the same number of steps and of batches. With `masked`, products with an invalid place are left out (needed when an
/// operand holds Inf or NaN: a padding zero times Inf must not count); slower.
void contract(const Operand& a, const Operand& b, const Sums& sums, bool masked, int threads);

}  // namespace rb::integrity
