// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/run.hpp"

#include <utility>

#include "bridge/amd.hpp"
#include "bridge/dnn/check.hpp"
#include "bridge/dnn/strided_copy.hpp"
#include "bridge/memory_map.hpp"

namespace rb::dnn {

namespace checks = bridge::checks;
namespace {

/// Elements of one scaling product: byte offsets stay below 2^31 (rocm-libraries pull request 12145).
constexpr std::int64_t kMaxRows = std::int64_t{1} << 28;
constexpr std::size_t kWorkspaceAlignment = 16;

std::uint64_t word(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}
void* at(void* base, std::size_t offset) {
  return static_cast<char*>(base) + offset;
}

rocblas_datatype blas_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return rocblas_datatype_f16_r;
    case CUDNN_DATA_BFLOAT16:
      return rocblas_datatype_bf16_r;
    default:
      return rocblas_datatype_f32_r;
  }
}

/// Writes the number 1 in the type, on the stream.
Status write_one(cudnnDataType_t type, void* target, hipStream_t stream) {
  if (type == CUDNN_DATA_FLOAT) return RB_HIP(hipMemsetD32Async, target, 0x3f800000, std::size_t{1}, stream);
  const unsigned short one = type == CUDNN_DATA_HALF ? 0x3c00 : 0x3f80;
  return RB_HIP(hipMemsetD16Async, target, one, std::size_t{1}, stream);
}

/// y = alpha x + beta y over `count` packed elements: a matrix of one column times a 1 x 1 matrix that holds 1, which
/// rocBLAS computes in fp32 and rounds once for every type.
Status scale(DnnHandle& handle, cudnnDataType_t type, std::int64_t count, float alpha, void* x, void* one, float beta,
             void* y) {
  RB_ASSIGN(const rocblas_handle blas, blas_of(handle));
  RB_TRY(write_one(type, one, handle.stream));
  const rocblas_datatype element = blas_type(type);
  const std::size_t bytes = element_bytes(type);
  for (std::int64_t done = 0; done < count; done += kMaxRows) {
    const rocblas_int rows = static_cast<rocblas_int>(count - done < kMaxRows ? count - done : kMaxRows);
    const std::size_t offset = static_cast<std::size_t>(done) * bytes;
    RB_TRY(RB_ROCBLAS(rocblas_gemm_ex, blas, rocblas_operation_none, rocblas_operation_none, rows, 1, 1, &alpha,
                      at(x, offset), element, rows, one, element, 1, &beta, at(y, offset), element, rows, at(y, offset),
                      element, rows, rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0, 0u));
  }
  return {};
}

bool ranges_overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  return a_bytes != 0 && b_bytes != 0 && word(a) < word(b) + b_bytes && word(b) < word(a) + a_bytes;
}

[[gnu::noinline]] Fault overlap_fault(const char* a, const void* a_address, const char* b, const void* b_address) {
  return bad_param("operand-overlap", "%s (%p) and %s (%p) share memory; the call would read what it has overwritten",
                   a, a_address, b, b_address);
}

/// Names of x, w and y, and which of them is written, by direction.
constexpr const char* kNames[3][3] = {{"x", "w", "y"}, {"dx", "w", "dy"}, {"x", "dw", "dy"}};
constexpr int kOutput[3] = {2, 0, 1};

/// The tensors of one call.
struct Roles {
  const char* const* name;
  void* address[3];
  const Tensor4* shape[3];
  std::size_t bytes[3];
  int output;
};

Roles roles_of(const Plan& plan, const Operands& operands) {
  const Problem& problem = plan.problem();
  const auto direction = static_cast<std::size_t>(problem.direction);
  return {kNames[direction],
          {operands.x, operands.w, operands.y},
          {&problem.x, &problem.w, &problem.y},
          {plan.x_bytes(), plan.w_bytes(), plan.y_bytes()},
          kOutput[direction]};
}

[[gnu::noinline]] Fault misaligned_fault(const Plan& plan, const Operands& operands) {
  const Roles roles = roles_of(plan, operands);
  int which = 0;
  while (which < 2 && word(roles.address[which]) % plan.element() == 0) ++which;
  return bad_param("buffer-misaligned", "%s is %p, which is not a multiple of its element's %zu bytes",
                   roles.name[which], roles.address[which], plan.element());
}

/// For outputs whose range meets an input's: fine when the strides keep them apart.
[[gnu::noinline]] Status check_interleaved(const Plan& plan, const Operands& operands) {
  const Roles roles = roles_of(plan, operands);
  const int out = roles.output;
  for (int i = 0; i < 3; ++i) {
    if (i == out ||
        provably_disjoint(roles.address[i], *roles.shape[i], roles.address[out], *roles.shape[out], plan.element()))
      continue;
    return overlap_fault(roles.name[out], roles.address[out], roles.name[i], roles.address[i]);
  }
  return {};
}

}  // namespace

bool provably_disjoint(const void* a, const Tensor4& a_shape, const void* b, const Tensor4& b_shape,
                       std::size_t element) {
  const std::int64_t bytes = static_cast<std::int64_t>(element);
  const std::int64_t a_extent = a_shape.extent() * bytes;
  const std::int64_t b_extent = b_shape.extent() * bytes;
  if (!ranges_overlap(a, static_cast<std::size_t>(a_extent), b, static_cast<std::size_t>(b_extent))) return true;
  // Every element lies at base + (a multiple of `period`) + (less than `rest`): two such sets are apart when their
  // intervals modulo the period are.
  const auto rest = [&](const Tensor4& shape, std::int64_t period) {
    std::int64_t extent = bytes;
    for (std::size_t i = 0; i < 4; ++i)
      if (shape.dims[i] > 1 && shape.strides[i] * bytes % period != 0)
        extent += (shape.dims[i] - 1) * shape.strides[i] * bytes;
    return extent;
  };
  for (const std::int64_t stride : a_shape.strides) {
    const std::int64_t period = stride * bytes;
    if (period <= bytes) continue;
    const std::int64_t a_rest = rest(a_shape, period);
    const std::int64_t b_rest = rest(b_shape, period);
    std::int64_t distance = static_cast<std::int64_t>(word(b) - word(a)) % period;
    if (distance < 0) distance += period;
    if (a_rest <= distance && distance + b_rest <= period) return true;
  }
  return false;
}

Status check_operands(const Plan& plan, const Operands& operands) {
  const Direction direction = plan.problem().direction;
  const char* const* names = kNames[static_cast<std::size_t>(direction)];
  RB_TRY(bridge::check_device_buffer(operands.x, plan.x_bytes(), names[0]));
  RB_TRY(bridge::check_device_buffer(operands.w, plan.w_bytes(), names[1]));
  RB_TRY(bridge::check_device_buffer(operands.y, plan.y_bytes(), names[2]));
  // Elements are of 2 or 4 bytes.
  if (((word(operands.x) | word(operands.w) | word(operands.y)) & (plan.element() - 1)) != 0) [[unlikely]]
    return misaligned_fault(plan, operands);
  const bool x_w = ranges_overlap(operands.x, plan.x_bytes(), operands.w, plan.w_bytes());
  const bool x_y = ranges_overlap(operands.x, plan.x_bytes(), operands.y, plan.y_bytes());
  const bool w_y = ranges_overlap(operands.w, plan.w_bytes(), operands.y, plan.y_bytes());
  const bool meets = direction == Direction::forward         ? x_y || w_y
                     : direction == Direction::backward_data ? x_w || x_y
                                                             : x_w || w_y;
  if (meets) [[unlikely]]
    return check_interleaved(plan, operands);
  return {};
}

Status check_contracts(const Plan& plan, int solution, const Operands& operands, const Workspace& workspace) {
  RB_TRY(check_operands(plan, operands));
  const std::size_t needed = plan.workspace_bytes(solution, false);
  if (workspace.bytes < needed) [[unlikely]] {
    Fault fault = bad_param("workspace-short", "the workspace has %zu bytes; this algorithm needs %zu for %s",
                            workspace.bytes, needed, plan.problem().describe().c_str());
    fault.code = Errc::insufficient_workspace;
    return fault;
  }
  if (needed == 0) return {};
  RB_TRY(bridge::check_device_buffer(workspace.address, needed, "workSpace"));
  if (word(workspace.address) % kWorkspaceAlignment != 0) [[unlikely]]
    return bad_param("buffer-misaligned", "workSpace is %p, which is not a multiple of %zu bytes", workspace.address,
                     kWorkspaceAlignment);
  const Roles roles = roles_of(plan, operands);
  for (int i = 0; i < 3; ++i)
    if (ranges_overlap(workspace.address, needed, roles.address[i], roles.bytes[i])) [[unlikely]]
      return overlap_fault("workSpace", workspace.address, roles.name[i], roles.address[i]);
  return {};
}

namespace {

/// Whether the workspace has `bytes` that nothing else of the call uses.
bool workspace_is_free(const Plan& plan, const Operands& operands, const Workspace& workspace, std::size_t bytes) {
  if (workspace.bytes < bytes || !bridge::check_device_buffer(workspace.address, bytes, "workSpace").ok()) return false;
  if (word(workspace.address) % kWorkspaceAlignment != 0) return false;
  const Roles roles = roles_of(plan, operands);
  for (int i = 0; i < 3; ++i)
    if (ranges_overlap(workspace.address, bytes, roles.address[i], roles.bytes[i])) return false;
  return true;
}

/// The way with copies, a flipped filter, or alpha and beta.
Status run_composed(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands,
                    const Workspace& workspace, float alpha, float beta) {
  const Problem& problem = plan.problem();
  const std::size_t element = problem.element();
  const bool scaled = alpha != 1.0f || beta != 0.0f;
  const bool flip = problem.flip != 0;
  WorkspaceParts parts = plan.parts(solution, scaled);
  void* result = nullptr;
  void* one = nullptr;
  // However the call ends, what it enqueued on the handle's scratch comes before the next user.
  struct ScratchUse {
    DnnHandle* handle = nullptr;
    ~ScratchUse() {
      Status recorded = done();
      (void)recorded;  // the call has failed already and says why
    }
    Status done() {
      DnnHandle* const used = std::exchange(handle, nullptr);
      return used == nullptr ? Status() : scratch_used(*used);
    }
  } own_scratch;
  if (scaled) {
    // The scaled size was never reported to the program; a workspace that happens to be as large is used.
    if (workspace_is_free(plan, operands, workspace, parts.total)) {
      result = at(workspace.address, parts.result);
      one = at(workspace.address, parts.one);
    } else {
      RB_ASSIGN(result, take_scratch(handle, plan.scaling_bytes()));
      one = at(result, parts.one - parts.result);
      own_scratch.handle = &handle;
    }
  }

  Operands amd = operands;
  const bool x_is_input = problem.direction != Direction::backward_data;
  const bool w_is_input = problem.direction != Direction::backward_filter;
  const bool y_is_input = problem.direction != Direction::forward;
  if (plan.copies_x()) {
    amd.x = at(workspace.address, parts.x);
    if (x_is_input) RB_TRY(copy_strided(problem.x, operands.x, plan.amd_x(), amd.x, element, false, handle.stream));
  }
  if (plan.copies_w()) {
    amd.w = at(workspace.address, parts.w);
    if (w_is_input) RB_TRY(copy_strided(problem.w, operands.w, plan.amd_w(), amd.w, element, flip, handle.stream));
  }
  if (plan.copies_y()) {
    amd.y = at(workspace.address, parts.y);
    if (y_is_input) RB_TRY(copy_strided(problem.y, operands.y, plan.amd_y(), amd.y, element, false, handle.stream));
  }
  void** const target = !y_is_input ? &amd.y : !x_is_input ? &amd.x : &amd.w;
  void* const output = !y_is_input ? operands.y : !x_is_input ? operands.x : operands.w;
  if (scaled && !plan.copies_output()) *target = result;

  RB_TRY(plan.launch(handle, solution, amd.x, amd.w, amd.y, workspace.address));

  const Tensor4& user = problem.output();
  const Tensor4& packed = plan.amd_output();
  const bool turn = flip && !w_is_input;
  if (plan.copies_output() && !scaled) {
    RB_TRY(copy_strided(packed, *target, user, output, element, turn, handle.stream));
  } else if (scaled && !plan.copies_output()) {
    RB_TRY(scale(handle, problem.type, user.elements(), alpha, result, one, beta, output));
  } else if (scaled) {
    if (beta != 0.0f) RB_TRY(copy_strided(user, output, packed, result, element, turn, handle.stream));
    RB_TRY(scale(handle, problem.type, packed.elements(), alpha, *target, one, beta, result));
    RB_TRY(copy_strided(packed, result, user, output, element, turn, handle.stream));
  }
  return own_scratch.done();
}

}  // namespace

Status run(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands, const Workspace& workspace,
           float alpha, float beta) {
  if (!stream_is_usable(handle.stream)) [[unlikely]]
    return bad_param("stream-not-live", "the stream that the handle was set to was destroyed");
  DeviceScope device;
  RB_TRY(device.enter(handle.device));
  std::lock_guard lock(handle.lock.mutex);
  if (alpha == 1.0f && beta == 0.0f && !plan.copies_anything()) [[likely]]
    return plan.launch(handle, solution, operands.x, operands.w, operands.y, workspace.address);
  return run_composed(handle, plan, solution, operands, workspace, alpha, beta);
}

// The one place where computing AMD calls of the convolutions meet the checks of src/integrity.
Status execute(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands, const Workspace& workspace,
               float alpha, float beta) {
  RB_TRY(check_contracts(plan, solution, operands, workspace));
  if (checks::wanted(plan.use_key(solution, alpha != 1.0f || beta != 0.0f))) [[unlikely]]
    return run_checked(handle, plan, solution, operands, workspace, alpha, beta);
  return run(handle, plan, solution, operands, workspace, alpha, beta);
}

}  // namespace rb::dnn
