// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "cli/trace_text.hpp"

#include <cmath>

#include "base/result.hpp"
#include "trace/export.hpp"

namespace rb::cli {
namespace {

using namespace trace;

std::string str(std::string_view value) {
  return std::string(value);
}

std::string of_call(std::uint64_t call) {
  return call != 0 ? text("  of call %llu", static_cast<unsigned long long>(call)) : std::string();
}

std::string measured(double value) {
  return std::isfinite(value) ? text("%.3g", value) : std::string("not measured");
}

std::string numbers(const std::int64_t* values, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i ? "x" : "") + std::to_string(values[i]);
  return out;
}

std::string snapshot_text(const Snapshot& snapshot) {
  TensorSnapshot tensor;
  ConvolutionSnapshot convolution;
  if (snapshot.get(&tensor))
    return std::string(element_type_name(static_cast<std::uint8_t>(tensor.type))) + " " +
           numbers(tensor.dims, tensor.rank);
  if (snapshot.get(&convolution)) return text("%u groups", convolution.groups);
  if (snapshot.kind == SnapshotKind::text) return {snapshot.bytes.data(), snapshot.bytes.size()};
  return {};
}

struct Describe {
  const Event& event;

  std::string operator()(const ProcessEvent&) const {
    const Process& process = *event.process;
    std::string out = text("process %u  ", process.pid);
    for (const std::string& argument : process.arguments) out += argument + " ";
    return out;
  }
  std::string operator()(const ThreadStart& start) const { return "thread starts  " + str(start.name); }
  std::string operator()(const ThreadEnd&) const { return "thread ends"; }
  std::string operator()(const SettingEvent& setting) const {
    return "setting  " + str(setting.key) + " = " + str(setting.value) + "  (" + str(setting.origin) + ")";
  }
  std::string operator()(const DeviceEvent& device) const {
    return "device  " + str(device.name) + ", " + str(device.architecture) +
           (device.fixed.software != 0 ? ", software device, unverified on silicon" : "") + "  " +
           str(device.directory) + "  " + str(device.text);
  }
  std::string operator()(const CallBegin& call) const {
    std::string out = text("call %llu  ", static_cast<unsigned long long>(call.fixed.call)) + str(call.name) + "(";
    for (const Argument& argument : call.arguments) {
      out += text("%s0x%llx", argument.index != 0 ? ", " : "", static_cast<unsigned long long>(argument.word));
      for (const Snapshot& snapshot : call.snapshots)
        if (snapshot.index == argument.index)
          if (const std::string about = snapshot_text(snapshot); !about.empty()) out += " [" + about + "]";
    }
    return out + ")";
  }
  std::string operator()(const CallEnd& call) const {
    return text("call %llu  ", static_cast<unsigned long long>(call.fixed.call)) + str(call.name) +
           text(" = %lld after %.3f us", static_cast<long long>(call.fixed.status),
                static_cast<double>(call.duration_ns) / 1e3);
  }
  std::string operator()(const AmdCall& call) const {
    return "amd  " + str(call.name) +
           text(" = %d after %.3f us", call.fixed.status, static_cast<double>(call.duration_ns) / 1e3) +
           (call.solution.empty() ? "" : "  " + str(call.solution)) + of_call(call.fixed.call);
  }
  std::string operator()(const LayoutEvent& layout) const {
    return "layout  " + str(layout.what) + ": " + str(layout.text) + of_call(layout.fixed.call);
  }
  std::string operator()(const AllocationEvent& event) const {
    return text("%s  %llu bytes of %s at 0x%llx", event.fixed.freed != 0 ? "free" : "allocation",
                static_cast<unsigned long long>(event.fixed.bytes),
                std::string(allocation_kind_name(event.fixed.kind)).c_str(),
                static_cast<unsigned long long>(event.fixed.address)) +
           of_call(event.fixed.call);
  }
  std::string operator()(const CheckEvent& check) const {
    std::string out = "check  " + str(verdict_name(check.fixed.verdict)) + "  " + str(check.tensor) + "  relative L1 " +
                      measured(check.fixed.relative_l1) + ", bound " + measured(check.fixed.bound) +
                      text(", level %u", check.fixed.level);
    for (const std::string_view part : {check.reason, check.text})
      if (!part.empty()) out += "  " + str(part);
    return out + of_call(check.fixed.call);
  }
  std::string operator()(const RefusalEvent& refusal) const {
    return "refused  " + str(refusal.reason) + ": " + str(refusal.where) + (refusal.where.empty() ? "" : ": ") +
           str(refusal.text) + (refusal.remedy.empty() ? "" : "; " + str(refusal.remedy)) + of_call(refusal.fixed.call);
  }
  std::string operator()(const NoteEvent& note) const {
    return "note  " + str(note.component) + ": " + str(note.text) + of_call(note.fixed.call);
  }
  std::string operator()(const GapEvent& gap) const {
    if (gap.cause == GapCause::dropped)
      return text("gap  %llu records dropped, ring full", static_cast<unsigned long long>(gap.records));
    return text("gap  %llu bytes damaged, ", static_cast<unsigned long long>(gap.bytes)) +
           (gap.records != 0 ? text("%llu records lost", static_cast<unsigned long long>(gap.records))
                             : std::string("an unknown number of records lost"));
  }
  std::string operator()(const TensorEvent& tensor) const {
    return "tensor  " + str(tensor.name) + " " + numbers(tensor.dims.data(), tensor.dims.size()) +
           text("  bytes %llu to %llu of %llu", static_cast<unsigned long long>(tensor.fixed.offset),
                static_cast<unsigned long long>(tensor.fixed.offset + tensor.data.size()),
                static_cast<unsigned long long>(tensor.fixed.bytes)) +
           of_call(tensor.fixed.call);
  }
  std::string operator()(const UnknownEvent& unknown) const {
    return text("record of kind %u, which this version does not know", unknown.kind);
  }
};

}  // namespace

std::string event_text(const Event& event, std::uint64_t start_ns) {
  const double since = static_cast<double>(static_cast<std::int64_t>(event.time_ns - start_ns)) / 1e6;
  std::string line = text("%14.6f ms  %7u  ", since, event.tid != 0 ? event.tid : event.process->pid);
  line += std::visit(Describe{event}, event.body);
  // The trace's texts may hold anything; a terminal gets no control characters.
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

}  // namespace rb::cli
