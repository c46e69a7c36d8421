// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
//
// A record in memory, seen with bounds: fields that an older writer did not have read as their defaults, items of
// unknown tags are passed over.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/format.hpp"

namespace rb::trace {

/// Whether a header can begin a record of which `available` bytes are there.
inline bool plausible(const RecordHeader& header, std::uint64_t available) {
  return header.size >= sizeof header && header.size % 8 == 0 && header.size <= available &&
         sizeof header + std::uint64_t{header.fixed_words} * 8 <= header.size;
}

class RecordView {
 public:
  explicit RecordView(const char* record) : record_(record) { std::memcpy(&header_, record, sizeof header_); }

  const RecordHeader& header() const { return header_; }
  Kind kind() const { return static_cast<Kind>(header_.kind); }

  template <class Fixed>
  Fixed fixed() const {
    Fixed out;
    const std::size_t there = std::size_t{header_.fixed_words} * 8;
    std::memcpy(static_cast<void*>(&out), record_ + sizeof header_, there < sizeof out ? there : sizeof out);
    return out;
  }

  /// Calls visit(const ItemHeader&, const char* content) for each whole item.
  template <class Visit>
  void items(Visit&& visit) const {
    std::size_t at = sizeof header_ + std::size_t{header_.fixed_words} * 8;
    while (header_.size - at >= sizeof(ItemHeader)) {
      ItemHeader item;
      std::memcpy(&item, record_ + at, sizeof item);
      at += sizeof item;
      if (item.size > header_.size - at) return;
      visit(item, record_ + at);
      const std::size_t padded = (std::size_t{item.size} + 7) & ~std::size_t{7};
      if (padded > header_.size - at) return;
      at += padded;
    }
  }

  std::string_view text(Tag tag) const {
    std::string_view found;
    items([&](const ItemHeader& item, const char* content) {
      if (item.tag == static_cast<std::uint16_t>(tag)) found = {content, item.size};
    });
    return found;
  }

 private:
  const char* record_;
  RecordHeader header_;
};

}  // namespace rb::trace
