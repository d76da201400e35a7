// Every control of the problem, and what is refused.
#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"

using namespace convscope;

namespace {
std::string value_of(const char* field) { return std::string("//Problem/parameters/") + field + "/##value"; }
}  // namespace

SCENARIO(return_takes_the_first_of_a_filtered_list) {
  g.click("//Problem/##preset");
  g.frames(3);
  g.ctx->KeyChars("79-small");
  g.key(ImGuiKey_Enter);
  g.frames(2);
  CHECK(g.problem() == find_preset("kernelbench-79-small").problem);
  g.settle();
}

SCENARIO(preset_from_the_combo_is_loaded) {
  g.choose("//Problem/##preset", "kernelbench-64-small");
  CHECK(g.problem() == find_preset("kernelbench-64-small").problem);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->columns(), g.problem().out_length());
  g.press("undo");
  CHECK(g.problem() == test::small_document().problem);
  CHECK(!g.app.history().redo_text().empty());
}

SCENARIO(preset_combo_filters_while_typing) {
  g.click("//Problem/##preset");
  g.frames(3);
  g.ctx->KeyChars("74-small");
  g.frames(2);
  CHECK(g.exists("//$FOCUSED/kernelbench-74-small"));
  CHECK(!g.exists("//$FOCUSED/kernelbench-64-small"));
  g.ctx->ItemClick("//$FOCUSED/kernelbench-74-small");
  g.frames();
  CHECK(g.problem() == find_preset("kernelbench-74-small").problem);
  g.settle();
}

SCENARIO(slider_drag_is_one_step_of_undo) {
  uint64_t before = g.serial();
  auto r = g.item(value_of("stride")).RectFull;
  g.drag({r.Min.x + r.GetWidth() * 0.1f, r.GetCenter().y}, {r.Min.x + r.GetWidth() * 0.6f, r.GetCenter().y});
  int64_t stride = g.problem().stride;
  CHECK(stride > 4);
  g.settle();
  CHECK(g.serial() > before);
  CHECK_EQ(g.bench().runs().report()->document.problem.stride, stride);
  g.press("undo");
  CHECK_EQ(g.problem().stride, 2);
  CHECK_EQ(g.app.history().redo_text(), fmt::format("stride 2 → {}", stride));
  g.press("redo");
  CHECK_EQ(g.problem().stride, stride);
  g.settle();
}

SCENARIO(two_drags_are_two_steps_of_undo) {
  auto r = g.item(value_of("dilation")).RectFull;
  float y = r.GetCenter().y;
  g.drag({r.Min.x + r.GetWidth() * 0.1f, y}, {r.Min.x + r.GetWidth() * 0.4f, y});
  int64_t first = g.problem().dilation;
  g.drag({r.Min.x + r.GetWidth() * 0.4f, y}, {r.Min.x + r.GetWidth() * 0.8f, y});
  int64_t second = g.problem().dilation;
  CHECK(second > first);
  g.press("undo");
  CHECK_EQ(g.problem().dilation, first);
  g.press("undo");
  CHECK_EQ(g.problem().dilation, 2);
  g.settle();
}

SCENARIO(output_padding_stops_where_the_rule_stops) {
  auto r = g.item(value_of("output_padding")).RectFull;
  g.drag({r.Min.x + 4, r.GetCenter().y}, {r.Max.x + 50, r.GetCenter().y});
  CHECK_EQ(g.problem().output_padding, 1);  // max(stride 2, dilation 2) − 1
  // It follows down when stride and dilation leave no room.
  g.type(value_of("stride"), "1");
  g.type(value_of("dilation"), "1");
  CHECK_EQ(g.problem().output_padding, 0);
  CHECK(!g.exists("//Problem/Take back"));
  g.settle();
}

SCENARIO(plus_and_minus_change_by_one) {
  g.click("//Problem/parameters/kernel_size/+");
  CHECK_EQ(g.problem().kernel_size, 4);
  g.click("//Problem/parameters/kernel_size/-");
  g.click("//Problem/parameters/kernel_size/-");
  CHECK_EQ(g.problem().kernel_size, 2);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.kernel_size, 2);
}

SCENARIO(wheel_with_ctrl_steps_a_parameter) {
  g.load(test::small_document("tiled"));
  const Document before = g.document();
  g.ctx->MouseMoveToPos(g.item(value_of("stride")).RectFull.GetCenter());
  g.ctx->MouseWheelY(2);
  g.frames();
  CHECK(g.document() == before);
  g.ctx->KeyDown(ImGuiMod_Ctrl);
  g.ctx->MouseWheelY(2);
  g.ctx->KeyUp(ImGuiMod_Ctrl);
  g.frames();
  CHECK_EQ(g.problem().stride, 4);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.stride, 4);
  g.press("undo");
  CHECK(g.document() == before);
  g.settle();
}

SCENARIO(illegal_padding_says_the_rule_and_keeps_the_last_legal_problem) {
  Document before = g.document();
  uint64_t serial = g.serial();
  g.type(value_of("padding"), "9999");
  CHECK(g.document() == before);
  CHECK(g.exists("//Problem/Take back"));
  ConvProblem p = before.problem;
  p.padding = 9999;
  auto rule = check(p);
  CHECK(rule.has_value());
  CHECK(g.says(rule->what()));
  CHECK(g.says("The last legal problem stays shown."));
  g.settle();
  CHECK_EQ(g.serial(), serial);  // nothing reached the engine
  CHECK(g.bench().runs().wanted() == before);
  g.click("//Problem/Take back");
  CHECK(!g.exists("//Problem/Take back"));
  CHECK_EQ(g.ctx->ItemReadAsInt(value_of("padding").c_str()), 1);
  CHECK(g.document() == before);
}

// What was typed and refused is not kept beside what another way has set.
SCENARIO(an_illegal_number_goes_when_another_is_set) {
  g.type(value_of("stride"), "0");
  g.settle();
  CHECK(g.says("The last legal problem stays shown."));
  ConvProblem p = g.problem();
  p.length += 7;
  g.app.execute({SetProblem{p}, 0});
  g.settle();
  CHECK(!g.says("The last legal problem stays shown."));
  CHECK_EQ(g.problem().length, p.length);
}

SCENARIO(a_legal_number_after_an_illegal_one_is_taken) {
  g.type(value_of("groups"), "5");  // divides neither 4 nor 6
  CHECK(g.exists("//Problem/Take back"));
  CHECK_EQ(g.problem().groups, 1);
  g.type(value_of("groups"), "2");
  CHECK(!g.exists("//Problem/Take back"));
  CHECK_EQ(g.problem().groups, 2);
  g.settle();
}

SCENARIO(output_length_formula_has_the_numbers) {
  CHECK(g.says("Lout = (L−1)·s − 2p + d·(K−1) + op + 1"));
  CHECK(g.says("= (64−1)·2 − 2·1 + 2·(3−1) + 0 + 1 = 129"));
  g.type(value_of("stride"), "3");
  CHECK(g.says("= (64−1)·3 − 2·1 + 2·(3−1) + 0 + 1 = 192"));
  g.settle();
}

SCENARIO(bias_and_element_type) {
  g.load(test::small_document("tiled"));
  g.click("//Problem/parameters/##bias");
  CHECK(g.problem().bias);
  g.choose("//Problem/parameters/##dtype", "f64");
  CHECK(g.problem().dtype == DType::f64);
  g.settle();
  CHECK(g.bench().runs().report()->document == g.document());
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  for (auto [name, type] : {std::pair{"f16", DType::f16}, {"bf16", DType::bf16}}) {
    g.choose("//Problem/parameters/##dtype", name);
    CHECK(g.problem().dtype == type);
    g.settle();
    CHECK(g.bench().runs().report()->document == g.document());
    CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  }
}

SCENARIO(input_kind_and_seed) {
  auto highest = [&] {
    auto range = g.bench().runs().picture()->ranges[static_cast<size_t>(Quantity::reference)];
    return range ? range->high : 0;
  };
  double before = highest();
  g.choose("//Problem/inputs/input x/##kind", "ramp");
  CHECK(g.document().inputs.x.kind == InputKind::ramp);
  g.settle();
  CHECK(highest() != before);
  g.type("//Problem/inputs/##seed", "7");
  CHECK_EQ(g.document().inputs.seed, 7u);
  g.settle();
  g.press("undo");
  g.press("undo");
  CHECK(g.document() == test::small_document());
  g.settle();
}

SCENARIO(accuracy_is_chosen_and_refused_for_doubles) {
  g.load(test::small_document("tiled"));
  g.choose("//Problem/parameters/##accuracy", "tf32");
  CHECK(g.document().accuracy == Accuracy::tf32);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->accuracy_allowed, std::string("tf32"));
  // Doubles are always strict: the rule is said, and nothing changes.
  g.choose("//Problem/parameters/##dtype", "f64");
  CHECK(g.problem().dtype == DType::f32);
  CHECK(g.app.toast().find("f64 is always strict") != std::string::npos);
  g.choose("//Problem/parameters/##dtype", "bf16");
  CHECK(g.problem().dtype == DType::f32);
  CHECK(g.app.toast().find("bf16 is always strict") != std::string::npos);
}
