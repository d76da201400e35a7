// Theoretical occupancy of the launches, what limits it, and what would if block, registers or shared memory were
// others.
#include "profiling/occupancy/occupancy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <nlohmann/json.hpp>

#include "app/ui/panel.h"
#include "app/ui/panels/follow_profile.h"
#include "app/ui/panels/plots.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr int assumed_registers = 32;

// One what-if: where it began and where it is.
struct OccupancyState {
  const GpuArchitecture* architecture = nullptr;  // that is shown
  const GpuArchitecture* own = nullptr;           // of the GPU that it is of; null: it is of none
  std::string gpu;                                // what that GPU is, in words
  bool registers_known = false;
  int64_t multiprocessors = 0;
  std::string seen;      // what the architecture was taken from
  std::string launched;  // whose launches they are: another kernel's begin with the main one
  int launch = 0;
  BlockShape begun, now;
  std::string begun_of;  // the kernel and the launch

  // Curves, made anew when something above changes.
  const GpuArchitecture* drawn_on = nullptr;
  BlockShape drawn;
  std::vector<double> block_at, block, register_at, registers, shared_at, shared;
};

bool same(const BlockShape& a, const BlockShape& b) {
  return a.threads == b.threads && a.registers == b.registers && a.shared_bytes == b.shared_bytes;
}

// The architecture of the GPU that the report is of, here or in a recording; else of the one that is here; without one,
// Hopper. A person's choice stays while that does.
void take_architecture(OccupancyState& s, const Frame& f, const Report& r) {
  struct Found {
    std::string architecture, gpu;
    int64_t multiprocessors = 0;
  } found;
  auto devices = f.bench.inventory().info().find("devices");
  if (r.device_kind == "cuda") {
    found = {r.architecture, r.device_name + (r.recorded.empty() ? "" : ", recorded"), r.multiprocessors};
  } else if (devices != f.bench.inventory().info().end() && devices->is_array()) {
    for (const auto& d : *devices)
      if (found.gpu.empty() && d.value("kind", "") == "cuda")
        found = {d.value("architecture", ""), d.value("name", "") + ", here", d.value("multiprocessors", 0)};
  }
  const std::string seen = found.architecture + " " + found.gpu;
  if (s.architecture && seen == s.seen) return;
  s.seen = seen;
  s.own = find_architecture(found.architecture);
  s.gpu = s.own ? found.gpu : "", s.multiprocessors = s.own ? found.multiprocessors : 0;
  if (s.own || !s.architecture) s.architecture = s.own ? s.own : find_architecture("sm_90");
}

void make_curves(OccupancyState& s) {
  if (s.drawn_on == s.architecture && same(s.drawn, s.now)) return;
  s.drawn_on = s.architecture, s.drawn = s.now;
  const auto& a = *s.architecture;
  auto percent = [&](BlockShape b) { return 100 * occupancy(a, b).fraction(a); };
  s.block_at.clear(), s.block.clear(), s.register_at.clear(), s.registers.clear(), s.shared_at.clear(),
      s.shared.clear();
  for (int n = 32; n <= a.threads_per_block; n += 32)
    s.block_at.push_back(n), s.block.push_back(percent({n, s.now.registers, s.now.shared_bytes}));
  for (int n = 0; n <= a.registers_per_thread; n++)
    s.register_at.push_back(n), s.registers.push_back(percent({s.now.threads, n, s.now.shared_bytes}));
  for (int kib = 0; kib <= a.shared_bytes_per_block / 1024; kib++)
    s.shared_at.push_back(kib), s.shared.push_back(percent({s.now.threads, s.now.registers, int64_t{kib} * 1024}));
}

void curve(Frame& f, const OccupancyState& s, const char* id, const char* axis, const char* unit,
           const std::vector<double>& x, const std::vector<double>& y, double at, double now, ImVec2 size,
           const char* about) {
  const Theme& t = f.theme;
  if (!ImPlot::BeginPlot(id, size, plots::fixed)) return;
  ImPlot::SetupAxes(unit, nullptr, plots::axis, plots::axis);
  ImPlot::SetupAxesLimits(-0.02 * x.back(), x.back() * 1.02, 0, 108, ImPlotCond_Always);
  static constexpr double ticks[] = {0, 50, 100};
  static constexpr const char* names[] = {"0 %", "50 %", "100 %"};
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks, 3, names);
  ImPlotSpec shade = plots::fill(t.kernel, 0.25f);
  shade.Flags = ImPlotStairsFlags_Shaded | ImPlotStairsFlags_PreStep;
  ImPlotSpec steps = plots::line(t.kernel, 1.5f);
  steps.Flags = ImPlotStairsFlags_PreStep;
  shade.LineColor = t.kernel;
  ImPlot::PlotStairs("##shade", x.data(), y.data(), static_cast<int>(x.size()), shade);
  ImPlot::PlotStairs("##steps", x.data(), y.data(), static_cast<int>(x.size()), steps);
  plots::mark_x("##at", at, t.dim);
  ImPlotSpec dot = plots::fill(t.text);
  dot.Marker = ImPlotMarker_Circle, dot.MarkerSize = t.em * 0.3f, dot.MarkerFillColor = dot.MarkerLineColor = t.text;
  ImPlot::PlotScatter("##now", &at, &now, 1, dot);
  ImPlotPoint p;
  if (plots::pointed(p) && ImGui::BeginTooltip()) {
    size_t i = 0;
    while (i + 1 < x.size() && x[i] < p.x) i++;
    ImGui::PushTextWrapPos(t.em * 22);
    ImGui::Text("%s: %g: %.4g %%", axis, x[i], y[i]);
    ImGui::TextDisabled("%s The other two stay as they are. Computed for %s.", about, s.architecture->name);
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
  ImPlot::EndPlot();
  copy_menu(f, (std::string("copy") + id).c_str(), [&] {
    std::string out = fmt::format("{},occupancy_percent\n", axis);
    for (size_t i = 0; i < x.size(); i++) out += fmt::format("{:g},{:g}\n", x[i], y[i]);
    return out;
  });
}

void choose_architecture(Frame& f, OccupancyState& s) {
  ImGui::SetNextItemWidth(-FLT_MIN);
  if (ImGui::BeginCombo("##architecture", s.architecture->name)) {
    for (const auto& a : gpu_architectures())
      if (ImGui::Selectable(a.name, &a == s.architecture)) s.architecture = &a;
    ImGui::EndCombo();
  }
  const auto& a = *s.architecture;
  tooltip(f.theme, fmt::format("A multiprocessor of {}: {} threads, {} blocks, {} registers, {} KiB of shared memory; "
                               "a block: {} threads, {} KiB.\nsource: CUDA C++ Programming Guide, Technical "
                               "Specifications per Compute Capability",
                               a.name, a.threads_per_sm, a.blocks_per_sm, grouped(a.registers_per_sm),
                               a.shared_bytes_per_sm / 1024, a.threads_per_block, a.shared_bytes_per_block / 1024));
  dim_text(f.theme, !s.own                    ? "there is no GPU here: choose any"
                    : s.own == s.architecture ? s.gpu
                                              : "what if: " + s.gpu + " is another");
}

const ProfileHeadline* counted_occupancy(const Profile* p) {
  if (p)
    for (const auto& h : p->headlines)
      if (h.name == "occupancy") return &h;
  return nullptr;
}

// What the counters say that a call reached, beside what it could; or why nobody knows.
void achieved(Frame& f, const OccupancyState& s, const Profile* p) {
  const Theme& t = f.theme;
  const ProfileHeadline* h = counted_occupancy(p);
  if (!h || !h->value) {
    dim_text(t, "achieved: not known: " + (!p                        ? "not profiled yet (F6)"
                                           : h && !h->reason.empty() ? h->reason
                                           : !p->gap.empty()         ? p->gap
                                                                     : std::string("its profile does not have it")));
    return;
  }
  const About about{
      "Warps that were on a multiprocessor while it had any, as a share of what it has room for: the mean over all "
      "kernels of a call. Below the theoretical one by blocks that end at different times and by the last wave.",
      h->formula.c_str(), p->counted_by.c_str()};
  const std::string label = s.own == s.architecture ? "achieved" : "achieved on " + s.gpu;
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  if (ImGui::GetItemRectMax().x + t.em * 7.5f + ImGui::CalcTextSize(label.c_str()).x <= right) {
    ImGui::SameLine(0, t.em * 1.5f);
  }
  ImGui::PushFont(t.code_font, ImGui::GetStyle().FontSizeBase * 1.7f);
  ImGui::TextColored(t.kernel, "%.3g %%", *h->value);
  ImGui::PopFont();
  explain_item(t, about);
  ImGui::SameLine(0, t.em * 0.5f);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + t.em * 0.75f);
  ImGui::TextDisabled("%s", label.c_str());
  explain_item(t, about);
}

// A what-if: the label says what it is, the slider follows.
void slider(Frame& f, const char* label, const char* note, int& v, int low, int high, const char* format,
            const About& about) {
  dim_text(f.theme, note ? fmt::format("{} ({})", label, note) : label);
  ImGui::SetNextItemWidth(-FLT_MIN);
  ImGui::PushFont(f.theme.code_font, 0);
  ImGui::SliderInt(fmt::format("##{}", label).c_str(), &v, low, high, format, ImGuiSliderFlags_AlwaysClamp);
  ImGui::PopFont();
  explain_item(f.theme, about);
}

}  // namespace

void draw_occupancy(Frame& f) {
  static OccupancyState s;
  const Theme& t = f.theme;
  const Report* r = f.report();
  if (!r || r->launches.empty()) {
    empty_state(t, "No launch to look at",
                r ? "This run told nothing of its launches: the verdict says why."
                  : "Run a kernel: its block and shared memory are taken from its launches.");
    return;
  }
  if (!f.bench.profile_of(f.document) && waits_for_a_person(f, r, "Not launched yet")) return;
  follow_with_profile(f);
  source_strip(f, r->recorded, r);
  take_architecture(s, f, *r);
  const Profile* profile = f.bench.profile_of(r->document);
  std::string launched = r->kernel;
  for (const auto& l : r->launches) launched += " " + l.entry;
  // The profile of an old recording may know better, and comes with it.
  if (launched != s.launched) s.launched = launched, s.launch = static_cast<int>(main_launch(*r, profile));
  s.launch = std::clamp(s.launch, 0, static_cast<int>(r->launches.size()) - 1);
  if (r->launches.size() > 1) {
    ImGui::SetNextItemWidth(-FLT_MIN);
    const auto name = [&](int i) {
      return fmt::format("launch {}: {}", i + 1, r->launches[static_cast<size_t>(i)].entry);
    };
    if (ImGui::BeginCombo("##launch", name(s.launch).c_str())) {
      for (int i = 0; i < static_cast<int>(r->launches.size()); i++)
        if (ImGui::Selectable(name(i).c_str(), i == s.launch)) s.launch = i;
      ImGui::EndCombo();
    }
  }
  const auto& launch = r->launches[static_cast<size_t>(s.launch)];
  const int threads =
      static_cast<int>(std::clamp<int64_t>(launch.block[0] * launch.block[1] * launch.block[2], 1, 4096));
  // What the compiler decided is known once a profile has looked at the loaded binary.
  s.registers_known = false;
  BlockShape from{threads, assumed_registers, launch.dynamic_shared_bytes};
  if (profile)
    for (const auto& l : profile->launches)
      if (l.entry == launch.entry && l.registers) {
        s.registers_known = true;
        from.registers = static_cast<int>(*l.registers);
        from.shared_bytes += l.static_shared_bytes.value_or(0);
      }
  // When a profile comes and knows more of the same launch, what was set by hand stays.
  const std::string of = fmt::format("{} {}", launched, s.launch);
  if (of != s.begun_of) s.begun = s.now = from;
  auto follow = [](auto& now, const auto& begun, const auto& to) {
    if (now == begun) now = to;
  };
  follow(s.now.threads, s.begun.threads, from.threads);
  follow(s.now.registers, s.begun.registers, from.registers);
  follow(s.now.shared_bytes, s.begun.shared_bytes, from.shared_bytes);
  s.begun = from, s.begun_of = of;
  choose_architecture(f, s);

  const auto& a = *s.architecture;
  const Occupancy o = occupancy(a, s.now);
  make_curves(s);
  const bool changed = !same(s.now, s.begun);
  ImGui::PushFont(t.code_font, ImGui::GetStyle().FontSizeBase * 1.7f);
  ImGui::TextColored(o.blocks ? t.text : t.wrong, "%.4g %%", 100 * o.fraction(a));
  ImGui::PopFont();
  const About about{
      "Warps that stay on a multiprocessor at once, as a share of what it has room for. More hides more latency; "
      "beyond enough, it does not make a kernel faster.",
      "resident warps / warps a multiprocessor holds", "computed from block, registers and shared memory"};
  explain_item(t, about);
  ImGui::SameLine(0, t.em * 0.5f);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + t.em * 0.75f);
  ImGui::TextDisabled(changed ? "what if" : "theoretical");
  explain_item(t, about);
  achieved(f, s, profile);
  wrapped(limiter_in_words(a, s.now, o));
  ImGui::BeginGroup();
  if (begin_figures("occupancy")) {
    auto room = [&](const char* label, int blocks, const About& what) {
      figure(t, label,
             blocks == Occupancy::no_limit ? "any number" : fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s"),
             what, blocks == o.blocks ? &t.accent : nullptr);
    };
    figure(t, "resident", fmt::format("{} of {} warps", o.warps(), a.warps_per_sm()),
           {"Blocks on a multiprocessor at once, times the warps of a block.", "blocks × ⌈threads / 32⌉", "computed"});
    room("by warps", o.by_warps,
         {"Blocks that the warps of a multiprocessor have room for.",
          "⌊warps of the multiprocessor / warps of a block⌋", "computed"});
    room("by registers", o.by_registers,
         {"Blocks that the register file has room for. A warp takes its registers in units of 256, and each quarter of "
          "a multiprocessor has a quarter of them.",
          "4 · ⌊16384 / registers of a warp⌋ / warps of a block", "computed"});
    room("by shared memory", o.by_shared,
         {"Blocks that shared memory has room for, when the most of the L1 cache is given to it.",
          "⌊shared memory of the multiprocessor / of a block⌋", "computed"});
    room("by blocks", o.by_blocks,
         {"Blocks that a multiprocessor keeps at most, however small they are.", "", "CUDA C++ Programming Guide"});
    const double grid =
        static_cast<double>(launch.grid[0]) * static_cast<double>(launch.grid[1]) * static_cast<double>(launch.grid[2]);
    if (s.multiprocessors > 0 && s.own == s.architecture && o.blocks)
      figure(
          t, "waves", fmt::format("{:.2f}", grid / (static_cast<double>(s.multiprocessors) * o.blocks)),
          {"How often the grid fills the whole GPU. Just above a whole number, the last wave leaves most of it idle.",
           "blocks of the grid / (multiprocessors × resident blocks)", "computed"});
    end_figures();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-occupancy", [&] {
    const ProfileHeadline* h = counted_occupancy(profile);
    const std::string counted =
        h && h->value ? fmt::format("{:.6g},\"{}\"", *h->value, profile->counted_by) : std::string(",\"not known\"");
    return fmt::format(
        "architecture,threads,registers,shared_bytes,blocks,warps,by_warps,by_registers,by_shared,by_blocks,"
        "theoretical_pct,achieved_pct,achieved_source\n\"{}\",{},{},{},{},{},{},{},{},{},{:.6g},{}\n",
        a.name, s.now.threads, s.now.registers, s.now.shared_bytes, o.blocks, o.warps(), o.by_warps, o.by_registers,
        o.by_shared, o.by_blocks, 100 * o.fraction(a), counted);
  });

  heading(t, "What if");
  const float em = t.em;
  const bool assumed = !s.registers_known && s.now.registers == assumed_registers;
  const bool beside = ImGui::GetContentRegionAvail().x > em * 44;
  if (!ImGui::BeginTable("what-if", beside ? 3 : 1,
                         ImGuiTableFlags_SizingStretchSame | ImGuiTableFlags_NoSavedSettings))
    return;
  const double now = 100 * o.fraction(a);
  const auto size = [&] { return ImVec2{ImGui::GetContentRegionAvail().x, em * 7}; };
  ImGui::TableNextColumn();
  slider(f, "threads a block", nullptr, s.now.threads, 1, std::max(a.threads_per_block, s.begun.threads), "%d",
         {"Threads of a block.", "x · y · z", changed ? "set by hand" : "the launch"});
  curve(f, s, "##by-block", "threads a block", nullptr, s.block_at, s.block, s.drawn.threads, now, size(),
        "Occupancy against the block's size.");
  ImGui::TableNextColumn();
  slider(
      f, "registers a thread", assumed ? "assumed" : nullptr, s.now.registers, 1, a.registers_per_thread, "%d",
      {"Registers of a thread. The compiler decides them; without a GPU build they are not known, and 32 are assumed.",
       "",
       assumed   ? "assumed"
       : changed ? "set by hand"
                 : "the loaded binary"});
  curve(f, s, "##by-registers", "registers a thread", nullptr, s.register_at, s.registers, s.drawn.registers, now,
        size(), "Occupancy against registers.");
  ImGui::TableNextColumn();
  int shared = static_cast<int>(s.now.shared_bytes);
  slider(
      f, "shared memory a block", nullptr, shared, 0, std::max(a.shared_bytes_per_block, shared),
      shared >= 1024 ? fmt::format("%d B = {}", bytes_text(shared)).c_str() : "%d B",
      {s.registers_known ? "Shared memory of a block: what the kernel declares itself and what the launch asks for."
                         : "Shared memory of a block: what the launch asks for. What the kernel declares itself comes "
                           "on top: a profile (F6) tells it.",
       "",
       changed             ? "set by hand"
       : s.registers_known ? "the launch and the loaded binary"
                           : "the launch"});
  curve(f, s, "##by-shared", "shared memory, KiB", "KiB", s.shared_at, s.shared,
        static_cast<double>(s.drawn.shared_bytes) / 1024, now, size(), "Occupancy against shared memory.");
  s.now.shared_bytes = shared;
  ImGui::EndTable();
  ImGui::BeginDisabled(!changed);
  if (ImGui::Button("Back to the launch")) s.now = s.begun;
  ImGui::EndDisabled();
  tooltip(t, s.registers_known ? "The block, registers and shared memory that the kernel is launched with"
                               : "The block and shared memory that the kernel is launched with, and 32 registers");
}

}  // namespace convscope::ui
