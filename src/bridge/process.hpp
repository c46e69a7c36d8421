// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What else is in the process: a CUDA library that is not ours, or a second copy of this core, would share handles and
// memory with us without knowing it. Found at first device use and after later loads.
#pragma once

#include "base/result.hpp"

namespace rb::bridge {

/// Faults "foreign-cuda-library" and "second-core" (Errc::not_initialized), with the path and the remedy.
Status check_process();
/// The same, but looks only when libraries were loaded since the last look. For entries that are called seldom.
Status check_process_again();
/// Folder of this core.
const char* core_folder();

}  // namespace rb::bridge
