// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Marks, ranges and names for a profiler. Nothing is recorded: the answers are those of NVIDIA's library without a
// profiler attached, ranges included (-2: no tracking, NVTX 3 header).
#include "bridge/misc_entries.hpp"

namespace rb::misc {
namespace {

constexpr int kNoTracking = -2;

}  // namespace

nvtxDomainHandle_t nvtx_domain_create_a(const char*) {
  return nullptr;
}
nvtxDomainHandle_t nvtx_domain_create_w(const wchar_t*) {
  return nullptr;
}
void nvtx_domain_destroy(nvtxDomainHandle_t) {}
void nvtx_domain_mark_ex(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {}
void nvtx_domain_name_category_a(nvtxDomainHandle_t, uint32_t, const char*) {}
void nvtx_domain_name_category_w(nvtxDomainHandle_t, uint32_t, const wchar_t*) {}
void nvtx_domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t) {}
int nvtx_domain_range_pop(nvtxDomainHandle_t) {
  return kNoTracking;
}
int nvtx_domain_range_push_ex(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {
  return kNoTracking;
}
nvtxRangeId_t nvtx_domain_range_start_ex(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {
  return 0;
}
nvtxStringHandle_t nvtx_domain_register_string_a(nvtxDomainHandle_t, const char*) {
  return nullptr;
}
nvtxStringHandle_t nvtx_domain_register_string_w(nvtxDomainHandle_t, const wchar_t*) {
  return nullptr;
}
nvtxResourceHandle_t nvtx_domain_resource_create(nvtxDomainHandle_t, nvtxResourceAttributes_t*) {
  return nullptr;
}
void nvtx_domain_resource_destroy(nvtxResourceHandle_t) {}
void nvtx_domain_sync_user_acquire_failed(nvtxSyncUser_t) {}
void nvtx_domain_sync_user_acquire_start(nvtxSyncUser_t) {}
void nvtx_domain_sync_user_acquire_success(nvtxSyncUser_t) {}
nvtxSyncUser_t nvtx_domain_sync_user_create(nvtxDomainHandle_t, const nvtxSyncUserAttributes_t*) {
  return nullptr;
}
void nvtx_domain_sync_user_destroy(nvtxSyncUser_t) {}
void nvtx_domain_sync_user_releasing(nvtxSyncUser_t) {}
void nvtx_mark_a(const char*) {}
void nvtx_mark_ex(const nvtxEventAttributes_t*) {}
void nvtx_mark_w(const wchar_t*) {}
void nvtx_name_category_a(uint32_t, const char*) {}
void nvtx_name_category_w(uint32_t, const wchar_t*) {}
void nvtx_name_cl_command_queue_a(cl_command_queue, const char*) {}
void nvtx_name_cl_command_queue_w(cl_command_queue, const wchar_t*) {}
void nvtx_name_cl_context_a(cl_context, const char*) {}
void nvtx_name_cl_context_w(cl_context, const wchar_t*) {}
void nvtx_name_cl_device_a(cl_device_id, const char*) {}
void nvtx_name_cl_device_w(cl_device_id, const wchar_t*) {}
void nvtx_name_cl_event_a(cl_event, const char*) {}
void nvtx_name_cl_event_w(cl_event, const wchar_t*) {}
void nvtx_name_cl_mem_object_a(cl_mem, const char*) {}
void nvtx_name_cl_mem_object_w(cl_mem, const wchar_t*) {}
void nvtx_name_cl_program_a(cl_program, const char*) {}
void nvtx_name_cl_program_w(cl_program, const wchar_t*) {}
void nvtx_name_cl_sampler_a(cl_sampler, const char*) {}
void nvtx_name_cl_sampler_w(cl_sampler, const wchar_t*) {}
void nvtx_name_cu_context_a(CUcontext, const char*) {}
void nvtx_name_cu_context_w(CUcontext, const wchar_t*) {}
void nvtx_name_cu_device_a(CUdevice, const char*) {}
void nvtx_name_cu_device_w(CUdevice, const wchar_t*) {}
void nvtx_name_cu_event_a(CUevent, const char*) {}
void nvtx_name_cu_event_w(CUevent, const wchar_t*) {}
void nvtx_name_cu_stream_a(CUstream, const char*) {}
void nvtx_name_cu_stream_w(CUstream, const wchar_t*) {}
void nvtx_name_cuda_device_a(int, const char*) {}
void nvtx_name_cuda_device_w(int, const wchar_t*) {}
void nvtx_name_cuda_event_a(cudaEvent_t, const char*) {}
void nvtx_name_cuda_event_w(cudaEvent_t, const wchar_t*) {}
void nvtx_name_cuda_stream_a(cudaStream_t, const char*) {}
void nvtx_name_cuda_stream_w(cudaStream_t, const wchar_t*) {}
void nvtx_name_os_thread_a(uint32_t, const char*) {}
void nvtx_name_os_thread_w(uint32_t, const wchar_t*) {}
void nvtx_range_end(nvtxRangeId_t) {}
int nvtx_range_pop() {
  return kNoTracking;
}
int nvtx_range_push_a(const char*) {
  return kNoTracking;
}
int nvtx_range_push_ex(const nvtxEventAttributes_t*) {
  return kNoTracking;
}
int nvtx_range_push_w(const wchar_t*) {
  return kNoTracking;
}
nvtxRangeId_t nvtx_range_start_a(const char*) {
  return 0;
}
nvtxRangeId_t nvtx_range_start_ex(const nvtxEventAttributes_t*) {
  return 0;
}
nvtxRangeId_t nvtx_range_start_w(const wchar_t*) {
  return 0;
}

}  // namespace rb::misc
