// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/blas/product.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "base/log.hpp"
#include "bridge/blas/check.hpp"
#include "bridge/blas/memory.hpp"
#include "bridge/blas/state.hpp"

namespace rb::blas {

using bridge::amd;

namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
/// AMD's kernels get their grid from rows and columns; beyond this the launch loses its tail on gfx12.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 19;

rocblas_operation amd_operation(cublasOperation_t operation) {
  switch (operation) {
    case CUBLAS_OP_T:
      return rocblas_operation_transpose;
    case CUBLAS_OP_C:
      return rocblas_operation_conjugate_transpose;
    default:
      return rocblas_operation_none;
  }
}

bool valid(cublasOperation_t operation) {
  return operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_C;
}

std::int64_t rows_of_a(const Product& p) {
  return p.trans_a == CUBLAS_OP_N ? p.m : p.k;
}
std::int64_t columns_of_a(const Product& p) {
  return p.trans_a == CUBLAS_OP_N ? p.k : p.m;
}
std::int64_t rows_of_b(const Product& p) {
  return p.trans_b == CUBLAS_OP_N ? p.k : p.n;
}
std::int64_t columns_of_b(const Product& p) {
  return p.trans_b == CUBLAS_OP_N ? p.n : p.k;
}

Fault bad(const char* name, std::int64_t value, const char* rule) {
  return fail(Errc::invalid_value, "bad-dimension", "%s is %" PRId64 "; it must be %s", name, value, rule);
}

Fault null_operand(const char* name) {
  return fail(Errc::invalid_value, "null-pointer", "%s is null", name);
}

/// Whether a scalar in host memory is zero.
bool is_zero(const void* scalar, rocblas_datatype compute) {
  switch (compute) {
    case rocblas_datatype_f16_r: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, scalar, sizeof bits);
      return (bits & 0x7fffu) == 0;
    }
    case rocblas_datatype_f32_r: {
      float value = 0;
      std::memcpy(&value, scalar, sizeof value);
      return value == 0;
    }
    case rocblas_datatype_f64_r: {
      double value = 0;
      std::memcpy(&value, scalar, sizeof value);
      return value == 0;
    }
    case rocblas_datatype_f32_c: {
      float value[2];
      std::memcpy(value, scalar, sizeof value);
      return value[0] == 0 && value[1] == 0;
    }
    case rocblas_datatype_f64_c: {
      double value[2];
      std::memcpy(value, scalar, sizeof value);
      return value[0] == 0 && value[1] == 0;
    }
    default: {
      std::int32_t value = 0;
      std::memcpy(&value, scalar, sizeof value);
      return value == 0;
    }
  }
}

/// Parts of `length` so that `leading` * (parts - 1) + `inner` stays a 31-bit element offset.
std::int64_t limited(std::int64_t length, std::int64_t leading, std::int64_t inner) {
  return std::min(length, (kMaxInt - std::min(inner, kMaxInt)) / std::max<std::int64_t>(leading, 1) + 1);
}

const void* at(const Operand& operand, std::int64_t row, std::int64_t column) {
  if (row == 0 && column == 0) return operand.data;
  const std::int64_t bytes = (row + column * operand.ld) * static_cast<std::int64_t>(element_bytes(operand.type));
  return static_cast<const char*>(operand.data) + bytes;
}

/// One, as a beta of the compute type.
struct One {
  alignas(16) unsigned char bytes[16] = {};
  explicit One(rocblas_datatype compute) {
    const double wide = 1;
    const float narrow = 1;
    const std::uint16_t half = 0x3c00;
    const std::int32_t whole = 1;
    if (compute == rocblas_datatype_f64_r || compute == rocblas_datatype_f64_c) std::memcpy(bytes, &wide, sizeof wide);
    if (compute == rocblas_datatype_f32_r || compute == rocblas_datatype_f32_c)
      std::memcpy(bytes, &narrow, sizeof narrow);
    if (compute == rocblas_datatype_f16_r) std::memcpy(bytes, &half, sizeof half);
    if (compute == rocblas_datatype_i32_r) std::memcpy(bytes, &whole, sizeof whole);
  }
};

Status call_rocblas(Session& session, const Product& p, const void* beta) {
  const auto m = static_cast<rocblas_int>(p.m);
  const auto n = static_cast<rocblas_int>(p.n);
  const auto k = static_cast<rocblas_int>(p.k);
  const auto lda = static_cast<rocblas_int>(p.a.ld);
  const auto ldb = static_cast<rocblas_int>(p.b.ld);
  const auto ldc = static_cast<rocblas_int>(p.c.ld);
  const auto count = static_cast<rocblas_int>(p.count);
  const rocblas_operation ta = amd_operation(p.trans_a);
  const rocblas_operation tb = amd_operation(p.trans_b);
  const rocblas_datatype at_ = amd_type(p.a.type);
  const rocblas_datatype bt = amd_type(p.b.type);
  const rocblas_datatype ct = amd_type(p.c.type);
  void* const c = const_cast<void*>(p.c.data);
  const auto call = [&]() -> rocblas_status {
    switch (p.batch) {
      case Batch::single:
        return RB_AMD_RAW(rocblas_gemm_ex, session.amd(), ta, tb, m, n, k, p.alpha, p.a.data, at_, lda, p.b.data, bt,
                          ldb, beta, c, ct, ldc, c, ct, ldc, p.compute, rocblas_gemm_algo_standard, 0, 0u);
      case Batch::strided:
        return RB_AMD_RAW(rocblas_gemm_strided_batched_ex, session.amd(), ta, tb, m, n, k, p.alpha, p.a.data, at_, lda,
                          p.a.stride, p.b.data, bt, ldb, p.b.stride, beta, c, ct, ldc, p.c.stride, c, ct, ldc,
                          p.c.stride, count, p.compute, rocblas_gemm_algo_standard, 0, 0u);
      case Batch::array:
        break;
    }
    return RB_AMD_RAW(rocblas_gemm_batched_ex, session.amd(), ta, tb, m, n, k, p.alpha, p.a.data, at_, lda, p.b.data,
                      bt, ldb, beta, c, ct, ldc, c, ct, ldc, count, p.compute, rocblas_gemm_algo_standard, 0, 0u);
  };
  rocblas_status status = call();
  if (status == rocblas_status_memory_error && session.handle().workspace != nullptr) {
    RB_LOG_ONCE(info, "cublas",
                "rocBLAS needs more than the %zu bytes of cublasSetWorkspace; it uses memory of its own",
                session.handle().workspace_bytes);
    RB_TRY(session.drop_workspace());
    status = call();
  }
  return bridge::rocblas_status_of(status, "rocblas_gemm_ex");
}

/// Runs the product part by part.
Status run_parts(Session& session, const Product& whole) {
  const Parts parts = parts_of(whole);
  if (parts.m >= whole.m && parts.n >= whole.n && parts.k >= whole.k) return call_rocblas(session, whole, whole.beta);
  if (whole.batch == Batch::array)
    return fail(Errc::not_supported, "gemm-too-long", "m %" PRId64 ", n %" PRId64 ", k %" PRId64, whole.m, whole.n,
                whole.k);
  const bool sums_in_output = amd_type(whole.c.type) == whole.compute;
  if (parts.k < whole.k && (whole.scalars_on_device || !sums_in_output))
    return fail(Errc::not_supported, "gemm-split", "lda %" PRId64 ", ldb %" PRId64 ", k %" PRId64, whole.a.ld,
                whole.b.ld, whole.k);
  const One one(whole.compute);
  Product part = whole;
  for (std::int64_t i = 0; i < whole.m; i += parts.m) {
    part.m = std::min(parts.m, whole.m - i);
    for (std::int64_t j = 0; j < whole.n; j += parts.n) {
      part.n = std::min(parts.n, whole.n - j);
      part.c.data = at(whole.c, i, j);
      std::int64_t l = 0;
      do {
        part.k = std::min(parts.k, whole.k - l);
        part.a.data = whole.trans_a == CUBLAS_OP_N ? at(whole.a, i, l) : at(whole.a, l, i);
        part.b.data = whole.trans_b == CUBLAS_OP_N ? at(whole.b, l, j) : at(whole.b, j, l);
        RB_TRY(call_rocblas(session, part, l == 0 ? whole.beta : one.bytes));
        l += parts.k;
      } while (l < whole.k);
    }
  }
  return {};
}

Status check_and_run(cublasHandle_t handle, Product p) {
  RB_TRY(check_arguments(p));
  if (p.m == 0 || p.n == 0 || p.count == 0) return {};
  RB_TRY(bridge::device_ready());
  RB_TRY(check_scalar(p.alpha, scalar_bytes(p.compute), p.scalars_on_device, "alpha"));
  RB_TRY(check_scalar(p.beta, scalar_bytes(p.compute), p.scalars_on_device, "beta"));
  const bool reads_inputs = p.k > 0 && (p.scalars_on_device || !is_zero(p.alpha, p.compute));
  if (reads_inputs) {
    if (p.a.data == nullptr) return null_operand("A");
    if (p.b.data == nullptr) return null_operand("B");
  }
  if (p.compute == rocblas_datatype_i32_r && ((p.trans_a == CUBLAS_OP_N && p.trans_b == CUBLAS_OP_N) || p.k % 4 != 0))
    return fail(Errc::not_supported, "gemm-types", "int8 with k %" PRId64 " and transposes %d, %d", p.k,
                static_cast<int>(p.trans_a), static_cast<int>(p.trans_b));
  RB_TRY(check_memory(p, reads_inputs));

  // Half scalars in host memory are widened, so that rocBLAS sums in fp32; which width it would choose for a product
  // computed in half differs by device.
  float alpha = 0;
  float beta = 0;
  if (p.compute == rocblas_datatype_f16_r && !p.scalars_on_device) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, p.alpha, sizeof bits);
    alpha = half_to_float(bits);
    std::memcpy(&bits, p.beta, sizeof bits);
    beta = half_to_float(bits);
    p.alpha = &alpha;
    p.beta = &beta;
    p.compute = rocblas_datatype_f32_r;
  }
  Session session;
  RB_TRY(session.open(handle, p.scalars_on_device));
  ProductCheck check;
  if (bridge::checks::wanted(use_key(p))) RB_TRY(check.begin(session.stream(), p, reads_inputs));
  RB_TRY(run_parts(session, p));
  return check.finish();
}

}  // namespace

Status check_memory(const Product& p, bool reads_inputs) {
  if (p.batch == Batch::array) {
    const __int128 bytes = static_cast<__int128>(p.count) * static_cast<__int128>(sizeof(void*));
    if (reads_inputs) {
      RB_TRY(check_device_memory(p.a.data, 0, bytes, "Aarray"));
      RB_TRY(check_device_memory(p.b.data, 0, bytes, "Barray"));
    }
    return check_device_memory(p.c.data, 0, bytes, "Carray");
  }
  const auto check = [&](const Operand& operand, std::int64_t rows, std::int64_t columns, const char* name) {
    const Extent range = extent(operand, rows, columns, p.count);
    const auto bytes = static_cast<__int128>(element_bytes(operand.type));
    return check_device_memory(operand.data, range.begin * bytes, range.end * bytes, name);
  };
  if (reads_inputs) {
    RB_TRY(check(p.a, rows_of_a(p), columns_of_a(p), "A"));
    RB_TRY(check(p.b, rows_of_b(p), columns_of_b(p), "B"));
    if (p.c.data == p.a.data || p.c.data == p.b.data)
      return fail(Errc::invalid_value, "operand-overlap", "C and %s are both at %p", p.c.data == p.a.data ? "A" : "B",
                  p.c.data);
  }
  return p.own_output ? Status() : check(p.c, p.m, p.n, "C");
}

Extent extent(const Operand& operand, std::int64_t rows, std::int64_t columns, std::int64_t count) {
  if (rows <= 0 || columns <= 0 || count <= 0) return {0, 0};
  const __int128 one = static_cast<__int128>(columns - 1) * operand.ld + rows;
  const __int128 last = static_cast<__int128>(count - 1) * operand.stride;
  return {std::min<__int128>(last, 0), std::max<__int128>(last, 0) + one};
}

Parts parts_of(const Product& p) {
  Parts parts{std::min(p.m, kMaxSide), std::min(p.n, kMaxSide), std::min(p.k, kMaxInt)};
  parts.n = limited(parts.n, p.c.ld, parts.m);
  if (p.trans_a == CUBLAS_OP_N)
    parts.k = limited(parts.k, p.a.ld, parts.m);
  else
    parts.m = limited(parts.m, p.a.ld, parts.k);
  if (p.trans_b == CUBLAS_OP_N)
    parts.n = limited(parts.n, p.b.ld, parts.k);
  else
    parts.k = limited(parts.k, p.b.ld, parts.n);
  return parts;
}

Status check_arguments(const Product& p) {
  if (!valid(p.trans_a)) return fail(Errc::invalid_value, "unknown-enum", "transa is %d", static_cast<int>(p.trans_a));
  if (!valid(p.trans_b)) return fail(Errc::invalid_value, "unknown-enum", "transb is %d", static_cast<int>(p.trans_b));
  if (p.m < 0) return bad("m", p.m, "0 or more");
  if (p.n < 0) return bad("n", p.n, "0 or more");
  if (p.k < 0) return bad("k", p.k, "0 or more");
  if (p.count < 0) return bad("batchCount", p.count, "0 or more");
  if (p.a.ld < std::max<std::int64_t>(1, rows_of_a(p))) return bad("lda", p.a.ld, "at least the rows of A, and 1");
  if (p.b.ld < std::max<std::int64_t>(1, rows_of_b(p))) return bad("ldb", p.b.ld, "at least the rows of B, and 1");
  if (p.c.ld < std::max<std::int64_t>(1, p.m)) return bad("ldc", p.c.ld, "at least m, and 1");
  if (p.m == 0 || p.n == 0 || p.count == 0) return {};
  if (p.alpha == nullptr) return null_operand("alpha");
  if (p.beta == nullptr) return null_operand("beta");
  if (p.c.data == nullptr) return null_operand("C");
  if (p.a.ld > kMaxInt || p.b.ld > kMaxInt || p.c.ld > kMaxInt || p.count > kMaxInt)
    return fail(Errc::not_supported, "gemm-too-long",
                "lda %" PRId64 ", ldb %" PRId64 ", ldc %" PRId64 ", batchCount %" PRId64 ": 2^31 or more", p.a.ld,
                p.b.ld, p.c.ld, p.count);
  if (p.batch == Batch::strided && p.count > 1 && p.c.stride == 0)
    return fail(Errc::invalid_value, "batch-overlap", "strideC is 0 with batchCount %" PRId64, p.count);
  return {};
}

Status check_handle(cublasHandle_t handle) {
  if (handles().find(handle) != nullptr) [[likely]]
    return {};
  return bridge::bad_handle("handle", handle, bridge::Kind::cublas_handle);
}

Status run_product(cublasHandle_t handle, Product p) {
  RB_ASSIGN(const BlasHandle* object, handles().get(handle, "handle"));
  p.scalars_on_device = object->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  return check_and_run(handle, p);
}

Status run_product_with_host_scalars(cublasHandle_t handle, Product p) {
  RB_TRY(check_handle(handle));
  p.scalars_on_device = false;
  return check_and_run(handle, p);
}

}  // namespace rb::blas
