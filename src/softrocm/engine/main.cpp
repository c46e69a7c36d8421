// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// rocbridge-device: the software AMD device as a process of its own. Started by the front (libsoftrocm.so) with four
// inherited files (wire/segments.hpp); of no use by hand.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/log.hpp"
#include "base/os.hpp"
#include "softrocm/engine/exec/engine.hpp"

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--parent") != 0) {
    std::fprintf(stderr,
                 "rocbridge-device: started by rocbridge's AMD libraries at the first use of the device; "
                 "not a program to run by hand\n");
    return 2;
  }
  soft::wire::Segments segments;
  if (!soft::wire::map_inherited(&segments)) {
    RB_LOG(error, "softrocm", "rocbridge-device: the inherited memory files are missing or of another build");
    return 3;
  }
  // The program that started us must not meet our end in a wait() for its own children, so the device is nobody's
  // child: the first process ends at once. No thread of ours exists yet.
  const pid_t child = ::fork();
  if (child < 0) return 3;
  if (child > 0) ::_exit(0);
  if (rb::os::wait_readable({soft::wire::kFdParent}, 0) == 0) ::_exit(0);
  rb::os::set_thread_name("rocbridge-device");
  segments.control->engine_pid.store(rb::os::process_id());
  rb::os::futex_wake_all(&segments.control->engine_pid);
  soft::engine::serve(segments, soft::wire::kFdParent);
  ::_exit(0);
}
