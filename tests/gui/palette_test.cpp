// The command palette: actions, presets, kernels, panels and parameters by name.
#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

void find_in_palette(Gui& g, const char* text) {
  g.press("palette");
  g.frames(3);
  g.ctx->KeyChars(text);
  g.frames(2);
  g.key(ImGuiKey_Enter);
  g.frames(3);
}

}  // namespace

SCENARIO(palette_runs_an_action) {
  find_in_palette(g, "light");
  CHECK(g.app.settings().theme == Settings::Theme::light);
  CHECK(g.app.theme().light);
}

SCENARIO(palette_loads_a_preset) {
  find_in_palette(g, "preset 74-small");
  CHECK(g.problem() == find_preset("kernelbench-74-small").problem);
}

SCENARIO(palette_chooses_a_kernel) {
  find_in_palette(g, "kernel: tiled");
  CHECK_EQ(g.document().kernel, std::string("tiled"));
  g.settle();
}

SCENARIO(palette_shows_a_panel) {
  CHECK(!shown(g, "Devices"));
  find_in_palette(g, "panel: devices");
  CHECK(shown(g, "Devices"));
}

// By the keyboard alone: a parameter is set by its name and a number, and refused with its rule.
SCENARIO(palette_sets_a_parameter) {
  find_in_palette(g, "stride 3");
  g.settle();
  CHECK_EQ(g.problem().stride, 3);
  find_in_palette(g, "in chan 8");
  g.settle();
  CHECK_EQ(g.problem().in_channels, 8);
  g.press("undo");
  CHECK(g.problem().in_channels != 8);
  const int64_t groups = g.problem().groups;
  find_in_palette(g, "groups 5");
  CHECK(g.says("must divide"));
  CHECK_EQ(g.problem().groups, groups);
  // Enter has chosen nothing: what is typed next is typed there.
  g.ctx->KeyChars("dilation 3");
  g.frames(2);
  g.key(ImGuiKey_Enter);
  g.settle();
  CHECK_EQ(g.problem().dilation, 3);
  g.press("undo");
  find_in_palette(g, "padding 5000");
  CHECK(g.says("must be at least 1"));
  g.key(ImGuiKey_Escape);
  g.frames(3);
  g.press("palette");
  g.frames(3);
  g.ctx->KeyChars("dilation");
  g.frames(2);
  CHECK(g.says("with a number behind it, as dilation 3"));
  g.key(ImGuiKey_Escape);
  g.frames(3);
}

SCENARIO(palette_sets_type_and_accuracy) {
  find_in_palette(g, "length 2^9");
  g.settle();
  CHECK_EQ(g.problem().length, 512);
  find_in_palette(g, "accuracy: 3x");
  g.settle();
  CHECK(g.document().accuracy == Accuracy::tf32x3);
  find_in_palette(g, "accuracy: strict");
  find_in_palette(g, "type: bf16");
  g.settle();
  CHECK(g.problem().dtype == DType::bf16);
  find_in_palette(g, "s4");
  g.settle();
  CHECK_EQ(g.document().kernel, "S4");
}

// What is called so comes before what is only described so.
SCENARIO(palette_finds_names_first) {
  find_in_palette(g, "what a right result");
  g.settle();
  CHECK(g.app.lesson_shown());
  CHECK(g.says("What a right result hides"));
  g.app.end_lesson();
  g.settle();
}

SCENARIO(palette_is_walked_with_arrows_and_left_with_escape) {
  Document before = g.document();
  g.press("palette");
  g.frames(3);
  g.ctx->KeyChars("no such thing at all");
  g.frames(2);
  CHECK(g.says("nothing of that name"));
  g.key(ImGuiKey_Escape);
  g.frames(3);
  CHECK(g.document() == before);
  g.press("palette");
  g.frames(3);
  g.ctx->KeyChars("kernel: S");
  g.frames(2);
  g.key(ImGuiKey_DownArrow, 2);
  g.key(ImGuiKey_UpArrow);
  g.key(ImGuiKey_Enter);
  g.frames(3);
  CHECK_EQ(g.document().kernel, std::string("S1"));
  g.settle();
}
