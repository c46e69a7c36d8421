// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Texts and versions of the libraries that are otherwise refused. Programs print these texts, and some stop on a null
// one.
#include <cstddef>

#include "bridge/misc_entries.hpp"

namespace rb::misc {
namespace {

struct Row {
  int code;
  const char* name;
  const char* text;
};

constexpr Row kCupti[] = {
    {0, "CUPTI_SUCCESS", "no error"},
    {1, "CUPTI_ERROR_INVALID_PARAMETER", "invalid parameter"},
    {2, "CUPTI_ERROR_INVALID_DEVICE", "invalid device"},
    {3, "CUPTI_ERROR_INVALID_CONTEXT", "invalid context"},
    {4, "CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID", "invalid event domain id"},
    {5, "CUPTI_ERROR_INVALID_EVENT_ID", "invalid event id"},
    {6, "CUPTI_ERROR_INVALID_EVENT_NAME", "invalid event name"},
    {7, "CUPTI_ERROR_INVALID_OPERATION", "invalid operation"},
    {8, "CUPTI_ERROR_OUT_OF_MEMORY", "out of memory"},
    {9, "CUPTI_ERROR_HARDWARE", "hardware"},
    {10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT", "parameter size not sufficient"},
    {11, "CUPTI_ERROR_API_NOT_IMPLEMENTED", "api not implemented"},
    {12, "CUPTI_ERROR_MAX_LIMIT_REACHED", "max limit reached"},
    {13, "CUPTI_ERROR_NOT_READY", "not ready"},
    {14, "CUPTI_ERROR_NOT_COMPATIBLE", "not compatible"},
    {15, "CUPTI_ERROR_NOT_INITIALIZED", "not initialized"},
    {16, "CUPTI_ERROR_INVALID_METRIC_ID", "invalid metric id"},
    {17, "CUPTI_ERROR_INVALID_METRIC_NAME", "invalid metric name"},
    {18, "CUPTI_ERROR_QUEUE_EMPTY", "queue empty"},
    {19, "CUPTI_ERROR_INVALID_HANDLE", "invalid handle"},
    {20, "CUPTI_ERROR_INVALID_STREAM", "invalid stream"},
    {21, "CUPTI_ERROR_INVALID_KIND", "invalid kind"},
    {22, "CUPTI_ERROR_INVALID_EVENT_VALUE", "invalid event value"},
    {23, "CUPTI_ERROR_DISABLED", "disabled"},
    {24, "CUPTI_ERROR_INVALID_MODULE", "invalid module"},
    {25, "CUPTI_ERROR_INVALID_METRIC_VALUE", "invalid metric value"},
    {26, "CUPTI_ERROR_HARDWARE_BUSY", "hardware busy"},
    {27, "CUPTI_ERROR_NOT_SUPPORTED", "not supported"},
    {28, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED", "um profiling not supported"},
    {29, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE", "um profiling not supported on device"},
    {30, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES", "um profiling not supported on non p2p devices"},
    {31, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS", "um profiling not supported with mps"},
    {32, "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED", "cdp tracing not supported"},
    {33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED", "virtualized device not supported"},
    {34, "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE", "cuda compiler not compatible"},
    {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "insufficient privileges"},
    {36, "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED", "old profiler api initialized"},
    {37, "CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE", "openacc undefined routine"},
    {38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED", "legacy profiler not supported"},
    {39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "multiple subscribers not supported"},
    {40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES", "virtualized device insufficient privileges"},
    {41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED", "confidential computing not supported"},
    {42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED", "cmp device not supported"},
    {43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED", "mig device not supported"},
    {44, "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED", "sli device not supported"},
    {45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED", "wsl device not supported"},
    {46, "CUPTI_ERROR_INVALID_CHIP_NAME", "invalid chip name"},
    {47, "CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS", "hes trace not supported on mps"},
    {999, "CUPTI_ERROR_UNKNOWN", "unknown"},
};

constexpr Row kNvrtc[] = {
    {0, "NVRTC_SUCCESS", "no error"},
    {1, "NVRTC_ERROR_OUT_OF_MEMORY", "out of memory"},
    {2, "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "program creation failure"},
    {3, "NVRTC_ERROR_INVALID_INPUT", "invalid input"},
    {4, "NVRTC_ERROR_INVALID_PROGRAM", "invalid program"},
    {5, "NVRTC_ERROR_INVALID_OPTION", "invalid option"},
    {6, "NVRTC_ERROR_COMPILATION", "compilation"},
    {7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "builtin operation failure"},
    {8, "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "no name expressions after compilation"},
    {9, "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "no lowered names before compilation"},
    {10, "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "name expression not valid"},
    {11, "NVRTC_ERROR_INTERNAL_ERROR", "internal error"},
    {12, "NVRTC_ERROR_TIME_FILE_WRITE_FAILED", "time file write failed"},
};

constexpr Row kCusparse[] = {
    {0, "CUSPARSE_STATUS_SUCCESS", "no error"},
    {1, "CUSPARSE_STATUS_NOT_INITIALIZED", "not initialized"},
    {2, "CUSPARSE_STATUS_ALLOC_FAILED", "alloc failed"},
    {3, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {4, "CUSPARSE_STATUS_ARCH_MISMATCH", "arch mismatch"},
    {5, "CUSPARSE_STATUS_MAPPING_ERROR", "mapping error"},
    {6, "CUSPARSE_STATUS_EXECUTION_FAILED", "execution failed"},
    {7, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {9, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {10, "CUSPARSE_STATUS_NOT_SUPPORTED", "not supported"},
    {11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};

constexpr Row kNvml[] = {
    {0, "NVML_SUCCESS", "no error"},
    {1, "NVML_ERROR_UNINITIALIZED", "uninitialized"},
    {2, "NVML_ERROR_INVALID_ARGUMENT", "invalid argument"},
    {3, "NVML_ERROR_NOT_SUPPORTED", "not supported"},
    {4, "NVML_ERROR_NO_PERMISSION", "no permission"},
    {5, "NVML_ERROR_ALREADY_INITIALIZED", "already initialized"},
    {6, "NVML_ERROR_NOT_FOUND", "not found"},
    {7, "NVML_ERROR_INSUFFICIENT_SIZE", "insufficient size"},
    {8, "NVML_ERROR_INSUFFICIENT_POWER", "insufficient power"},
    {9, "NVML_ERROR_DRIVER_NOT_LOADED", "driver not loaded"},
    {10, "NVML_ERROR_TIMEOUT", "timeout"},
    {11, "NVML_ERROR_IRQ_ISSUE", "irq issue"},
    {12, "NVML_ERROR_LIBRARY_NOT_FOUND", "library not found"},
    {13, "NVML_ERROR_FUNCTION_NOT_FOUND", "function not found"},
    {14, "NVML_ERROR_CORRUPTED_INFOROM", "corrupted inforom"},
    {15, "NVML_ERROR_GPU_IS_LOST", "gpu is lost"},
    {16, "NVML_ERROR_RESET_REQUIRED", "reset required"},
    {17, "NVML_ERROR_OPERATING_SYSTEM", "operating system"},
    {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "lib rm version mismatch"},
    {19, "NVML_ERROR_IN_USE", "in use"},
    {20, "NVML_ERROR_MEMORY", "memory"},
    {21, "NVML_ERROR_NO_DATA", "no data"},
    {22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED", "vgpu ecc not supported"},
    {23, "NVML_ERROR_INSUFFICIENT_RESOURCES", "insufficient resources"},
    {24, "NVML_ERROR_FREQ_NOT_SUPPORTED", "freq not supported"},
    {25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", "argument version mismatch"},
    {26, "NVML_ERROR_DEPRECATED", "deprecated"},
    {27, "NVML_ERROR_NOT_READY", "not ready"},
    {28, "NVML_ERROR_GPU_NOT_FOUND", "gpu not found"},
    {29, "NVML_ERROR_INVALID_STATE", "invalid state"},
    {999, "NVML_ERROR_UNKNOWN", "unknown"},
};

constexpr Row kNccl[] = {
    {0, "ncclSuccess", "no error"},
    {1, "ncclUnhandledCudaError", "unhandled cuda error"},
    {2, "ncclSystemError", "unhandled system error"},
    {3, "ncclInternalError", "internal error"},
    {4, "ncclInvalidArgument", "invalid argument"},
    {5, "ncclInvalidUsage", "invalid usage"},
    {6, "ncclRemoteError", "remote process exited or there was a network error"},
    {7, "ncclInProgress", "NCCL operation in progress"},
};

template <std::size_t kCount>
const Row* find(const Row (&rows)[kCount], int code) {
  for (const Row& row : rows)
    if (row.code == code) return &row;
  return nullptr;
}

Fault null_output(const char* what) {
  return fail(Errc::invalid_value, "null-output", "%s is null", what);
}

}  // namespace

Status cupti_get_result_string(CUptiResult result, const char** str) {
  if (str == nullptr) return null_output("str");
  const Row* row = find(kCupti, static_cast<int>(result));
  *str = row != nullptr ? row->name : "<unknown>";
  if (row == nullptr)
    return fail(Errc::invalid_value, "bad-code", "%d is no result of CUPTI", static_cast<int>(result));
  return {};
}

/// NVRTC's texts are the names themselves.
const char* nvrtc_get_error_string(nvrtcResult result) {
  const Row* row = find(kNvrtc, static_cast<int>(result));
  return row != nullptr ? row->name : "NVRTC_ERROR unknown";
}

Status nvrtc_version(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return null_output(major == nullptr ? "major" : "minor");
  *major = 12;
  *minor = 1;
  return {};
}

const char* cusparse_get_error_name(cusparseStatus_t status) {
  const Row* row = find(kCusparse, static_cast<int>(status));
  return row != nullptr ? row->name : "unrecognized error code";
}

const char* cusparse_get_error_string(cusparseStatus_t status) {
  const Row* row = find(kCusparse, static_cast<int>(status));
  return row != nullptr ? row->text : "unrecognized error code";
}

const char* nvml_error_string(nvmlReturn_t result) {
  const Row* row = find(kNvml, static_cast<int>(result));
  return row != nullptr ? row->text : "unknown error";
}

const char* nccl_get_error_string(ncclResult_t result) {
  const Row* row = find(kNccl, static_cast<int>(result));
  return row != nullptr ? row->text : "unknown result code";
}

const char* nccl_get_last_error(ncclComm_t) {
  return "rocbridge refuses NCCL's operations; its log names each";
}

Status nccl_get_version(int* version) {
  if (version == nullptr) return null_output("version");
  *version = 22005;
  return {};
}

// NCCL's second set of names, for profilers.
const char* pnccl_get_error_string(ncclResult_t result) {
  return nccl_get_error_string(result);
}
const char* pnccl_get_last_error(ncclComm_t comm) {
  return nccl_get_last_error(comm);
}
Status pnccl_get_version(int* version) {
  return nccl_get_version(version);
}

/// cuFFT 11.0.2 comes with CUDA 12.1, 10.9.0 with CUDA 11.8.
Status cufft_get_version(bridge::Library library, int* version) {
  if (version == nullptr) return null_output("version");
  *version = library == bridge::Library::cufft10 ? 10900 : 11002;
  return {};
}

/// cuRAND 10.3.2 comes with CUDA 12.1.
Status curand_get_version(int* version) {
  if (version == nullptr) return null_output("version");
  *version = 10302;
  return {};
}

}  // namespace rb::misc
