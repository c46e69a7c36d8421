// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "inspect/coverage.hpp"
#include "inspect/presets.hpp"
#include "inspect/shims.hpp"

namespace rb::inspect {
namespace {

Run good_run() {
  Run run;
  run.calls = 3;
  run.checked = 2;
  Used used;
  used.name = "cudnnConvolutionForward";
  used.library = "cudnn8";
  used.status = "mapped";
  used.computes = true;
  used.calls = used.successes = used.checked = 2;
  used.verdict = trace::Verdict::pass;
  used.worst = Drift{1e-7, 1e-6, used.name, "y", "fp64"};
  run.entries["cudnn8.cudnnConvolutionForward"] = used;
  run.max_drift = used.worst;
  return run;
}

TEST(InspectReport, all_checked_is_a_pass) {
  EXPECT_EQ(outcome_of(good_run(), "trap"), Outcome::pass);
}

TEST(InspectReport, anything_unchecked_or_lost_is_no_pass) {
  auto run = good_run();
  run.unchecked = 1;
  EXPECT_EQ(outcome_of(run, "trap"), Outcome::unchecked);
  run = good_run();
  run.lost = 1;
  EXPECT_EQ(outcome_of(run, "trap"), Outcome::unchecked);
  run = good_run();
  run.unended = 1;
  EXPECT_EQ(outcome_of(run, "trap"), Outcome::unchecked);
  EXPECT_EQ(outcome_of(inspect::Run(), "trap"), Outcome::unchecked) << "a run that computed nothing shows nothing";
}

TEST(InspectReport, a_finding_is_trapped_or_fail_by_policy) {
  auto run = good_run();
  run.findings.push_back({"DRIFT", "cudnnConvolutionForward", "check-drift", "line", 1});
  EXPECT_EQ(outcome_of(run, "trap"), Outcome::trapped);
  EXPECT_EQ(outcome_of(run, "warn"), Outcome::fail);
  run = good_run();
  run.findings.push_back({"PROGRAM", "", "program-failed", "line", 1});
  EXPECT_EQ(outcome_of(run, "trap"), Outcome::fail);
}

TEST(InspectReport, absent_evidence_is_null) {
  const auto json = report_json(inspect::Run(), {}, "trap", std::nullopt, false);
  EXPECT_TRUE(json["device"].is_null());
  EXPECT_TRUE(json["headline"]["max_relative_l1"]["value"].is_null());
  EXPECT_TRUE(json["headline"]["max_relative_l1_pytorch"].is_null());
  EXPECT_TRUE(json["headline"]["memory_footprint"].is_null());
  EXPECT_FALSE(json.contains("stream"));
}

TEST(InspectReport, an_entry_that_computes_nothing_has_no_verdict) {
  auto run = good_run();
  Used used;
  used.name = "cudnnCreate";
  used.library = "cudnn8";
  used.calls = 1;
  run.entries["cudnn8.cudnnCreate"] = used;
  const auto json = report_json(run, {}, "trap", std::nullopt, false);
  EXPECT_EQ(json["entries"][0]["verdict"], "pass");
  EXPECT_TRUE(json["entries"][1]["verdict"].is_null());
  EXPECT_TRUE(json["entries"][1]["relative_l1"].is_null());
}

TEST(InspectReport, infinities_are_text) {
  auto run = good_run();
  run.max_drift->relative_l1 = std::numeric_limits<double>::infinity();
  EXPECT_EQ(report_json(run, {}, "trap", std::nullopt, false)["headline"]["max_relative_l1"]["value"], "Infinity");
}

TEST(Coverage, cudnn_is_counted_as_268) {
  const auto counts = count_by_library();
  const Count& cudnn = counts.at("cudnn8");
  EXPECT_EQ(cudnn.total, 268);
  EXPECT_EQ(cudnn.mapped + cudnn.emulated + cudnn.trapped, cudnn.total);
}

TEST(Coverage, every_library_counts_what_it_exports) {
  const auto counts = count_by_library();
  for (std::size_t i = 0; i < kLibraryCount; ++i)
    EXPECT_EQ(counts.at(kLibraries[i].key).total, kLibraries[i].functions) << kLibraries[i].key;
}

TEST(Coverage, close_matches_come_nearest_first) {
  const auto near = close_matches("cudnnConvolutionForwrd", 3);
  ASSERT_FALSE(near.empty());
  EXPECT_EQ(near.front(), "cudnnConvolutionForward");
  EXPECT_TRUE(close_matches("qqqqqqqqqqqqqqqq", 3).empty());
}

TEST(Coverage, evidence_survives_a_file_and_damage_is_told) {
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/evidence.json";
  std::ofstream(path) << write_evidence({{"cudnnCreate", {3, 0, {"api_handle_test"}}}});
  const auto read = read_evidence(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at("cudnnCreate").successes, 3);
  for (const char* bad : {"", "{}", "[1]", "{\"schema\": \"rocbridge.evidence/1\", \"entries\": {\"x\": 1}}"}) {
    std::ofstream(path) << bad;
    const auto damaged = read_evidence(path);
    ASSERT_FALSE(damaged.ok()) << bad;
    EXPECT_STREQ(damaged.fault().reason, "damaged-file");
  }
  EXPECT_STREQ(read_evidence(folder->path() + "/none").fault().reason, "missing-file");
}

TEST(Coverage, an_entry_that_computes_needs_a_passed_check) {
  EntryRow row{};
  row.name = "f";
  row.alias_of = "";
  row.computes = true;
  EXPECT_FALSE(proven(row, {}));
  EXPECT_FALSE(proven(row, {{"f", {5, 0, {}}}}));
  EXPECT_TRUE(proven(row, {{"f", {5, 1, {}}}}));
  row.computes = false;
  EXPECT_TRUE(proven(row, {{"f", {5, 0, {}}}}));
}

TEST(Presets, impossible_settings_have_a_reason) {
  Workload workload;
  workload.preset = "conv2d";
  EXPECT_EQ(impossible(workload), "");
  workload.seq = 16;
  EXPECT_NE(impossible(workload), "");
  workload.seq = 0;
  workload.preset = "conv9d";
  EXPECT_NE(impossible(workload).find("conv9d"), std::string::npos);
  workload.preset = "gemm";
  workload.api = "graph";
  EXPECT_NE(impossible(workload), "");
}

TEST(Presets, pytorch_lines_give_the_largest_drift_and_findings) {
  std::optional<PyTorchDrift> drift;
  std::vector<Finding> findings;
  read_pytorch_lines(
      "noise\n"
      "{\"path\": \"classic\", \"precision\": \"bf16\", \"left_out\": \"why\"}\n"
      "{\"case\": \"a\", \"tensor\": \"y\", \"relative_l1\": 1e-7, \"bound\": 1e-6, \"good\": true}\n"
      "{\"case\": \"b\", \"tensor\": \"dw\", \"relative_l1\": 2e-7, \"bound\": 1e-6, \"good\": true}\n",
      &drift, &findings);
  ASSERT_TRUE(drift.has_value());
  EXPECT_EQ(drift->checked, 2u);
  EXPECT_DOUBLE_EQ(drift->drift.relative_l1, 2e-7);
  EXPECT_EQ(drift->drift.tensor, "dw");
  EXPECT_TRUE(findings.empty());
  read_pytorch_lines(
      "{\"case\": \"c\", \"tensor\": \"y\", \"relative_l1\": \"nan\", \"bound\": 1e-6, \"good\": false}\n"
      "{\"case\": \"d\", \"refused\": \"no kernel\", \"good\": false}\n",
      &drift, &findings);
  EXPECT_EQ(findings.size(), 2u);
  EXPECT_EQ(drift->unchecked, 1u);
}

TEST(Shims, the_runtime_comes_first_and_users_settings_stay) {
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  for (const char* name : {"libcudnn.so.8", "libcudart.so.12", "libcusparseLt-f80c68d1.so.0", "libstranger.so"})
    std::ofstream(folder->path() + "/" + name) << "";
  setenv("LD_PRELOAD", "/mine.so", 1);
  Places places;
  places.cuda = folder->path();
  const auto variables = shim_environment(places);
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(variables.ok());
  const std::string preload = variables->front().second;
  EXPECT_EQ(preload.find(folder->path() + "/libcudart.so.12:"), 0u) << preload;
  EXPECT_NE(preload.find("libcusparseLt-f80c68d1.so.0"), std::string::npos);
  EXPECT_EQ(preload.find("stranger"), std::string::npos);
  EXPECT_EQ(preload.substr(preload.size() - 9), ":/mine.so");
}

TEST(Shims, a_path_that_the_loader_would_split) {
  Places places;
  places.cuda = "/a:b/cuda";
  EXPECT_FALSE(shim_environment(places).ok());
}

TEST(Shims, a_temporary_folder_goes_with_its_owner) {
  std::string path;
  {
    auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    std::ofstream(path + "/file") << "x";
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace rb::inspect
