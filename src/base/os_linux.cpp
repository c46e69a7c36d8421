// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/os.hpp"

extern char** environ;

namespace rb::os {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Number in the first line of a file, or `otherwise` ("max" included).
std::uint64_t number_in_file(const char* path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

}  // namespace

std::uint64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
std::uint64_t wall_ns() {
  return clock_ns(CLOCK_REALTIME);
}

void write_stderr(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDERR_FILENO, data, size);
    if (written <= 0) {
      if (written < 0 && errno == EINTR) continue;
      return;
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::uint32_t process_id() {
  return static_cast<std::uint32_t>(::getpid());
}
std::uint32_t thread_id() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}
void set_thread_name(const char* name) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
}

namespace {

struct ThreadStart {
  void (*run)(void*);
  void* argument;
};

void* run_thread(void* start) {
  const ThreadStart copy = *static_cast<ThreadStart*>(start);
  delete static_cast<ThreadStart*>(start);
  copy.run(copy.argument);
  return nullptr;
}

}  // namespace

bool start_thread(void (*run)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  ThreadStart* start = new ThreadStart{run, argument};
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, run_thread, start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    delete start;
    return false;
  }
  pthread_detach(thread);
  return true;
}

unsigned cpu_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return 1;
}

std::uint64_t available_memory() {
  std::uint64_t free_bytes = 0;
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::uint64_t value = 0;
  std::string unit;
  while (info >> key >> value) {
    std::getline(info, unit);
    if (key == "MemAvailable:") free_bytes = value * 1024;
  }
  const std::uint64_t none = ~std::uint64_t{0};
  const std::uint64_t limit = number_in_file("/sys/fs/cgroup/memory.max", none);
  if (limit != none) {
    const std::uint64_t used = number_in_file("/sys/fs/cgroup/memory.current", 0);
    const std::uint64_t left = limit > used ? limit - used : 0;
    if (left < free_bytes) free_bytes = left;
  }
  return free_bytes;
}

std::uint64_t resident_memory() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * kPage;
}

std::string path_of_code(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  char full[4096];
  return ::realpath(info.dli_fname, full) != nullptr ? std::string(full) : std::string(info.dli_fname);
}

std::string folder_of_code(const void* address) {
  const std::string path = path_of_code(address);
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

void* reserve(std::size_t size) {
  void* p = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void* map_anonymous(std::size_t size) {
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void* map_shared(int fd, std::size_t offset, std::size_t size) {
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  return p == MAP_FAILED ? nullptr : p;
}

const void* map_shared_read(int fd, std::size_t offset, std::size_t size) {
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  return p == MAP_FAILED ? nullptr : p;
}

void unmap(void* address, std::size_t size) {
  ::munmap(address, size);
}
void exclude_from_fork(void* address, std::size_t size) {
  ::madvise(address, size, MADV_DONTFORK);
}

int create_memory_file(const char* name, std::size_t size) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

void close_file(int fd) {
  if (fd >= 0) ::close(fd);
}

void futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::uint64_t timeout_ns) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(timeout_ns / 1000000000u);
  time.tv_nsec = static_cast<long>(timeout_ns % 1000000000u);
  ::syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(word), FUTEX_WAIT, expected,
            timeout_ns != 0 ? &time : nullptr, nullptr, 0);
}

void futex_wake(const std::atomic<std::uint32_t>* word, int count) {
  ::syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(word), FUTEX_WAKE, count, nullptr, nullptr, 0);
}

void* open_library(const std::string& path, std::string* error) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && error != nullptr) {
    const char* reason = ::dlerror();
    *error = reason != nullptr ? reason : "unknown error of dlopen";
  }
  return handle;
}

void* find_symbol(void* library, const char* name) {
  return ::dlsym(library, name);
}

std::uint64_t library_loads() {
  std::uint64_t loads = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_adds;
        return 1;  // the first object tells
      },
      &loads);
  return loads;
}

std::vector<std::string> mapped_files() {
  std::set<std::string> seen;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t slash = line.find('/');
    if (slash != std::string::npos) seen.insert(line.substr(slash));
  }
  return {seen.begin(), seen.end()};
}

Result<Child> spawn(const std::string& path, const std::vector<std::string>& arguments, const std::vector<int>& fds) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  // Two steps, so that a source number is never overwritten before it was copied.
  std::vector<int> high;
  for (int fd : fds) high.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, 512));
  for (std::size_t i = 0; i < high.size(); ++i)
    posix_spawn_file_actions_adddup2(&actions, high[i], static_cast<int>(3 + i));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: an interrupt from the terminal ends the program first, and the device with it.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // The tool's own preloads are for the program, not for its device.
  std::vector<char*> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (::strncmp(*entry, "LD_PRELOAD=", 11) != 0 && ::strncmp(*entry, "LD_AUDIT=", 9) != 0)
      environment.push_back(*entry);
  environment.push_back(nullptr);
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int fd : high) close_file(fd);
  if (code != 0) return fail(Errc::not_initialized, "device-start", "%s: %s", path.c_str(), ::strerror(code));
  return Child{pid, watch_process(static_cast<std::uint32_t>(pid))};
}

bool has_ended(const Child& child, int* status) {
  int value = 0;
  const pid_t got = ::waitpid(child.pid, &value, WNOHANG);
  if (got == child.pid) {
    if (status != nullptr) *status = value;
    return true;
  }
  // The program may ignore SIGCHLD or reap children itself: then only the handle can tell.
  return got < 0 && (child.pidfd < 0 ? ::kill(child.pid, 0) != 0 : wait_readable({child.pidfd}, 0) == 0);
}

void kill_process(const Child& child) {
  if (child.pidfd >= 0)
    ::syscall(SYS_pidfd_send_signal, child.pidfd, SIGKILL, nullptr, 0);
  else if (child.pid > 0)
    ::kill(child.pid, SIGKILL);
}

int watch_process(std::uint32_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

int wait_readable(const std::vector<int>& fds, int timeout_ms) {
  std::vector<pollfd> polled;
  for (int fd : fds) polled.push_back({fd, POLLIN, 0});
  const int count = ::poll(polled.data(), polled.size(), timeout_ms);
  if (count <= 0) return -1;
  for (std::size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents != 0) return static_cast<int>(i);
  return -1;
}

void on_fork_child(void (*in_child)()) {
  ::pthread_atfork(nullptr, nullptr, in_child);
}

}  // namespace rb::os
