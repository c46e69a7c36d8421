// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What every layer returns: a value or a Fault. No exception is used for control flow; the generated guard alone turns
// a Fault into the status code of the CUDA library whose export was called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace rb {

/// Kind of a fault, independent of any library. Each CUDA library has one table from Errc to its own status numbers
/// (src/bridge/status.cpp).
enum class Errc : std::uint8_t {
  ok,
  not_initialized,         ///< no usable device or library handle (missing or damaged AMD directory)
  invalid_value,           ///< a value outside what the vendor's document allows
  invalid_handle,          ///< null, freed, foreign or wrong-kind handle or descriptor
  not_supported,           ///< refused: not built, or AMD's side cannot do it; always has a reason id
  alloc_failed,            ///< out of host or device memory
  execution_failed,        ///< the AMD library reported a failure, or a check refused the result
  internal,                ///< a defect of ours
  mapping,                 ///< memory could not be mapped
  not_ready,               ///< asynchronous work is still running (600)
  device_lost,             ///< the device process died or hangs
  no_device,               ///< there is no device (100)
  after_fork,              ///< a device entry was called in a forked child (3)
  bad_context,             ///< no or wrong CUDA context (201)
  no_binary,               ///< a kernel without usable AMD code (209)
  not_found,               ///< a named symbol or kernel does not exist (500)
  insufficient_workspace,  ///< the workspace given is smaller than the one the query reported
};

/// One failure. A message holds values (text), reasoning (text), remedy and, where known, a reproducer, in that order.
struct Fault {
  Errc code = Errc::internal;
  int native = -1;          ///< exact status number of the called library, or -1: taken from the library's table
  const char* reason = "";  ///< stable reason id ("not-built", "workspace-short", ...), described in api/reasons.toml
  std::string where;        ///< path of the bad value: "cudnnSetTensor4dDescriptor(): n"
  std::string text;
  std::string remedy;
};

/// Success or a Fault. One pointer wide; success allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Fault fault) : fault_(std::make_unique<Fault>(std::move(fault))) {}
  bool ok() const { return !fault_; }
  explicit operator bool() const { return ok(); }
  const Fault& fault() const { return *fault_; }
  Fault take() { return std::move(*fault_); }

 private:
  std::unique_ptr<Fault> fault_;
};

/// A value or a Fault.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Fault fault) : fault_(std::make_unique<Fault>(std::move(fault))) {}
  Result(Status status) : fault_(std::make_unique<Fault>(status.take())) {}
  bool ok() const { return !fault_; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const Fault& fault() const { return *fault_; }
  Status status() && { return fault_ ? Status(std::move(*fault_)) : Status(); }

 private:
  std::optional<T> value_;
  std::unique_ptr<Fault> fault_;
};

/// printf-style text for faults and messages.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

/// A Fault in one expression: fail(Errc::invalid_value, "bad-dimension", "n is %d", n).
[[gnu::format(printf, 3, 4)]] Fault fail(Errc code, const char* reason, const char* format, ...);

}  // namespace rb

/// Returns the Fault of a Status or Result expression to the caller.
#define RB_TRY(expression)                                                                        \
  do {                                                                                            \
    if (auto rb_status_ = (expression); !rb_status_.ok()) return ::rb::Fault(rb_status_.fault()); \
  } while (0)

/// RB_ASSIGN(auto x, f()): binds the value of a Result or returns its Fault.
#define RB_ASSIGN_CAT2(a, b) a##b
#define RB_ASSIGN_CAT(a, b) RB_ASSIGN_CAT2(a, b)
#define RB_ASSIGN(target, expression)                                                                             \
  auto RB_ASSIGN_CAT(rb_result_, __LINE__) = (expression);                                                        \
  if (!RB_ASSIGN_CAT(rb_result_, __LINE__).ok()) return ::rb::Fault(RB_ASSIGN_CAT(rb_result_, __LINE__).fault()); \
  target = std::move(*RB_ASSIGN_CAT(rb_result_, __LINE__))
