// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Decides which stream's oldest command runs next, and runs it. Two workers: the primary runs everything, the helper
// only light commands (copies, fills), so that these go on beside a long computation. There is never more than one
// computation at a time.
//
// A command may run when it is its stream's oldest, and
//   - on the legacy default stream: no blocking stream still has a command with a smaller ticket;
//   - on a blocking stream: the legacy default stream has no command with a smaller ticket;
//   - for a wait: the other stream's timeline has reached the sequence.
// Every condition points to smaller tickets, so there is no cycle.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "softrocm/engine/exec/operation.hpp"
#include "softrocm/wire/segments.hpp"

namespace soft::engine {

class Scheduler {
 public:
  explicit Scheduler(const wire::Segments& segments);

  /// Body of a worker thread; returns when the device is lost.
  void run(bool primary);

  /// Whether a command has been running for longer than the watchdog allows.
  bool is_stuck() const;

 private:
  struct Task {
    unsigned stream = 0;
    const wire::Record* record = nullptr;
  };
  struct Found {
    bool task = false;     ///< there is a command for this worker
    bool more = false;     ///< and another one
    bool compute = false;  ///< a computation waits for the primary
    bool later = false;    ///< the adverse scheduler holds something back: look again soon
  };
  struct Local {
    bool running = false;  ///< a worker or the front's host thread has the oldest command
    bool in_host = false;
    std::uint64_t held_ticket = 0;  ///< adverse scheduler: since when this command could have run
    std::uint64_t held_since = 0;
  };

  Found find(bool primary, Task* task);
  bool advance(unsigned stream, const wire::Record** ready, bool* later);
  bool may_run(unsigned stream, const wire::Record& record);
  bool is_held(unsigned stream, const wire::Record& record);
  void complete(unsigned stream, const wire::Record& record);
  void post_host(unsigned stream);
  void execute(const Task& task, bool primary);
  void idle(bool primary, std::uint32_t bell, std::uint32_t helper_bell, std::uint64_t last_work);

  wire::Segments segments_;
  wire::Control& control_;
  std::mutex mutex_;
  Local local_[wire::kMaxStreams];
  unsigned next_ = 0;  ///< where the next round starts, for fairness
  bool computing_ = false;
  std::atomic<std::uint64_t> started_[2];  ///< per worker: when its command began, 0 when it has none
};

}  // namespace soft::engine
