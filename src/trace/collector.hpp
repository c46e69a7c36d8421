// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Takes committed records out of the rings of all programs that trace into a directory and appends them to segment
// files there. Runs in a thread of the tool's process; the programs wait for it when their rings are full.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace rb::trace {

class Collector {
 public:
  struct Options {
    std::uint64_t segment_bytes = std::uint64_t{256} << 20;  ///< a new file begins after so many
  };
  struct Statistics {
    std::uint64_t processes = 0;
    std::uint64_t rings = 0;
    std::uint64_t bytes = 0;    ///< of records
    std::uint64_t dropped = 0;  ///< records that programs dropped
    std::uint64_t segments = 0;
    std::uint64_t damaged = 0;  ///< rings whose headers make no sense
    std::string failure;        ///< why collecting ended early (full disk), or empty
  };

  /// Makes the directory if needed and begins to collect. Faults: another collector is at work there, or the directory
  /// cannot be written (Errc::not_found, reason "missing-right").
  static Result<std::unique_ptr<Collector>> start(const std::string& directory, const Options& options);
  static Result<std::unique_ptr<Collector>> start(const std::string& directory) { return start(directory, Options()); }
  ~Collector();

  /// Takes what is left and ends. Ring files of programs that are gone are removed: all they held is in the segments.
  Statistics stop();
  Statistics statistics() const;

 private:
  class Impl;
  explicit Collector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rb::trace
