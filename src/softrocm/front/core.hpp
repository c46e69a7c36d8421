// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What the front's libraries (MIOpen, rocBLAS) share with the HIP front: submitting operations to a stream, checking
// device addresses. Implemented in front/hip.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/hip.h"

namespace soft {

/// Puts an operation on a stream (nullptr: the legacy default stream of the current device) and returns at once.
/// `payload` is copied. hipErrorInvalidHandle for a stream that is not live, hipErrorNoDevice / the device's error when
/// the device cannot be started or was lost.
hipError_t submit(hipStream_t stream, std::uint32_t operation, const void* payload, std::size_t size);

/// Whether [address, address + bytes) lies inside one live allocation that the device may touch. Lock-free.
bool device_can_touch(const void* address, std::size_t bytes);

/// Whether the stream is null or live.
bool stream_is_live(hipStream_t stream);

/// Waits until everything submitted to the stream is done; the stream's or device's error if there is one.
hipError_t synchronize(hipStream_t stream);

/// gfx name of the device's profile ("gfx1200"), and its wavefront size.
const char* device_gfx();
int device_wavefront();

/// Device memory for the libraries' own workspaces (rocBLAS): counted as the library's, not the application's.
hipError_t allocate(void** address, std::size_t bytes);
hipError_t release(void* address);

}  // namespace soft
