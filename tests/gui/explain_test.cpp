// Why an element has its value; the line of the source that wrote it.
#include <algorithm>
#include <imgui_internal.h>

#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

// Selects an element and waits until it is explained and traced.
const Explained& explained(Gui& g, int64_t row, int64_t column) {
  g.click_element(Pictures::Map::kernel, row, column);
  g.panel("Explain");
  g.settle();
  const Explained* e = g.bench().explaining().explained();
  CHECK(e != nullptr);
  CHECK_EQ(e->n * g.problem().out_channels + e->co, row);
  CHECK_EQ(e->j, column);
  return *e;
}

}  // namespace

// Open, N, read: three steps from a wrong kernel to the reason.
FRESH_SCENARIO(three_steps_to_why_s4_is_wrong) {
  g.until([&] { return g.bench().runs().report() && g.bench().runs().report()->final; }, "the verdict", 60);
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  g.press("next-failing");
  g.settle();
  CHECK(shown(g, "Explain"));  // nobody has to look for it
  const Explained* e = g.bench().explaining().explained();
  CHECK(e && e->n == 0 && e->co == 0 && e->j == 0);
  // No tap reaches an even position, but two taps take an input all the same.
  CHECK(std::none_of(e->taps.begin(), e->taps.end(), [](const auto& t) { return t.expected_i.has_value(); }));
  CHECK_EQ(std::count_if(e->taps.begin(), e->taps.end(), [](const auto& t) { return t.read_i.has_value(); }), 2);
  CHECK_EQ(e->expected, 0.0);
  CHECK(e->got != 0);
  CHECK(g.says("2 taps take an input where none belongs."));
  // And who wrote it, down to the line.
  const Traced* t = g.bench().explaining().traced();
  CHECK(t != nullptr);
  if (!t->reason.empty()) throw Skipped{"not traced: " + t->reason};
  CHECK_EQ(t->writers.size(), 1u);
  CHECK(t->writers[0].line > 0);
  CHECK(t->writers[0].file.ends_with("s4.cu"));
}

SCENARIO(click_on_a_map_explains_the_taps) {
  const Explained& e = explained(g, 3, 64);
  CHECK_EQ(e.taps.size(), 3u);
  // i = (64 + 1 − 2k)/2 is never whole.
  for (const auto& t : e.taps) CHECK(!t.expected_i.has_value());
  const Explained& odd = explained(g, 3, 65);
  CHECK_EQ(odd.taps[0].expected_i.value_or(-1), 33);
  CHECK_EQ(odd.taps[1].expected_i.value_or(-1), 32);
  CHECK_EQ(odd.taps[2].expected_i.value_or(-1), 31);
  for (const auto& t : odd.taps) CHECK(t.read_i == t.expected_i);
  CHECK(g.says("Every tap takes the input it should"));
}

SCENARIO(gather_and_scatter_are_two_sides_of_one_sum) {
  explained(g, 0, 65);
  CHECK(g.says("i = (j + p − k·d)/s"));
  g.click("//Explain/Scatter");
  CHECK(g.view().from_input);
  CHECK(g.says("j = i·s − p + k·d"));
  CHECK(g.says("from i = "));
  g.click("//Explain/Gather");
  CHECK(!g.says("from i = "));
  // The same by its name, from wherever one is.
  g.menu("scatter");
  CHECK(g.says("from i = "));
  g.menu("scatter");
  CHECK(!g.says("from i = "));
}

SCENARIO(steps_through_the_taps) {
  explained(g, 0, 65);
  CHECK(!g.enabled("//Explain/##back"));
  g.click("//Explain/##forward");
  CHECK(g.says("term 1 of 3"));
  g.click("//Explain/##forward");
  g.click("//Explain/##forward");
  CHECK(g.says("term 3 of 3"));
  g.frames(2);
  CHECK(!g.enabled("//Explain/##forward"));
  g.click("//Explain/##back");
  CHECK(g.says("term 2 of 3"));
  g.click("//Explain/##first");
  CHECK(!g.says("term 2 of 3"));
  CHECK(!g.enabled("//Explain/##back"));
}

SCENARIO(walk_through_the_taps_plays_by_itself) {
  explained(g, 0, 65);
  g.click("//Explain/##play");
  CHECK(g.app.next_frame_in() <= 1.01);
  g.until([&] { return g.says("term 3 of 3"); }, "the last term", 30);
  g.until([&] { return g.app.next_frame_in() > 1e6 || !g.app.toast().empty(); }, "the walk ends", 30);
}

SCENARIO(a_tap_is_chosen_in_the_table) {
  explained(g, 0, 65);
  g.click("//Explain/tap table/$$0/##row");
  CHECK(g.says("term 1 of 3"));
  g.click("//Explain/tap table/$$0/##row");
  CHECK(!g.says("term 1 of 3"));
}

SCENARIO(taps_are_copied_as_values) {
  explained(g, 0, 64);
  // Rows that are out of sight are not drawn.
  g.ctx->ScrollToBottom("//Explain");
  g.ctx->ItemClick("//Explain/tap table/$$0/##row", ImGuiMouseButton_Right);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values (CSV)");
  g.frames();
  std::string csv = g.clipboard();
  CHECK(std::count(csv.begin(), csv.end(), '\n') >= 4);
}

SCENARIO(another_kernel_explains_the_same_element_anew) {
  explained(g, 0, 64);
  CHECK(g.bench().explaining().explained()->got != 0);
  g.app.execute({SetKernel{"tiled"}, 0});
  g.frames();
  g.settle();
  CHECK_EQ(g.bench().explaining().explained()->document.kernel, std::string("tiled"));
  CHECK_EQ(g.bench().explaining().explained()->j, 64);
  CHECK_EQ(g.bench().explaining().explained()->got, 0.0);
}

SCENARIO(explain_says_what_to_do_when_nothing_is_selected) {
  g.panel("Explain");
  CHECK(g.says("Click an element in a map, or press N for the first failing one."));
  g.click("//Explain/First failing element");
  g.settle();
  CHECK(g.bench().explaining().explained() && g.bench().explaining().explained()->j == 0);
}

SCENARIO(verdict_leads_to_the_first_failing_element) {
  g.click("//Verdict/Explain this element");
  g.settle();
  CHECK(*g.view().selected == (ElementIndex{0, 0}));
  CHECK(shown(g, "Explain"));
  CHECK(g.bench().explaining().explained() && g.bench().explaining().explained()->j == 0);
}

SCENARIO(the_line_that_wrote_it_is_shown_in_the_source) {
  explained(g, 0, 65);
  const Traced* t = g.bench().explaining().traced();
  CHECK(t != nullptr);
  if (!t->reason.empty()) throw Skipped{"not traced: " + t->reason};
  g.click(fmt::format("//Explain/Show line {}", t->writers.at(0).line));
  g.frames(3);
  g.settle();
  CHECK(shown(g, "Source"));
  CHECK(g.exists(fmt::format("//Source/Line {} wrote it", t->writers[0].line)));
}

SCENARIO(the_line_that_reads_what_does_not_belong_is_marked) {
  explained(g, 0, 64);
  const Traced* t = g.bench().explaining().traced();
  CHECK(t != nullptr);
  if (!t->reason.empty()) throw Skipped{"not traced: " + t->reason};
  CHECK(!t->strays.empty());
  CHECK(g.says("where no tap lands"));
  g.click(fmt::format("//Explain/**/s4.cu:{}", t->strays.at(0).line));
  g.frames(3);
  g.settle();
  CHECK(shown(g, "Source"));
  CHECK(g.says(fmt::format("s4.cu:{} reads x at i = ", t->strays[0].line)));
  // Of an element that is right nothing is marked so.
  explained(g, 0, 65);
  g.panel("Source");
  g.settle();
  CHECK(!g.says("reads x at i = "));
}

SCENARIO(source_of_every_kernel) {
  g.panel("Source");
  g.press("live");  // their texts alone
  CHECK(!g.app.settings().live);
  auto all = g.bench().inventory().kernels();
  int seen = 0;
  for (const auto& k : all) {
    if (k.kind == "reference" || k.file.empty()) continue;
    g.app.execute({SetKernel{k.name}, 0});
    g.frames();
    g.settle();
    const auto* files = g.bench().sources().of(k.name);
    const std::string* text = files ? &files->front().text : nullptr;
    CHECK(text != nullptr);
    CHECK(text->find("__global__") != std::string::npos);
    g.click("//Source/Copy");
    CHECK_EQ(*text, std::string(g.clipboard()));
    CHECK(g.says(k.file.substr(k.file.rfind('/') + 1)));
    seen++;
  }
  CHECK(seen >= 9);
}
