// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What every export does around its bridge function, the same for all: re-entrancy, trace, exceptions to status. The
// generated wrappers call enter() or enter_value().
#pragma once

#include <cxxabi.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/result.hpp"
#include "bridge/library.hpp"
#include "trace/writer.hpp"

#define RB_ENTRY __attribute__((visibility("default")))

namespace rb::bridge {

/// What an argument is, from `args` in api/.
enum class Role : std::uint8_t {
  value,
  handle,
  descriptor,
  device_in,
  device_out,
  device_inout,
  host_in,
  host_out,
  host_inout,
  scalar,
  handle_out,
};

struct EntryInfo {
  unsigned row;
  const char* name;
  Api api;
  unsigned arguments;
  const Role* roles;
};

/// State of the call that this thread is in; null outside of one. Bridge functions reach it through call().
struct Call {
  const EntryInfo* info = nullptr;
  bool traced = false;
  trace::Call record;  ///< number and start of this call in the trace; id 0 when nothing is traced
};

/// The current call of this thread.
inline Call& call();

/// Status number of `api`'s library for a fault; logs, traces the refusal and sets the runtime's last error where the
/// library has one.
int native_status(const EntryInfo& info, Fault fault);

namespace detail {

extern thread_local constinit Call t_call __attribute__((tls_model("initial-exec")));

/// One argument as the eight bytes that the trace keeps; structs by value as their first eight bytes.
template <class T>
std::uint64_t word(const T& value) {
  std::uint64_t out = 0;
  std::memcpy(&out, &value, sizeof value < sizeof out ? sizeof value : sizeof out);
  return out;
}

void trace_begin(Call& call, const std::uint64_t* words);
void trace_end(Call& call, int status);
int fault_of_exception(const EntryInfo& info);

/// Saves the outer call, so that a callback of ours that enters again does not confuse it.
class Scope {
 public:
  explicit Scope(const EntryInfo& info) : saved_(t_call) { t_call = Call{&info, false, {}}; }
  ~Scope() { t_call = saved_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Call saved_;
};

template <class... Arguments>
[[gnu::noinline]] void begin(const Arguments&... arguments) {
  const std::uint64_t words[sizeof...(arguments) + 1] = {word(arguments)..., 0};
  trace_begin(t_call, words);
}

}  // namespace detail

inline Call& call() {
  return detail::t_call;
}

/// An export that returns its library's status.
template <class Function, class... Arguments>
int enter(const EntryInfo& info, Function&& function, const Arguments&... arguments) {
  detail::Scope scope(info);
  const bool traced = trace::level() != trace::Level::off;
  if (traced) [[unlikely]]
    detail::begin(arguments...);
  int status = 0;
  try {
    Status result = function();
    if (!result.ok()) [[unlikely]]
      status = native_status(info, result.take());
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being cancelled: not ours to stop
  } catch (...) {
    status = detail::fault_of_exception(info);
  }
  if (traced) [[unlikely]]
    detail::trace_end(detail::t_call, status);
  return status;
}

/// An export that returns something else (text, size, void, pointer).
template <class Value, class Function, class... Arguments>
Value enter_value(const EntryInfo& info, Function&& function, const Arguments&... arguments) {
  detail::Scope scope(info);
  const bool traced = trace::level() != trace::Level::off;
  if (traced) [[unlikely]]
    detail::begin(arguments...);
  struct End {
    bool traced;
    ~End() {
      if (traced) detail::trace_end(detail::t_call, 0);
    }
  } end{traced};
  try {
    return function();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    detail::fault_of_exception(info);
    if constexpr (!std::is_void_v<Value>) return Value{};
  }
}

}  // namespace rb::bridge
