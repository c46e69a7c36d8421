// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/index.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os.hpp"
#include "base/os_files.hpp"
#include "trace/record_view.hpp"

namespace rb::trace {
namespace {

constexpr std::size_t kMaxDamage = 100;
constexpr std::uint64_t kMaxProcessFile = 64u << 20;

class File {
 public:
  explicit File(const std::string& path) : fd_(os::open_file(path.c_str(), os::OpenFile::read)) {}
  ~File() { os::close_file(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool ok() const { return fd_ >= 0; }
  std::uint64_t size() const {
    const std::int64_t bytes = os::file_size(fd_);
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  }
  bool read(std::uint64_t offset, void* data, std::size_t size) const {
    return os::read_file_at(fd_, offset, data, size) == static_cast<std::int64_t>(size);
  }

 private:
  int fd_;
};

/// A ring's header as plain numbers; the file's bytes may be anything.
struct RingFacts {
  char bytes[sizeof(RingHeader)];

  template <class T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
  std::uint64_t u64(std::size_t offset) const { return at<std::uint64_t>(offset); }
  std::uint32_t u32(std::size_t offset) const { return at<std::uint32_t>(offset); }
};

std::string version_text(std::uint32_t version) {
  return text("was written by a newer version of the format (%u; this program reads up to %u)", version,
              kFormatVersion);
}

class Builder {
 public:
  explicit Builder(Index* index) : index_(*index) {}

  void process_file(const std::string& name) {
    const File file(path(name));
    ProcessFileHeader header;
    if (!file.ok() || !file.read(0, &header, sizeof header)) return damaged(name, 0, "is empty or cut");
    if (header.magic != kProcessMagic) return damaged(name, 0, "does not begin like a process file");
    if (header.version > kFormatVersion) return damaged(name, 0, version_text(header.version));
    if (header.check != header_check(&header, offsetof(ProcessFileHeader, check)))
      return damaged(name, 0, "has a damaged header");
    ProcessIndex& process = process_of({header.token, header.pid});
    std::uint64_t bytes = header.bytes;
    const std::uint64_t there = file.size() - sizeof header;
    if (bytes > there || bytes > kMaxProcessFile) {
      damaged(name, file.size(), "is cut");
      bytes = std::min({bytes, there, kMaxProcessFile});
    }
    std::vector<char> content(bytes);
    if (!file.read(sizeof header, content.data(), bytes)) return damaged(name, 0, "cannot be read");
    for (std::uint64_t at = 0; bytes - at >= sizeof(RecordHeader);) {
      RecordHeader record;
      std::memcpy(&record, content.data() + at, sizeof record);
      if (!plausible(record, bytes - at) || record.check != record_check(content.data() + at, record.size, at))
        return damaged(name, sizeof header + at, "holds a damaged record; names may be missing");
      process_record(RecordView(content.data() + at), &process);
      at += record.size;
    }
  }

  void ring_file(const std::string& name) {
    ++index_.ring_files;
    const File file(path(name));
    RingFacts facts;
    if (!file.ok() || !file.read(0, facts.bytes, sizeof facts.bytes)) return damaged(name, 0, "is empty or cut");
    if (!good_header(name, 0, facts)) return;
    RingIndex& ring = ring_of(facts);
    take_header(facts, &ring);
    const std::uint64_t capacity = facts.u64(offsetof(RingHeader, capacity));
    const std::uint64_t data_offset = facts.u32(offsetof(RingHeader, data_offset));
    const std::uint64_t head = facts.u64(offsetof(RingHeader, head));
    const std::uint64_t tail = facts.u64(offsetof(RingHeader, tail));
    if (head < tail || head - tail > capacity || head % 8 != 0 || tail % 8 != 0)
      return damaged(name, offsetof(RingHeader, head), "has an impossible head or tail");
    if (head == tail) return;
    const std::uint64_t size = file.size();
    Run run;
    run.begin = tail;
    run.end = run.promised_end = head;
    run.file = add_file(name);
    run.offset = data_offset + (tail & (capacity - 1));
    run.first_bytes = std::min(head - tail, capacity - (tail & (capacity - 1)));
    run.second_offset = data_offset;
    // Where the file was cut, the run ends at the first byte that is not there.
    const std::uint64_t there = size > run.offset ? size - run.offset : 0;
    if (there < run.first_bytes)
      run.end = run.begin + there;
    else if (head - tail > run.first_bytes && size < run.second_offset + (head - tail - run.first_bytes))
      run.end = run.begin + run.first_bytes + (size > run.second_offset ? size - run.second_offset : 0);
    add_run(&ring, run);
  }

  /// `last`: no later segment continues this one.
  void segment_file(const std::string& name, bool last, bool have_rings) {
    ++index_.segments;
    const File file(path(name));
    SegmentHeader header;
    if (!file.ok() || !file.read(0, &header, sizeof header)) {
      // A collector killed right after it made the file took nothing from the rings yet.
      if (!(last && have_rings)) damaged(name, 0, "is empty or cut");
      return;
    }
    if (header.magic != kSegmentMagic) return damaged(name, 0, "does not begin like a segment file");
    if (header.version > kFormatVersion) return damaged(name, 0, version_text(header.version));
    if (header.check != header_check(&header, offsetof(SegmentHeader, check))) damaged(name, 0, "has a damaged header");
    const std::uint64_t size = file.size();
    const std::uint32_t number = add_file(name);
    std::uint64_t at = sizeof header;
    bool ended = false;
    while (at < size && !ended) {
      ChunkHeader chunk;
      if (size - at < sizeof chunk) break;
      if (!file.read(at, &chunk, sizeof chunk)) return damaged(name, at, "cannot be read");
      if (chunk.magic != kChunkMagic || chunk.check != header_check(&chunk, offsetof(ChunkHeader, check))) {
        const std::uint64_t found = find_chunk(file, at + 8, size);
        damaged(name, at,
                text("has a damaged chunk header; %llu bytes are passed over",
                     static_cast<unsigned long long>(found - at)));
        at = found;
        continue;
      }
      at += sizeof chunk;
      const std::uint64_t there = std::min(chunk.bytes, size - at);
      switch (static_cast<ChunkType>(chunk.type)) {
        case ChunkType::data: {
          RingIndex& ring = ring_of({chunk.token, chunk.pid}, chunk.ring);
          Run run;
          run.begin = chunk.position;
          run.end = chunk.position + there;
          run.promised_end = chunk.position + chunk.bytes;
          run.file = number;
          run.offset = at;
          run.first_bytes = there;
          if (chunk.position + chunk.bytes < chunk.position) return damaged(name, at, "holds an impossible chunk");
          add_run(&ring, run);
          break;
        }
        case ChunkType::ring_header: {
          RingFacts facts;
          if (there < chunk.bytes) break;  // cut: see below
          if (there < sizeof facts.bytes || !file.read(at, facts.bytes, sizeof facts.bytes) ||
              chunk.position != header_check(facts.bytes, sizeof facts.bytes)) {
            damaged(name, at, "holds a damaged copy of a ring's header");
          } else if (good_header(name, at, facts)) {
            take_header(facts, &ring_of(facts));
          }
          break;
        }
        case ChunkType::end:
          ended = true;
          break;
      }
      at += there;
    }
    if (ended && at < size) return damaged(name, at, "goes on after its end");
    // A collector that was killed leaves the rest, and all that it wrote only in part, in ring files. Where there are
    // none either, the end was cut off. What a cut takes from the middle of a ring is seen as a hole in its stream.
    if (!ended && last && !have_rings) damaged(name, size, "is not closed and no ring file holds the rest");
  }

 private:
  std::string path(const std::string& name) const { return index_.directory + "/" + name; }
  void damaged(const std::string& name, std::uint64_t offset, std::string what) {
    index_.damaged(name, offset, std::move(what));
  }
  std::uint32_t add_file(const std::string& name) {
    index_.files.push_back(name);
    return static_cast<std::uint32_t>(index_.files.size() - 1);
  }

  ProcessIndex& process_of(const ProcessKey& key) {
    ProcessIndex& found = index_.processes[key];
    if (found.process == nullptr) {
      found.process = std::make_unique<Process>();
      found.process->token = key.first;
      found.process->pid = key.second;
    }
    return found;
  }
  RingIndex& ring_of(const ProcessKey& process, std::uint32_t ring) {
    process_of(process);
    RingIndex& found = index_.rings[{process, ring}];
    found.process = process;
    found.ring = ring;
    return found;
  }
  RingIndex& ring_of(const RingFacts& facts) {
    return ring_of({facts.u64(offsetof(RingHeader, token)), facts.u32(offsetof(RingHeader, pid))},
                   facts.u32(offsetof(RingHeader, ring)));
  }
  void add_run(RingIndex* ring, const Run& run) {
    index_.bytes += run.end - run.begin;
    ring->runs.push_back(run);
  }

  bool good_header(const std::string& name, std::uint64_t offset, const RingFacts& facts) {
    const std::uint64_t capacity = facts.u64(offsetof(RingHeader, capacity));
    if (facts.u64(offsetof(RingHeader, magic)) != kRingMagic)
      damaged(name, offset, "does not begin like a ring file");
    else if (facts.u32(offsetof(RingHeader, version)) > kFormatVersion)
      damaged(name, offset, version_text(facts.u32(offsetof(RingHeader, version))));
    else if (facts.u64(offsetof(RingHeader, check)) != header_check(facts.bytes, offsetof(RingHeader, check)) ||
             capacity < kMinRingBytes || capacity > kMaxRingBytes || (capacity & (capacity - 1)) != 0)
      damaged(name, offset, "has a damaged ring header");
    else
      return true;
    return false;
  }

  void take_header(const RingFacts& facts, RingIndex* ring) {
    ring->tid = facts.u32(offsetof(RingHeader, tid));
    // Later copies tell more; files are read in order, ring files last.
    const std::uint64_t dropped = facts.u64(offsetof(RingHeader, dropped));
    if (dropped >= ring->dropped) {
      ring->dropped = dropped;
      ring->dropped_from = facts.u64(offsetof(RingHeader, dropped_from));
      ring->dropped_to = facts.u64(offsetof(RingHeader, dropped_to));
    }
    Clock& clock = process_of(ring->process).clock;
    clock.counter = facts.u32(offsetof(RingHeader, clock)) == static_cast<std::uint32_t>(ClockKind::counter);
    const std::uint32_t slot = facts.u32(offsetof(RingHeader, clock_slot)) & 1;
    clock.add({facts.u64(offsetof(RingHeader, clock_ticks) + slot * 8),
               facts.u64(offsetof(RingHeader, clock_ns) + slot * 8)});
  }

  /// The next place from `at` on where a chunk's header is whole; `size` if there is none.
  static std::uint64_t find_chunk(const File& file, std::uint64_t at, std::uint64_t size) {
    std::vector<char> block(1 << 16);
    while (size - at >= sizeof(ChunkHeader)) {
      const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), size - at));
      if (!file.read(at, block.data(), bytes)) return size;
      std::size_t i = 0;
      for (; i + sizeof(ChunkHeader) <= bytes; i += 8) {
        ChunkHeader chunk;
        std::memcpy(&chunk, block.data() + i, sizeof chunk);
        if (chunk.magic == kChunkMagic && chunk.check == header_check(&chunk, offsetof(ChunkHeader, check)))
          return at + i;
      }
      at += i;
    }
    return size;
  }

  static std::vector<std::string> split(const char* content, std::size_t size, std::size_t most) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin < size && parts.size() < most) {
      const void* zero = std::memchr(content + begin, 0, size - begin);
      const std::size_t end =
          zero != nullptr ? static_cast<std::size_t>(static_cast<const char*>(zero) - content) : size;
      parts.emplace_back(content + begin, end - begin);
      begin = end + 1;
    }
    return parts;
  }

  static void process_record(const RecordView& record, ProcessIndex* into) {
    Process& process = *into->process;
    if (record.kind() == Kind::process) {
      const ProcessFixed fixed = record.fixed<ProcessFixed>();
      process.parent_pid = fixed.parent_pid;
      process.parent_token = fixed.parent_token;
      process.start_ns = fixed.ns[0];
      process.start_wall_ns = fixed.wall_ns;
      process.level = fixed.level;
      process.ring_bytes = fixed.ring_bytes;
      into->clock.counter = fixed.clock == static_cast<std::uint32_t>(ClockKind::counter);
      for (int i = 0; i < 2; ++i) into->clock.add({fixed.ticks[i], fixed.ns[i]});
      process.program = record.text(Tag::program);
      const std::string_view arguments = record.text(Tag::arguments);
      process.arguments = split(arguments.data(), arguments.size(), arguments.size());
      process.version = record.text(Tag::version);
      process.build = record.text(Tag::build);
    } else if (record.kind() == Kind::names) {
      const NamesFixed fixed = record.fixed<NamesFixed>();
      const std::string_view table = record.text(Tag::table);
      std::vector<std::string>* names = nullptr;
      switch (static_cast<NameTable>(fixed.table)) {
        case NameTable::entries:
          names = &process.entries;
          break;
        case NameTable::functions:
          names = &process.functions;
          break;
        case NameTable::entry_libraries:
          names = &process.entry_libraries;
          break;
        case NameTable::function_libraries:
          names = &process.function_libraries;
          break;
      }
      if (names == nullptr || fixed.first != names->size()) return;
      for (std::string& name : split(table.data(), table.size(), table.size())) names->push_back(std::move(name));
    }
  }

  Index& index_;
};

}  // namespace

void Clock::add(ClockPair pair) {
  if (!set || pair.ns < first.ns) first = pair;
  if (!set || pair.ns > last.ns) last = pair;
  set = true;
}

void Clock::finish() {
  const bool rises = last.ticks > first.ticks && last.ns > first.ns;
  if (counter && rises) rate = static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
  // Nothing that counts time runs slower than 1 kHz or faster than 100 GHz: then a pair is damaged.
  if (!(rate > 0.01 && rate < 1e6)) rate = 1.0;
}

std::uint64_t Clock::ns(std::uint64_t ticks) const {
  if (!counter) return ticks;
  const std::int64_t distance = static_cast<std::int64_t>(ticks - first.ticks);
  const double ns = static_cast<double>(distance) * rate;
  // Damaged numbers may lie anywhere; what does not fit becomes the start.
  if (!(ns > -9e18 && ns < 9e18)) return first.ns;
  const std::int64_t shift = static_cast<std::int64_t>(ns);
  return shift < 0 && static_cast<std::uint64_t>(-shift) > first.ns ? 0 : first.ns + static_cast<std::uint64_t>(shift);
}

std::uint64_t Clock::duration(std::uint64_t ticks) const {
  if (!counter) return ticks;
  const double ns = static_cast<double>(ticks) * rate + 0.5;
  return ns < 1.8e19 ? static_cast<std::uint64_t>(ns) : ~std::uint64_t{0};
}

void Index::damaged(const std::string& file, std::uint64_t offset, std::string text) {
  ++damage_count;
  if (damage.size() < kMaxDamage) damage.push_back({file, offset, std::move(text)});
}

Result<std::unique_ptr<Index>> build_index(const std::string& directory) {
  const auto missing = [](const std::string& what) {
    Fault fault = fail(Errc::not_found, "missing-trace", "%s", what.c_str());
    fault.remedy = "name the folder that was given to rocbridge run --trace";
    return fault;
  };
  if (!os::is_folder(directory.c_str())) return missing(directory + " is not a folder");
  auto index = std::make_unique<Index>();
  index->directory = directory;
  std::vector<std::string> processes;
  std::vector<std::string> rings;
  std::vector<std::string> segments;
  bool collected = false;
  for (const std::string& name : os::list_folder(directory.c_str())) {
    collected = collected || name == kControlName;
    if (name.ends_with(kProcessSuffix)) processes.push_back(name);
    if (name.ends_with(kRingSuffix)) rings.push_back(name);
    if (name.ends_with(kSegmentSuffix)) segments.push_back(name);
  }
  // A program that made no call leaves nothing: an empty trace, as long as the collector's file shows that it is one.
  if (processes.empty() && rings.empty() && segments.empty() && !collected)
    return missing("there is no trace in " + directory);
  Builder builder(index.get());
  for (const std::string& name : processes) builder.process_file(name);
  for (const std::string& name : segments) builder.segment_file(name, name == segments.back(), !rings.empty());
  for (const std::string& name : rings) builder.ring_file(name);
  for (auto& [key, process] : index->processes) process.clock.finish();
  for (auto& [key, ring] : index->rings)
    std::stable_sort(ring.runs.begin(), ring.runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  if (index->processes.empty() && !index->damage.empty()) {
    const Damage& first = index->damage.front();
    return fail(Errc::invalid_value, "damaged-trace", "nothing in %s can be read: %s %s", directory.c_str(),
                first.file.c_str(), first.text.c_str());
  }
  return index;
}

}  // namespace rb::trace
