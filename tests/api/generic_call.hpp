// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Calls any export by its description in the database, and runs many calls in child processes so that a crash, a hang
// or damaged memory names the export.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace generic {

struct Export {
  const char* soname;
  const char* name;
  const char* result;       ///< C type; "unknown" without a prototype
  const char* status_type;  ///< of the library
  int refused;              ///< its not-supported status
  bool built;
  const char* letters;  ///< one a parameter, see tools/apigen/programs.cpp
  const char* places;
  const char* types;  ///< separated by |

  bool returns_status() const { return std::strcmp(result, status_type) == 0; }
  std::vector<std::string> split(const char* text, char separator) const {
    std::vector<std::string> out;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) out.push_back(part);
    return out;
  }
};

inline const std::vector<Export>& exports() {
  static const std::vector<Export> all = {
#define EXPORT(soname, name, result, status_type, refused, built, letters, places, types) \
  {soname, name, result, status_type, refused, built, letters, places, types},
#include "tests/all_exports.inc"
#undef EXPORT
  };
  return all;
}

/// Opens a library of the build by its soname.
inline void* open_library(const std::string& soname) {
  return dlopen((std::string(ROCBRIDGE_BUILD "/lib/cuda/") + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Calls with one word per parameter, placed as the System V ABI says. Values that go into vector registers are 0.
inline long call(void* function, const Export& entry, const std::vector<std::uint64_t>& words) {
  std::uint64_t reg[6] = {};
  std::uint64_t stack[40] = {};
  unsigned registers = 0;
  unsigned vectors = 0;
  unsigned stacked = 0;
  static unsigned char returned[64];
  if (std::strcmp(entry.result, "cudaChannelFormatDesc") == 0 ||
      std::strcmp(entry.result, "struct cudaChannelFormatDesc") == 0)
    reg[registers++] = reinterpret_cast<std::uint64_t>(returned);
  const std::vector<std::string> places = entry.split(entry.places, ' ');
  for (std::size_t i = 0; i < places.size() && stacked < 30; ++i) {
    const std::uint64_t word = i < words.size() ? words[i] : 0;
    const std::string& place = places[i];
    if (place[0] == 'f') {
      if (vectors + place.size() <= 8)
        vectors += static_cast<unsigned>(place.size());
      else
        stacked += static_cast<unsigned>(place.size());
    } else if (place[0] == 'i') {
      for (std::size_t part = 0; part < place.size(); ++part)
        if (registers + place.size() - part <= 6)
          reg[registers++] = word;
        else
          stack[stacked++] = word;
    } else {
      stacked += static_cast<unsigned>(std::stoul(place));
    }
  }
  using Function =
      long (*)(double, double, double, double, double, double, double, double, std::uint64_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
  return reinterpret_cast<Function>(function)(
      0, 0, 0, 0, 0, 0, 0, 0, reg[0], reg[1], reg[2], reg[3], reg[4], reg[5], stack[0], stack[1], stack[2], stack[3],
      stack[4], stack[5], stack[6], stack[7], stack[8], stack[9], stack[10], stack[11], stack[12], stack[13], stack[14],
      stack[15], stack[16], stack[17], stack[18], stack[19], stack[20], stack[21], stack[22], stack[23]);
}

/// Host memory for arguments: zeros, then a pattern that nobody may write.
class Scratch {
 public:
  static constexpr std::size_t kBytes = 16384;
  static constexpr std::size_t kGuard = 4096;

  Scratch() : memory_(kBytes + kGuard) { reset(); }
  void reset() {
    std::memset(memory_.data(), 0, kBytes);
    std::memset(memory_.data() + kBytes, 0xA5, kGuard);
  }
  bool intact() const {
    for (std::size_t i = kBytes; i < kBytes + kGuard; ++i)
      if (memory_[i] != 0xA5) return false;
    return true;
  }
  std::uint64_t address(std::size_t offset = 0) const {
    return reinterpret_cast<std::uint64_t>(memory_.data()) + offset;
  }

 private:
  std::vector<unsigned char> memory_;
};

/// What happened to one call.
struct Outcome {
  enum State : int { not_run, done, damaged, missing };
  int state = not_run;
  int value = 0;
};

/// Runs calls 0 .. count-1 in children. `prepare` runs once in each child; `one` does a call. A child that dies is
/// replaced by one that goes on after the call it died in; `describe` names the call in the failure.
template <class Prepare, class One, class Describe>
std::vector<Outcome> run_isolated(std::size_t count, Prepare prepare, One one, Describe describe) {
  struct Shared {
    std::atomic<std::size_t> current;
    Outcome outcomes[1];
  };
  const std::size_t bytes = sizeof(Shared) + count * sizeof(Outcome);
  auto* shared = static_cast<Shared*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::size_t next = 0;
  while (next < count) {
    shared->current.store(next);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      prepare();
      for (std::size_t i = next; i < count; ++i) {
        shared->current.store(i);
        alarm(20);
        shared->outcomes[i] = one(i);
      }
      shared->current.store(count);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const std::size_t stopped = shared->current.load();
    if (stopped == count) break;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      ADD_FAILURE() << describe(stopped) << ": did not return within 20 s";
    else if (WIFSIGNALED(status))
      ADD_FAILURE() << describe(stopped) << ": ended by signal " << WTERMSIG(status) << " ("
                    << strsignal(WTERMSIG(status)) << ")";
    else
      ADD_FAILURE() << describe(stopped) << ": the program ended with " << WEXITSTATUS(status);
    next = stopped + 1;
  }
  std::vector<Outcome> out(shared->outcomes, shared->outcomes + count);
  munmap(shared, bytes);
  return out;
}

}  // namespace generic
