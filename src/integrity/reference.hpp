// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Independent fp64 references of convolutions and matrix products, in plain C++ that shares nothing with any library.
// Beside the value, each output element carries what its rounding bound needs: the sum of squared products, the sum of
// absolute products and the number of products.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "integrity/tensor.hpp"

namespace rb::integrity {

/// What the data of one operand tell about the rounding errors that it can cause.
struct OperandFacts {
  std::int64_t elements = 0;
  std::int64_t zeros = 0;
  std::int64_t nans = 0;
  std::int64_t infinities = 0;
  /// Every finite element is a multiple of 2^granularity (meaningless when all are zero).
  int granularity = 0;
  /// All elements equal.
  bool constant = false;
  /// The non-zero elements show a handful of magnitudes only (masks, constants, one-hot rows), up to powers of two:
  /// rounding errors repeat instead of averaging out.
  bool discrete = false;
  bool finite() const { return nans == 0 && infinities == 0; }
};

/// Reference of one output tensor. Elements are in index order of the output; a complex element is two (real part,
/// imaginary part).
struct Reference {
  std::vector<std::int64_t> dims;
  int components = 1;
  std::vector<double> value;       ///< alpha * sum + beta * prior
  std::vector<double> peaks;       ///< largest running sum on the way, |alpha| applied; at least |alpha * sum|
  std::vector<double> squares;     ///< sum of squared products, alpha^2 applied
  std::vector<double> magnitudes;  ///< sum of absolute products, |alpha| applied
  std::vector<double> scaled_sum;  ///< alpha * sum where alpha is not 1 or beta is not 0; else empty
  std::vector<double> added;       ///< |beta * prior| where beta is not 0; else empty
  std::vector<double> terms;       ///< products of element i: terms[i % terms.size()]
  double full_terms = 0;           ///< products of an element that touches no padding
  std::int64_t plane = 1;          ///< elements of one (image, channel) plane or one matrix row block: Winograd's scope
  OperandFacts a, b;               ///< first and second operand
  int granularity = 0;             ///< products are multiples of 2^granularity
  bool scaled = false;             ///< alpha is not 1 or beta is not 0
  double alpha_magnitude = 1;      ///< |alpha|
};

/// y = alpha * op(...) + beta * prior. alpha = 0: the operands are not read; beta = 0: prior is not read (so a NaN in
/// either does not reach the output). `prior` is a copy of the output from before the call, in its layout.
struct Scaling {
  double alpha = 1, alpha_imag = 0;
  double beta = 0, beta_imag = 0;
  const TensorView* prior = nullptr;
};

/// Convolution of any spatial rank from 1 to 3. Tensors are (image, channel, spatial...), filters (filter, channel of
/// the group, spatial...), with any strides.
struct Convolution {
  int spatial = 2;
  std::int64_t groups = 1;
  std::int64_t padding[3] = {0, 0, 0};
  std::int64_t stride[3] = {1, 1, 1};
  std::int64_t dilation[3] = {1, 1, 1};
  bool flip = false;  ///< true: convolution proper (filter mirrored); false: cross-correlation
};

/// Output size of one spatial axis; 0 or less when the filter does not fit.
std::int64_t convolved_size(const Convolution& problem, int axis, std::int64_t input, std::int64_t filter);

/// Output dimensions of the forward direction. Refuses shapes that do not belong together.
Result<std::vector<std::int64_t>> convolution_output(const Convolution& problem, const std::vector<std::int64_t>& x,
                                                     const std::vector<std::int64_t>& w);

/// References of the three directions. `y_dims` (`dx_dims`, `dw_dims`) is the shape of the output; operands must fit
/// it. Faults: bad-shape, and those of check_view. May throw std::bad_alloc. `threads` counts the calling one.
Result<Reference> convolution_forward(const Convolution& problem, const TensorView& x, const TensorView& w,
                                      const std::vector<std::int64_t>& y_dims, const Scaling& scaling, int threads);
Result<Reference> convolution_backward_data(const Convolution& problem, const TensorView& w, const TensorView& dy,
                                            const std::vector<std::int64_t>& dx_dims, const Scaling& scaling,
                                            int threads);
Result<Reference> convolution_backward_filter(const Convolution& problem, const TensorView& x, const TensorView& dy,
                                              const std::vector<std::int64_t>& dw_dims, const Scaling& scaling,
                                              int threads);

/// Products of one convolution (all directions have the same): the cost of its reference.
double convolution_products(const std::vector<std::int64_t>& w_dims, const std::vector<std::int64_t>& y_dims);

enum class Transpose : std::uint8_t { none, transpose, conjugate };

/// One operand of a matrix product as BLAS describes it: column-major, `ld` between columns, `stride` between the
/// matrices of a batch (0 repeats one). `rows` and `columns` are those of op(matrix). The view has the dimensions
/// (batch, rows, columns).
TensorView matrix_view(ElementType type, Transpose op, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                       std::int64_t stride, std::int64_t batch, const void* data, std::size_t bytes);

/// c(i) = alpha * a(i) * b(i) + beta * c(i). Views are (batch, m, k), (batch, k, n); the reference is (batch, m, n).
/// Conjugation is asked for here because a view cannot say it. The operands are real or complex alike.
Result<Reference> gemm(const TensorView& a, bool conjugate_a, const TensorView& b, bool conjugate_b,
                       const Scaling& scaling, int threads);

/// A reference of these dimensions with every sum 0.
Reference empty_reference(const std::vector<std::int64_t>& dims, int components, std::int64_t plane);

/// Collects the facts of one operand.
class FactsBuilder {
 public:
  /// `total` values will follow.
  explicit FactsBuilder(std::int64_t total);
  void add(const double* values, std::int64_t count);
  OperandFacts finish() const;

 private:
  static constexpr int kCandidates = 8;
  void sample(std::uint64_t mantissa);
  OperandFacts facts_;
  std::int64_t step_;
  std::int64_t next_sample_ = 0;
  std::int64_t sampled_ = 0;
  double first_ = 0;
  int granularity_;
  std::uint64_t candidates_[kCandidates] = {};  // most frequent mantissas (Misra and Gries' counters)
  std::int64_t counts_[kCandidates] = {};
};

/// Applies alpha, beta and the prior output to a reference that holds the plain sums (alpha 1, beta 0). Fault: a prior
/// that is missing or has other dimensions or type parts.
Status apply_scaling(Reference& reference, const Scaling& scaling);

}  // namespace rb::integrity
