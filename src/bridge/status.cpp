// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// From a Fault to the status number of the CUDA library that was called. The numbers are those of each library's own
// header (cudnnStatus_t, cublasStatus_t, CUresult, ...).
#include <atomic>
#include <cstring>
#include <exception>
#include <new>

#include "base/log.hpp"
#include "bridge/guard.hpp"
#include "bridge/last_error.hpp"
#include "bridge/trap.hpp"

namespace rb::bridge {
namespace detail {

thread_local constinit int t_last_error = 0;

}  // namespace detail

namespace {

struct Numbers {
  int not_initialized, invalid_value, invalid_handle, not_supported, alloc_failed, execution_failed, internal, mapping;
};

constexpr Numbers kCudnn{1, 3, 3, 9, 2, 8, 4, 7};
constexpr Numbers kCublas{1, 7, 1, 15, 3, 13, 14, 11};
constexpr Numbers kCusolver{1, 3, 1, 9, 2, 6, 7, 5};
constexpr Numbers kCufft{7, 4, 1, 16, 2, 6, 5, 5};
constexpr Numbers kCupti{15, 1, 1, 27, 8, 999, 999, 999};
constexpr Numbers kCurand{101, 104, 101, 204, 102, 201, 999, 999};
constexpr Numbers kCusparse{1, 3, 3, 10, 2, 6, 7, 5};
constexpr Numbers kNccl{3, 4, 4, 5, 2, 1, 3, 2};
constexpr Numbers kNvrtc{11, 3, 4, 11, 1, 11, 11, 11};
constexpr Numbers kNvjitlink{6, 3, 3, 6, 6, 6, 6, 6};
constexpr Numbers kNvml{1, 2, 2, 3, 20, 999, 999, 999};
constexpr Numbers kNvtx{0, 0, 0, 0, 0, 0, 0, 0};

/// The runtime's and the driver's numbers are the same for all kinds of fault.
int cuda_number(Errc code) {
  switch (code) {
    case Errc::ok:
      return 0;
    case Errc::not_initialized:
      return 3;
    case Errc::invalid_value:
      return 1;
    case Errc::invalid_handle:
      return 400;
    case Errc::not_supported:
      return 801;
    case Errc::alloc_failed:
      return 2;
    case Errc::execution_failed:
      return 719;
    case Errc::internal:
      return 999;
    case Errc::mapping:
      return 205;
    case Errc::not_ready:
      return 600;
    case Errc::device_lost:
      return 719;
    case Errc::no_device:
      return 100;
    case Errc::after_fork:
      return 3;
    case Errc::bad_context:
      return 201;
    case Errc::no_binary:
      return 209;
    case Errc::not_found:
      return 500;
    case Errc::insufficient_workspace:
      return 1;
  }
  return 999;
}

int library_number(const Numbers& numbers, Errc code) {
  switch (code) {
    case Errc::ok:
      return 0;
    case Errc::not_initialized:
    case Errc::no_device:
    case Errc::after_fork:
    case Errc::bad_context:
      return numbers.not_initialized;
    case Errc::invalid_value:
    case Errc::not_found:
    case Errc::insufficient_workspace:
      return numbers.invalid_value;
    case Errc::invalid_handle:
      return numbers.invalid_handle;
    case Errc::not_supported:
    case Errc::no_binary:
      return numbers.not_supported;
    case Errc::alloc_failed:
      return numbers.alloc_failed;
    case Errc::execution_failed:
    case Errc::device_lost:
    case Errc::not_ready:
      return numbers.execution_failed;
    case Errc::internal:
      return numbers.internal;
    case Errc::mapping:
      return numbers.mapping;
  }
  return numbers.internal;
}

int number_of(Api api, Errc code) {
  switch (api) {
    case Api::cudart:
    case Api::cuda_driver:
      return cuda_number(code);
    case Api::cudnn8:
      return library_number(kCudnn, code);
    case Api::cublas:
    case Api::cublaslt:
      return library_number(kCublas, code);
    case Api::cusolver:
      return library_number(kCusolver, code);
    case Api::cufft:
      return library_number(kCufft, code);
    case Api::cupti:
      return library_number(kCupti, code);
    case Api::curand:
      return library_number(kCurand, code);
    case Api::cusparse:
    case Api::cusparselt:
      return library_number(kCusparse, code);
    case Api::nccl:
      return library_number(kNccl, code);
    case Api::nvrtc:
      return library_number(kNvrtc, code);
    case Api::nvjitlink:
      return library_number(kNvjitlink, code);
    case Api::nvml:
      return library_number(kNvml, code);
    case Api::nvtx:
      return library_number(kNvtx, code);
  }
  return cuda_number(code);
}

/// Failures that no program expects: shown without being asked for, once per entry and reason.
bool is_serious(Errc code) {
  switch (code) {
    case Errc::not_initialized:
    case Errc::execution_failed:
    case Errc::internal:
    case Errc::device_lost:
    case Errc::no_device:
    case Errc::after_fork:
      return true;
    default:
      return false;
  }
}

void log_fault(const EntryInfo& info, const Fault& fault, int status) {
  const bool serious = is_serious(fault.code);
  if (!log::enabled(serious ? log::Level::error : log::Level::info)) return;
  if (serious && !first_report(info.row, fault.reason)) return;
  const ReasonText* reason = find_reason(fault.reason);
  const char* text = !fault.text.empty() ? fault.text.c_str() : reason != nullptr ? reason->text : "failed";
  const char* remedy = !fault.remedy.empty() ? fault.remedy.c_str() : reason != nullptr ? reason->remedy : "";
  log::write(serious ? log::Level::error : log::Level::info, "call", "%s: %s%s%s [%s, status %d]%s%s", info.name,
             fault.where.c_str(), fault.where.empty() ? "" : ": ", text, fault.reason, status,
             *remedy != '\0' ? "; " : "", remedy);
}

}  // namespace

int native_status(const EntryInfo& info, Fault fault) {
  if (fault.code == Errc::ok) return fault.native >= 0 ? fault.native : 0;
  const int status = fault.native >= 0 ? fault.native : number_of(info.api, fault.code);
  if (fault.code == Errc::not_supported) {
    fault.native = status;
    report_refusal(info.row, fault);
  } else if (fault.code != Errc::not_ready) {
    log_fault(info, fault, status);
  }
  if (info.api == Api::cudart) set_last_error(status);
  return status;
}

namespace detail {

int fault_of_exception(const EntryInfo& info) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return native_status(info, fail(Errc::alloc_failed, "host-memory", "the host has no memory left for this call"));
  } catch (const std::exception& error) {
    return native_status(info, fail(Errc::internal, "defect", "unexpected exception: %s", error.what()));
  } catch (...) {
    return native_status(info, fail(Errc::internal, "defect", "unexpected exception of unknown type"));
  }
}

}  // namespace detail
}  // namespace rb::bridge
