// A result of any size as pictures of any size: every cell says the least, the greatest and the state of all elements
// it covers, so that one wrong element in 500 million is seen at every zoom.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/problem/conv_problem.h"
#include "kernels/problem/tensor.h"

namespace convscope {

// What is wrong with an element, or with any element of a cell.
enum Flag : uint8_t { flag_nan = 1, flag_inf = 2, flag_unwritten = 4, flag_failing = 8 };

// Bits of an element that the kernel never wrote, in the tensors that are kept (a quiet NaN that no arithmetic makes,
// as f16 and bf16 in either half of the word).
inline constexpr uint32_t unwritten_word = 0x7ffd7ffd;
constexpr uint64_t unwritten_bits(DType t) {
  return is_half(t)        ? unwritten_word & 0xffff
         : t == DType::f64 ? uint64_t{unwritten_word} << 32 | unwritten_word
                           : unwritten_word;
}

enum class Quantity : uint8_t { output, reference, error, ratio };
inline constexpr const char* quantity_names[] = {"output", "reference", "error", "ratio"};

// The tensors of a finished run, [rows = N·Cout, columns = Lout] each.
struct ResultTensors {
  int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;
  HostBytes output;  // dtype; what the kernel wrote, or unwritten_bits
  // float; output − oracle; or, where the output is not finite or the ratio is negative, the oracle's value: of the two
  // the smaller one is kept, as the other follows from it and the output without loss.
  HostBytes error;
  HostBytes ratio;  // float; |error|/bound, by its magnitude; above 1 (or infinite): failing

  double output_at(int64_t e) const {
    return dispatch(dtype, [&](auto zero) { return static_cast<double>(output.as<decltype(zero)>()[e]); });
  }
  double reference_at(int64_t e) const;
  double error_at(int64_t e) const;  // NaN where the output is not finite
  float ratio_at(int64_t e) const { return std::fabs(ratio.as<float>()[e]); }
  uint8_t flags_at(int64_t e) const;
  size_t bytes() const { return output.size() + error.size() + ratio.size(); }
};

struct Cell {
  float minimum, maximum;  // of the finite elements; minimum > maximum when there is none
  float extreme;           // the one of largest magnitude, with its sign
  uint32_t flags;
};
static_assert(sizeof(Cell) == 16);

// Flags say what the kernel's elements are. A picture of the reference, where it has numbers, keeps none but "failing":
// what the kernel left unwritten, or made NaN, has a value there.
inline void keep_flags_of_reference(std::span<Cell> cells) {
  for (Cell& c : cells)
    if (c.minimum <= c.maximum) c.flags &= flag_failing;
}

// A window of the result in element coordinates, cut into width × height cells. Where a cell is larger than an element,
// the cells share the elements out with none left over; where it is smaller, a cell is the element under its centre.
// Where a cell is much larger, borders between cells stand on the borders of the pyramid's blocks (the largest that are
// at most half a cell), so up to a quarter of a cell from where they would be: otherwise the few elements on either
// side of each border would cost more than all the rest.
struct TileRequest {
  Quantity quantity = Quantity::output;
  double row0 = 0, row1 = 1, column0 = 0, column1 = 1;
  int width = 1, height = 1;
};

class Pyramid {
 public:
  // Summaries of blocks of 16^a rows × 8^b columns, for every a and b. Takes about 7 bytes an element. Of a result of
  // at most `small` elements there are blocks of columns alone: all its rows are read sooner than more blocks are made.
  static constexpr int64_t small_result = int64_t{1} << 21;
  Pyramid(const ResultTensors& result, Activity* activity, int64_t small = small_result);

  // Row-major cells. The request must be within 0…rows × 0…columns, at most 4096 × 4096 cells.
  std::vector<Cell> tile(const TileRequest& r) const;

  // The next failing element after (row, column) in row-major order, or before it; nothing when there is none.
  struct Place {
    int64_t row, column;
  };
  std::optional<Place> next_failing(Place from, bool forward) const;

  size_t bytes() const;
  static size_t predicted_bytes(int64_t rows, int64_t columns, int64_t small = small_result);

 private:
  static constexpr int64_t row_factor = 16, column_factor = 8;
  struct Range {
    float low, high;
  };
  struct Level {
    int64_t rows = 0, columns = 0;
    HostBytes range[4];  // of Range, by quantity
    HostBytes flags;     // of uint8_t
  };
  // Blocks of one level, one after the other: a part of a cell's extent along one axis.
  struct Run {
    int level;
    int64_t first, count;
  };
  struct Axis {
    std::vector<Run> runs;
    std::vector<size_t> begin;  // of each cell's runs; one more than there are cells
  };

  const Level& level(int a, int b) const { return levels_[static_cast<size_t>(a * column_levels_ + b)]; }
  Level& level(int a, int b) { return levels_[static_cast<size_t>(a * column_levels_ + b)]; }
  void build_from_elements(Level& to, bool by_rows, Activity* activity);
  void build_from_level(const Level& from, Level& to, bool by_rows);
  static void cover(int64_t from, int64_t to, int64_t factor, int levels, std::vector<Run>& out);
  static Axis cut(double from, double to, int cells, int64_t limit, int64_t factor, int levels);
  void add_row(Quantity q, int level, int64_t index, const Axis& columns, Cell* line) const;
  void add_elements(Quantity q, int64_t row, int64_t first, int64_t count, Cell& c) const;
  Range element_range(Quantity q, int64_t e) const;
  uint8_t flags_of(int a, int b, int64_t row, int64_t column) const;

  const ResultTensors& result_;
  int row_levels_ = 1, column_levels_ = 1;
  std::vector<Level> levels_;  // [row level][column level]; (0, 0) are the elements themselves and stays empty
};

}  // namespace convscope
