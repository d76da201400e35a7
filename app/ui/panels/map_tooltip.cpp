#include "app/ui/panels/map_tooltip.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {

std::string words_of_bounds(const Cell& c, bool zeros, std::optional<double> pointed, const char* bound) {
  const auto low = static_cast<double>(c.minimum), high = static_cast<double>(c.maximum);
  const bool failing = c.flags & flag_failing, left_out = failing && pointed && !(*pointed <= high);
  std::string words = fmt::format("{} to {} {}", times_bound_text(low),
                                  failing && !(high > 1) ? "beyond" : times_bound_text(high), bound);
  // Right zeros are 0 of their bounds, and would be the least.
  if (left_out || (failing && zeros && low > 0)) words += "; where 0 is right, beyond any";
  return words;
}

// Of a cell that covers several elements, whose colour is that of one of them: how far all of them are apart.
static std::string words_of_cell(const Frame& f, ElementIndex at, std::optional<double> pointed) {
  const MapTile* tile = f.bench.pictures().tile(Pictures::Map::difference);
  if (!tile || tile->quantity != Quantity::ratio || tile->key != f.shown_key()) return "";
  const double rows = (tile->row1 - tile->row0) / tile->height, columns = (tile->column1 - tile->column0) / tile->width;
  const auto y = static_cast<int64_t>((static_cast<double>(at.row) + 0.5 - tile->row0) / rows),
             x = static_cast<int64_t>((static_cast<double>(at.column) + 0.5 - tile->column0) / columns);
  if (rows * columns < 1.5 || y < 0 || y >= tile->height || x < 0 || x >= tile->width) return "";
  const Cell& c = tile->cells[static_cast<size_t>(y * tile->width + x)];
  if (!(c.minimum <= c.maximum)) return "";
  const Report* r = f.picture();
  bool zeros = false;
  if (r && !r->document.problem.bias) {
    const auto from = static_cast<int64_t>(tile->column0 + static_cast<double>(x) * columns),
               to = static_cast<int64_t>(std::ceil(tile->column0 + static_cast<double>(x + 1) * columns));
    for (int64_t j = from; j < to && !zeros; j++) zeros = taps_reaching(r->document.problem, j) == 0;
  }
  return fmt::format("here a cell is {:.3g} × {:.3g} elements, {}", rows, columns,
                     words_of_bounds(c, zeros, pointed, f.beside() ? "the bounds" : "the bound"));
}

void element_tooltip(Frame& f, ElementIndex at) {
  const Report* r = f.picture();
  if (!r || !ImGui::BeginTooltip()) return;
  const ConvProblem& p = r->document.problem;
  ImGui::PushFont(f.theme.code_font, 0);
  ImGui::Text("n %lld   co %lld   j %lld", static_cast<long long>(at.row / p.out_channels),
              static_cast<long long>(at.row % p.out_channels), static_cast<long long>(at.column));
  const NumberBlock* h = f.bench.pictures().hover();
  const double* v = h && h->key == f.shown_key() ? h->at(at.row, at.column) : nullptr;
  if (v) {
    const Beside* other = f.beside();
    const std::string one = file_name(r->kernel), two = other ? file_name(other->with) : std::string(oracle_name);
    const int wide = std::max({10, static_cast<int>(one.size()), static_cast<int>(two.size())});
    ImGui::TextColored(f.theme.kernel, "%-*s %s", wide, one.c_str(), value_text(v[0]).c_str());
    ImGui::TextColored(f.theme.reference, "%-*s %s", wide, two.c_str(), value_text(v[1]).c_str());
    ImGui::Text("%-*s %s", wide, other ? "difference" : "error", value_text(v[2]).c_str());
    bool bad = !(v[3] <= 1);
    const char* words = other ? bad         ? "further apart than rounding explains"
                                : v[2] == 0 ? "the same"
                                            : "rounding"
                        : bad ? "failing"
                              : "within the bound";
    ImGui::TextColored(bad ? f.theme.wrong : f.theme.right, "%-*s %s %s", wide, other ? "|d|/bounds" : "|e|/bound",
                       times_bound_text(v[3]).c_str(), words);
  } else {
    ImGui::TextDisabled("reading values");
  }
  ImGui::PopFont();
  if (const std::string cell = words_of_cell(f, at, v ? std::optional(v[3]) : std::nullopt); !cell.empty())
    ImGui::TextDisabled("%s", cell.c_str());
  int64_t taps = taps_reaching(p, at.column);
  ImGui::TextDisabled("%s",
                      taps ? fmt::format("class (j + p) mod s = {}; {} tap{} it; click to explain",
                                         (at.column + p.padding) % p.stride, taps, taps == 1 ? " reaches" : "s reach")
                                 .c_str()
                      : p.bias ? "no tap reaches it, only the bias"
                               : "structural zero: no tap reaches it");
  ImGui::EndTooltip();
}

}  // namespace convscope::ui
