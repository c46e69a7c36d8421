// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/amd.hpp"

#include <mutex>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "base/os.hpp"
#include "bridge/call_trace.hpp"
#include "bridge/process.hpp"
#include "rocm/loader.hpp"
#include "trace/writer.hpp"

namespace rb::bridge {
namespace {

std::atomic<bool> g_forked{false};

/// What the first attempt to open the device gave; a failure is permanent for the process.
struct Opening {
  std::mutex mutex;
  bool tried = false;
  Fault fault;
  rocm::Choice choice;
};

Opening& opening() {
  static Opening& instance = *new Opening;
  return instance;
}

/// The device's windows and the engine's connection are the parent's. Only a process that had opened the device is
/// lost: one that forks before its first device use may use the device afterwards.
void forget_in_child() {
  if (g_table.load(std::memory_order_relaxed) == nullptr) return;
  g_forked.store(true, std::memory_order_relaxed);
  g_table.store(nullptr, std::memory_order_relaxed);
}

void report_device(const rocm::Choice& choice, const rocm::Table& table) {
  hipDeviceProp_tR0600 properties{};
  trace::DeviceRecord record;
  if (table.hipGetDevicePropertiesR0600 != nullptr && table.hipGetDevicePropertiesR0600(&properties, 0) == hipSuccess) {
    record.name = properties.name;
    record.architecture = properties.gcnArchName;
    record.wave = static_cast<std::uint32_t>(properties.warpSize);
    record.memory_bytes = properties.totalGlobalMem;
  }
  record.software = choice.software;
  record.generation = rocm::kGeneration;
  record.directory = choice.directory;
  record.text = choice.why;
  RB_LOG(info, "rocm", "%s %s from %s (%s)%s", properties.name, properties.gcnArchName, choice.directory.c_str(),
         choice.why.c_str(), choice.software ? ": software device, unverified on silicon" : "");
  if (!trace::on()) return;
  trace_settings();
  trace::device(record);
}

Status open_once(Opening& state) {
  RB_TRY(check_process());
  state.choice = rocm::choose_directory(core_folder());
  rocm::Table* table = new rocm::Table();  // lives as long as the process
  RB_TRY(rocm::open_directory(state.choice, table));
  int count = 0;
  const hipError_t error = table->hipGetDeviceCount(&count);
  if (error != hipSuccess && error != hipErrorNoDevice)
    return fail(Errc::not_initialized, "device-start", "the AMD libraries of %s report error %d",
                state.choice.directory.c_str(), static_cast<int>(error));
  static const bool registered = (os::on_fork_child(&forget_in_child), true);
  static_cast<void>(registered);
  report_device(state.choice, *table);
  g_table.store(table, std::memory_order_release);
  return {};
}

bool in_cuda_api() {
  const EntryInfo* info = call().info;
  return info != nullptr && (info->api == Api::cudart || info->api == Api::cuda_driver);
}

/// HIP's numbers that CUDA does not have, or means differently (HIP and CUDA driver API, facts in
/// docs/design/calls.md).
int cuda_number(int hip) {
  switch (hip) {
    case 1052:
      return 2;  // out of runtime memory
    case 1053:
    case 1054:
    case 1055:
      return 999;
    case 911:
      return 20;  // invalid channel descriptor
    case 912:
      return 18;  // invalid texture
    default:
      break;
  }
  if (call().info != nullptr && call().info->api == Api::cuda_driver) switch (hip) {
      case 9:
      case 12:
      case 13:
      case 17:
      case 18:
      case 20:
      case 21:
      case 52:
        return 1;
      case 53:
        return 719;
      case 98:
        return 400;
      case 35:
        return 803;
      default:
        break;
    }
  return hip;
}

Errc kind_of(int hip) {
  switch (hip) {
    case 1:
    case 9:
    case 12:
    case 13:
    case 16:
    case 17:
    case 21:
    case 101:
    case 712:
    case 713:
      return Errc::invalid_value;
    case 2:
    case 1052:
      return Errc::alloc_failed;
    case 3:
    case 4:
    case 35:
      return Errc::not_initialized;
    case 46:
      return Errc::device_lost;
    case 98:
    case 209:
      return Errc::no_binary;
    case 100:
      return Errc::no_device;
    case 201:
      return Errc::bad_context;
    case 205:
      return Errc::mapping;
    case 400:
      return Errc::invalid_handle;
    case 500:
      return Errc::not_found;
    case 600:
      return Errc::not_ready;
    case 704:
    case 705:
      return Errc::invalid_value;
    case 801:
      return Errc::not_supported;
    default:
      return Errc::execution_failed;
  }
}

}  // namespace

Status open_device() {
  if (g_forked.load(std::memory_order_relaxed)) {
    Fault fault = fail(Errc::after_fork, "after-fork", "this process was forked from one that used the device");
    fault.remedy = "use the device only in the child, or start children with spawn instead of fork";
    return fault;
  }
  Opening& state = opening();
  std::lock_guard lock(state.mutex);
  if (g_table.load(std::memory_order_acquire) != nullptr) return {};
  if (!state.tried) {
    state.tried = true;
    Status status = open_once(state);
    if (!status.ok()) state.fault = status.take();
  }
  if (g_table.load(std::memory_order_acquire) != nullptr) return {};
  return Fault(state.fault);
}

bool software_device() {
  return opening().choice.software;
}

Status hip_status(hipError_t error, const char* function) {
  if (error == hipSuccess) [[likely]]
    return {};
  const int number = static_cast<int>(error);
  const char* const text = amd().hipGetErrorString != nullptr ? amd().hipGetErrorString(error) : nullptr;
  Fault fault = fail(kind_of(number), number == 801 ? "amd-refuses" : "hip-error", "%s gave %d (%s)", function, number,
                     text != nullptr ? text : "unknown");
  if (in_cuda_api()) fault.native = cuda_number(number);
  return fault;
}

Status miopen_status(miopenStatus_t status, const char* function) {
  if (status == miopenStatusSuccess) [[likely]]
    return {};
  Errc code = Errc::execution_failed;
  const char* reason = "miopen-error";
  const char* text = "unknown error";
  switch (static_cast<int>(status)) {
    case 1:
      code = Errc::not_initialized, text = "not initialized";
      break;
    case 2:
      code = Errc::invalid_value, text = "invalid value";
      break;
    case 3:
      code = Errc::invalid_value, text = "bad parameter";
      break;
    case 4:
      code = Errc::alloc_failed, text = "allocation failed";
      break;
    case 5:
      code = Errc::internal, text = "internal error";
      break;
    case 6:
      code = Errc::not_supported, reason = "amd-refuses", text = "not implemented";
      break;
    case 8:
      code = Errc::not_supported, reason = "amd-refuses", text = "unsupported operation";
      break;
    case 9:
      reason = "miopen-skipped", text = "GPU operations were skipped: nothing was computed";
      break;
    case 10:
      code = Errc::not_initialized, text = "version mismatch";
      break;
    default:
      break;
  }
  return fail(code, reason, "%s gave %d (%s)", function, static_cast<int>(status), text);
}

Status rocblas_status_of(rocblas_status status, const char* function) {
  if (status == rocblas_status_success) [[likely]]
    return {};
  Errc code = Errc::execution_failed;
  const char* reason = "rocblas-error";
  const char* text = "unknown status";
  switch (static_cast<int>(status)) {
    case 1:
      code = Errc::invalid_handle, text = "invalid handle";
      break;
    case 2:
      code = Errc::not_supported, reason = "amd-refuses", text = "not implemented";
      break;
    case 3:
      code = Errc::invalid_value, text = "invalid pointer";
      break;
    case 4:
      code = Errc::invalid_value, text = "invalid size";
      break;
    case 5:
      code = Errc::alloc_failed, text = "memory error";
      break;
    case 6:
      code = Errc::execution_failed, text = "internal error";
      break;
    case 11:
      code = Errc::invalid_value, text = "invalid value";
      break;
    case 13:
      text = "numeric check failed";
      break;
    case 14:
      code = Errc::not_supported, reason = "amd-refuses", text = "excluded from this build";
      break;
    case 15:
      code = Errc::not_supported, reason = "amd-refuses", text = "no code for this GPU";
      break;
    default:
      break;
  }
  return fail(code, reason, "%s gave %d (%s)", function, static_cast<int>(status), text);
}

namespace detail {

int amd_missing(rocm::AmdFunction function) {
  const rocm::FunctionRow& row = rocm::kFunctions[static_cast<unsigned>(function)];
  RB_LOG(info, "rocm", "the opened %s has no %s", rocm::kLibraries[static_cast<unsigned>(row.library)].soname,
         row.name);
  switch (row.library) {
    case rocm::Amd::hip:
      return hipErrorNotSupported;
    case rocm::Amd::miopen:
      return miopenStatusNotImplemented;
    default:
      return rocblas_status_not_implemented;
  }
}

}  // namespace detail
}  // namespace rb::bridge
