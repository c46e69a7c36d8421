// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/call_trace.hpp"

#include <atomic>
#include <string>

#include "base/controls.hpp"
#include "base/log.hpp"
#include "bridge/amd.hpp"
#include "bridge/guard.hpp"
#include "bridge/live_table.hpp"
#include "bridge/refusal_trace.hpp"
#include "bridge/trap.hpp"
#include "trace/writer.hpp"

namespace rb::bridge {
namespace detail {

thread_local constinit Call t_call;

}  // namespace detail

namespace {

struct Registered {
  std::atomic<Snapshot> snapshot{nullptr};
  std::atomic<StreamOf> stream_of{nullptr};
  std::atomic<trace::SnapshotKind> layout{trace::SnapshotKind::blob};
};
constinit Registered g_registered[static_cast<unsigned>(Kind::count)];

const char* api_name(Api api) {
  static const char* const names[] = {"cublas",    "cublaslt", "cuda_driver", "cudart",   "cudnn8",     "cufft",
                                      "cupti",     "curand",   "cusolver",    "cusparse", "cusparselt", "nccl",
                                      "nvjitlink", "nvml",     "nvrtc",       "nvtx"};
  static_assert(sizeof names / sizeof *names == static_cast<unsigned>(Api::nvtx) + 1);
  return names[static_cast<unsigned>(api)];
}

/// Says at load time whether calls will be traced: the guard reads the level before every call. Makes no file, mapping
/// or thread; the first record does.
[[gnu::constructor]] void start_trace() {
  trace::Options options;
  if (!trace::parse_level(controls::text("trace.level"), &options.level) || options.level == trace::Level::off) return;
  const std::string directory = controls::text("trace.dir");
  if (directory.empty()) {
    RB_LOG(error, "trace",
           "ROCBRIDGE_TRACE is set but ROCBRIDGE_TRACE_DIR is not; nothing is traced. Give a writable folder.");
    return;
  }
  const long long bytes = controls::number("trace.ring_bytes");
  options.directory = directory;
  options.ring_bytes = bytes > 0 ? static_cast<std::uint64_t>(bytes) : options.ring_bytes;
  options.version = ROCBRIDGE_VERSION;
  // The name arrays live as long as the process.
  const char** entry_libraries = new const char*[kRowCount];
  for (unsigned i = 0; i < kRowCount; ++i) entry_libraries[i] = api_name(kRows[i].api);
  const char** functions = new const char*[rocm::kFunctionCount];
  const char** function_libraries = new const char*[rocm::kFunctionCount];
  for (unsigned i = 0; i < rocm::kFunctionCount; ++i) {
    functions[i] = rocm::kFunctions[i].name;
    function_libraries[i] = rocm::kLibraries[static_cast<unsigned>(rocm::kFunctions[i].library)].key;
  }
  trace::NameTables names;
  names.entries = kEntryNames;
  names.entry_count = kRowCount;
  names.entry_libraries = entry_libraries;
  names.functions = functions;
  names.function_count = rocm::kFunctionCount;
  names.function_libraries = function_libraries;
  trace::init(names, options);
}

bool is_handle(Role role) {
  return role == Role::handle || role == Role::descriptor;
}

}  // namespace

void register_snapshot(Kind kind, trace::SnapshotKind layout, Snapshot snapshot) {
  Registered& row = g_registered[static_cast<unsigned>(kind)];
  row.layout.store(layout, std::memory_order_relaxed);
  row.snapshot.store(snapshot, std::memory_order_release);
}

void register_stream_of(Kind kind, StreamOf stream_of) {
  g_registered[static_cast<unsigned>(kind)].stream_of.store(stream_of, std::memory_order_release);
}

void trace_allocation(trace::AllocationKind kind, bool freed, int device, std::uint64_t address, std::uint64_t bytes) {
  if (!trace::on()) return;
  trace::allocation({kind, freed, static_cast<std::uint8_t>(device), address, bytes});
}

void trace_settings() {
  if (!trace::on()) return;
  for (unsigned i = 0; i < controls::kRowCount; ++i) {
    controls::Origin origin = controls::Origin::fallback;
    const std::string value = controls::text(controls::kRows[i].key, &origin);
    trace::setting(controls::kRows[i].key, value,
                   origin == controls::Origin::environment ? "environment"
                   : origin == controls::Origin::file      ? "file"
                                                           : "default");
  }
}

void trace_refusal(unsigned row, int status, const char* reason, const char* text, const char* remedy,
                   const char* where) {
  if (!trace::on()) return;
  trace::refusal({row, status, reason, text, remedy, where});
}

namespace detail {

void trace_begin(Call& call, const std::uint64_t* words) {
  const EntryInfo& info = *call.info;
  call.traced = true;
  // The kinds of Role and trace::ArgumentKind are the same numbers.
  static_assert(static_cast<int>(Role::handle_out) == static_cast<int>(trace::ArgumentKind::handle_out));
  trace::Record record = trace::call_begin(call.record, info.row, info.arguments);
  std::uint64_t stream = 0;
  bool has_stream = false;
  for (unsigned i = 0; i < info.arguments; ++i) {
    record.argument(i, static_cast<trace::ArgumentKind>(info.roles[i]), words[i]);
    if (!is_handle(info.roles[i])) continue;
    const void* handle = reinterpret_cast<const void*>(words[i]);
    const Kind kind = handle_kind(handle);
    if (kind == Kind::none) {
      if (words[i] <= 2 || live_streams().find(words[i]) != nullptr) {
        stream = words[i];
        has_stream = true;
      }
      continue;
    }
    const Registered& row = g_registered[static_cast<unsigned>(kind)];
    if (const StreamOf stream_of = row.stream_of.load(std::memory_order_acquire); stream_of != nullptr) {
      stream = stream_of(handle);
      has_stream = true;
    }
    if (const Snapshot snapshot = row.snapshot.load(std::memory_order_acquire); snapshot != nullptr) {
      alignas(16) char buffer[1024];
      const std::size_t bytes = snapshot(handle, buffer, sizeof buffer);
      if (bytes != 0 && bytes <= sizeof buffer)
        record.snapshot(i, row.layout.load(std::memory_order_relaxed), buffer, bytes);
    }
  }
  if (has_stream) record.stream(stream);
  record.commit();
}

void trace_end(Call& call, int status) {
  trace::call_end(call.record, status);
}

std::uint64_t amd_begin() {
  return trace::now();
}

void amd_end(rocm::AmdFunction function, int status, std::uint64_t begin) {
  trace::amd_call(static_cast<std::uint32_t>(function), status, begin, trace::now());
}

}  // namespace detail
}  // namespace rb::bridge
