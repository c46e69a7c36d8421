// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/blas/check.hpp"

#include <cinttypes>
#include <cstring>
#include <limits>
#include <vector>

#include "bridge/amd.hpp"

namespace rb::blas {

using bridge::amd;

namespace {

constexpr std::int64_t kMostMatrices = 64;

using integrity::ElementType;
using integrity::TensorView;

ElementType element_type(rocblas_datatype type) {
  switch (type) {
    case rocblas_datatype_f16_r:
      return ElementType::fp16;
    case rocblas_datatype_bf16_r:
      return ElementType::bf16;
    case rocblas_datatype_f64_r:
      return ElementType::fp64;
    case rocblas_datatype_f32_c:
      return ElementType::complex64;
    case rocblas_datatype_f64_c:
      return ElementType::complex128;
    case rocblas_datatype_i8_r:
      return ElementType::int8;
    case rocblas_datatype_i32_r:
      return ElementType::int32;
    default:
      return ElementType::fp32;
  }
}

integrity::Transpose transpose(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N ? integrity::Transpose::none : integrity::Transpose::transpose;
}

/// `rows` and `columns` of op(matrix); the stored ones are the other way round when it is transposed.
TensorView view(const Operand& operand, cublasOperation_t operation, std::int64_t rows, std::int64_t columns,
                std::int64_t count) {
  const bool plain = operation == CUBLAS_OP_N;
  const Extent range = extent(operand, plain ? rows : columns, plain ? columns : rows, count);
  const auto bytes = static_cast<std::size_t>(range.end) * element_bytes(operand.type);
  return integrity::matrix_view(element_type(amd_type(operand.type)), transpose(operation), rows, columns, operand.ld,
                                operand.stride, count, operand.data, bytes);
}

void read_scalar(const void* scalar, ElementType type, double* real, double* imaginary) {
  double parts[2] = {0, 0};
  integrity::load(type, scalar, 1, 1, parts);
  *real = parts[0];
  *imaginary = integrity::components_of(type) == 2 ? parts[1] : 0;
}

}  // namespace

std::uint64_t use_key(const Product& p) {
  const std::int64_t fields[] = {p.trans_a,
                                 p.trans_b,
                                 p.m,
                                 p.n,
                                 p.k,
                                 p.a.type,
                                 p.a.ld,
                                 p.a.stride,
                                 p.b.type,
                                 p.b.ld,
                                 p.b.stride,
                                 p.c.type,
                                 p.c.ld,
                                 p.c.stride,
                                 p.count,
                                 p.compute,
                                 static_cast<std::int64_t>(p.batch)};
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a over words
  for (const std::int64_t field : fields) hash = (hash ^ static_cast<std::uint64_t>(field)) * 0x100000001b3ull;
  return hash != 0 ? hash : 1;
}

bridge::checks::Gemm describe_check(const Product& p, bool reads_inputs) {
  bridge::checks::Gemm check;
  if (p.a.stride < 0 || p.b.stride < 0 || p.c.stride < 0) {
    check.no_reference = "a batch stride is negative";
    return check;
  }
  check.reads_inputs = reads_inputs;
  if (reads_inputs) {
    check.a = view(p.a, p.trans_a, p.m, p.k, p.count);
    check.b = view(p.b, p.trans_b, p.k, p.n, p.count);
    check.conjugate_a = p.trans_a == CUBLAS_OP_C;
    check.conjugate_b = p.trans_b == CUBLAS_OP_C;
  }
  check.c = view(p.c, CUBLAS_OP_N, p.m, p.n, p.count);
  check.scalar_type = element_type(p.compute);
  if (p.scalars_on_device) {
    check.device_alpha = p.alpha;
    check.device_beta = p.beta;
  } else {
    read_scalar(p.alpha, check.scalar_type, &check.alpha, &check.alpha_imag);
    read_scalar(p.beta, check.scalar_type, &check.beta, &check.beta_imag);
  }
  check.accuracy.output = check.c.type;
  check.accuracy.accumulate = integrity::component_of(check.scalar_type);
  check.accuracy.method = integrity::Method::gemm;
  check.reproducer = text("rocblas-bench -f gemm_ex --transposeA %c --transposeB %c -m %" PRId64 " -n %" PRId64
                          " -k %" PRId64 " --lda %" PRId64 " --ldb %" PRId64 " --ldc %" PRId64,
                          "NTC"[p.trans_a], "NTC"[p.trans_b], p.m, p.n, p.k, p.a.ld, p.b.ld, p.c.ld);
  return check;
}

bridge::checks::Scope& ProductCheck::add() {
  return *scopes_.emplace_back(std::make_unique<bridge::checks::Scope>());
}

Status ProductCheck::begin_array(hipStream_t stream, const Product& p, bool reads_inputs) {
  bridge::checks::Gemm unchecked;
  if (p.count > kMostMatrices) {
    unchecked.no_reference = "a batch of more than 64 pointers";
    return add().begin(stream, std::move(unchecked));
  }
  // Waiting here could wait for a host function that waits for this call.
  if (RB_AMD_RAW(hipStreamQuery, stream) != hipSuccess) {
    unchecked.no_reference = "the pointers of the batch may not be written yet";
    return add().begin(stream, std::move(unchecked));
  }
  const auto count = static_cast<std::size_t>(p.count);
  std::vector<const void*> pointers[3];
  const Operand* const operands[3] = {&p.a, &p.b, &p.c};
  for (std::size_t i = reads_inputs ? 0 : 2; i < 3; ++i) {
    pointers[i].resize(count);
    RB_TRY(RB_HIP(hipMemcpyAsync, static_cast<void*>(pointers[i].data()), operands[i]->data, count * sizeof(void*),
                  hipMemcpyDeviceToHost, stream));
  }
  RB_TRY(RB_HIP(hipStreamSynchronize, stream));
  for (std::size_t item = 0; item < count; ++item) {
    Product one = p;
    one.batch = Batch::single;
    one.count = 1;
    if (reads_inputs) {
      one.a.data = pointers[0][item];
      one.b.data = pointers[1][item];
    }
    one.c.data = pointers[2][item];
    RB_TRY(check_memory(one, reads_inputs));
    RB_TRY(add().begin(stream, describe_check(one, reads_inputs)));
  }
  return {};
}

Status ProductCheck::begin(hipStream_t stream, const Product& p, bool reads_inputs) {
  if (p.batch == Batch::array) return begin_array(stream, p, reads_inputs);
  return add().begin(stream, describe_check(p, reads_inputs));
}

Status ProductCheck::finish() {
  Status first;
  for (const std::unique_ptr<bridge::checks::Scope>& scope : scopes_)
    if (Status status = scope->finish(); !status.ok() && first.ok()) first = std::move(status);
  return first;
}

}  // namespace rb::blas
