// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <algorithm>

#include "integrity/contraction.hpp"
#include "integrity/parallel.hpp"
#include "integrity/reference.hpp"

namespace rb::integrity {

namespace {

std::vector<std::int64_t> arithmetic(std::int64_t count, std::int64_t step) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i * step;
  return values;
}

/// Matrices of one operand as doubles. Complex ones as two planes, so that real and imaginary sums are real products
/// of twice the depth: re = [ar, -ai] . [br, bi], im = [ai, ar] . [br, bi].
struct Planes {
  std::vector<double> data;
  std::int64_t batch = 1, rows = 0, columns = 0;
  OperandFacts facts;
};

Planes load_matrices(const TensorView& view, bool conjugate) {
  Planes planes;
  planes.rows = view.dims[1];
  planes.columns = view.dims[2];
  // A batch that repeats one matrix (stride 0) is loaded once.
  TensorView once = view;
  if (view.strides[0] == 0) once.dims[0] = 1;
  planes.batch = once.dims[0];
  planes.data = load_all(once);
  FactsBuilder facts(static_cast<std::int64_t>(planes.data.size()));
  facts.add(planes.data.data(), static_cast<std::int64_t>(planes.data.size()));
  planes.facts = facts.finish();
  if (conjugate && components_of(view.type) == 2)
    for (std::size_t i = 1; i < planes.data.size(); i += 2) planes.data[i] = -planes.data[i];
  return planes;
}

std::vector<std::int64_t> batch_offsets(const Planes& planes, std::int64_t batches, std::int64_t parts) {
  return arithmetic(batches, planes.batch == 1 ? 0 : planes.rows * planes.columns * parts);
}

}  // namespace

TensorView matrix_view(ElementType type, Transpose op, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                       std::int64_t stride, std::int64_t batch, const void* data, std::size_t bytes) {
  const bool plain = op == Transpose::none;
  return strided_view(type, {batch, rows, columns}, {stride, plain ? 1 : ld, plain ? ld : 1}, data, bytes);
}

Result<Reference> gemm(const TensorView& a, bool conjugate_a, const TensorView& b, bool conjugate_b,
                       const Scaling& scaling, int threads) {
  const DefaultFloat settings;
  RB_TRY(check_view(a, "a"));
  RB_TRY(check_view(b, "b"));
  if (a.rank != 3 || b.rank != 3 || a.dims[0] != b.dims[0] || a.dims[2] != b.dims[1])
    return fail(Errc::invalid_value, "bad-shape", "matrices do not fit: (%lld, %lld, %lld) x (%lld, %lld, %lld)",
                static_cast<long long>(a.dims[0]), static_cast<long long>(a.dims[1]), static_cast<long long>(a.dims[2]),
                static_cast<long long>(b.dims[0]), static_cast<long long>(b.dims[1]),
                static_cast<long long>(b.dims[2]));
  const int parts = components_of(a.type);
  if (components_of(b.type) != parts)
    return fail(Errc::invalid_value, "bad-shape", "one operand is complex and the other is not");
  const std::int64_t batch = a.dims[0], m = a.dims[1], k = a.dims[2], n = b.dims[2];

  Reference reference = empty_reference({batch, m, n}, parts, m * n * parts);
  reference.full_terms = static_cast<double>(k * parts);
  reference.terms.assign(1, reference.full_terms);

  Planes left = load_matrices(a, conjugate_a);
  Planes right = load_matrices(b, conjugate_b);
  reference.a = left.facts;
  reference.b = right.facts;
  reference.granularity = left.facts.granularity + right.facts.granularity;
  if (scaling.alpha == 0 && scaling.alpha_imag == 0) {  // the operands are not read
    reference.a = reference.b = OperandFacts{};
    RB_TRY(apply_scaling(reference, scaling));
    return reference;
  }

  Sums sums{reference.value.data(),
            reference.peaks.data(),
            reference.squares.data(),
            reference.magnitudes.data(),
            arithmetic(batch, m * n * parts),
            n * parts,
            parts};
  Operand rows, columns;
  rows.batches = batch_offsets(left, batch, parts);
  columns.batches = batch_offsets(right, batch, parts);
  rows.lanes = arithmetic(m, k * parts);
  rows.steps = arithmetic(k * parts, 1);
  columns.lanes = arithmetic(n, parts);
  columns.data = right.data.data();
  if (parts == 1) {
    rows.data = left.data.data();
    columns.steps = arithmetic(k, n);
    contract(rows, columns, sums, false, threads);
  } else {
    columns.steps.reserve(static_cast<std::size_t>(2 * k));
    for (std::int64_t step = 0; step < k; ++step)
      for (std::int64_t part = 0; part < 2; ++part) columns.steps.push_back(step * n * 2 + part);
    std::vector<double> turned = left.data;  // [ar, -ai]
    for (std::size_t i = 1; i < turned.size(); i += 2) turned[i] = -turned[i];
    rows.data = turned.data();
    contract(rows, columns, sums, false, threads);
    for (std::size_t i = 0; i + 1 < turned.size(); i += 2) {  // [ai, ar]
      turned[i] = left.data[i + 1];
      turned[i + 1] = left.data[i];
    }
    ++sums.value, ++sums.peak, ++sums.squares, ++sums.magnitudes;
    contract(rows, columns, sums, false, threads);
  }
  RB_TRY(apply_scaling(reference, scaling));
  return reference;
}

}  // namespace rb::integrity
