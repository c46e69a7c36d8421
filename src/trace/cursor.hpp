// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Walks the records of one ring over all its pieces. Each record is checked; what is damaged is passed over and told.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "trace/index.hpp"

namespace rb::trace {

/// Keeps some files of the trace open.
class FileCache {
 public:
  explicit FileCache(const Index& index) : index_(index) {}
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;
  /// Reads exactly `size` bytes; false if they are not there.
  bool read(std::uint32_t file, std::uint64_t offset, char* data, std::size_t size);

 private:
  const Index& index_;
  std::map<std::uint32_t, std::pair<int, std::list<std::uint32_t>::iterator>> open_;
  std::list<std::uint32_t> used_;  // the last used first
};

class Cursor {
 public:
  enum class Step { record, damage, end };
  struct Lost {
    std::uint64_t bytes = 0;    ///< that could not be read
    std::uint64_t records = 0;  ///< 0: unknown (nothing readable follows)
  };

  Cursor(Index* index, FileCache* files, const RingIndex& ring) : index_(*index), files_(*files), ring_(ring) {}

  /// record: record() is the next one. damage: lost() tells what is missing before the next one.
  Step step();
  const char* record() const { return buffer_.data() + (position_ - buffer_begin_); }
  std::uint64_t position() const { return position_; }
  const Lost& lost() const { return lost_; }
  const RingIndex& ring() const { return ring_; }

 private:
  bool load(const Run& run, std::uint64_t position, std::uint64_t bytes);
  bool whole_at(const Run& run, std::uint64_t position, std::uint64_t limit);
  std::uint64_t resynchronise(const Run& run, std::uint64_t position);
  void tell(const Run& run, std::uint64_t position, const char* what, std::uint64_t bytes);

  Index& index_;
  FileCache& files_;
  const RingIndex& ring_;
  std::size_t run_ = 0;
  std::uint64_t position_ = 0;  ///< of the current record
  std::uint64_t next_ = 0;      ///< of the one after it
  bool started_ = false;
  bool numbered_ = false;
  std::uint32_t number_ = 0;  ///< expected
  bool pending_damage_ = false;
  std::uint64_t guess_work_ = 0;
  Lost lost_;
  std::vector<char> buffer_;
  std::uint64_t buffer_begin_ = 0;
  std::uint64_t buffer_end_ = 0;
  std::size_t buffer_run_ = ~std::size_t{0};
};

}  // namespace rb::trace
