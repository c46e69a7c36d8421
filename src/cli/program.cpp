// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "cli/verb.hpp"

namespace rb::cli {
namespace {

const Verb kVerbs[] = {
    {"inspect", "Run presets through the CUDA libraries with full checks and show headline and table.",
     "rocbridge inspect conv2d --precision fp16", inspect_verb},
    {"run", "Start a program under the CUDA libraries.", "rocbridge run -- python3 train.py", run_verb},
    {"coverage", "The account of exports: mapped, emulated, trapped.", "rocbridge coverage --library cudnn8",
     coverage_verb},
    {"explain", "All about one export: status, targets, limits, tests, source line.",
     "rocbridge explain cudnnConvolutionForward", explain_verb},
    {"trace", "Read traces: info, dump, export, check.", "rocbridge trace dump DIR --format jsonl", trace_verb},
    {"doctor", "Find out what is missing here, and where every setting comes from.", "rocbridge doctor", doctor_verb},
};

std::string help() {
  std::string text =
      "Example:  rocbridge inspect conv2d\n\n"
      "rocbridge runs CUDA programs on AMD's libraries, or on a software AMD device, and checks their numbers.\n\n"
      "Usage: rocbridge VERB [OPTIONS]\n\nVerbs:\n";
  for (const Verb& verb : kVerbs) {
    std::string name = verb.name;
    name.resize(10, ' ');
    text += "  " + name + verb.synopsis + "\n";
  }
  text +=
      "  help      This text, or the help of one verb.\n"
      "  version   Version and build.\n\n"
      "Exit codes: 0 fine, 1 findings, 2 usage, 3 something missing, 4 damaged input, 5 our defect;\n"
      "run returns the program's own code. The result goes to standard output, everything else to standard error.\n";
  return text;
}

const Verb* find(const std::string& name) {
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return &verb;
  return nullptr;
}

int dispatch(const Args& all) {
  if (all.empty()) {
    std::fputs(help().c_str(), stderr);
    return kUsage;
  }
  std::string name = all.front();
  Args args(all.begin() + 1, all.end());
  if (name == "version" || name == "--version") {
    std::puts("rocbridge " ROCBRIDGE_VERSION);
    return kFine;
  }
  if (name == "help" || name == "--help" || name == "-h") {
    if (args.empty()) {
      std::fputs(help().c_str(), stdout);
      return kFine;
    }
    name = args.front();
    args = {"--help"};
  }
  if (const Verb* verb = find(name)) return verb->run(*verb, args);
  std::fprintf(stderr, "rocbridge: there is no verb \"%s\"; the verbs are:", name.c_str());
  for (const Verb& verb : kVerbs) std::fprintf(stderr, " %s", verb.name);
  std::fprintf(stderr, " help version\n");
  return kUsage;
}

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

int program(int argc, char** argv) {
  try {
    return dispatch(Args(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rocbridge: %s; this is a defect of rocbridge, please report it\n", error.what());
    return kDefect;
  }
}

}  // namespace rb::cli
