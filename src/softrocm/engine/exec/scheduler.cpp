// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/engine/exec/scheduler.hpp"

#include <bit>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/log.hpp"
#include "base/os.hpp"
#include "softrocm/engine/exec/registry.hpp"
#include "softrocm/engine/exec/settings.hpp"
#include "softrocm/wire/commands.hpp"

namespace soft::engine {
namespace {

/// How long the primary looks at the doorbell before it sleeps: covers the time between two calls of a busy program.
constexpr std::uint64_t kSpinNs = 60'000;
constexpr unsigned kNone = ~0u;

class WorkerContext final : public Context {
 public:
  explicit WorkerContext(const wire::Segments& segments) : segments_(segments) {}
  void* memory(std::uint64_t address, std::uint64_t bytes) override { return segments_.memory(address, bytes); }
  unsigned threads() const override { return settings().threads; }
  const char* fault() const override { return settings().fault.c_str(); }

 private:
  const wire::Segments& segments_;
};

bool is_compute(const wire::Record& record) {
  return record.operation >= wire::kOperationDnnFirst;
}

/// Whether another worker should look after the other streams meanwhile.
bool is_long(const wire::Record& record) {
  constexpr std::uint64_t kLongBytes = 64u << 10;
  if (is_compute(record)) return true;
  if (record.operation == wire::kCommandCopy) {
    const auto& p = *static_cast<const wire::CopyPayload*>(record.payload());
    return p.width * p.height * p.depth > kLongBytes;
  }
  if (record.operation == wire::kCommandFill) {
    const auto& p = *static_cast<const wire::FillPayload*>(record.payload());
    return p.count * p.height * p.depth * p.element_bytes > kLongBytes;
  }
  return false;
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void wake_helper(wire::Control& control) {
  control.helper_bell.fetch_add(1, std::memory_order_seq_cst);
  rb::os::futex_wake_all(&control.helper_bell);
}

}  // namespace

Scheduler::Scheduler(const wire::Segments& segments) : segments_(segments), control_(*segments.control) {
  for (auto& started : started_) started.store(0);
}

bool Scheduler::is_stuck() const {
  if (control_.watchdog_ms == 0) return false;
  const std::uint64_t now = rb::os::now_ns();
  for (const auto& started : started_) {
    const std::uint64_t since = started.load(std::memory_order_relaxed);
    if (since != 0 && now > since && now - since > std::uint64_t{control_.watchdog_ms} * 1'000'000u) return true;
  }
  return false;
}

bool Scheduler::may_run(unsigned stream, const wire::Record& record) {
  if (record.operation == wire::kCommandWait) {
    const auto& wait = *static_cast<const wire::WaitPayload*>(record.payload());
    if (control_.streams[wait.stream].completed.load(std::memory_order_acquire) < wait.sequence) return false;
  }
  if (stream != 0) {
    if ((control_.streams[stream].flags.load(std::memory_order_relaxed) & wire::kStreamBlocking) == 0) return true;
    const wire::Record* null_stream = segments_.ring(0).front();
    return null_stream == nullptr || null_stream->ticket > record.ticket;
  }
  for (unsigned word = 0; word < wire::kMaxStreams / 64; ++word) {
    std::uint64_t bits = control_.active[word].load(std::memory_order_seq_cst);
    for (; bits != 0; bits &= bits - 1) {
      const unsigned other = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
      if (other == 0) continue;
      if ((control_.streams[other].flags.load(std::memory_order_relaxed) & wire::kStreamBlocking) == 0) continue;
      const wire::Record* oldest = segments_.ring(other).front();
      if (oldest != nullptr && oldest->ticket < record.ticket) return false;
    }
  }
  return true;
}

/// The adverse scheduler holds every fourth command back for up to 400 µs, chosen by seed and ticket.
bool Scheduler::is_held(unsigned stream, const wire::Record& record) {
  const std::uint64_t hash = mix(control_.schedule_seed ^ mix(record.ticket + 1));
  if ((hash & 3u) != 0) return false;
  Local& local = local_[stream];
  const std::uint64_t now = rb::os::now_ns();
  if (local.held_ticket != record.ticket + 1) {
    local.held_ticket = record.ticket + 1;
    local.held_since = now;
  }
  return now - local.held_since < (hash >> 8) % 400'000u;
}

void Scheduler::complete(unsigned stream, const wire::Record& record) {
  segments_.ring(stream).pop(record);
  wire::publish_completion(control_.streams[stream]);
}

void Scheduler::post_host(unsigned stream) {
  local_[stream].running = true;
  local_[stream].in_host = true;
  const std::uint32_t post = control_.host_posted.load(std::memory_order_relaxed);
  control_.host_queue[post % wire::kMaxStreams].store(stream, std::memory_order_relaxed);
  control_.host_posted.store(post + 1, std::memory_order_release);
  rb::os::futex_wake_all(&control_.host_posted);
}

/// Does what takes no time (records, satisfied waits, posting of host functions, their completion) and stops at the
/// first command that a worker has to run. True if anything became complete.
bool Scheduler::advance(unsigned stream, const wire::Record** ready, bool* later) {
  *ready = nullptr;
  bool progress = false;
  wire::StreamControl& shared = control_.streams[stream];
  wire::Ring ring = segments_.ring(stream);
  for (;;) {
    Local& local = local_[stream];
    if (local.running) {
      const std::uint64_t sequence = shared.completed.load(std::memory_order_relaxed) + 1;
      if (!local.in_host || shared.host_done.load(std::memory_order_acquire) != static_cast<std::uint32_t>(sequence))
        return progress;
      local.running = local.in_host = false;
      complete(stream, *ring.front());
      progress = true;
      continue;
    }
    const wire::Record* record = ring.front();
    if (record == nullptr) {
      const std::uint64_t bit = std::uint64_t{1} << (stream % 64);
      control_.active[stream / 64].fetch_and(~bit, std::memory_order_seq_cst);
      if (shared.written.load(std::memory_order_seq_cst) == shared.read.load(std::memory_order_relaxed))
        return progress;
      control_.active[stream / 64].fetch_or(bit, std::memory_order_seq_cst);
      continue;
    }
    if (!may_run(stream, *record)) return progress;
    if (control_.schedule_seed != 0 && is_held(stream, *record)) {
      *later = true;
      return progress;
    }
    const bool failed = control_.device_error.load(std::memory_order_relaxed) != 0;
    switch (record->operation) {
      case wire::kCommandRecord: {
        const auto& p = *static_cast<const wire::RecordPayload*>(record->payload());
        wire::EventControl& event = control_.events[p.event % wire::kMaxEvents];
        if (event.ticket.load(std::memory_order_relaxed) < record->ticket) {
          event.time_ns.store(rb::os::now_ns(), std::memory_order_relaxed);
          event.ticket.store(record->ticket, std::memory_order_release);
        }
        break;
      }
      case wire::kCommandWait:
      case wire::kOperationEmpty:
        break;
      case wire::kCommandHost:
        if (failed && static_cast<const wire::HostPayload*>(record->payload())->kind == wire::kHostFunction) break;
        post_host(stream);
        return progress;
      default:
        if (failed) break;  // a failed device computes nothing more; what waits for it is let go
        *ready = record;
        return progress;
    }
    complete(stream, *record);
    progress = true;
  }
}

Scheduler::Found Scheduler::find(bool primary, Task* task) {
  Found found;
  unsigned best = kNone;
  const wire::Record* best_record = nullptr;
  std::uint64_t best_rank = ~std::uint64_t{0};
  bool progress = true;
  // A completion can make a stream ready that this round has already passed: then look again.
  while (progress) {
    progress = false;
    found = Found{};
    best = kNone;
    best_rank = ~std::uint64_t{0};
    for (unsigned word = 0; word < wire::kMaxStreams / 64; ++word) {
      std::uint64_t bits = control_.active[word].load(std::memory_order_seq_cst);
      for (; bits != 0; bits &= bits - 1) {
        const unsigned stream = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        const wire::Record* record = nullptr;
        progress |= advance(stream, &record, &found.later);
        if (record == nullptr) continue;
        const bool compute = is_compute(*record);
        if (compute && computing_) continue;
        if (compute && !primary) {
          found.compute = true;
          continue;
        }
        const std::uint32_t flags = control_.streams[stream].flags.load(std::memory_order_relaxed);
        const unsigned priority = (flags & wire::kStreamHigh) != 0 ? 0 : (flags & wire::kStreamLow) != 0 ? 2 : 1;
        std::uint64_t rank = (stream + wire::kMaxStreams - next_) % wire::kMaxStreams;
        if (control_.schedule_seed != 0)
          rank = mix(control_.schedule_seed + record->ticket) >> 8;
        else
          rank += (priority * 2 + (compute ? 0 : 1)) * wire::kMaxStreams;
        if (best != kNone) found.more = true;
        if (rank < best_rank) {
          best_rank = rank;
          best = stream;
          best_record = record;
        }
      }
    }
  }
  if (best == kNone) return found;
  found.task = true;
  next_ = (best + 1) % wire::kMaxStreams;
  local_[best].running = true;
  if (is_compute(*best_record)) computing_ = true;
  *task = Task{best, best_record};
  return found;
}

void Scheduler::execute(const Task& task, bool primary) {
  const wire::Record& record = *task.record;
  std::atomic<std::uint64_t>& started = started_[primary ? 0 : 1];
  started.store(rb::os::now_ns(), std::memory_order_relaxed);
  Outcome outcome = Outcome::internal;
  if (record.operation == wire::kCommandFill && is_shown_by_executor(settings().fault)) {
    if (settings().fault == "crash") std::abort();
    for (;;) std::this_thread::yield();
  }
  const Handler handler = find_operation(record.operation);
  if (handler == nullptr) {
    outcome = Outcome::unsupported;
  } else {
    WorkerContext context(segments_);
    try {
      outcome = handler(context, record.payload(), record.payload_bytes);
    } catch (const std::bad_alloc&) {
      outcome = Outcome::out_of_memory;
    } catch (const std::exception& error) {
      RB_LOG(error, "softrocm", "operation %u: %s", record.operation, error.what());
    } catch (...) {
      RB_LOG(error, "softrocm", "operation %u ended by an exception", record.operation);
    }
  }
  started.store(0, std::memory_order_relaxed);
  if (outcome != Outcome::ok) {
    RB_LOG(error, "softrocm", "operation %u failed with outcome %u: the device reports an error from now on",
           record.operation, static_cast<unsigned>(outcome));
    std::uint32_t none = 0;
    control_.device_error.compare_exchange_strong(none, static_cast<std::uint32_t>(outcome));
  }
  std::lock_guard lock(mutex_);
  if (is_compute(record)) computing_ = false;
  local_[task.stream].running = false;
  complete(task.stream, record);
}

void Scheduler::idle(bool primary, std::uint32_t bell, std::uint32_t helper_bell, std::uint64_t last_work) {
  if (!primary) {
    rb::os::futex_wait(&control_.helper_bell, helper_bell, 0);
    return;
  }
  for (unsigned round = 1; rb::os::now_ns() - last_work < kSpinNs; ++round) {
    if (control_.doorbell.load(std::memory_order_acquire) != bell) return;
    if (round % 16 == 0) std::this_thread::yield();
  }
  control_.primary_state.store(wire::kPrimaryAsleep, std::memory_order_seq_cst);
  if (control_.doorbell.load(std::memory_order_seq_cst) == bell) rb::os::futex_wait(&control_.doorbell, bell, 0);
  control_.primary_state.store(wire::kPrimaryAwake, std::memory_order_seq_cst);
}

void Scheduler::run(bool primary) {
  rb::os::set_thread_name(primary ? "rb-compute" : "rb-copy");
  std::uint64_t last_work = rb::os::now_ns();
  while (control_.lost.load(std::memory_order_relaxed) == wire::kLostNot) {
    const std::uint32_t bell = control_.doorbell.load(std::memory_order_seq_cst);
    const std::uint32_t helper_bell = control_.helper_bell.load(std::memory_order_seq_cst);
    Task task;
    Found found;
    {
      std::lock_guard lock(mutex_);
      found = find(primary, &task);
    }
    if (!primary && found.compute) {
      // The primary sleeps (it would have taken it) or is busy and will look again by itself.
      control_.doorbell.fetch_add(1, std::memory_order_seq_cst);
      rb::os::futex_wake_all(&control_.doorbell);
    }
    if (!found.task) {
      if (found.later) {
        std::this_thread::sleep_for(std::chrono::microseconds(30));
      } else {
        idle(primary, bell, helper_bell, last_work);
      }
      continue;
    }
    if (primary && is_long(*task.record)) {
      control_.primary_state.store(wire::kPrimaryBusy, std::memory_order_seq_cst);
      if (found.more || found.later || control_.doorbell.load(std::memory_order_seq_cst) != bell) wake_helper(control_);
      execute(task, primary);
      control_.primary_state.store(wire::kPrimaryAwake, std::memory_order_seq_cst);
    } else {
      execute(task, primary);
    }
    last_work = rb::os::now_ns();
  }
}

}  // namespace soft::engine
