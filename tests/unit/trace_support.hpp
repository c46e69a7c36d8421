// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// For the trace tests: folders of their own, programs that trace (forked children, because a process traces into one
// folder for all its life), and whole traces read into memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/collector.hpp"
#include "trace/export.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace trace_test {

namespace trace = rb::trace;

inline constexpr const char* kEntries[] = {"cudnnCreate", "cudnnConvolutionForward", "cudaMalloc"};
inline constexpr const char* kLibraries[] = {"libcudnn.so.8", "libcudnn.so.8", "libcudart.so.12"};
inline constexpr const char* kFunctions[] = {"miopenCreate", "miopenConvolutionForwardImmediate"};

class Folder {
 public:
  /// In memory where thousands of small files are written: on a disk each overwriting is flushed.
  explicit Folder(bool in_memory = false) {
    path_ = in_memory && std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    path_ += "/rb-trace-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::vector<std::string> files(const std::string& suffix) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      if (entry.path().string().ends_with(suffix)) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};

inline bool start_tracing(const std::string& directory, std::uint64_t ring_bytes,
                          trace::Level level = trace::Level::calls) {
  trace::NameTables names;
  names.entries = kEntries;
  names.entry_count = 3;
  names.entry_libraries = kLibraries;
  names.functions = kFunctions;
  names.function_count = 2;
  trace::Options options;
  options.level = level;
  options.directory = directory;
  options.ring_bytes = ring_bytes;
  options.version = "0.1.0";
  options.build = "test";
  return trace::init(names, options);
}

/// Starts a program that traces into `directory`, runs `body`, and ends without any clean-up.
inline pid_t start_program(const std::string& directory, std::uint64_t ring_bytes, const std::function<void()>& body,
                           trace::Level level = trace::Level::calls) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (!start_tracing(directory, ring_bytes, level)) ::_exit(7);
  body();
  ::_exit(0);
}

inline int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

inline void run_program(const std::string& directory, std::uint64_t ring_bytes, const std::function<void()>& body,
                        trace::Level level = trace::Level::calls) {
  const int status = wait_for(start_program(directory, ring_bytes, body, level));
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
}

/// Zeroed memory that parent and children share.
template <class T>
T* shared_memory(std::size_t count = 1) {
  return static_cast<T*>(::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

struct Read {
  bool opened = false;
  std::string reason;  ///< of the fault, when it was not opened
  std::vector<std::string> lines;
  std::uint64_t damage = 0;
  std::vector<trace::Damage> places;
};

/// The whole trace as JSON lines.
inline Read read_all(const std::string& directory) {
  Read out;
  auto reader = trace::Reader::open(directory);
  if (!reader.ok()) {
    out.reason = reader.fault().reason;
    return out;
  }
  out.opened = true;
  trace::Event event;
  while ((*reader)->next(&event)) out.lines.push_back(trace::json_line(event));
  out.damage = (*reader)->damage_count();
  out.places = (*reader)->damage();
  return out;
}

/// All events of one kind, each given to `visit(event, body)`.
template <class Body, class Visit>
void for_each(const std::string& directory, Visit&& visit) {
  auto reader = trace::Reader::open(directory);
  ASSERT_TRUE(reader.ok()) << reader.fault().text;
  trace::Event event;
  while ((*reader)->next(&event))
    if (const Body* body = std::get_if<Body>(&event.body)) visit(event, *body);
}

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::vector<char>& content, std::size_t size) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(size));
}

/// A call as the bridge writes it: begin with `arguments` words (the first one `word`), an AMD call, the end. True if
/// the begin was stored.
inline bool write_call(std::uint32_t entry, std::uint64_t word, unsigned arguments = 3) {
  trace::Call call;
  bool stored = false;
  {
    auto record = trace::call_begin(call, entry, arguments);
    for (unsigned i = 0; i < arguments; ++i) record.argument(i, trace::ArgumentKind::value, i == 0 ? word : i);
    stored = record.commit();
  }
  const std::uint64_t begin = trace::now();
  trace::amd_call(1, 0, begin, trace::now());
  trace::call_end(call, 0);
  return stored;
}

}  // namespace trace_test
