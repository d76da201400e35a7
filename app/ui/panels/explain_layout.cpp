#include "app/ui/panels/explain_layout.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>

#include "app/ui/panels/explain_guess.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {
namespace {

void add_around(std::vector<int64_t>& to, int64_t at, int64_t reach, int64_t limit) {
  for (int64_t i = at - reach; i <= at + reach; i++)
    if (i >= 0 && i < limit) to.push_back(i);
}

}  // namespace

void Strip::set(std::vector<int64_t> wanted, float cell_width, float gap) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  // A gap is as wide as one or two cells: those are shown instead.
  positions.clear();
  for (int64_t i : wanted) {
    if (!positions.empty() && i - positions.back() <= 3)
      while (positions.back() + 1 < i) positions.push_back(positions.back() + 1);
    positions.push_back(i);
  }
  cell = cell_width;
  left.clear();
  width = gap;
  for (size_t i = 0; i < positions.size(); i++) {
    if (i && positions[i] != positions[i - 1] + 1) width += gap;
    left.push_back(width);
    width += cell;
  }
  width += gap;
}

std::optional<float> Strip::centre(double at) const {
  auto low = static_cast<int64_t>(std::floor(at));
  auto it = std::lower_bound(positions.begin(), positions.end(), low);
  if (it == positions.end() || *it != low) return {};
  auto i = static_cast<size_t>(it - positions.begin());
  float c = left[i] + cell / 2;
  if (at == std::floor(at)) return c;
  if (i + 1 == positions.size()) return {};
  return c + (left[i + 1] - left[i]) * static_cast<float>(at - std::floor(at));
}

std::vector<TapArrow> arrows_of(const TapPicture& picture) {
  const Explained& e = picture.of;
  std::vector<TapArrow> arrows;
  for (int t : picture.order) {
    const auto tap = static_cast<size_t>(t);
    const ExplainedTap& x = e.taps[tap];
    using Kind = TapArrow::Kind;
    if (x.beside_i)
      arrows.push_back({tap, Kind::taken, static_cast<double>(*x.beside_i)});
    else if (x.expected_i)
      arrows.push_back({tap, Kind::expected, static_cast<double>(*x.expected_i)});
    else
      arrows.push_back({tap, Kind::nowhere, tap_place(e.document.problem, e.j, x.k)});
    if (x.read_i && x.read_i != x.expected_i) arrows.push_back({tap, Kind::taken, static_cast<double>(*x.read_i)});
  }
  auto k = [&](const TapArrow& a) { return e.taps[a.tap].k; };
  std::stable_sort(arrows.begin(), arrows.end(), [&](const TapArrow& a, const TapArrow& b) {
    return a.place != b.place ? a.place < b.place : k(a) > k(b);
  });
  auto share = [](size_t i, size_t n) { return (static_cast<float>(i) + 0.5f) / static_cast<float>(n) - 0.5f; };
  for (size_t i = 0, j = 0; i < arrows.size(); i = j) {
    while (j < arrows.size() && arrows[j].place == arrows[i].place) j++;
    for (size_t a = i; a < j; a++) arrows[a].start = share(a - i, j - i), arrows[a].end = share(a, arrows.size());
  }
  return arrows;
}

std::string cell_value(const ValuesNear& values, int64_t position) {
  const auto known = values.at(position);
  if (!known) return "";
  const double v = *known;
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  std::string text;
  for (const int digits : {3, 2, 1})
    if (text = fmt::format("{:.{}g}", v, digits); text.size() <= 6) return text;
  return text;  // -1e-05
}

void make_layout(TapLayout& l, const TapPicture& picture, float em, float room) {
  const Explained& e = picture.of;
  const ConvProblem& p = e.document.problem;
  l.serial = picture.serial, l.direction = picture.direction, l.input = picture.input;
  l.em = em, l.room = room, l.asking = picture.guess && picture.guess->waits();
  l.taps.clear(), l.untapped.clear(), l.arrows.clear();
  std::vector<int64_t> inputs, outputs;
  const bool gather = picture.direction == Direction::gather;
  if (picture.guess) {
    const Range asked = asked_range({p, picture.direction, gather ? e.j : picture.input});
    for (int64_t at = asked.first; at <= asked.last; at++) (gather ? inputs : outputs).push_back(at);
  }
  if (l.asking) {
    if (gather)
      add_around(outputs, e.j, 2, p.out_length());
    else
      add_around(inputs, picture.input, 2, p.length);
  } else if (gather) {
    l.arrows = arrows_of(picture);
    for (int t : picture.order) {
      const ExplainedTap& tap = e.taps[static_cast<size_t>(t)];
      l.taps.push_back(tap.k);
      if (tap.expected_i) add_around(inputs, *tap.expected_i, 1, p.length);
      if (tap.read_i) add_around(inputs, *tap.read_i, 1, p.length);
      if (tap.beside_i) inputs.push_back(*tap.beside_i);
      double place = tap_place(p, e.j, tap.k);
      bool near = place > -3 && place < static_cast<double>(p.length + 2);
      if (near) {
        inputs.push_back(static_cast<int64_t>(std::floor(place)));
        inputs.push_back(static_cast<int64_t>(std::ceil(place)));
      }
    }
    if (inputs.empty())
      add_around(inputs, std::clamp<int64_t>((e.j + p.padding) / p.stride, 0, p.length - 1), 2, p.length);
    add_around(outputs, e.j, 3, p.out_length());
  } else {
    add_around(inputs, picture.input, 2, p.length);
    add_around(outputs, e.j, 1, p.out_length());
    for (int64_t k = 0; k < std::min(p.kernel_size, most_scatter_taps); k++) l.taps.push_back(k);
    for (int64_t k : l.taps) outputs.push_back(picture.input * p.stride - p.padding + k * p.dilation);
  }
  int64_t longest = 0;
  for (const auto* v : {&inputs, &outputs})
    for (int64_t i : *v) longest = std::max(longest, i < 0 ? -i * 10 : i);
  // Cells hold their number, where all fit also what stands there, and grow into what room there is.
  auto place = [&](float cell) { l.top.set(inputs, cell, em * 1.4f), l.bottom.set(outputs, cell, em * 1.4f); };
  auto room_for = [&](size_t characters) {
    return std::max(em * 2.1f, static_cast<float>(characters) * em * 0.55f + em * 0.7f);
  };
  float least = room_for(std::to_string(longest).size());
  place(least);
  size_t characters = 0;
  for (const auto& [strip, values] : {std::pair{&l.top, &e.near_x}, {&l.bottom, &e.near_y}})
    for (int64_t i : strip->positions) characters = std::max(characters, cell_value(*values, i).size());
  l.values = false;
  if (characters > 0) {
    const float wider = std::max(least, room_for(characters));
    place(wider);
    l.values = std::max(l.top.width, l.bottom.width) <= room;
    if (l.values)
      least = wider;
    else
      place(least);
  }
  auto most = static_cast<float>(std::max(l.top.positions.size(), l.bottom.positions.size()));
  float spare = room - std::max(l.top.width, l.bottom.width);
  if (spare > 0) place(std::max(least, std::min(em * 3.2f, least + std::floor(spare / most))));
  if (p.kernel_size <= most_scatter_taps && !l.asking)
    for (int64_t j : l.bottom.positions)
      if (j >= 0 && j < p.out_length() && taps_reaching(p, j) == 0) l.untapped.push_back(j);
}

}  // namespace convscope::ui
