// Curves of a series in a plot, and the marks along its lower edge. All between BeginPlot and EndPlot.
#pragma once
#include "app/ui/panels/lines_series.h"
#include "app/ui/theme.h"

namespace convscope::ui {

struct Stroke {
  ImVec4 colour;
  float weight;       // of the line while a cell is one element
  float marker_size;  // of filled circles; negative: of hollow ones
  float fill, edge;   // opacity of the band and of its borders where a cell covers several
};
void plot_series(const Series& s, int row, const char* label, const Stroke& stroke);
// Where elements fail, and above that where nothing was written.
void plot_marks(const Theme& t, const Series& s, int row, float alpha = 1);
void plot_vertical(const char* id, double x, const ImVec4& colour, float weight);
// 12 345; a formatter of ImPlot.
int position_label(double value, char* out, int size, void*);

}  // namespace convscope::ui
