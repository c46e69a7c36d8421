// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// `rocbridge trace`: results on standard output, messages on standard error, exit codes.
#include <nlohmann/json.hpp>

#include "cli/verb.hpp"
#include "trace_support.hpp"

namespace {

using namespace trace_test;
using nlohmann::json;

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran run(const rb::cli::Args& args) {
  const rb::cli::Verb verb{"trace", "Read traces.", "rocbridge trace info DIR", rb::cli::trace_verb};
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.code = rb::cli::trace_verb(verb, args);
  std::fflush(stdout);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

void make_small(const std::string& directory) {
  run_program(directory, 1 << 16, [] {
    write_call(1, 7);
    write_call(2, 8);
    trace::note(1, "bridge", "a line");
  });
}

TEST(TraceVerb, maps_a_whole_trace_to_its_formats) {
  Folder folder;
  make_small(folder.path());
  const Ran dumped = run({"dump", folder.path(), "--format", "jsonl"});
  EXPECT_EQ(dumped.code, 0);
  EXPECT_EQ(dumped.err, "");
  EXPECT_EQ(lines_of(dumped.out), read_all(folder.path()).lines);

  const Ran some = run({"dump", folder.path(), "--format", "jsonl", "--kind", "call_begin,note", "--limit", "2"});
  ASSERT_EQ(lines_of(some.out).size(), 2u);
  EXPECT_EQ(json::parse(lines_of(some.out)[1])["entry"], "cudaMalloc");

  const Ran people = run({"dump", folder.path()});
  EXPECT_EQ(people.code, 0);
  EXPECT_NE(people.out.find("cudnnConvolutionForward(0x7, 0x1, 0x2)"), std::string::npos) << people.out;

  const std::string file = folder.path() + "/out.jsonl";
  EXPECT_EQ(run({"export", folder.path(), "-o", file}).code, 0);
  const std::vector<char> content = read_file(file);
  const auto exported = lines_of(std::string(content.begin(), content.end()));
  ASSERT_EQ(exported.size(), lines_of(dumped.out).size() + 2);
  EXPECT_EQ(json::parse(exported.back())["records"], lines_of(dumped.out).size());

  EXPECT_EQ(lines_of(run({"export", folder.path(), "--format", "csv"}).out).size(), 3u);

  const json about = json::parse(run({"info", folder.path(), "--format", "json"}).out);
  EXPECT_EQ(about["schema"], "rocbridge.trace-info/1");
  EXPECT_EQ(about["records_by_kind"]["call_end"], 2);
  EXPECT_EQ(about["threads"], 1);
  EXPECT_EQ(about["unfinished_calls"], 0);
  EXPECT_TRUE(about["device"].is_null());
  EXPECT_NE(run({"info", folder.path()}).out.find("threads        1\n"), std::string::npos);

  const Ran checked = run({"check", folder.path()});
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.out.substr(0, 4), "ok: ");
}

TEST(TraceVerb, rejects_what_is_missing_or_wrong_usage) {
  Folder folder;
  EXPECT_EQ(run({"info", folder.path()}).code, rb::cli::kMissing);
  const Ran none = run({"info", folder.path() + "/none"});
  EXPECT_EQ(none.code, rb::cli::kMissing);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("is not a folder; name the folder"), std::string::npos) << none.err;
  make_small(folder.path());
  EXPECT_EQ(run({}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"info"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"eat", folder.path()}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"info", folder.path(), "--format", "csv"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"dump", folder.path(), "--format", "csv"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"export", folder.path(), "--format", "table"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"dump", folder.path(), "--kind", "calls"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"check", folder.path(), "--limit", "1"}).code, rb::cli::kUsage);
  EXPECT_EQ(run({"export", folder.path(), "-o", folder.path() + "/no/such"}).code, rb::cli::kMissing);
}

TEST(TraceVerb, tells_damage_and_gaps) {
  Folder folder;
  run_program(folder.path(), 4096, [] {
    for (std::uint64_t i = 0; i < 100; ++i) write_call(1, i);
  });
  const Ran dropped = run({"check", folder.path()});
  EXPECT_EQ(dropped.code, rb::cli::kFindings);
  EXPECT_NE(dropped.out.find("DROPPED"), std::string::npos);

  const std::string file = folder.files(".ring").front();
  std::vector<char> content = read_file(file);
  content[trace::kRingDataOffset + 200] ^= 1;
  write_file(file, content, content.size());
  const Ran damaged = run({"check", folder.path()});
  EXPECT_EQ(damaged.code, rb::cli::kDamaged);
  EXPECT_NE(damaged.out.find("DAMAGED"), std::string::npos);
  // The rest is shown, and the exit code says that it is not all.
  const Ran dumped = run({"dump", folder.path(), "--format", "jsonl"});
  EXPECT_EQ(dumped.code, rb::cli::kDamaged);
  EXPECT_GT(lines_of(dumped.out).size(), 5u);
  EXPECT_NE(dumped.err.find("damaged"), std::string::npos);

  for (const std::string& path : folder.files("")) write_file(path, std::vector<char>(64, 'x'), 64);
  const Ran nothing = run({"info", folder.path()});
  EXPECT_EQ(nothing.code, rb::cli::kDamaged);
  EXPECT_EQ(nothing.out, "");
}

}  // namespace
