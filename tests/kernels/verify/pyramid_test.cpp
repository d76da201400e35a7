// Tiles of small results against a plain loop over all elements: every shape, zoom and quantity; one bad element is
// seen at every zoom; and the search for failing elements finds all of them, in order.
#include "kernels/verify/pyramid.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/verify/cell_span.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

using test::between;

constexpr float infinity = std::numeric_limits<float>::infinity();

// A result with everything that can be in one.
ResultTensors random_result(test::Random& r, int64_t rows, int64_t columns, DType dtype, int bad_in) {
  ResultTensors t;
  t.rows = rows, t.columns = columns, t.dtype = dtype;
  auto n = static_cast<size_t>(rows * columns);
  t.output = HostBytes(n * size_of(dtype)), t.error = HostBytes(n * 4), t.ratio = HostBytes(n * 4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t e = 0; e < n; e++) {
      T value = static_cast<T>(uniform(r));
      float error = static_cast<float>(1e-3 * uniform(r)), ratio = static_cast<float>(std::fabs(uniform(r)));
      if (bad_in && r() % static_cast<uint64_t>(bad_in) == 0) switch (r() % 6) {
          case 0:
            value = std::numeric_limits<T>::quiet_NaN(), ratio = infinity;
            break;
          case 1:
            value = -std::numeric_limits<T>::infinity(), ratio = infinity;
            break;
          case 2:
            ratio = 1.5;
            break;
          case 3:
            ratio = infinity;
            break;
          case 4:
            value = static_cast<T>(sizeof(T) == 8 ? 1e200 : sizeof(T) == 4 ? 3e38 : 6e4);
            break;  // beyond float, where there is more
          default: {
            value = std::bit_cast<T>(static_cast<BitsOf<T>>(unwritten_bits(dtype))), ratio = infinity;
          }
        }
      t.output.as<T>()[e] = value, t.error.as<float>()[e] = error, t.ratio.as<float>()[e] = ratio;
    }
  });
  return t;
}

double quantity_of(const ResultTensors& t, Quantity q, int64_t e) {
  switch (q) {
    case Quantity::output:
      return t.output_at(e);
    case Quantity::reference:
      return t.reference_at(e);
    case Quantity::error:
      return t.error_at(e);
    default:
      return t.ratio.as<float>()[e];
  }
}

// Elements [first, last) of cell i of n over [from, to): what the comment of TileRequest says, in other words.
// `factor`: 16 along rows, 8 along columns.
std::pair<int64_t, int64_t> extent(double from, double to, int i, int n, int64_t limit, double factor) {
  double step = (to - from) / n;
  if (step < 1) {
    auto at = std::min(static_cast<int64_t>(std::floor(from + (i + 0.5) * step)), limit - 1);
    return {at, at + 1};
  }
  double block = step < 2 ? 1 : std::pow(factor, std::floor(std::log(step / 2) / std::log(factor) + 1e-9));
  auto border = [&](int k) {
    double at = std::floor(from + k * step);
    return static_cast<int64_t>(k == n   ? std::ceil(to)
                                : k == 0 ? at
                                         : std::floor((at + std::floor(block / 2)) / block) * block);
  };
  return {border(i), border(i + 1)};
}

Cell brute_force(const ResultTensors& t, const TileRequest& r, int cx, int cy) {
  auto [row0, row1] = extent(r.row0, r.row1, cy, r.height, t.rows, 16);
  auto [column0, column1] = extent(r.column0, r.column1, cx, r.width, t.columns, 8);
  Cell c{infinity, -infinity, 0, 0};
  for (int64_t row = row0; row < row1; row++)
    for (int64_t column = column0; column < column1; column++) {
      int64_t e = row * t.columns + column;
      c.flags |= t.flags_at(e);
      double v = quantity_of(t, r.quantity, e);
      if (!std::isfinite(v)) continue;
      // Cells are floats: what is larger is as large as they get.
      auto f = static_cast<float>(
          std::clamp<double>(v, -std::numeric_limits<float>::max(), std::numeric_limits<float>::max()));
      c.minimum = std::min(c.minimum, f), c.maximum = std::max(c.maximum, f);
    }
  c.extreme = std::fabs(c.minimum) > std::fabs(c.maximum) ? c.minimum : c.maximum;
  return c;
}

// "" or the first cell that is not what the plain loop says.
std::string first_difference(const ResultTensors& t, const Pyramid& pyramid, const TileRequest& r) {
  auto cells = pyramid.tile(r);
  if (cells.size() != static_cast<size_t>(r.width) * static_cast<size_t>(r.height)) return "another number of cells";
  for (int cy = 0; cy < r.height; cy++)
    for (int cx = 0; cx < r.width; cx++) {
      const Cell& got = cells[static_cast<size_t>(cy * r.width + cx)];
      Cell want = brute_force(t, r, cx, cy);
      bool empty = want.minimum > want.maximum;
      if (got.flags != want.flags ||
          (empty ? !(got.minimum > got.maximum)
                 : got.minimum != want.minimum || got.maximum != want.maximum || got.extreme != want.extreme))
        return "cell " + std::to_string(cx) + ", " + std::to_string(cy) + " of " + std::to_string(r.width) + " × " +
               std::to_string(r.height) + ", rows " + std::to_string(r.row0) + " to " + std::to_string(r.row1) +
               ", columns " + std::to_string(r.column0) + " to " + std::to_string(r.column1) + ", quantity " +
               quantity_names[static_cast<int>(r.quantity)] + ": " + std::to_string(got.minimum) + "…" +
               std::to_string(got.maximum) + " flags " + std::to_string(got.flags) + " instead of " +
               std::to_string(want.minimum) + "…" + std::to_string(want.maximum) + " flags " +
               std::to_string(want.flags);
      if (empty && !std::isnan(got.extreme)) return "an empty cell has an extreme";
    }
  return "";
}

// Shapes below, at and above the sizes of the pyramid's blocks (16 rows, 8 columns, and their powers).
const std::pair<int64_t, int64_t> shapes[] = {{1, 1},    {1, 7},     {1, 8},     {1, 9},   {1, 513}, {2, 64},
                                              {15, 65},  {16, 1},    {17, 1},    {17, 33}, {256, 3}, {257, 70},
                                              {64, 512}, {300, 100}, {1500, 40}, {3, 9000}};

// The shapes here are small: as such, or with blocks of rows as a large result has them.
int64_t either(test::Random& r) { return between(r, 0, 1) ? Pyramid::small_result : 0; }

TEST(Pyramid, TilesAreThoseOfAPlainLoop) {
  test::Random r(80);
  for (auto [rows, columns] : shapes)
    for (auto dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
      for (int bad_in : {0, 3, 40}) {
        auto t = random_result(r, rows, columns, dtype, bad_in);
        Pyramid pyramid(t, nullptr, either(r));
        for (int i = 0; i < 24; i++) {
          TileRequest q;
          q.quantity = static_cast<Quantity>(i % 4);
          auto axis = [&](double& from, double& to, int64_t n) {
            switch (r() % 4) {
              case 0:
                from = 0, to = static_cast<double>(n);
                break;   // everything
              case 1: {  // whole elements
                int64_t a = between(r, 0, n - 1);
                from = static_cast<double>(a), to = static_cast<double>(between(r, a + 1, n));
                break;
              }
              case 2: {  // less than an element
                from = static_cast<double>(between(r, 0, n - 1)) + 0.25, to = from + 0.5;
                break;
              }
              default: {
                std::uniform_real_distribution<double> at(0, static_cast<double>(n));
                from = at(r), to = at(r);
                if (from > to) std::swap(from, to);
                if (to - from < 1e-3) from = 0, to = 1;
              }
            }
          };
          axis(q.row0, q.row1, rows);
          axis(q.column0, q.column1, columns);
          q.width = static_cast<int>(between(r, 1, 20)), q.height = static_cast<int>(between(r, 1, 20));
          if (r() % 4 == 0) q.width = static_cast<int>(columns);  // a cell an element
          ASSERT_EQ(first_difference(t, pyramid, q), "");
        }
      }
}

TEST(Pyramid, CellsShareTheElementsOut) {
  test::Random r(81);
  auto t = random_result(r, 77, 203, DType::f32, 0);
  // Each element once: one is marked at a time, and one cell must have it.
  for (auto [width, height] : {std::pair{1, 1}, {2, 3}, {10, 7}, {203, 77}, {100, 30}, {13, 76}}) {
    TileRequest q{Quantity::output, 0, 77, 0, 203, width, height};
    std::vector<int64_t> covered(77 * 203);
    for (int cy = 0; cy < height; cy++)
      for (int cx = 0; cx < width; cx++) {
        auto [r0, r1] = extent(q.row0, q.row1, cy, height, 77, 16);
        auto [c0, c1] = extent(q.column0, q.column1, cx, width, 203, 8);
        for (int64_t row = r0; row < r1; row++)
          for (int64_t column = c0; column < c1; column++) covered[static_cast<size_t>(row * 203 + column)]++;
      }
    EXPECT_EQ(covered, std::vector<int64_t>(77 * 203, 1)) << "the rule of the comment";
    for (int64_t e : {int64_t{0}, int64_t{202}, int64_t{203}, between(r, 0, 77 * 203 - 1), between(r, 0, 77 * 203 - 1),
                      int64_t{77 * 203 - 1}}) {
      float kept = t.ratio.as<float>()[e];
      t.ratio.as<float>()[e] = 2;
      Pyramid pyramid(t, nullptr, either(r));
      int failing = 0;
      for (const Cell& c : pyramid.tile(q)) failing += (c.flags & flag_failing) != 0;
      EXPECT_EQ(failing, 1) << width << " × " << height << ", element " << e;
      t.ratio.as<float>()[e] = kept;
    }
  }
}

// Who reads values off a tile says for which positions they are.
TEST(Pyramid, CellsSayWhichElementsTheyAreOf) {
  test::Random random(3);
  constexpr int64_t columns = 5000;
  ResultTensors t = random_result(random, 1, columns, DType::f32, 0);
  for (int64_t j = 0; j < columns; j++) t.output.as<float>()[j] = static_cast<float>(j);
  const Pyramid pyramid(t, nullptr);
  for (int trial = 0; trial < 200; trial++) {
    const double from = static_cast<double>(random() % 4000) + 0.01 * static_cast<double>(random() % 100),
                 to = std::min<double>(from + 1 + static_cast<double>(random() % 1000), columns);
    const int cells = 1 + static_cast<int>(random() % 300);
    const auto tile = pyramid.tile({Quantity::output, 0, 1, from, to, cells, 1});
    for (int i = 0; i < cells; i++) {
      const CellSpan span = cell_span(from, to, cells, tile_column_factor, i);
      ASSERT_EQ(tile[static_cast<size_t>(i)].minimum, static_cast<float>(span.begin)) << from << " " << to << " " << i;
      ASSERT_EQ(tile[static_cast<size_t>(i)].maximum, static_cast<float>(std::max(span.begin, span.end - 1)));
    }
  }
}

TEST(Pyramid, BordersAreWhereTheyShouldBeButForAQuarterOfACell) {
  for (double factor : {8.0, 16.0})
    for (double step : {1.0, 1.5, 3.9, 31.0, 33.3, 64.0, 255.5, 256.0, 4000.7})
      for (int i = 1; i < 50; i++) {
        auto limit = static_cast<int64_t>(std::ceil(50 * step + 0.7));
        EXPECT_LE(
            std::fabs(static_cast<double>(extent(0.7, 0.7 + 50 * step, i, 50, limit, factor).first) - (0.7 + i * step)),
            1 + step / 4);
      }
}

// Zooms from everything to one element around a place, each with a tile that must show it.
void expect_seen_at_every_zoom(const Pyramid& pyramid, int64_t rows, int64_t columns, int64_t row, int64_t column,
                               uint32_t flags) {
  for (int cells : {1, 3, 16})
    for (double zoom = 1; zoom < 4.0 * static_cast<double>(std::max(rows, columns)); zoom *= 3) {
      auto window = [&](int64_t n, int64_t at) {
        double size = std::max(static_cast<double>(n) / zoom, std::min(1.0, static_cast<double>(n))),
               from = std::clamp(static_cast<double>(at) + 0.5 - size / 2, 0.0, static_cast<double>(n) - size);
        return std::pair{from, from + size};
      };
      auto [r0, r1] = window(rows, row);
      auto [c0, c1] = window(columns, column);
      uint32_t seen = 0;
      for (const Cell& c : pyramid.tile({Quantity::error, r0, r1, c0, c1, cells, cells})) seen |= c.flags;
      ASSERT_EQ(seen, flags) << "zoom " << zoom << ", " << cells << " cells, rows " << r0 << "–" << r1 << ", columns "
                             << c0 << "–" << c1;
    }
}

TEST(Pyramid, OneBadElementIsSeenAtEveryZoom) {
  test::Random r(82);
  for (auto dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (auto [batch, channels, columns] :
         {std::tuple{3, 20, int64_t{700}}, {1, 1, int64_t{5000}}, {100, 3, int64_t{9}}}) {
      int64_t rows = batch * channels;
      for (int kind = 0; kind < 4; kind++) {
        auto t = random_result(r, rows, columns, dtype, 0);
        int64_t row = between(r, 0, rows - 1), column = between(r, 0, columns - 1), e = row * columns + column;
        t.ratio.as<float>()[e] = infinity;
        uint32_t flags = flag_failing;
        dispatch(dtype, [&](auto zero) {
          using T = decltype(zero);
          T& y = t.output.as<T>()[e];
          if (kind == 1) y = std::numeric_limits<T>::quiet_NaN(), flags |= flag_nan;
          if (kind == 2) y = std::numeric_limits<T>::infinity(), flags |= flag_inf;
          if (kind == 3) y = std::bit_cast<T>(static_cast<BitsOf<T>>(unwritten_bits(dtype))), flags |= flag_unwritten;
        });
        Pyramid pyramid(t, nullptr, either(r));
        EXPECT_EQ(t.flags_at(e), flags);
        expect_seen_at_every_zoom(pyramid, rows, columns, row, column, flags);
      }
      // The control: nothing is seen where nothing is.
      auto t = random_result(r, rows, columns, dtype, 0);
      expect_seen_at_every_zoom(Pyramid(t, nullptr, either(r)), rows, columns, rows / 2, columns / 2, 0);
    }
}

TEST(Pyramid, FindsTheNextFailingElement) {
  test::Random r(83);
  for (auto [rows, columns] : shapes)
    for (int bad_in : {0, 2, 50, 3000}) {
      auto t = random_result(r, rows, columns, DType::f32, bad_in);
      Pyramid pyramid(t, nullptr, either(r));
      std::vector<int64_t> failing;
      for (int64_t e = 0; e < rows * columns; e++)
        if (t.flags_at(e) & flag_failing) failing.push_back(e);
      // From the very beginning through all of them, and back.
      std::vector<int64_t> found;
      for (Pyramid::Place at{0, -1};;) {
        auto next = pyramid.next_failing(at, true);
        if (!next) break;
        at = *next;
        found.push_back(at.row * columns + at.column);
        ASSERT_LE(found.size(), failing.size());
      }
      ASSERT_EQ(found, failing) << rows << " × " << columns;
      found.clear();
      for (Pyramid::Place at{rows - 1, columns};;) {
        auto next = pyramid.next_failing(at, false);
        if (!next) break;
        at = *next;
        found.push_back(at.row * columns + at.column);
        ASSERT_LE(found.size(), failing.size());
      }
      std::reverse(found.begin(), found.end());
      ASSERT_EQ(found, failing) << rows << " × " << columns << ", backward";
      // From anywhere.
      for (int i = 0; i < 40; i++) {
        int64_t e = between(r, 0, rows * columns - 1);
        auto after = std::upper_bound(failing.begin(), failing.end(), e),
             before = std::lower_bound(failing.begin(), failing.end(), e);
        auto next = pyramid.next_failing({e / columns, e % columns}, true),
             last = pyramid.next_failing({e / columns, e % columns}, false);
        ASSERT_EQ(next ? next->row * columns + next->column : -1, after == failing.end() ? -1 : *after);
        ASSERT_EQ(last ? last->row * columns + last->column : -1, before == failing.begin() ? -1 : *std::prev(before));
      }
    }
}

TEST(Pyramid, TheReferenceIsNotWhatTheOutputIs) {
  std::vector<Cell> cells = {
      {1, 2, 2, flag_nan | flag_failing}, {3, 3, 3, flag_unwritten | flag_inf}, {1, -1, 0, flag_nan}};
  keep_flags_of_reference(cells);
  EXPECT_EQ(cells[0].flags, flag_failing);
  EXPECT_EQ(cells[1].flags, 0u);
  EXPECT_EQ(cells[2].flags, flag_nan) << "the reference is no number either";
}

TEST(Pyramid, KnowsItsSize) {
  test::Random r(84);
  for (auto [rows, columns] : shapes) {
    auto t = random_result(r, rows, columns, DType::f32, 0);
    for (int64_t small : {int64_t{0}, Pyramid::small_result}) {
      Pyramid pyramid(t, nullptr, small);
      EXPECT_EQ(pyramid.bytes(), Pyramid::predicted_bytes(rows, columns, small)) << rows << " × " << columns;
    }
    EXPECT_LE(Pyramid::predicted_bytes(rows, columns), Pyramid::predicted_bytes(rows, columns, 0));
  }
  EXPECT_LT(Pyramid::predicted_bytes(4096, 65536), 8.0 * 4096 * 65536) << "about 7 bytes an element";
}

TEST(ResultTensors, TellWhatAnElementIs) {
  auto t = [] {
    ResultTensors t;
    t.rows = 1, t.columns = 5;
    t.output = HostBytes(20), t.error = HostBytes(20), t.ratio = HostBytes(20);
    float y[] = {2, NAN, INFINITY, std::bit_cast<float>(unwritten_word), 3}, d[] = {0.5, 7, 8, 9, 1},
          q[] = {0.25, INFINITY, INFINITY, INFINITY, 1.5};
    std::copy(y, y + 5, t.output.as<float>()), std::copy(d, d + 5, t.error.as<float>()),
        std::copy(q, q + 5, t.ratio.as<float>());
    return t;
  }();
  EXPECT_EQ(t.reference_at(0), 1.5);
  EXPECT_EQ(t.error_at(0), 0.5);
  for (int64_t e : {1, 2, 3}) {
    EXPECT_EQ(t.reference_at(e), 6 + e) << "where the output is not finite the reference is kept in its place";
    EXPECT_TRUE(std::isnan(t.error_at(e)));
  }
  EXPECT_EQ(t.flags_at(0), 0);
  EXPECT_EQ(t.flags_at(1), flag_nan | flag_failing);
  EXPECT_EQ(t.flags_at(2), flag_inf | flag_failing);
  EXPECT_EQ(t.flags_at(3), flag_unwritten | flag_failing);
  EXPECT_EQ(t.flags_at(4), flag_failing);
}

}  // namespace
}  // namespace convscope
