// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "rocm/elf_check.hpp"

#include <elf.h>

#include <cstring>

#include "base/os.hpp"
#include "base/os_files.hpp"

namespace rb::rocm {
namespace {

Fault damaged(const std::string& path, const char* what) {
  Fault fault = fail(Errc::not_initialized, "library-damaged", "%s %s", path.c_str(), what);
  fault.remedy = "install the AMD libraries again, or name another directory in ROCBRIDGE_ROCM_DIR";
  return fault;
}

Status check_open_file(const std::string& path, int fd) {
  const std::int64_t size = os::file_size(fd);
  Elf64_Ehdr header;
  if (size < static_cast<std::int64_t>(sizeof header) ||
      os::read_file_at(fd, 0, &header, sizeof header) != static_cast<std::int64_t>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return damaged(path, "is no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 || header.e_type != ET_DYN)
    return damaged(path, "is no shared object for x86-64");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 512)
    return damaged(path, "has no valid program headers");
  const std::uint64_t file = static_cast<std::uint64_t>(size);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::uint64_t at = header.e_phoff + std::uint64_t{i} * sizeof segment;
    if (at < header.e_phoff || at > file ||
        os::read_file_at(fd, at, &segment, sizeof segment) != static_cast<std::int64_t>(sizeof segment))
      return damaged(path, "is truncated: a program header lies behind its end");
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    const std::uint64_t end = segment.p_offset + segment.p_filesz;
    if (end < segment.p_offset || end > file)
      return damaged(path, "is truncated: a segment ends behind the file's end");
  }
  // The section headers end the file: without them something is missing even if every segment is whole.
  const std::uint64_t sections = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && (sections < header.e_shoff || sections > file))
    return damaged(path, "is truncated: its section headers lie behind its end");
  return {};
}

}  // namespace

Status check_library_file(const std::string& path) {
  const int fd = os::open_file(path.c_str(), os::OpenFile::read);
  if (fd < 0) {
    Fault fault =
        fail(Errc::not_initialized, "library-missing", "%s cannot be opened: %s", path.c_str(), std::strerror(errno));
    fault.remedy = "install the AMD library, or name a complete directory in ROCBRIDGE_ROCM_DIR";
    return fault;
  }
  Status status = check_open_file(path, fd);
  os::close_file(fd);
  return status;
}

}  // namespace rb::rocm
