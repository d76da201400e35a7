// The maps: select, move, zoom, find; what is drawn over them.
#include <imgui_internal.h>

#include "kernels/problem/counts.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {
constexpr auto kernel = Pictures::Map::kernel, reference = Pictures::Map::reference,
               difference = Pictures::Map::difference;

double columns(const View& v) { return v.column1 - v.column0; }
double rows(const View& v) { return v.row1 - v.row0; }

// What the maps show is what the view says, and the tiles are there.
void check_tiles(Gui& g) {
  View v = g.view();
  for (auto map : {kernel, reference, difference}) {
    const MapTile* t = g.bench().pictures().tile(map);
    CHECK(t != nullptr);
    CHECK_EQ(t->key, g.bench().runs().picture()->key);
    CHECK(t->row0 <= v.row0 && t->row1 >= v.row1);
    CHECK(t->column0 <= v.column0 && t->column1 >= v.column1);
    CHECK_EQ(t->pixels.size(), static_cast<size_t>(t->width) * static_cast<size_t>(t->height));
  }
}
}  // namespace

SCENARIO(click_on_a_map_selects_the_element) {
  for (auto map : {kernel, reference, difference}) {
    int row = static_cast<int>(map) + 1;
    g.click_element(map, row, 40 + row);
    CHECK(g.view().selected.has_value());
    CHECK(*g.view().selected == (ElementIndex{row, 40 + row}));
  }
  g.settle();
  CHECK(!g.app.history().can_undo() || g.document() == small_document());  // a selection is no change
}

SCENARIO(n_goes_from_failing_to_failing_element) {
  g.press("next-failing");
  g.settle();
  CHECK(g.view().selected.has_value());
  ElementIndex first = *g.view().selected;
  CHECK(first == (ElementIndex{0, 0}));  // S4 fails at every even position
  g.press("next-failing");
  g.settle();
  CHECK(*g.view().selected == (ElementIndex{0, 2}));
  CHECK(g.bench().pictures().numbers() != nullptr);
  const double* v = g.bench().pictures().numbers()->at(0, 2);
  CHECK(v != nullptr);
  CHECK(!(v[3] <= 1));
  g.press("previous-failing");
  g.settle();
  CHECK(*g.view().selected == first);
  g.press("previous-failing");
  g.settle();
  CHECK_EQ(g.app.toast(), std::string("No failing element before this one"));
  check_tiles(g);
}

SCENARIO(failing_buttons_of_the_toolbar) {
  g.click("//Maps/failing >");
  g.settle();
  CHECK(*g.view().selected == (ElementIndex{0, 0}));
  g.panel("Maps");
  g.click("//Maps/failing >");
  g.settle();
  g.click("//Maps/< failing");
  g.settle();
  CHECK(*g.view().selected == (ElementIndex{0, 0}));
}

SCENARIO(a_right_kernel_has_no_failing_element) {
  g.load(small_document("tiled"));
  g.press("next-failing");
  g.settle();
  CHECK_EQ(g.app.toast(), std::string("No element fails"));
  CHECK(!g.view().selected.has_value());
}

SCENARIO(keys_zoom_fit_and_go_back) {
  CHECK(g.app.views().now().whole());
  g.press("zoom-in");
  View closer = g.view();
  CHECK(columns(closer) < 129 && rows(closer) < 6);
  g.press("zoom-in");
  CHECK(columns(g.view()) < columns(closer));
  g.settle();
  check_tiles(g);
  g.press("zoom-out");
  CHECK(std::fabs(columns(g.view()) - columns(closer)) < 1e-6);
  g.press("view-back");
  CHECK(columns(g.view()) < columns(closer));
  g.press("view-forward");
  CHECK(std::fabs(columns(g.view()) - columns(closer)) < 1e-6);
  g.press("fit");
  CHECK(g.app.views().now().whole());
  g.press("view-back");
  CHECK(std::fabs(columns(g.view()) - columns(closer)) < 1e-6);
  g.settle();
  check_tiles(g);
}

SCENARIO(toolbar_zooms_fits_and_goes_back) {
  g.click("//Maps/+");
  double closer = columns(g.view());
  CHECK(closer < 129);
  g.click("//Maps/-");
  CHECK(columns(g.view()) > closer);
  g.click("//Maps/+");
  g.click("//Maps/Fit");
  CHECK(g.app.views().now().whole());
  g.click("//Maps/<");
  CHECK(columns(g.view()) < 129);
  g.click("//Maps/>");
  CHECK_EQ(columns(g.view()), 129.0);
  g.settle();
}

SCENARIO(wheel_zooms_where_the_mouse_is) {
  ImVec2 at = g.place(kernel, 3.5, 100.5);
  g.ctx->MouseMoveToPos(at);
  g.ctx->MouseWheelY(3);
  g.frames();
  View v = g.view();
  CHECK(columns(v) < 80);
  // The element under the mouse has stayed there.
  ImVec2 now = g.place(kernel, 3.5, 100.5);
  CHECK(std::fabs(now.x - at.x) < 1.5f && std::fabs(now.y - at.y) < 1.5f);
  // Shift: positions only. Ctrl: channels only.
  double before_rows = rows(v), before_columns = columns(v);
  g.ctx->KeyDown(ImGuiMod_Shift);
  g.ctx->MouseWheelY(1);
  g.ctx->KeyUp(ImGuiMod_Shift);
  g.frames();
  CHECK(std::fabs(rows(g.view()) - before_rows) < 1e-9);  // around another place it is rounded otherwise
  CHECK(columns(g.view()) < before_columns);
  before_columns = columns(g.view());
  g.ctx->KeyDown(ImGuiMod_Ctrl);
  g.ctx->MouseWheelY(1);
  g.ctx->KeyUp(ImGuiMod_Ctrl);
  g.frames();
  CHECK(std::fabs(columns(g.view()) - before_columns) < 1e-9);
  CHECK(rows(g.view()) < before_rows);
  g.settle();
  check_tiles(g);
}

SCENARIO(dragging_a_map_moves_all_maps) {
  g.press("zoom-in");
  g.press("zoom-in");
  View before = g.view();
  ImVec2 middle = g.place(reference, (before.row0 + before.row1) / 2, (before.column0 + before.column1) / 2);
  g.drag(middle, {middle.x - 60, middle.y});
  CHECK(g.view().column0 > before.column0);
  CHECK(std::fabs(columns(g.view()) - columns(before)) < 1e-6);
  CHECK(!g.view().selected.has_value());  // a drag is no click
  g.settle();
  check_tiles(g);
}

SCENARIO(double_click_zooms_to_the_numbers) {
  g.ctx->MouseMoveToPos(g.place(difference, 2.5, 64.5));
  g.ctx->MouseDoubleClick(0);
  g.frames();
  g.settle();
  CHECK(columns(g.view()) < 20);
  CHECK(*g.view().selected == (ElementIndex{2, 64}));
  CHECK(g.bench().pictures().numbers() != nullptr);
  const double* v = g.bench().pictures().numbers()->at(2, 64);
  CHECK(v != nullptr);
  CHECK_EQ(v[2], v[0] - v[1]);
  CHECK_EQ(v[1], 0.0);  // no tap lands there
  CHECK(v[0] != 0);
}

SCENARIO(minimap_moves_the_window) {
  g.press("zoom-in");
  g.press("zoom-in");
  g.press("zoom-in");
  double size = columns(g.view());
  auto r = g.item("//Maps/minimap").RectFull;
  CHECK(r.GetWidth() > 0);
  g.drag({r.Min.x + r.GetWidth() * 0.5f, r.GetCenter().y}, {r.Min.x + r.GetWidth() * 0.9f, r.GetCenter().y});
  View v = g.view();
  CHECK(std::fabs(columns(v) - size) < 1e-6);
  CHECK(v.column0 > 129 * 0.6);
  g.settle();
  check_tiles(g);
}

SCENARIO(arrow_keys_move_the_selection) {
  g.click_element(kernel, 2, 60);
  g.key(ImGuiKey_RightArrow, 3);
  CHECK(*g.view().selected == (ElementIndex{2, 63}));
  g.key(ImGuiKey_DownArrow);
  g.key(ImGuiKey_LeftArrow);
  CHECK(*g.view().selected == (ElementIndex{3, 62}));
  g.key(ImGuiKey_UpArrow, 8);
  CHECK(*g.view().selected == (ElementIndex{0, 62}));  // it stops at the edge
  g.settle();
}

SCENARIO(arrow_keys_and_space_do_one_thing) {
  g.click("//Maps/+");
  View before = g.view();
  g.key(ImGuiKey_RightArrow, 2);
  bool live = g.app.settings().live;
  g.key(ImGuiKey_Space);
  CHECK_EQ(g.app.settings().live, !live);
  CHECK(std::fabs(columns(g.view()) - columns(before)) < 1e-6);  // no button was pressed by it
  g.settle();
  // In a menu they are the menu's.
  auto selected = g.view().selected;
  g.click("//##MainMenuBar/##MenuBar/View");
  g.key(ImGuiKey_DownArrow, 2);
  g.key(ImGuiKey_Enter);
  CHECK(columns(g.view()) != columns(before));
  CHECK(g.view().selected == selected);
  g.settle();
}

SCENARIO(tab_walks_through_the_controls) {
  g.click("//Problem/parameters/stride/+");
  CHECK_EQ(g.problem().stride, 3);
  auto selected = g.view().selected;
  bool live = g.app.settings().live;
  g.ctx->KeyDown(ImGuiMod_Shift);
  g.key(ImGuiKey_Tab);
  g.ctx->KeyUp(ImGuiMod_Shift);
  g.key(ImGuiKey_Space);  // presses the − before it
  CHECK_EQ(g.problem().stride, 2);
  CHECK_EQ(g.app.settings().live, live);
  g.key(ImGuiKey_DownArrow);
  CHECK(g.view().selected == selected);
  g.settle();
}

SCENARIO(selection_stays_in_sight_when_it_moves) {
  g.press("next-failing");
  g.settle();
  double before = g.view().column1;
  g.panel("Maps");
  for (int i = 0; i < 12; i++) g.press("right");
  View v = g.view();
  CHECK_EQ(v.selected->column, 12);
  CHECK(v.column1 > before && static_cast<double>(v.selected->column) < v.column1);
  g.settle();
  check_tiles(g);
}

SCENARIO(polyphase_classes_by_key_and_by_box) {
  CHECK(!g.view().show_classes);
  CHECK(!g.says("(j + p) mod s"));
  g.press("classes");
  CHECK(g.view().show_classes);
  // What the tints and the hatch mean is said, while they are there.
  CHECK(g.says("(j + p) mod s"));
  CHECK(g.says("no tap"));
  ConvProblem p = g.problem();
  p.stride = 1;
  g.app.execute({SetProblem{p}, 0});
  g.settle();
  CHECK(g.says("one class, no tint"));
  g.press("undo");
  g.settle();
  g.click("//Maps/classes");
  CHECK(!g.view().show_classes);
  g.menu("classes");
  CHECK(g.view().show_classes);
}

SCENARIO(third_map_shows_bound_or_signed_error) {
  CHECK(g.bench().pictures().tile(difference)->quantity == Quantity::ratio);
  g.choose("//Maps/##difference", "signed error");
  g.settle();
  CHECK(!g.view().difference_is_ratio);
  const MapTile* t = g.bench().pictures().tile(difference);
  CHECK(t->quantity == Quantity::error);
  CHECK(t->paint.map == ColourMap::diverging);
  CHECK_EQ(t->paint.low, -t->paint.high);
  // \/ keeps the slash from being a path
  g.choose("//Maps/##difference", "error \\/ bound");
  g.settle();
  CHECK(g.bench().pictures().tile(difference)->paint.map == ColourMap::excess);
}

SCENARIO(an_end_of_the_colours_is_dragged) {
  const Paint before = g.bench().pictures().tile(kernel)->paint;
  const ImRect scale = g.item("//Maps/$$0/scale").RectFull;
  CHECK(!g.exists("//Maps/$$0/own"));
  g.drag({scale.Min.x + 4, scale.Min.y + 3}, {scale.Min.x + 4 + scale.GetWidth() * 0.25f, scale.Min.y + 3});
  g.settle();
  CHECK(g.bench().pictures().tile(kernel)->paint.low > before.low);
  CHECK_EQ(g.bench().pictures().tile(kernel)->paint.high, before.high);
  CHECK(g.bench().pictures().tile(reference)->paint == g.bench().pictures().tile(kernel)->paint);
  CHECK(g.exists("//Maps/$$0/own") && g.exists("//Maps/$$1/own") && !g.exists("//Maps/$$2/own"));
  g.ctx->MouseMoveToPos({scale.Min.x + 6, scale.Min.y + 3});
  g.until([&] { return g.says("Own range: "); }, "what is beyond it is told");
  g.click("//Maps/$$1/own");
  g.settle();
  CHECK(g.bench().pictures().tile(kernel)->paint == before);
}

SCENARIO(colours_are_fitted_halved_and_typed) {
  g.press("colours-half");
  g.settle();
  const double half = g.bench().pictures().tile(kernel)->paint.high;
  g.menu("colours-visible");
  g.settle();
  CHECK(g.bench().pictures().tile(kernel)->paint.high > half);
  g.menu("colours-automatic");
  CHECK(!g.view().colours[0].has_value());
  g.ctx->MouseMoveToPos(
      {g.item("//Maps/$$2/scale").RectFull.GetCenter().x, g.item("//Maps/$$2/scale").RectFull.Min.y + 3});
  g.ctx->MouseDoubleClick(0);
  g.frames(4);
  g.type("//$FOCUSED/times the bound, and its inverse", "10");
  g.settle();
  CHECK_EQ(g.bench().pictures().tile(difference)->paint.decades, 1.0);
  g.press("view-back");
  g.settle();
  CHECK_EQ(g.bench().pictures().tile(difference)->paint.decades, 4.0);
}

SCENARIO(hover_reads_values_off) {
  g.ctx->MouseMoveToPos(g.place(kernel, 1.5, 64.5));
  g.until([&] { return g.bench().pictures().hover() && g.bench().pictures().hover()->at(1, 64); },
          "the values under the mouse");
  g.frames(3);
  std::string words = g.words();
  CHECK(words.find("n 0   co 1   j 64") != std::string::npos);
  CHECK(words.find("oracle") != std::string::npos);
  CHECK(words.find("structural zero") != std::string::npos);
}

SCENARIO(map_menu_copies_what_is_shown) {
  g.ctx->MouseMoveToPos(g.place(difference, 2.5, 64.5));
  g.ctx->MouseDoubleClick(0);
  g.settle();
  g.ctx->MouseClick(1);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values of this window (CSV)");
  g.frames();
  std::string csv = g.clipboard();
  CHECK(csv.starts_with("n,co,j,output,reference,error,error_over_bound\n"));
  CHECK(csv.find("\n0,2,64,") != std::string::npos);
  CHECK(g.app.toast().ends_with("elements copied as CSV"));
  // The same by its keys.
  g.ctx->Clipboard.clear();
  g.press("copy-window");
  CHECK_EQ(csv, std::string(g.clipboard()));
}

SCENARIO(view_survives_another_kernel_and_a_turned_parameter) {
  g.click_element(kernel, 2, 30);
  g.press("zoom-in");
  View before = g.app.views().now();
  g.app.execute({SetKernel{"tiled"}, 0});
  g.settle();
  CHECK(g.app.views().now() == before);
  g.click("//Problem/parameters/stride/+");
  g.settle();
  CHECK(g.app.views().now() == before);  // who turns a parameter watches what it does
  CHECK(g.view().selected.has_value());
  check_tiles(g);
  ConvProblem p = g.problem();
  p.length = 4;
  g.app.execute({SetProblem{p}, 0});
  g.settle();
  CHECK(!g.view().selected.has_value());
  CHECK_EQ(columns(g.view()), static_cast<double>(p.out_length()));  // what is left of it
}
