// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/lookup.hpp"

#include <cstring>

#include "bridge/driver_entries.hpp"

namespace rb::bridge {

Lookup find_driver_function(const char* symbol, int version, bool per_thread, void** function) {
  *function = nullptr;
  bool known = false;
  // Sorted by name, the plain forms before the per-thread ones, old before new: the last that fits is the newest. Where
  // a name has no per-thread form the plain one serves (it touches no stream).
  const driver::LookupRow* plain = nullptr;
  const driver::LookupRow* threaded = nullptr;
  for (unsigned i = 0; i < driver::kLookupRowCount; ++i) {
    const driver::LookupRow& row = driver::kLookupRows[i];
    if (std::strcmp(row.name, symbol) != 0) continue;
    known = true;
    if (row.version > version) continue;
    (row.per_thread ? threaded : plain) = &row;
  }
  const driver::LookupRow* found = per_thread && threaded != nullptr ? threaded : plain;
  if (found == nullptr) return known ? Lookup::version_too_old : Lookup::not_found;
  *function = found->function;
  return Lookup::found;
}

}  // namespace rb::bridge

namespace rb::driver {

using namespace bridge;

Status get_proc_address_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                           CUdriverProcAddressQueryResult* symbolStatus) {
  if (symbol == nullptr || pfn == nullptr)
    return fail(Errc::invalid_value, "null-input", "%s is null", symbol == nullptr ? "symbol" : "pfn");
  if (flags > 2)
    return fail(Errc::invalid_value, "bad-flags", "flags are 0x%llx; 0, 1 and 2 exist",
                static_cast<unsigned long long>(flags));
  const Lookup found = find_driver_function(symbol, cudaVersion, flags == 2, pfn);
  if (symbolStatus != nullptr) *symbolStatus = static_cast<CUdriverProcAddressQueryResult>(static_cast<int>(found));
  if (found != Lookup::found)
    return fail(Errc::not_found, "no-driver-function", "'%.80s' is not there for CUDA %d", symbol, cudaVersion);
  return {};
}

Status get_proc_address(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  return get_proc_address_v2(symbol, pfn, cudaVersion, flags, nullptr);
}

Status get_export_table(const void** ppExportTable, const CUuuid*) {
  if (ppExportTable != nullptr) *ppExportTable = nullptr;
  return fail(Errc::invalid_value, "no-export-table", "there are no undocumented tables");
}

}  // namespace rb::driver
