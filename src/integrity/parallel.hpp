// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Runs the tasks of one reference on a few threads that end with it: no pool outlives a check.
#pragma once

#include <cfenv>
#include <cstdint>
#include <functional>

namespace rb::integrity {

/// Calls task(i) for every i below `count`, on the calling thread and up to threads - 1 others. Falls back to fewer
/// threads when the system gives none. A task that throws ends the loop; the exception reaches the caller.
void parallel_for(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task);

/// Default rounding, subnormals kept, for the life of the object: a program may run with other settings (PyTorch's
/// set_flush_denormal), and threads inherit them.
class DefaultFloat {
 public:
  DefaultFloat() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloat() { std::fesetenv(&saved_); }
  DefaultFloat(const DefaultFloat&) = delete;
  DefaultFloat& operator=(const DefaultFloat&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace rb::integrity
