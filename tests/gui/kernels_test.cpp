// Choosing a kernel, and what it is compared with.
#include "app/model/ladder.h"
#include "app/ui/actions.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

SCENARIO(keys_1_to_9_choose_kernels) {
  g.until([&] { return !g.bench().inventory().kernels().empty(); }, "the engine's list");
  for (int n = 1; n <= 9 && static_cast<size_t>(n) <= g.bench().inventory().kernels().size(); n++) {
    const KernelEntry& k = g.bench().inventory().kernels()[static_cast<size_t>(n - 1)];
    g.key(static_cast<ImGuiKey>(ImGuiKey_0 + n));
    CHECK_EQ(g.document().kernel, k.name);
    g.settle();
    CHECK_EQ(g.bench().runs().report()->document.kernel, k.name);
  }
}

SCENARIO(kernels_are_chosen_by_click) {
  g.panel("Kernels");
  g.click("//Kernels/tiled/##kernel");
  CHECK_EQ(g.document().kernel, std::string("tiled"));
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  CHECK(g.says("no element") || g.says("all 774 elements within the bound"));
  g.click("//Kernels/S4/##kernel");
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  g.press("undo");
  CHECK_EQ(g.document().kernel, std::string("tiled"));
  g.press("undo");
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.settle();
}

SCENARIO(every_kernel_that_is_there_gives_a_verdict) {
  auto all = g.bench().inventory().kernels();
  CHECK(all.size() >= 9);
  for (const auto& k : all) {
    if (k.kind == "reference" || !k.available) continue;
    Document d = small_document(k.name);
    d.accuracy = *accuracy_from(k.accuracy);  // what it promises
    const auto& definition = find_kernel(k.name);
    ConvProblem halves = d.problem;
    halves.dtype = DType::f16;  // what some of Hopper's take
    if (!definition.unsupported(d.problem).empty() && definition.unsupported(halves).empty()) d.problem = halves;
    const bool takes = definition.unsupported(d.problem).empty();
    g.load(d);
    auto r = g.bench().runs().report();
    CHECK(r && r->final);
    CHECK_EQ(r->document.kernel, k.name);
    if (k.kind == "ladder") CHECK_EQ(r->status, std::string(takes ? "right" : "not-run"));
    if (k.kind == "specimen") CHECK(r->status == "right" || r->status == "wrong" || r->status == "crashed");
  }
}

SCENARIO(a_specimens_own_problem_is_one_click_away) {
  g.app.show_only("Kernels");
  g.frames(3);
  auto all = g.bench().inventory().kernels();
  const KernelEntry* s1 = nullptr;
  for (const auto& k : all)
    if (k.name == "S1") s1 = &k;
  CHECK(s1 && !s1->home_preset.empty());
  g.app.execute({SetKernel{"S1"}, 0});  // the list goes to it
  g.settle();
  g.frames(5);
  g.click("//Kernels/**/small");
  CHECK_EQ(preset_of(g.problem()), s1->home_preset + "-small");
  CHECK_EQ(g.document().kernel, std::string("S1"));
  g.settle();
  g.frames(3);
  CHECK(!g.enabled("//Kernels/**/small"));
}

SCENARIO(comparison_is_chosen_without_a_new_run) {
  CHECK_EQ(g.document().compare_with, std::string("oracle"));
  const auto& references = g.bench().runs().report()->references;
  if (references.size() < 2) throw Skipped{"no reference beside the oracle in this build"};
  std::string second = references[1].name;
  uint64_t before = g.serial();
  g.press("compare-2");
  CHECK_EQ(g.document().compare_with, second);
  g.press("compare-1");
  CHECK_EQ(g.document().compare_with, references[0].name);
  g.settle();
  CHECK_EQ(g.serial(), before);
  g.press("undo");
  CHECK_EQ(g.document().compare_with, second);
}

SCENARIO(a_kernels_menu_copies_its_name_and_shows_its_source) {
  g.panel("Kernels");
  g.ctx->ItemClick("//Kernels/S4/##kernel", ImGuiMouseButton_Right);
  g.frames(2);
  g.ctx->ItemClick("//$FOCUSED/Copy name");
  g.frames();
  CHECK_EQ(std::string(g.clipboard()), std::string("S4"));
  g.ctx->ItemClick("//Kernels/S4/##kernel", ImGuiMouseButton_Right);
  g.frames(2);
  g.ctx->ItemClick("//$FOCUSED/Show source");
  g.frames(4);
  g.settle();
  CHECK(g.ctx->GetWindowByRef("//Source")->WasActive && !g.ctx->GetWindowByRef("//Source")->Hidden);
}

// A kernel that promises less than is asked for says so, and one click asks for what it promises.
SCENARIO(less_accuracy_is_one_click_away) {
  g.app.show_only("Kernels");
  g.frames(3);
  g.app.execute({SetKernel{"mma_tf32"}, 0});
  g.settle();
  g.frames(5);
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  g.click("//Kernels/**/Allow tf32");
  g.settle();
  CHECK(g.document().accuracy == Accuracy::tf32);
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  g.press("undo");
  CHECK(g.document().accuracy == Accuracy::strict);
  g.settle();
}

SCENARIO(the_best_kernel_is_one_key_away_and_says_why) {
  g.panel("Kernels");
  g.press("best-kernel");
  g.until([&] { return g.document().kernel != "S4"; }, "the planner's choice");
  std::string best = g.document().kernel;
  CHECK(g.app.toast().starts_with(best + ": "));
  CHECK(g.app.toast().find("predicted for") != std::string::npos);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  g.press("undo");
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.settle();
  g.click("//Kernels/**/Best for this problem");
  g.until([&] { return g.document().kernel == best; }, "the same choice");
  g.settle();
}

SCENARIO(a_ladder_of_times_is_read_and_climbed) {
  g.settle();
  // Nothing was timed here: the planner's model says what each would take, and again for another problem.
  g.panel("Ladder");
  g.until([&] { return g.says("predicted by the planner's model for NVIDIA H200"); }, "predicted times");
  CHECK(g.says("is predicted to be the fastest here"));
  CHECK(g.says("Without a time here"));
  g.app.execute({LoadPreset{"kernelbench-74-small"}, 0});
  g.settle();
  g.until([&] { return g.bench().planning().times(g.document()) != nullptr; }, "those of another problem");
  // A recording brings its own, and the panel to the front.
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.settle();
  g.frames(4);
  CHECK(g.says("floor 31"));
  CHECK(!g.says("predicted by the planner"));
  g.app.execute({SetKernel{"polyphase"}, 0});  // the list goes there
  g.settle();
  g.frames(4);
  g.click("//Ladder/**/tiled/##row");
  g.settle();
  CHECK_EQ(g.document().kernel, "tiled");
  CHECK(g.says("tiled takes 4."));
  auto to_the_top = [&] {  // the row that was chosen is brought into sight, and others leave it
    g.ctx->ScrollToTop(g.ctx->WindowInfo("//Ladder/rows").ID);
    g.frames();
  };
  to_the_top();
  g.ctx->MouseMove("//Ladder/**/direct/##row");
  const std::string floor = time_text(*ladder_of(g.bench(), g.document()).floor_ms);
  g.until([&] { return g.says("times the floor of " + floor + " by operations of "); }, "the row's tooltip", 10);
  CHECK(g.says("right on this problem"));
  g.click("//Ladder/Export kernel…");
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/As CUDA C++…");
  g.frames(3);
  g.popup("Export as CUDA C++");
  g.key(ImGuiKey_Escape);
  g.frames(3);
  g.click("//Ladder/by time");
  g.frames(3);
  auto height = [&](const char* kernel) { return g.item(fmt::format("//Ladder/**/{}/##row", kernel)).RectFull.Min.y; };
  CHECK(height("hopper_tf32") < height("registers"));
  g.click("//Ladder/by rung");
  g.frames(3);
  CHECK(height("hopper_tf32") > height("registers"));
  g.ctx->MouseMove("//Ladder/**/direct/##row");
  g.ctx->MouseClick(ImGuiMouseButton_Right);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values (CSV)");
  g.frames();
  const std::string csv = g.clipboard();
  CHECK(csv.starts_with("kernel,kind,ms,times floor,source,accurate enough,verdict,reason\n"));
  CHECK(csv.find("\nS4,specimen,35.") != std::string::npos);
  CHECK(csv.find(",recorded,yes,wrong,") != std::string::npos);
}
