// The bar at the foot of the window: what the engine does, what is easily forgotten, the verdict and the time.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "app/engine/kernel_file.h"
#include "app/model/kernel_times.h"
#include "app/ui/chrome.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/status_parts.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// In the middle of a line of the status bar, whose text has its own height.
void progress_bar(float part, float em) {
  const float line = ImGui::GetTextLineHeight(), height = em * 0.8f, width = em * 7;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, line});
  const float top = at.y + (line - height) / 2, rounding = ImGui::GetStyle().FrameRounding;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled({at.x, top}, {at.x + width, top + height}, ImGui::GetColorU32(ImGuiCol_FrameBg), rounding);
  if (part > 0)
    draw->AddRectFilled({at.x, top}, {at.x + width * std::min(part, 1.0f), top + height},
                        ImGui::GetColorU32(ImGuiCol_PlotHistogram), rounding);
}

// Of a verdict's sentence, for one line.
std::string first_clause(const std::string& sentence) {
  constexpr size_t most = 80;
  std::string clause = sentence.substr(0, sentence.find("; "));
  if (clause.size() > most) clause = clause.substr(0, clause.rfind(' ', most)) + " …";
  return clause;
}

void add_verdict(Frame& f, const Report& r, std::vector<StatusPart>& parts) {
  // What the document says now has no verdict yet.
  const std::string stale = r.recorded.empty() ? stale_words(f, &r) : "";
  std::string text =
      r.failing ? fmt::format("{} of {} elements fail", grouped(*r.failing), grouped(r.elements)) : r.status;
  std::replace(text.begin(), text.end(), '-', ' ');  // not-run
  // Wrong by something else than its values.
  if (r.failing && *r.failing == 0)
    text = r.status == "right" || r.status.empty()
               ? r.elements == 1 ? "the element is within the bound"
                                 : fmt::format("all {} elements within the bound", grouped(r.elements))
               : first_clause(r.sentence);
  const std::string word = r.status.empty() ? text : r.status == "not-run" ? "not run" : r.status;
  parts.push_back({.mark = stale.empty() ? r.status : "?",
                   .text = stale.empty() ? text : "stale: " + text,
                   .shorter = stale.empty() ? word : "stale",
                   .about = stale.empty() ? "" : "This is " + stale,
                   .colour = stale.empty() ? f.theme.text : f.theme.dim});
  if (!r.timing.median_ms || !stale.empty()) return;
  // Of a recording the one that the ladder and the list of kernels have: it may be of another day than the verdict.
  double ms = *r.timing.median_ms;
  if (!r.recorded.empty()) {
    const KernelTimes times = kernel_times(f.bench, f.document);
    if (const KernelTime* same = times.of(r.kernel)) ms = same->ms;
  }
  parts.push_back({.text = fmt::format("{} {} {}", file_name(r.kernel), time_text(ms),
                                       r.timing.source == "emulated" ? "emulated"
                                       : r.recorded.empty()          ? "measured"
                                                                     : "recorded"),
                   .about = "Median, hot: the panel Timing has all of it",
                   .colour = f.theme.dim,
                   .goes = 1});
}

// All that stands behind what the engine does, in its order.
std::vector<StatusPart> parts_of(Frame& f) {
  const Theme& t = f.theme;
  std::vector<StatusPart> parts;
  // Easily forgotten, since kernels then pass that would be wrong.
  if (const Accuracy a = f.document.accuracy; a != Accuracy::strict)
    parts.push_back({.text = fmt::format("{} allowed", name_of(a)),
                     .shorter = std::string(name_of(a)),
                     .about = "Kernels are judged by the bound of this arithmetic: `accuracy` in the panel Problem.",
                     .colour = t.warning,
                     .goes = 5});
  // Nor is it seen in a problem that its numbers are none of the usual ones.
  if (const std::string inputs = unusual_inputs(f.document); !inputs.empty())
    parts.push_back({.text = "inputs: " + inputs,
                     .shorter = "inputs",
                     .about =
                         "Not the values that are usual (x random, w and b as PyTorch draws them): `inputs` in the "
                         "panel Problem.",
                     .colour = t.warning,
                     .goes = 4});
  const Report* r = f.report();
  if (f.bench.recorded().is_open()) {
    const bool shown = r && !r->recorded.empty();
    parts.push_back(
        {.text = shown ? "recorded: " + r->recorded : "live, beside a recording: " + f.bench.recorded().source(),
         .shorter = shown ? "recorded" : "not recorded",
         .about = shown ? "The figures are those of a recording" : "The recording does not hold this, or is not shown",
         .colour = shown ? t.accent : t.warning,
         .goes = 6});
  }
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  const bool no_kernel = file && !file->trouble.empty() && (!r || r->recorded.empty());
  if (no_kernel) {
    const bool compiling = is_being_compiled(f);
    parts.push_back({.mark = "not-run",
                     .text = file->gone  ? "the file is gone"
                             : compiling ? "compiling…"
                                         : "does not compile",
                     .about = compiling ? "" : file->trouble,
                     .colour = t.text});
  }
  const bool stopped = !no_kernel && f.bench.runs().cancelled(f.document, r);
  if (stopped) parts.push_back({.mark = "not-run", .text = "cancelled", .about = "F5 runs it again", .colour = t.text});
  if (r && !no_kernel && !stopped && (!f.bench.runs().running() || !r->recorded.empty())) add_verdict(f, *r, parts);
  if (const EngineStatus& e = f.bench.link().status(); e.deaths > 0) {
    // What has run since is no part of it.
    const bool over = r && r->status != "crashed" && r->status != "hung";
    parts.push_back({.text = fmt::format("engine restarted {} time{}", e.deaths, e.deaths == 1 ? "" : "s"),
                     .shorter = "restarted",
                     .about = e.last_death,
                     .colour = over ? t.dim : t.warning,
                     .goes = 3});
  }
  return parts;
}

// What is asked of a verdict beside everything else: an edit, other problems, a cause; a faster form. Whether any of it
// runs.
bool meanwhile_part(Frame& f) {
  const Mending& mending = f.bench.mending();
  const Checking& others = f.bench.checks().now();
  std::string words;
  float part = -1;
  if (mending.waits()) {
    const uint64_t all = mending.total();
    words = all ? fmt::format("looking for an edit: {} of {} tried", grouped(static_cast<int64_t>(mending.done())),
                              grouped(static_cast<int64_t>(all)))
            : mending.phase().empty() ? "looking for an edit"
                                      : "looking for an edit: " + mending.phase();
    if (all) part = static_cast<float>(mending.done()) / static_cast<float>(all);
  } else if (others.running) {
    const Fuzz& fuzz = *others.fuzz;
    words = fuzz.looking_for_pins() ? "other problems: looking for parameters that are in the kernel"
            : fuzz.first()
                ? fmt::format("other problems: one fails, {} smaller ones tried", grouped(fuzz.smaller_tried()))
                : fmt::format("other problems: right on {} of {}", grouped(fuzz.right()), grouped(others.cases));
    if (!fuzz.first()) part = static_cast<float>(fuzz.right()) / static_cast<float>(std::max<int64_t>(1, others.cases));
  } else if (const TuningNow& n = f.bench.tunings().now(); n.running && n.search) {
    words = fmt::format("a faster form: {} tried, {:.3g}× so far", n.search->tried().size(), n.search->best_speedup());
    part = static_cast<float>(std::min(1.0, n.seconds / Tunings::most_seconds));
  } else {
    // One is made of every verdict that needs it: most are there before anybody has read that it is.
    static double since = 0;
    constexpr double worth_saying_s = 0.4;
    if (const double now = ImGui::GetTime(); !f.bench.causes().waits())
      return since = 0, false;
    else if (since == 0 || since > now)
      since = now;
    if (f.again_in(0.1); ImGui::GetTime() - since < worth_saying_s) return false;
    words = "x-ray: which index the kernel follows";
  }
  if (ImGui::SmallButton("Cancel (Esc)")) f.act("cancel");
  ImGui::TextUnformatted(words.c_str());
  if (part >= 0) progress_bar(part, ImGui::GetFontSize());
  f.again_in(0.1);
  return true;
}

float wide_mark() { return ImGui::GetFontSize() + ImGui::GetStyle().ItemSpacing.x; }

// A separator, the mark, the text.
float wide_part(const StatusPart& p, const std::string& text) {
  return 2 * ImGui::GetStyle().ItemSpacing.x + (p.mark.empty() ? 0 : wide_mark()) + ImGui::CalcTextSize(text.c_str()).x;
}

void draw_part(const Theme& t, const StatusPart& p, const std::string& text, const std::string& all, float right) {
  ImGui::Separator();
  if (!p.mark.empty()) status_mark(t, p.mark == "?" ? "" : p.mark);
  ImGui::PushStyleColor(ImGuiCol_Text, p.colour);
  const float room = right - ImGui::GetCursorScreenPos().x;
  const bool cut = ImGui::CalcTextSize(text.c_str()).x > room;
  ImGui::TextUnformatted(cut ? text_within(text, room).c_str() : text.c_str());
  ImGui::PopStyleColor();
  std::string about = cut || text != p.text ? p.text : "";
  if (!p.about.empty()) about += (about.empty() ? "" : "\n") + p.about;
  tooltip(t, all.empty() ? about : about + (about.empty() ? "" : "\n\n") + all);
}

}  // namespace

void Chrome::engine_part() {
  const float em = ImGui::GetFontSize();
  const EngineStatus& e = f_.bench.link().status();
  if (f_.bench.runs().running() || f_.bench.measuring().waits()) {
    using Clock = std::chrono::steady_clock;
    const auto seconds_since = [](Clock::time_point t) {
      return std::chrono::duration<double>(Clock::now() - t).count();
    };
    // A step of the work counts its own parts: what is left is told of it, by its own speed.
    static struct {
      std::string name;
      uint64_t total = 0, done = 0;
      Clock::time_point since;
    } step;
    if (step.name != e.phase || step.total != e.total || e.done < step.done) step = {e.phase, e.total, 0, Clock::now()};
    step.done = e.done;
    if (ImGui::SmallButton("Cancel (Esc)")) f_.act("cancel");  // first: what follows is now longer, now shorter
    ImGui::TextUnformatted(e.phase.empty() ? "working" : e.phase.c_str());
    if (e.total > 0) {
      const double part = std::min(1.0, static_cast<double>(e.done) / static_cast<double>(e.total));
      progress_bar(static_cast<float>(part), em);
      // Only worth saying when it is long.
      if (const double own = seconds_since(step.since); own > 2 && part > 0.05 && part < 0.99)
        ImGui::TextDisabled("this step: about %s left", time_text(1000 * own * (1 - part) / part).c_str());
    }
    if (const double seconds = seconds_since(e.since); seconds > 0.5) ImGui::TextDisabled("%.1f s", seconds);
  } else if (f_.bench.sweeps().now().running) {
    const Sweeping& sweep = f_.bench.sweeps().now();
    ImGui::TextUnformatted(("sweep: " + sweep.now).c_str());
    progress_bar(static_cast<float>(sweep.sweep->share_done()), em);
    if (ImGui::SmallButton("Stop (F10)")) f_.act("sweep");
  } else if (!meanwhile_part(f_)) {
    const std::string& comes = app_.coming_kernel();
    ImGui::TextDisabled("%s", e.state == EngineStatus::State::starting ? "the engine starts"
                              : !comes.empty()                         ? ("compiling " + file_name(comes)).c_str()
                              : f_.bench.explaining().waits()          ? "explaining"
                                                                       : "idle");
  }
}

void Chrome::status_bar() {
  ImGuiViewport* viewport = ImGui::GetMainViewport();
  float height = ImGui::GetFrameHeight();
  ImGui::PushStyleColor(ImGuiCol_WindowBg, f_.theme.background);
  bool shown = ImGui::BeginViewportSideBar(
      "##status", viewport, ImGuiDir_Down, height,
      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_MenuBar);
  ImGui::PopStyleColor();
  if (shown && ImGui::BeginMenuBar()) {
    const float em = ImGui::GetFontSize(), end = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - em * 0.5f;
    engine_part();
    const std::vector<StatusPart> parts = parts_of(f_);
    std::vector<StatusWidths> widths;
    for (const auto& p : parts)
      widths.push_back({wide_part(p, p.text), p.shorter.empty() ? 0 : wide_part(p, p.shorter), p.goes});
    const auto forms = fit_status(widths, end - ImGui::GetCursorScreenPos().x);
    // What had to give way is read where the mouse is.
    std::string all;
    if (std::any_of(forms.begin(), forms.end(), [](StatusForm s) { return s != StatusForm::whole; }))
      for (const auto& p : parts) all += (all.empty() ? "" : "\n") + p.text;
    for (size_t i = 0; i < parts.size(); i++)
      if (forms[i] != StatusForm::gone)
        draw_part(f_.theme, parts[i], forms[i] == StatusForm::whole ? parts[i].text : parts[i].shorter, all, end);
    std::string right =
        fmt::format("picture {}  frame {}",
                    f_.bench.runs().last_picture_ms() > 0 ? time_text(f_.bench.runs().last_picture_ms()) : "none yet",
                    time_text(1000 * app_.frame_seconds()));
    float x = ImGui::GetWindowWidth() - ImGui::CalcTextSize(right.c_str()).x - em;
    if (x > ImGui::GetCursorPosX() + em) {
      ImGui::SetCursorPosX(x);
      ImGui::TextDisabled("%s", right.c_str());
      tooltip(f_.theme,
              "From the last change to its first picture, and the CPU time that building the last frame took (both "
              "measured here)");
    }
    ImGui::EndMenuBar();
  }
  ImGui::End();
}

}  // namespace convscope::ui
