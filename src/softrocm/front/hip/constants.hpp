// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Flag values that HIP's headers define as macros, and sets of the ones that are allowed together.
#pragma once

#include <cstdint>

namespace soft {

inline constexpr unsigned kHipStreamDefault = 0;
inline constexpr unsigned kHipStreamNonBlocking = 1;

inline constexpr unsigned kHipEventBlockingSync = 1;
inline constexpr unsigned kHipEventDisableTiming = 2;
inline constexpr unsigned kHipEventInterprocess = 4;
/// disable-system-fence, release-to-device, release-to-system: accepted, without meaning here.
inline constexpr unsigned kHipEventReleaseFlags = 0xe0000000u;
inline constexpr unsigned kHipEventFlags = 7u | kHipEventReleaseFlags;

inline constexpr unsigned kHipHostMallocPortable = 1;
inline constexpr unsigned kHipHostMallocMapped = 2;
inline constexpr unsigned kHipHostMallocWriteCombined = 4;
/// numa-user, coherent, non-coherent.
inline constexpr unsigned kHipHostMallocFlags = 7u | 0xe0000000u;
inline constexpr unsigned kHipHostMallocCoherent = 0x40000000u;
inline constexpr unsigned kHipHostMallocNonCoherent = 0x80000000u;

/// portable, mapped, io-memory, read-only, extended coarse-grained.
inline constexpr unsigned kHipHostRegisterFlags = 0xfu | 8u;

inline constexpr unsigned kHipMemAttachGlobal = 1;
inline constexpr unsigned kHipMemAttachHost = 2;
inline constexpr unsigned kHipMemAttachSingle = 4;

/// spin, yield, blocking sync (one of them), map host, LMEM resize.
inline constexpr unsigned kHipDeviceScheduleMask = 7;
inline constexpr unsigned kHipDeviceFlags = 0x1fu;

/// Device number in attributes of memory that is not the device's.
inline constexpr int kHipInvalidDevice = -2;

}  // namespace soft
