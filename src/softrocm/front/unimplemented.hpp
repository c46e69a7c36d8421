// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// AMD functions that softrocm exports but does not build: they return their library's not-implemented status and say so
// once a function. The jump stubs load the row's number and come to soft_unimplemented.
#pragma once

namespace soft {

struct UnimplementedRow {
  const char* name;
  const char* soname;
  int status;
};
extern const UnimplementedRow kUnimplemented[];
extern const unsigned kUnimplementedCount;

}  // namespace soft
