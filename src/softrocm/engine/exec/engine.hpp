// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The engine as a whole: registers the operations, starts the workers, watches them and the program it works for.
#pragma once

#include "softrocm/wire/segments.hpp"

namespace soft::engine {

/// Serves until the device is lost or the process behind `parent_fd` (-1: none) has ended.
void serve(const wire::Segments& segments, int parent_fd);

/// Makes soft.engine=inprocess possible in this program: the front then runs serve() on threads of the program.
void enable_inprocess();

}  // namespace soft::engine
