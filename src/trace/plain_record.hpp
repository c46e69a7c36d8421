// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// Builds records in plain memory, for the process file (and for tests): same layout as in a ring.
#pragma once

#include <cstring>
#include <string_view>

#include "trace/format.hpp"

namespace rb::trace {

/// Appends records to a buffer that is large enough (the caller has added up the sizes; overrun stops the writing and
/// clears ok()).
class PlainRecords {
 public:
  PlainRecords(char* data, std::size_t capacity) : data_(data), capacity_(capacity) {}

  template <class Fixed>
  void begin(Kind kind, std::uint64_t time, const Fixed& fixed) {
    static_assert(sizeof(Fixed) % 8 == 0);
    start_ = size_;
    RecordHeader header;
    header.kind = static_cast<std::uint16_t>(kind);
    header.fixed_words = sizeof(Fixed) / 8;
    header.time = time;
    append(&header, sizeof header);
    append(&fixed, sizeof fixed);
  }
  void item(Tag tag, std::uint8_t index, std::uint8_t type, const void* data, std::size_t size) {
    open_item(tag, index, type);
    append(data, size);
    close_item();
  }
  void text(Tag tag, std::string_view value) {
    if (!value.empty()) item(tag, 0, 0, value.data(), value.size());
  }
  /// For content that comes in parts.
  void open_item(Tag tag, std::uint8_t index, std::uint8_t type) {
    item_ = size_;
    const ItemHeader header{static_cast<std::uint16_t>(tag), index, type, 0};
    append(&header, sizeof header);
  }
  void append(const void* data, std::size_t size) {
    if (size > capacity_ - size_) {
      ok_ = false;
      return;
    }
    if (size != 0) std::memcpy(data_ + size_, data, size);
    size_ += size;
  }
  void close_item() {
    const std::uint32_t bytes = static_cast<std::uint32_t>(size_ - item_ - sizeof(ItemHeader));
    constexpr char kZeros[8] = {};
    append(kZeros, (8 - bytes % 8) % 8);
    if (ok_) std::memcpy(data_ + item_ + offsetof(ItemHeader, size), &bytes, sizeof bytes);
  }
  void end() {
    if (!ok_) return;
    RecordHeader header;
    std::memcpy(&header, data_ + start_, sizeof header);
    header.size = static_cast<std::uint32_t>(size_ - start_);
    header.number = number_++;
    std::memcpy(data_ + start_, &header, sizeof header);
    header.check = record_check(data_ + start_, header.size, start_);
    std::memcpy(data_ + start_, &header, sizeof header);
  }

  bool ok() const { return ok_; }
  std::size_t size() const { return size_; }

 private:
  char* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t start_ = 0;
  std::size_t item_ = 0;
  std::uint32_t number_ = 0;
  bool ok_ = true;
};

}  // namespace rb::trace
