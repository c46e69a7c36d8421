// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>

#include "base/os_files.hpp"

namespace rb::os {

int open_file(const char* path, OpenFile how) {
  int flags = O_CLOEXEC;
  switch (how) {
    case OpenFile::read:
      flags |= O_RDONLY;
      break;
    case OpenFile::read_write:
      flags |= O_RDWR;
      break;
    case OpenFile::create:
      flags |= O_RDWR | O_CREAT;
      break;
    case OpenFile::create_new:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
  }
  int fd = -1;
  do {
    fd = ::open(path, flags, 0644);
  } while (fd < 0 && errno == EINTR);
  // Never one of the standard streams: a program that closed them would write its output into our file.
  if (fd >= 0 && fd <= 2) {
    const int higher = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    ::close(fd);
    fd = higher;
  }
  return fd;
}

bool reserve_file(int fd, std::uint64_t size) {
  int code = 0;
  do {
    code = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (code == EINTR);
  if (code != 0) errno = code;
  return code == 0;
}

std::int64_t file_size(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

std::int64_t read_file_at(int fd, std::uint64_t offset, void* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, static_cast<char*>(data) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

bool write_file_all(int fd, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool truncate_file(int fd, std::uint64_t size) {
  return ::ftruncate(fd, static_cast<off_t>(size)) == 0;
}
bool rename_file(const char* from, const char* to) {
  return ::rename(from, to) == 0;
}
bool remove_file(const char* path) {
  return ::unlink(path) == 0;
}

bool is_folder(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string real_path(const std::string& path) {
  char full[4096];
  return ::realpath(path.c_str(), full) != nullptr ? std::string(full) : path;
}

bool absolute_path(const char* path, char* buffer, std::size_t size) {
  std::size_t used = 0;
  if (path[0] != '/') {
    if (::getcwd(buffer, size) == nullptr) return false;
    used = ::strlen(buffer);
    if (used + 1 >= size) return false;
    buffer[used++] = '/';
  }
  const std::size_t length = ::strlen(path);
  if (used + length >= size) return false;
  ::memcpy(buffer + used, path, length + 1);
  return true;
}

bool make_folder(const char* path) {
  char part[4096];
  const std::size_t length = ::strlen(path);
  if (length == 0 || length >= sizeof part) return false;
  ::memcpy(part, path, length + 1);
  for (std::size_t i = 1; i < length; ++i) {
    if (part[i] != '/') continue;
    part[i] = '\0';
    ::mkdir(part, 0755);
    part[i] = '/';
  }
  ::mkdir(part, 0755);
  return is_folder(path);
}

std::vector<std::string> list_folder(const char* path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool try_lock_file(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool file_is_locked(const char* path) {
  const int fd = open_file(path, OpenFile::read);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return locked;
}

void* map_shared_twice(int fd, std::size_t offset, std::size_t size) {
  void* base = ::mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  for (std::size_t half = 0; half < 2; ++half) {
    void* part = ::mmap(static_cast<char*>(base) + half * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                        fd, static_cast<off_t>(offset));
    if (part == MAP_FAILED) {
      ::munmap(base, 2 * size);
      return nullptr;
    }
  }
  return base;
}

void program_path(char* buffer, std::size_t size) {
  const ssize_t length = ::readlink("/proc/self/exe", buffer, size - 1);
  buffer[length > 0 ? length : 0] = '\0';
}

std::size_t program_arguments(char* buffer, std::size_t size) {
  const int fd = open_file("/proc/self/cmdline", OpenFile::read);
  if (fd < 0) return 0;
  const std::int64_t got = read_file_at(fd, 0, buffer, size);
  ::close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::uint32_t parent_process_id() {
  return static_cast<std::uint32_t>(::getppid());
}

void thread_name(char* buffer, std::size_t size) {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name, 0, 0, 0);
  const std::size_t length = std::min(::strnlen(name, sizeof name), size - 1);
  ::memcpy(buffer, name, length);
  buffer[length] = '\0';
}

bool process_exists(std::uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

bool create_exit_key(void (*function)(void*), unsigned* key) {
  pthread_key_t created = 0;
  if (::pthread_key_create(&created, function) != 0) return false;
  *key = created;
  return true;
}

void set_exit_value(unsigned key, void* value) {
  ::pthread_setspecific(key, value);
}

int hold_cancellation() {
  int before = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void restore_cancellation(int state) {
  ::pthread_setcancelstate(state, nullptr);
}

bool counter_is_clock() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // CPUID 0x80000007, EDX bit 8: the counter's rate does not depend on frequency or power state.
  if (__get_cpuid(0x80000007u, &a, &b, &c, &d) == 0 || (d & 0x100u) == 0) return false;
  const int fd = open_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", OpenFile::read);
  if (fd < 0) return false;
  char name[8] = {};
  const std::int64_t got = read_file_at(fd, 0, name, sizeof name - 1);
  ::close(fd);
  return got >= 3 && ::memcmp(name, "tsc", 3) == 0;
#else
  return false;
#endif
}

}  // namespace rb::os
