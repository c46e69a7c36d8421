// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "softrocm/front/hip/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "base/os_files.hpp"
#include "softrocm/wire/control.hpp"

namespace soft {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kStartNs = 20'000'000'000u;
/// Without a heartbeat for so long the engine counts as stuck, whatever the watchdog is set to.
constexpr std::uint64_t kSilenceNs = 10'000'000'000u;

/// Every call that uses the device looks whether the engine lives, at most this often.
constexpr std::uint64_t kCallCheckNs = 50'000'000;

struct Device {
  std::mutex mutex;
  std::atomic<Session*> current{nullptr};
  std::atomic<bool> forked{false};
  hipError_t start_error = hipSuccess;  ///< kept until reset, so that a program does not try for ever
  bool fork_watched = false;
  // Made once, kept over resets.
  int device_fd = -1;
  int host_fd = -1;
  std::byte* app_range = nullptr;  ///< the addresses that the application sees; no access
  std::byte* window = nullptr;     ///< the front's access to the same bytes
  std::byte* host = nullptr;
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;
  Arena device_arena;
  Arena host_arena;
};

Device& device() {
  static Device& instance = *new Device;
  return instance;
}

Configuration read_configuration() {
  Configuration result;
  const std::string arch = rb::controls::text("soft.arch");
  const long long wave = rb::controls::number("soft.wave");
  const wire::Profile* profile = nullptr;
  std::string known;
  for (std::size_t i = 0; i < wire::kProfileCount; ++i) {
    const wire::Profile& candidate = wire::kProfiles[i];
    known += (known.empty() ? "" : ", ") + std::string(candidate.gfx);
    if (arch.empty() ? candidate.is_default : arch == candidate.gfx) profile = &candidate;
  }
  if (profile == nullptr) {
    result.why = rb::text("there is no profile for ROCBRIDGE_ARCH=%s; known: %s", arch.c_str(), known.c_str());
    return result;
  }
  result.wavefront = wave == 0 ? profile->wave_sizes[0] : static_cast<int>(wave);
  if (wave != 0 && wave != profile->wave_sizes[0] && wave != profile->wave_sizes[1]) {
    result.why = rb::text("ROCBRIDGE_WAVE=%lld: %s (%s) cannot run waves of that size, only of %d", wave, profile->gfx,
                          profile->name, profile->wave_sizes[0]);
    if (profile->wave_sizes[1] != 0) result.why += rb::text(" or %d", profile->wave_sizes[1]);
    return result;
  }
  result.profile = profile;
  return result;
}

std::string engine_program() {
  if (const char* path = std::getenv("ROCBRIDGE_DEVICE_PROGRAM"); path != nullptr && path[0] != 0) return path;
  const std::string folder = rb::os::folder_of_code(reinterpret_cast<const void*>(&engine_program));
  // Build tree: build/lib/rocm/6 -> build/bin. Installed: lib/rocbridge/rocm/6 -> bin.
  for (const char* way : {"/../../../bin/rocbridge-device", "/../../../../bin/rocbridge-device"}) {
    const int fd = rb::os::open_file((folder + way).c_str(), rb::os::OpenFile::read);
    rb::os::close_file(fd);
    if (fd >= 0) return folder + way;
  }
  return folder + "/../../../bin/rocbridge-device";
}

/// Maps the arenas. Called with the mutex held.
bool make_arenas(Device& d) {
  if (d.host != nullptr) return true;
  d.device_bytes = device_memory_bytes();
  d.host_bytes = std::max<std::uint64_t>(rb::os::available_memory() / 2 / kMiB * kMiB, 64 * kMiB);
  d.device_fd = rb::os::create_memory_file("rocbridge-device-memory", d.device_bytes);
  d.host_fd = rb::os::create_memory_file("rocbridge-host-memory", d.host_bytes);
  if (d.device_fd < 0 || d.host_fd < 0) return false;
  d.app_range = static_cast<std::byte*>(rb::os::reserve(d.device_bytes));
  d.window = static_cast<std::byte*>(rb::os::map_shared(d.device_fd, 0, d.device_bytes));
  std::byte* host = static_cast<std::byte*>(rb::os::map_shared(d.host_fd, 0, d.host_bytes));
  if (d.app_range == nullptr || d.window == nullptr || host == nullptr) return false;
  rb::os::exclude_from_fork(d.app_range, d.device_bytes);
  rb::os::exclude_from_fork(d.window, d.device_bytes);
  rb::os::exclude_from_fork(host, d.host_bytes);
  d.device_arena.reset(reinterpret_cast<std::uint64_t>(d.app_range), d.device_bytes, 256);
  d.host_arena.reset(reinterpret_cast<std::uint64_t>(host), d.host_bytes, 4096);
  d.host = host;
  return true;
}

/// Starts rocbridge-device and waits until it serves. Called with the mutex held.
bool start_engine(Device& d, Session& session, int control_fd) {
  if (rb::controls::text("soft.engine") == "inprocess") {
    const wire::InprocessEngine start = wire::inprocess_engine();
    if (start == nullptr) {
      RB_LOG(error, "softrocm", "soft.engine=inprocess: the engine is not linked into this program; unset it");
      return false;
    }
    start(session.segments);
    return true;
  }
  const std::string program = engine_program();
  const int self = rb::os::watch_process(rb::os::process_id());
  auto started = rb::os::spawn(program, {"--parent", std::to_string(rb::os::process_id())},
                               {control_fd, d.device_fd, d.host_fd, self});
  rb::os::close_file(self);
  if (!started.ok()) {
    RB_LOG(error, "softrocm", "the device's program cannot be started: %s", started.fault().text.c_str());
    return false;
  }
  // The program that was started forks and ends, so that the device is not the application's child.
  const rb::os::Child first = *started;
  const std::uint64_t begin = rb::os::now_ns();
  bool ended = false;
  int status = 0;
  std::uint32_t pid = 0;
  while (rb::os::now_ns() - begin < kStartNs) {
    pid = session.control->engine_pid.load();
    if (!ended) ended = rb::os::has_ended(first, &status);
    if ((pid != 0 && ended) || (ended && status != 0)) break;
    if (ended && rb::os::now_ns() - begin > kStartNs / 2) break;
    rb::os::futex_wait(&session.control->engine_pid, pid, 1'000'000);
  }
  rb::os::close_file(first.pidfd);
  if (pid == 0) {
    RB_LOG(error, "softrocm", "%s did not start (status %d)", program.c_str(), status);
    return false;
  }
  session.engine.pid = static_cast<int>(pid);
  session.engine.pidfd = rb::os::watch_process(pid);
  if (session.engine.pidfd < 0) wire::mark_lost(*session.control, wire::kLostEnded);
  return true;
}

/// A program may have closed or reused our descriptor; only a second, fresh look counts.
bool has_ended(const rb::os::Child& engine) {
  if (rb::os::wait_readable({engine.pidfd}, 0) != 0) return false;
  const int again = rb::os::watch_process(static_cast<std::uint32_t>(engine.pid));
  const bool ended = again < 0 || rb::os::wait_readable({again}, 0) == 0;
  rb::os::close_file(again);
  return ended;
}

Session* start_session(Device& d) {
  if (!make_arenas(d)) {
    RB_LOG(error, "softrocm",
           "the device's memory cannot be mapped (%llu bytes of device, %llu of host memory); "
           "set ROCBRIDGE_SOFT_MEMORY to less",
           static_cast<unsigned long long>(d.device_bytes), static_cast<unsigned long long>(d.host_bytes));
    return nullptr;
  }
  const std::size_t bytes = wire::control_size(d.device_bytes);
  const int control_fd = rb::os::create_memory_file("rocbridge-control", bytes);
  void* mapped = control_fd < 0 ? nullptr : rb::os::map_shared(control_fd, 0, bytes);
  if (mapped == nullptr) {
    RB_LOG(error, "softrocm", "the control segment cannot be mapped (%zu bytes)", bytes);
    rb::os::close_file(control_fd);
    return nullptr;
  }
  rb::os::exclude_from_fork(mapped, bytes);
  wire::Control* control = static_cast<wire::Control*>(mapped);  // a new file is zero, which is every atomic's start
  control->magic = wire::kMagic;
  control->control_bytes = bytes;
  control->device_base = reinterpret_cast<std::uint64_t>(d.app_range);
  control->device_bytes = d.device_bytes;
  control->host_base = reinterpret_cast<std::uint64_t>(d.host);
  control->host_bytes = d.host_bytes;
  control->pattern_seed = 0x726f636272696467u;
  control->next_ticket.store(1);  // 0 means in an event's slot that nothing was recorded
  control->schedule_seed = static_cast<std::uint64_t>(rb::controls::number("soft.schedule_seed"));
  const long long watchdog = rb::controls::number("soft.watchdog_ms");
  control->watchdog_ms = static_cast<std::uint32_t>(std::clamp<long long>(watchdog, 0, 0x7fffffff));
  control->wavefront = static_cast<std::uint32_t>(configuration().wavefront);
  std::snprintf(control->gfx, sizeof control->gfx, "%s", configuration().profile->gfx);
  control->streams[0].flags.store(wire::kStreamBlocking);
  Session* session = new Session;
  session->control = control;
  session->segments = wire::Segments{control, d.window, d.host};
  if (!d.fork_watched) {
    d.fork_watched = true;
    rb::os::on_fork_child([] { device().forked.store(true); });
  }
  const bool started = start_engine(d, *session, control_fd);
  rb::os::close_file(control_fd);
  if (!started) {
    rb::os::unmap(mapped, bytes);
    delete session;
    return nullptr;
  }
  RB_LOG(info, "softrocm", "software device %s (%s), wave%d, engine %d: unverified on silicon",
         configuration().profile->gfx, configuration().profile->name, configuration().wavefront, session->engine.pid);
  return session;
}

}  // namespace

const Configuration& configuration() {
  static const Configuration& instance = *new Configuration(read_configuration());
  return instance;
}

hipError_t check_configuration() {
  if (configuration().profile != nullptr) return hipSuccess;
  RB_LOG_ONCE(error, "softrocm", "no device: %s", configuration().why.c_str());
  return hipErrorNoDevice;
}

std::uint64_t device_memory_bytes() {
  static const std::uint64_t bytes = [] {
    const std::uint64_t profile = static_cast<std::uint64_t>(configuration().profile->memory_bytes);
    const std::uint64_t host = rb::os::available_memory() / 10 * 6;
    const long long wanted = rb::controls::number("soft.memory");
    const char* why = "the profile's memory";
    std::uint64_t least = profile;
    if (host < least) {
      least = host;
      why = "60 % of the host's free memory";
    }
    if (wanted > 0 && static_cast<std::uint64_t>(wanted) < least) {
      least = static_cast<std::uint64_t>(wanted);
      why = "soft.memory";
    }
    least = std::max<std::uint64_t>(least / kMiB * kMiB, kMiB);
    RB_LOG(info, "softrocm", "device memory: %llu MiB, %s", static_cast<unsigned long long>(least / kMiB), why);
    return least;
  }();
  return bytes;
}

hipError_t session(Session** out) {
  Device& d = device();
  if (d.forked.load(std::memory_order_relaxed)) return hipErrorNotInitialized;
  *out = d.current.load(std::memory_order_acquire);
  if (*out != nullptr) {
    check_engine(**out, kCallCheckNs);
    return device_status(**out);
  }
  if (const hipError_t error = check_configuration(); error != hipSuccess) return error;
  std::lock_guard lock(d.mutex);
  *out = d.current.load(std::memory_order_acquire);
  if (*out != nullptr) return device_status(**out);
  if (d.start_error != hipSuccess) return d.start_error;
  *out = start_session(d);
  if (*out == nullptr) return d.start_error = hipErrorNoDevice;
  d.current.store(*out, std::memory_order_release);
  return hipSuccess;
}

Session* running_session() {
  Device& d = device();
  return d.forked.load(std::memory_order_relaxed) ? nullptr : d.current.load(std::memory_order_acquire);
}

bool is_forked_child() {
  return device().forked.load(std::memory_order_relaxed);
}

hipError_t device_status(const Session& session) {
  const wire::Control& control = *session.control;
  switch (control.lost.load(std::memory_order_relaxed)) {
    case wire::kLostNot:
      break;
    case wire::kLostStuck:
      return hipErrorLaunchTimeOut;
    case wire::kLostStart:
      return hipErrorNoDevice;
    default:
      return hipErrorLaunchFailure;
  }
  switch (control.device_error.load(std::memory_order_relaxed)) {
    case wire::kDeviceOk:
      return hipSuccess;
    case wire::kDeviceInvalidAddress:
      return hipErrorIllegalAddress;
    case wire::kDeviceOutOfMemory:
      return hipErrorLaunchOutOfResources;
    default:
      return hipErrorLaunchFailure;
  }
}

void check_engine(Session& session, std::uint64_t interval_ns) {
  if (session.engine.pid < 0) return;
  const std::uint64_t now = rb::os::now_ns();
  std::uint64_t last = session.last_check_ns.load(std::memory_order_relaxed);
  if (now - last < interval_ns || !session.last_check_ns.compare_exchange_strong(last, now)) return;
  wire::Control& control = *session.control;
  if (control.lost.load() != wire::kLostNot) return;
  if (has_ended(session.engine)) {
    RB_LOG(error, "softrocm", "the device's process (%d) has ended: the device is lost until hipDeviceReset",
           session.engine.pid);
    wire::mark_lost(control, wire::kLostEnded);
    return;
  }
  // A stopped engine cannot watch itself. Silence is measured only while somebody here looks regularly, so that a
  // program that was itself suspended does not blame the engine.
  static std::atomic<std::uint32_t> seen{0};
  static std::atomic<std::uint64_t> silent_ns{0};
  const std::uint32_t beat = control.heartbeat.load(std::memory_order_relaxed);
  if (seen.exchange(beat) != beat || now - last > 1'000'000'000u) {
    silent_ns.store(0);
    return;
  }
  if (silent_ns.fetch_add(now - last) + (now - last) < kSilenceNs) return;
  silent_ns.store(0);
  RB_LOG(error, "softrocm", "the device's process (%d) does not answer: the device is lost until hipDeviceReset",
         session.engine.pid);
  rb::os::kill_process(session.engine);
  wire::mark_lost(control, wire::kLostStuck);
}

void discard_session(Session& session) {
  Device& d = device();
  std::lock_guard lock(d.mutex);
  if (d.current.load() != &session) return;
  d.start_error = hipSuccess;
  d.current.store(nullptr, std::memory_order_release);
  wire::mark_lost(*session.control, wire::kLostEnded);
  if (session.engine.pid > 0) rb::os::kill_process(session.engine);
}

Arena& device_arena() {
  return device().device_arena;
}
Arena& host_arena() {
  return device().host_arena;
}

void pattern_host(std::uint64_t address, std::uint64_t bytes, std::uint64_t fresh_from) {
  const std::uint64_t begin = std::max(address, fresh_from);
  if (begin >= address + bytes) return;
  wire::write_pattern(0x686f7374u, begin, reinterpret_cast<void*>(begin), address + bytes - begin);
}

}  // namespace soft
