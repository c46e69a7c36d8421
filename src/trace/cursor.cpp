// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/cursor.hpp"

#include <algorithm>
#include <cstring>

#include "base/os.hpp"
#include "base/os_files.hpp"
#include "trace/record_view.hpp"

namespace rb::trace {
namespace {

constexpr std::size_t kMaxOpenFiles = 64;
constexpr std::uint64_t kBlock = 256 * 1024;
/// While looking for the next good record: longer ones are not believed, and so much is added up at most in a ring;
/// after that, damage costs the rest of its piece. Else a hostile file could make each byte cost the length of the
/// file.
constexpr std::uint64_t kMaxGuess = 1 << 20;
constexpr std::uint64_t kMaxGuessWork = std::uint64_t{1} << 30;

}  // namespace

FileCache::~FileCache() {
  for (auto& [number, entry] : open_) os::close_file(entry.first);
}

bool FileCache::read(std::uint32_t file, std::uint64_t offset, char* data, std::size_t size) {
  auto found = open_.find(file);
  if (found == open_.end()) {
    if (open_.size() >= kMaxOpenFiles) {
      const auto oldest = open_.find(used_.back());
      os::close_file(oldest->second.first);
      open_.erase(oldest);
      used_.pop_back();
    }
    const int fd = os::open_file((index_.directory + "/" + index_.files[file]).c_str(), os::OpenFile::read);
    used_.push_front(file);
    found = open_.emplace(file, std::pair(fd, used_.begin())).first;
  } else {
    used_.splice(used_.begin(), used_, found->second.second);
  }
  const int fd = found->second.first;
  return fd >= 0 && os::read_file_at(fd, offset, data, size) == static_cast<std::int64_t>(size);
}

/// Makes [position, position + bytes) of the run available in the buffer, and more in advance.
bool Cursor::load(const Run& run, std::uint64_t position, std::uint64_t bytes) {
  if (buffer_run_ == run_ && position >= buffer_begin_ && position + bytes <= buffer_end_) return true;
  if (bytes > run.end - position) return false;
  const std::uint64_t want = std::min(run.end - position, std::max(bytes, kBlock));
  if (buffer_.size() < want) buffer_.resize(want);
  const std::uint64_t from = position - run.begin;
  const std::uint64_t first = from < run.first_bytes ? std::min(want, run.first_bytes - from) : 0;
  bool ok = first == 0 || files_.read(run.file, run.offset + from, buffer_.data(), first);
  if (ok && want > first)
    ok = files_.read(run.file, run.second_offset + (from + first - run.first_bytes), buffer_.data() + first,
                     want - first);
  buffer_run_ = ok ? run_ : ~std::size_t{0};
  buffer_begin_ = position;
  buffer_end_ = position + want;
  return ok;
}

/// Whether a good record of at most `limit` bytes begins at `position`.
bool Cursor::whole_at(const Run& run, std::uint64_t position, std::uint64_t limit) {
  if (run.end - position < sizeof(RecordHeader) || !load(run, position, sizeof(RecordHeader))) return false;
  RecordHeader header;
  std::memcpy(&header, buffer_.data() + (position - buffer_begin_), sizeof header);
  if (!plausible(header, std::min(limit, run.end - position)) || !load(run, position, header.size)) return false;
  return header.check == record_check(buffer_.data() + (position - buffer_begin_), header.size, position);
}

/// The next place in the run where a good record begins, or the run's end.
std::uint64_t Cursor::resynchronise(const Run& run, std::uint64_t position) {
  for (position += 8; position < run.end && guess_work_ < kMaxGuessWork; position += 8) {
    if (run.end - position < sizeof(RecordHeader) || !load(run, position, sizeof(RecordHeader))) break;
    RecordHeader header;
    std::memcpy(&header, buffer_.data() + (position - buffer_begin_), sizeof header);
    if (!plausible(header, std::min(kMaxGuess, run.end - position))) continue;
    guess_work_ += header.size;
    if (whole_at(run, position, kMaxGuess)) return position;
  }
  return run.end;
}

void Cursor::tell(const Run& run, std::uint64_t position, const char* what, std::uint64_t bytes) {
  const std::uint64_t from = position - run.begin;
  const std::uint64_t offset = from < run.first_bytes ? run.offset + from : run.second_offset + from - run.first_bytes;
  index_.damaged(index_.files[run.file], offset,
                 text("%s in ring %u of process %u; %llu bytes are lost", what, ring_.ring, ring_.process.second,
                      static_cast<unsigned long long>(bytes)));
  pending_damage_ = true;
  lost_.bytes += bytes;
}

Cursor::Step Cursor::step() {
  while (run_ < ring_.runs.size()) {
    const Run& run = ring_.runs[run_];
    if (!started_) {
      started_ = true;
      next_ = run.begin;
      if (run.begin != 0) tell(run, run.begin, "the beginning is missing", run.begin);
    }
    if (run.begin > next_) {
      tell(run, run.begin, "a piece is missing before this place", run.begin - next_);
      next_ = run.begin;
    }
    if (next_ >= run.end) {
      // Cut in the file: the next piece may hold the same bytes once more (a killed collector), else they are lost.
      const bool again = run_ + 1 < ring_.runs.size() && ring_.runs[run_ + 1].begin <= next_;
      if (run.promised_end > run.end && run.promised_end > next_ && !again) {
        tell(run, run.end, "the file is cut", run.promised_end - next_);
        next_ = run.promised_end;
      }
      ++run_;
      continue;
    }
    if (!whole_at(run, next_, run.end - next_)) {
      const bool cut = run.promised_end > run.end;
      const std::uint64_t found = resynchronise(run, next_);
      // A record that the cut runs through: the next piece may hold it whole.
      if (cut && found == run.end && run_ + 1 < ring_.runs.size() && ring_.runs[run_ + 1].begin <= next_) {
        ++run_;
        continue;
      }
      const std::uint64_t end = cut && found == run.end ? run.promised_end : found;
      tell(run, next_, "a record is damaged", end - next_);
      next_ = end;
      continue;
    }
    RecordHeader header;
    std::memcpy(&header, buffer_.data() + (next_ - buffer_begin_), sizeof header);
    if (pending_damage_) {
      pending_damage_ = false;
      lost_.records = header.number - number_;
      if (!numbered_) lost_.records = header.number;
      numbered_ = true;
      number_ = header.number;
      return Step::damage;
    }
    lost_ = Lost{};
    numbered_ = true;
    number_ = header.number + 1;
    position_ = next_;
    next_ += header.size;
    return Step::record;
  }
  if (pending_damage_) {
    pending_damage_ = false;
    lost_.records = 0;
    return Step::damage;
  }
  return Step::end;
}

}  // namespace rb::trace
