// What the hardware (or the emulator's trace) counted while the kernel ran, and what limits it, in one sentence.
#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>
#include <map>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/ui/panel.h"
#include "app/ui/panels/follow_profile.h"
#include "app/ui/panels/monitor.h"
#include "app/ui/widgets.h"
#include "profiling/metrics/figures.h"

namespace convscope::ui {
namespace {

std::string value_of(const ProfileHeadline& h) {
  if (!h.value) return "–";
  std::string unit = unit_text(h.unit);
  if (h.unit == "ms") return time_text(*h.value);
  if (unit == "×") return fmt::format("{:.2f}×", *h.value);
  if (unit == "%" && *h.value > 100) return "≈100 %";  // what it is a share of was counted in another pass
  return fmt::format("{:.3g}{}{}", *h.value, unit.empty() ? "" : " ", unit);
}

// Where the emulator counts: what keeps this machine from counting on a GPU.
void no_gpu_here(const Frame& f) {
  using json_fields::text;
  for (const auto& piece : json_fields::part(f.bench.inventory().info(), "pieces"))
    if (text(piece, "name") == "NVIDIA driver and GPU" && piece.value("available", nlohmann::json(true)) == false) {
      const std::string detail = text(piece, "detail");
      dim_text(f.theme, fmt::format("a GPU's counters are not to be had here: {}. To get them: {}",
                                    detail.substr(0, detail.find("; ")), text(piece, "how_to_get_it")));
    }
}

// Of the emulator's counts most rows would be empty: their names stand in a line with the reason.
bool folds(const Profile& p) { return p.device_kind == "emulator"; }

void headline_rows(Frame& f, const Profile& p) {
  const Theme& t = f.theme;
  ImGui::BeginGroup();
  if (ImGui::BeginTable("headlines", 3, ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings,
                        {figures_width(), 0})) {
    ImGui::TableSetupColumn("what", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthFixed);
    ImGui::TableSetupColumn("shade", ImGuiTableColumnFlags_WidthFixed, t.em * 3.2f);
    // What is there comes first.
    std::vector<const ProfileHeadline*> order;
    for (bool there : {true, false})
      for (const auto& h : p.headlines)
        if (h.value.has_value() == there && (there || !folds(p))) order.push_back(&h);
    for (const auto* each : order) {
      const ProfileHeadline& h = *each;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (h.value)
        ImGui::TextUnformatted(h.title.c_str());
      else
        ImGui::TextColored(t.dim, "%s", h.title.c_str());
      std::string about = fmt::format("{}\n\n{}\nGood: {}.\nsource: {}", h.meaning, h.formula, h.good,
                                      h.value ? p.counted_by : "none: " + h.reason);
      tooltip(t, about);
      ImGui::TableNextColumn();
      std::string value = value_of(h);
      if (h.value && is_estimate(p.counted_by))
        value = "≈ " + value, about += "\n≈: an estimate from some of the blocks";
      ImGui::PushFont(t.code_font, 0);
      right_aligned(value, h.value ? t.text : t.dim);
      ImGui::PopFont();
      tooltip(t, about);
      ImGui::TableNextColumn();
      if (h.value && h.shade != "unknown") {
        // A bar of one, two or three parts beside the word: never by colour alone.
        int parts = h.shade == "good" ? 3 : h.shade == "fair" ? 2 : 1;
        ImVec2 at = ImGui::GetCursorScreenPos();
        ImDrawList* draw = ImGui::GetWindowDrawList();
        float em = t.em, high = em * 0.7f, top = at.y + (ImGui::GetTextLineHeight() - high) / 2;
        for (int i = 0; i < 3; i++) {
          float x = at.x + em * 0.28f * static_cast<float>(i);
          draw->AddRectFilled({x, top}, {x + em * 0.2f, top + high},
                              packed(i < parts ? shade_colour(t, h.shade) : t.raised));
        }
        ImGui::SetCursorPosX(ImGui::GetCursorPosX() + em);
        ImGui::TextColored(shade_colour(t, h.shade), "%s", h.shade.c_str());
        tooltip(t, about);
      }
    }
    ImGui::EndTable();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-headlines", [&] {
    std::string out = "name,value,unit,shade,formula\n";
    for (const auto& h : p.headlines)
      out += fmt::format("{},{},{},{},\"{}\"\n", h.name, h.value ? fmt::format("{:.9g}", *h.value) : "", h.unit,
                         h.shade, h.formula);
    return out;
  });
  // The reasons of what is missing, each once, with what it is the reason of where that has no row.
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const auto& h : p.headlines) {
    std::string why = h.reason;
    constexpr std::string_view option = ": run with --device cuda";  // here devices are chosen in their panel
    if (why.ends_with(option)) why.resize(why.size() - option.size());
    if (h.value || why.empty()) continue;
    auto it = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == why; });
    if (it == reasons.end())
      reasons.emplace_back(why, h.title);
    else
      it->second += " · " + h.title;
  }
  for (const auto& [why, titles] : reasons) dim_text(t, (folds(p) ? titles : "–") + ": " + why);
  if (p.device_kind == "emulator") return no_gpu_here(f);  // what to do is said of this machine
  if (!p.how.empty()) dim_text(t, p.how);
  for (const auto& set : p.sets) {
    std::string names;
    for (const auto& name : set.not_here) names += (names.empty() ? "" : ", ") + name;
    if (!set.reason.empty() && (p.gap.empty() || !set.reason.starts_with(p.gap)))
      dim_text(t, fmt::format("the set {}: {}", set.name, set.reason));
    else if (set.reason.empty() && !names.empty())
      dim_text(t, fmt::format("the set {}: not on this chip: {}", set.name, names));
  }
}

// What loads, stores and accesses to shared memory do, from the counts of the source's lines.
void memory_instructions(Frame& f, const Profile& p) {
  const Theme& t = f.theme;
  if (p.lines.empty()) return;
  std::map<std::string, double> sum;
  for (const auto& l : p.lines)
    for (const auto& [name, v] : l.values) sum[name] += v;
  if (!sum.contains("load_used_bytes") && !sum.contains("store_used_bytes")) {
    dim_text(t, "how many of the bytes that are fetched are used was not counted when this was recorded");
    return;
  }
  heading(t, "Memory instructions");
  const char* source = p.lines_source.c_str();
  if (begin_figures("memory instructions")) {
    auto used = [&](const char* label, const char* bytes, const char* sectors, const char* formula) {
      if (auto share = used_of_sectors(sum[bytes], sum[sectors]))
        figure(t, label, fmt::format("{:.3g} %", *share),
               {"Different bytes that threads ask for, of the sectors of 32 bytes that a warp's instructions touch. "
                "Below 100 %, the caches move bytes that nobody wants.",
                formula, source});
    };
    auto lanes = [&](const char* label, const char* threads, const char* requests, const char* formula) {
      if (sum[requests] > 0)
        figure(t, label, fmt::format("{:.3g} of 32", sum[threads] / sum[requests]),
               {"Threads of a warp that take part in it, on average. Fewer than 32: the others are in another branch, "
                "or have nothing to do.",
                formula, source});
    };
    used("bytes used, of those loaded", "load_used_bytes", "load_sectors", "load_used_bytes / (32 · load_sectors)");
    used("bytes used, of those stored", "store_used_bytes", "store_sectors", "store_used_bytes / (32 · store_sectors)");
    lanes("threads in a load", "load_lanes", "load_requests", "load_lanes / load_requests");
    lanes("threads in a store", "store_lanes", "store_requests", "store_lanes / store_requests");
    lanes("threads in an access to shared memory", "shared_lanes", "shared_requests", "shared_lanes / shared_requests");
    end_figures();
  }
}

void waits(Frame& f, const Profile& p) {
  const Theme& t = f.theme;
  if (p.waiting.empty()) return;
  heading(t, "What warps waited for");
  ImGui::BeginGroup();
  float em = t.em, width = figures_width();
  for (size_t i = 0; i < std::min<size_t>(p.waiting.size(), 6); i++) {
    const auto& w = p.waiting[i];
    ImVec2 at = ImGui::GetCursorScreenPos();
    ImDrawList* draw = ImGui::GetWindowDrawList();
    draw->AddRectFilled(at, {at.x + width * static_cast<float>(w.share), at.y + em * 1.3f}, packed(t.accent, 0.3f));
    ImGui::PushTextWrapPos(0);  // in a narrow panel the end of a reason is what tells it from others
    ImGui::Text(" %.0f %%  %s", 100 * w.share, w.words.c_str());
    ImGui::PopTextWrapPos();
    tooltip(t, fmt::format("{}: {:.1f} % of all waiting\nsource: {}", w.name, 100 * w.share, p.counted_by));
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-waits", [&] {
    std::string out = "reason,share\n";
    for (const auto& w : p.waiting) out += fmt::format("{},{:.6g}\n", w.name, w.share);
    return out;
  });
}

void every_value(Frame& f, const Profile& p) {
  if (p.values.empty()) return;
  if (!ImGui::CollapsingHeader(fmt::format("All {} values###values", p.values.size()).c_str())) return;
  ImGui::BeginGroup();
  if (begin_figures("all values")) {
    for (const auto& v : p.values)
      figure(f.theme, v.name.c_str(), fmt::format("{:.6g} {}", v.value, v.unit == "1" ? "" : v.unit),
             {v.set.c_str(), "", p.counted_by.c_str()});
    end_figures();
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-values", [&] {
    std::string out = "set,name,value,unit\n";
    for (const auto& v : p.values) out += fmt::format("{},{},{:.9g},{}\n", v.set, v.name, v.value, v.unit);
    return out;
  });
}

// What local memory is for, and how often it is accessed, where instructions with their text are at hand.
std::string about_local_memory(const Frame& f, const Profile& p, const ProfileLaunch& l) {
  std::string about =
      "Memory of each thread's own, for registers that were spilled and for arrays that are indexed at run time; which "
      "of the two is not told. It costs traffic where it is accessed.";
  const MachineCode* code = f.bench.sources().machine_code();
  if (l.local_bytes.value_or(0) <= 0 || !code || code->kernel != p.kernel || !p.recorded.empty()) return about;
  for (const auto& function : code->functions) {
    if (function.name != l.entry || function.sass_source.empty()) continue;
    int64_t loads = 0, stores = 0;
    for (const auto& line : function.sass)
      loads += line.text.find("LDL") != std::string::npos, stores += line.text.find("STL") != std::string::npos;
    about += fmt::format(
        "\n\nIts code has {} instructions that load from it (LDL) and {} that store to it (STL), counted in "
        "the disassembly.",
        grouped(loads), grouped(stores));
  }
  return about;
}

void launches(Frame& f, const Profile& p) {
  const Theme& t = f.theme;
  for (const auto& l : p.launches) {
    heading(t, l.entry.c_str());
    if (!begin_figures(l.entry.c_str())) continue;
    auto count = [&](const char* label, const std::optional<int64_t>& v, const char* about, bool bytes) {
      if (v) figure(t, label, bytes ? bytes_text(static_cast<double>(*v)) : grouped(*v), {about, "", l.source.c_str()});
    };
    figure(t, "grid × block",
           fmt::format("{}×{}×{} × {}", grouped(l.grid[0]), grouped(l.grid[1]), grouped(l.grid[2]),
                       l.block[0] * l.block[1] * l.block[2]),
           {"Blocks in x, y and z, and threads a block.", "", "the launch"});
    count("registers a thread", l.registers, "Registers that the compiler gave each thread.", false);
    count("shared memory, static", l.static_shared_bytes, "Shared memory that the kernel declares.", true);
    count("shared memory, dynamic", l.dynamic_shared_bytes, "Shared memory that the launch asks for.", true);
    const std::string local = about_local_memory(f, p, l);
    count("local memory a thread", l.local_bytes, local.c_str(), true);
    if (l.occupancy_pct)
      figure(t, "theoretical occupancy", fmt::format("{:.4g} %", *l.occupancy_pct),
             {l.limit.c_str(), "resident warps / warps a multiprocessor holds", "computed"});
    end_figures();
  }
}

void conditions(Frame& f, const Profile& p) {
  const Theme& t = f.theme;
  if (p.sm_mhz) {
    std::string words = fmt::format("{:.0f} MHz", *p.sm_mhz);
    if (p.memory_mhz) words += fmt::format(" · memory {:.0f} MHz", *p.memory_mhz);
    if (p.temperature_c) words += fmt::format(" · {:.0f} °C", *p.temperature_c);
    if (p.power_w) words += fmt::format(" · {:.0f} W", *p.power_w);
    dim_text(t, words);
    tooltip(t, "Medians while it was timed.\nsource: " + measured_words(p.recorded, "NVML"));
  }
  ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
  for (const auto& w : p.slower_because) wrapped("clocks held back: " + w);
  for (const auto& w : p.warnings) wrapped(w);
  ImGui::PopStyleColor();
}

void kernels_seen(Frame& f, const Profile& p) {
  if (p.kernels.empty()) return;
  heading(f.theme, "Kernels that ran");
  const std::string source = measured_words(p.recorded, "measured: CUPTI's records");
  if (!begin_figures("kernels seen")) return;
  for (const auto& k : p.kernels)
    figure(f.theme, k.name.c_str(), time_text(k.ms),
           {"One kernel of one call, whoever launched it.", "", source.c_str()});
  end_figures();
}

// What the last call of a kernel that is measured again and again says; false: it is not, and says why if it was.
bool monitored(Frame& f) {
  const Theme& t = f.theme;
  const Monitor& m = f.bench.measuring().monitor();
  if (!m.on) {
    if (m.trouble.empty() || needs_run(m.document, f.document)) return false;
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("not measured on: " + m.trouble);
    ImGui::PopStyleColor();
    return false;
  }
  draw_monitor(f, m);
  if (!m.latest) return true;
  if (!m.latest->sentence.empty()) wrapped(m.latest->sentence);
  heading(t, fmt::format("Counters of {}'s last call", m.latest->kernel).c_str());
  if (!m.latest->counted_by.empty()) dim_text(t, m.latest->counted_by);
  headline_rows(f, *m.latest);
  every_value(f, *m.latest);
  return true;
}

void profile_buttons(Frame& f) {
  const Theme& t = f.theme;
  if (f.bench.measuring().waits()) {
    ImGui::TextColored(t.accent, "counting…");
    tooltip(t, "Esc cancels it");
    return f.again_in(0.25);
  }
  if (ImGui::Button("Profile")) f.act("profile");
  tooltip(t, "Time and the counters of one pass (F6)");
  ImGui::SameLine();
  if (ImGui::Button("All counters")) f.act("profile-full");
  tooltip(t, "Every set, in several passes: what warps waited for, what the memory moved (Shift+F6)");
  ImGui::SameLine();
  if (ImGui::Button("Keep measuring")) f.act("keep-measuring");
  tooltip(t, "One call after the other, each with its time and the counters of one pass, until it is stopped (F8)");
}

}  // namespace

void draw_counters(Frame& f) {
  const Theme& t = f.theme;
  if (monitored(f)) return;
  const Report* r = f.report();
  if (!r) {
    if (empty_state(t, "Nothing counted yet", "Run a kernel: it is profiled after it is judged.", "Run")) f.act("run");
    return;
  }
  follow_with_profile(f);
  const Profile *now = f.bench.profile_of(f.document), *p = now ? now : f.bench.measuring().profile();
  if (now)
    source_strip(f, now->recorded);
  else
    beside_recording(f);  // figures of another problem, if there are any, say so themselves
  profile_buttons(f);
  if (!f.bench.measuring().trouble().empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("not profiled: " + f.bench.measuring().trouble());
    ImGui::PopStyleColor();
  }
  const bool failed = r->status == "not-run" || r->status == "crashed" || r->status == "hung";
  if (failed && p && !now) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(r->sentence);
    ImGui::PopStyleColor();
  }
  if (!p) {
    if (failed && !f.bench.measuring().waits())
      empty_state(t, "Nothing to count",
                  (r->sentence + "\n\nThe panel Devices says what this machine has to run on.").c_str());
    else if (!f.bench.measuring().waits())
      empty_state(t, "Nothing counted yet",
                  profile_follows(*r) ? "Counters follow the verdict while the window is live."
                                      : "Tracing this problem on the emulator takes long: press Profile to do it.");
    return;
  }
  if (!now) {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(other_document_words(p->document, f.document));
    ImGui::PopStyleColor();
    ImGui::PushStyleVar(ImGuiStyleVar_Alpha, stands_back);
  }
  ImGui::PushFont(t.bold_font, 0);
  std::string sentence = p->sentence;
  if (!sentence.empty()) sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  wrapped(sentence);
  ImGui::PopFont();
  if (!p->next.empty()) {
    dim_text(t, "Next: " + p->next);
    if (!p->rung.empty() && p->rung != f.document.kernel && ImGui::SmallButton(fmt::format("Take {}", p->rung).c_str()))
      f.command(SetKernel{p->rung});
  }
  conditions(f, *p);
  heading(t, fmt::format("Counters of {}", p->kernel).c_str());
  // Of which GPU and day stands above already.
  std::string counted_by = p->counted_by;
  if (const std::string of = now ? measured_words(now->recorded, "") + ", " : ", "; counted_by.starts_with(of))
    counted_by.erase(0, of.size());
  if (!counted_by.empty()) dim_text(t, counted_by);
  headline_rows(f, *p);
  memory_instructions(f, *p);
  waits(f, *p);
  every_value(f, *p);
  launches(f, *p);
  kernels_seen(f, *p);
  if (!now) ImGui::PopStyleVar();
}

}  // namespace convscope::ui
