// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocbridge-device: the software AMD device as a process of its own. Started by the front (libsoftrocm.so) with four
// inherited files (wire/segments.hpp); of no use by hand.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.hpp"
#include "base/os.hpp"
#include "base/os_files.hpp"
#include "softrocm/engine/exec/engine.hpp"
#include "softrocm/engine/exec/settings.hpp"
#include "softrocm/engine/math/fault.hpp"

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--parent") != 0) {
    std::fprintf(stderr,
                 "rocbridge-device: started by rocbridge's AMD libraries at the first use of the device; "
                 "not a program to run by hand\n");
    return 2;
  }
  // OpenMP's threads spin for milliseconds after every parallel loop unless told otherwise before the library is
  // loaded. The program beside us needs these processors. A user's own choice stays.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("GOMP_SPINCOUNT") == nullptr) {
    ::setenv("OMP_WAIT_POLICY", "passive", 1);
    ::execv("/proc/self/exe", argv);
  }
  soft::wire::Segments segments;
  if (!soft::wire::map_inherited(&segments)) {
    RB_LOG(error, "softrocm", "rocbridge-device: the inherited memory files are missing or of another build");
    return 3;
  }
  const std::string& fault = soft::engine::settings().fault;
  if (!soft::engine::is_known_fault(fault.c_str()) && !soft::engine::is_shown_by_executor(fault)) {
    RB_LOG(error, "softrocm", "ROCBRIDGE_SOFT_FAULT=%s is no fault that the device knows: %s; stuck, crash",
           fault.c_str(), soft::engine::known_faults());
    return 3;
  }
  // Pipes and files that the program left open over exec are its own: nobody must wait for us to close them.
  ::syscall(SYS_close_range, static_cast<unsigned>(soft::wire::kFdParent) + 1, ~0u, 0);
  // The program that started us must not meet our end in a wait() for its own children, so the device is nobody's
  // child: the first process ends at once. No thread of ours exists yet.
  const pid_t child = ::fork();
  if (child < 0) return 3;
  if (child > 0) ::_exit(0);
  if (rb::os::wait_readable({soft::wire::kFdParent}, 0) == 0) ::_exit(0);
  rb::os::set_thread_name("rocbridge-device");
  // When the host runs out of memory, rather a lost device than a dead program.
  const int score = rb::os::open_file("/proc/self/oom_score_adj", rb::os::OpenFile::read_write);
  if (score >= 0) rb::os::write_file_all(score, "500", 3);
  rb::os::close_file(score);
  segments.control->engine_pid.store(rb::os::process_id());
  rb::os::futex_wake_all(&segments.control->engine_pid);
  soft::engine::serve(segments, soft::wire::kFdParent);
  ::_exit(0);
}
