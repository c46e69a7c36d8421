// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Files, file mappings and thread exit as the trace needs them. What may run inside an application (all but
// list_folder) uses no heap and opens everything close-on-exec. Linux in os_files_linux.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rb::os {

enum class OpenFile : std::uint8_t {
  read,        ///< must exist
  read_write,  ///< must exist
  create,      ///< reading and writing, created when missing
  create_new,  ///< reading and writing, must not exist
};

/// Descriptor, or -1 with errno set.
int open_file(const char* path, OpenFile how);
/// Sets the size and reserves the blocks, so that a later write through a mapping cannot meet a full disk.
bool reserve_file(int fd, std::uint64_t size);
/// Size in bytes, or -1.
std::int64_t file_size(int fd);
/// Bytes read at `offset` (fewer only at the end of the file), or -1.
std::int64_t read_file_at(int fd, std::uint64_t offset, void* data, std::size_t size);
/// Appends everything; false (errno set) when not all could be written.
bool write_file_all(int fd, const void* data, std::size_t size);
bool truncate_file(int fd, std::uint64_t size);
bool rename_file(const char* from, const char* to);
bool remove_file(const char* path);
/// Makes the folder and its parents; true if it is there afterwards.
bool make_folder(const char* path);
/// Names (not paths) of the entries of a folder, sorted.
std::vector<std::string> list_folder(const char* path);
bool is_folder(const char* path);
bool is_file(const std::string& path);
/// `path` with links resolved; as it is when it does not exist.
std::string real_path(const std::string& path);
/// Writes the full form of `path` (not resolved, only made absolute); false if it does not fit.
bool absolute_path(const char* path, char* buffer, std::size_t size);

/// Takes the file's exclusive lock without waiting. It goes when the descriptor's last copy is closed, so also when
/// the process is killed.
bool try_lock_file(int fd);
/// Whether somebody else holds that lock. False if the file cannot be opened.
bool file_is_locked(const char* path);

/// Maps `size` bytes at `offset` twice in a row, so that what runs over the end continues at the beginning. Both
/// must be multiples of the page size. nullptr on failure; the mapping is 2 * size long.
void* map_shared_twice(int fd, std::size_t offset, std::size_t size);

/// Fills `buffer` with the program's full path; empty string if unknown.
void program_path(char* buffer, std::size_t size);
/// The program's arguments, each ended by a zero byte; bytes written.
std::size_t program_arguments(char* buffer, std::size_t size);
std::uint32_t parent_process_id();
/// Name of the calling thread; `buffer` of 16 bytes at least.
void thread_name(char* buffer, std::size_t size);
/// Whether a process with that number exists.
bool process_exists(std::uint32_t pid);

/// Calls `function(value)` when a thread that has set a value ends. False if no key is left.
bool create_exit_key(void (*function)(void*), unsigned* key);
void set_exit_value(unsigned key, void* value);
/// Keeps pthread_cancel from ending the thread in the middle of a step; gives the state to restore.
int hold_cancellation();
void restore_cancellation(int state);
/// Whether the processor's time stamp counter runs at one rate on all cores and the system itself uses it.
bool counter_is_clock();

}  // namespace rb::os
