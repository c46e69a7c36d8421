// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "trace/export.hpp"

namespace rb::trace {
namespace {

using Json = nlohmann::ordered_json;

/// 64-bit words do not fit into JSON's numbers everywhere.
std::string hex(std::uint64_t word) {
  char digits[19];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(word));
  return digits;
}

/// Not measured is null, never 0.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void put_text(Json* out, const char* name, std::string_view text) {
  if (!text.empty()) (*out)[name] = text;
}

/// 0 is "outside of any call".
void put_call(Json* out, std::uint64_t call) {
  (*out)["call"] = call != 0 ? Json(call) : Json(nullptr);
}

void put_entry(Json* out, std::uint32_t number, std::string_view name) {
  (*out)["entry"] = number == kNoEntry ? Json(nullptr) : Json(name);
}

template <class T>
Json list(const T* numbers, std::size_t count) {
  Json out = Json::array();
  for (std::size_t i = 0; i < count; ++i) out.push_back(numbers[i]);
  return out;
}

Json snapshot_value(const Snapshot& snapshot) {
  Json out;
  out["index"] = snapshot.index;
  TensorSnapshot tensor;
  ConvolutionSnapshot convolution;
  if (snapshot.get(&tensor)) {
    out["type"] = snapshot.kind == SnapshotKind::filter ? "filter" : "tensor";
    out["element"] = element_type_name(static_cast<std::uint8_t>(tensor.type));
    out["order"] = tensor.order == 1 ? "nchw" : tensor.order == 2 ? "nhwc" : "strides";
    if (tensor.groups != 0) out["groups"] = tensor.groups;
    out["dims"] = list(tensor.dims, tensor.rank);
    if (snapshot.kind == SnapshotKind::tensor) out["strides"] = list(tensor.strides, tensor.rank);
  } else if (snapshot.get(&convolution)) {
    out["type"] = "convolution";
    out["element"] = element_type_name(static_cast<std::uint8_t>(convolution.compute));
    out["mode"] = convolution.mode == 0 ? "convolution" : "cross_correlation";
    out["groups"] = convolution.groups;
    out["pads"] = list(convolution.pads, convolution.rank);
    out["strides"] = list(convolution.strides, convolution.rank);
    out["dilations"] = list(convolution.dilations, convolution.rank);
  } else if (snapshot.kind == SnapshotKind::text) {
    out["type"] = "text";
    out["text"] = std::string_view(snapshot.bytes.data(), snapshot.bytes.size());
  } else if (snapshot.kind == SnapshotKind::scalar && snapshot.bytes.size() >= sizeof(double)) {
    double value = 0;
    std::memcpy(&value, snapshot.bytes.data(), sizeof value);
    out["type"] = "scalar";
    out["value"] = number(value);
  } else if (snapshot.kind == SnapshotKind::words) {
    out["type"] = "words";
    std::vector<std::int64_t> words(snapshot.bytes.size() / sizeof(std::int64_t));
    if (!words.empty()) std::memcpy(words.data(), snapshot.bytes.data(), words.size() * sizeof(std::int64_t));
    out["words"] = words;
  } else {
    out["type"] = "blob";
    out["bytes"] = snapshot.bytes.size();
  }
  return out;
}

struct Writer {
  const Event& event;
  Json& out;

  void operator()(const ProcessEvent&) const {
    const Process& process = *event.process;
    out["token"] = hex(process.token);
    out["parent_pid"] = process.parent_pid;
    out["parent_token"] = process.parent_token != 0 ? Json(hex(process.parent_token)) : Json(nullptr);
    out["start_wall_ns"] = process.start_wall_ns;
    out["program"] = process.program;
    out["arguments"] = process.arguments;
    out["version"] = process.version;
    out["build"] = process.build;
    out["level"] = level_name(process.level);
    out["ring_bytes"] = process.ring_bytes;
  }
  void operator()(const ThreadStart& start) const {
    out["ring"] = event.ring;
    put_text(&out, "name", start.name);
  }
  void operator()(const ThreadEnd&) const { out["ring"] = event.ring; }
  void operator()(const SettingEvent& setting) const {
    out["key"] = setting.key;
    out["value"] = setting.value;
    out["origin"] = setting.origin;
  }
  void operator()(const DeviceEvent& device) const {
    out["index"] = device.fixed.index;
    out["name"] = device.name;
    out["gfx"] = device.architecture;
    out["wave"] = device.fixed.wave;
    out["memory_bytes"] = device.fixed.memory_bytes;
    out["software"] = device.fixed.software != 0;
    out["generation"] = device.fixed.generation;
    put_text(&out, "directory", device.directory);
    put_text(&out, "text", device.text);
  }
  void operator()(const CallBegin& call) const {
    put_call(&out, call.fixed.call);
    out["parent"] = call.fixed.parent != 0 ? Json(call.fixed.parent) : Json(nullptr);
    put_entry(&out, call.fixed.entry, call.name);
    if (call.has_stream) out["stream"] = hex(call.stream);
    Json arguments = Json::array();
    for (const Argument& argument : call.arguments)
      arguments.push_back({{"index", argument.index},
                           {"role", argument_kind_name(static_cast<std::uint8_t>(argument.kind))},
                           {"word", hex(argument.word)}});
    out["arguments"] = std::move(arguments);
    if (call.snapshots.empty()) return;
    Json snapshots = Json::array();
    for (const Snapshot& snapshot : call.snapshots) snapshots.push_back(snapshot_value(snapshot));
    out["snapshots"] = std::move(snapshots);
  }
  void operator()(const CallEnd& call) const {
    put_call(&out, call.fixed.call);
    put_entry(&out, call.fixed.entry, call.name);
    out["status"] = call.fixed.status;
    out["duration_ns"] = call.duration_ns;
  }
  void operator()(const AmdCall& call) const {
    put_call(&out, call.fixed.call);
    out["function"] = call.name;
    out["status"] = call.fixed.status;
    out["duration_ns"] = call.duration_ns;
    put_text(&out, "solution", call.solution);
  }
  void operator()(const LayoutEvent& layout) const {
    put_call(&out, layout.fixed.call);
    out["what"] = layout.what;
    out["text"] = layout.text;
  }
  void operator()(const AllocationEvent& allocation) const {
    put_call(&out, allocation.fixed.call);
    out["memory"] = allocation_kind_name(allocation.fixed.kind);
    out["freed"] = allocation.fixed.freed != 0;
    out["device"] = allocation.fixed.device;
    out["address"] = hex(allocation.fixed.address);
    out["bytes"] = allocation.fixed.bytes;
  }
  void operator()(const CheckEvent& check) const {
    const CheckFixed& fixed = check.fixed;
    put_call(&out, fixed.call);
    put_entry(&out, fixed.entry, check.name);
    out["tensor"] = check.tensor;
    out["verdict"] = verdict_name(fixed.verdict);
    out["level"] = fixed.level;
    out["reference"] = reference_name(fixed.reference);
    out["element"] = element_type_name(fixed.type);
    put_text(&out, "shape", check.shape);
    put_text(&out, "tolerance_class", check.tolerance_class);
    out["relative_l1"] = number(fixed.relative_l1);
    out["bound"] = number(fixed.bound);
    out["relative_l2"] = number(fixed.relative_l2);
    out["max_error"] = number(fixed.max_error);
    out["tolerance"] = number(fixed.tolerance);
    out["resolution"] = number(fixed.resolution);
    out["elements"] = fixed.elements;
    out["compared"] = fixed.compared;
    out["outside"] = fixed.outside;
    out["zeros"] = fixed.zeros;
    out["not_finite"] = fixed.not_finite;
    out["poisoned"] = fixed.poisoned;
    out["worst"] = fixed.worst >= 0 ? Json(fixed.worst) : Json(nullptr);
    out["duration_ns"] = fixed.duration_ns;
    put_text(&out, "reason", check.reason);
    put_text(&out, "text", check.text);
    put_text(&out, "reproducer", check.reproducer);
  }
  void operator()(const RefusalEvent& refusal) const {
    put_call(&out, refusal.fixed.call);
    put_entry(&out, refusal.fixed.entry, refusal.name);
    out["status"] = refusal.fixed.status;
    out["reason"] = refusal.reason;
    put_text(&out, "where", refusal.where);
    put_text(&out, "text", refusal.text);
    put_text(&out, "remedy", refusal.remedy);
  }
  void operator()(const NoteEvent& note) const {
    static constexpr const char* kLevels[] = {"error", "warn", "info", "debug", "trace"};
    put_call(&out, note.fixed.call);
    out["level"] = note.fixed.level < std::size(kLevels) ? kLevels[note.fixed.level] : "?";
    out["component"] = note.component;
    out["text"] = note.text;
  }
  void operator()(const GapEvent& gap) const {
    out["cause"] = gap.cause == GapCause::dropped ? "dropped" : "damage";
    out["records"] = gap.cause == GapCause::damage && gap.records == 0 ? Json(nullptr) : Json(gap.records);
    if (gap.cause == GapCause::damage) out["bytes"] = gap.bytes;
    out["from_ns"] = gap.from_ns;
    out["to_ns"] = gap.to_ns;
  }
  void operator()(const TensorEvent& tensor) const {
    put_call(&out, tensor.fixed.call);
    put_text(&out, "tensor", tensor.name);
    out["element"] = element_type_name(tensor.fixed.type);
    out["after"] = tensor.fixed.after != 0;
    out["dims"] = tensor.dims;
    out["address"] = hex(tensor.fixed.address);
    out["bytes"] = tensor.fixed.bytes;
    out["offset"] = tensor.fixed.offset;
    out["piece_bytes"] = tensor.data.size();
  }
  void operator()(const UnknownEvent& unknown) const { out["number"] = unknown.kind; }
};

std::string dump(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_line(const Event& event) {
  Json out;
  out["kind"] = kind_name(event);
  out["time_ns"] = event.time_ns;
  out["pid"] = event.process->pid;
  if (!std::holds_alternative<ProcessEvent>(event.body)) out["tid"] = event.tid;
  std::visit(Writer{event, out}, event.body);
  return dump(out);
}

bool export_json_lines(Reader* reader, const Sink& sink) {
  Json first;
  first["kind"] = "trace";
  first["schema"] = "rocbridge.trace/1";
  first["format_version"] = kFormatVersion;
  first["processes"] = reader->processes().size();
  if (!sink(dump(first) + "\n")) return false;
  std::uint64_t records = 0;
  Event event;
  while (reader->next(&event)) {
    ++records;
    if (!sink(json_line(event) + "\n")) return false;
  }
  Json last;
  last["kind"] = "end";
  last["records"] = records;
  last["damaged_places"] = reader->damage_count();
  Json damage = Json::array();
  for (const Damage& place : reader->damage())
    damage.push_back({{"file", place.file}, {"offset", place.offset}, {"text", place.text}});
  last["damage"] = std::move(damage);
  return sink(dump(last) + "\n");
}

}  // namespace rb::trace
