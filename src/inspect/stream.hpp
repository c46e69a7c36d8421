// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// One row a call, with what happened on its way: arguments, layout steps, AMD calls, verdict.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspect/run.hpp"
#include "trace/reader.hpp"

namespace rb::inspect {

class StreamBuilder {
 public:
  void begin(const trace::Event& event, const trace::CallBegin& call, const std::string& library);
  void end(const trace::Event& event, const trace::CallEnd& call);
  void amd(const trace::Event& event, const trace::AmdCall& call);
  void layout(const trace::Event& event, const trace::LayoutEvent& layout);
  void check(const trace::Event& event, const trace::CheckEvent& check);
  void refusal(const trace::Event& event, const trace::RefusalEvent& refusal);
  std::vector<StreamRow> take() { return std::move(rows_); }

 private:
  StreamRow* find(const trace::Event& event, std::uint64_t call);
  double since_start(const trace::Event& event);

  std::vector<StreamRow> rows_;
  std::unordered_map<std::uint64_t, std::size_t> by_call_;
  std::uint64_t first_ns_ = 0;
};

}  // namespace rb::inspect
