// Which kernel runs, and what stands beside it.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "app/model/kernel_times.h"
#include "app/model/roof.h"
#include "app/ui/panel.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

struct Group {
  const char *kind, *title, *about;
};
constexpr Group groups[] = {
    {"outside", "From outside", "Files that you opened. One that changes on disk is compiled and run again by itself."},
    {"specimen", "Specimens (wrong on purpose)",
     "Five kernels with the index errors that are made in practice. Some are right on the problem they were written "
     "for."},
    {"ladder", "Our ladder",
     "One idea a file, each right for every problem it supports, from the plainest to the fastest."},
    {"test", "Tests", "Small kernels that the tests use."},
};

// What a kernel is called here: of a file's path its name.
std::string shown_name(const KernelEntry& k) { return k.kind == "outside" ? file_name(k.name) : k.name; }

// A filled label at a place; returns its width.
float chip(ImVec2 at, const std::string& text, const ImVec4& colour) {
  float em = ImGui::GetFontSize(), width = ImGui::CalcTextSize(text.c_str()).x + em * 0.6f;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRect(at, {at.x + width, at.y + em * 1.25f}, packed(colour, 0.6f), em * 0.25f);
  draw->AddText({at.x + em * 0.3f, at.y + em * 0.1f}, packed(colour), text.c_str());
  return width;
}

// "205 µs hot, packing included, recorded: NVIDIA H200, 2026-11-24; 1.71 times the fastest here, hopper_16bit"
std::string time_words(const KernelTimes& times, const KernelTime& time) {
  std::string text =
      fmt::format("{} hot{}, {}", time_text(time.ms), time.packs == true ? ", packing included" : "", times.source);
  if (time.looser) return text + "; its arithmetic is less accurate than what is asked for";
  if (time.kernel == times.fastest) return text + "; the fastest of those that are accurate enough";
  if (times.fastest.empty()) return text;
  return text + fmt::format("; {} times {}, the fastest of those that are accurate enough",
                            value_text(std::round(time.ms / times.fastest_ms * 100) / 100), times.fastest);
}

// The list goes to a kernel that was chosen, wherever that was done; what is above it may take two frames to settle.
void bring_in_sight(bool chosen, const std::string& name) {
  static std::string in_sight;
  static int frames = 0;
  if (!chosen) return;
  if (in_sight != name) in_sight = name, frames = 3;
  if (frames > 0) ImGui::ScrollToItem(ImGuiScrollFlags_KeepVisibleEdgeY), frames--;
}

void about_kernel(const Theme& t, const KernelEntry& k, size_t index, const KernelTimes& times) {
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | ImGuiHoveredFlags_AllowWhenDisabled) ||
      !ImGui::BeginTooltip())
    return;
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 26);
  ImGui::PushFont(t.code_font, 0);
  ImGui::TextUnformatted(k.file.empty() ? k.name.c_str() : k.file.c_str());
  ImGui::PopFont();
  ImGui::TextUnformatted(k.idea.c_str());
  std::string needs;
  for (const auto& r : k.requires_hardware) needs += (needs.empty() ? "" : ", ") + r;
  ImGui::TextDisabled("needs %s", needs.empty() ? "nothing beyond plain CUDA" : needs.c_str());
  if (!k.home_preset.empty()) ImGui::TextDisabled("written for %s", k.home_preset.c_str());
  if (const KernelTime* time = times.of(k.name)) ImGui::TextUnformatted(time_words(times, *time).c_str());
  if (!k.available) ImGui::TextColored(t.warning, "not here: %s", in_the_window(k.reason).c_str());
  if (index < 9) ImGui::TextDisabled("key %d", static_cast<int>(index) + 1);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// The problem a specimen was written for, where it looks right or gives itself away.
void home_buttons(Frame& f, const KernelEntry& k) {
  const std::string small = k.home_preset + "-small";
  const std::string now = preset_of(f.document.problem);
  ImGui::PushID(k.name.c_str());
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("its own problem:");
  ImGui::SameLine();
  const float room = ImGui::GetContentRegionAvail().x,
              need = ImGui::CalcTextSize("small full size").x + ImGui::GetStyle().FramePadding.x * 4;
  if (room < need) ImGui::NewLine();
  ImGui::BeginDisabled(now == small);
  if (ImGui::Button("small")) f.command(LoadPreset{small});
  ImGui::EndDisabled();
  tooltip(f.theme, "Load " + small);
  ImGui::SameLine();
  ImGui::BeginDisabled(now == k.home_preset);
  if (ImGui::Button("full size")) f.command(LoadPreset{k.home_preset});
  ImGui::EndDisabled();
  tooltip(f.theme, "Load " + k.home_preset + ", the size it is timed at. The emulator takes minutes for it.");
  ImGui::PopID();
}

void allow_button(Frame& f, const KernelEntry& k) {
  ImGui::PushID(k.name.c_str());
  if (ImGui::Button(("Allow " + k.accuracy).c_str())) f.command(SetAccuracy{*accuracy_from(k.accuracy)});
  ImGui::PopID();
  tooltip(f.theme, fmt::format("It promises {} arithmetic and is wrong where {} is asked for. This asks for {}.",
                               k.accuracy, name_of(f.document.accuracy), k.accuracy));
}

// The lines of what a kernel is: all of it in as many as it needs, or in `most` with … at the end of the last. A cut of
// its first words says nothing: those of a specimen begin alike.
std::vector<std::string> idea_lines(std::string_view text, float width, size_t most) {
  ImFont* font = ImGui::GetFont();
  const float size = ImGui::GetFontSize();
  std::vector<std::string> lines;
  while (!text.empty()) {
    const char *begin = text.data(), *all = begin + text.size(),
               *end = font->CalcWordWrapPosition(size, begin, all, width);
    if (lines.size() + 1 == most && end < all) {
      const float dots = ImGui::CalcTextSize(" …").x;
      end = font->CalcWordWrapPosition(size, begin, all, std::max(width - dots, size));
      lines.push_back(std::string(begin, end) + " …");
      break;
    }
    const size_t taken = std::max<size_t>(1, static_cast<size_t>(end - begin));
    lines.emplace_back(text.substr(0, taken));
    text.remove_prefix(taken);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

void draw_code(const Theme& t, const std::string& text, ImVec2 at, const ImVec4& colour) {
  ImGui::PushFont(t.code_font, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::RenderText(at, text.c_str(), text.c_str() + text.size(), false);
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

// Of a group's rows: how wide its names are, and whether what a kernel is stands below them, since behind them would be
// no room for some words.
struct Columns {
  float names = 0;
  bool below = false;
};
constexpr float names_from = 1.9f;  // em: behind the number key

float tag_width(const KernelEntry& k) { return ImGui::CalcTextSize(k.accuracy.c_str()).x + ImGui::GetFontSize(); }

// A number key, the name, and behind it the kernel's time as a bar beside the others' where times are known, else its
// idea. The chosen one says more below: its idea, and what it needs.
void kernel_row(Frame& f, const KernelEntry& k, size_t index, const Columns& columns, const KernelTimes& times) {
  const Theme& t = f.theme;
  const bool chosen = f.document.kernel == k.name;
  const float em = ImGui::GetFontSize(), pad = em * 0.2f, width = ImGui::GetContentRegionAvail().x,
              indent = em * names_from, names = columns.names;
  std::string_view idea = k.idea;
  if (k.kind == "specimen" && idea.starts_with("wrong: ")) idea.remove_prefix(7);  // as its group says
  const KernelTime* time = times.of(k.name);
  const float bar = time ? static_cast<float>(times.bar_of(time->ms)) : 0;
  const bool recorded = f.bench.recorded().holds_kernel(f.document, k.name), can_choose = k.available || recorded;
  // Less accurate than what is asked for: it will be wrong.
  const bool too_little = is_looser(f.bench, f.document, k.name);
  // What the chosen one says stands below its line, or where nothing else does and there is room, on it.
  const bool beside = chosen && !time && !too_little && width - indent - names > em * 9;
  const float words_at = beside ? indent + names : indent, wrap = std::max(width - words_at - pad, em * 4);
  auto height_of = [&](std::string_view text) {
    return text.empty() ? 0 : ImGui::CalcTextSize(text.data(), text.data() + text.size(), false, wrap).y;
  };
  std::vector<std::string> chips;
  if (chosen) {
    chips = k.requires_hardware;
    if (k.accuracy != "strict") chips.insert(chips.begin(), k.accuracy);
    if (recorded) chips.insert(chips.begin(), "recorded");
  }
  const bool tells = !chosen && !time, below = columns.below;
  const float told_room = width - indent - pad - (below ? 0 : names + (too_little ? tag_width(k) : 0));
  const auto told = tells ? idea_lines(can_choose ? idea : std::string_view(k.reason), told_room, below ? 2 : 3)
                          : std::vector<std::string>{};
  const float line = beside ? pad : pad + em * 1.3f, needs_at = line + (chosen ? height_of(idea) + em * 0.15f : 0),
              reason_at = needs_at + (chips.empty() ? 0 : em * 1.5f);
  const float below_name = below ? em * 1.3f : 0, told_line = ImGui::GetTextLineHeight(),
              told_height = pad + below_name + static_cast<float>(told.size()) * told_line;
  const float height = std::max(reason_at + height_of(chosen && !can_choose ? std::string_view(k.reason) : ""),
                                tells ? told_height : 0) +
                       pad;

  ImGui::PushID(k.name.c_str());
  ImGui::BeginGroup();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::BeginDisabled(!can_choose && !chosen);
  if (ImGui::Selectable("##kernel", chosen, 0, {0, height}) && !chosen) f.command(SetKernel{k.name});
  ImGui::EndDisabled();
  about_kernel(t, k, index, times);
  if (ImGui::BeginPopupContextItem("kernel-menu")) {
    if (ImGui::MenuItem("Copy name")) ImGui::SetClipboardText(k.name.c_str()), f.toast("Name copied");
    if (!k.file.empty() && ImGui::MenuItem("Copy path"))
      ImGui::SetClipboardText(k.file.c_str()), f.toast("Path copied");
    const bool stands = f.document.compare_with == k.name;
    if (!chosen && ImGui::MenuItem(stands ? "Put the oracle back beside it" : "Put beside the chosen kernel",
                                   index < 9 ? fmt::format("Alt+{}", index + 1).c_str() : nullptr, false, can_choose))
      f.command(SetCompareWith{stands ? oracle_name : k.name});
    if (chosen && ImGui::MenuItem("Show source")) f.show("Source");
    if (chosen && ImGui::MenuItem("Export as a PyTorch module…")) f.act("export-pytorch");
    if (chosen && ImGui::MenuItem("Export as CUDA C++…")) f.act("export-cuda");
    ImGui::EndPopup();
  }

  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (chosen)
    draw->AddRectFilled({at.x, at.y + pad * 0.5f}, {at.x + em * 0.18f, at.y + height - pad * 0.5f}, packed(t.kernel),
                        em * 0.1f);
  if (index < 9) {
    const char key[2] = {static_cast<char>('1' + index), 0};
    draw->AddText({at.x + em * 0.65f, at.y + pad}, packed(t.dim), key);
  }
  draw_code(t, shown_name(k), {at.x + indent, at.y + pad},
            !can_choose                         ? t.dim
            : chosen                            ? t.kernel
            : f.document.compare_with == k.name ? t.reference
                                                : t.text);
  // What is left of the line, from the right.
  float left = at.x + indent + names, right = at.x + width - pad;
  if (time) {
    const std::string text = time_text(time->ms);
    const float wide = t.code_font->CalcTextSizeA(em, FLT_MAX, 0, text.c_str()).x;
    draw_code(t, text, {right - wide, at.y + pad}, chosen ? t.kernel : time->looser ? t.dim : t.text);
    right -= em * 4.4f;
  }
  if (too_little) {
    right -= ImGui::CalcTextSize(k.accuracy.c_str()).x + em * 0.6f;
    if (right > left) chip({right, at.y + pad}, k.accuracy, t.warning);
    right -= em * 0.4f;
  }
  if (right - left > em * 2) {
    const float room = right - left;
    if (bar > 0) {
      const float y = at.y + pad + em * 0.5f, high = em * 0.28f;
      draw->AddRectFilled({left, y}, {left + room, y + high}, packed(t.dim, 0.25f), high * 0.5f);
      draw->AddRectFilled({left, y}, {left + std::max(room * bar, high), y + high},
                          packed(chosen         ? t.kernel
                                 : time->looser ? t.dim
                                                : t.accent,
                                 chosen ? 1.0f : 0.75f),
                          high * 0.5f);
    }
  }
  ImGui::PushStyleColor(ImGuiCol_Text, t.dim);
  for (size_t i = 0; i < told.size(); i++)
    ImGui::RenderText({below ? at.x + indent : left, at.y + pad + below_name + static_cast<float>(i) * told_line},
                      told[i].c_str(), told[i].c_str() + told[i].size(), false);
  ImGui::PopStyleColor();
  if (chosen) {
    auto words = [&](float y, std::string_view text, const ImVec4& colour) {
      draw->AddText(ImGui::GetFont(), em, {at.x + words_at, at.y + y}, packed(colour), text.data(),
                    text.data() + text.size(), wrap);
    };
    words(line, idea, t.text);
    float x = at.x + words_at;
    for (const auto& need : chips) {
      if (x + ImGui::CalcTextSize(need.c_str()).x + em > at.x + width) break;  // the tooltip has them all
      x += chip({x, at.y + needs_at}, need,
                need == "recorded"                                  ? t.accent
                : !can_choose || (need == k.accuracy && too_little) ? t.warning
                                                                    : t.dim) +
           em * 0.3f;
    }
    if (!can_choose) words(reason_at, k.reason, t.warning);
  }
  if (const OpenedFile* file = k.kind == "outside" ? f.bench.files().of(k.name) : nullptr) {
    ImGui::Indent(indent);
    if (file->compiling || (chosen && is_being_compiled(f)))
      dim_text(t, "compiling…");
    else if (!file->trouble.empty() && k.available)
      ImGui::PushStyleColor(ImGuiCol_Text, t.warning),
          wrapped(file->gone ? "as it was before; the file is not there any more"
                             : "as it was before; the file now: " + file->trouble),
          ImGui::PopStyleColor();
    ImGui::Unindent(indent);
  }
  if (chosen && too_little) {
    ImGui::Indent(indent);
    allow_button(f, k);
    ImGui::Unindent(indent);
  }
  if (chosen && !k.home_preset.empty()) {
    ImGui::Indent(indent);
    home_buttons(f, k);
    ImGui::Unindent(indent);
  }
  ImGui::EndGroup();
  bring_in_sight(chosen, k.name);  // with what can be done with it
  ImGui::PopID();
}

// What the kernel's time and error stand beside. Its verdict always rests on the oracle.
void beside_it(Frame& f) {
  const Theme& t = f.theme;
  const Report* r = f.report();
  heading(t, "Beside the kernel");
  const std::string source = measured_words(r ? r->recorded : "", "measured on the same inputs");
  tooltip(
      t,
      "What stands beside the kernel: its output in maps and lines, its time and error in figures. A kernel can, too: "
      "its menu, Alt and its number, or the title of the middle map. The verdict rests on the oracle alone, whatever "
      "is chosen here.");
  auto choice = [&](const std::string& name, const std::string& status, const std::string& reason, int key) {
    const bool here = reason.empty();
    ImGui::PushID(name.c_str());
    ImGui::BeginDisabled(!here);
    ImGui::PushFont(t.code_font, 0);
    if (radio_button(name.c_str(), f.document.compare_with == name)) f.command(SetCompareWith{name});
    ImGui::PopFont();
    ImGui::EndDisabled();
    if (key <= 9) {
      static constexpr const char* keys[] = {"Shift+1", "Shift+2", "Shift+3", "Shift+4", "Shift+5",
                                             "Shift+6", "Shift+7", "Shift+8", "Shift+9"};
      tooltip(t, keys[key - 1]);
    }
    ImGui::Indent(ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x);
    dim_text(t, here ? status : reason);
    if (here)
      explain_item(t, {"Its own largest error as a multiple of the bound, and its median time on this problem.",
                       "max |y − oracle| / bound", source.c_str()});
    ImGui::Unindent(ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x);
    ImGui::PopID();
  };
  int key = 1;
  choice("oracle", "double precision, for every legal problem; not timed", "", key++);
  bool any = false;
  for (const auto& k : f.bench.inventory().kernels())
    if (k.name == f.document.compare_with && k.kind != "reference") choice(k.name, "a kernel: " + k.idea, "", 10);
  if (r)
    for (const auto& ref : r->references) {
      if (ref.name == "oracle") continue;
      any = true;
      std::string status;
      if (ref.max_bound_ratio) status = "error " + times_bound_text(*ref.max_bound_ratio) + " of the bound";
      if (ref.median_ms)
        status += (status.empty() ? "" : ", ") + time_text(*ref.median_ms) +
                  (r->device_kind == "emulator" ? " on the CPU"
                   : !r->recorded.empty()       ? ", recorded"
                                                : "");
      if (!ref.what_ran.empty()) status += (status.empty() ? "" : "\n") + ref.what_ran;
      const bool ran = ref.max_abs || ref.median_ms;
      choice(ref.name, status,
             ran                  ? ""
             : ref.reason.empty() ? r->final ? "did not run" : "not run yet"
                                  : ref.reason,
             key++);
    }
  if (any) return;
  for (const auto& k : f.bench.inventory().kernels())
    if (k.kind == "reference") choice(k.name, k.idea, k.available ? "" : k.reason, key++);
}

}  // namespace

void draw_kernels(Frame& f) {
  const auto& all = f.bench.inventory().kernels();
  if (all.empty()) {
    empty_state(f.theme, "No kernels yet",
                "The engine is starting; its list comes in a moment. The log says what goes wrong, if it does not.");
    return;
  }
  bool known = false;
  for (const auto& k : all) known |= k.name == f.document.kernel;
  if (!known) {
    heading(f.theme, "Chosen");
    ImGui::PushStyleColor(ImGuiCol_Text, f.theme.kernel);
    ImGui::PushFont(f.theme.code_font, 0);
    wrapped(f.document.kernel);
    ImGui::PopFont();
    ImGui::PopStyleColor();
    dim_text(f.theme, "not a kernel of the engine's list");
  }
  const KernelTimes times = kernel_times(f.bench, f.document);
  if (!times.source.empty()) {
    dim_text(f.theme, "hot times, " + times.source);
    tooltip(
        f.theme,
        "Of a whole call on this problem, packing included. A bar is a kernel's time, logarithmic as in the ladder: "
        "the shorter the faster. Those whose arithmetic is less accurate than what is asked for are grey.");
  }
  ImGui::PushStyleVarY(ImGuiStyleVar_ItemSpacing, f.theme.em * 0.1f);
  for (const auto& g : groups) {
    bool begun = false;
    float names = 0;  // the column of this group's names; of all, where bars stand beside each other
    for (const auto& k : all)
      if (k.kind == g.kind || (k.kind == "ladder" && !times.all.empty()))
        names = std::max(names, f.theme.code_font->CalcTextSizeA(f.theme.em, FLT_MAX, 0, shown_name(k).c_str()).x);
    names += f.theme.em * 0.8f;
    float tags = 0;
    for (const auto& k : all)
      if (k.kind == g.kind && is_looser(f.bench, f.document, k.name)) tags = std::max(tags, tag_width(k));
    constexpr float some_words = 9;  // em
    const float em = ImGui::GetFontSize(), behind = ImGui::GetContentRegionAvail().x - em * names_from - names - tags;
    const Columns columns{names, behind < em * some_words};
    for (size_t i = 0; i < all.size(); i++) {
      if (all[i].kind != g.kind) continue;
      if (!begun) {
        heading(f.theme, g.title);
        tooltip(f.theme, g.about);
        begun = true;
        if (std::string_view(g.kind) == "ladder") {
          if (ImGui::Button("Best for this problem")) f.act("best-kernel");
          tooltip(f.theme, "What the planner takes for this problem, accuracy and device (B); the log says why");
        }
      }
      kernel_row(f, all[i], i, columns, times);
    }
  }
  ImGui::PopStyleVar();
  beside_it(f);
}

}  // namespace convscope::ui
