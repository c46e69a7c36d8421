// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "inspect/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "inspect/coverage.hpp"
#include "inspect/stream.hpp"
#include "trace/reader.hpp"

namespace rb::inspect {
namespace {

const char* reference_word(std::uint8_t reference) {
  switch (static_cast<trace::Reference>(reference)) {
    case trace::Reference::full_fp64:
      return "fp64";
    case trace::Reference::sampled_fp64:
      return "fp64, sampled";
    case trace::Reference::projection:
      return "projection";
    case trace::Reference::copy:
      return "source, bit by bit";
    case trace::Reference::pytorch:
      return "CPU PyTorch";
    case trace::Reference::none:
      break;
  }
  return "none";
}

const char* allocation_word(std::uint8_t kind) {
  switch (static_cast<trace::AllocationKind>(kind)) {
    case trace::AllocationKind::tensors:
      return "tensors";
    case trace::AllocationKind::workspace:
      return "workspace";
    case trace::AllocationKind::staging:
      return "staging";
    case trace::AllocationKind::bridge:
      return "bridge";
  }
  return "other";
}

/// Order of verdicts from harmless to bad.
int weight(trace::Verdict verdict) {
  switch (verdict) {
    case trace::Verdict::pass:
      return 0;
    case trace::Verdict::unchecked:
      return 1;
    case trace::Verdict::untrusted:
      return 2;
    case trace::Verdict::drift:
      return 3;
    case trace::Verdict::corrupt:
      return 4;
    case trace::Verdict::trapped:
      return 5;
  }
  return 5;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return text;
}

std::string finding_line(const trace::CheckEvent& check) {
  std::string line = upper(verdict_word(static_cast<trace::Verdict>(check.fixed.verdict)));
  line += " " + std::string(check.name) + " " + std::string(check.tensor);
  // The verdict is element-wise: the sums may lie within their bound while single elements do not.
  if (check.fixed.relative_l1 > check.fixed.bound)
    line += text(" %.3g > %.3g", check.fixed.relative_l1, check.fixed.bound);
  else if (check.fixed.max_error > check.fixed.tolerance)
    line += text(" element error %.3g > %.3g", check.fixed.max_error, check.fixed.tolerance);
  std::string inside(check.tolerance_class);
  if (!std::isnan(check.fixed.resolution))
    inside += text("%sresolution %.3g", inside.empty() ? "" : ", ", check.fixed.resolution);
  if (!inside.empty()) line += " (" + inside + ")";
  line += " call " + std::to_string(check.fixed.call);
  if (!check.reason.empty()) line += " [" + std::string(check.reason) + "]";
  if (!check.text.empty()) line += ": " + std::string(check.text);
  if (!check.reproducer.empty()) line += "  repro: " + std::string(check.reproducer);
  return line;
}

/// NVML tells about hardware and drivers; programs ask it in passing and nothing that they compute comes from it. Its
/// refusals are shown with the entry and are no findings.
bool informs_only(const std::string& api) {
  return api == "nvml";
}

/// Reads events into a Run.
class Builder {
 public:
  explicit Builder(bool with_stream) : with_stream_(with_stream) {}

  void add(const trace::Event& event) {
    event_ = &event;
    std::visit([this](const auto& body) { on(body); }, event.body);
  }

  Run finish() {
    run_.unended = open_.size();
    for (auto& [key, used] : run_.entries) {
      if (!used.computes) continue;
      used.unchecked = used.successes > used.checked ? used.successes - used.checked : 0;
      if (used.unchecked > 0) worsen(used, trace::Verdict::unchecked);
      run_.checked += used.checked;
      run_.unchecked += used.unchecked;
    }
    if (with_stream_) run_.stream = stream_.take();
    return std::move(run_);
  }

 private:
  using CallKey = std::uint64_t;

  /// Calls are numbered within their process.
  CallKey key_of(std::uint64_t call) const {
    return call * 0x9e3779b97f4a7c15u ^ (event_->process != nullptr ? event_->process->token : 0);
  }

  Used& used(std::string_view name, std::uint32_t entry) {
    std::string library;
    if (event_->process != nullptr && entry < event_->process->entry_libraries.size())
      library = event_->process->entry_libraries[entry];
    Used& row = run_.entries[library + "." + std::string(name)];
    if (row.name.empty()) {
      row.name = name;
      row.library = library;
      for (const EntryRow* known : find_entries(name)) {
        if (!library.empty() && library != known->api) continue;
        row.status = known->status;
        row.family = known->family;
        row.computes = known->computes;
        break;
      }
    }
    return row;
  }

  void worsen(Used& row, trace::Verdict verdict) {
    if (!row.verdict || weight(verdict) > weight(*row.verdict)) row.verdict = verdict;
  }

  void find(Finding finding) {
    for (auto& known : run_.findings) {
      if (known.kind != finding.kind || known.entry != finding.entry || known.reason != finding.reason) continue;
      // Lines of checks name their call; those of refusals are equal where the cause is.
      if (known.kind == "TRAPPED" && known.line != finding.line) continue;
      ++known.times;
      return;
    }
    run_.findings.push_back(std::move(finding));
  }

  void on(const trace::ProcessEvent&) {}
  void on(const trace::ThreadStart&) {}
  void on(const trace::ThreadEnd&) {}
  void on(const trace::NoteEvent&) {}
  void on(const trace::TensorEvent&) {}
  void on(const trace::UnknownEvent&) {}

  void on(const trace::SettingEvent& setting) {
    if (setting.origin != "default") run_.settings[std::string(setting.key)] = setting.value;
  }

  void on(const trace::DeviceEvent& device) {
    // HIP tells features with the target: "gfx90a:sramecc+:xnack-".
    const std::string gfx(device.architecture.substr(0, device.architecture.find(':')));
    for (const auto& known : run_.devices)
      if (known.gfx == gfx && known.name == device.name) return;
    run_.devices.push_back({std::string(device.name), gfx, static_cast<int>(device.fixed.wave),
                            device.fixed.software != 0, device.fixed.memory_bytes, std::string(device.directory),
                            std::string(device.text)});
  }

  void on(const trace::CallBegin& call) {
    Used& row = used(call.name, call.fixed.entry);
    ++row.calls;
    ++run_.calls;
    open_[key_of(call.fixed.call)] = &row;
    if (with_stream_) stream_.begin(*event_, call, row.library);
  }

  void on(const trace::CallEnd& call) {
    const auto found = open_.find(key_of(call.fixed.call));
    Used& row = found != open_.end() ? *found->second : used(call.name, call.fixed.entry);
    if (call.fixed.status == 0) ++row.successes;
    if (found != open_.end()) open_.erase(found);
    if (with_stream_) stream_.end(*event_, call);
  }

  void on(const trace::AmdCall& call) {
    const auto found = open_.find(key_of(call.fixed.call));
    if (found != open_.end()) found->second->targets.insert(std::string(call.name));
    if (with_stream_) stream_.amd(*event_, call);
  }

  void on(const trace::LayoutEvent& layout) {
    if (with_stream_) stream_.layout(*event_, layout);
  }

  void on(const trace::AllocationEvent& event) {
    const std::string kind = allocation_word(event.fixed.kind);
    run_.memory.known = true;
    if (event.fixed.freed != 0) {
      held_[kind] -= std::min(held_[kind], event.fixed.bytes);
      held_all_ -= std::min(held_all_, event.fixed.bytes);
      return;
    }
    held_[kind] += event.fixed.bytes;
    held_all_ += event.fixed.bytes;
    if (held_all_ <= run_.memory.peak_bytes) return;
    run_.memory.peak_bytes = held_all_;
    run_.memory.by_kind.clear();
    for (const auto& [name, bytes] : held_)
      if (bytes > 0) run_.memory.by_kind[name] = bytes;
  }

  void on(const trace::CheckEvent& check) {
    Used& row = used(check.name, check.fixed.entry);
    const auto verdict = static_cast<trace::Verdict>(check.fixed.verdict);
    worsen(row, verdict);
    if (verdict == trace::Verdict::pass) ++row.passes;
    if (verdict == trace::Verdict::unchecked) {
      if (!check.reason.empty()) row.notes.insert("unchecked: " + std::string(check.reason));
    } else if (checked_calls_.insert(key_of(check.fixed.call)).second) {
      ++row.checked;
    }
    if (!std::isnan(check.fixed.relative_l1)) {
      const Drift drift = {check.fixed.relative_l1, check.fixed.bound, std::string(check.name),
                           std::string(check.tensor), reference_word(check.fixed.reference)};
      if (!row.worst || drift.relative_l1 > row.worst->relative_l1) row.worst = drift;
      if (!run_.max_drift || drift.relative_l1 > run_.max_drift->relative_l1) run_.max_drift = drift;
    }
    if (!std::isnan(check.fixed.resolution))
      row.resolution = std::max(row.resolution.value_or(0), check.fixed.resolution);
    if (is_finding(verdict)) {
      failed_calls_.insert(key_of(check.fixed.call));
      find({upper(verdict_word(verdict)), row.name, std::string(check.reason), finding_line(check), 1});
    }
    if (with_stream_) stream_.check(*event_, check);
  }

  void on(const trace::RefusalEvent& refusal) {
    Used& row = used(refusal.name, refusal.fixed.entry);
    ++row.refused;
    // The stub of a trapped entry writes nothing but its refusal.
    const auto open = open_.find(key_of(refusal.fixed.call));
    if (open == open_.end() || open->second != &row) {
      ++row.calls;
      ++run_.calls;
    }
    worsen(row, trace::Verdict::trapped);
    row.notes.insert(std::string(refusal.reason));
    if (with_stream_) stream_.refusal(*event_, refusal);
    if (failed_calls_.count(key_of(refusal.fixed.call)) != 0 && refusal.fixed.call != 0) return;  // told by its check
    if (informs_only(row.library)) return;
    std::string line = "TRAPPED " + row.name + " [" + std::string(refusal.reason) + "]: ";
    if (!refusal.where.empty()) line += std::string(refusal.where) + ": ";
    line += refusal.text;
    if (!refusal.remedy.empty()) line += "; " + std::string(refusal.remedy);
    find({"TRAPPED", row.name, std::string(refusal.reason), line, 1});
  }

  void on(const trace::GapEvent& gap) { run_.lost += std::max<std::uint64_t>(gap.records, 1); }

  bool with_stream_;
  const trace::Event* event_ = nullptr;
  Run run_;
  StreamBuilder stream_;
  std::unordered_map<CallKey, Used*> open_;
  std::unordered_set<CallKey> checked_calls_;
  std::unordered_set<CallKey> failed_calls_;
  std::map<std::string, std::uint64_t> held_;
  std::uint64_t held_all_ = 0;
};

}  // namespace

const char* verdict_word(trace::Verdict verdict) {
  switch (verdict) {
    case trace::Verdict::pass:
      return "pass";
    case trace::Verdict::drift:
      return "drift";
    case trace::Verdict::corrupt:
      return "corrupt";
    case trace::Verdict::untrusted:
      return "untrusted";
    case trace::Verdict::unchecked:
      return "unchecked";
    case trace::Verdict::trapped:
      return "trapped";
  }
  return "unknown";
}

bool is_finding(trace::Verdict verdict) {
  return verdict != trace::Verdict::pass && verdict != trace::Verdict::unchecked;
}

Result<Run> read_run(const std::string& trace_dir, bool with_stream) {
  RB_ASSIGN(auto reader, trace::Reader::open(trace_dir));
  Builder builder(with_stream);
  trace::Event event;
  while (reader->next(&event)) builder.add(event);
  Run run = builder.finish();
  run.processes = reader->processes().size();
  return run;
}

}  // namespace rb::inspect
