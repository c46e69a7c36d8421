// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/writer.hpp"

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/log.hpp"
#include "base/os.hpp"
#include "base/os_files.hpp"
#include "trace/writer_state.hpp"

namespace rb::trace {
namespace detail {

std::atomic<std::uint8_t> g_level{0};
std::atomic<bool> g_counter{false};
thread_local Lane* t_lane = nullptr;
State g_state;

namespace {

/// A collector that has not moved for so long is taken for dead or stopped.
constexpr std::int64_t kBeatLimitNs = 10'000'000'000;
/// However lively the collector, no call waits longer than this for room.
constexpr std::uint64_t kWaitLimitNs = 30'000'000'000;
constexpr std::uint64_t kWaitStepNs = 20'000'000;

enum Phase : std::uint32_t { kNotStarted, kStarting, kReady, kFailed };
std::atomic<std::uint32_t> g_phase{kNotStarted};
std::atomic<std::uint32_t> g_rings{0};
std::atomic<bool> g_no_more_rings{false};
std::atomic<Lane*> g_lanes[kMaxRings];
std::atomic<ControlPage*> g_control{nullptr};
unsigned g_exit_key = 0;
bool g_process_wide_done = false;    // exit key and fork handler: once for the process and its forked children
thread_local bool t_inside = false;  // a signal handler that traces must not enter the start a second time

/// errno and cancellation stay as the application left them.
class Quiet {
 public:
  Quiet() : errno_(errno), cancel_(os::hold_cancellation()) {}
  ~Quiet() {
    os::restore_cancellation(cancel_);
    errno = errno_;
  }

 private:
  int errno_;
  int cancel_;
};

void give_back_lane(Lane* lane) {
  lane->building = false;
  lane->current_call = 0;
  lane->shared->tid.store(0, std::memory_order_relaxed);
  lane->owned.store(0, std::memory_order_release);
}

void thread_ends(void* value) {
  Lane* lane = static_cast<Lane*>(value);
  // After a fork the ring is the parent's.
  if (g_lanes[lane->index].load(std::memory_order_acquire) != lane) return;
  Quiet quiet;
  lane->building = false;
  t_lane = lane;
  const ThreadFixed fixed{os::thread_id(), lane->index};
  Record(Kind::thread_end, now(), &fixed, sizeof fixed).commit();
  t_lane = nullptr;
  give_back_lane(lane);
}

/// The rings are not mapped in the child. It gets its own at its first record.
void forget_in_child() {
  t_lane = nullptr;
  t_inside = false;
  const std::uint32_t made = g_rings.load();
  for (std::uint32_t i = 0; i < made && i < kMaxRings; ++i) g_lanes[i].store(nullptr, std::memory_order_relaxed);
  g_rings.store(0);
  g_no_more_rings.store(false);
  g_control.store(nullptr);
  g_state.parent_token = g_state.token;
  if (g_process_wide_done) os::set_exit_value(g_exit_key, nullptr);
  if (g_phase.load() != kFailed) g_phase.store(kNotStarted);
}

void switch_off(const char* what) {
  const int code = errno;
  g_level.store(0, std::memory_order_relaxed);
  RB_LOG(error, "trace", "%s in %s: %s; tracing is off. Give a writable folder with free space as ROCBRIDGE_TRACE_DIR.",
         what, g_state.directory, std::strerror(code));
}

bool map_control() {
  char path[kMaxPath + 32];
  std::snprintf(path, sizeof path, "%s/%s", g_state.directory, kControlName);
  const int fd = os::open_file(path, os::OpenFile::create);
  if (fd < 0) return false;
  ControlPage* page = nullptr;
  if (os::file_size(fd) >= static_cast<std::int64_t>(os::kPage) || os::reserve_file(fd, os::kPage))
    page = static_cast<ControlPage*>(os::map_shared(fd, 0, os::kPage));
  os::close_file(fd);
  if (page == nullptr) return false;
  os::exclude_from_fork(page, os::kPage);
  if (page->magic == 0) {
    page->version = kFormatVersion;
    page->magic = kControlMagic;
  }
  if (page->magic != kControlMagic || page->version != kFormatVersion) {
    os::unmap(page, os::kPage);
    errno = EINVAL;
    return false;
  }
  g_control.store(page, std::memory_order_release);
  return true;
}

bool start_process() {
  State& state = g_state;
  state.pid = os::process_id();
  start_clock(&state);
  // Two processes with one number (after an exec, or when numbers are used again) differ in time and address space.
  state.token = (state.wall_ns * 0x9e3779b97f4a7c15u) ^ (std::uint64_t{state.pid} << 32) ^ state.ticks[1];
  if (!os::make_folder(state.directory)) return switch_off("cannot make the folder"), false;
  if (!map_control()) return switch_off("cannot write collector.control"), false;
  if (!write_process_file(state)) return switch_off("cannot write the process file"), false;
  if (!g_process_wide_done) {
    if (!os::create_exit_key(&thread_ends, &g_exit_key)) {
      errno = EAGAIN;
      return switch_off("no thread key left"), false;
    }
    os::on_fork_child(&forget_in_child);
    g_process_wide_done = true;
  }
  return true;
}

bool start_once() {
  for (;;) {
    std::uint32_t phase = g_phase.load(std::memory_order_acquire);
    if (phase == kReady) return true;
    if (phase == kFailed) return false;
    if (phase == kNotStarted && g_phase.compare_exchange_strong(phase, kStarting)) {
      const bool ok = start_process();
      g_phase.store(ok ? kReady : kFailed, std::memory_order_release);
      os::futex_wake_all(&g_phase);
      return ok;
    }
    os::futex_wait(&g_phase, kStarting, kWaitStepNs);
  }
}

void ring_bell(ControlPage* control) {
  control->bell.fetch_add(1, std::memory_order_seq_cst);
  if (control->sleeping.load(std::memory_order_seq_cst) != 0) os::futex_wake_all(&control->bell);
}

/// Maps a ring file under a temporary name and publishes it when it is whole.
Lane* make_ring(std::uint32_t index) {
  const State& state = g_state;
  char path[kMaxPath + 64];
  char temporary[kMaxPath + 64];
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".r%04u%s", index, kRingSuffix);
  file_path(path, sizeof path, suffix);
  std::snprintf(suffix, sizeof suffix, ".r%04u%s.tmp", index, kRingSuffix);
  file_path(temporary, sizeof temporary, suffix);

  const std::uint64_t capacity = state.ring_bytes;
  const int fd = os::open_file(temporary, os::OpenFile::create_new);
  if (fd < 0) return nullptr;
  void* page = nullptr;
  void* data = nullptr;
  void* memory = nullptr;
  if (os::reserve_file(fd, kRingDataOffset + capacity)) {
    page = os::map_shared(fd, 0, kRingDataOffset);
    data = os::map_shared_twice(fd, kRingDataOffset, capacity);
    memory = os::map_anonymous(os::kPage);
  }
  os::close_file(fd);
  const auto give_up = [&]() -> Lane* {
    const int code = errno;
    if (page != nullptr) os::unmap(page, kRingDataOffset);
    if (data != nullptr) os::unmap(data, 2 * capacity);
    if (memory != nullptr) os::unmap(memory, os::kPage);
    os::remove_file(temporary);
    errno = code;
    return nullptr;
  };
  if (page == nullptr || data == nullptr || memory == nullptr) return give_up();
  os::exclude_from_fork(page, kRingDataOffset);
  os::exclude_from_fork(data, 2 * capacity);

  RingHeader* shared = static_cast<RingHeader*>(page);
  shared->magic = kRingMagic;
  shared->version = kFormatVersion;
  shared->data_offset = kRingDataOffset;
  shared->capacity = capacity;
  shared->token = state.token;
  shared->pid = state.pid;
  shared->ring = index;
  shared->clock = static_cast<std::uint32_t>(g_counter.load() ? ClockKind::counter : ClockKind::nanoseconds);
  shared->check = header_check(shared, offsetof(RingHeader, check));
  shared->clock_ticks[0].store(state.ticks[1]);
  shared->clock_ns[0].store(state.ns[1]);
  if (!os::rename_file(temporary, path)) return give_up();

  Lane* lane = new (memory) Lane;
  lane->data = static_cast<char*>(data);
  lane->mask = capacity - 1;
  lane->shared = shared;
  lane->index = index;
  // 2^17 rings and 2^36 calls a ring: an id is exact as a JSON number, and the first thread's are 1, 2, 3, ...
  lane->next_call = std::uint64_t{index} << 36;
  lane->owned.store(1, std::memory_order_relaxed);
  if (ControlPage* control = g_control.load(std::memory_order_acquire)) {
    control->rings_made.fetch_add(1, std::memory_order_release);
    ring_bell(control);
  }
  return lane;
}

Lane* find_lane() {
  const std::uint32_t made = g_rings.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < made && i < kMaxRings; ++i) {
    Lane* lane = g_lanes[i].load(std::memory_order_acquire);
    std::uint32_t free = 0;
    if (lane != nullptr && lane->owned.load(std::memory_order_relaxed) == 0 &&
        lane->owned.compare_exchange_strong(free, 1, std::memory_order_acquire))
      return lane;
  }
  if (g_no_more_rings.load(std::memory_order_relaxed)) return nullptr;
  const std::uint32_t index = g_rings.fetch_add(1);
  Lane* lane = index < kMaxRings ? make_ring(index) : nullptr;
  if (lane != nullptr) {
    g_lanes[index].store(lane, std::memory_order_release);
    return lane;
  }
  if (index >= kMaxRings) {
    g_rings.fetch_sub(1);
    errno = EMFILE;
  }
  if (g_lanes[0].load() == nullptr) {
    switch_off("cannot make a ring file");
  } else if (!g_no_more_rings.exchange(true)) {
    RB_LOG(error, "trace", "cannot make another ring file in %s: %s; records of new threads are dropped and counted",
           g_state.directory, std::strerror(errno));
  }
  return nullptr;
}

bool collector_is_there(const ControlPage* control) {
  if (control == nullptr || control->attached.load(std::memory_order_acquire) == 0) return false;
  // The beat may be younger than our reading of the clock: a signed distance.
  const std::int64_t age = static_cast<std::int64_t>(os::now_ns() - control->beat_ns.load(std::memory_order_relaxed));
  return age < kBeatLimitNs;
}

/// Sleeps until the collector has freed room. False: there is no collector that does.
bool wait_for_room(Lane* lane, std::uint64_t tail) {
  ControlPage* control = g_control.load(std::memory_order_acquire);
  if (!collector_is_there(control)) return false;
  RingHeader* shared = lane->shared;
  const std::uint32_t signal = shared->signal.load(std::memory_order_seq_cst);
  shared->waiting.store(1, std::memory_order_seq_cst);
  if (shared->tail.load(std::memory_order_seq_cst) == tail) {
    ring_bell(control);
    os::futex_wait(&shared->signal, signal, kWaitStepNs);
  }
  shared->waiting.store(0, std::memory_order_relaxed);
  if (shared->tail.load(std::memory_order_acquire) != tail) return true;
  // Nothing moved for a step: the lock tells at once whether the collector still lives.
  char path[kMaxPath + 32];
  std::snprintf(path, sizeof path, "%s/%s", g_state.directory, kControlName);
  if (os::file_is_locked(path)) return true;
  control->attached.store(0, std::memory_order_relaxed);
  return false;
}

}  // namespace

std::uint64_t slow_now() {
  return os::now_ns();
}

Lane* take_lane() {
  if (t_inside || !on()) return nullptr;
  Quiet quiet;
  t_inside = true;
  Lane* lane = start_once() ? find_lane() : nullptr;
  t_inside = false;
  if (lane == nullptr) {
    Lane* first = g_lanes[0].load(std::memory_order_acquire);
    if (first != nullptr) first->shared->dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  t_lane = lane;
  os::set_exit_value(g_exit_key, lane);
  const ThreadFixed fixed{os::thread_id(), lane->index};
  lane->shared->tid.store(fixed.tid, std::memory_order_relaxed);
  lane->next_sync = 0;
  Record record(Kind::thread_start, now(), &fixed, sizeof fixed);
  char name[16];
  os::thread_name(name, sizeof name);
  record.text(Tag::name, name);
  record.commit();
  return lane;
}

bool make_room(Lane* lane, std::uint64_t bytes) {
  const std::uint64_t capacity = lane->mask + 1;
  if (bytes > capacity / 2) return false;
  RingHeader* shared = lane->shared;
  std::uint64_t waiting_since = 0;
  for (;;) {
    const std::uint64_t dropped = shared->dropped.load(std::memory_order_relaxed);
    const bool gap = dropped != lane->dropped_told && !lane->building;
    const std::uint64_t need = bytes + (gap ? sizeof(RecordHeader) + sizeof(GapFixed) : 0);
    const std::uint64_t tail = shared->tail.load(std::memory_order_acquire);
    const std::uint64_t used = lane->head - tail;
    if (used > capacity) return false;  // somebody wrote into the header
    const std::uint64_t room = capacity - used;
    if (room >= need) {
      // A quarter at a time, so that the collector is woken in time.
      const std::uint64_t step = need > capacity / 4 ? need : capacity / 4;
      lane->limit = lane->head + (room < step ? room : step);
      ControlPage* control = g_control.load(std::memory_order_acquire);
      if (used > capacity / 2 && control != nullptr && control->attached.load(std::memory_order_relaxed) != 0) {
        const int code = errno;
        ring_bell(control);
        errno = code;
      }
      if (gap) {
        const GapFixed fixed{dropped - lane->dropped_told, dropped, shared->dropped_from.load(),
                             shared->dropped_to.load()};
        lane->dropped_told = dropped;
        Record(Kind::gap, fixed.to, &fixed, sizeof fixed).commit();
      }
      return true;
    }
    Quiet quiet;
    const std::uint64_t time = os::now_ns();
    if (waiting_since == 0) waiting_since = time;
    if (time - waiting_since > kWaitLimitNs || !wait_for_room(lane, tail)) return false;
  }
}

void count_drop(Lane* lane) {
  RingHeader* shared = lane->shared;
  const std::uint64_t time = now();
  if (shared->dropped.load(std::memory_order_relaxed) == lane->dropped_told)
    shared->dropped_from.store(time, std::memory_order_relaxed);
  shared->dropped_to.store(time, std::memory_order_relaxed);
  shared->dropped.fetch_add(1, std::memory_order_release);
}

void renew_clock(Lane* lane, std::uint64_t ticks) {
  RingHeader* shared = lane->shared;
  const std::uint32_t slot = 1 - (shared->clock_slot.load(std::memory_order_relaxed) & 1);
  shared->clock_ticks[slot].store(now(), std::memory_order_relaxed);
  shared->clock_ns[slot].store(os::now_ns(), std::memory_order_relaxed);
  shared->clock_slot.store(slot, std::memory_order_release);
  lane->next_sync = ticks + g_state.sync_ticks;
}

}  // namespace detail

bool Record::grow(std::size_t more) {
  detail::Lane* lane = lane_;
  if (lane == nullptr) return false;
  const std::uint64_t need = static_cast<std::uint64_t>(cursor_ - begin_) + more;
  if (!detail::make_room(lane, need)) {
    detail::count_drop(lane);
    lane->building = false;
    lane_ = nullptr;
    cursor_ = end_ = begin_;
    return false;
  }
  end_ = begin_ + (lane->limit - lane->head);
  return true;
}

bool parse_level(std::string_view text, Level* level) {
  if (text == "off") return *level = Level::off, true;
  if (text == "calls") return *level = Level::calls, true;
  if (text == "full") return *level = Level::full, true;
  return false;
}

bool init(const NameTables& names, const Options& options) {
  detail::State& state = detail::g_state;
  state.names = names;
  state.level = options.level;
  if (options.level == Level::off) return true;
  char relative[detail::kMaxPath];
  if (options.directory.empty() || options.directory.size() >= sizeof relative) return false;
  std::memcpy(relative, options.directory.data(), options.directory.size());
  relative[options.directory.size()] = '\0';
  if (!os::absolute_path(relative, state.directory, sizeof state.directory)) return false;
  std::snprintf(state.version, sizeof state.version, "%s", options.version);
  std::snprintf(state.build, sizeof state.build, "%s", options.build);
  std::uint64_t bytes = kMinRingBytes;
  while (bytes < options.ring_bytes && bytes < kMaxRingBytes) bytes *= 2;
  state.ring_bytes = bytes;
  detail::g_counter.store(os::counter_is_clock(), std::memory_order_relaxed);
  detail::g_level.store(static_cast<std::uint8_t>(options.level), std::memory_order_relaxed);
  return true;
}

}  // namespace rb::trace
