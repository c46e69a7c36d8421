// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The object of `inspect --format json` (schema rocbridge.inspect/1, docs/reference/inspect-report.md). Absent evidence
// is null, never 0.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "inspect/run.hpp"

namespace rb::inspect {

/// Largest relative L1 against CPU PyTorch, where a preset measured it.
struct PyTorchDrift {
  Drift drift;
  std::uint64_t checked = 0;    ///< results compared
  std::uint64_t unchecked = 0;  ///< results that are missing
};

enum class Outcome { pass, fail, trapped, unchecked };
const char* outcome_word(Outcome outcome);

/// PASS needs checks, no finding, nothing unchecked and nothing lost. A finding makes TRAPPED under policy trap and
/// FAIL under warn; a program that failed without a finding makes FAIL.
Outcome outcome_of(const Run& run, const std::string& policy);

nlohmann::ordered_json report_json(const Run& run, const nlohmann::ordered_json& settings, const std::string& policy,
                                   const std::optional<PyTorchDrift>& pytorch, bool with_stream);

}  // namespace rb::inspect
