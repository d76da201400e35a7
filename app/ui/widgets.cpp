#include "app/ui/widgets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <imgui.h>
#include <imgui_internal.h>
#include <utility>

#include "app/ui/panels/flow.h"
#include "app/ui/panels/source_edit.h"
#include "kernels/base/text.h"

namespace convscope::ui {

std::string time_text(double ms) { return std::isfinite(ms) ? convscope::time_text(ms) : "none"; }

std::string percent_text(double fraction) {
  double p = 100 * fraction;
  if (p == 0) return "0 %";
  if (p < 0.01) return fmt::format("{:.1e} %", p);
  if (p > 99.99 && p < 100) return convscope::percent_text(fraction, 1);  // as many digits as it takes
  return fmt::format("{:.2f} %", p);
}

std::string time_tick(double ms) {
  std::string text = convscope::time_text(ms);
  const size_t blank = text.find(' '), point = text.find('.');
  if (point == text.npos || blank == text.npos) return text;
  size_t end = blank;
  while (text[end - 1] == '0') end--;
  if (end - 1 == point) end--;
  return text.substr(0, end) + text.substr(blank);
}

std::string times_tick(double times) {
  return (times >= 1 ? grouped(std::llround(times)) : fmt::format("{:.3g}", times)) + "×";
}

std::string value_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  double a = std::fabs(v);
  if (v == 0) return "0";
  return a >= 1e6 || a < 1e-4 ? fmt::format("{:.4e}", v) : fmt::format("{:.5g}", v);
}

std::string times_bound_text(double v) { return v > 1e6 ? "> 1e6" : value_text(v); }

ValueRange range_around(double value) {
  const double reach = 0.05 * (value == 0 ? 1 : std::fabs(value));
  return {value - reach, value + reach};
}

std::string operations_text(double operations) {
  const char* units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  size_t u = 0;
  while (operations >= 1000 && u < 5) operations /= 1000, u++;
  return fmt::format("{:.4g} {}", operations, units[u]);
}

std::string bytes_text(double b) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  while (b >= 1024 && u < 4) b /= 1024, u++;
  return u && b < 100 ? fmt::format("{:.1f} {}", b, units[u]) : fmt::format("{:.0f} {}", b, units[u]);
}

namespace {

// What opens over a panel whose content stands back does not itself.
struct Opaque {
  Opaque() { ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 1.0f); }
  ~Opaque() { ImGui::PopStyleVar(); }
  Opaque(const Opaque&) = delete;
};

bool of_focus = true;
bool wants_tooltip() {
  return ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | (of_focus ? 0 : ImGuiHoveredFlags_NoNavOverride));
}

}  // namespace

void tooltips_of_focus(bool on) { of_focus = on; }

void explain_item(const Theme& t, const About& about) {
  const Opaque opaque;
  if (!wants_tooltip() || !ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 26);
  ImGui::TextUnformatted(about.what);
  if (*about.formula) {
    ImGui::PushFont(t.code_font, 0);
    ImGui::TextUnformatted(about.formula);
    ImGui::PopFont();
  }
  if (*about.source) ImGui::TextDisabled("source: %s", about.source);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void tooltip(const Theme&, std::string_view text) {
  const Opaque opaque;
  if (text.empty() || !wants_tooltip() || !ImGui::BeginTooltip()) return;
  const float width = ImGui::GetFontSize() * 26;
  ImGui::PushTextWrapPos(width);
  ImGui::TextUnformatted(names_kept(units_kept(in_the_window(text)), width - ImGui::GetCursorPosX()).c_str());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

std::string in_the_window(std::string_view words) {
  // The longer ones first: what is left of them is one of the shorter.
  static constexpr std::pair<std::string_view, std::string_view> said[] = {
      {"run it on a GPU (--device cuda)", "run it on a GPU (panel Devices)"},
      {"run with --device cuda", "run it on a GPU (panel Devices)"},
      {"run it with --device cuda", "run it on a GPU (panel Devices)"},
      {"use --device cuda on a machine", "choose a GPU in Devices, on a machine"},
      {"--device cuda", "a GPU (panel Devices)"},
      {"use --device emulator", "choose the emulator in Devices"},
      {"--device emulator", "the emulator (panel Devices)"},
      {"(--verdicts all does it here)", "(choose one in Devices, or a smaller problem)"}};
  std::string out(words);
  if (out.find("--") == out.npos) return out;
  // A command for a terminal stays as it is typed there.
  auto in_a_command = [&](size_t at) {
    const size_t line = out.rfind('\n', at), begin = line == out.npos ? 0 : line, command = out.rfind("convscope ", at);
    return command != out.npos && command >= begin && out.substr(command, at - command).find(". ") == out.npos;
  };
  for (const auto& [option, choice] : said)
    for (size_t at = 0; (at = out.find(option, at)) != out.npos;) {
      if (in_a_command(at))
        at += option.size();
      else
        out.replace(at, option.size(), choice), at += choice.size();
    }
  return out;
}

float figures_width() { return std::min(ImGui::GetContentRegionAvail().x, 42 * ImGui::GetFontSize()); }

bool begin_figures(const char* id) {
  constexpr auto flags = ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_NoSavedSettings;
  if (!ImGui::BeginTable(id, 2, flags, {figures_width(), 0})) return false;
  ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthFixed);
  return true;
}

ImVec4 shade_colour(const Theme& t, std::string_view shade) {
  return shade == "good" ? t.right : shade == "fair" ? t.warning : shade == "bad" ? t.wrong : t.text;
}

std::string unit_text(const std::string& unit) { return unit == "1" ? "×" : unit == "sector" ? "" : unit; }

std::string text_within(const std::string& text, float width) {
  if (ImGui::CalcTextSize(text.c_str()).x <= width) return text;
  std::string shown = text;
  while (!shown.empty()) {
    do shown.pop_back();
    while (!shown.empty() && (static_cast<unsigned char>(text[shown.size()]) & 0xc0) == 0x80);  // whole letters
    if (ImGui::CalcTextSize((shown + "…").c_str()).x <= width) break;
  }
  return shown + "…";
}

void right_aligned(const std::string& text, const ImVec4& colour) {
  float width = ImGui::CalcTextSize(text.c_str()).x, room = ImGui::GetContentRegionAvail().x;
  if (room > width) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopStyleColor();
}

namespace {
struct SeenEdge {
  SeenEdge() {
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, std::max(1.0f, ImGui::GetFontSize() * 0.07f));
    ImGui::PushStyleColor(ImGuiCol_Border, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
  }
  ~SeenEdge() {
    ImGui::PopStyleColor();
    ImGui::PopStyleVar();
  }
};
}  // namespace

bool checkbox(const char* label, bool* on) {
  const SeenEdge edge;
  return ImGui::Checkbox(label, on);
}
bool radio_button(const char* label, bool on) {
  const SeenEdge edge;
  return ImGui::RadioButton(label, on);
}

void figure(const Theme& t, const char* label, const std::string& value, const About& about, const ImVec4* colour) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
  ImGui::TextUnformatted(label);
  ImGui::PopStyleColor();
  explain_item(t, about);
  ImGui::TableNextColumn();
  ImGui::PushFont(t.code_font, 0);
  right_aligned(value, colour ? *colour : ImGui::GetStyleColorVec4(ImGuiCol_Text));
  ImGui::PopFont();
  explain_item(t, about);
}

void end_figures() { ImGui::EndTable(); }

void heading(const Theme& t, const char* text) {
  ImGui::Spacing();
  ImGui::PushFont(t.bold_font, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
  ImGui::TextUnformatted(text);
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

void dim_text(const Theme& t, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
  wrapped(text);
  ImGui::PopStyleColor();
}

std::string units_kept(std::string words) {
  static constexpr std::string_view units[] = {
      "%",    "ns",    "µs",    "ms",    "s",     "B", "KiB", "MiB", "GiB",  "TiB",     "MHz",     "GB/s",   "TB/s",
      "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "W", "°C",  "pp",  "MB/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"};
  constexpr std::string_view no_break = "\u00a0";
  for (size_t at = words.find(' '); at != words.npos; at = words.find(' ', at + 1)) {
    if (!at || !std::isdigit(static_cast<unsigned char>(words[at - 1]))) continue;
    const size_t end = words.find_first_of(" ,;:.()|\n", at + 1);
    const std::string_view next = std::string_view(words).substr(at + 1, end == words.npos ? end : end - at - 1);
    if (std::find(std::begin(units), std::end(units), next) == std::end(units)) continue;
    words.replace(at, 1, no_break);
  }
  return words;
}

std::string names_kept(std::string words, float width) {
  ImFont* font = ImGui::GetFont();
  const float size = ImGui::GetFontSize();
  for (size_t line = 0; line < words.size();) {
    const char* all = words.c_str();
    const size_t end =
        static_cast<size_t>(font->CalcWordWrapPosition(size, all + line, all + words.size(), width) - all);
    if (end >= words.size() || end <= line) break;
    const size_t blank = words.find_last_of(" \n", end - 1);
    const bool in_a_name = words[end - 1] == '.' && words[end] != ' ' && words[end] != '\n';
    if (in_a_name && blank != words.npos && blank > line && words[blank] == ' ') {
      words[blank] = '\n';
      line = blank + 1;
      continue;
    }
    // What begins a line is no blank, and no end of the one before.
    line = words[end] == '\n' ? end + 1 : std::min(words.find_first_not_of(' ', end), words.size());
  }
  return words;
}

void wrapped(std::string_view text) {
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(names_kept(units_kept(in_the_window(text)), ImGui::GetContentRegionAvail().x).c_str());
  ImGui::PopTextWrapPos();
}

bool empty_state(const Theme& t, const char* what, const char* said, const char* button) {
  const std::string words = in_the_window(said);
  const char* hint = words.c_str();
  ImVec2 room = ImGui::GetContentRegionAvail();
  float width = std::min(room.x, ImGui::GetFontSize() * 24);
  auto height = [&](const char* s) { return ImGui::CalcTextSize(s, nullptr, false, width).y; };
  float need =
      height(what) + height(hint) + ImGui::GetTextLineHeight() + (button ? ImGui::GetFrameHeightWithSpacing() : 0);
  ImVec2 at = ImGui::GetCursorPos();
  at.y += std::max(0.0f, (room.y - need) / 2);
  auto centred = [&](const char* s) {
    float w = ImGui::CalcTextSize(s, nullptr, false, width).x;
    ImGui::SetCursorPosX(at.x + std::max(0.0f, (room.x - w) / 2));
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width + 1);
    ImGui::TextUnformatted(s);
    ImGui::PopTextWrapPos();
  };
  ImGui::SetCursorPosY(at.y);
  ImGui::PushFont(t.bold_font, 0);
  centred(what);
  ImGui::PopFont();
  ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
  centred(hint);
  ImGui::PopStyleColor();
  if (!button) return false;
  float w = ImGui::CalcTextSize(button).x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetCursorPosX(at.x + std::max(0.0f, (room.x - w) / 2));
  return ImGui::Button(button);
}

RunOffer run_offer(const Frame& f) {
  const auto& kernels = f.bench.inventory().kernels();
  auto kernel =
      std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == f.document.kernel; });
  if (kernel != kernels.end() && !kernel->available)
    return {kernel->name + " cannot run on this machine: " + kernel->reason};
  if (short_piece(f.document) == f.document.problem) return {"", "Run (F5)", "run"};
  return {"Running all of this problem here takes a while; a short piece of it has the same patterns.",
          "Run a short piece (Shift+F5)", "shorten"};
}

RunOffer refused_offer(const Frame& f, const Report& r) {
  const bool refused = r.final && r.status == "not-run" && r.layers.empty() && !needs_run(r.document, f.document);
  const RunOffer offer = refused ? run_offer(f) : RunOffer{};
  const bool shorter = offer.action && std::string_view(offer.action) == "shorten";
  return shorter ? RunOffer{"A short piece of it has the same patterns.", offer.button, offer.action} : RunOffer{};
}

void no_output_state(Frame& f, const char* seen) {
  const Report* last = f.report();
  const bool starting = f.bench.link().status().state == EngineStatus::State::starting;
  if (starting || f.bench.runs().running()) {
    empty_state(f.theme, "Computing the first picture", "The kernel runs beside the oracle.");
  } else if (last && !last->recorded.empty()) {
    const RunOffer offer = run_offer(f);
    std::string hint = "The figures are recorded. " + offer.why;
    if (offer.action)
      hint = offer.why.empty() ? fmt::format("The figures are recorded. Run the kernel {}.", seen)
                               : fmt::format(
                                     "The figures are recorded, and running all of this problem here takes a "
                                     "while. Run a short piece of it {}: the patterns are the same.",
                                     seen);
    // There may be a picture of something else, from before the recording was opened.
    const char* what = f.bench.runs().picture() ? "This problem has not run here" : "Nothing has run here";
    if (empty_state(f.theme, what, hint.c_str(), offer.button)) f.act(offer.action);
  } else if (last && !last->sentence.empty()) {
    const RunOffer offer = refused_offer(f, *last);
    const std::string hint = last->sentence + (offer.action ? ". " + offer.why : "");
    if (empty_state(f.theme, "No output", hint.c_str(), offer.button)) f.act(offer.action);
  } else if (empty_state(f.theme, "Nothing has run yet", fmt::format("Run the kernel {}.", seen).c_str(), "Run (F5)")) {
    f.act("run");
  }
}

void status_mark(const Theme& t, std::string_view status) {
  float size = ImGui::GetFontSize();
  ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  // On the line of text that is beside it: in a menu bar, and behind AlignTextToFramePadding, that is lower.
  float top = at.y + (ImGui::GetTextLineHeight() - size) / 2 + ImGui::GetCurrentWindow()->DC.CurrLineTextBaseOffset,
        u = size / 16;
  auto point = [&](float x, float y) { return ImVec2(at.x + x * u, top + y * u); };
  float thick = 2 * u;
  if (status == "pass" || status == "right") {
    ImVec2 path[] = {point(3, 8.5f), point(6.5f, 12), point(13, 4.5f)};
    draw->AddPolyline(path, 3, packed(t.right), thick);
  } else if (status == "fail" || status == "wrong" || status == "crashed" || status == "hung") {
    draw->AddLine(point(4, 4), point(12, 12), packed(t.wrong), thick);
    draw->AddLine(point(12, 4), point(4, 12), packed(t.wrong), thick);
  } else if (status == "not-run") {
    draw->AddLine(point(4, 8), point(12, 8), packed(t.warning), thick);
  } else {
    draw->AddCircle(point(8, 8), 4 * u, packed(t.dim), 0, 1.5f * u);
  }
  ImGui::Dummy({size, ImGui::GetTextLineHeight()});
}

std::string stale_words(const Frame& f, const Report* of) {
  if (of && !of->recorded.empty()) return "";  // it is shown because it is of what is asked for
  const auto last = f.bench.runs().report(), shown = f.bench.runs().picture();
  // A run that came to no result has a verdict, and no picture: the one before's is still there.
  const bool no_result = last && shown && last != shown && last->final && last->key.empty();
  const bool of_last = no_result && of == last.get();
  // The newest that is asked for has run, of a file that had another text before.
  if (no_result && !of_last && !needs_run(shown->document, f.document) &&
      f.bench.runs().stale(*last, f.document).empty())
    return "of the run before; the last one: " + last->status;
  std::string why = of_last ? f.bench.runs().stale(*of, f.document) : f.bench.runs().stale(f.document);
  if (const OpenedFile* file = f.bench.files().of(f.document.kernel); why.empty() && file && !file->trouble.empty())
    why = file->gone             ? "of the file as it was before; it is not there any more"
          : is_being_compiled(f) ? "of the file as it was before; compiling…"
                                 : "of the file as it was before; as it is now it does not compile";
  return why;
}

bool out_of_date(const Frame& f) {
  const std::string why = stale_words(f);
  return !why.empty() && why != "computing";
}

void stale_strip(Frame& f, const Report* of) {
  const std::string why = stale_words(f, of);
  if (why.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, f.theme.warning);
  wrapped(why == "computing" ? "stale: the newest result is being computed" : "stale: this is " + why);
  ImGui::PopStyleColor();
}

std::string measured_words(const std::string& recorded, const char* live) {
  return recorded.empty() ? live : "recorded: " + recorded;
}

// A small button behind the words, where the line has room for it: panels are low.
static void small_beside(const char* button) {
  beside_if_fits(ImGui::CalcTextSize(button).x + 2 * ImGui::GetStyle().FramePadding.x);
}

static void wrapped_in(const ImVec4& colour, const std::string& words) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  wrapped(words);
  ImGui::PopStyleColor();
}

void beside_recording(Frame& f) {
  const Theme& t = f.theme;
  const Recorded& all = f.bench.recorded();
  if (!all.is_open()) return;
  if (f.bench.live_shown() && all.holds(f.document)) {
    dim_text(t, "live, not the recording");
    small_beside("Show recorded");
    if (ImGui::SmallButton("Show recorded")) f.act("show-live");
    tooltip(t, "recorded: " + all.source());
    return;
  }
  std::string words = "not recorded: the recording (" + all.source() + ") does not hold this";
  if (auto back = all.way_back(f.document)) {
    const Difference d = describe_difference(f.document, *back);
    words = "not recorded: this is " + d.one + "; the recording (" + all.source() + ") has " + d.other;
  }
  wrapped_in(t.warning, words);
  if (ImGui::SmallButton("Back to the recorded")) f.act("back-to-recorded");
  tooltip(t, "Sets the problem, the kernel and the inputs to what was recorded");
}

void source_strip(Frame& f, const std::string& recorded, const Report* of) {
  const Theme& t = f.theme;
  if (!recorded.empty()) {
    wrapped_in(t.accent, "recorded: " + recorded);
    tooltip(t, "Every figure of this panel was measured there and then, and none of them here.");
    small_beside("Show live");
    if (ImGui::SmallButton("Show live")) f.act("show-live");
    tooltip(t, "What runs here, instead of the recording");
    return;
  }
  beside_recording(f);
  stale_strip(f, of);
}

bool waits_for_a_person(Frame& f, const Report* r, const char* what) {
  const bool of_this = r && !needs_run(r->document, f.document);
  if (of_this || f.bench.runs().running() || !f.bench.waits_for_a_person(f.document)) return false;
  beside_recording(f);
  const RunOffer offer = run_offer(f);
  const std::string why = offer.why + " All of it runs when you say so (F5).";
  if (empty_state(f.theme, what, why.c_str(), offer.button)) f.act(offer.action);
  return true;
}

bool choose(const char* label, const std::vector<Choice>& all, const std::string& now, std::string& chosen,
            float width) {
  bool changed = false;
  ImGui::SetNextItemWidth(width);
  if (!ImGui::BeginCombo(label, now.c_str(), ImGuiComboFlags_HeightLarge)) return false;
  static ImGuiTextFilter filter;
  if (ImGui::IsWindowAppearing()) filter.Clear(), ImGui::SetKeyboardFocusHere();
  bool takes_first = false;  // Return takes the first that is left
  if (all.size() > 8) {
    ImGui::SetNextItemWidth(-FLT_MIN);
    if (ImGui::InputTextWithHint("##filter", "filter", filter.InputBuf, sizeof filter.InputBuf)) filter.Build();
    // The field takes Esc for itself and would leave the list open.
    if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
    takes_first = filter.IsActive() && ImGui::IsItemDeactivated() &&
                  (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter));
  }
  for (const auto& c : all) {
    if (!filter.PassFilter(c.name.c_str()) && !filter.PassFilter(c.about.c_str())) continue;
    if (ImGui::Selectable(c.name.c_str(), c.name == now) || takes_first) chosen = c.name, changed = c.name != now;
    if (std::exchange(takes_first, false)) ImGui::CloseCurrentPopup();
    if (!c.about.empty()) {
      ImGui::SameLine();
      ImGui::TextDisabled("%s", c.about.c_str());
    }
  }
  ImGui::EndCombo();
  return changed;
}

void picture_entries(Frame& f, ImVec2 low, ImVec2 high) {
  // The menu is a window of its own; its panel is the window below it.
  const ImGuiWindow* below = ImGui::GetCurrentWindow()->ParentWindow;
  while (below && below->ParentWindow && (below->Flags & ImGuiWindowFlags_ChildWindow) && !below->DockIsActive)
    below = below->ParentWindow;
  std::string name = below ? below->Name : "window";
  name = name.substr(0, name.find("##"));
  std::string file;
  for (char c : name)
    file += c == ' ' || c == '/' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  float least = ImGui::GetFontSize() * 4;
  if (high.x - low.x >= least && high.y - low.y >= least && ImGui::MenuItem("Save this as PNG…"))
    f.out.push_back(AskPicture{{low.x, low.y, high.x, high.y}, file + ".png"});
  if (below && ImGui::MenuItem(("Save the panel " + name + " as PNG…").c_str()))
    f.out.push_back(AskPicture{{below->Pos.x, below->Pos.y, below->Pos.x + below->Size.x, below->Pos.y + below->Size.y},
                               file + "-panel.png"});
  if (ImGui::MenuItem("Save the window as PNG…")) f.act("save-picture");
}

void copy_menu(Frame& f, const char* id, const std::function<std::string()>& csv) {
  const Opaque opaque;
  ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  if (!ImGui::BeginPopupContextItem(id)) return;
  if (ImGui::MenuItem("Copy values (CSV)")) {
    ImGui::SetClipboardText(csv().c_str());
    f.toast("Values copied");
  }
  picture_entries(f, low, high);
  ImGui::EndPopup();
}

}  // namespace convscope::ui
