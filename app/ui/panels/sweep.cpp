// Kernels over one parameter of the problem: where they are right, and how their times grow beside the floor.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>
#include <misc/cpp/imgui_stdlib.h>
#include <optional>

#include "app/model/floor.h"
#include "app/ui/panel.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/sweep_picture.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

// Both sides of "stride=1..8", as they are typed.
struct Over {
  std::string field, values;
};
Over over_of(const std::string& text) {
  const size_t at = text.find('=');
  return at == text.npos ? Over{"stride", text} : Over{text.substr(0, at), text.substr(at + 1)};
}

void set_over(Frame& f, const Over& over) {
  Settings s = f.settings;
  s.sweep_over = over.field + "=" + over.values;
  f.out.push_back(SetSettings{s});
}

void choose_axis(Frame& f, const std::string& rule) {
  const Theme& t = f.theme;
  const Over now = over_of(f.settings.sweep_over);
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("over");
  ImGui::SameLine();
  static const std::vector<Choice> fields = [] {
    std::vector<Choice> all;
    for (const auto& p : problem_fields()) {
      all.push_back({p.name, p.meaning});
      if (std::string_view(p.name) == "out_channels") all.push_back({"in_channels,out_channels", "both alike"});
    }
    return all;
  }();
  if (std::string chosen; choose("##field", fields, now.field, chosen, t.em * 9))
    set_over(f, {chosen, usual_values(chosen)});
  tooltip(t, "The parameter that is swept; all others are those of the problem");
  beside_if_fits(t.em * 8);
  std::string values = now.values;
  ImGui::SetNextItemWidth(t.em * 8);
  if (!rule.empty()) ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  if (ImGui::InputText("##values", &values)) set_over(f, {now.field, values});
  if (!rule.empty()) ImGui::PopStyleColor();
  if (rule.empty() && !ImGui::IsItemActive())  // what is wrong with them stands below
    tooltip(t,
            "1..8: each value, or doubled where those are more than 32 · 64..512*2: multiplied · 3..25+2: in steps · "
            "1,2,5: these");
}

void choose_kernels(Frame& f) {
  const Theme& t = f.theme;
  const auto& with = f.settings.sweep_with;
  const std::string label = with.empty()             ? "with no other"
                            : with.size() > 1        ? fmt::format("with {} others", with.size())
                            : with[0] == auto_kernel ? "with auto's choice"
                                                     : "with " + file_name(with[0]);
  if (button_beside(label + "###with")) ImGui::OpenPopup("with");
  tooltip(t, "Kernels and references that are swept beside the chosen one");
  if (!ImGui::BeginPopup("with")) return;
  static ImGuiTextFilter filter;
  if (ImGui::IsWindowAppearing()) filter.Clear();
  ImGui::SetNextItemWidth(t.em * 16);
  if (ImGui::InputTextWithHint("##filter", "filter", filter.InputBuf, sizeof filter.InputBuf)) filter.Build();
  auto row = [&](const std::string& name, const std::string& about) {
    if (!filter.PassFilter(name.c_str()) && !filter.PassFilter(about.c_str())) return;
    bool on = std::find(with.begin(), with.end(), name) != with.end();
    ImGui::PushID(name.c_str());
    if (checkbox(file_name(name).c_str(), &on)) {
      Settings s = f.settings;
      if (on)
        s.sweep_with.push_back(name);
      else
        std::erase(s.sweep_with, name);
      f.out.push_back(SetSettings{s});
    }
    ImGui::PopID();
    if (!about.empty()) ImGui::SameLine(), ImGui::TextDisabled("%s", about.c_str());
  };
  if (ImGui::BeginChild("list", {t.em * 34, t.em * 20})) {
    row(auto_kernel, "the planner's choice at each value");
    for (const auto& k : f.bench.inventory().kernels())
      if (k.name != f.document.kernel && k.name != "oracle" && k.kind != "test") row(k.name, k.idea);
  }
  ImGui::EndChild();
  ImGui::EndPopup();
}

// Cells that nothing is asked for stay empty: why, where one looks for their verdicts. "": there are none.
std::string not_judged_words(const Sweep& s) {
  size_t without = 0, all = 0;
  std::string why;
  for (const auto& p : s.points())
    for (const auto& e : p.entries) {
      if (e.reference) continue;
      all++;
      if (e.status || !e.sentence.starts_with("not judged: ")) continue;
      if (!without++) why = e.sentence;
    }
  return without ? fmt::format("{} of {} {}", grouped(static_cast<int64_t>(without)),
                               grouped(static_cast<int64_t>(all)), why)
                 : "";
}

void controls(Frame& f, const Sweeping& full, const SweepSpec* wish, const std::string& rule) {
  const Theme& t = f.theme;
  if (wish && f.bench.sweeps().can_go_on(*wish)) {
    if (button_beside("Go on")) f.act("sweep");
    tooltip(t, "From where it was stopped; what has come stays (F10)");
    if (button_beside("Anew")) f.wish([spec = *wish](Workbench& b) { b.sweeps().begin(spec); });
    tooltip(t, "All of it once more");
    return;
  }
  if (!full.running) {
    ImGui::BeginDisabled(!rule.empty());
    if (button_beside("Sweep")) f.act("sweep");
    ImGui::EndDisabled();
    tooltip(t, "Judges every kernel at every value, and on a GPU times them there, samples taken in turn (F10)");
    return;
  }
  if (button_beside("Stop")) f.act("sweep");
  tooltip(t, "What has come stays (F10, Esc)");
  beside_if_fits(t.em * 8);
  ImGui::ProgressBar(static_cast<float>(full.sweep->share_done()), {t.em * 8, 0}, "");
  tooltip(t, full.now);
  f.again_in(0.1);
}

}  // namespace

void draw_sweep(Frame& f) {
  const Theme& t = f.theme;
  std::optional<SweepSpec> wish;
  std::string rule;
  try {
    wish = sweep_of(f.document, axis_from(f.settings.sweep_over), f.bench.inventory().known_of(f.settings.sweep_with));
    Sweep{*wish};
  } catch (const InputError& e) {
    rule = e.what();
    wish.reset();
  }
  const Sweeping& full = f.bench.sweeps().now();
  choose_axis(f, rule);
  choose_kernels(f);
  controls(f, full, wish ? &*wish : nullptr, rule);
  if (!rule.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(rule);
    ImGui::PopStyleColor();
    return;
  }
  const bool whole = full.sweep && same_sweep(full.asked, *wish);
  if (!whole) f.wish([spec = *wish](Workbench& b) { b.sweeps().want_preview(spec); });
  const Sweeping& preview = f.bench.sweeps().preview();
  const Sweeping& shown = whole ? full : preview;
  if (!shown.sweep) {
    empty_state(t, "Asking for times", "The planner's model says what each rung would take.");
    return;
  }
  if (!shown.trouble.empty() && shown.trouble != "stopped") {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(shown.trouble);
    ImGui::PopStyleColor();
  }
  // Until the next one is whole; a parameter that moves changes little in it, other kernels all of it.
  const bool of_others =
      !whole && (shown.asked.kernels != wish->kernels || shown.asked.axis.name() != wish->axis.name());
  if (of_others)
    coloured(t.warning, fmt::format("stale: this is of {} over {}", fmt::join(shown.asked.kernels, ", "),
                                    shown.asked.axis.name()));
  if (whole) {
    for (const auto& s : full.sentences) wrapped(s);
    if (const std::string words = not_judged_words(*full.sweep); !words.empty()) coloured(t.warning, words);
    if (full.trouble == "stopped") dim_text(t, "stopped: what is missing has not been asked yet");
  } else if (full.sweep) {
    dim_text(t, full.running ? "A sweep of another problem is under way"
                             : "Verdicts are of another problem or axis: Sweep (F10) asks anew");
  } else {
    dim_text(t, "Sweep (F10) judges each kernel at each value, and times them where there is a GPU");
  }
  static bool of_floor = false;
  if (!shown.times.empty()) {
    if (radio_button("time", !of_floor)) of_floor = false;
    ImGui::SameLine();
    if (radio_button("times the floor", of_floor)) of_floor = true;
    explain_item(t, {floor_rule, floor_formula, "computed"});
    ImGui::SameLine(0, t.em);
    ImGui::AlignTextToFramePadding();
    dim_text(t, shown.times);
  } else if (!shown.running) {
    dim_text(t, "No times: the planner's model knows the rungs alone, and nothing was timed on a GPU");
  }
  if (of_others) ImGui::PushStyleVar(ImGuiStyleVar_Alpha, stands_back);
  draw_sweep_picture(f, *shown.sweep, of_floor);
  if (of_others) ImGui::PopStyleVar();
}

}  // namespace convscope::ui
