// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/dnn/find.hpp"

#include <algorithm>

#include "bridge/amd.hpp"
#include "bridge/call_trace.hpp"
#include "bridge/memory_map.hpp"

namespace rb::dnn {
namespace {

/// Order among equally fast algorithms: 1 is what programs take when they may not choose.
int preference(int algorithm) {
  return algorithm == 1 ? -1 : algorithm;
}

void sort_results(std::vector<AlgorithmResult>& results) {
  std::stable_sort(results.begin(), results.end(), [](const AlgorithmResult& a, const AlgorithmResult& b) {
    const bool a_usable = a.status == CUDNN_STATUS_SUCCESS;
    const bool b_usable = b.status == CUDNN_STATUS_SUCCESS;
    if (a_usable != b_usable) return a_usable;
    if (!a_usable) return a.algorithm < b.algorithm;
    if (a.time != b.time) return a.time < b.time;
    return preference(a.algorithm) < preference(b.algorithm);
  });
}

/// Two events of one measurement.
struct Events {
  hipEvent_t begin = nullptr;
  hipEvent_t end = nullptr;
  Status create() {
    RB_TRY(RB_HIP(hipEventCreate, &begin));
    return RB_HIP(hipEventCreate, &end);
  }
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    if (begin != nullptr) RB_AMD_RAW(hipEventDestroy, begin);
    if (end != nullptr) RB_AMD_RAW(hipEventDestroy, end);
  }
};

Result<float> measure(DnnHandle& handle, const Plan& plan, int solution, const Operands& operands,
                      const Workspace& workspace, const Events& events) {
  {
    std::lock_guard lock(handle.lock.mutex);
    RB_TRY(plan.compile(handle, solution));
  }
  RB_TRY(run(handle, plan, solution, operands, workspace, 1.0f, 0.0f));  // the first use pays for caches
  RB_TRY(RB_HIP(hipEventRecord, events.begin, handle.stream));
  RB_TRY(run(handle, plan, solution, operands, workspace, 1.0f, 0.0f));
  RB_TRY(RB_HIP(hipEventRecord, events.end, handle.stream));
  RB_TRY(RB_HIP(hipEventSynchronize, events.end));
  float milliseconds = 0;
  RB_TRY(RB_HIP(hipEventElapsedTime, &milliseconds, events.begin, events.end));
  return milliseconds;
}

/// Device memory for one search.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (address_ == nullptr) return;
    bridge::Allocation gone;
    bridge::forget_allocation(reinterpret_cast<std::uint64_t>(address_), &gone);
    RB_AMD_RAW(hipFree, address_);
    bridge::trace_allocation(trace::AllocationKind::bridge, true, device_, reinterpret_cast<std::uint64_t>(address_),
                             bytes_);
  }
  /// Zeroed on the stream.
  Status take(std::size_t bytes, int device, hipStream_t stream) {
    if (bytes == 0) return {};
    RB_TRY(RB_HIP(hipMalloc, &address_, bytes));
    bytes_ = bytes;
    device_ = device;
    bridge::remember_allocation({reinterpret_cast<std::uint64_t>(address_), bytes, bridge::MemoryKind::device, false,
                                 device, 0, reinterpret_cast<std::uint64_t>(address_)});
    bridge::trace_allocation(trace::AllocationKind::bridge, false, device, reinterpret_cast<std::uint64_t>(address_),
                             bytes);
    return RB_HIP(hipMemsetAsync, address_, 0, bytes, stream);
  }
  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
  int device_ = 0;
};

}  // namespace

std::vector<AlgorithmResult> rank_algorithms(const Plan& plan) {
  std::vector<AlgorithmResult> results;
  for (int algorithm = 0; algorithm < algorithm_count(plan.problem().direction); ++algorithm) {
    AlgorithmResult result;
    result.algorithm = algorithm;
    if (const int solution = plan.solution_of(algorithm); solution >= 0) {
      result.status = CUDNN_STATUS_SUCCESS;
      result.time = plan.solutions()[static_cast<std::size_t>(solution)].time;
      result.memory = plan.workspace_bytes(solution, false);
    }
    results.push_back(result);
  }
  sort_results(results);
  return results;
}

Result<std::vector<AlgorithmResult>> measure_algorithms(DnnHandle& handle, const Plan& plan, const Operands& operands,
                                                        const Workspace& workspace) {
  RB_TRY(check_operands(plan, operands));
  if (workspace.bytes != 0) RB_TRY(bridge::check_device_buffer(workspace.address, workspace.bytes, "workSpace"));
  DeviceScope device;
  RB_TRY(device.enter(handle.device));
  std::vector<AlgorithmResult> results = rank_algorithms(plan);
  hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
  RB_TRY(RB_HIP(hipStreamIsCapturing, handle.stream, &capture));
  const bool can_run = capture == hipStreamCaptureStatusNone;
  Events events;
  if (can_run) RB_TRY(events.create());
  std::vector<float> measured(plan.solutions().size(), -1.0f);
  for (AlgorithmResult& result : results) {
    if (result.status != CUDNN_STATUS_SUCCESS) continue;
    if (result.memory > workspace.bytes) {
      result.status = CUDNN_STATUS_NOT_SUPPORTED;
      result.time = -1.0f;
      continue;
    }
    if (!can_run) continue;
    const int solution = plan.solution_of(result.algorithm);
    float& time = measured[static_cast<std::size_t>(solution)];
    if (time < 0) {
      RB_TRY(check_contracts(plan, solution, operands, workspace));
      Result<float> timed = measure(handle, plan, solution, operands, workspace, events);
      if (!timed.ok()) {
        result.status =
            timed.fault().native > 0 ? static_cast<cudnnStatus_t>(timed.fault().native) : CUDNN_STATUS_EXECUTION_FAILED;
        result.time = -1.0f;
        continue;
      }
      time = *timed;
    }
    result.time = time;
  }
  sort_results(results);
  return results;
}

Result<std::vector<AlgorithmResult>> measure_algorithms(DnnHandle& handle, const Plan& plan) {
  DeviceScope device;
  RB_TRY(device.enter(handle.device));
  Buffer x, w, y, workspace;
  RB_TRY(x.take(plan.x_bytes(), handle.device, handle.stream));
  RB_TRY(w.take(plan.w_bytes(), handle.device, handle.stream));
  RB_TRY(y.take(plan.y_bytes(), handle.device, handle.stream));
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < plan.solutions().size(); ++i)
    sizes.push_back(plan.workspace_bytes(static_cast<int>(i), false));
  std::sort(sizes.rbegin(), sizes.rend());
  // As much as the device has for the search: what does not fit is not offered.
  for (const std::size_t size : sizes)
    if (workspace.take(size, handle.device, handle.stream).ok()) break;
  Result<std::vector<AlgorithmResult>> results = measure_algorithms(
      handle, plan, {x.address(), w.address(), y.address()}, {workspace.address(), workspace.bytes()});
  RB_TRY(RB_HIP(hipStreamSynchronize, handle.stream));  // before the buffers go
  return results;
}

}  // namespace rb::dnn
