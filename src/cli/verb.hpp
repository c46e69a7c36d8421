// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The verbs of the program: one row each in kVerbs (program.cpp), one file each in this folder.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rb::cli {

/// Exit codes, the same for every verb (docs/guide/command-line.md).
enum Exit : int {
  kFine = 0,
  kFindings = 1,  ///< findings against policy; under inspect also anything unchecked
  kUsage = 2,     ///< wrong usage
  kMissing = 3,   ///< a backend, file or right is missing
  kDamaged = 4,   ///< damaged input
  kDefect = 5,    ///< a defect of ours
};

using Args = std::vector<std::string>;

struct Verb {
  const char* name;
  const char* synopsis;  ///< one sentence for the list of verbs
  const char* example;   ///< shown first in its --help
  int (*run)(const Verb& verb, const Args& args);
};

std::span<const Verb> verbs();

int inspect_verb(const Verb& verb, const Args& args);
int run_verb(const Verb& verb, const Args& args);
int coverage_verb(const Verb& verb, const Args& args);
int explain_verb(const Verb& verb, const Args& args);
int trace_verb(const Verb& verb, const Args& args);
int doctor_verb(const Verb& verb, const Args& args);

/// The whole program: finds the verb and runs it. Returns the exit code.
int program(int argc, char** argv);

}  // namespace rb::cli
