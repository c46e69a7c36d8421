// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/collector.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/os.hpp"
#include "base/os_files.hpp"
#include "trace/format.hpp"

namespace rb::trace {
namespace {

constexpr std::uint64_t kBusyWaitNs = 2'000'000;
constexpr std::uint64_t kIdleWaitNs = 50'000'000;
constexpr std::uint64_t kScanNs = 200'000'000;

struct Ring {
  std::string path;
  int fd = -1;
  RingHeader* header = nullptr;
  const char* data = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t token = 0;
  std::uint32_t pid = 0;
  std::uint32_t ring = 0;
  std::uint64_t tail = 0;
  bool damaged = false;
};

void close_ring(Ring* ring) {
  if (ring->header != nullptr) os::unmap(ring->header, kRingDataOffset);
  if (ring->data != nullptr) os::unmap(const_cast<char*>(ring->data), 2 * ring->capacity);
  os::close_file(ring->fd);
  ring->header = nullptr;
  ring->data = nullptr;
  ring->fd = -1;
}

/// Opens and maps a ring; false if the file is not one.
bool open_ring(const std::string& path, Ring* ring) {
  ring->path = path;
  ring->fd = os::open_file(path.c_str(), os::OpenFile::read_write);
  if (ring->fd < 0) return false;
  const std::int64_t size = os::file_size(ring->fd);
  if (size < static_cast<std::int64_t>(kRingDataOffset)) return false;
  ring->header = static_cast<RingHeader*>(os::map_shared(ring->fd, 0, kRingDataOffset));
  if (ring->header == nullptr) return false;
  const RingHeader& header = *ring->header;
  const std::uint64_t capacity = header.capacity;
  if (header.magic != kRingMagic || header.version != kFormatVersion || header.data_offset != kRingDataOffset ||
      header.check != header_check(&header, offsetof(RingHeader, check)) || capacity < kMinRingBytes ||
      capacity > kMaxRingBytes || (capacity & (capacity - 1)) != 0 ||
      static_cast<std::uint64_t>(size) < kRingDataOffset + capacity)
    return false;
  ring->capacity = capacity;
  ring->token = header.token;
  ring->pid = header.pid;
  ring->ring = header.ring;
  ring->tail = header.tail.load(std::memory_order_acquire);
  ring->data = static_cast<const char*>(os::map_shared_twice(ring->fd, kRingDataOffset, capacity));
  return ring->data != nullptr;
}

}  // namespace

class Collector::Impl {
 public:
  Impl(std::string directory, Options options, int lock, ControlPage* control)
      : directory_(std::move(directory)), options_(options), lock_(lock), control_(control) {}

  ~Impl() {
    for (auto& [name, ring] : rings_) close_ring(&ring);
    os::close_file(segment_);
    os::unmap(control_, os::kPage);
    os::close_file(lock_);
  }

  void begin() {
    control_->pid.store(os::process_id());
    beat();
    thread_ = std::thread([this] { work(); });
  }

  Statistics end() {
    if (thread_.joinable()) {
      stopping_.store(true);
      control_->bell.fetch_add(1);
      os::futex_wake_all(&control_->bell);
      thread_.join();
    }
    return statistics();
  }

  Statistics statistics() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return statistics_;
  }

 private:
  void beat() {
    control_->beat_ns.store(os::now_ns(), std::memory_order_relaxed);
    control_->attached.store(1, std::memory_order_release);
  }

  void work() {
    os::set_thread_name("rb-collector");
    while (!stopping_.load() && !failed_) {
      const std::uint32_t bell = control_->bell.load();
      beat();
      const bool moved = round();
      if (moved) continue;
      control_->sleeping.store(1);
      os::futex_wait(&control_->bell, bell, idle_ > 20 ? kIdleWaitNs : kBusyWaitNs);
      control_->sleeping.store(0);
      ++idle_;
    }
    // What was committed before the programs ended; those that live on go on without a collector.
    if (!failed_) {
      beat();
      next_scan_ = 0;
      round();
    }
    control_->attached.store(0, std::memory_order_release);
    if (!failed_) {
      round();
      finish();
    }
    for (auto& [name, ring] : rings_) wake(&ring);
  }

  /// One pass over all rings. True if there was anything.
  bool round() {
    scan();
    bool moved = false;
    for (auto it = rings_.begin(); it != rings_.end() && !failed_;) {
      Ring& ring = it->second;
      // In this order: a program found gone writes nothing after it, so what is drained now is all.
      const bool gone = check_gone_ && !os::process_exists(ring.pid);
      moved = drain(&ring) || moved;
      if (gone && !failed_ && !ring.damaged) {
        retire(&ring);
        done_.insert(it->first);
        it = rings_.erase(it);
      } else {
        ++it;
      }
    }
    check_gone_ = false;
    if (moved) idle_ = 0;
    return moved;
  }

  void scan() {
    const std::uint64_t now = os::now_ns();
    const std::uint32_t made = control_->rings_made.load(std::memory_order_acquire);
    if (made == rings_seen_ && now < next_scan_) return;
    rings_seen_ = made;
    next_scan_ = now + kScanNs;
    check_gone_ = true;
    for (const std::string& name : os::list_folder(directory_.c_str())) {
      if (!name.ends_with(kRingSuffix) || rings_.count(name) != 0 || done_.count(name) != 0) continue;
      Ring ring;
      const bool good = open_ring(directory_ + "/" + name, &ring);
      if (!good) {
        close_ring(&ring);
        done_.insert(name);
        RB_LOG(warn, "trace", "%s is not a ring file of this version; it is left alone", name.c_str());
        const std::lock_guard<std::mutex> guard(mutex_);
        ++statistics_.damaged;
        continue;
      }
      processes_.insert({ring.pid, ring.token});
      {
        const std::lock_guard<std::mutex> guard(mutex_);
        ++statistics_.rings;
        statistics_.processes = processes_.size();
      }
      write_header(ring);
      rings_.emplace(name, ring);
    }
  }

  bool drain(Ring* ring) {
    if (ring->damaged) return false;
    // A file that was cut under us would fault when read.
    if (os::file_size(ring->fd) < static_cast<std::int64_t>(kRingDataOffset + ring->capacity)) {
      damage(ring, "was cut");
      return false;
    }
    const std::uint64_t head = ring->header->head.load(std::memory_order_acquire);
    const std::uint64_t bytes = head - ring->tail;
    if (bytes == 0) return false;
    if (bytes > ring->capacity || bytes % 8 != 0) {
      damage(ring, "has an impossible head");
      return false;
    }
    const char* from = ring->data + (ring->tail & (ring->capacity - 1));
    if (!append(ChunkType::data, *ring, ring->tail, from, bytes)) return false;
    ring->tail = head;
    ring->header->tail.store(head, std::memory_order_seq_cst);
    if (ring->header->waiting.load(std::memory_order_seq_cst) != 0) wake(ring);
    const std::lock_guard<std::mutex> guard(mutex_);
    statistics_.bytes += bytes;
    return true;
  }

  static void wake(Ring* ring) {
    ring->header->signal.fetch_add(1, std::memory_order_seq_cst);
    os::futex_wake_all(&ring->header->signal);
  }

  void damage(Ring* ring, const char* what) {
    ring->damaged = true;
    RB_LOG(error, "trace", "ring file %s %s; no more is taken from it", ring->path.c_str(), what);
    const std::lock_guard<std::mutex> guard(mutex_);
    ++statistics_.damaged;
  }

  bool write_header(const Ring& ring) {
    char copy[sizeof(RingHeader)];
    std::memcpy(copy, static_cast<const void*>(ring.header), sizeof copy);
    return append(ChunkType::ring_header, ring, header_check(copy, sizeof copy), copy, sizeof copy);
  }

  /// The owner is gone and everything is in the segments.
  void retire(Ring* ring) {
    const std::uint64_t dropped = ring->header->dropped.load();
    if (!write_header(*ring)) return;
    os::remove_file(ring->path.c_str());
    close_ring(ring);
    const std::lock_guard<std::mutex> guard(mutex_);
    statistics_.dropped += dropped;
  }

  void finish() {
    for (auto& [name, ring] : rings_) {
      if (ring.damaged) continue;
      {
        const std::lock_guard<std::mutex> guard(mutex_);
        statistics_.dropped += ring.header->dropped.load();
      }
      if (!write_header(ring)) return;
    }
    close_segment();
  }

  bool append(ChunkType type, const Ring& ring, std::uint64_t position, const void* data, std::uint64_t bytes) {
    if (segment_ >= 0 && segment_size_ + sizeof(ChunkHeader) + bytes > options_.segment_bytes && segment_size_ > 4096)
      close_segment();
    if (segment_ < 0 && !open_segment()) return false;
    ChunkHeader chunk{
        kChunkMagic, static_cast<std::uint32_t>(type), ring.token, ring.pid, ring.ring, position, bytes, 0};
    chunk.check = header_check(&chunk, offsetof(ChunkHeader, check));
    if (!os::write_file_all(segment_, &chunk, sizeof chunk) || !os::write_file_all(segment_, data, bytes)) {
      const int code = errno;
      os::truncate_file(segment_, segment_size_);
      fail_with(text("cannot write a segment file in %s: %s", directory_.c_str(), std::strerror(code)));
      return false;
    }
    segment_size_ += sizeof chunk + bytes;
    return true;
  }

  bool open_segment() {
    for (;; ++segment_number_) {
      const std::string path = directory_ + text("/%06u%s", segment_number_, kSegmentSuffix);
      segment_ = os::open_file(path.c_str(), os::OpenFile::create_new);
      if (segment_ >= 0) break;
      if (errno == EEXIST) continue;
      fail_with(text("cannot make %s: %s", path.c_str(), std::strerror(errno)));
      return false;
    }
    ++segment_number_;
    SegmentHeader header{kSegmentMagic, kFormatVersion, os::process_id(), os::wall_ns(), 0};
    header.check = header_check(&header, offsetof(SegmentHeader, check));
    if (!os::write_file_all(segment_, &header, sizeof header)) {
      fail_with(text("cannot write a segment file in %s: %s", directory_.c_str(), std::strerror(errno)));
      return false;
    }
    segment_size_ = sizeof header;
    const std::lock_guard<std::mutex> guard(mutex_);
    ++statistics_.segments;
    return true;
  }

  void close_segment() {
    if (segment_ < 0) return;
    ChunkHeader chunk{kChunkMagic, static_cast<std::uint32_t>(ChunkType::end), 0, os::process_id(), 0, 0, 0, 0};
    chunk.check = header_check(&chunk, offsetof(ChunkHeader, check));
    if (!os::write_file_all(segment_, &chunk, sizeof chunk)) os::truncate_file(segment_, segment_size_);
    os::close_file(segment_);
    segment_ = -1;
  }

  void fail_with(std::string reason) {
    failed_ = true;
    control_->attached.store(0, std::memory_order_release);
    RB_LOG(error, "trace", "%s; the programs drop and count their records from now on", reason.c_str());
    const std::lock_guard<std::mutex> guard(mutex_);
    statistics_.failure = std::move(reason);
  }

  const std::string directory_;
  const Options options_;
  const int lock_;
  ControlPage* const control_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // statistics_ only
  Statistics statistics_;

  // Of the collecting thread.
  std::map<std::string, Ring> rings_;
  std::set<std::string> done_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> processes_;
  std::uint32_t rings_seen_ = ~0u;
  std::uint64_t next_scan_ = 0;
  bool check_gone_ = false;
  bool failed_ = false;
  unsigned idle_ = 0;
  int segment_ = -1;
  unsigned segment_number_ = 1;
  std::uint64_t segment_size_ = 0;
};

Collector::Collector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collector::~Collector() {
  impl_->end();
}
Collector::Statistics Collector::stop() {
  return impl_->end();
}
Collector::Statistics Collector::statistics() const {
  return impl_->statistics();
}

Result<std::unique_ptr<Collector>> Collector::start(const std::string& directory, const Options& options) {
  const auto missing = [&](const std::string& what) {
    Fault fault = fail(Errc::not_found, "missing-right", "%s", what.c_str());
    fault.remedy = "name a folder that can be written, with --trace DIR";
    return fault;
  };
  if (!os::make_folder(directory.c_str()))
    return missing(text("cannot make the trace folder %s: %s", directory.c_str(), std::strerror(errno)));
  const std::string path = directory + "/" + kControlName;
  const int fd = os::open_file(path.c_str(), os::OpenFile::create);
  if (fd < 0) return missing(text("cannot write %s: %s", path.c_str(), std::strerror(errno)));
  if (!os::try_lock_file(fd)) {
    os::close_file(fd);
    return fail(Errc::not_initialized, "missing-right",
                "another rocbridge already collects the trace in %s; give each run a folder of its own",
                directory.c_str());
  }
  ControlPage* page = nullptr;
  if (os::file_size(fd) >= static_cast<std::int64_t>(os::kPage) || os::reserve_file(fd, os::kPage))
    page = static_cast<ControlPage*>(os::map_shared(fd, 0, os::kPage));
  if (page == nullptr) {
    const int code = errno;
    os::close_file(fd);
    return missing(text("cannot write %s: %s", path.c_str(), std::strerror(code)));
  }
  if (page->magic == 0) {
    page->version = kFormatVersion;
    page->magic = kControlMagic;
  }
  if (page->magic != kControlMagic || page->version != kFormatVersion) {
    os::unmap(page, os::kPage);
    os::close_file(fd);
    return fail(Errc::not_found, "damaged-trace",
                "%s is damaged or of another version; take an empty folder or remove that file", path.c_str());
  }
  std::unique_ptr<Impl> impl(new Impl(directory, options, fd, page));
  impl->begin();
  return std::unique_ptr<Collector>(new Collector(std::move(impl)));
}

}  // namespace rb::trace
