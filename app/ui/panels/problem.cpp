// Every parameter of the convolution as a control, with its rule.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <limits>
#include <misc/cpp/imgui_stdlib.h>
#include <utility>

#include "app/model/typed_number.h"
#include "app/ui/widgets.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"

namespace convscope::ui {
namespace {

// A number that is being changed may be illegal for a while: then it is a draft, and the last legal problem stays
// shown.
void offer(Frame& f, const ConvProblem& p) {
  if (auto broken = check(p)) {
    f.draft.problem = p, f.draft.of = f.document.problem;
    f.draft.field = broken->field();
    return;
  }
  f.draft = {};
  f.command(SetProblem{p}, true);
}

// What a number of the draft breaks, one rule a line; "": it is none of those that are refused. Where what follows from
// several numbers is refused (the output's length, a tensor's size) all that were changed have a part in it.
std::string rules_of(const Frame& f, const std::vector<InputError>& broken, const ProblemField& field) {
  if (!f.draft.problem) return "";
  const bool changed = (*f.draft.problem).*field.value != f.document.problem.*field.value;
  std::string rules;
  for (const InputError& e : broken) {
    const bool of_several = std::none_of(problem_fields().begin(), problem_fields().end(),
                                         [&](const ProblemField& one) { return e.field() == one.name; });
    if (e.field() == field.name || (of_several && changed))
      rules += (rules.empty() ? "" : "\n") + std::string(e.what());
  }
  return rules;
}

// What a number was before it was pressed: a double click types it, and its first click is not to have moved it.
struct Pressed {
  std::string field;
  ConvProblem before;
};

float thin_handle() { return std::max(3.0f, ImGui::GetFontSize() * 0.2f); }

// How far along its slider a value is, as Dear ImGui's own handle has it; a logarithm's begins at a tenth.
float share_of(int64_t value, const Span& span, bool log) {
  const double low = static_cast<double>(span.low), high = static_cast<double>(span.high),
               v = static_cast<double>(std::clamp(value, span.low, span.high));
  if (!log) return static_cast<float>((v - low) / (high - low));
  constexpr double tenth = 0.1;
  return static_cast<float>(std::log(std::max(v, tenth) / std::max(low, tenth)) /
                            std::log(high / std::max(low, tenth)));
}

// A bar along the lower edge, filled as far as the value is: no digit of the number is covered.
void draw_handle(ImVec2 low, ImVec2 high, float share, ImU32 bar, ImU32 end) {
  constexpr float gap = 2;
  const float wide = thin_handle(), thick = std::max(2.0f, ImGui::GetFontSize() * 0.12f),
              left = low.x + gap + share * (high.x - low.x - 2 * gap - wide), bottom = high.y - gap * 0.5f;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled({low.x + gap, bottom - thick}, {left, bottom}, bar, thick / 2);
  draw->AddRectFilled({left, bottom - 2 * thick}, {left + wide, bottom}, end, thick / 2);
}

// How far the wheel has stepped the last item. Only while Ctrl is down: without it the wheel scrolls the panel,
// whatever number comes to lie under the mouse. What is turned without a pause is one step of undo.
int64_t wheel_steps(Frame& f, const char* name) {
  constexpr double pause = 1;  // seconds
  static struct {
    std::string name;
    double at = -1e9;
    uint64_t gesture = 0;
    float rest = 0;  // of wheels that turn by less than a step
  } turned;
  const ImGuiIO& io = ImGui::GetIO();
  if (!io.KeyCtrl || io.MouseWheel == 0 || ImGui::IsItemActive() || !ImGui::IsItemHovered()) return 0;
  const double since = ImGui::GetTime() - turned.at;
  if (turned.name != name || turned.gesture != f.gesture || !(since >= 0 && since < pause))
    turned = {name, 0, ++f.gesture, 0};
  turned.at = ImGui::GetTime();
  turned.rest += io.MouseWheel * (io.KeyShift ? 10.0f : 1.0f);
  const float whole = std::trunc(turned.rest);
  turned.rest -= whole;
  return static_cast<int64_t>(whole);
}

void parameter(Frame& f, const ProblemField& field, const ConvProblem& shown, const std::string& rules) {
  static Pressed pressed;
  int64_t value = shown.*field.value;
  Span span = slider_span(f.document.problem, field.value);
  span.high = std::clamp(value, span.high, int64_t{1} << 61);  // a slider's range has one bit less than its value
  ImGui::PushID(field.name);
  const bool wrong = !rules.empty();
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  std::string label = field.name;
  std::replace(label.begin(), label.end(), '_', ' ');
  ImGui::TextColored(wrong ? f.theme.warning : f.theme.text, "%s", label.c_str());
  tooltip(f.theme, fmt::format("{}: {}. Drag, or double-click to type (65536, 1e5, 2^16); at least {}. Ctrl+wheel over "
                               "the number steps to the next that is legal, with Shift by ten.",
                               field.name, field.meaning, field.minimum));
  ImGui::TableNextColumn();
  float em = ImGui::GetFontSize(), step = ImGui::GetFrameHeight();
  if (wrong)
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(f.theme.warning.x, f.theme.warning.y, f.theme.warning.z, 0.3f));
  ImGui::PushFont(f.theme.code_font, 0);
  // In a narrow panel the number has the room of the buttons: it is dragged, typed and stepped by the wheel as well.
  const float beside = 2 * step + em * 0.5f, all = ImGui::GetContentRegionAvail().x;
  const bool buttons = all - beside >= 5 * em;
  ImGui::SetNextItemWidth(buttons ? all - beside : all);
  bool log = span.high > 64;
  // Dear ImGui's own handle stands in the number. Of one value alone there is none.
  const bool fixed = span.low == span.high;
  const ImGuiID id = ImGui::GetID("##value");
  const bool typing = ImGui::TempInputIsActive(id);
  for (ImGuiCol_ c : {ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive}) ImGui::PushStyleColor(c, ImVec4(0, 0, 0, 0));
  // Dear ImGui types on Ctrl+click alone; a double click is one here.
  ImGuiIO& io = ImGui::GetIO();
  const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + ImGui::CalcItemWidth(), at.y + ImGui::GetFrameHeight()};
  const bool twice = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && ImGui::IsWindowHovered() &&
                     ImGui::IsMouseHoveringRect(at, end) && pressed.field == field.name && !io.KeyCtrl;
  const bool back = twice && !(pressed.before == shown);
  if (back) value = pressed.before.*field.value;
  const bool control = std::exchange(io.KeyCtrl, io.KeyCtrl || twice);
  ImGui::PushStyleVar(ImGuiStyleVar_GrabMinSize, thin_handle());
  bool changed = ImGui::SliderScalar("##value", ImGuiDataType_S64, &value, &span.low, &span.high, "%lld",
                                     log ? ImGuiSliderFlags_Logarithmic : 0);
  ImGui::PopStyleVar();
  io.KeyCtrl = control;
  // Dear ImGui reads digits alone: of 1e9 the 1.
  if (typing && !ImGui::TempInputIsActive(id))
    if (ImGuiInputTextState* state = ImGui::GetInputTextState(id)) {
      const auto typed = typed_number(state->GetText());
      if (!typed && *state->GetText()) f.toast(fmt::format("{}: {} is no whole number", label, state->GetText()));
      value = typed.value_or(shown.*field.value);
      changed = value != shown.*field.value;
    }
  if (ImGui::IsItemActivated() && !twice) pressed = {field.name, shown};
  if (const int64_t steps = wheel_steps(f, field.name)) {
    value = stepped(shown, field.value, steps);
    changed |= value != shown.*field.value;
  }
  ImGui::PopStyleColor(2);
  if (!fixed && !ImGui::TempInputIsActive(id))
    draw_handle(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), share_of(value, span, log),
                packed(f.theme.accent, 0.55f), packed(f.theme.accent));
  ImGui::PopFont();
  if (wrong) ImGui::PopStyleColor();
  if (wrong) tooltip(f.theme, rules);
  if (buttons) {
    ImGui::SameLine(0, em * 0.25f);
    ImGui::PushItemFlag(ImGuiItemFlags_ButtonRepeat, true);
    constexpr int64_t most = std::numeric_limits<int64_t>::max();  // of what can be typed
    if (ImGui::Button("-", {step, 0})) value = std::max(value, -most) - 1, changed = true;
    ImGui::SameLine(0, em * 0.25f);
    if (ImGui::Button("+", {step, 0})) value = std::min(value, most - 1) + 1, changed = true;
    ImGui::PopItemFlag();
  }
  if (back)
    offer(f, pressed.before);
  else if (changed)
    offer(f, with(shown, field.value, value));
  ImGui::PopID();
}

void presets_row(Frame& f) {
  std::vector<Choice> all;
  for (const auto& p : presets()) all.push_back({p.name, p.about});
  std::string now = preset_in_words(f.document.problem), chosen;
  if (choose("##preset", all, now.empty() ? "custom problem" : now, chosen, -FLT_MIN)) {
    f.draft = {};
    f.command(LoadPreset{chosen});
  }
  tooltip(f.theme, "Named problems: the three KernelBench tasks, full and small, and layers of published models.");
}

// legal: of a problem that is not, a length would be taken for one that an output can have.
void formula(Frame& f, const ConvProblem& p, bool legal) {
  auto n = [](int64_t v) { return static_cast<long long>(v); };
  ImGui::PushFont(f.theme.code_font, 0);
  wrapped("Lout = (L−1)·s − 2p + d·(K−1) + op + 1");
  // A draft may hold any numbers.
  __int128 length = (p.length - __int128{1}) * p.stride - __int128{2} * p.padding +
                    p.dilation * (p.kernel_size - __int128{1}) + p.output_padding + 1;
  std::string numbers =
      fmt::format("= ({}−1)·{} − 2·{} + {}·({}−1) + {} + 1 = {}", n(p.length), n(p.stride), n(p.padding), n(p.dilation),
                  n(p.kernel_size), n(p.output_padding), legal || length <= 0 ? fmt::format("{}", length) : "–");
  ImGui::PushStyleColor(ImGuiCol_Text, legal && length > 0 ? f.theme.accent : f.theme.warning);
  wrapped(numbers);
  ImGui::PopStyleColor();
  ImGui::PopFont();
  explain_item(f.theme, {"Output length. Element y[n, co, j] gathers every input i and tap k with", "j = i·s − p + k·d",
                         "torch.nn.ConvTranspose1d"});
}

const char* accuracy_words(Accuracy a) {
  switch (a) {
    case Accuracy::strict:
      return "Products and sums as in f32: fused multiply-adds, or what is no less accurate";
    case Accuracy::tf32x3:
      return "Three TF32 products of tensor cores for each: nearly as accurate as f32";
    case Accuracy::tf32:
      return "Factors cut to TF32 (10 fraction bits) for tensor cores, sums in f32: what PyTorch calls allow_tf32";
  }
  return "";
}

void accuracy_row(Frame& f, DType type) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("accuracy");
  ImGui::TableNextColumn();
  ImGui::SetNextItemWidth(-FLT_MIN);
  // Other types than f32 have one.
  ImGui::BeginDisabled(type != DType::f32 && f.document.accuracy == Accuracy::strict);
  if (ImGui::BeginCombo("##accuracy", std::string(name_of(f.document.accuracy)).c_str())) {
    for (Accuracy a : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
      if (ImGui::Selectable(std::string(name_of(a)).c_str(), a == f.document.accuracy)) f.command(SetAccuracy{a});
      tooltip(f.theme, accuracy_words(a));
    }
    ImGui::EndCombo();
  }
  ImGui::EndDisabled();
  tooltip(f.theme,
          "What a kernel may do with f32 problems; it sets the unit round-off of the bound. A kernel that is less "
          "accurate than asked is wrong, and the ladder compares those that are accurate enough.");
}

void source_row(Frame& f, const char* label, Role role, const TensorSource& now) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(label);
  ImGui::TableNextColumn();
  ImGui::PushID(label);
  std::string name = now.file;
  for (const auto& k : input_kinds)
    if (k.kind == now.kind) name = k.name;
  ImGui::SetNextItemWidth(-FLT_MIN);
  if (ImGui::BeginCombo("##kind", name.c_str())) {
    for (const auto& k : input_kinds) {
      if (ImGui::Selectable(k.name, k.kind == now.kind)) f.command(SetSource{role, {k.kind, {}, {}}});
      tooltip(f.theme, k.meaning);
    }
    ImGui::TextDisabled("or drop a .npy / .npz file on the window");
    ImGui::EndCombo();
  }
  ImGui::PopID();
}

}  // namespace

void draw_problem(Frame& f) {
  const ConvProblem& shown = f.draft.problem ? *f.draft.problem : f.document.problem;
  const std::vector<InputError> broken = f.draft.problem ? broken_rules(shown) : std::vector<InputError>();
  presets_row(f);
  if (ImGui::BeginTable("parameters", 2, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings)) {
    ImGui::TableSetupColumn("name");
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    for (const auto& field : problem_fields()) parameter(f, field, shown, rules_of(f, broken, field));
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("bias");
    ImGui::TableNextColumn();
    ConvProblem p = shown;
    if (checkbox("##bias", &p.bias)) offer(f, p);
    ImGui::SameLine(0, ImGui::GetFontSize());
    ImGui::SetNextItemWidth(-FLT_MIN);
    if (ImGui::BeginCombo("##dtype", std::string(name_of(p.dtype)).c_str())) {
      for (const auto& t : dtype_table)
        if (ImGui::Selectable(t.name.data(), t.dtype == p.dtype)) {
          p.dtype = t.dtype;
          offer(f, p);
        }
      ImGui::EndCombo();
    }
    tooltip(f.theme,
            "Element type of all tensors: f32 (single), f64 (double), f16 (half) or bf16 (bfloat16). f16 and bf16 are "
            "summed in f32 and rounded once. Accuracies other than strict are for f32.");
    accuracy_row(f, shown.dtype);
    ImGui::EndTable();
  }
  if (f.draft.problem) {
    ImGui::PushStyleColor(ImGuiCol_Text, f.theme.warning);
    for (const InputError& e : broken) wrapped(e.what());
    ImGui::PopStyleColor();
    dim_text(f.theme, "The last legal problem stays shown.");
    if (ImGui::SmallButton("Take back")) f.draft = {};
  }
  formula(f, shown, !f.draft.problem);
  const ConvProblem& p = f.document.problem;
  if (begin_figures("sizes")) {
    static ConvProblem of;
    static int64_t taps = 0, zeros = 0;
    if (!(of == p) || !taps) of = p, taps = useful_taps(p), zeros = structural_zeros(p);
    figure(f.theme, "input", fmt::format("[{}, {}, {}]", p.batch, p.in_channels, p.length),
           {"Shape of x", "[N, Cin, L]", "given"});
    figure(f.theme, "output", fmt::format("[{}, {}, {}]", p.batch, p.out_channels, p.out_length()),
           {"Shape of y", "[N, Cout, Lout]", "computed"});
    figure(f.theme, "elements", grouped(p.y_elements()), {"Output elements", "N·Cout·Lout", "computed"});
    figure(f.theme, "work", operations_text(2.0 * static_cast<double>(taps)),
           {"Multiply-adds that land on the output, two operations each; Lout·K would over-count by about the stride",
            "2·N·Cin·(Cout/groups)·|{(i, k): 0 ≤ i·s − p + k·d < Lout}|", "computed"});
    figure(f.theme, "least traffic", bytes_text(static_cast<double>(least_bytes(p))),
           {"x, w and b read once, y written once", "", "computed"});
    figure(f.theme, "structural zeros", grouped(zeros),
           {"Outputs that no tap reaches: exactly the bias", "", "computed"});
    end_figures();
  }
  heading(f.theme, "INPUTS");
  if (ImGui::BeginTable("inputs", 2, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings)) {
    ImGui::TableSetupColumn("name");
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
    source_row(f, "input x", Role::input, f.document.inputs.x);
    source_row(f, "weight w", Role::weight, f.document.inputs.w);
    if (p.bias) source_row(f, "bias b", Role::bias, f.document.inputs.b);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("seed");
    ImGui::TableNextColumn();
    uint64_t seed = f.document.inputs.seed, one = 1;
    ImGui::SetNextItemWidth(-FLT_MIN);
    bool other = ImGui::InputScalar("##seed", ImGuiDataType_U64, &seed, &one);
    if (const int64_t steps = wheel_steps(f, "seed")) {
      const auto by = static_cast<uint64_t>(std::abs(steps));
      seed = steps < 0 ? seed - std::min(seed, by) : seed + std::min(~seed, by), other = true;
    }
    if (other) f.command(SetSeed{seed}, true);
    tooltip(f.theme,
            "The random generator's seed, as torch.manual_seed: weights and bias are drawn, it is set again, the input "
            "is drawn.");
    ImGui::EndTable();
  }
}

}  // namespace convscope::ui
