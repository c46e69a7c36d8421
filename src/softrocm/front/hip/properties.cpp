// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/properties.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>

#include "softrocm/front/hip/device.hpp"

namespace soft {
namespace {

constexpr int kMaxThreadsPerBlock = 1024;
constexpr int kMaxGridX = 0x7fffffff;
constexpr int kMaxGridYZ = 65535;
constexpr int kMaxPitch = 0x7fffffff;
constexpr int kTextureAlignment = 256;

int saturate(std::uint64_t value) {
  return static_cast<int>(std::min<std::uint64_t>(value, INT_MAX));
}

void fill_arch(hipDeviceArch_t* arch) {
  arch->hasGlobalInt32Atomics = 1;
  arch->hasGlobalFloatAtomicExch = 1;
  arch->hasSharedInt32Atomics = 1;
  arch->hasSharedFloatAtomicExch = 1;
  arch->hasFloatAtomicAdd = 1;
  arch->hasGlobalInt64Atomics = 1;
  arch->hasSharedInt64Atomics = 1;
  arch->hasDoubles = 1;
  arch->hasWarpVote = 1;
  arch->hasWarpBallot = 1;
  arch->hasWarpShuffle = 1;
  arch->hasFunnelShift = 0;
  arch->hasThreadFenceSystem = 1;
  arch->hasSyncThreadsExt = 0;
  arch->hasSurfaceFuncs = 0;
  arch->has3dGrid = 1;
  arch->hasDynamicParallelism = 0;
}

/// What both layouts share.
template <class Properties>
void fill_common(Properties* out) {
  const wire::Profile& p = *configuration().profile;
  *out = Properties{};
  std::snprintf(out->name, sizeof out->name, "%s", p.name);
  std::snprintf(out->gcnArchName, sizeof out->gcnArchName, "%s", p.arch_name);
  out->totalGlobalMem = device_memory_bytes();
  out->sharedMemPerBlock = static_cast<std::size_t>(p.lds_per_block);
  out->regsPerBlock = p.registers_per_block;
  out->warpSize = configuration().wavefront;
  out->maxThreadsPerBlock = kMaxThreadsPerBlock;
  out->maxThreadsDim[0] = out->maxThreadsDim[1] = out->maxThreadsDim[2] = kMaxThreadsPerBlock;
  out->maxGridSize[0] = kMaxGridX;
  out->maxGridSize[1] = out->maxGridSize[2] = kMaxGridYZ;
  out->clockRate = p.clock_khz;
  out->memoryClockRate = p.memory_clock_khz;
  out->memoryBusWidth = p.memory_bus_bits;
  out->totalConstMem = static_cast<std::size_t>(saturate(device_memory_bytes()));
  out->major = p.major;
  out->minor = p.minor;
  out->multiProcessorCount = p.multiprocessors;
  out->l2CacheSize = p.l2_bytes;
  out->maxThreadsPerMultiProcessor = p.max_threads_per_multiprocessor;
  out->computeMode = hipComputeModeDefault;
  out->clockInstructionRate = p.wall_clock_khz;
  fill_arch(&out->arch);
  out->concurrentKernels = 1;
  out->pciDomainID = p.pci_domain;
  out->pciBusID = p.pci_bus;
  out->pciDeviceID = p.pci_slot;
  out->maxSharedMemoryPerMultiProcessor = static_cast<std::size_t>(p.lds_per_multiprocessor);
  out->canMapHostMemory = 1;
  out->integrated = 0;
  out->cooperativeLaunch = 0;
  out->cooperativeMultiDeviceLaunch = 0;
  out->maxTexture1DLinear = p.max_texture_1d_linear;
  out->maxTexture1D = p.max_texture_1d;
  for (int i = 0; i < 2; ++i) out->maxTexture2D[i] = p.max_texture_2d[i];
  for (int i = 0; i < 3; ++i) out->maxTexture3D[i] = p.max_texture_3d[i];
  out->memPitch = kMaxPitch;
  out->textureAlignment = kTextureAlignment;
  out->texturePitchAlignment = kTextureAlignment;
  out->ECCEnabled = p.ecc;
  out->isLargeBar = p.large_bar;
  out->asicRevision = p.asic_revision;
  out->managedMemory = 1;
  out->concurrentManagedAccess = 1;
}

}  // namespace

void put_uuid(hipUUID* uuid) {
  // "GPU-" and twelve characters, as AMD's are text; the same for every run of one profile.
  char text[sizeof uuid->bytes + 1];
  std::snprintf(text, sizeof text, "GPU-soft%08x", static_cast<unsigned>(configuration().profile->pci_device_id));
  std::copy(text, text + sizeof uuid->bytes, uuid->bytes);
}

void fill_properties(hipDeviceProp_tR0000* out) {
  fill_common(out);
  out->gcnArch = configuration().profile->gcn_arch;
}

void fill_properties(hipDeviceProp_tR0600* out) {
  const wire::Profile& p = *configuration().profile;
  fill_common(out);
  put_uuid(&out->uuid);
  out->deviceOverlap = 1;
  out->maxTexture1DMipmap = p.max_texture_1d;
  for (int i = 0; i < 2; ++i) out->maxTexture2DMipmap[i] = p.max_texture_2d[i];
  out->asyncEngineCount = p.async_engines;
  out->unifiedAddressing = 1;
  out->streamPrioritiesSupported = 1;
  out->sharedMemPerMultiprocessor = static_cast<std::size_t>(p.lds_per_multiprocessor);
  out->sharedMemPerBlockOptin = static_cast<std::size_t>(p.lds_per_block);
  out->regsPerMultiprocessor = p.registers_per_multiprocessor;
  out->maxBlocksPerMultiProcessor = p.max_blocks_per_multiprocessor;
  out->hostNativeAtomicSupported = 0;
  out->hostRegisterSupported = 1;
  out->memoryPoolsSupported = 1;
  out->surfaceAlignment = kTextureAlignment;
}

bool device_attribute(hipDeviceAttribute_t attribute, int* value) {
  const wire::Profile& p = *configuration().profile;
  const auto is = [value](long long number) {
    *value = static_cast<int>(number);
    return true;
  };
  switch (static_cast<int>(attribute)) {
    case hipDeviceAttributeEccEnabled:
      return is(p.ecc);
    case hipDeviceAttributeAsyncEngineCount:
      return is(p.async_engines);
    case hipDeviceAttributeClockRate:
      return is(p.clock_khz);
    case hipDeviceAttributeMemoryClockRate:
      return is(p.memory_clock_khz);
    case hipDeviceAttributeMemoryBusWidth:
      return is(p.memory_bus_bits);
    case hipDeviceAttributeWallClockRate:
      return is(p.wall_clock_khz);
    case hipDeviceAttributeL2CacheSize:
      return is(p.l2_bytes);
    case hipDeviceAttributeComputeMode:
      return is(hipComputeModeDefault);
    case hipDeviceAttributeComputeCapabilityMajor:
      return is(p.major);
    case hipDeviceAttributeComputeCapabilityMinor:
      return is(p.minor);
    case hipDeviceAttributeMultiprocessorCount:
      return is(p.multiprocessors);
    case hipDeviceAttributePhysicalMultiProcessorCount:
      return is(p.compute_units);
    case hipDeviceAttributeWarpSize:
      return is(configuration().wavefront);
    case hipDeviceAttributeMaxBlocksPerMultiProcessor:
      return is(p.max_blocks_per_multiprocessor);
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return is(p.max_threads_per_multiprocessor);
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      return is(kMaxThreadsPerBlock);
    case hipDeviceAttributeMaxGridDimX:
      return is(kMaxGridX);
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      return is(kMaxGridYZ);
    case hipDeviceAttributeMaxSurface1D:
    case hipDeviceAttributeMaxTexture1DWidth:
      return is(p.max_texture_1d);
    case hipDeviceAttributeMaxTexture1DLinear:
      return is(p.max_texture_1d_linear);
    case hipDeviceAttributeMaxTexture2DWidth:
      return is(p.max_texture_2d[0]);
    case hipDeviceAttributeMaxTexture2DHeight:
      return is(p.max_texture_2d[1]);
    case hipDeviceAttributeMaxTexture3DWidth:
      return is(p.max_texture_3d[0]);
    case hipDeviceAttributeMaxTexture3DHeight:
      return is(p.max_texture_3d[1]);
    case hipDeviceAttributeMaxTexture3DDepth:
      return is(p.max_texture_3d[2]);
    case hipDeviceAttributeMaxPitch:
      return is(kMaxPitch);
    case hipDeviceAttributePciBusId:
      return is(p.pci_bus);
    case hipDeviceAttributePciDeviceId:
      return is(p.pci_slot);
    case hipDeviceAttributePciDomainID:
      return is(p.pci_domain);
    case hipDeviceAttributeMaxRegistersPerBlock:
      return is(p.registers_per_block);
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      return is(p.registers_per_multiprocessor);
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
      return is(p.lds_per_block);
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return is(p.lds_per_multiprocessor);
    case hipDeviceAttributeSurfaceAlignment:
    case hipDeviceAttributeTextureAlignment:
    case hipDeviceAttributeTexturePitchAlignment:
      return is(kTextureAlignment);
    case hipDeviceAttributeTotalConstantMemory:
    case hipDeviceAttributeTotalGlobalMem:
      return is(saturate(device_memory_bytes()));
    case hipDeviceAttributeIsLargeBar:
      return is(p.large_bar);
    case hipDeviceAttributeAsicRevision:
      return is(p.asic_revision);
    case hipDeviceAttributeImageSupport:
      return is(p.images);
    case hipDeviceAttributeFineGrainSupport:
      return is(p.fine_grain);
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeDeviceOverlap:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeHostRegisterSupported:
      return is(1);
    case hipDeviceAttributeAccessPolicyMaxWindowSize:
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
    case hipDeviceAttributeComputePreemptionSupported:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
    case hipDeviceAttributeDirectManagedMemAccessFromHost:
    case hipDeviceAttributeGlobalL1CacheSupported:
    case hipDeviceAttributeHostNativeAtomicSupported:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeIsMultiGpuBoard:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributeLocalL1CacheSupported:
    case hipDeviceAttributeLuidDeviceNodeMask:
    case hipDeviceAttributeMultiGpuBoardGroupID:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributePersistingL2CacheMaxSize:
    case hipDeviceAttributeReservedSharedMemPerBlock:
    case hipDeviceAttributeVirtualMemoryManagementSupported:
    case hipDeviceAttributeMemoryPoolSupportedHandleTypes:
    case hipDeviceAttributeHdpMemFlushCntl:
    case hipDeviceAttributeHdpRegFlushCntl:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
    case hipDeviceAttributeCanUseStreamWaitValue:
      return is(0);
    default:
      return false;
  }
}

}  // namespace soft
