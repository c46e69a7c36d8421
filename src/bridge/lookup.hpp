// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Driver functions by name, as cuGetProcAddress and cudaGetDriverEntryPoint give them.
#pragma once

namespace rb::bridge {

enum class Lookup : int { found, not_found, version_too_old };  ///< numbers of CUdriverProcAddressQueryResult

/// The newest form of `symbol` that CUDA `version` knows. Only what is implemented is found.
Lookup find_driver_function(const char* symbol, int version, bool per_thread, void** function);

}  // namespace rb::bridge
