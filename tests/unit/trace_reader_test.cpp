// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Damaged traces: cut at every byte, flipped bits, foreign files, records with a right checksum and wrong content. What
// is read is either what was written, or the reader says that something is damaged.
#include <cstring>
#include <random>
#include <regex>

#include "trace/plain_record.hpp"
#include "trace_support.hpp"

namespace {

using namespace trace_test;

void write_some(int calls) {
  trace::setting("trace.level", "calls", "environment");
  for (int i = 0; i < calls; ++i) {
    trace::Call call;
    {
      auto record = trace::call_begin(call, 1, 2);
      record.argument(0, trace::ArgumentKind::value, static_cast<std::uint64_t>(i));
      record.argument(1, trace::ArgumentKind::handle, 0x5b00000000000001u);
      trace::TensorSnapshot tensor;
      tensor.rank = 4;
      record.snapshot(1, trace::SnapshotKind::tensor, &tensor, sizeof tensor);
      record.commit();
    }
    trace::amd_call(1, 0, trace::now(), trace::now(), "solution");
    trace::call_end(call, 0);
  }
  trace::CheckRecord check;
  check.tensor = "y";
  trace::check(check);
}

/// A trace with everything in ring files (no collector), or with everything in segments.
void make_trace(const std::string& directory, bool collected, int calls, std::uint64_t ring_bytes = 4096) {
  std::unique_ptr<trace::Collector> collector;
  if (collected) {
    auto started = trace::Collector::start(directory);
    ASSERT_TRUE(started.ok());
    collector = std::move(*started);
  }
  run_program(directory, ring_bytes, [calls] { write_some(calls); });
  if (collected) collector->stop();
}

/// The line without its times: the rate of the clock is known less exactly when a later reading of it is lost.
std::string timeless(const std::string& line) {
  static const std::regex times("\"(time|duration)_ns\":[0-9]+");
  return std::regex_replace(line, times, "");
}

/// Whether `part` are some of the lines of `whole`, in order, apart from the gaps that the reader adds.
bool is_part_of(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  std::size_t at = 0;
  for (const std::string& line : part) {
    if (line.find("{\"kind\":\"gap\"") == 0) continue;
    while (at < whole.size() && whole[at] != line && timeless(whole[at]) != timeless(line)) ++at;
    if (at++ >= whole.size()) return false;
  }
  return true;
}

class Damaged : public ::testing::TestWithParam<bool> {};

TEST_P(Damaged, tells_every_cut) {
  Folder folder(true);
  make_trace(folder.path(), GetParam(), 4);
  const Read whole = read_all(folder.path());
  ASSERT_TRUE(whole.opened);
  ASSERT_EQ(whole.damage, 0u);
  ASSERT_GT(whole.lines.size(), 14u);
  for (const std::string& file : folder.files("")) {
    if (file.ends_with(trace::kControlName)) continue;
    const std::vector<char> content = read_file(file);
    const bool names = file.ends_with(".process");
    const bool ring = file.ends_with(".ring");
    for (std::size_t size = 0; size < content.size(); ++size) {
      // Between a ring's header and its records there is nothing.
      if (ring && size > sizeof(trace::RingHeader) && size < trace::kRingDataOffset) size = trace::kRingDataOffset;
      write_file(file, content, size);
      const Read cut = read_all(folder.path());
      if (!cut.opened) {
        ASSERT_EQ(cut.reason, "damaged-trace");
        continue;
      }
      // A ring file may be cut behind its last record.
      ASSERT_TRUE(cut.damage > 0 || cut.lines == whole.lines) << file << " cut at " << size;
      if (!names) {
        ASSERT_TRUE(is_part_of(cut.lines, whole.lines)) << file << " cut at " << size;
      }
    }
    write_file(file, content, content.size());
  }
  EXPECT_EQ(read_all(folder.path()).lines, whole.lines);
}

TEST_P(Damaged, tells_flipped_bits) {
  Folder folder(true);
  make_trace(folder.path(), GetParam(), 4);
  const Read whole = read_all(folder.path());
  std::mt19937 random(7);
  for (const std::string& file : folder.files("")) {
    if (file.ends_with(trace::kControlName)) continue;
    std::vector<char> content = read_file(file);
    const bool ring = file.ends_with(".ring");
    for (int round = 0; round < 600; ++round) {
      const std::size_t at = random() % content.size();
      const char bit = static_cast<char>(1 << random() % 8);
      content[at] = static_cast<char>(content[at] ^ bit);
      write_file(file, content, content.size());
      const Read read = read_all(folder.path());
      // A ring's live words (head, tail, clock) bear no checksum: they change all the time.
      const bool live = ring && at >= offsetof(trace::RingHeader, head) && at < sizeof(trace::RingHeader);
      if (!live) {
        ASSERT_TRUE(!read.opened || read.damage > 0 || read.lines == whole.lines) << file << " bit in byte " << at;
      }
      content[at] = static_cast<char>(content[at] ^ bit);
    }
    write_file(file, content, content.size());
  }
  EXPECT_EQ(read_all(folder.path()).lines, whole.lines);
}

TEST_P(Damaged, survives_noise) {
  Folder folder(true);
  make_trace(folder.path(), GetParam(), 8);
  std::mt19937 random(11);
  for (const std::string& file : folder.files("")) {
    if (file.ends_with(trace::kControlName)) continue;
    const std::vector<char> content = read_file(file);
    for (int round = 0; round < 200; ++round) {
      std::vector<char> noisy = content;
      const int places = 1 + static_cast<int>(random() % 20);
      for (int i = 0; i < places; ++i) {
        const std::size_t at = random() % noisy.size();
        const std::size_t length = std::min<std::size_t>(noisy.size() - at, 1 + random() % 16);
        const int how = static_cast<int>(random() % 3);
        for (std::size_t k = 0; k < length; ++k)
          noisy[at + k] = how == 0 ? '\xff' : how == 1 ? '\0' : static_cast<char>(random());
      }
      write_file(file, noisy, noisy.size());
      read_all(folder.path());  // must end, without a crash
    }
    write_file(file, content, content.size());
  }
}

/// Contents that no writer makes, under right checksums: the decoder's own bounds must hold.
TEST_P(Damaged, survives_wrong_content_with_a_right_checksum) {
  Folder folder(true);
  make_trace(folder.path(), GetParam(), 4);
  const std::string file = folder.files(GetParam() ? ".segment" : ".ring").front();
  const std::vector<char> content = read_file(file);
  // Where the records of the ring lie in the file.
  std::size_t begin = trace::kRingDataOffset;
  if (GetParam()) {
    begin = sizeof(trace::SegmentHeader);
    trace::ChunkHeader chunk;
    for (;; begin += chunk.bytes) {
      std::memcpy(&chunk, content.data() + begin, sizeof chunk);
      begin += sizeof chunk;
      if (chunk.type == static_cast<std::uint32_t>(trace::ChunkType::data)) break;
    }
  }
  std::vector<std::size_t> records;
  trace::RecordHeader header;
  for (std::size_t at = begin;; at += header.size) {
    std::memcpy(&header, content.data() + at, sizeof header);
    if (header.size < sizeof header || at + header.size > content.size() || header.kind > 100 ||
        header.check != trace::record_check(content.data() + at, header.size, at - begin))
      break;
    records.push_back(at);
  }
  ASSERT_GT(records.size(), 10u);
  std::mt19937 random(13);
  for (int round = 0; round < 1000; ++round) {
    std::vector<char> changed = content;
    const std::size_t at = records[random() % records.size()];
    std::memcpy(&header, changed.data() + at, sizeof header);
    const std::size_t size = header.size;
    for (int i = 0; i < 6; ++i)
      if (size > sizeof header)
        changed[at + sizeof header + random() % (size - sizeof header)] = static_cast<char>(random());
    if (random() % 2 == 0) header.kind = static_cast<std::uint16_t>(random() % 34);
    if (random() % 4 == 0) header.fixed_words = static_cast<std::uint8_t>(random() % ((size - sizeof header) / 8 + 1));
    if (random() % 4 == 0) header.time = (std::uint64_t{random()} << 32) | random();
    std::memcpy(changed.data() + at, &header, sizeof header);
    header.check = trace::record_check(changed.data() + at, size, at - begin);
    std::memcpy(changed.data() + at, &header, sizeof header);
    write_file(file, changed, changed.size());
    const Read read = read_all(folder.path());
    ASSERT_TRUE(read.opened);
    ASSERT_EQ(read.damage, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Trace, Damaged, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "segments" : "rings"; });

TEST(TraceReader, rejects_what_is_no_trace) {
  Folder folder;
  EXPECT_EQ(read_all(folder.path() + "/none").reason, "missing-trace");
  EXPECT_EQ(read_all(folder.path()).reason, "missing-trace");
  write_file(folder.path() + "/readme.txt", {'x'}, 1);
  EXPECT_EQ(read_all(folder.path()).reason, "missing-trace");
  write_file(folder.path() + "/000001.segment", std::vector<char>(1000, 'x'), 1000);
  EXPECT_EQ(read_all(folder.path()).reason, "damaged-trace");
}

TEST(TraceReader, maps_a_run_without_calls_to_an_empty_trace) {
  Folder folder;
  auto collector = trace::Collector::start(folder.path());
  ASSERT_TRUE(collector.ok());
  (*collector)->stop();
  const Read read = read_all(folder.path());
  EXPECT_TRUE(read.opened);
  EXPECT_EQ(read.damage, 0u);
  EXPECT_TRUE(read.lines.empty());
}

TEST(TraceReader, rejects_a_newer_version) {
  Folder folder;
  make_trace(folder.path(), true, 2);
  for (const std::string& file : folder.files("")) {
    if (file.ends_with(trace::kControlName)) continue;
    std::vector<char> content = read_file(file);
    content[8] = 2;  // all files have their version after the magic
    write_file(file, content, content.size());
  }
  auto reader = trace::Reader::open(folder.path());
  ASSERT_FALSE(reader.ok());
  EXPECT_STREQ(reader.fault().reason, "damaged-trace");
  EXPECT_NE(reader.fault().text.find("newer version"), std::string::npos) << reader.fault().text;
}

TEST(TraceReader, reads_a_newer_writers_records) {
  // Longer fixed part, an unknown item, an unknown kind: all of them may come with later versions.
  struct LongerEnd {
    trace::CallEndFixed known;
    std::uint64_t added = 5;
  };
  std::vector<char> bytes(4096);
  trace::PlainRecords out(bytes.data(), bytes.size());
  out.begin(trace::Kind::call_end, 10, LongerEnd{{1, -5, 3, 1, 0}, 5});
  out.item(static_cast<trace::Tag>(900), 0, 0, "abc", 3);
  out.end();
  out.begin(static_cast<trace::Kind>(777), 11, std::uint64_t{9});
  out.end();
  ASSERT_TRUE(out.ok());
  bytes.resize(out.size());

  Folder folder;
  trace::SegmentHeader segment{trace::kSegmentMagic, 1, 1, 0, 0};
  segment.check = trace::header_check(&segment, offsetof(trace::SegmentHeader, check));
  trace::ChunkHeader chunk{trace::kChunkMagic, 0, 99, 42, 0, 0, bytes.size(), 0};
  chunk.check = trace::header_check(&chunk, offsetof(trace::ChunkHeader, check));
  trace::ChunkHeader end{trace::kChunkMagic, 2, 0, 1, 0, 0, 0, 0};
  end.check = trace::header_check(&end, offsetof(trace::ChunkHeader, check));
  std::vector<char> file;
  const auto add = [&](const void* data, std::size_t size) {
    file.insert(file.end(), static_cast<const char*>(data), static_cast<const char*>(data) + size);
  };
  add(&segment, sizeof segment);
  add(&chunk, sizeof chunk);
  add(bytes.data(), bytes.size());
  add(&end, sizeof end);
  write_file(folder.path() + "/000001.segment", file, file.size());

  auto reader = trace::Reader::open(folder.path());
  ASSERT_TRUE(reader.ok()) << reader.fault().text;
  trace::Event event;
  ASSERT_TRUE((*reader)->next(&event));
  EXPECT_TRUE(std::holds_alternative<trace::ProcessEvent>(event.body));
  ASSERT_TRUE((*reader)->next(&event));
  const auto* call = std::get_if<trace::CallEnd>(&event.body);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->fixed.status, -5);
  EXPECT_EQ(call->duration_ns, 3u);
  EXPECT_EQ(call->name, "?");  // no process file, so no names
  EXPECT_EQ(event.process->pid, 42u);
  ASSERT_TRUE((*reader)->next(&event));
  EXPECT_EQ(std::get<trace::UnknownEvent>(event.body).kind, 777);
  EXPECT_FALSE((*reader)->next(&event));
  EXPECT_EQ((*reader)->damage_count(), 0u);
}

TEST(TraceReader, counts_the_records_lost_to_damage) {
  Folder folder;
  make_trace(folder.path(), false, 4);
  const Read whole = read_all(folder.path());
  const std::string file = folder.files(".ring").front();
  std::vector<char> content = read_file(file);
  // The header of the third record, and the content of the seventh.
  std::size_t at = trace::kRingDataOffset;
  for (int i = 0; i < 7; ++i) {
    trace::RecordHeader header;
    std::memcpy(&header, content.data() + at, sizeof header);
    if (i == 2) content[at] = static_cast<char>(content[at] ^ 0x55);
    if (i == 6) content[at + 30] = static_cast<char>(content[at + 30] ^ 0x55);
    at += header.size;
  }
  write_file(file, content, content.size());
  auto reader = trace::Reader::open(folder.path());
  ASSERT_TRUE(reader.ok());
  trace::Event event;
  std::vector<std::uint64_t> lost;
  std::size_t others = 0;
  while ((*reader)->next(&event)) {
    if (const auto* gap = std::get_if<trace::GapEvent>(&event.body)) {
      EXPECT_EQ(gap->cause, trace::GapCause::damage);
      EXPECT_GT(gap->bytes, 0u);
      lost.push_back(gap->records);
    } else {
      ++others;
    }
  }
  EXPECT_EQ(lost, (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(others, whole.lines.size() - 2);
  EXPECT_EQ((*reader)->damage_count(), 2u);
}

TEST(TraceReader, maps_calls_to_csv_rows) {
  Folder folder;
  run_program(folder.path(), 1 << 16, [] {
    trace::Call outer;
    trace::call_begin(outer, 1, 0).commit();
    write_call(2, 5);
    trace::amd_call(1, 0, trace::now(), trace::now());
    trace::call_end(outer, 3);
    trace::Call open;
    trace::call_begin(open, 0, 0).commit();  // the program ends in it
  });
  auto reader = trace::Reader::open(folder.path());
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> lines;
  EXPECT_TRUE(trace::export_csv(reader->get(), [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  }));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[1].find(",1,,cudnnConvolutionForward,libcudnn.so.8,3,"), std::string::npos) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(",1\n"));
  EXPECT_NE(lines[2].find(",2,1,cudaMalloc,libcudart.so.12,0,"), std::string::npos) << lines[2];
  EXPECT_TRUE(lines[3].ends_with(",3,,cudnnCreate,libcudnn.so.8,,,0\n")) << lines[3];
}

TEST(TraceReader, exports_a_first_and_a_last_line) {
  Folder folder;
  make_trace(folder.path(), true, 2);
  auto reader = trace::Reader::open(folder.path());
  ASSERT_TRUE(reader.ok());
  std::vector<std::string> lines;
  EXPECT_TRUE(trace::export_json_lines(reader->get(), [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  }));
  EXPECT_NE(lines.front().find("\"schema\":\"rocbridge.trace/1\""), std::string::npos);
  EXPECT_NE(lines.back().find("\"damaged_places\":0"), std::string::npos);
  auto stopped = trace::Reader::open(folder.path());
  EXPECT_FALSE(trace::export_json_lines(stopped->get(), [&](std::string_view) { return false; }));
}

}  // namespace
