// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A directory of AMD libraries that do nothing and say that all went well, for benchmarks of what the bridge itself
// costs. Only what a convolution's way needs is there; the loader takes the rest for missing.
#include <cstring>

#include "abi/hip_functions.h"
#include "abi/miopen_functions.h"
#include "abi/rocblas_functions.h"

namespace {

/// An address that no program has, so that device memory of this directory is never touched.
void* next_address(size_t size) {
  static size_t next = 0x200000000000;
  void* const out = reinterpret_cast<void*>(next);
  next += (size + 0xfff) / 0x1000 * 0x1000 + 0x1000;
  return out;
}

int g_object;

template <class Handle>
void give(Handle* out) {
  *out = reinterpret_cast<Handle>(&g_object);
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned int) {
  return hipSuccess;
}
hipError_t hipGetDeviceCount(int* count) {
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int) {
  return hipSuccess;
}
hipError_t hipRuntimeGetVersion(int* version) {
  *version = 60443483;
  return hipSuccess;
}
hipError_t hipDriverGetVersion(int* version) {
  return hipRuntimeGetVersion(version);
}
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "null device");
  std::strcpy(properties->gcnArchName, "gfx1200");
  properties->warpSize = 32;
  properties->totalGlobalMem = size_t{16} << 30;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int) {
  *value = 1;
  return hipSuccess;
}
hipError_t hipMalloc(void** out, size_t size) {
  *out = next_address(size);
  return hipSuccess;
}
hipError_t hipFree(void*) {
  return hipSuccess;
}
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind) {
  return hipSuccess;
}
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t) {
  return hipSuccess;
}
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  *free = *total = size_t{16} << 30;
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  return hipSuccess;
}
hipError_t hipDeviceSynchronize() {
  return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  *status = hipStreamCaptureStatusNone;
  return hipSuccess;
}
hipError_t hipGetLastError() {
  return hipSuccess;
}

miopenStatus_t miopenCreate(miopenHandle_t* handle) {
  give(handle);
  return miopenStatusSuccess;
}
miopenStatus_t miopenCreateWithStream(miopenHandle_t* handle, miopenAcceleratorQueue_t) {
  return miopenCreate(handle);
}
miopenStatus_t miopenDestroy(miopenHandle_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetStream(miopenHandle_t, miopenAcceleratorQueue_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenCreateTensorDescriptor(miopenTensorDescriptor_t* out) {
  give(out);
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetTensorDescriptor(miopenTensorDescriptor_t, miopenDataType_t, int, const int*, const int*) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyTensorDescriptor(miopenTensorDescriptor_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenCreateConvolutionDescriptor(miopenConvolutionDescriptor_t* out) {
  give(out);
  return miopenStatusSuccess;
}
miopenStatus_t miopenInitConvolutionNdDescriptor(miopenConvolutionDescriptor_t, int, const int*, const int*, const int*,
                                                 miopenConvolutionMode_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetConvolutionGroupCount(miopenConvolutionDescriptor_t, int) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenSetConvolutionAttribute(miopenConvolutionDescriptor_t, const miopenConvolutionAttrib_t, int) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenDestroyConvolutionDescriptor(miopenConvolutionDescriptor_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenConvolutionForwardGetSolutionCount(miopenHandle_t, const miopenTensorDescriptor_t,
                                                        const miopenTensorDescriptor_t,
                                                        const miopenConvolutionDescriptor_t,
                                                        const miopenTensorDescriptor_t, size_t* count) {
  *count = 1;
  return miopenStatusSuccess;
}
miopenStatus_t miopenConvolutionForwardGetSolution(miopenHandle_t, const miopenTensorDescriptor_t,
                                                   const miopenTensorDescriptor_t, const miopenConvolutionDescriptor_t,
                                                   const miopenTensorDescriptor_t, const size_t, size_t* count,
                                                   miopenConvSolution_t* solutions) {
  *count = 1;
  solutions[0] = {0.001f, 0, 1, miopenConvolutionAlgoGEMM};
  return miopenStatusSuccess;
}
miopenStatus_t miopenConvolutionForwardGetSolutionWorkspaceSize(miopenHandle_t, const miopenTensorDescriptor_t,
                                                                const miopenTensorDescriptor_t,
                                                                const miopenConvolutionDescriptor_t,
                                                                const miopenTensorDescriptor_t, const uint64_t,
                                                                size_t* size) {
  *size = 0;
  return miopenStatusSuccess;
}
miopenStatus_t miopenConvolutionForwardCompileSolution(miopenHandle_t, const miopenTensorDescriptor_t,
                                                       const miopenTensorDescriptor_t,
                                                       const miopenConvolutionDescriptor_t,
                                                       const miopenTensorDescriptor_t, const uint64_t) {
  return miopenStatusSuccess;
}
miopenStatus_t miopenConvolutionForwardImmediate(miopenHandle_t, const miopenTensorDescriptor_t, const void*,
                                                 const miopenTensorDescriptor_t, const void*,
                                                 const miopenConvolutionDescriptor_t, const miopenTensorDescriptor_t,
                                                 void*, void*, size_t, const uint64_t) {
  return miopenStatusSuccess;
}

rocblas_status rocblas_create_handle(rocblas_handle* handle) {
  give(handle);
  return rocblas_status_success;
}
rocblas_status rocblas_destroy_handle(rocblas_handle) {
  return rocblas_status_success;
}
}
