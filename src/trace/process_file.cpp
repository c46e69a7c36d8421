// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include <cstdio>
#include <cstring>

#include "base/os.hpp"
#include "base/os_files.hpp"
#include "trace/plain_record.hpp"
#include "trace/writer_state.hpp"

namespace rb::trace::detail {
namespace {

constexpr std::size_t kMaxArguments = 16384;

std::size_t table_bytes(const char* const* names, std::uint32_t count) {
  std::size_t bytes = 128;
  for (std::uint32_t i = 0; names != nullptr && i < count; ++i) bytes += std::strlen(names[i]) + 1;
  return bytes;
}

void write_table(PlainRecords* out, std::uint64_t time, NameTable table, const char* const* names,
                 std::uint32_t count) {
  if (names == nullptr) return;
  out->begin(Kind::names, time, NamesFixed{static_cast<std::uint32_t>(table), 0, count});
  out->open_item(Tag::table, 0, 0);
  for (std::uint32_t i = 0; i < count; ++i) out->append(names[i], std::strlen(names[i]) + 1);
  out->close_item();
  out->end();
}

}  // namespace

void file_path(char* buffer, std::size_t size, const char* suffix) {
  std::snprintf(buffer, size, "%s/p%u-%016llx%s", g_state.directory, g_state.pid,
                static_cast<unsigned long long>(g_state.token), suffix);
}

void start_clock(State* state) {
  state->wall_ns = os::wall_ns();
  state->ticks[0] = now();
  state->ns[0] = os::now_ns();
  // Two readings 100 us apart give the rate to 3e-4; the pairs in the ring headers make it exact later.
  do {
    state->ticks[1] = now();
    state->ns[1] = os::now_ns();
  } while (state->ns[1] - state->ns[0] < 100000);
  const double rate =
      static_cast<double>(state->ticks[1] - state->ticks[0]) / static_cast<double>(state->ns[1] - state->ns[0]);
  state->sync_ticks = static_cast<std::uint64_t>(rate * 50e6) + 1;
}

bool write_process_file(const State& state) {
  const NameTables& names = state.names;
  const std::size_t capacity = 65536 + sizeof state + kMaxArguments + table_bytes(names.entries, names.entry_count) +
                               table_bytes(names.entry_libraries, names.entry_count) +
                               table_bytes(names.functions, names.function_count) +
                               table_bytes(names.function_libraries, names.function_count);
  char* buffer = static_cast<char*>(os::map_anonymous(capacity));
  if (buffer == nullptr) return false;
  PlainRecords out(buffer + sizeof(ProcessFileHeader), capacity - sizeof(ProcessFileHeader));

  ProcessFixed fixed;
  fixed.pid = state.pid;
  fixed.parent_pid = os::parent_process_id();
  fixed.token = state.token;
  fixed.parent_token = state.parent_token;
  fixed.wall_ns = state.wall_ns;
  fixed.clock = static_cast<std::uint32_t>(g_counter.load() ? ClockKind::counter : ClockKind::nanoseconds);
  fixed.level = static_cast<std::uint32_t>(state.level);
  for (int i = 0; i < 2; ++i) {
    fixed.ticks[i] = state.ticks[i];
    fixed.ns[i] = state.ns[i];
  }
  fixed.ring_bytes = state.ring_bytes;
  const std::uint64_t time = state.ticks[0];
  out.begin(Kind::process, time, fixed);
  char program[4096];
  os::program_path(program, sizeof program);
  out.text(Tag::program, program);
  // Static: command lines may be long and stacks small, and only one thread at a time comes here.
  static char arguments[kMaxArguments];
  const std::size_t length = os::program_arguments(arguments, sizeof arguments);
  out.text(Tag::arguments, {arguments, length});
  out.text(Tag::version, state.version);
  out.text(Tag::build, state.build);
  out.end();
  write_table(&out, time, NameTable::entries, names.entries, names.entry_count);
  write_table(&out, time, NameTable::entry_libraries, names.entry_libraries, names.entry_count);
  write_table(&out, time, NameTable::functions, names.functions, names.function_count);
  write_table(&out, time, NameTable::function_libraries, names.function_libraries, names.function_count);

  ProcessFileHeader header{kProcessMagic, kFormatVersion, state.pid, state.token, out.size(), 0};
  header.check = header_check(&header, offsetof(ProcessFileHeader, check));
  std::memcpy(buffer, &header, sizeof header);

  static char path[kMaxPath + 64];
  static char temporary[kMaxPath + 64];
  file_path(path, sizeof path, kProcessSuffix);
  file_path(temporary, sizeof temporary, ".process.tmp");
  const int fd = os::open_file(temporary, os::OpenFile::create_new);
  bool ok = out.ok() && fd >= 0 && os::write_file_all(fd, buffer, sizeof header + out.size());
  os::close_file(fd);
  ok = ok && os::rename_file(temporary, path);
  os::unmap(buffer, capacity);
  return ok;
}

}  // namespace rb::trace::detail
