// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Everything that differs by operating system: memory mapping, shared memory, futex waiting, loading of libraries,
// processes, clocks. Linux in os_linux.cpp. No other folder includes a system header for these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace rb::os {

/// Monotonic clock in nanoseconds.
std::uint64_t now_ns();
/// Wall clock in nanoseconds since 1970.
std::uint64_t wall_ns();
void write_stderr(const char* data, std::size_t size);
std::uint32_t process_id();
std::uint32_t thread_id();
void set_thread_name(const char* name);
/// Starts a detached thread that takes none of the program's signals; false if the system gives none.
bool start_thread(void (*run)(void*), void* argument);
unsigned cpu_count();
/// Bytes of host memory that are free for use (Linux: MemAvailable, and the cgroup's limit).
std::uint64_t available_memory();
/// Resident bytes of this process.
std::uint64_t resident_memory();
/// Folder of the object (library or program) that holds `address`; empty if unknown.
std::string folder_of_code(const void* address);
/// Path of the object that holds `address`; empty if unknown.
std::string path_of_code(const void* address);

// ---- memory -------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kPage = 4096;
/// Address space that nobody can read or write; nullptr on failure.
void* reserve(std::size_t size);
/// Anonymous zeroed memory; nullptr on failure.
void* map_anonymous(std::size_t size);
/// Maps `size` bytes of a file handle for reading and writing, shared; nullptr on failure.
void* map_shared(int fd, std::size_t offset, std::size_t size);
/// The same, read only.
const void* map_shared_read(int fd, std::size_t offset, std::size_t size);
void unmap(void* address, std::size_t size);
/// After fork the mapping does not exist in the child.
void exclude_from_fork(void* address, std::size_t size);
/// A memory file without a name in the file system, closed on exec; -1 on failure.
int create_memory_file(const char* name, std::size_t size);
void close_file(int fd);

// ---- waiting on a word in (shared) memory --------------------------------------------------------------------------
/// Sleeps while *word == expected, at most timeout_ns (0: for ever). Wakes spuriously. Works between processes.
void futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::uint64_t timeout_ns);
void futex_wake(const std::atomic<std::uint32_t>* word, int count);
inline void futex_wake_all(const std::atomic<std::uint32_t>* word) {
  futex_wake(word, 1 << 30);
}

// ---- libraries -----------------------------------------------------------------------------------------------------
/// Opens a library by full path, symbols local. Null and `error` filled on failure.
void* open_library(const std::string& path, std::string* error);
void* find_symbol(void* library, const char* name);
/// Counts the libraries that were loaded into this process so far.
std::uint64_t library_loads();
/// Paths of all files mapped as code or data into this process (each once).
std::vector<std::string> mapped_files();

// ---- processes -----------------------------------------------------------------------------------------------------
struct Child {
  int pid = -1;
  int pidfd = -1;  ///< becomes readable when the process ends
};
/// Starts `path` with the given descriptors kept open under the numbers 3, 4, 5, ... in order. No shell, no signals or
/// handlers inherited, standard input is /dev/null, stdout goes to stderr.
Result<Child> spawn(const std::string& path, const std::vector<std::string>& arguments, const std::vector<int>& fds);
/// Whether the process behind the handle has ended. `status` gets the wait status if it is our child.
bool has_ended(const Child& child, int* status);
void kill_process(const Child& child);
/// A handle that becomes readable when process `pid` ends; -1 if it is gone or cannot be watched.
int watch_process(std::uint32_t pid);
/// Waits until one of the handles is readable; index, or -1 after timeout_ms.
int wait_readable(const std::vector<int>& fds, int timeout_ms);
/// Runs `in_child` in every child right after fork.
void on_fork_child(void (*in_child)());

}  // namespace rb::os
