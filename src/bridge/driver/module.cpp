// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/context.hpp"
#include "bridge/driver_entries.hpp"

namespace rb::driver {

Status module_get_loading_mode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return fail(Errc::invalid_value, "null-output", "mode is null");
  *mode = CU_MODULE_LAZY_LOADING;
  return {};
}

}  // namespace rb::driver
