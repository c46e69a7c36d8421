// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// The trace on disk: files, records, items, checksum. docs/reference/trace-format.md is this file in words; both
// change together and only by adding: a number once given keeps its meaning for ever.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rb::trace {

inline constexpr std::uint32_t kFormatVersion = 1;

constexpr std::uint64_t magic(const char (&text)[9]) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(text[i]);
  return value;
}
inline constexpr std::uint64_t kRingMagic = magic("RBTRING1");
inline constexpr std::uint64_t kProcessMagic = magic("RBTPROC1");
inline constexpr std::uint64_t kSegmentMagic = magic("RBTSEGM1");
inline constexpr std::uint64_t kControlMagic = magic("RBTCTRL1");
inline constexpr std::uint32_t kChunkMagic = 0x4b4e4843u;  // "CHNK"

inline constexpr char kControlName[] = "collector.control";
inline constexpr char kRingSuffix[] = ".ring";
inline constexpr char kProcessSuffix[] = ".process";
inline constexpr char kSegmentSuffix[] = ".segment";

/// Kind of a record. A reader skips kinds it does not know.
enum class Kind : std::uint16_t {
  none = 0,
  process = 1,        ///< first record of a process file
  names = 2,          ///< a table of names by number
  setting = 3,        ///< one control with its value and origin
  device = 4,         ///< the device and the directory of AMD libraries that were chosen
  thread_start = 10,  ///< a thread took the ring
  thread_end = 11,    ///< the thread ended; another may take the ring
  call_begin = 20,    ///< a CUDA entry was called
  call_end = 21,      ///< and returned
  amd_call = 22,      ///< a call of an AMD function, written when it returned
  layout = 23,        ///< what the bridge changed on the way
  allocation = 24,    ///< memory taken or given back
  check = 25,         ///< verdict on one output
  refusal = 26,       ///< why something was refused
  note = 27,          ///< a line of the log
  gap = 28,           ///< records that were dropped
  tensor = 29,        ///< a piece of a tensor's content (level full)
};

/// What an item of a record holds. Numbers are per format, not per kind: a tag means the same everywhere.
enum class Tag : std::uint16_t {
  none = 0,
  argument = 1,       ///< index: position, type: ArgumentKind, 8 bytes: the word as passed
  snapshot = 2,       ///< index: position of the argument, type: SnapshotKind, content of a descriptor
  text = 3,           ///< free text
  stream = 4,         ///< 8 bytes: the stream the call runs on
  name = 5,           ///< name of the subject: tensor, thread, device, control
  reason = 6,         ///< reason id
  remedy = 7,         ///< what to do about it
  where = 8,          ///< path of the bad value
  value = 9,          ///< value of a control
  origin = 10,        ///< where the value comes from
  program = 11,       ///< full path of the program
  arguments = 12,     ///< argv, each ended by a zero byte
  version = 13,       ///< version of rocbridge
  build = 14,         ///< build id of the core
  table = 15,         ///< names, each ended by a zero byte, in order of their numbers
  directory = 16,     ///< folder of AMD libraries
  architecture = 17,  ///< gfx name
  tolerance = 18,     ///< tolerance class, "conv/fp16"
  shape = 19,         ///< text of shape, type and layout
  solution = 20,      ///< algorithm or solution of an AMD call
  component = 21,     ///< part of rocbridge that wrote a note
  reproducer = 22,    ///< command line that shows the same again
  dims = 23,          ///< 8-byte signed numbers
  data = 24,          ///< raw content
};

enum class ArgumentKind : std::uint8_t {
  value = 0,
  handle = 1,
  descriptor = 2,
  device_in = 3,
  device_out = 4,
  device_inout = 5,
  host_in = 6,
  host_out = 7,
  host_inout = 8,
  scalar = 9,  ///< the word is the scalar's value when a snapshot `scalar` is there, else the pointer
  handle_out = 10,
};

/// Layout of a snapshot's content.
enum class SnapshotKind : std::uint8_t {
  blob = 0,         ///< bytes of unknown layout
  text = 1,         ///< UTF-8
  tensor = 2,       ///< TensorSnapshot
  filter = 3,       ///< TensorSnapshot
  convolution = 4,  ///< ConvolutionSnapshot
  scalar = 5,       ///< 8 bytes: a double
  words = 6,        ///< 8-byte signed numbers
};

/// Element type of snapshots.
enum class ElementType : std::uint8_t {
  unknown = 0,
  float32 = 1,
  float16 = 2,
  bfloat16 = 3,
  float64 = 4,
  int8 = 5,
  int32 = 6,
  int64 = 7,
  uint8 = 8,
  complex32 = 9,
  complex64 = 10,
};

/// Tensor or filter descriptor. `rank` numbers of each are valid. Filters have no strides: order tells.
struct TensorSnapshot {
  ElementType type = ElementType::unknown;
  std::uint8_t rank = 0;
  std::uint8_t order = 0;  ///< 0: by strides, 1: NCHW, 2: NHWC
  std::uint8_t reserved = 0;
  std::uint32_t groups = 0;
  std::int64_t dims[8] = {};
  std::int64_t strides[8] = {};
};
static_assert(sizeof(TensorSnapshot) == 136);

struct ConvolutionSnapshot {
  ElementType compute = ElementType::unknown;
  std::uint8_t rank = 0;  ///< spatial dimensions
  std::uint8_t mode = 0;  ///< 0: convolution (flipped filter), 1: cross-correlation
  std::uint8_t math = 0;
  std::uint32_t groups = 1;
  std::int32_t pads[4] = {};
  std::int32_t strides[4] = {};
  std::int32_t dilations[4] = {};
};
static_assert(sizeof(ConvolutionSnapshot) == 56);

enum class AllocationKind : std::uint8_t { tensors = 0, workspace = 1, staging = 2, bridge = 3 };
enum class Verdict : std::uint8_t { pass = 0, drift = 1, corrupt = 2, untrusted = 3, unchecked = 4, trapped = 5 };
enum class Reference : std::uint8_t {
  none = 0,
  full_fp64 = 1,     ///< every element recomputed
  sampled_fp64 = 2,  ///< some elements recomputed
  projection = 3,    ///< random projection
  copy = 4,          ///< compared with the source, bit by bit
  pytorch = 5,       ///< CPU PyTorch
};
enum class ClockKind : std::uint32_t { nanoseconds = 0, counter = 1 };

// ---- records --------------------------------------------------------------------------------------------------------
// record = RecordHeader, fixed part (fixed_words * 8 bytes), items. All little endian, all multiples of 8 bytes.

struct RecordHeader {
  std::uint32_t size = 0;        ///< bytes of the whole record
  std::uint16_t kind = 0;        ///< Kind
  std::uint8_t fixed_words = 0;  ///< length of the fixed part; a newer writer may append fields
  std::uint8_t flags = 0;        ///< none yet
  std::uint64_t time = 0;        ///< clock of the process (ClockKind)
  std::uint32_t check = 0;       ///< record_check()
  std::uint32_t number = 0;      ///< counts the records of the ring: a jump tells how many are missing
};
static_assert(sizeof(RecordHeader) == 24);

struct ItemHeader {
  std::uint16_t tag = 0;
  std::uint8_t index = 0;
  std::uint8_t type = 0;
  std::uint32_t size = 0;  ///< bytes that follow, without the zeros that fill up to a multiple of 8
};
static_assert(sizeof(ItemHeader) == 8);

inline constexpr std::uint32_t kNoEntry = 0xffffffffu;

struct ProcessFixed {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t token = 0;         ///< tells processes with equal numbers apart
  std::uint64_t parent_token = 0;  ///< of the process that was forked, or 0
  std::uint64_t wall_ns = 0;       ///< since 1970, at ticks[0]
  std::uint32_t clock = 0;         ///< ClockKind
  std::uint32_t level = 0;
  std::uint64_t ticks[2] = {};  ///< two readings of the clock ...
  std::uint64_t ns[2] = {};     ///< ... and of CLOCK_MONOTONIC
  std::uint64_t ring_bytes = 0;
};
struct NamesFixed {
  std::uint32_t table = 0;  ///< NameTable
  std::uint32_t first = 0;  ///< number of the first name
  std::uint64_t count = 0;
};
enum class NameTable : std::uint32_t { entries = 0, functions = 1, entry_libraries = 2, function_libraries = 3 };
struct DeviceFixed {
  std::uint64_t memory_bytes = 0;
  std::uint32_t wave = 0;
  std::uint32_t software = 0;  ///< 1: softrocm
  std::uint32_t generation = 0;
  std::uint32_t index = 0;
};
struct ThreadFixed {
  std::uint32_t tid = 0;
  std::uint32_t ring = 0;
};
struct CallBeginFixed {
  std::uint64_t call = 0;
  std::uint64_t parent = 0;  ///< call that was open on this thread, or 0
  std::uint32_t entry = 0;
  std::uint32_t argument_count = 0;
};
struct CallEndFixed {
  std::uint64_t call = 0;
  std::int64_t status = 0;
  std::uint64_t duration = 0;  ///< in ticks; the record's time is the end
  std::uint32_t entry = 0;
  std::uint32_t reserved = 0;
};
struct AmdCallFixed {
  std::uint64_t call = 0;
  std::uint64_t duration = 0;  ///< in ticks; the record's time is the end
  std::uint32_t function = 0;
  std::int32_t status = 0;
};
struct LayoutFixed {
  std::uint64_t call = 0;
};
struct AllocationFixed {
  std::uint64_t call = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0;   ///< AllocationKind
  std::uint8_t freed = 0;  ///< 0: taken, 1: given back
  std::uint8_t device = 0;
  std::uint8_t reserved[5] = {};
};
struct CheckFixed {
  std::uint64_t call = 0;
  std::uint32_t entry = kNoEntry;
  std::uint8_t verdict = 0;
  std::uint8_t level = 0;
  std::uint8_t reference = 0;
  std::uint8_t type = 0;   ///< ElementType
  double relative_l1 = 0;  ///< NaN: not measured, here and below
  double bound = 0;
  double max_error = 0;
  double tolerance = 0;
  double resolution = 0;
  double relative_l2 = 0;
  std::uint64_t elements = 0;
  std::uint64_t compared = 0;
  std::uint64_t outside = 0;
  std::uint64_t zeros = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t poisoned = 0;
  std::int64_t worst = -1;
  std::uint64_t duration_ns = 0;
};
struct RefusalFixed {
  std::uint64_t call = 0;
  std::uint32_t entry = kNoEntry;
  std::int32_t status = 0;
};
struct NoteFixed {
  std::uint64_t call = 0;
  std::uint32_t level = 0;  ///< 0 error, 1 warn, 2 info, 3 debug
  std::uint32_t reserved = 0;
};
struct GapFixed {
  std::uint64_t records = 0;  ///< dropped since the gap record before
  std::uint64_t total = 0;    ///< dropped in this ring since it was made
  std::uint64_t from = 0;     ///< clock of the first and the last dropped record
  std::uint64_t to = 0;
};
struct TensorFixed {
  std::uint64_t call = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;   ///< of the whole tensor
  std::uint64_t offset = 0;  ///< of this piece
  std::uint8_t type = 0;     ///< ElementType
  std::uint8_t after = 0;    ///< 0: content before the call, 1: after
  std::uint8_t reserved[6] = {};
};

// ---- files ----------------------------------------------------------------------------------------------------------

/// First page of a ring file; the data follow. The owner writes what is in its lines, the collector `tail`.
struct RingHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t data_offset;
  std::uint64_t capacity;  ///< bytes of data, a power of two
  std::uint64_t token;
  std::uint32_t pid;
  std::uint32_t ring;
  std::uint32_t clock;
  std::uint32_t reserved0;
  std::uint64_t check;  ///< header_check() of all above

  alignas(64) std::atomic<std::uint64_t> head;  ///< bytes committed since the ring was made
  std::atomic<std::uint64_t> dropped;           ///< records dropped since then
  std::atomic<std::uint64_t> dropped_from;
  std::atomic<std::uint64_t> dropped_to;
  std::atomic<std::uint32_t> tid;  ///< owner, 0: nobody
  std::atomic<std::uint32_t> clock_slot;
  std::atomic<std::uint64_t> clock_ticks[2];
  std::atomic<std::uint64_t> clock_ns[2];

  alignas(64) std::atomic<std::uint64_t> tail;  ///< bytes that were collected
  std::atomic<std::uint32_t> signal;            ///< changes with tail when somebody waits (futex)
  alignas(64) std::atomic<std::uint32_t> waiting;
};
static_assert(sizeof(RingHeader) == 320 && offsetof(RingHeader, head) == 64 && offsetof(RingHeader, tail) == 192);
inline constexpr std::uint32_t kRingDataOffset = 4096;
inline constexpr std::uint64_t kMinRingBytes = 4096;
inline constexpr std::uint64_t kMaxRingBytes = std::uint64_t{1} << 30;

/// First page of collector.control: what programs and collector tell each other.
struct ControlPage {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t reserved0;
  alignas(64) std::atomic<std::uint32_t> attached;  ///< 1 while a collector takes records
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint64_t> beat_ns;  ///< CLOCK_MONOTONIC of the collector's last round
  std::atomic<std::uint32_t> sleeping;
  alignas(64) std::atomic<std::uint32_t> bell;  ///< futex: a ring is half full, or new
  std::atomic<std::uint32_t> rings_made;
};

struct ProcessFileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t pid;
  std::uint64_t token;
  std::uint64_t bytes;  ///< of the records that follow
  std::uint64_t check;
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t collector_pid;
  std::uint64_t wall_ns;
  std::uint64_t check;
};

/// data: records of one ring, always whole ones. ring_header: a copy of the ring's header. end: the segment is closed.
enum class ChunkType : std::uint32_t { data = 0, ring_header = 1, end = 2 };

/// In a segment, before each piece.
struct ChunkHeader {
  std::uint32_t magic;
  std::uint32_t type;  ///< ChunkType
  std::uint64_t token;
  std::uint32_t pid;
  std::uint32_t ring;
  std::uint64_t position;  ///< of the first byte in the ring's stream; of a ring_header: header_check() of the copy
  std::uint64_t bytes;
  std::uint64_t check;
};
static_assert(sizeof(ChunkHeader) == 48);

// ---- checksum -------------------------------------------------------------------------------------------------------

/// Sums of 8-byte words and sums of these sums, in four lanes that do not wait for each other. Not against forgery:
/// against cut, flipped and mixed bytes. All arithmetic is modulo 2^64.
class Checksum {
 public:
  Checksum(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    lanes_[0] = {a, 0x243f6a8885a308d3u + a};
    lanes_[1] = {b, 0x13198a2e03707344u + b};
    lanes_[2] = {c, 0xa4093822299f31d0u + c};
    lanes_[3] = {d, 0x082efa98ec4e6c89u + d};
  }

  /// `words` words; what is missing to a multiple of four counts as zeros.
  void add(const void* data, std::size_t words) {
    const char* bytes = static_cast<const char*>(data);
    std::size_t i = 0;
    for (; i + 4 <= words; i += 4) add_four(bytes + i * 8);
    if (i == words) return;
    char rest[32] = {};
    std::memcpy(rest, bytes + i * 8, (words - i) * 8);
    add_four(rest);
  }

  std::uint64_t value() const {
    // Rotated, so that a flipped top bit does not cancel between a sum and its sum.
    const std::uint64_t sum =
        lanes_[0].words * 0x9e3779b97f4a7c15u + std::rotl(lanes_[0].sums, 32) * 0xc4ceb9fe1a85ec53u +
        lanes_[1].words * 0xc2b2ae3d27d4eb4fu + std::rotl(lanes_[1].sums, 32) * 0x85ebca77c2b2ae63u +
        lanes_[2].words * 0x165667b19e3779f9u + std::rotl(lanes_[2].sums, 32) * 0x27d4eb2f165667c5u +
        lanes_[3].words * 0xff51afd7ed558ccdu + std::rotl(lanes_[3].sums, 32) * 0x94d049bb133111ebu;
    return sum ^ sum >> 32;
  }

 private:
  struct Lane {
    std::uint64_t words = 0;
    std::uint64_t sums = 0;
    void add(const char* bytes) {
      std::uint64_t word;
      std::memcpy(&word, bytes, sizeof word);
      words += word;
      sums += words;
    }
  };
  void add_four(const char* bytes) {
    lanes_[0].add(bytes);
    lanes_[1].add(bytes + 8);
    lanes_[2].add(bytes + 16);
    lanes_[3].add(bytes + 24);
  }

  Lane lanes_[4];
};

/// Check of a whole record in memory, without its check field. `position` is its place in the ring's stream: an old
/// record of an earlier lap of the ring is not taken for a new one.
inline std::uint32_t record_check(const void* record, std::size_t bytes, std::uint64_t position) {
  RecordHeader header;
  std::memcpy(&header, record, sizeof header);
  const std::uint64_t first = std::uint64_t{header.size} | std::uint64_t{header.kind} << 32 |
                              std::uint64_t{header.fixed_words} << 48 | std::uint64_t{header.flags} << 56;
  Checksum sum(first, header.time, header.number, position);
  sum.add(static_cast<const char*>(record) + sizeof header, (bytes - sizeof header) / 8);
  return static_cast<std::uint32_t>(sum.value());
}

/// Check of `bytes` (a multiple of 8) of a file's or chunk's header, those before its `check` field.
inline std::uint64_t header_check(const void* header, std::size_t bytes) {
  Checksum sum(bytes, 0, 0, 0);
  sum.add(header, bytes / 8);
  return sum.value();
}

}  // namespace rb::trace
