#include "kernels/verify/pyramid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/base/worker_pool.h"
#include "kernels/verify/cell_span.h"

namespace convscope {
namespace {

constexpr size_t most_levels = 24;  // of columns: 8^21 is beyond 64 bits
constexpr float infinite = std::numeric_limits<float>::infinity();

int64_t blocks(int64_t n, int64_t factor) { return (n + factor - 1) / factor; }

int levels_for(int64_t n, int64_t factor) {
  int levels = 1;
  while (n > 1) n = blocks(n, factor), levels++;
  return levels;
}

// Cells are floats: what is beyond them (in f64) is as large as they get.
float shown(double v) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(v, -most, most));
}

}  // namespace

double ResultTensors::reference_at(int64_t e) const {
  double y = output_at(e), d = error.as<float>()[e];
  return std::isfinite(y) && !std::signbit(ratio.as<float>()[e]) ? y - d : d;
}

double ResultTensors::error_at(int64_t e) const {
  double y = output_at(e), d = error.as<float>()[e];
  if (!std::isfinite(y)) return std::numeric_limits<double>::quiet_NaN();
  return std::signbit(ratio.as<float>()[e]) ? y - d : d;
}

uint8_t ResultTensors::flags_at(int64_t e) const {
  uint8_t f = ratio_at(e) <= 1 ? 0 : flag_failing;
  double y = output_at(e);
  if (std::isfinite(y)) return f;
  bool unwritten =
      dispatch(dtype, [&](auto zero) { return output.as<BitsOf<decltype(zero)>>()[e] == unwritten_bits(dtype); });
  return static_cast<uint8_t>(f | (unwritten ? flag_unwritten : std::isnan(y) ? flag_nan : flag_inf));
}

Pyramid::Range Pyramid::element_range(Quantity q, int64_t e) const {
  double v = 0;
  switch (q) {
    case Quantity::output:
      v = result_.output_at(e);
      break;
    case Quantity::reference:
      v = result_.reference_at(e);
      break;
    case Quantity::error:
      v = result_.error_at(e);
      break;
    case Quantity::ratio:
      v = result_.ratio_at(e);
      break;
  }
  if (!std::isfinite(v)) return {infinite, -infinite};
  float f = shown(v);
  return {f, f};
}

Pyramid::Pyramid(const ResultTensors& result, Activity* activity, int64_t small) : result_(result) {
  row_levels_ = result.rows * result.columns <= small ? 1 : levels_for(result.rows, row_factor);
  column_levels_ = levels_for(result.columns, column_factor);
  levels_.resize(static_cast<size_t>(row_levels_ * column_levels_));
  if (activity) activity->phase("building the picture pyramid", static_cast<uint64_t>(row_levels_ * column_levels_));
  for (int a = 0; a < row_levels_; a++)
    for (int b = 0; b < column_levels_; b++) {
      Level& l = level(a, b);
      l.rows = a ? blocks(level(a - 1, b).rows, row_factor) : result.rows;
      l.columns = b ? blocks(level(a, b - 1).columns, column_factor) : result.columns;
      if (a == 0 && b == 0) continue;
      auto n = static_cast<size_t>(l.rows * l.columns);
      for (auto& r : l.range) r = HostBytes(n * sizeof(Range));
      l.flags = HostBytes(n);
      // From the next finer level along the longer reduction, so that little is read twice.
      if (a + b == 1)
        build_from_elements(l, a == 1, activity);
      else if (b > 0 && (a == 0 || b > 1 || a == 1))
        build_from_level(level(a, b - 1), l, false);
      else
        build_from_level(level(a - 1, b), l, true);
      if (activity) activity->advance();
    }
}

void Pyramid::build_from_elements(Level& to, bool by_rows, Activity* activity) {
  const auto& r = result_;
  WorkerPool::shared().for_chunks(to.rows, by_rows ? 1 : 16, [&](int64_t first, int64_t last) {
    if (activity) activity->check();
    dispatch(r.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* output = r.output.as<T>();
      const float *error = r.error.as<float>(), *ratio = r.ratio.as<float>();
      for (int64_t row = first; row < last; row++) {
        int64_t top = by_rows ? row * row_factor : row, bottom = by_rows ? std::min(r.rows, top + row_factor) : row + 1;
        for (int64_t c = 0; c < to.columns; c++) {
          int64_t left = by_rows ? c : c * column_factor,
                  right = by_rows ? c + 1 : std::min(r.columns, left + column_factor);
          Range y{infinite, -infinite}, x = y, d = y, q = y;
          uint8_t flags = 0;
          for (int64_t i = top; i < bottom; i++)
            for (int64_t j = left; j < right; j++) {
              int64_t e = i * r.columns + j;
              const auto v = static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(output[e]);
              const float dv = error[e], qv = std::fabs(ratio[e]);
              auto widen = [](Range& g, float f) { g.low = std::min(g.low, f), g.high = std::max(g.high, f); };
              if (std::isfinite(v)) {
                const float rest = shown(static_cast<double>(v) - static_cast<double>(dv));
                const bool oracle_kept = std::signbit(ratio[e]);
                widen(y, shown(v)), widen(oracle_kept ? x : d, dv), widen(oracle_kept ? d : x, rest);
                if (std::isfinite(qv)) widen(q, qv);
                if (!(qv <= 1)) flags |= flag_failing;
              } else {
                if (std::isfinite(dv)) widen(x, dv);
                flags |= r.flags_at(e);
              }
            }
          int64_t at = row * to.columns + c;
          to.range[0].as<Range>()[at] = y, to.range[1].as<Range>()[at] = x;
          to.range[2].as<Range>()[at] = d, to.range[3].as<Range>()[at] = q;
          to.flags.as<uint8_t>()[at] = flags;
        }
      }
    });
  });
}

void Pyramid::build_from_level(const Level& from, Level& to, bool by_rows) {
  WorkerPool::shared().for_chunks(to.rows, 16, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
      int64_t top = by_rows ? row * row_factor : row,
              bottom = by_rows ? std::min(from.rows, top + row_factor) : row + 1;
      for (int64_t c = 0; c < to.columns; c++) {
        int64_t left = by_rows ? c : c * column_factor,
                right = by_rows ? c + 1 : std::min(from.columns, left + column_factor);
        int64_t at = row * to.columns + c;
        uint8_t flags = 0;
        for (int q = 0; q < 4; q++) {
          Range g{infinite, -infinite};
          for (int64_t i = top; i < bottom; i++)
            for (int64_t j = left; j < right; j++) {
              Range f = from.range[q].as<Range>()[i * from.columns + j];
              g.low = std::min(g.low, f.low), g.high = std::max(g.high, f.high);
              if (q == 0) flags |= from.flags.as<uint8_t>()[i * from.columns + j];
            }
          to.range[q].as<Range>()[at] = g;
        }
        to.flags.as<uint8_t>()[at] = flags;
      }
    }
  });
}

// [from, to) as few blocks as possible: fine ones at the ends, coarse ones between.
void Pyramid::cover(int64_t from, int64_t to, int64_t factor, int levels, std::vector<Run>& out) {
  size_t begin = out.size();
  int64_t at = from;
  while (at < to) {
    int l = 0;
    int64_t size = 1;
    while (l + 1 < levels && at % (size * factor) == 0 && at + size * factor <= to) l++, size *= factor;
    if (out.size() > begin && out.back().level == l)
      out.back().count++;
    else
      out.push_back({l, at / size, 1});
    at += size;
  }
}

// The extent of each cell along one axis.
Pyramid::Axis Pyramid::cut(double from, double to, int cells, int64_t limit, int64_t factor, int levels) {
  Axis axis;
  for (int i = 0; i < cells; i++) {
    axis.begin.push_back(axis.runs.size());
    const CellSpan span = cell_span(from, to, cells, factor, i);
    const int64_t a = std::clamp<int64_t>(span.begin, 0, limit - 1);
    const int64_t b = std::clamp<int64_t>(span.end, a + 1, limit);
    cover(a, b, factor, levels, axis.runs);
  }
  axis.begin.push_back(axis.runs.size());
  return axis;
}

std::vector<Cell> Pyramid::tile(const TileRequest& r) const {
  auto w = static_cast<size_t>(r.width), h = static_cast<size_t>(r.height);
  std::vector<Cell> cells(w * h);
  static_assert(column_factor == tile_column_factor);
  Axis columns = cut(r.column0, r.column1, r.width, result_.columns, column_factor, column_levels_);
  Axis rows = cut(r.row0, r.row1, r.height, result_.rows, row_factor, row_levels_);
  WorkerPool::shared().for_chunks(r.height, 8, [&](int64_t first, int64_t last) {
    for (auto cy = static_cast<size_t>(first); cy < static_cast<size_t>(last); cy++) {
      Cell* line = cells.data() + cy * w;
      std::fill(line, line + w, Cell{infinite, -infinite, 0, 0});
      for (size_t i = rows.begin[cy]; i < rows.begin[cy + 1]; i++)
        for (int64_t index = 0; index < rows.runs[i].count; index++)
          add_row(r.quantity, rows.runs[i].level, rows.runs[i].first + index, columns, line);
      for (size_t cx = 0; cx < w; cx++) {
        Cell& c = line[cx];
        c.extreme = c.minimum > c.maximum                         ? std::numeric_limits<float>::quiet_NaN()
                    : std::fabs(c.minimum) > std::fabs(c.maximum) ? c.minimum
                                                                  : c.maximum;
      }
    }
  });
  return cells;
}

// A row of blocks of level `row_level` into the cells of one line.
void Pyramid::add_row(Quantity q, int row_level, int64_t index, const Axis& columns, Cell* line) const {
  struct Blocks {
    const Range* range;
    const uint8_t* flags;
  };
  std::array<Blocks, most_levels> row{};
  for (int b = row_level == 0; b < column_levels_; b++) {
    const Level& l = level(row_level, b);
    row[static_cast<size_t>(b)] = {l.range[static_cast<size_t>(q)].as<Range>() + index * l.columns,
                                   l.flags.as<uint8_t>() + index * l.columns};
  }
  for (size_t cx = 0; cx + 1 < columns.begin.size(); cx++) {
    Cell& c = line[cx];
    for (size_t i = columns.begin[cx]; i < columns.begin[cx + 1]; i++) {
      const Run& run = columns.runs[i];
      const Blocks& blocks = row[static_cast<size_t>(run.level)];
      if (!blocks.range) {
        add_elements(q, index, run.first, run.count, c);
        continue;
      }
      float low = c.minimum, high = c.maximum;
      uint32_t flags = c.flags;
      for (int64_t b = run.first; b < run.first + run.count; b++) {
        low = std::min(low, blocks.range[b].low);
        high = std::max(high, blocks.range[b].high);
        flags |= blocks.flags[b];
      }
      c.minimum = low, c.maximum = high, c.flags = flags;
    }
  }
}

void Pyramid::add_elements(Quantity q, int64_t row, int64_t first, int64_t count, Cell& c) const {
  int64_t at = row * result_.columns + first;
  auto widen = [&](float v) { c.minimum = std::min(c.minimum, v), c.maximum = std::max(c.maximum, v); };
  // Blocks without a flag hold ordinary numbers only: then nothing but the quantity itself is read.
  bool plain = column_levels_ > 1 && result_.dtype == DType::f32;
  if (plain) {
    const uint8_t* flags = level(0, 1).flags.as<uint8_t>() + row * level(0, 1).columns;
    for (int64_t b = first / column_factor; b <= (first + count - 1) / column_factor; b++) plain &= flags[b] == 0;
  }
  if (plain) {
    const float *y = result_.output.as<float>() + at, *d = result_.error.as<float>() + at,
                *ratio = result_.ratio.as<float>() + at;
    if (q == Quantity::reference) {
      for (int64_t e = 0; e < count; e++) widen(shown(static_cast<double>(y[e]) - static_cast<double>(d[e])));
    } else {
      const float* v = q == Quantity::output ? y : q == Quantity::error ? d : ratio;
      for (int64_t e = 0; e < count; e++) widen(v[e]);
    }
    return;
  }
  for (int64_t e = at; e < at + count; e++) {
    Range g = element_range(q, e);
    c.minimum = std::min(c.minimum, g.low), c.maximum = std::max(c.maximum, g.high);
    c.flags |= result_.flags_at(e);
  }
}

uint8_t Pyramid::flags_of(int a, int b, int64_t row, int64_t column) const {
  if (a == 0 && b == 0) return result_.flags_at(row * result_.columns + column);
  const Level& l = level(a, b);
  return l.flags.as<uint8_t>()[row * l.columns + column];
}

std::optional<Pyramid::Place> Pyramid::next_failing(Place from, bool forward) const {
  int top = column_levels_ - 1;
  // Along one row, from column c on: climb while blocks are clean, descend into the first that is not.
  auto along = [&](int64_t row, int64_t c) -> std::optional<int64_t> {
    int b = 0;
    int64_t size = 1;
    auto fails = [&](int64_t block) { return (flags_of(0, b, row, block) & flag_failing) != 0; };
    while (c >= 0 && c < result_.columns) {
      // c is the first (or last) column not looked at yet; its block at level b begins (or ends) there.
      int64_t block = c / size;
      if (fails(block)) {
        if (b == 0) return c;
        b--, size /= column_factor;
        continue;
      }
      c = forward ? (block + 1) * size : block * size - 1;
      while (b < top && (forward ? c % (size * column_factor) == 0 : (c + 1) % (size * column_factor) == 0))
        b++, size *= column_factor;
    }
    return std::nullopt;
  };
  int64_t row = from.row, column = forward ? from.column + 1 : from.column - 1;
  while (row >= 0 && row < result_.rows) {
    bool whole = forward ? column <= 0 : column >= result_.columns - 1;
    if (whole) {
      // Skip clean blocks of whole rows.
      int a = 0;
      int64_t size = 1;
      while (a + 1 < row_levels_ && (forward ? row % (size * row_factor) == 0 : (row + 1) % (size * row_factor) == 0) &&
             !(flags_of(a + 1, top, row / (size * row_factor), 0) & flag_failing))
        a++, size *= row_factor;
      if (a > 0 || !(flags_of(0, top, row, 0) & flag_failing)) {
        row = forward ? (row / size + 1) * size : row / size * size - 1;
        column = forward ? 0 : result_.columns - 1;
        continue;
      }
    }
    if (auto c = along(row, column)) return Place{row, *c};
    row += forward ? 1 : -1;
    column = forward ? 0 : result_.columns - 1;
  }
  return std::nullopt;
}

size_t Pyramid::bytes() const {
  size_t n = 0;
  for (const auto& l : levels_) {
    for (const auto& r : l.range) n += r.size();
    n += l.flags.size();
  }
  return n;
}

size_t Pyramid::predicted_bytes(int64_t rows, int64_t columns, int64_t small) {
  size_t n = 0;
  for (int64_t r = rows;; r = blocks(r, row_factor)) {
    for (int64_t c = columns;; c = blocks(c, column_factor)) {
      if (!(r == rows && c == columns)) n += static_cast<size_t>(r * c) * (4 * sizeof(Range) + 1);
      if (c <= 1) break;
    }
    if (r <= 1 || rows * columns <= small) break;
  }
  return n;
}

}  // namespace convscope
