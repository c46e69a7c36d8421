// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace rb::integrity {

void parallel_for(int threads, std::int64_t count, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    const DefaultFloat settings;
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(count);
      }
    }
  };
  std::vector<std::thread> helpers;
  const std::int64_t wanted = std::min<std::int64_t>(threads, count) - 1;
  for (std::int64_t i = 0; i < wanted; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::exception&) {  // no thread or no memory: the others do the work
      break;
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace rb::integrity
