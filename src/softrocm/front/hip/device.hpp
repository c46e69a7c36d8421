// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The one device of this process: which profile it has, its memory files, the engine behind it, and whether it is lost.
// Nothing is mapped and nothing is started before session() is called the first time.
//
// Errors of a lost device, the same from every waiter and every later call until hipDeviceReset:
//   engine crashed or killed        hipErrorLaunchFailure (719)
//   watchdog                        hipErrorLaunchTimeOut (702)
//   engine cannot be started        hipErrorNoDevice (100)
//   operation on a bad address      hipErrorIllegalAddress (700)
//   operation out of memory         hipErrorLaunchOutOfResources (701)
//   any other failed operation      hipErrorLaunchFailure (719)
//   any device call after fork      hipErrorNotInitialized (3) in the child
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/hip.h"
#include "base/os.hpp"
#include "softrocm/front/hip/arena.hpp"
#include "softrocm/wire/profile.hpp"
#include "softrocm/wire/segments.hpp"

namespace soft {

/// What ROCBRIDGE_ARCH and ROCBRIDGE_WAVE ask for. Read once.
struct Configuration {
  const wire::Profile* profile = nullptr;  ///< null: the settings are impossible
  int wavefront = 0;
  std::string why;  ///< reason when there is no profile
};
const Configuration& configuration();

/// hipSuccess, or hipErrorNoDevice with one line of log when the settings are impossible.
hipError_t check_configuration();

/// Bytes of device memory: the least of the profile's, soft.memory and 60 % of the host's free memory at the first
/// question. Logged with the reason.
std::uint64_t device_memory_bytes();

/// One start of the engine. Never freed: threads of the program may still look at it.
struct Session {
  wire::Segments segments;
  wire::Control* control = nullptr;
  rb::os::Child engine;  ///< pid -1 when the engine runs in this process
  std::atomic<std::uint64_t> last_check_ns{0};
};

/// The running session; starts the device if it is not running yet.
hipError_t session(Session** out);
/// The session if there is one, else nullptr. Does not start anything.
Session* running_session();
/// Error of the device as it is now, hipSuccess if it is well. Does not ask the system.
hipError_t device_status(const Session& session);
/// Looks whether the engine still lives and answers (at most every `interval_ns`), marks the device lost if not.
void check_engine(Session& session, std::uint64_t interval_ns);
/// Whether this process is a child forked after the device was started.
bool is_forked_child();

/// Ends the engine and forgets its session; the next use starts a new one. Arenas keep their addresses.
void discard_session(Session& session);

/// Accounts of device memory and of host memory shared with the device. Valid after session() succeeded once.
Arena& device_arena();
Arena& host_arena();
/// Pattern for host arena memory that was never given away before; `address` was just allocated, `fresh_from` is the
/// arena's high-water mark before that.
void pattern_host(std::uint64_t address, std::uint64_t bytes, std::uint64_t fresh_from);

}  // namespace soft
