// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/stream.hpp"

namespace rb::inspect {
namespace {

std::uint64_t key_of(const trace::Event& event, std::uint64_t call) {
  return call * 0x9e3779b97f4a7c15u ^ (event.process != nullptr ? event.process->token : 0);
}

const char* kind_word(trace::ArgumentKind kind) {
  switch (kind) {
    case trace::ArgumentKind::value:
      return "";
    case trace::ArgumentKind::handle:
      return "handle ";
    case trace::ArgumentKind::descriptor:
      return "desc ";
    case trace::ArgumentKind::device_in:
      return "in dev ";
    case trace::ArgumentKind::device_out:
      return "out dev ";
    case trace::ArgumentKind::device_inout:
      return "inout dev ";
    case trace::ArgumentKind::host_in:
      return "in host ";
    case trace::ArgumentKind::host_out:
      return "out host ";
    case trace::ArgumentKind::host_inout:
      return "inout host ";
    case trace::ArgumentKind::scalar:
      return "scalar ";
    case trace::ArgumentKind::handle_out:
      return "out handle ";
  }
  return "";
}

std::string dims_of(const std::int64_t* dims, std::size_t rank) {
  std::string text;
  for (std::size_t i = 0; i < rank && i < 8; ++i) text += (i ? "x" : "") + std::to_string(dims[i]);
  return text;
}

std::string snapshot_text(const trace::Snapshot& snapshot) {
  trace::TensorSnapshot tensor;
  if (snapshot.get(&tensor)) return dims_of(tensor.dims, tensor.rank);
  trace::ConvolutionSnapshot convolution;
  if (!snapshot.get(&convolution)) return "";
  auto list = [&convolution](const std::int32_t(&values)[4]) {
    std::string text;
    for (std::size_t i = 0; i < convolution.rank && i < 4; ++i) text += (i ? "," : "") + std::to_string(values[i]);
    return text;
  };
  return "pad " + list(convolution.pads) + " stride " + list(convolution.strides) + " dilation " +
         list(convolution.dilations) + (convolution.groups > 1 ? " groups " + std::to_string(convolution.groups) : "");
}

}  // namespace

StreamRow* StreamBuilder::find(const trace::Event& event, std::uint64_t call) {
  const auto found = by_call_.find(key_of(event, call));
  return call == 0 || found == by_call_.end() ? nullptr : &rows_[found->second];
}

double StreamBuilder::since_start(const trace::Event& event) {
  if (first_ns_ == 0) first_ns_ = event.time_ns;
  return event.time_ns < first_ns_ ? 0 : static_cast<double>(event.time_ns - first_ns_) / 1e3;
}

void StreamBuilder::begin(const trace::Event& event, const trace::CallBegin& call, const std::string& library) {
  StreamRow row;
  row.process = event.process != nullptr ? event.process->pid : 0;
  row.thread = event.tid;
  row.call = call.fixed.call;
  row.parent = call.fixed.parent;
  row.start_us = since_start(event);
  row.entry = call.name;
  row.library = library;
  for (const auto& argument : call.arguments) {
    std::string shown = kind_word(argument.kind);
    for (const auto& snapshot : call.snapshots)
      if (snapshot.index == argument.index) shown += snapshot_text(snapshot) + " ";
    shown += argument.kind == trace::ArgumentKind::value
                 ? text("%lld", static_cast<long long>(argument.word))
                 : text("0x%llx", static_cast<unsigned long long>(argument.word));
    row.arguments.push_back(shown);
  }
  by_call_[key_of(event, call.fixed.call)] = rows_.size();
  rows_.push_back(std::move(row));
}

void StreamBuilder::end(const trace::Event& event, const trace::CallEnd& call) {
  if (StreamRow* row = find(event, call.fixed.call)) {
    row->ended = true;
    row->status = call.fixed.status;
    row->duration_us = static_cast<double>(call.duration_ns) / 1e3;
  }
}

void StreamBuilder::amd(const trace::Event& event, const trace::AmdCall& call) {
  if (StreamRow* row = find(event, call.fixed.call))
    row->amd.push_back(std::string(call.name) + (call.fixed.status == 0 ? "" : text(" status %d", call.fixed.status)) +
                       (call.solution.empty() ? "" : " " + std::string(call.solution)));
}

void StreamBuilder::layout(const trace::Event& event, const trace::LayoutEvent& layout) {
  if (StreamRow* row = find(event, layout.fixed.call))
    row->layout.push_back(std::string(layout.what) + ": " + std::string(layout.text));
}

void StreamBuilder::check(const trace::Event& event, const trace::CheckEvent& check) {
  StreamRow* row = find(event, check.fixed.call);
  if (row == nullptr) return;
  const auto verdict = static_cast<trace::Verdict>(check.fixed.verdict);
  if (row->verdict.empty() || is_finding(verdict)) row->verdict = verdict_word(verdict);
  if (!check.reason.empty()) row->reason = check.reason;
}

void StreamBuilder::refusal(const trace::Event& event, const trace::RefusalEvent& refusal) {
  StreamRow* row = find(event, refusal.fixed.call);
  if (row == nullptr || row->entry != refusal.name) {
    rows_.emplace_back();
    row = &rows_.back();
    row->process = event.process != nullptr ? event.process->pid : 0;
    row->thread = event.tid;
    row->start_us = since_start(event);
    row->entry = refusal.name;
    row->ended = true;
    row->status = refusal.fixed.status;
  }
  row->verdict = "trapped";
  row->reason = refusal.reason;
}

}  // namespace rb::inspect
