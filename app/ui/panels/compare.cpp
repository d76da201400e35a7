// Two kernels side by side on this problem: times taken in turn with a verdict, and every counter of both.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <utility>

#include "app/ui/panel.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

struct State {
  const Workbench* of = nullptr;
  std::string other, before, kernel;  // with which; the kernel before this one; this one
  bool chosen = false;                // `other`, by a person
  uint64_t asked_for = 0;             // the comparison whose counters were asked for
  bool asked_first = false, asked_second = false;
};

Document with_kernel(const Document& d, const std::string& kernel) {
  Document other = d;
  other.kernel = kernel;
  return other;
}

// The counters of a kernel; a recording may hold it at its own accuracy only.
const Profile* counters_of(const Frame& f, const Document& d, const std::string& kernel) {
  Document other = with_kernel(d, kernel);
  const Profile* p = f.bench.profile_of(other);
  return p || !f.bench.recorded().is_open() ? p : f.bench.profile_of(f.bench.recorded().nearest(other));
}

const KernelEntry* entry_of(const Frame& f, const std::string& name) {
  for (const auto& k : f.bench.kernels())
    if (k.name == name) return &k;
  return nullptr;
}

// It runs here, or was recorded.
bool can_stand(const Frame& f, const KernelEntry& k) {
  return k.available || (f.bench.shows_recorded(f.document) && f.bench.recorded().holds_kernel(f.document, k.name));
}

// Whom to compare with when nobody was chosen: the kernel before this one, else what the window compares pictures with,
// else the first of ours.
std::string guess(const Frame& f, const State& s) {
  auto fits = [&](const std::string& name) {
    const KernelEntry* k = entry_of(f, name);
    return k && can_stand(f, *k) && name != f.document.kernel && name != "oracle";
  };
  if (f.bench.shows_recorded(f.document)) {
    // What was timed in turn with it.
    auto recorded = [&](const std::string& name) {
      return fits(name) && f.bench.recorded().comparison(f.document, name);
    };
    for (const std::string& name : {s.before, f.document.compare_with, std::string("cudnn"), std::string("cudnn-tf32")})
      if (recorded(name)) return name;
    for (const auto& k : f.bench.kernels())
      if (recorded(k.name)) return k.name;
  }
  if (fits(s.before)) return s.before;
  const Report* r = f.report();
  if (r && r->device_kind == "cuda" && fits(f.document.compare_with)) return f.document.compare_with;
  for (const auto& k : f.bench.kernels())
    if (k.kind == "ladder" && fits(k.name)) return k.name;
  return "";
}

// Times come first; the counters of both follow, one after the other.
void ask_counters(Frame& f, State& s, const KernelComparison& c) {
  if (!c.recorded.empty()) return;
  if (s.asked_for != c.serial) s.asked_for = c.serial, s.asked_first = s.asked_second = false;
  if (f.bench.running() || f.bench.profiling()) return;
  auto ask = [&](bool& asked, const std::string& kernel) {
    Document d = with_kernel(c.document, kernel);
    if (asked || f.bench.profile_of(d)) return false;
    asked = true;
    f.wish([d](Workbench& b) { b.want_profile(d, false); });
    return true;
  };
  if (!ask(s.asked_first, c.first.name)) ask(s.asked_second, c.second.name);
}

void choice_of_other(Frame& f, State& s) {
  const Theme& t = f.theme;
  float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, t.kernel);
  ImGui::TextUnformatted(f.document.kernel.c_str());
  ImGui::PopStyleColor();
  ImGui::SameLine();
  ImGui::TextDisabled("with");
  ImGui::SameLine();
  std::vector<Choice> all;
  for (const auto& k : f.bench.kernels())
    if (can_stand(f, k) && k.name != f.document.kernel && k.name != "oracle") all.push_back({k.name, k.idea});
  std::string chosen;
  float need =
      ImGui::CalcTextSize("Compare").x + ImGui::GetStyle().FramePadding.x * 2 + ImGui::GetStyle().ItemSpacing.x;
  float width = std::clamp(ImGui::GetContentRegionAvail().x - need, t.em * 6, t.em * 14);
  if (choose("##other", all, s.other, chosen, width)) s.other = chosen, s.chosen = true;
  if (ImGui::GetItemRectMax().x + need <= right + 1) ImGui::SameLine();
  if (f.bench.profiling()) {
    ImGui::TextColored(t.accent, "measuring…");
    tooltip(t, "Esc cancels it");
    f.again_in(0.25);
    return;
  }
  bool can = !s.other.empty() && !f.bench.running(), asked = std::exchange(f.compare, false);
  ImGui::BeginDisabled(!can);
  if (ImGui::Button("Compare") || (asked && can))
    f.wish([d = f.document, other = s.other](Workbench& b) {
      b.show_live(true);
      b.want_comparison(d, other);
    });
  ImGui::EndDisabled();
  tooltip(t, "Times both in turn, so that what drifts drifts for both, and counts both (F7)");
}

std::string sentence_of(const KernelComparison& c) {
  const ComparedTime& v = c.first.hot;
  const std::string &a = c.first.name, &b = c.second.name;
  if (v.verdict == "SAME") return fmt::format("{} and {} take the same time", a, b);
  if (v.verdict == "AMBIGUOUS") return fmt::format("Which of {} and {} is faster is not certain", a, b);
  if (!v.speedup) return "";
  double by = *v.speedup >= 1 ? *v.speedup : 1 / *v.speedup;
  return fmt::format("{} is {:.3g} times as fast as {}", *v.speedup >= 1 ? a : b, by, *v.speedup >= 1 ? b : a);
}

void verdict(Frame& f, const KernelComparison& c) {
  const Theme& t = f.theme;
  const ComparedTime& v = c.first.hot;
  if (std::string s = sentence_of(c); !s.empty()) {
    ImGui::PushFont(t.bold_font, 0);
    wrapped(s);
    ImGui::PopFont();
    dim_text(t, fmt::format("{}: {}", v.verdict, v.evidence));
    if (!c.first.cold.verdict.empty())
      dim_text(t, fmt::format("cold, {}: {}", c.first.cold.verdict, c.first.cold.evidence));
  }
  ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  for (const auto* side : {&c.first, &c.second}) {
    if (!side->reason.empty()) wrapped(fmt::format("{} was not measured: {}", side->name, side->reason));
    if (!side->doubt.empty()) wrapped(fmt::format("{}: {}", side->name, side->doubt));
  }
  if (v.verdict.empty() && !v.reason.empty()) wrapped("no verdict: " + v.reason);
  if (!c.reason.empty()) wrapped(c.reason);
  for (const auto& w : c.warnings) wrapped(w);
  ImGui::PopStyleColor();
}

// One row: a figure of both.
struct Row {
  std::string name, unit, first, second, about;
  std::optional<double> a, b;
};

std::string times_of(const Row& r) {
  if (!r.a || !r.b || *r.b == 0) return r.a && r.b && *r.a == *r.b ? "same" : "";
  double ratio = *r.a / *r.b;
  if (ratio == 1) return "same";
  return ratio < 10 ? fmt::format("{:.2f}×", ratio) : fmt::format("{:.3g}×", ratio);
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::vector<Row> rows_of(const Frame& f, const KernelComparison& c) {
  std::vector<Row> rows;
  auto time = [&](const char* name, const std::optional<double>& a, const std::optional<double>& b,
                  const std::string& about) {
    auto words = [](const std::optional<double>& v) { return v ? time_text(*v) : std::string("–"); };
    if (a || b) rows.push_back({name, "ms", words(a), words(b), about + "\nsource: " + c.source, a, b});
  };
  auto number = [&](std::string name, std::string unit, const std::optional<double>& a, const std::optional<double>& b,
                    std::string about) {
    auto words = [](const std::optional<double>& v) {
      if (!v) return std::string("–");
      return *v >= 1e4 ? grouped(std::llround(*v)) : fmt::format("{:.4g}", *v);
    };
    // Units stand beside the name, where there is room, unless it says them.
    if (!unit.empty() && unit != "×" && name.find(unit) == std::string::npos) name += ", " + unit;
    if (a || b) rows.push_back({std::move(name), unit, words(a), words(b), std::move(about), a, b});
  };
  const auto &x = c.first, &y = c.second;
  auto median = [&](const char* name, const ComparedTime& a, const ComparedTime& b, std::string about) {
    for (const auto& [kernel, t] : {std::pair(&x, &a), std::pair(&y, &b)})
      if (t->low_ms && t->high_ms)
        about += fmt::format("\n{}: {} to {}, at 95 %", kernel->name, time_text(*t->low_ms), time_text(*t->high_ms));
    time(name, a.median_ms, b.median_ms, about);
  };
  median("median, hot", x.hot, y.hot, "Median of samples taken in turn, data in the cache.");
  median("median, cold", x.cold, y.cold, "With the L2 cache flushed before each sample.");
  number("noise", "%", x.hot.noise_pct, y.hot.noise_pct, "Half of all samples lie within this of the median.");
  time("floor", x.floor_ms, y.floor_ms, "What bytes and the arithmetic of each allow.");
  number("× floor", "×", x.times_floor, y.times_floor, "Hot median over the floor of its own arithmetic.");
  const Profile *p = counters_of(f, c.document, x.name), *q = counters_of(f, c.document, y.name);
  auto headline = [](const Profile* of, const std::string& name) -> const ProfileHeadline* {
    if (of)
      for (const auto& h : of->headlines)
        if (h.name == name) return &h;
    return nullptr;
  };
  if (const Profile* any = p ? p : q)
    for (const auto& h : any->headlines) {
      const ProfileHeadline *a = headline(p, h.name), *b = headline(q, h.name);
      number(h.title, unit_text(h.unit), a ? a->value : std::nullopt, b ? b->value : std::nullopt,
             fmt::format("{}\n{}\nGood: {}.\nsource: {}", h.meaning, h.formula, h.good, any->counted_by));
    }
  auto value = [](const Profile* of, const std::string& name) -> std::optional<double> {
    if (of)
      for (const auto& v : of->values)
        if (v.name == name) return v.value;
    return {};
  };
  if (const Profile* any = p ? p : q)
    for (const auto& v : any->values)
      number(spaced(v.name), v.unit == "1" ? "" : v.unit, value(p, v.name), value(q, v.name),
             fmt::format("Set {}.\nsource: {}", v.set, any->counted_by));
  auto launch = [](const Profile* of, auto field) -> std::optional<double> {
    if (!of || of->launches.empty()) return {};
    const auto& l = of->launches.back();  // the one after all preparing
    return field(l) ? std::optional(static_cast<double>(*field(l))) : std::nullopt;
  };
  std::string source;
  for (const Profile* of : {q, p})
    if (of && !of->launches.empty()) source = of->launches.back().source;
  auto of_launch = [&](const char* name, const char* unit, auto field) {
    number(name, unit, launch(p, field), launch(q, field), "Of the last launch.\nsource: " + source);
  };
  of_launch("registers a thread", "", [](const ProfileLaunch& l) { return l.registers; });
  of_launch("shared memory, static", "bytes", [](const ProfileLaunch& l) { return l.static_shared_bytes; });
  of_launch("shared memory, dynamic", "bytes", [](const ProfileLaunch& l) { return l.dynamic_shared_bytes; });
  of_launch("theoretical occupancy", "%", [](const ProfileLaunch& l) { return l.occupancy_pct; });
  return rows;
}

void table(Frame& f, const KernelComparison& c) {
  const Theme& t = f.theme;
  std::vector<Row> rows = rows_of(f, c);
  ImGui::BeginGroup();
  constexpr auto flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings;
  if (ImGui::BeginTable("compare", 4, flags)) {
    ImGui::TableSetupColumn("figure", ImGuiTableColumnFlags_WidthStretch, 2.2f);
    ImGui::TableSetupColumn(c.first.name.c_str(), ImGuiTableColumnFlags_WidthStretch, 1.4f);
    ImGui::TableSetupColumn(c.second.name.c_str(), ImGuiTableColumnFlags_WidthStretch, 1.4f);
    ImGui::TableSetupColumn("first / second", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", c.source.c_str());
    ImGui::TableNextColumn();
    right_aligned(c.first.name, t.kernel);
    ImGui::TableNextColumn();
    right_aligned(c.second.name, t.reference);
    ImGui::TableNextColumn();
    right_aligned("ratio", t.dim);
    tooltip(t, "The first over the second");
    for (const auto& r : rows) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(r.name.c_str());
      tooltip(t, r.about);
      ImGui::PushFont(t.code_font, 0);
      ImGui::TableNextColumn();
      right_aligned(r.first, r.a ? t.text : t.dim);
      ImGui::TableNextColumn();
      right_aligned(r.second, r.b ? t.text : t.dim);
      ImGui::TableNextColumn();
      std::string ratio = times_of(r);
      right_aligned(ratio, ratio == "same" ? t.dim : t.text);
      ImGui::PopFont();
    }
    ImGui::EndTable();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-comparison", [&] {
    auto field = [](const std::optional<double>& v) { return v ? fmt::format("{:.9g}", *v) : std::string(); };
    std::string out = fmt::format("figure,unit,{},{},source\n", c.first.name, c.second.name);
    for (const auto& r : rows)
      out += fmt::format("\"{}\",{},{},{},{}\n", r.name, r.unit, field(r.a), field(r.b), c.source);
    return out;
  });
  for (const std::string& kernel : {c.first.name, c.second.name})
    if (const Profile* p = counters_of(f, c.document, kernel); p && !p->gap.empty())
      dim_text(t, fmt::format("{}: {}", kernel, p->gap));
  dim_text(t, fmt::format("{} rounds, taken in turn. Nothing here is judged: the verdict says what is right.",
                          grouped(c.rounds)));
}

}  // namespace

void draw_compare(Frame& f) {
  static State s;
  const Theme& t = f.theme;
  if (s.of != &f.bench) s = {}, s.of = &f.bench, s.kernel = f.document.kernel;
  if (s.kernel != f.document.kernel) {
    s.before = s.kernel, s.kernel = f.document.kernel;
    if (!s.chosen || s.other == s.kernel) s.other = s.before, s.chosen = false;
  }
  const bool recorded = f.bench.shows_recorded(f.document);
  if (s.other.empty() || !entry_of(f, s.other) ||
      (recorded && !s.chosen && !f.bench.recorded().comparison(f.document, s.other)))
    s.other = guess(f, s);
  choice_of_other(f, s);
  if (!f.bench.profile_trouble().empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("not measured: " + f.bench.profile_trouble());
    ImGui::PopStyleColor();
  }
  const KernelComparison* c = f.bench.comparison_of(f.document, s.other);
  if (recorded && (!c || c->recorded.empty()))
    dim_text(t, fmt::format("The recording ({}) holds no comparison with {}: they were not timed in turn.",
                            f.bench.recorded().source(), s.other.empty() ? "another kernel" : s.other));
  else
    source_strip(f, c ? c->recorded : "");
  if (!c) {
    if (!f.bench.profiling())
      empty_state(t, "Nothing compared yet",
                  "Choose the other kernel, then Compare: who is faster, and every counter of both.");
    return;
  }
  ask_counters(f, s, *c);
  if (Document now = with_kernel(f.document, c->first.name); needs_run(c->document, now)) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("of " + describe_change(now, c->document));
    ImGui::PopStyleColor();
  }
  verdict(f, *c);
  table(f, *c);
}

}  // namespace convscope::ui
