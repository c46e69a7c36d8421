// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "bridge/check_staging.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include "base/controls.hpp"
#include "bridge/amd.hpp"

namespace rb::bridge::checks {
namespace {

constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kPiece = std::size_t{16} << 20;

struct Staging {
  std::mutex mutex;
  std::map<char*, std::size_t> free;  // by address; neighbours of one piece are merged
  std::map<char*, std::size_t> pieces;
  std::size_t taken_from_hip = 0;
  std::uint64_t generation = 1;
};

Staging& staging() {
  static Staging& instance = *new Staging;
  return instance;
}

std::size_t limit() {
  static const long long bytes = controls::number("integrity.staging_bytes");
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

/// Whether a piece begins at `address`: free ranges of two pieces are never merged.
bool begins_piece(const Staging& all, char* address) {
  return all.pieces.count(address) != 0;
}

Block cut(Staging& all, std::size_t bytes) {
  for (auto it = all.free.begin(); it != all.free.end(); ++it) {
    if (it->second < bytes) continue;
    const Block block{it->first, bytes, all.generation};
    const std::size_t rest = it->second - bytes;
    char* const after = it->first + bytes;
    all.free.erase(it);
    if (rest > 0) all.free.emplace(after, rest);
    return block;
  }
  return {};
}

}  // namespace

Block take_block(std::size_t bytes) {
  if (bytes > limit()) return {};
  bytes = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  Staging& all = staging();
  const std::lock_guard lock(all.mutex);
  if (const Block block = cut(all, bytes); block.data != nullptr) return block;
  const std::size_t left = limit() - std::min(limit(), all.taken_from_hip);
  const std::size_t piece = std::max(bytes, std::min(kPiece, left));
  if (piece > left) return {};
  void* memory = nullptr;
  if (amd().hipHostMalloc == nullptr || amd().hipHostMalloc(&memory, piece, 0) != hipSuccess || memory == nullptr) {
    if (amd().hipGetLastError != nullptr) static_cast<void>(amd().hipGetLastError());
    return {};
  }
  all.taken_from_hip += piece;
  all.pieces.emplace(static_cast<char*>(memory), piece);
  all.free.emplace(static_cast<char*>(memory), piece);
  return cut(all, bytes);
}

void give_block(const Block& block) {
  if (block.data == nullptr) return;
  Staging& all = staging();
  const std::lock_guard lock(all.mutex);
  if (block.generation != all.generation) return;
  auto it = all.free.emplace(static_cast<char*>(block.data), block.bytes).first;
  const auto next = std::next(it);
  if (next != all.free.end() && it->first + it->second == next->first && !begins_piece(all, next->first)) {
    it->second += next->second;
    all.free.erase(next);
  }
  if (it == all.free.begin()) return;
  const auto before = std::prev(it);
  if (before->first + before->second != it->first || begins_piece(all, it->first)) return;
  before->second += it->second;
  all.free.erase(it);
}

bool block_lives(const Block& block) {
  Staging& all = staging();
  const std::lock_guard lock(all.mutex);
  return block.generation == all.generation;
}

bool forget_staging() {
  Staging& all = staging();
  const std::lock_guard lock(all.mutex);
  if (all.pieces.empty()) return false;
  all.free.clear();
  all.pieces.clear();
  all.taken_from_hip = 0;
  ++all.generation;
  return true;
}

}  // namespace rb::bridge::checks
