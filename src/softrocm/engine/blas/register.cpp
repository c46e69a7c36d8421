// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocBLAS's operations as the executor calls them: addresses and scalars resolved, then the kernel for each matrix.
#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "softrocm/engine/blas/gemm.hpp"
#include "softrocm/engine/math/fault.hpp"
#include "softrocm/engine/math/parallel.hpp"

namespace soft::engine {
namespace {

/// Bytes of one stored rows x columns matrix.
std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t columns, const wire::Matrix& matrix) {
  return static_cast<std::uint64_t>((columns - 1) * matrix.leading + rows) * wire::size_of(matrix.element);
}

/// Host address of every matrix of one operand; empty if one of them is not in the device's memory.
std::vector<void*> resolve(Context& context, const wire::Matrix& matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t batch) {
  std::vector<void*> result;
  result.reserve(static_cast<std::size_t>(batch));
  const std::uint64_t bytes = matrix_bytes(rows, columns, matrix);
  const std::uint64_t* array = nullptr;
  if (matrix.is_array) {
    array = static_cast<const std::uint64_t*>(context.memory(matrix.address, static_cast<std::uint64_t>(batch) * 8));
    if (!array) return {};
  }
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto step = static_cast<std::uint64_t>(i * matrix.stride) * wire::size_of(matrix.element);
    void* host = context.memory(array ? array[i] : matrix.address + step, bytes);
    if (!host) return {};
    result.push_back(host);
  }
  return result;
}

const void* scalar(Context& context, const wire::Scalar& value, wire::Element compute) {
  return value.address ? context.memory(value.address, wire::size_of(compute)) : value.bytes.data();
}

bool is_zero(const void* value, wire::Element element) {
  // -0 counts as zero, so the value is looked at and not its bytes.
  const auto zero = [&](auto type, int parts) {
    decltype(type) v[2] = {};
    std::memcpy(v, value, sizeof(type) * static_cast<std::size_t>(parts));
    return v[0] == 0 && v[1] == 0;
  };
  switch (element) {
    case wire::Element::single:
      return zero(float{}, 1);
    case wire::Element::real64:
      return zero(double{}, 1);
    case wire::Element::complex32:
      return zero(float{}, 2);
    case wire::Element::complex64:
      return zero(double{}, 2);
    case wire::Element::int32:
      return zero(std::int32_t{}, 1);
    default: {
      std::uint16_t bits;
      std::memcpy(&bits, value, sizeof bits);
      return (bits & 0x7fff) == 0;
    }
  }
}

/// The whole batch; small products run side by side, large ones one after the other on all threads.
Outcome run_batch(const wire::Gemm& g, const std::vector<GemmMemory>& batch, const void* alpha, const void* beta,
                  unsigned threads) {
  const double work = static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  const bool side_by_side = batch.size() > 1 && work < 1e7;
  std::vector<Outcome> outcomes(batch.size(), Outcome::ok);
  parallel_for(static_cast<std::int64_t>(batch.size()), side_by_side ? threads : 1, [&](std::int64_t i) {
    try {
      outcomes[static_cast<std::size_t>(i)] =
          run_gemm(g, batch[static_cast<std::size_t>(i)], alpha, beta, side_by_side ? 1 : threads);
    } catch (const std::bad_alloc&) {
      outcomes[static_cast<std::size_t>(i)] = Outcome::out_of_memory;
    }
  });
  const auto bad = std::ranges::find_if(outcomes, [](Outcome o) { return o != Outcome::ok; });
  return bad == outcomes.end() ? Outcome::ok : *bad;
}

Outcome gemm(Context& context, const void* data, std::size_t size) try {
  wire::Gemm g;
  if (size != sizeof g) return Outcome::internal;
  std::memcpy(&g, data, size);
  const void* alpha = scalar(context, g.alpha, g.compute);
  const void* beta = scalar(context, g.beta, g.compute);
  if (!alpha || !beta) return Outcome::invalid_address;
  // What is not read need not exist.
  const bool reads_inputs = g.k > 0 && !is_zero(alpha, g.compute), reads_c = !is_zero(beta, g.compute);
  const auto shape = [](wire::Transpose t, std::int64_t rows, std::int64_t columns) {
    return t == wire::Transpose::none ? std::pair{rows, columns} : std::pair{columns, rows};
  };
  const auto [a_rows, a_columns] = shape(g.trans_a, g.m, g.k);
  const auto [b_rows, b_columns] = shape(g.trans_b, g.k, g.n);
  std::vector<void*> a, b, c;
  const auto d = resolve(context, g.d, g.m, g.n, g.batch);
  if (reads_inputs) {
    a = resolve(context, g.a, a_rows, a_columns, g.batch);
    b = resolve(context, g.b, b_rows, b_columns, g.batch);
    if (a.empty() || b.empty()) return Outcome::invalid_address;
  }
  if (reads_c) c = resolve(context, g.c, g.m, g.n, g.batch);
  if (d.empty() || (reads_c && c.empty())) return Outcome::invalid_address;

  std::vector<GemmMemory> batch(d.size());
  for (std::size_t i = 0; i < d.size(); ++i)
    batch[i] = {reads_inputs ? a[i] : nullptr, reads_inputs ? b[i] : nullptr, reads_c ? c[i] : d[i], d[i]};
  const auto element_bytes = wire::size_of(g.d.element);
  const Row row{static_cast<char*>(d.back()) + static_cast<std::size_t>(g.m - 1) * element_bytes, g.n, g.d.leading};
  Outcome outcome = Outcome::ok;
  with_fault(
      context.fault(), "gemm", g.d.element, row, [&] { outcome = run_batch(g, batch, alpha, beta, context.threads()); },
      [&] {
        for (void* matrix : d)
          for (std::int64_t j = 0; j < g.n; ++j)
            std::memset(static_cast<char*>(matrix) + static_cast<std::size_t>(j * g.d.leading) * element_bytes, 0,
                        static_cast<std::size_t>(g.m) * element_bytes);
      });
  return outcome;
} catch (const std::bad_alloc&) {
  return Outcome::out_of_memory;
} catch (...) {
  return Outcome::internal;
}

}  // namespace

void register_blas() {
  openblas_set_num_threads(1);
  register_operation(wire::kGemm, gemm);
}

}  // namespace soft::engine
