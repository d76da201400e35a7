// What the engine and the window have said, newest last.
#include <algorithm>
#include <deque>
#include <imgui.h>
#include <imgui_internal.h>

#include "app/engine/kernel_file.h"
#include "app/model/error_lines.h"
#include "app/ui/panel.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// Lines are broken to the width once, when they come: rows are then of one height, and only those in sight are drawn.
struct Row {
  size_t line;  // counted from the first line ever
  uint32_t begin, end;
};
struct LogState {
  std::deque<Row> rows;
  size_t first = 0, count = 0;      // the log's lines that are in rows: [first, first + count)
  const LogLine* newest = nullptr;  // a line keeps its place in the log while it is there
  float width = 0, font_size = 0;
  ImGuiTextFilter filter;
  std::string filtered_by;
  size_t matching = 0;
};

void break_line(LogState& s, const LogLine& l, size_t number) {
  if (!s.filter.PassFilter(l.text.c_str())) return;
  s.matching++;
  const char *text = l.text.c_str(), *end = text + l.text.size();
  ImFont* font = ImGui::GetFont();
  do {
    const char* stop = std::min(font->CalcWordWrapPosition(ImGui::GetFontSize(), text, end, s.width), end);
    if (const char* newline = static_cast<const char*>(memchr(text, '\n', static_cast<size_t>(stop - text))))
      stop = newline;
    if (stop == text && text < end && *text != '\n') stop = text + 1;
    s.rows.push_back(
        {number, static_cast<uint32_t>(text - l.text.c_str()), static_cast<uint32_t>(stop - l.text.c_str())});
    text = stop;
    while (text < end && (*text == ' ' || *text == '\n')) text++;
  } while (text < end);
}

// Takes in what has come since, and lets go of what the log has dropped.
void follow(LogState& s, const std::deque<LogLine>& log, float width) {
  if (width != s.width || ImGui::GetFontSize() != s.font_size || s.filtered_by != s.filter.InputBuf) {
    s.rows.clear();
    s.first = s.count = s.matching = 0;
    s.newest = nullptr;
    s.width = width, s.font_size = ImGui::GetFontSize(), s.filtered_by = s.filter.InputBuf;
  }
  if (log.empty() || &log.back() == s.newest) return;
  size_t come = 0;
  while (come < log.size() && &log[log.size() - 1 - come] != s.newest) come++;
  const size_t dropped = s.count + come - log.size();
  s.first += dropped, s.count = log.size();
  while (!s.rows.empty() && s.rows.front().line < s.first) {
    if (s.rows.front().begin == 0) s.matching--;
    s.rows.pop_front();
  }
  for (size_t i = log.size() - come; i < log.size(); i++) break_line(s, log[i], s.first + i);
  s.newest = &log.back();
}

const char* word_of(LogLine::Kind k) {
  return k == LogLine::Kind::trouble   ? "trouble"
         : k == LogLine::Kind::engine  ? "the engine's log"
         : k == LogLine::Kind::heading ? "a compilation begins"
                                       : "the window";
}

// The place in the shown kernel's text that a line names: in its file, or in a header that it includes.
SourcePlace place_named(const Frame& f, const std::string& text) {
  const std::string own = file_of_kernel(f.document.kernel);
  if (f.bench.files().of(own))
    if (const int line = line_named(text, own)) return {own, line};
  if (const std::vector<SourceText>* files = f.bench.sources().of(f.document.kernel))
    for (const auto& each : *files)
      if (const int line = line_named(text, each.file)) return {each.file, line};
  return {};
}

}  // namespace

void draw_log(Frame& f) {
  static LogState s;
  const Theme& t = f.theme;
  const auto& log = f.bench.link().log();
  if (log.empty()) {
    empty_state(t, "Nothing was said yet", "What the engine writes, and what goes wrong, stands here.");
    return;
  }
  const float em = t.em, button = ImGui::CalcTextSize("Copy all").x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetNextItemWidth(
      std::max(em * 6, ImGui::GetContentRegionAvail().x - button - ImGui::GetStyle().ItemSpacing.x));
  if (ImGui::InputTextWithHint("##filter", "filter: word, -not this", s.filter.InputBuf,
                               IM_ARRAYSIZE(s.filter.InputBuf)))
    s.filter.Build();
  tooltip(t, "Lines that hold the word; several with commas between them; -word leaves out.");
  ImGui::SameLine();
  if (ImGui::Button("Copy all")) {
    std::string all;
    for (const auto& l : log)
      if (s.filter.PassFilter(l.text.c_str())) all += l.text + "\n";
    ImGui::SetClipboardText(all.c_str());
    f.toast("Log copied");
  }
  tooltip(t, s.filter.IsActive() ? "The lines that pass the filter" : "Every line");

  if (!ImGui::BeginChild("##lines", {0, 0}, ImGuiChildFlags_None, ImGuiWindowFlags_AlwaysVerticalScrollbar)) {
    ImGui::EndChild();
    return;
  }
  ImGui::PushFont(t.code_font, 0);
  const float mark = em * 1.1f;
  const bool at_end = ImGui::GetScrollY() >= ImGui::GetScrollMaxY() - 1;
  follow(s, log, std::max(em * 4, ImGui::GetContentRegionAvail().x - mark));
  ImGui::PushStyleVarY(ImGuiStyleVar_ItemSpacing, 0);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(s.rows.size()), ImGui::GetTextLineHeight());
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; i++) {
      const Row& row = s.rows[static_cast<size_t>(i)];
      const LogLine& l = log[row.line - s.first];
      const bool trouble = l.kind == LogLine::Kind::trouble, heading = l.kind == LogLine::Kind::heading;
      ImVec2 at = ImGui::GetCursorScreenPos();
      const SourcePlace place = place_named(f, l.text);
      const char *from = l.text.c_str() + row.begin, *to = l.text.c_str() + row.end;
      ImDrawList* draw = ImGui::GetWindowDrawList();
      ImGui::PushID(i);
      const std::string id = place.line ? "##" + file_name(place.file) + ":" + std::to_string(place.line) : "##row";
      if (ImGui::InvisibleButton(id.c_str(), {s.width + mark, ImGui::GetTextLineHeight()}) && place.line)
        show_in_source(f, place.file, place.line);
      if (ImGui::IsItemHovered()) {
        draw->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), packed(t.raised));
        if (place.line) {
          ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
          const float y = at.y + ImGui::GetTextLineHeight() - 1, x = at.x + mark;
          draw->AddLine({x, y}, {x + ImGui::CalcTextSize(from, to).x, y}, packed(t.dim));
        }
      }
      tooltip(t, place.line ? std::string(word_of(l.kind)) + "; a click goes to the line" : word_of(l.kind));
      if (ImGui::BeginPopupContextItem("line")) {
        if (ImGui::MenuItem("Copy line")) ImGui::SetClipboardText(l.text.c_str()), f.toast("Line copied");
        ImGui::EndPopup();
      }
      ImGui::PopID();
      if (heading) draw->AddLine({at.x, at.y}, {at.x + s.width + mark, at.y}, packed(t.border));
      if (trouble && row.begin == 0) draw->AddText({at.x + em * 0.2f, at.y}, packed(t.warning), "!");
      draw->AddText({at.x + mark, at.y},
                    packed(trouble                           ? t.warning
                           : heading                         ? t.accent
                           : l.kind == LogLine::Kind::engine ? t.dim
                                                             : t.text),
                    from, to);
    }
  clipper.End();
  if (s.rows.empty()) dim_text(t, "no line passes the filter");
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (at_end) ImGui::SetScrollY(1e9f);
  ImGui::EndChild();
}

}  // namespace convscope::ui
