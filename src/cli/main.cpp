// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/verb.hpp"

int main(int argc, char** argv) {
  return rb::cli::program(argc, argv);
}
