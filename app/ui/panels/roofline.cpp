// How fast this problem could run, and where the kernel, the references and earlier profiles stand below that.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/model/roof.h"
#include "app/ui/panel.h"
#include "app/ui/panels/follow_profile.h"
#include "app/ui/panels/plots.h"
#include "app/ui/panels/roof_marks.h"
#include "app/ui/panels/roof_places.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

std::string three_digits(double v) { return fmt::format("{:.{}f}", v, v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2); }
std::string rate_text(double gflops) {
  return gflops >= 999.5 ? three_digits(gflops / 1000) + " TFLOP/s" : three_digits(gflops) + " GFLOP/s";
}
std::string bandwidth_text(double gbs) {
  return gbs >= 999.5 ? three_digits(gbs / 1000) + " TB/s" : three_digits(gbs) + " GB/s";
}
std::string share_text(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

// ---- the plot -------------------------------------------------------------------------------------------------------

struct Extents {
  double x0, x1, y0, y1;
};

Extents extents_of(const Roof& roof, const RoofPoints& all, double problem) {
  const double top = roof.flats.back().gflops;
  double low = problem / 8, high = std::max(problem * 4, top / roof.memory_gbs * 3), bottom = top / 1e3;
  for (const auto& p : all.points)
    low = std::min(low, p.intensity / 2), high = std::max(high, p.intensity * 2), bottom = std::min(bottom, p.gflops);
  // Beyond the last decade there is room for its number.
  return {std::floor(std::log10(std::max(low, 1e-6))), std::ceil(std::log10(high)) + 0.12,
          std::floor(std::log10(std::max(bottom, 1e-6)) - 0.05) - 0.15, std::log10(top) + 0.35};
}

// A slanted ceiling: so many bytes a second, whatever the operations.
struct Slant {
  double gbs;
  const char* name;
  const char* field;
  ImVec4 colour;
  float weight;
};

std::vector<Slant> slants_of(const Theme& t, const Roof& roof) {
  std::vector<Slant> all{{roof.memory_gbs, "memory", "memory_gbs", t.floor, 2}};
  if (roof.l2_gbs > 0) all.push_back({roof.l2_gbs, "L2 cache", "l2_gbs", t.dim, 1});
  if (roof.shared_gbs > 0) all.push_back({roof.shared_gbs, "shared memory", "shared_gbs", t.dim, 1});
  return all;
}

std::string flat_name(const Roof::Flat& flat) { return fmt::format("{} {}", flat.name, rate_text(flat.gflops)); }

// The name of a flat ceiling: at its right end or further left, above the line or below it, where nothing stands.
// False: there is no such place.
bool name_flat(const Theme& t, const Roof& roof, const Roof::Flat& flat, const Extents& e, Taken& taken) {
  const std::string text = flat_name(flat);
  const double height = std::log10(flat.gflops), knee = std::log10(flat.gflops / roof.memory_gbs);
  const ImVec2 size = ImGui::CalcTextSize(text.c_str()), end = ImPlot::PlotToPixels(e.x1, height);
  const float least = std::min(ImPlot::PlotToPixels(std::max(knee, e.x0), height).x, end.x - size.x - t.em * 2);
  for (float left = end.x - size.x - t.em * 0.4f; left >= std::max(least, ImPlot::GetPlotPos().x); left -= t.em * 0.5f)
    for (float y : {end.y - size.y - 2, end.y + 2})
      if (y >= ImPlot::GetPlotPos().y && taken.free({left, y}, size)) {
        taken.take({left, y}, size);
        ImDrawList* draw = ImPlot::GetPlotDrawList();
        draw->AddRectFilled({left - t.em * 0.2f, y}, {left + size.x + t.em * 0.2f, y + size.y},
                            packed(t.background, 0.9f), t.em * 0.2f);
        draw->AddText({left, y}, packed(flat.allowed ? t.text : t.dim), text.c_str());
        return true;
      }
  return false;
}

std::string slant_name(const Slant& s) { return fmt::format("{} {}", s.name, bandwidth_text(s.gbs)); }

void draw_ceilings(const Theme& t, const Roof& roof, const Extents& e) {
  const double top = roof.flats.back().gflops;
  int n = 0;
  for (const auto& flat : roof.flats) {
    const double knee = std::log10(flat.gflops / roof.memory_gbs), height = std::log10(flat.gflops);
    const double xs[] = {std::max(knee, e.x0), e.x1}, ys[] = {height, height};
    ImPlot::PlotLine(fmt::format("##flat{}", n++).c_str(), xs, ys, 2, plots::line(t.floor, flat.allowed ? 2.5f : 1.2f));
  }
  for (const auto& s : slants_of(t, roof)) {
    const double knee = std::min(std::log10(top / s.gbs), e.x1), xs[] = {e.x0, knee},
                 ys[] = {e.x0 + std::log10(s.gbs), knee + std::log10(s.gbs)};
    if (knee > e.x0) ImPlot::PlotLine(fmt::format("##{}", s.name).c_str(), xs, ys, 2, plots::line(s.colour, s.weight));
  }
}

// Ceilings whose names have no room in the plot: they stand in its legend.
struct Nameless {
  std::vector<Slant> slants;
  std::vector<Roof::Flat> flats;
};

// The names of all ceilings, over their lines, where there is room.
Nameless name_ceilings(const Theme& t, const Roof& roof, const Extents& e, Taken& taken) {
  const double top = roof.flats.back().gflops;
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  Nameless nameless;
  ImPlot::PushPlotClipRect();
  for (const auto& flat : roof.flats)
    if (!name_flat(t, roof, flat, e, taken)) nameless.flats.push_back(flat);
  double below = 0;  // the ceiling under this one
  for (const auto& s : slants_of(t, roof)) {
    // In a small plot they are so near to each other that one name has room.
    const bool room = below <= 0 || (ImPlot::PlotToPixels(0, std::log10(below)).y -
                                     ImPlot::PlotToPixels(0, std::log10(s.gbs)).y) > 0.9f * t.em;
    below = s.gbs;
    const double knee = std::min(std::log10(top / s.gbs), e.x1);
    if (knee <= e.x0) continue;  // no part of it is seen
    // From where the line comes into the plot, as far as nothing stands in its way.
    const double begin = std::max(e.x0, e.y0 - std::log10(s.gbs));
    const ImVec2 low = ImPlot::PlotToPixels(begin, begin + std::log10(s.gbs)),
                 high = ImPlot::PlotToPixels(knee, knee + std::log10(s.gbs));
    const float angle = std::atan2(high.y - low.y, high.x - low.x), c = std::cos(angle), up = std::sin(angle),
                length = std::hypot(high.x - low.x, high.y - low.y);
    const ImVec2 size = ImGui::CalcTextSize(slant_name(s).c_str());
    // Text that is turned takes squares along its line.
    auto squares = [&](float from, auto each) {
      for (float at = from + size.y / 2; at < from + size.x + size.y / 2; at += size.y)
        if (!each(ImVec2{low.x + at * c + size.y * 0.55f * up - size.y / 2,
                         low.y + at * up - size.y * 0.55f * c - size.y / 2}))
          return false;
      return true;
    };
    bool named = false;
    for (float from = t.em; room && !named && from + size.x + t.em <= length; from += t.em * 0.5f) {
      // Turned, it stands to the left of where it begins.
      named = low.x + from * c + 1.05f * size.y * up >= ImPlot::GetPlotPos().x && squares(from, [&](ImVec2 corner) {
                return taken.free(corner, {size.y, size.y});
              });
      if (!named) continue;
      squares(from, [&](ImVec2 corner) { return taken.take(corner, {size.y, size.y}), true; });
      text_along(draw, {low.x + from * c, low.y + from * up}, angle, packed(s.weight > 1 ? t.text : t.dim),
                 packed(t.background, 0.9f), slant_name(s));
    }
    if (!named) nameless.slants.push_back(s);
  }
  ImPlot::PopPlotClipRect();
  return nameless;
}

ImVec2 place_of(const RoofPoint& p) { return ImPlot::PlotToPixels(std::log10(p.intensity), std::log10(p.gflops)); }

void draw_points(const Theme& t, const RoofPoints& all, Taken& taken, Taken& lines) {
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  auto faded = [&](size_t step) {
    const size_t steps = std::max<size_t>(2, all.trail.size());
    return 0.25f + 0.6f * static_cast<float>(step) / static_cast<float>(steps - 1);
  };
  auto join = [&](const RoofPoint& a, const RoofPoint& b, ImU32 colour) {
    draw->AddLine(place_of(a), place_of(b), colour, std::max(1.0f, t.em * 0.09f));
    take_line(place_of(a), place_of(b), t.em, lines);
  };
  for (size_t i = 1; i < all.trail.size(); i++)
    join(all.points[all.trail[i - 1]], all.points[all.trail[i]], packed(t.text, faded(i)));
  for (const auto& [a, b] : all.joined)
    join(all.points[a], all.points[b], packed(mark_of(t, all.points[a]).colour, 0.8f));
  for (size_t i = 0; i < all.points.size(); i++) {
    const RoofPoint& p = all.points[i];
    float alpha = p.of == RoofPoint::Of::other ? 0.8f : 1;
    if (p.of == RoofPoint::Of::earlier)
      if (auto it = std::find(all.trail.begin(), all.trail.end(), i); it != all.trail.end())
        alpha = faded(static_cast<size_t>(it - all.trail.begin()));
    const Mark mark = mark_of(t, p);
    const ImVec2 at = place_of(p);
    draw_mark(draw, at, mark, t.em, t.background, alpha);
    const float radius = mark.size * t.em;
    taken.take({at.x - radius, at.y - radius}, {2 * radius, 2 * radius});
  }
  ImPlot::PopPlotClipRect();
}

// The kernel's own name, whatever is in its way, or those of the references, where they meet nothing else.
void name_points(const Theme& t, const Roof& roof, const RoofPoints& all, Taken& taken, const Taken& lines,
                 bool references) {
  ImDrawList* draw = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  auto on_a_line = [&](ImVec2 corner, ImVec2 size) {
    return std::any_of(roof.flats.begin(), roof.flats.end(), [&](const Roof::Flat& flat) {
      const float line = ImPlot::PlotToPixels(0, std::log10(flat.gflops)).y;
      return line > corner.y && line < corner.y + size.y;
    });
  };
  auto name = [&](const RoofPoint& p, bool always) {
    if (p.bytes != RoofPoint::Bytes::least || p.cold) return;
    const ImVec2 size = ImGui::CalcTextSize(p.name.c_str()), at = place_of(p);
    const ImVec2 low = ImPlot::GetPlotPos(), room = ImPlot::GetPlotSize();
    const float right = at.x + t.em * 0.7f, left = at.x - t.em * 0.7f - size.x;
    auto write = [&](ImVec2 corner) {
      taken.take(corner, size);
      draw->AddRectFilled({corner.x - t.em * 0.1f, corner.y}, {corner.x + size.x + t.em * 0.1f, corner.y + size.y},
                          packed(t.background, 0.95f), t.em * 0.2f);
      draw->AddText(corner, packed(mark_of(t, p).colour), p.name.c_str());
    };
    // Beside the point, or further away at the end of a line to it; on another line where there is no other place.
    for (bool over_lines : {false, true})
      for (float away : {0.0f, 1.1f, 2.2f})
        for (float y : {at.y - size.y / 2, at.y + t.em * 0.3f, at.y - size.y - t.em * 0.3f})
          for (float x : {right + away * t.em, left - away * t.em}) {
            const float turned = away > 0 ? y + (y > at.y - size.y / 2   ? 1
                                                 : y < at.y - size.y / 2 ? -1
                                                                         : 0) *
                                                    away * t.em
                                          : y;
            if (x < low.x || x + size.x > low.x + room.x || turned < low.y || turned + size.y > low.y + room.y)
              continue;
            const ImVec2 corner{x, turned};
            if (!taken.free(corner, size)) continue;
            if (!over_lines && (on_a_line(corner, size) || !lines.free(corner, size))) continue;
            if (away > 0)
              draw->AddLine(at, {x > at.x ? x : x + size.x, turned + size.y / 2}, packed(mark_of(t, p).colour, 0.6f),
                            1);
            return write(corner);
          }
    if (!always) return;
    const float x = right + size.x <= low.x + room.x ? right : std::max(left, low.x);
    write({x, std::clamp(at.y + t.em * 0.6f, low.y, low.y + room.y - size.y)});
  };
  if (!references && all.own) name(all.points[*all.own], true);
  for (const auto& p : all.points)
    if (references && p.of == RoofPoint::Of::reference) name(p, false);
  ImPlot::PopPlotClipRect();
}

std::string looser_words(const RoofPoint& p) {
  return p.name + " may use less accurate arithmetic than was asked for: no share of this roof";
}

// Where a point's own arithmetic has a lower ceiling than the document's.
std::string own_roof(const Roof& roof, const RoofPoint& p) {
  if (p.looser || roof.peak(p.promised) >= roof.peak()) return "";
  return fmt::format(" its own arithmetic ({}, at most {})", name_of(p.promised), rate_text(roof.peak(p.promised)));
}

void about_point(const Roof& roof, const RoofPoint& p) {
  ImGui::Text("%s, %s", p.name.c_str(), place_words(p).c_str());
  ImGui::Text("%s in %s, at %.4g FLOP a byte", rate_text(p.gflops).c_str(), time_text(p.ms).c_str(), p.intensity);
  if (auto share = reached(roof, p))
    ImGui::Text("%s of what %s allows there%s", share_text(*share).c_str(),
                p.bytes == RoofPoint::Bytes::l2 ? "the L2 cache" : "the roof", own_roof(roof, p).c_str());
  else if (p.looser)
    ImGui::TextUnformatted(looser_words(p).c_str());
  if (p.packs == true)
    ImGui::TextUnformatted("The time is of its whole plan, which packs weights in each call.");
  else if (!p.packs)
    ImGui::TextUnformatted("The time is of its whole plan: whether that packs weights was not recorded.");
  const char* what = p.bytes == RoofPoint::Bytes::least ? "Exact operations over least bytes: x, w and b once, y once."
                     : p.bytes == RoofPoint::Bytes::dram
                         ? "Exact operations over the bytes that went to the GPU's memory and came from it."
                         : "Exact operations over 32 bytes a sector that went through the L2 cache.";
  ImGui::TextDisabled("%s\nsource: %s", what, p.source.c_str());
}

void about_ceiling(const Roof& roof, const Slant& s) {
  ImGui::Text("%s: %s", s.name, bandwidth_text(s.gbs).c_str());
  if (s.gbs != roof.memory_gbs)
    ImGui::TextDisabled(
        "For bytes that are counted there, not in the GPU's memory: a kernel stands to the left of its "
        "other points by as much as more goes through it.");
  const std::string how = roof.how(s.field);
  ImGui::TextDisabled("source: %s, %s%s%s", roof.gpu.c_str(), roof.source.c_str(), how.empty() ? "" : ", by ",
                      how.c_str());
}

// What lies under the pointer: a point, a slanted ceiling, or the roof at that place.
void hover(Frame& f, const Roof& roof, const RoofPoints& all) {
  const Theme& t = f.theme;
  ImPlotPoint p;
  if (!plots::pointed(p) || !ImGui::BeginTooltip()) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const RoofPoint* near = nullptr;
  float nearest = t.em * 0.8f;
  for (const auto& each : all.points) {
    const ImVec2 at = place_of(each);
    if (float d = std::hypot(at.x - mouse.x, at.y - mouse.y); d < nearest) nearest = d, near = &each;
  }
  ImGui::PushTextWrapPos(t.em * 26);
  const Slant* slant = nullptr;
  const auto slants = slants_of(t, roof);
  for (const auto& s : slants)
    if (p.x + std::log10(s.gbs) < std::log10(roof.flats.back().gflops) &&
        std::abs(ImPlot::PlotToPixels(p.x, p.x + std::log10(s.gbs)).y - mouse.y) < t.em * 0.5f)
      slant = &s;
  if (near) {
    about_point(roof, *near);
  } else if (slant) {
    about_ceiling(roof, *slant);
  } else {
    const double i = std::pow(10.0, p.x);
    ImGui::Text("at %.3g FLOP a byte the roof allows %s", i, rate_text(roof.allowed(i)).c_str());
    ImGui::TextDisabled("min(peak, bytes a second × FLOP a byte); source: %s, %s", roof.gpu.c_str(),
                        roof.source.c_str());
  }
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

std::string roofline_csv(const Roof& roof, const RoofPoints& all) {
  std::string out = "name,flop_per_byte,gflops,source,cache,bytes,ms,of_the_roof,packing\n";
  for (const auto& flat : roof.flats)
    out += fmt::format("roof {},,{:.9g},\"{}\",,,,,\n", flat.name, flat.gflops, roof.source);
  auto slant = [&](const char* name, double gbs) {
    if (gbs > 0) out += fmt::format("roof {} GB/s,,{:.9g},\"{}\",,,,,\n", name, gbs, roof.source);
  };
  slant("memory", roof.memory_gbs), slant("L2 cache", roof.l2_gbs), slant("shared memory", roof.shared_gbs);
  constexpr const char* bytes[] = {"least", "dram", "l2"};
  for (const auto& p : all.points) {
    const auto share = reached(roof, p);
    out += fmt::format("{},{:.9g},{:.9g},\"{}\",{},{},{:.9g},{},{}\n", p.name, p.intensity, p.gflops, p.source,
                       p.cold ? "cold" : "hot", bytes[static_cast<int>(p.bytes)], p.ms,
                       share ? fmt::format("{:.6g}", *share) : "",
                       !p.packs   ? "not recorded"
                       : *p.packs ? "included"
                                  : "none");
  }
  return out;
}

// Returns the ceilings whose names have no room in it.
Nameless plot(Frame& f, const Roof& roof, const RoofPoints& all, double problem, float height) {
  const Theme& t = f.theme;
  const Extents e = extents_of(roof, all, problem);
  const ImVec2 size{ImGui::GetContentRegionAvail().x, height};
  if (!ImPlot::BeginPlot("##roofline", size, plots::fixed)) return {};
  ImPlot::SetupAxes("FLOP a byte", "FLOP/s", plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(e.x0, e.x1, e.y0, e.y1, ImPlotCond_Always);
  plots::decades(ImAxis_X1, static_cast<int>(e.x0), static_cast<int>(e.x1), size.x - t.em * 5);
  plots::decades(ImAxis_Y1, static_cast<int>(std::floor(e.y0)), static_cast<int>(std::ceil(e.y1)), size.y - t.em * 3,
                 plots::giga_text);
  plots::mark_x("##problem", std::log10(problem), {t.accent.x, t.accent.y, t.accent.z, 0.6f});
  draw_ceilings(t, roof, e);
  ImPlot::PushPlotClipRect();
  draw_mark(ImPlot::GetPlotDrawList(), ImPlot::PlotToPixels(std::log10(problem), std::log10(roof.allowed(problem))),
            {Mark::Shape::cross, t.floor, true, 0.3f}, t.em, t.background);
  ImPlot::PopPlotClipRect();
  // All names over all marks, the most important one first.
  Taken taken, lines;
  draw_points(t, all, taken, lines);
  name_points(t, roof, all, taken, lines, false);
  auto nameless = name_ceilings(t, roof, e, taken);
  name_points(t, roof, all, taken, lines, true);
  hover(f, roof, all);
  ImPlot::EndPlot();
  copy_menu(f, "copy-roofline", [&] { return roofline_csv(roof, all); });
  return nameless;
}

// ---- beside the plot ------------------------------------------------------------------------------------------------

void legend(Frame& f, const RoofPoints& all, const Nameless& nameless) {
  const Theme& t = f.theme;
  using Of = RoofPoint::Of;
  using Bytes = RoofPoint::Bytes;
  struct Entry {
    Mark mark;
    std::string words, about;
  };
  std::vector<Entry> entries;
  auto has = [&](Of of, Bytes bytes, bool cold) {
    return std::any_of(all.points.begin(), all.points.end(),
                       [&](const RoofPoint& p) { return p.of == of && p.bytes == bytes && p.cold == cold; });
  };
  auto add = [&](Of of, Bytes bytes, bool cold, const char* words, const char* about) {
    if (!has(of, bytes, cold)) return;
    RoofPoint like;
    like.of = of, like.bytes = bytes, like.cold = cold;
    entries.push_back({mark_of(t, like), words, about});
  };
  add(Of::kernel, Bytes::least, false, "this kernel, hot", "By the least bytes that must move, data in the cache");
  add(Of::kernel, Bytes::least, true, "cold", "With the L2 cache flushed before each sample");
  add(Of::kernel, Bytes::dram, false, "by bytes of DRAM", "The same time, by the bytes that moved, as counted");
  add(Of::kernel, Bytes::l2, false, "by bytes of L2", "The same time, by what went through the L2 cache, as counted");
  add(Of::reference, Bytes::least, false, "references", "What is not ours, on the same problem and GPU");
  add(Of::reference, Bytes::dram, false, "references, by bytes of DRAM", "As counted in their profiles");
  if (has(Of::other, Bytes::least, false))
    add(Of::other, Bytes::least, false, "other kernels", "Of the same recording, hot, by the least bytes");
  add(Of::other, Bytes::dram, false, "other kernels, by bytes of DRAM", "As counted in their profiles");
  add(Of::earlier, Bytes::least, false, "earlier profiles", "Of this window, on the same problem, faded with age");
  add(Of::earlier, Bytes::dram, false, "earlier profiles, by bytes of DRAM",
      "Of this window, on the same problem, faded with age");
  if (all.trail.size() > 1) entries.push_back({{Mark::Shape::line, t.text, true, 0.5f}, all.trail_words, ""});
  entries.push_back({{Mark::Shape::cross, t.floor, true, 0.3f}, "what the roof allows this problem", ""});
  // Thin ones alike, in the order in which they lie.
  std::string thin;
  for (const auto& n : nameless.slants)
    if (n.weight > 1)
      entries.push_back({{Mark::Shape::line, n.colour, true, 0.5f}, slant_name(n), ""});
    else
      thin += (thin.empty() ? "" : ", above it ") + slant_name(n);
  if (!thin.empty()) entries.push_back({{Mark::Shape::line, t.dim, true, 0.5f}, thin, "Ceilings of these bytes"});
  for (const auto& n : nameless.flats)
    entries.push_back({{Mark::Shape::line, t.floor, true, 0.5f}, flat_name(n), "What this arithmetic allows"});
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  bool first = true;
  for (const auto& e : entries) {
    const float width = t.em * 1.4f + ImGui::CalcTextSize(e.words.c_str()).x;
    if (!first && ImGui::GetItemRectMax().x + t.em + width <= right) ImGui::SameLine(0, t.em);
    first = false;
    ImGui::BeginGroup();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_mark(ImGui::GetWindowDrawList(), {at.x + t.em * 0.55f, at.y + ImGui::GetTextLineHeight() / 2}, e.mark, t.em,
              t.panel);
    ImGui::Dummy({t.em * 1.4f, ImGui::GetTextLineHeight()});
    ImGui::SameLine(0, 0);
    dim_text(t, e.words);
    ImGui::EndGroup();
    tooltip(t, e.about);
  }
}

// The kernel's and the references' points as figures.
void figures_table(Frame& f, const Roof& roof, const RoofPoints& all) {
  const Theme& t = f.theme;
  const float room = ImGui::GetContentRegionAvail().x;
  const bool wide = room > t.em * 34;
  if (!ImGui::BeginTable("points", wide ? 5 : 3,
                         ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings))
    return;
  ImGui::TableSetupColumn("point", ImGuiTableColumnFlags_WidthStretch, 2.8f);
  if (wide) ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthStretch, 1);
  if (wide) ImGui::TableSetupColumn("intensity", ImGuiTableColumnFlags_WidthStretch, 1.2f);
  ImGui::TableSetupColumn("rate", ImGuiTableColumnFlags_WidthStretch, 1.3f);
  ImGui::TableSetupColumn("share", ImGuiTableColumnFlags_WidthStretch, 1);
  auto head = [&](const char* text, const char* about) {
    ImGui::TableNextColumn();
    right_aligned(text, t.dim);
    tooltip(t, about);
  };
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (wide) head("time", "Median"), head("FLOP a byte", "Exact operations over the bytes that the row names");
  head("FLOP/s", "Exact operations over the time");
  head("of its roof",
       "Of what the roof of its own arithmetic allows at this intensity; bytes of L2: of what the L2 cache allows. The "
       "floor of the other panels is that of the accuracy that is asked for, the same for every kernel.");
  auto cell = [&](const std::string& text) {
    ImGui::TableNextColumn();
    right_aligned(text, t.text);
  };
  auto row = [&](const RoofPoint& p) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, mark_of(t, p).colour);
    ImGui::TextUnformatted(p.name.c_str());
    ImGui::PopStyleColor();
    ImGui::SameLine(0, t.em * 0.4f);
    const std::string place = place_words(p);
    ImGui::TextDisabled("%s", text_within(place, ImGui::GetContentRegionAvail().x).c_str());
    const std::string own = own_roof(roof, p);
    tooltip(t, p.name + " " + place + "\n" +
                   (p.looser      ? looser_words(p) + ".\n"
                    : own.empty() ? ""
                                  : "of the roof of" + own + "\n") +
                   "source: " + p.source);
    ImGui::PushFont(t.code_font, 0);
    if (wide) cell(time_text(p.ms)), cell(fmt::format("{:.4g}", p.intensity));
    cell(rate_text(p.gflops));
    const auto share = reached(roof, p);
    cell(share ? share_text(*share) : "–");
    ImGui::PopFont();
  };
  for (auto of : {RoofPoint::Of::kernel, RoofPoint::Of::reference})
    for (bool cold : {false, true})
      for (const auto& p : all.points)
        if (p.of == of && p.cold == cold) row(p);
  ImGui::EndTable();
}

}  // namespace

void draw_roofline(Frame& f) {
  const Theme& t = f.theme;
  const Report* r = f.report();
  if (!r) {
    if (empty_state(t, "No roof yet", "Run a kernel: the problem's place under the roof follows from it.", "Run"))
      f.act("run");
    return;
  }
  if (!f.bench.profile_of(f.document) && waits_for_a_person(f, r, "Nothing to place under the roof yet")) return;
  follow_with_profile(f);
  source_strip(f, r->recorded, r);
  const Roof roof = roof_of(f.bench, f.document, *r);
  if (!roof.known() || r->flops <= 0 || r->least_bytes <= 0) {
    empty_state(t, "No roof",
                r->least_bytes <= 0 ? r->sentence.c_str()  // nothing came of the run
                : r->flops <= 0     ? "No tap lands in this output: there is no arithmetic to draw."
                                    : "The peaks of this GPU are not known.");
    return;
  }
  const double problem = r->flops / r->least_bytes;
  std::string limit = "memory";
  if (!roof.by_bytes(problem))
    for (const auto& flat : roof.flats)
      if (flat.allowed) limit = "arithmetic (" + flat.name + ")";
  wrapped(
      fmt::format("{:.3g} FLOP a byte: at most {}, limited by {}", problem, rate_text(roof.allowed(problem)), limit));
  tooltip(
      t, "Exact operations over least bytes: x, w and b read once, y written once.\nsource: computed from the problem");
  const RoofPoints all = roof_points(f.bench, f.document, *r);
  size_t rows = 0;
  for (const auto& p : all.points) rows += p.of == RoofPoint::Of::kernel || p.of == RoofPoint::Of::reference;
  const float below = ImGui::GetTextLineHeightWithSpacing() * static_cast<float>(7 + rows + all.missing.size());
  // The picture first: what is below it can be scrolled to.
  const float room = ImGui::GetContentRegionAvail().y, least = std::clamp(room * 0.6f, t.em * 14, t.em * 26);
  const auto nameless = plot(f, roof, all, problem, std::clamp(room - below, least, t.em * 34));
  legend(f, all, nameless);
  if (all.own) {
    const RoofPoint& own = all.points[*all.own];
    const auto share = reached(roof, own);
    wrapped(fmt::format("{} reaches {}{}: {}", own.name, rate_text(own.gflops),
                        own.packs == true ? ", packing included" : "",
                        share ? share_text(*share) + " of what the roof allows" : looser_words(own)));
  }
  if (rows) figures_table(f, roof, all);
  dim_text(t, fmt::format("roof: {}, {}", roof.gpu, roof.source));
  std::string facts;
  for (const auto& fact : roof.facts) facts += (facts.empty() ? "" : "\n") + fact;
  tooltip(t, facts);
  if (roof.shared_gbs <= 0)
    dim_text(t, "no ceilings of L2 and shared memory: they are measured, and datasheets have none");
  for (const auto& m : all.missing) dim_text(t, m);
  if (all.points.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    const std::string& why = r->timing.reason.empty() ? r->sentence : r->timing.reason;
    wrapped("No kernel under it: " + (r->device_kind == "emulator" ? "emulated time is no point under a GPU's roof."
                                      : why.empty()                ? "there is no time to place."
                                                                   : why + "."));
    ImGui::PopStyleColor();
  }
}

}  // namespace convscope::ui
