// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "integrity/contraction.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "integrity/parallel.hpp"

namespace rb::integrity {

namespace {

constexpr std::int64_t kRows = 2;       // rows of a register tile
constexpr std::int64_t kColumns = 8;    // columns of a register tile
constexpr std::int64_t kDepth = 256;    // products between two visits of the sums; both panels stay in cache
constexpr std::int64_t kPeakStep = 32;  // products between two looks at the running sum
constexpr std::int64_t kTaskRows = 128;
constexpr std::int64_t kTaskColumns = 64;

/// Sums of one register tile, row by row. The running sum and its peak carry on from the products before.
struct Tile {
  double value[kRows][kColumns];
  double peak[kRows][kColumns];
  double squares[kRows][kColumns];
  double magnitudes[kRows][kColumns];
};

using TileFunction = void (*)(const double* a, const double* b, std::int64_t depth, Tile* tile);

typedef double Pair __attribute__((vector_size(16)));
typedef double Quad __attribute__((vector_size(32)));
typedef long long PairBits __attribute__((vector_size(16)));
typedef long long QuadBits __attribute__((vector_size(32)));

/// One tile over `depth` products. V is the host's vector; all sums stay in registers for V = Quad.
template <class V, class Bits>
[[gnu::always_inline]] inline void tile_body(const double* a, const double* b, std::int64_t depth, Tile* tile) {
  constexpr int kLanes = sizeof(V) / sizeof(double);
  constexpr int kVectors = kColumns / kLanes;
  V value[kRows][kVectors], peak[kRows][kVectors], squares[kRows][kVectors] = {}, magnitudes[kRows][kVectors] = {};
  std::memcpy(value, tile->value, sizeof value);
  std::memcpy(peak, tile->peak, sizeof peak);
  for (std::int64_t left = depth; left > 0; left -= kPeakStep) {
    const std::int64_t steps = std::min(left, kPeakStep);
    for (std::int64_t k = 0; k < steps; ++k, a += kRows, b += kColumns) {
      for (int v = 0; v < kVectors; ++v) {
        V column;
        std::memcpy(&column, b + v * kLanes, sizeof column);
        for (int r = 0; r < kRows; ++r) {
          const V product = column * a[r];
          value[r][v] += product;
          squares[r][v] += product * product;
          magnitudes[r][v] += (V)((Bits)product & 0x7fffffffffffffffLL);
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const V size = (V)((Bits)value[r][v] & 0x7fffffffffffffffLL);
        peak[r][v] = size > peak[r][v] ? size : peak[r][v];
      }
    }
  }
  std::memcpy(tile->value, value, sizeof value);
  std::memcpy(tile->peak, peak, sizeof peak);
  std::memcpy(tile->squares, squares, sizeof squares);
  std::memcpy(tile->magnitudes, magnitudes, sizeof magnitudes);
}

void tile_portable(const double* a, const double* b, std::int64_t depth, Tile* tile) {
  tile_body<Pair, PairBits>(a, b, depth, tile);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void tile_avx2(const double* a, const double* b, std::int64_t depth, Tile* tile) {
  tile_body<Quad, QuadBits>(a, b, depth, tile);
}
#endif

TileFunction tile_for_host() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return tile_avx2;
#endif
  return tile_portable;
}

/// Copies lanes [first, first + count) and steps [k0, k0 + depth) as panels of `width` lanes: panel, step, lane. Lanes
/// beyond the last are zero.
template <std::int64_t width>
void pack(const Operand& from, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t k0,
          std::int64_t depth, double* out) {
  const double* base = from.data + from.batches[static_cast<std::size_t>(batch)];
  const std::int64_t* steps = from.steps.data() + k0;
  for (std::int64_t panel = 0; panel < count; panel += width, out += width * depth) {
    const std::int64_t* lanes = from.lanes.data() + first + panel;
    const std::int64_t used = std::min(width, count - panel);
    const bool neighbours =
        used == width && lanes[width - 1] == lanes[0] + width - 1 && std::is_sorted(lanes, lanes + width);
    if (neighbours) {
      for (std::int64_t k = 0; k < depth; ++k)
        std::memcpy(out + k * width, base + lanes[0] + steps[k], width * sizeof(double));
      continue;
    }
    if (used < width) std::fill_n(out, width * depth, 0.0);
    for (std::int64_t lane = 0; lane < used; ++lane) {
      const double* source = base + lanes[lane];
      for (std::int64_t k = 0; k < depth; ++k) out[k * width + lane] = source[steps[k]];
    }
  }
}

/// Part of the output that one task computes.
struct Block {
  std::int64_t batch, row, rows, column, columns;
};

/// Where a tile lies in the output.
struct Spot {
  std::int64_t at, rows, columns;
};

void load_tile(Tile& tile, const Sums& sums, const Spot& spot) {
  std::memset(&tile, 0, sizeof tile);
  for (std::int64_t r = 0; r < spot.rows; ++r) {
    for (std::int64_t c = 0; c < spot.columns; ++c) {
      const std::int64_t from = spot.at + r * sums.row + c * sums.column;
      tile.value[r][c] = sums.value[from];
      tile.peak[r][c] = sums.peak[from];
    }
  }
}

void store_tile(const Tile& tile, const Sums& sums, const Spot& spot) {
  for (std::int64_t r = 0; r < spot.rows; ++r) {
    for (std::int64_t c = 0; c < spot.columns; ++c) {
      const std::int64_t to = spot.at + r * sums.row + c * sums.column;
      sums.value[to] = tile.value[r][c];
      sums.peak[to] = tile.peak[r][c];
      sums.squares[to] += tile.squares[r][c];
      sums.magnitudes[to] += tile.magnitudes[r][c];
    }
  }
}

void contract_block(const Operand& a, const Operand& b, const Sums& sums, const Block& block, TileFunction tile_of) {
  const auto depth_total = static_cast<std::int64_t>(a.steps.size());
  const std::int64_t depth_most = std::min(kDepth, depth_total);
  const std::int64_t row_panels = (block.rows + kRows - 1) / kRows;
  const std::int64_t column_panels = (block.columns + kColumns - 1) / kColumns;
  std::vector<double> a_packed(static_cast<std::size_t>(row_panels * kRows * depth_most));
  std::vector<double> b_packed(static_cast<std::size_t>(column_panels * kColumns * depth_most));
  const std::int64_t origin = sums.batches[static_cast<std::size_t>(block.batch)];
  for (std::int64_t k0 = 0; k0 < depth_total; k0 += kDepth) {
    const std::int64_t depth = std::min(kDepth, depth_total - k0);
    pack<kRows>(a, block.batch, block.row, block.rows, k0, depth, a_packed.data());
    pack<kColumns>(b, block.batch, block.column, block.columns, k0, depth, b_packed.data());
    for (std::int64_t j = 0; j < column_panels; ++j) {
      const std::int64_t columns = std::min(kColumns, block.columns - j * kColumns);
      for (std::int64_t i = 0; i < row_panels; ++i) {
        Tile tile;
        const Spot spot{origin + (block.row + i * kRows) * sums.row + (block.column + j * kColumns) * sums.column,
                        std::min(kRows, block.rows - i * kRows), columns};
        load_tile(tile, sums, spot);
        tile_of(a_packed.data() + i * kRows * depth, b_packed.data() + j * kColumns * depth, depth, &tile);
        store_tile(tile, sums, spot);
      }
    }
  }
}

void contract_block_masked(const Operand& a, const Operand& b, const Sums& sums, const Block& block) {
  const std::int64_t a_base = a.batches[static_cast<std::size_t>(block.batch)];
  const std::int64_t b_base = b.batches[static_cast<std::size_t>(block.batch)];
  const std::size_t depth = a.steps.size();
  for (std::int64_t m = block.row; m < block.row + block.rows; ++m) {
    for (std::int64_t n = block.column; n < block.column + block.columns; ++n) {
      const std::int64_t a_at = a_base + a.lanes[static_cast<std::size_t>(m)];
      const std::int64_t b_at = b_base + b.lanes[static_cast<std::size_t>(n)];
      double value = 0, peak = 0, squares = 0, magnitudes = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        const std::int64_t ia = a_at + a.steps[k], ib = b_at + b.steps[k];
        if ((a.valid && !a.valid[ia]) || (b.valid && !b.valid[ib])) continue;
        const double product = a.data[ia] * b.data[ib];
        value += product;
        peak = std::max(peak, std::fabs(value));
        squares += product * product;
        magnitudes += std::fabs(product);
      }
      const std::int64_t to = sums.batches[static_cast<std::size_t>(block.batch)] + m * sums.row + n * sums.column;
      sums.value[to] = value;
      sums.peak[to] = peak;
      sums.squares[to] = squares;
      sums.magnitudes[to] = magnitudes;
    }
  }
}

}  // namespace

void contract(const Operand& a, const Operand& b, const Sums& sums, bool masked, int threads) {
  const auto rows = static_cast<std::int64_t>(a.lanes.size());
  const auto columns = static_cast<std::int64_t>(b.lanes.size());
  const std::int64_t row_blocks = (rows + kTaskRows - 1) / kTaskRows;
  const std::int64_t column_blocks = (columns + kTaskColumns - 1) / kTaskColumns;
  const std::int64_t per_batch = row_blocks * column_blocks;
  const TileFunction tile_of = tile_for_host();
  parallel_for(threads, static_cast<std::int64_t>(a.batches.size()) * per_batch, [&](std::int64_t task) {
    Block block;
    block.batch = task / per_batch;
    block.row = task % per_batch / column_blocks * kTaskRows;
    block.column = task % column_blocks * kTaskColumns;
    block.rows = std::min(kTaskRows, rows - block.row);
    block.columns = std::min(kTaskColumns, columns - block.column);
    if (masked)
      contract_block_masked(a, b, sums, block);
    else
      contract_block(a, b, sums, block, tile_of);
  });
}

}  // namespace rb::integrity
