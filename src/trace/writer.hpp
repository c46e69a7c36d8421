// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Writing side of the trace, for the process of the application. Each thread writes into a ring of its own in a mapped
// file; a committed record survives the process. No heap, no lock, nothing to do at exit. With tracing off each
// function is one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "trace/format.hpp"
#include "trace/level.hpp"

namespace rb::trace {

/// "off", "calls", "full"; false for anything else.
bool parse_level(std::string_view text, Level* level);

/// Names by number, so that any build can read the trace. The arrays must live as long as the process. Library arrays
/// may be null.
struct NameTables {
  const char* const* entries = nullptr;
  std::uint32_t entry_count = 0;
  const char* const* entry_libraries = nullptr;
  const char* const* functions = nullptr;
  std::uint32_t function_count = 0;
  const char* const* function_libraries = nullptr;
};

struct Options {
  Level level = Level::off;
  std::string_view directory;           ///< control trace.dir; empty switches tracing off
  std::uint64_t ring_bytes = 4u << 20;  ///< control trace.ring_bytes, rounded up to a power of two
  const char* version = "";
  const char* build = "";  ///< build id of the core
};

/// Says what will be traced. Makes no file, no mapping and no thread: the first record does. Called once, before other
/// threads trace. False (and tracing off) when the directory's name is empty or too long.
bool init(const NameTables& names, const Options& options);

namespace detail {

extern std::atomic<bool> g_counter;  ///< whether now() may read the processor's counter

/// What one thread needs to write. Private memory of the process; the ring itself is in `shared` and `data`.
struct Lane {
  char* data = nullptr;  ///< mapped twice in a row
  std::uint64_t mask = 0;
  std::uint64_t head = 0;   ///< committed
  std::uint64_t limit = 0;  ///< up to here there is room without asking
  RingHeader* shared = nullptr;
  std::uint64_t current_call = 0;
  std::uint64_t next_call = 0;
  std::uint64_t next_sync = 0;  ///< clock at which the pair of clocks in the header is renewed
  std::uint32_t number = 0;
  bool building = false;
  std::uint64_t dropped_told = 0;  ///< part of shared->dropped that gap records already tell
  std::uint32_t index = 0;
  std::atomic<std::uint32_t> owned{0};
};

extern thread_local Lane* t_lane __attribute__((tls_model("initial-exec")));

Lane* take_lane();
/// Makes room for `bytes` from the lane's head on; waits for a collector. False: none, the record is dropped.
bool make_room(Lane* lane, std::uint64_t bytes);
void count_drop(Lane* lane);
void renew_clock(Lane* lane, std::uint64_t ticks);
std::uint64_t slow_now();

}  // namespace detail

/// Clock of the trace: the processor's counter where that is sound (12 ns against 31 ns), else nanoseconds.
inline std::uint64_t now() {
#if defined(__x86_64__)
  if (detail::g_counter.load(std::memory_order_relaxed)) [[likely]]
    return __builtin_ia32_rdtsc();
#endif
  return detail::slow_now();
}

/// A record in the making, in place in the ring. One at a time on a thread: a second one while the first is open (a
/// signal handler) is dropped and counted. All functions of an empty record do nothing. Not committed: as if it never
/// was.
class [[nodiscard]] Record {
 public:
  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() {
    if (lane_ != nullptr) lane_->building = false;
  }

  /// Begins a record of `fixed_bytes` (a multiple of 8) that `fixed` points to.
  Record(Kind kind, std::uint64_t time, const void* fixed, std::uint32_t fixed_bytes) {
    detail::Lane* lane = detail::t_lane;
    if (lane == nullptr) [[unlikely]] {
      lane = detail::take_lane();
      if (lane == nullptr) return;
    }
    if (lane->building) [[unlikely]] {
      detail::count_drop(lane);
      return;
    }
    const std::uint32_t need = static_cast<std::uint32_t>(sizeof(RecordHeader)) + fixed_bytes;
    if (lane->limit - lane->head < need) [[unlikely]] {
      if (!detail::make_room(lane, need)) {
        detail::count_drop(lane);
        return;
      }
    }
    lane->building = true;
    lane_ = lane;
    begin_ = lane->data + (lane->head & lane->mask);
    cursor_ = begin_ + need;
    end_ = begin_ + (lane->limit - lane->head);
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.fixed_words = static_cast<std::uint8_t>(fixed_bytes / 8);
    header.time = time;
    std::memcpy(begin_, &header, sizeof header);
    if (fixed_bytes != 0) std::memcpy(begin_ + sizeof header, fixed, fixed_bytes);
  }

  explicit operator bool() const { return lane_ != nullptr; }

  void item(Tag tag, std::uint8_t index, std::uint8_t type, const void* data, std::size_t size) {
    const std::size_t padded = (size + 7) & ~std::size_t{7};
    if (static_cast<std::size_t>(end_ - cursor_) < sizeof(ItemHeader) + padded) [[unlikely]] {
      if (!grow(sizeof(ItemHeader) + padded)) return;
    }
    // ItemHeader as one word: built member by member, its copy waits for the narrower stores.
    const std::uint64_t header = std::uint64_t{static_cast<std::uint16_t>(tag)} | std::uint64_t{index} << 16 |
                                 std::uint64_t{type} << 24 | std::uint64_t{static_cast<std::uint32_t>(size)} << 32;
    static_assert(sizeof header == sizeof(ItemHeader));
    std::memcpy(cursor_, &header, sizeof header);
    if (padded != size) std::memset(cursor_ + padded, 0, 8);  // the last word, before the content covers its start
    if (size != 0) std::memcpy(cursor_ + sizeof header, data, size);
    cursor_ += sizeof header + padded;
  }
  void argument(unsigned index, ArgumentKind kind, std::uint64_t word) {
    item(Tag::argument, static_cast<std::uint8_t>(index), static_cast<std::uint8_t>(kind), &word, sizeof word);
  }
  void snapshot(unsigned index, SnapshotKind kind, const void* data, std::size_t size) {
    item(Tag::snapshot, static_cast<std::uint8_t>(index), static_cast<std::uint8_t>(kind), data, size);
  }
  void stream(std::uint64_t word) { item(Tag::stream, 0, 0, &word, sizeof word); }
  /// Text; longer than 16 KiB is cut. Empty text writes nothing.
  void text(Tag tag, std::string_view value) {
    if (!value.empty()) item(tag, 0, 0, value.data(), value.size() < kMaxText ? value.size() : kMaxText);
  }

  /// The record exists from here on, also if the process dies at the next instruction. False: it was dropped.
  bool commit() {
    detail::Lane* lane = lane_;
    if (lane == nullptr) return false;
    lane_ = nullptr;
    RecordHeader header;
    std::memcpy(&header, begin_, sizeof header);
    header.size = static_cast<std::uint32_t>(cursor_ - begin_);
    header.number = lane->number++;
    std::memcpy(begin_, &header, sizeof header);
    header.check = record_check(begin_, header.size, lane->head);
    std::memcpy(begin_ + offsetof(RecordHeader, check), &header.check, sizeof header.check);
    lane->head += header.size;
    lane->shared->head.store(lane->head, std::memory_order_release);
    lane->building = false;
    if (header.time >= lane->next_sync) [[unlikely]]
      detail::renew_clock(lane, header.time);
    return true;
  }

 private:
  static constexpr std::size_t kMaxText = 16384;
  bool grow(std::size_t more);

  detail::Lane* lane_ = nullptr;
  char* begin_ = nullptr;
  char* cursor_ = nullptr;
  char* end_ = nullptr;
};

// ---- calls ----------------------------------------------------------------------------------------------------------

/// A CUDA call under way. `id` is never 0 while tracing is on; ids rise within a thread and are unique in the process.
struct Call {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::uint64_t start = 0;
  std::uint32_t entry = kNoEntry;
};

/// The call that is open on this thread, 0 if none. For checks that are made later by another thread.
inline std::uint64_t current_call() {
  return detail::t_lane != nullptr ? detail::t_lane->current_call : 0;
}

/// Opens `call` and its record:
///   trace::Call call;
///   if (trace::on()) { auto r = trace::call_begin(call, entry, 13); r.argument(0, kind, word); ...; r.commit(); }
inline Record call_begin(Call& call, std::uint32_t entry, unsigned argument_count) {
  detail::Lane* lane = detail::t_lane;
  if (lane == nullptr) [[unlikely]]
    lane = detail::take_lane();  // before the clock is read: making a ring is not part of the call
  call.start = now();
  call.entry = entry;
  if (lane != nullptr) {
    call.parent = lane->current_call;
    call.id = ++lane->next_call;
    lane->current_call = call.id;
  }
  const CallBeginFixed fixed{call.id, call.parent, entry, argument_count};
  return Record(Kind::call_begin, call.start, &fixed, sizeof fixed);
}

/// Closes `call`. Does nothing for a call that was never opened.
inline void call_end(const Call& call, std::int64_t status) {
  if (call.id == 0) return;
  const std::uint64_t end = now();
  const CallEndFixed fixed{call.id, status, end - call.start, call.entry, 0};
  Record record(Kind::call_end, end, &fixed, sizeof fixed);
  record.commit();
  if (detail::t_lane != nullptr) detail::t_lane->current_call = call.parent;
}

/// One call of an AMD function from `begin` to `end` (now()). `solution`: algorithm or solution id as text.
inline void amd_call(std::uint32_t function, std::int32_t status, std::uint64_t begin, std::uint64_t end,
                     std::string_view solution = {}) {
  if (!on()) return;
  const AmdCallFixed fixed{current_call(), end - begin, function, status};
  Record record(Kind::amd_call, end, &fixed, sizeof fixed);
  record.text(Tag::solution, solution);
  record.commit();
}

// ---- other records --------------------------------------------------------------------------------------------------

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct CheckRecord {
  std::uint64_t call = 0;  ///< current_call() of the call that is checked
  std::uint32_t entry = kNoEntry;
  Verdict verdict = Verdict::unchecked;
  std::uint8_t level = 0;  ///< 0 to 4
  Reference reference = Reference::none;
  ElementType type = ElementType::unknown;
  double relative_l1 = kNotMeasured;
  double bound = kNotMeasured;       ///< sum of tolerances / sum of |reference|
  double max_error = kNotMeasured;   ///< largest |got - reference|
  double tolerance = kNotMeasured;   ///< of that element
  double resolution = kNotMeasured;  ///< smallest error that this check could have seen
  double relative_l2 = kNotMeasured;
  std::uint64_t elements = 0;
  std::uint64_t compared = 0;  ///< elements that were compared
  std::uint64_t outside = 0;   ///< of them, outside their tolerance
  std::uint64_t zeros = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t poisoned = 0;     ///< still holding the poison pattern
  std::int64_t worst = -1;        ///< index of the worst element
  std::uint64_t duration_ns = 0;  ///< cost of the check
  std::string_view tensor;        ///< "y", "dx", "C"
  std::string_view shape;         ///< "8x64x56x56 fp32 NCHW"
  std::string_view tolerance_class;
  std::string_view reason;  ///< reason id, empty for pass
  std::string_view text;
  std::string_view reproducer;
};
void check(const CheckRecord& record);

struct AllocationRecord {
  AllocationKind kind = AllocationKind::tensors;
  bool freed = false;
  std::uint8_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< also when it is given back
};
void allocation(const AllocationRecord& record);

struct RefusalRecord {
  std::uint32_t entry = kNoEntry;
  std::int32_t status = 0;  ///< the library's status that the program gets
  std::string_view reason;
  std::string_view text;
  std::string_view remedy;
  std::string_view where;
};
void refusal(const RefusalRecord& record);

/// What the bridge changed on the call's way: layout("pack", "x 8x64x56x56 NCHW strided -> packed").
void layout(std::string_view what, std::string_view text);
/// A line of the log. Level: 0 error, 1 warn, 2 info, 3 debug.
void note(unsigned level, std::string_view component, std::string_view text);
/// A control with its value and where the value comes from ("flag", "environment", "file", "default").
void setting(std::string_view key, std::string_view value, std::string_view origin);

struct DeviceRecord {
  std::uint32_t index = 0;
  std::string_view name;          ///< "AMD Radeon RX 9060 XT"
  std::string_view architecture;  ///< "gfx1200"
  std::uint32_t wave = 0;
  std::uint64_t memory_bytes = 0;
  bool software = false;
  std::uint32_t generation = 0;  ///< of the AMD libraries
  std::string_view directory;    ///< folder of the AMD libraries
  std::string_view text;         ///< how it was chosen
};
void device(const DeviceRecord& record);

struct TensorRecord {
  std::uint64_t call = 0;
  std::string_view name;
  ElementType type = ElementType::unknown;
  bool after = true;
  std::uint64_t address = 0;
  const std::int64_t* dims = nullptr;
  std::size_t rank = 0;
  const void* data = nullptr;
  std::uint64_t bytes = 0;
};
/// Content of a tensor, in pieces. Only at level full.
void tensor(const TensorRecord& record);

}  // namespace rb::trace
