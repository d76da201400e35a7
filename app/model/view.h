// What part of a result is looked at. Views have their own back and forward; undo does not touch them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "app/model/colour_range.h"

namespace convscope {

struct ElementIndex {
  int64_t row = 0, column = 0;  // row: n·Cout + co
  bool operator==(const ElementIndex&) const = default;
};

struct View {
  // The window of all maps, in elements; empty (0, 0): everything.
  double row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  std::optional<ElementIndex> selected;
  bool show_classes = false;        // polyphase classes and structural zeros over the maps
  bool difference_is_ratio = true;  // third map: error/bound, or signed error
  bool from_input = false;          // Explain draws what one input sends, instead of what one output takes
  OwnColours colours;               // ranges of the maps' colours that somebody has set
  bool operator==(const View&) const = default;
  bool whole() const { return row1 <= row0 || column1 <= column0; }
};

// Moves and zooms keep within the result and never beyond one cell a pixel square.
struct Extent {
  double rows = 1, columns = 1;
};
View fitted(View v, Extent e);
// Zooms by a factor (> 1: closer) around a point given as fractions of the window.
View zoomed(const View& v, Extent e, double factor_rows, double factor_columns, double at_row, double at_column);
View moved(const View& v, Extent e, double rows, double columns);
// Brings an element into the window, close enough to read its number.
View focused(const View& v, Extent e, ElementIndex at, double rows_shown, double columns_shown);

// Elements of an axis that are named along a window from…to: multiples of 1, 2 or 5 times a power of ten, at least
// `apart` elements from each other, of which the window shows the middle.
std::vector<int64_t> axis_ticks(double from, double to, double apart);
// The same of rows n·channels + co: they begin anew with every sequence; where that is too near, whole sequences.
std::vector<int64_t> row_ticks(double from, double to, double apart, int64_t channels);

class ViewHistory {
 public:
  const View& now() const { return views_[at_]; }
  // keep: a new place to come back to; else the present one is adjusted (while dragging).
  void set(const View& v, bool keep) {
    if (v == now()) return;
    if (!keep) {
      views_[at_] = v;
      return;
    }
    views_.resize(at_ + 1);
    views_.push_back(v);
    if (views_.size() > 200) views_.erase(views_.begin());
    at_ = views_.size() - 1;
  }
  bool back() { return at_ > 0 && (at_--, true); }
  bool forward() { return at_ + 1 < views_.size() && (at_++, true); }
  bool can_back() const { return at_ > 0; }
  bool can_forward() const { return at_ + 1 < views_.size(); }

 private:
  std::vector<View> views_{View{}};
  size_t at_ = 0;
};

}  // namespace convscope
