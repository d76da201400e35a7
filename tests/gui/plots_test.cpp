// Lines and error statistics.
#include <cmath>
#include <imgui_internal.h>

#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

ImRect plot(Gui& g, const std::string& ref) {
  auto i = g.item(ref);
  if (!i.ID) g.fail("no plot " + ref, "", 0);
  return i.RectFull;
}

// A part of the statistics: a tab where the panel is low, else it is there already.
void part(Gui& g, const char* name) {
  std::string tab = fmt::format("//Error statistics/parts/{}", name);
  if (g.exists(tab)) g.click(tab);
  g.frames(3);
  g.settle();
}

}  // namespace

SCENARIO(lines_show_as_many_channels_as_asked) {
  g.panel("Lines");
  const MapTile* t = g.bench().pictures().tile(Pictures::Map::lines_output);
  CHECK(t != nullptr);
  CHECK_EQ(t->height, 1);
  CHECK_EQ(t->width, 129);  // fewer positions than pixels: each for itself
  g.type("//Lines/##channels", "3");
  g.settle();
  for (auto map : {Pictures::Map::lines_output, Pictures::Map::lines_reference, Pictures::Map::lines_error}) {
    const MapTile* now = g.bench().pictures().tile(map);
    CHECK(now && now->height == 3 && now->row0 == 0 && now->row1 == 3);
  }
  CHECK(g.exists("//Lines/$$2/##values"));
}

SCENARIO(lines_begin_at_the_channel_asked_for) {
  g.panel("Lines");
  g.type("//Lines/##co", "4");
  g.settle();
  CHECK_EQ(g.bench().pictures().tile(Pictures::Map::lines_output)->row0, 4.0);
  // A selected element brings its own channel.
  g.click_element(Pictures::Map::kernel, 2, 30);
  g.settle();
  CHECK_EQ(g.bench().pictures().tile(Pictures::Map::lines_output)->row0, 2.0);
}

SCENARIO(lines_zoom_the_maps_too) {
  g.panel("Lines");
  ImRect r = plot(g, "//Lines/$$0/##values");
  g.ctx->MouseMoveToPos({r.Min.x + r.GetWidth() * 0.6f, r.GetCenter().y});
  g.ctx->MouseWheelY(2);
  g.frames(4);
  View v = g.view();
  CHECK(v.column1 - v.column0 < 128);
  CHECK_EQ(v.row1 - v.row0, 6.0);  // rows stay
  g.settle();
  const MapTile* t = g.bench().pictures().tile(Pictures::Map::lines_output);
  CHECK(t->column0 <= v.column0 && t->column1 >= v.column1 && t->column1 - t->column0 < 128);
  g.press("fit");
  CHECK(g.app.views().now().whole());
  g.settle();
}

SCENARIO(click_on_a_curve_selects_its_element) {
  g.panel("Lines");
  ImRect r = plot(g, "//Lines/$$0/##values");
  g.ctx->MouseMoveToPos({r.Min.x + r.GetWidth() * 0.6f, r.GetCenter().y});
  g.frames(3);
  g.ctx->MouseClick(0);
  g.frames(3);
  CHECK(g.view().selected.has_value());
  CHECK_EQ(g.view().selected->row, 0);
  CHECK(g.view().selected->column > 40 && g.view().selected->column < 110);
  g.settle();
}

SCENARIO(statistics_count_every_element) {
  g.panel("Error statistics");
  g.settle();
  const Statistics* s = g.bench().pictures().statistics();
  CHECK(s != nullptr);
  CHECK_EQ(s->key, g.bench().runs().picture()->key);
  CHECK_EQ(s->elements, g.bench().runs().report()->elements);
  double all = static_cast<double>(s->zero + s->not_finite);
  for (size_t i = 0; i < s->ratio.size(); i++) all += s->ratio[i];
  CHECK(all >= static_cast<double>(s->elements));
  part(g, "Spread");
  CHECK(g.says("p99.9"));
  // Another kernel, other counts.
  g.app.execute({SetKernel{"tiled"}, 0});
  g.frames();
  g.settle();
  CHECK_EQ(g.bench().pictures().statistics()->key, g.bench().runs().picture()->key);
  CHECK_EQ(g.bench().pictures().statistics()->failing_at(1e-2), 0.0);
}

SCENARIO(tolerance_slider_is_read_off_without_a_run) {
  g.panel("Error statistics");
  part(g, "Tolerance");
  uint64_t serial = g.serial();
  auto r = g.item("//Error statistics/**/##tolerance").RectFull;
  CHECK(r.GetWidth() > 0);
  float y = r.GetCenter().y;
  double before = g.document().atol;
  g.drag({r.Min.x + r.GetWidth() * 0.7f, y}, {r.Min.x + r.GetWidth() * 0.3f, y});
  double t = g.document().atol;
  CHECK(t != before);
  CHECK_EQ(t, g.document().rtol);
  g.settle();
  CHECK_EQ(g.serial(), serial);
  const Statistics* s = g.bench().pictures().statistics();
  auto failing = static_cast<int64_t>(s->failing_at(t));
  CHECK(failing > 0);
  CHECK(g.says(fmt::format(": {} of ", failing)) || failing > 999);
  g.press("undo");  // one drag, one step
  CHECK_EQ(g.document().atol, before);
}

SCENARIO(error_against_magnitude) {
  g.panel("Error statistics");
  part(g, "By magnitude");
  const Statistics* s = g.bench().pictures().statistics();
  double n = 0;
  for (double v : s->joint) n += v;
  CHECK(n > 0);
  // S4 leaves values where no tap lands: those have a place too, and none is left out.
  double zeros = 0;
  for (double v : s->joint_small) zeros += v;
  CHECK_EQ(zeros, static_cast<double>(*g.bench().runs().report()->failing));
  CHECK(!g.says("reference 0, or beyond"));
  g.frames(3);
  CHECK(g.app.frame_seconds() < 1);  // it is drawn
}
