// The verdict, the layers it rests on, and what it may be asked for further.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/model/text_before.h"
#include "app/ui/panel.h"
#include "app/ui/panels/flow.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/panels/mending.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/panels/verdict_errors.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

const char* word_of(const std::string& status) {
  return status == "right"        ? "Right"
         : status == "wrong"      ? "Wrong"
         : status == "crashed"    ? "Crashed"
         : status == "hung"       ? "Hung"
         : status == "not-run"    ? "Not run"
         : status == "not-judged" ? "Not judged"
                                  : "Being judged";
}

const ImVec4& colour_of(const Theme& t, const std::string& status) {
  if (status == "right" || status == "pass") return t.right;
  if (status == "wrong" || status == "crashed" || status == "hung" || status == "fail") return t.wrong;
  return status == "not-run" ? t.warning : t.dim;
}

const char* about_layer(const std::string& name) {
  if (name == "compile") return "The kernel file is turned into code that this device runs.";
  if (name == "binding") return "Every launch of the plan finds its kernel, and its arguments fit the parameters.";
  if (name == "shape")
    return "The output has the problem's length. A kernel that works out another one fails here, and its mathematics "
           "is judged on the overlap.";
  if (name == "memory")
    return "Run twice over two poisons, between red zones: every output element is written, nothing else is, and the "
           "inputs stay as they were.";
  if (name == "mathematics")
    return "Two passes against the double-precision oracle. Exact: small integers, which must come out bit for bit. "
           "Rounding: random values, each element within its own bound.";
  if (name == "determinism")
    return "Two runs of the same inputs are compared bit for bit; a difference within the bound is order of summation, "
           "and is said.";
  if (name == "speed")
    return "Says how fast it is. It never changes the verdict, except when a time is less than physics allows.";
  return "";
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  constexpr std::string_view between = "; ";
  for (size_t at; (at = text.find(between)) != text.npos; text.remove_prefix(at + between.size()))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

// Of races, crashes and arrays that are left: one button for each line that the sentence speaks of. id: of the part of
// the panel, which may name a line that another one names.
void lines_it_names(Frame& f, std::string_view sentence, const char* id = "") {
  constexpr size_t most = 4;
  const auto places = places_in(sentence);
  for (size_t i = 0; i < std::min(places.size(), most); i++) {
    const std::string label = fmt::format("{}:{}", places[i].file, places[i].line);
    if (i) beside_if_fits(ImGui::CalcTextSize(label.c_str()).x + 2 * ImGui::GetStyle().FramePadding.x);
    if (ImGui::SmallButton((label + id).c_str())) show_in_source(f, places[i].file, places[i].line);
    tooltip(f.theme, "Go to this line");
  }
}

// The terms of its index that are wrong, by a map of its products: what it takes above what belongs there.
void why_it_is_wrong(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  const Cause* c = f.bench.causes().of(r);
  const auto& kernels = f.bench.inventory().kernels();
  if (!c && !r.recorded.empty() && !f.bench.runs().running() && !f.bench.causes().asks_for(r) &&
      (r.status == "wrong" || std::any_of(kernels.begin(), kernels.end(), [&](const KernelEntry& k) {
         return k.name == r.kernel && k.kind == "specimen";
       })))
    f.wish([r](Workbench& b) { b.causes().want_once(r); });
  if (!c) {
    if (f.bench.causes().asks_for(r))
      dim_text(t, r.right() ? "looking whether it is right in general…" : "looking which term of its index is wrong…");
    return;
  }
  if (c->sentence.empty()) {
    if (!c->reason.empty() && r.status != "crashed")
      dim_text(t, (r.status == "right" ? "In general: " : "Why: ") + c->reason);
    return;
  }
  // What the verdict's sentence has said stands right above.
  auto said = [&r](const std::string& words) { return r.sentence.find(words) != words.npos; };
  if (c->formula.empty() &&
      (c->faults.empty() ? said(c->sentence) : std::all_of(c->faults.begin(), c->faults.end(), said)))
    return;
  ImGui::Spacing();
  ImGui::BeginGroup();
  if (r.status == "right") {
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped("Not in general:");
    ImGui::PopStyleColor();
  }
  auto line = [&](const char* word, std::string_view formula, const ImVec4& colour) {
    ImGui::TextDisabled("%s", word);
    ImGui::SameLine(t.em * 4.5f);
    ImGui::PushFont(t.code_font, 0);
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    wrapped(std::string(formula));
    ImGui::PopStyleColor();
    ImGui::PopFont();
  };
  auto both = [&](std::string_view takes, std::string_view right) {
    if (takes == right || takes.empty()) return;
    line("it takes", takes, t.wrong);
    line("right is", right, t.right);
  };
  constexpr std::string_view elsewhere = "seen on other small problems: ", not_on_all = " (but on ";
  const std::string_view sentence = c->sentence;
  if (sentence.starts_with(elsewhere)) dim_text(t, "Seen on other small problems:");
  // Of two statements that are wrong each has its own.
  const auto takes = parts_of(c->formula), right = parts_of(c->right_formula);
  const bool each = takes.size() > 1 && takes.size() == c->faults.size() && right.size() == takes.size();
  // What no formula gives on all of them is no term's fault, and what has none is all that is known.
  const bool whole = c->faults.empty() || sentence.find("no formula of the kinds") != sentence.npos;
  std::string told;
  auto tell = [&](const std::string& words, bool bullet) {
    if (said(words)) return;
    if (bullet) ImGui::Bullet();
    ImGui::PushFont(bullet ? t.bold_font : t.text_font, 0);  // a cause is what one came for
    wrapped(words);
    ImGui::PopFont();
    told += words + "\n";
  };
  if (whole) tell(c->sentence, false);
  for (size_t k = 0; !whole && k < c->faults.size(); k++) {
    tell(c->faults[k], true);
    if (each) both(takes[k], right[k]);
  }
  if (!whole && !each) both(c->formula, c->right_formula);
  if (const size_t but = sentence.rfind(not_on_all); !whole && but != sentence.npos)
    dim_text(t, std::string(sentence.substr(but + 1)));
  ImGui::EndGroup();
  tooltip(t,
          fmt::format("{}.\n{}source: computed from {} launches, on {} small problems with this one's strides and "
                      "shifts and with others{}",
                      c->sentence, c->example.empty() ? "" : fmt::format("For example: {}.\n", c->example),
                      grouped(c->launches), c->problems, r.recorded.empty() ? "" : ", here; the verdict was recorded"));
  copy_menu(f, "copy-why", [c] {
    std::string csv = fmt::format("what,value\ncause,{}\n", csv_field(c->sentence));
    csv += fmt::format("it takes,{}\nright is,{}\n", csv_field(c->formula), csv_field(c->right_formula));
    for (const auto& fault : c->faults) csv += fmt::format("fault,{}\n", csv_field(fault));
    return csv + fmt::format("for example,{}\n", csv_field(c->example));
  });
  lines_it_names(f, told, "##why");
}

// Of the file as it is now: what is said below is of the text before, where there is a report of it. True when there is
// something to say.
bool file_is_not_this(Frame& f, const Report* r) {
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  if (!file || file->trouble.empty() || (r && !r->recorded.empty())) return false;
  const Theme& t = f.theme;
  const bool compiling = is_being_compiled(f);
  const std::string with_line = with_launch_line(*file);
  ImGui::PushFont(t.bold_font, ImGui::GetStyle().FontSizeBase * 1.7f);
  status_mark(t, compiling ? "" : "not-run");
  ImGui::SameLine(0, ImGui::GetFontSize() * 0.3f);
  ImGui::TextColored(compiling ? t.dim : t.warning, "%s",
                     file->gone          ? "The file is gone"
                     : compiling         ? "Compiling…"
                     : with_line.empty() ? "Does not compile"
                                         : "How is it launched?");
  ImGui::PopFont();
  if (file->gone) {
    dim_text(t, "It is compiled again when it comes back.");
  } else if (compiling) {
    dim_text(t, "The text before did not; what is wrong with this one is said in a moment.");
  } else {
    wrapped(file->trouble);
    lines_it_names(f, file->trouble);
    if (!with_line.empty()) {
      if (ImGui::Button("Put this line above it")) {
        source_edit().wanted = file_of_kernel(f.document.kernel), source_edit().put = {file->text, with_line};
        f.show("Source");
      }
      tooltip(t,
              "Types it in the panel Source, from where it is written and compiled. Where it is launched otherwise, "
              "change the line there; Ctrl+Z takes it back");
      ImGui::SameLine();
    }
    if (with_line.empty() ? ImGui::SmallButton("Show the log") : ImGui::Button("Show the log")) f.show("Log");
    tooltip(t, "All that the compiler said. The file is compiled again whenever it changes.");
  }
  if (file->ever && r) heading(t, "Before");
  return true;
}

void what_the_edit_changed(Frame& f, const Report& r) {
  const auto before = f.bench.runs().report_of_text_before();
  if (!before || !r.final || f.bench.runs().report().get() != &r) return;
  const TextBefore was = text_before(*before, r);
  coloured(was.was_better ? f.theme.warning : f.theme.dim, "The text before: " + was.words);
  tooltip(f.theme, "What another text of the file has changed.\nIts verdict then: " + before->sentence +
                       "\nsource: " + was.source);
}

// Of a right verdict: whether it is known that the kernel is wrong elsewhere, which is said further below.
bool right_here_alone(const Frame& f, const Report& r) {
  const Cause* c = f.bench.causes().of(r);
  const Checking& others = f.bench.checks().now();
  return r.right() &&
         ((c && !c->sentence.empty()) || (r.recorded.empty() && others.is_about(f.document) && others.fuzz->first() &&
                                          !f.bench.files().is_of_before(others.document.kernel, others.text)));
}

// of_before: of the file's text before.
void head(Frame& f, const Report& r, bool of_before) {
  const Theme& t = f.theme;
  // What is computed now is there in a moment: until then nothing changes its looks.
  const std::string why = stale_words(f, &r);
  const bool stale =
      of_before || (!why.empty() && why != "computing") || (!why.empty() && r.kernel != f.document.kernel);
  ImGui::PushFont(t.bold_font, ImGui::GetStyle().FontSizeBase * (of_before ? 1.2f : 1.7f));
  status_mark(t, r.final && !stale ? r.status : "");
  ImGui::SameLine(0, ImGui::GetFontSize() * 0.3f);
  const bool unfinished = !r.final && !f.bench.runs().running();
  ImGui::TextColored(stale ? t.dim : colour_of(t, r.status), "%s",
                     unfinished               ? "No verdict"
                     : right_here_alone(f, r) ? "Right here"
                                              : word_of(r.final ? r.status : ""));
  ImGui::PopFont();
  explain_item(t, {"The verdict on the kernel for this problem: right when every layer below passes.", "",
                   "judged against the double-precision oracle"});
  if (!r.final) {
    const auto& e = f.bench.link().status();
    wrapped(unfinished ? "the run was not finished" : e.phase.empty() ? "the layers come one by one" : e.phase);
    if (r.failing)
      wrapped(*r.failing ? fmt::format("{} of {} elements fail in the first comparison", grouped(*r.failing),
                                       grouped(r.elements))
                         : fmt::format("none of {} elements fails in the first comparison", grouped(r.elements)));
  } else if (!r.sentence.empty()) {
    // The word stands above it already.
    std::string_view s = r.sentence;
    for (std::string_view word : {"right: ", "wrong: ", "crashed: ", "hung: ", "not run: "})
      if (s.starts_with(word)) s.remove_prefix(word.size());
    wrapped(s);
    lines_it_names(f, s);
    why_it_is_wrong(f, r);
    for (const std::string& note : r.notes) dim_text(t, "To know: " + note);
  }
  const std::string kernel = file_name(r.kernel.empty() ? f.document.kernel : r.kernel);
  dim_text(t,
           r.device_name.empty() ? kernel : kernel + " on " + r.device_name + (r.recorded.empty() ? "" : ", recorded"));
  what_the_edit_changed(f, r);
  if (r.status == "not-judged") {
    const RunOffer offer = run_offer(f);
    if (!offer.why.empty()) dim_text(t, offer.why);
    if (offer.action && ImGui::Button(offer.button)) f.act(offer.action);
    tooltip(t, "Runs the kernel on this machine and judges it");
  } else if (r.final && r.layers.empty()) {
    const RunOffer offer = refused_offer(f, r);
    if (offer.action) {
      if (ImGui::Button(offer.button)) f.act(offer.action);
      tooltip(t, offer.why);
    }
    if (offer.action ? button_beside("Show the log") : ImGui::Button("Show the log")) f.show("Log");
    tooltip(t, "What the engine said before it ended");
  }
}

// Whether it is right in general: what came of problems that were drawn, and a way to the smallest that fails.
void other_problems(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  if (!r.recorded.empty()) return;
  const Checking& c = f.bench.checks().now();
  heading(t, "On other problems");
  if (!c.is_about(f.document)) {
    if (ImGui::Button("Check 100 others")) f.act("check");
    tooltip(t,
            "Runs the kernel on problems that are drawn, small and odd ones among them, and judges it on each. The "
            "first that fails is made as small as it goes. Shift+F9");
    return;
  }
  const Fuzz& fuzz = *c.fuzz;
  const bool before = f.bench.files().is_of_before(c.document.kernel, c.text);
  if (before)
    dim_text(t, "stale: this is of the file as it was before");
  else if (!(c.document.problem == f.document.problem))
    dim_text(t, "asked before the problem was changed: it is of the problems that were drawn, not of this one");
  ImGui::PushStyleColor(ImGuiCol_Text, before ? t.dim : t.text);
  if (c.running) {
    ImGui::ProgressBar(fuzz.first() ? -1.0f * static_cast<float>(ImGui::GetTime())
                                    : static_cast<float>(fuzz.right()) / static_cast<float>(c.cases),
                       {t.em * 8, t.em * 0.9f}, "");
    f.again_in(0.1);
    ImGui::SameLine();
    if (ImGui::SmallButton("Stop")) f.act("check");
    tooltip(t, "Shift+F9, or Esc");
  }
  if (const auto& pins = fuzz.pins())
    wrapped(fmt::format("With {} alone: its launches are not told {}, and other values are wrong.", pins->words,
                        pins->fields.size() == 1 ? "this" : "these"));
  if (fuzz.looking_for_pins()) {
    dim_text(t, "looking for parameters that are in the kernel");
  } else if (!fuzz.first()) {
    if (c.running)
      dim_text(t, fmt::format("right on {} of {} so far", grouped(fuzz.right()), grouped(c.cases)));
    else if (fuzz.right() == c.cases) {
      status_mark(t, before ? "" : "right");
      ImGui::SameLine();
      wrapped(fmt::format("right on all {} that were drawn", grouped(c.cases)));
    } else {
      wrapped(fmt::format("right on {} of {}: {}", grouped(fuzz.right()), grouped(c.cases),
                          c.trouble.empty() ? fuzz.ended_early() : c.trouble));
    }
    std::string with;
    for (const auto& part : fuzz.coverage()) with += fmt::format("\n{:>5} with {}", grouped(part.count), part.what);
    tooltip(t,
            fmt::format("Problems that were drawn; of those it is right on\n{}\n\n{} more it does not take.\nsource: "
                        "each judged against the double-precision oracle",
                        with, grouped(fuzz.refused())));
  } else {
    const Fuzz::Case& least = *fuzz.smallest();
    status_mark(t, before ? "" : name_of(least.status));
    ImGui::SameLine();
    wrapped(fmt::format("{}: {}", describe(least.problem), least.sentence));
    tooltip(t,
            fmt::format("{}\nwas drawn after {} right ones, and fails: {}\n{} smaller problems were tried{}\nsource: "
                        "each judged against the double-precision oracle",
                        describe(fuzz.first()->problem), grouped(fuzz.right()), fuzz.first()->sentence,
                        grouped(fuzz.smaller_tried()), c.running ? " so far" : "; none smaller fails like it"));
    copy_menu(f, "copy-others", [&] {
      std::string csv = "problem,verdict,sentence\n";
      for (const auto* one : {&*fuzz.first(), &least})
        csv += fmt::format("{},{},{}\n", csv_field(describe(one->problem)), name_of(one->status),
                           csv_field(one->sentence));
      return csv;
    });
    lines_it_names(f, least.sentence, "##others");
    if (!c.running && !(f.document.problem == least.problem)) {
      if (ImGui::Button("Open this problem")) f.command(SetProblem{least.problem});
      tooltip(t, "Puts it in the place of the problem that is shown; undo brings that back");
      ImGui::SameLine();
    }
  }
  ImGui::PopStyleColor();
  if (!c.running && ImGui::Button("Check 100 others")) f.act("check");
  if (!c.running) tooltip(t, "Draws other problems than before. Shift+F9");
}

void layers(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  if (r.layers.empty()) return;
  heading(t, "Layers");
  // Where there is little room, the evidence stands under the name.
  const bool narrow = ImGui::GetContentRegionAvail().x < t.em * 24;
  if (!ImGui::BeginTable(narrow ? "layers-narrow" : "layers", narrow ? 2 : 3,
                         ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings))
    return;
  ImGui::TableSetupColumn("mark", ImGuiTableColumnFlags_WidthFixed);
  if (!narrow) ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("evidence", ImGuiTableColumnFlags_WidthStretch);
  for (const auto& l : r.layers) {
    const bool skipped = l.status == "skipped";
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    status_mark(t, l.status);
    tooltip(t, l.status == "pass" ? "passes" : l.status == "fail" ? "fails" : "skipped");
    ImGui::TableNextColumn();
    ImGui::TextColored(skipped ? t.dim : l.status == "fail" ? t.wrong : t.text, "%s", l.name.c_str());
    tooltip(t, about_layer(l.name));
    if (narrow)
      ImGui::SetCursorPosY(ImGui::GetCursorPosY() - ImGui::GetStyle().ItemSpacing.y);
    else
      ImGui::TableNextColumn();
    if (l.status == "fail")
      wrapped(l.evidence);
    else
      dim_text(t, skipped && !l.evidence.starts_with("skipped") ? "skipped: " + l.evidence : l.evidence);
    tooltip(t, about_layer(l.name));
  }
  ImGui::EndTable();
}

std::string verdict_csv(const Report& r) {
  std::string out = fmt::format("what,value,evidence\nverdict,{},{}\n", r.status, csv_field(r.sentence));
  for (const auto& l : r.layers) out += fmt::format("{},{},{}\n", l.name, l.status, csv_field(l.evidence));
  auto add = [&](const char* what, const auto& v) {
    if (v) out += fmt::format("{},{},\n", what, *v);
  };
  out += fmt::format("elements,{},\n", r.elements);
  add("failing", r.failing), add("max_abs", r.max_abs), add("max_bound_ratio", r.max_bound_ratio),
      add("rms_rel", r.rms_rel);
  add("nan", r.nan), add("unwritten", r.unwritten);
  for (const auto& g : r.gates)
    if (g.failing) out += fmt::format("failing at atol {:g} rtol {:g},{},\n", g.atol, g.rtol, *g.failing);
  return out;
}

void first_failing(Frame& f, const Report& r) {
  const Theme& t = f.theme;
  if (!r.first_failing) return;
  const auto& e = *r.first_failing;
  ImGui::Spacing();
  ImGui::PushFont(t.code_font, 0);
  wrapped(fmt::format("y[{}, {}, {}] = {}, not {}", e.n, e.co, e.j, value_text(e.got), value_text(e.expected)));
  ImGui::PopFont();
  static struct {
    uint64_t serial = 0;
    std::string words;
  } about;
  if (about.serial != r.serial)
    about = {r.serial, fmt::format("The first failing element in memory order, y[n, co, j]: what the kernel wrote, and "
                                   "what the oracle has.\nerror {}, bound {}",
                                   value_text(e.got - e.expected), value_text(e.bound))};
  explain_item(t, {about.words.c_str(), "bound = λ·√n·u·Σ|x·w| + rounding of y",
                   "the run that is judged; oracle and bound in double precision"});
  const bool here = f.picture() && f.picture()->key == r.key && !r.key.empty();
  ImGui::BeginDisabled(!here);
  if (ImGui::Button("Explain this element")) {
    ElementIndex at{e.n * r.document.problem.out_channels + e.co, e.j};
    f.view_to(readable(f.view, f.extent(), at, f.cells));
    f.show("Explain");
  }
  ImGui::EndDisabled();
  tooltip(t, here ? "Selects it in the maps and shows its taps: which were read, and which should have been."
                  : "The maps show another result now.");
  // Who reads why is about to mend it.
  if (r.recorded.empty() && !f.bench.files().of(r.kernel) && r.kernel == f.document.kernel) {
    if (button_beside("Edit a copy…")) f.act("edit-copy");
    tooltip(t,
            "The kernel's text in a file of yours, to be mended in the panel Source: it is judged anew as you type.");
  }
}

// What a person asked for is in sight as soon as it is looked for, and when it has come: the panel may be low. state: 0
// where nothing was asked for; another number once there is more to be seen.
struct InSight {
  uint64_t last = 0;
  int frames = 0;  // until its height is known
};
void in_sight(Frame& f, InSight& s, uint64_t state, void (*part)(Frame&, const Report&), const Report& r) {
  if (state && std::exchange(s.last, state) != state) s.frames = 3;
  ImGui::BeginGroup();
  part(f, r);
  ImGui::EndGroup();
  if (s.frames <= 0) return;
  s.frames--;
  ImGui::ScrollToItem(ImGuiScrollFlags_KeepVisibleEdgeY);
  f.again_in(0);
}

void edit_in_sight(Frame& f, const Report& r) {
  static InSight s;
  const Mending& m = f.bench.mending();
  in_sight(f, s, m.asks_for(r) ? 2 * r.serial : m.of(r) ? 2 * r.serial + 1 : 0, mending, r);
}

void others_in_sight(Frame& f, const Report& r) {
  static InSight s;
  const Checking& c = f.bench.checks().now();
  in_sight(f, s, !c.is_about(f.document) ? 0 : 2 * c.seed + 2 + (c.running ? 0 : 1), other_problems, r);
}

}  // namespace

// A new verdict is read from its head, a text that is judged again as it is typed from where one reads.
void begin_at_the_head(const Frame& f, const Report* r) {
  if (r && !r->final) return;
  static std::string shown;
  const OpenedFile* file = f.bench.files().of(f.document.kernel);
  std::string now = f.document.kernel + (r ? r->status : "") + (file && !file->trouble.empty() ? "-" : "");
  if (std::exchange(shown, std::move(now)) != shown) ImGui::SetScrollY(0);
}

void draw_verdict(Frame& f) {
  const Report* r = f.report();
  begin_at_the_head(f, r);
  if ((!r || (r->status == "not-run" && r->recorded.empty())) && not_trusted(f)) return;
  if (f.bench.runs().cancelled(f.document, r)) {
    if (empty_state(f.theme, "Cancelled",
                    "It was stopped before its verdict had come; the maps show what was there by then.", "Run again"))
      f.act("run");
    return;
  }
  if (waits_for_a_person(f, r, "Not judged yet")) return;
  if (!r && file_is_not_this(f, r)) return;
  if (!r) {
    if (f.bench.runs().running())
      empty_state(f.theme, "Being judged",
                  f.bench.link().status().phase.empty() ? "the first comparison is on its way"
                                                        : f.bench.link().status().phase.c_str());
    else if (empty_state(f.theme, "No verdict yet", "Choose a kernel and a problem, and run it (F5).", "Run"))
      f.act("run");
    return;
  }
  const bool of_before = file_is_not_this(f, r);
  // Of a file that never compiled the verdict before is another kernel's.
  if (const OpenedFile* file = f.bench.files().of(f.document.kernel); of_before && !file->ever) return;
  if (!of_before) source_strip(f, r->recorded, r);
  head(f, *r, of_before);
  first_failing(f, *r);
  // What somebody asked for, and what is of use where all is right, stands above the layers.
  const bool early = r->status == "right" || f.bench.checks().now().is_about(f.document);
  edit_in_sight(f, *r);
  if (early) others_in_sight(f, *r);
  ImGui::BeginGroup();  // one place to copy from
  layers(f, *r);
  if (!early) others_in_sight(f, *r);
  draw_error_figures(f, *r);
  ImGui::EndGroup();
  copy_menu(f, "copy-verdict", [&] { return verdict_csv(*r); });
  if (!r->accuracy_allowed.empty()) heading(f.theme, "Accuracy");
  if (!r->accuracy_allowed.empty() && begin_figures("accuracy")) {
    figure(f.theme, "asked", r->accuracy_allowed,
           {"What the kernel's arithmetic may do with f32 values. It sets u, the unit round-off of the bound.",
            "strict 2^-24 · 3xtf32 · tf32 2^-11", "asked for"});
    figure(f.theme, "ran", r->accuracy_ran.empty() ? "unknown" : r->accuracy_ran,
           {"What a probe found the kernel to do. Less accurate than asked is wrong. Unknown: a kernel with wrong "
            "indices cannot be probed.",
            "", "a probe run"});
    end_figures();
  }
}

}  // namespace convscope::ui
