// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Evidence from the traces that tests leave behind.
#pragma once

#include <map>
#include <string>

#include "inspect/coverage.hpp"

namespace rb::inspect {

/// Reads every trace in a sub-folder of `folder` (its name is the test's) and counts successes and passed checks of
/// each entry. Faults: "missing-trace" if there is none at all, "damaged-trace".
Result<std::map<std::string, Evidence>> collect_evidence(const std::string& folder);

}  // namespace rb::inspect
