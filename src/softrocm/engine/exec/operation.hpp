// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// What a family of engine operations (engine/dnn, engine/blas) sees of the executor: it registers one handler per
// operation number; the executor calls it when the operation is at the head of its stream.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soft::engine {

/// Result of one operation. Anything but `ok` becomes the stream's (and then the device's) error in the front.
enum class Outcome : std::uint32_t { ok = 0, invalid_address = 1, out_of_memory = 2, unsupported = 3, internal = 4 };

/// Services of the executor during one operation.
class Context {
 public:
  virtual ~Context() = default;
  /// Host address in the engine of `bytes` bytes at device address `address` (device, pinned or managed memory), or
  /// nullptr if the range does not lie inside one live arena.
  virtual void* memory(std::uint64_t address, std::uint64_t bytes) = 0;
  /// Threads that a compute operation may use.
  virtual unsigned threads() const = 0;
  /// The fault kind asked for with ROCBRIDGE_SOFT_FAULT, or "" (only softrocm knows this control).
  virtual const char* fault() const = 0;
};

/// `payload` is the fixed-size record that the front submitted (plain data, defined in src/softrocm/wire).
using Handler = Outcome (*)(Context& context, const void* payload, std::size_t size);

/// Registers the handler of one operation number (see wire/operations.hpp). Called from register_dnn(),
/// register_blas() at engine start.
void register_operation(std::uint32_t operation, Handler handler);

/// Called once by the engine before the first command; each lives in its family's folder.
void register_dnn();
void register_blas();

}  // namespace soft::engine
