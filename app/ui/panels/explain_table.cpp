#include "app/ui/panels/explain_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/panels/flow.h"

namespace convscope::ui {

std::optional<int> draw_tap_table(Frame& f, const Explained& e, const ExplainWords& w, TapTable& table,
                                  int current_row) {
  const Theme& t = f.theme;
  float em = ImGui::GetFontSize();
  constexpr ImGuiTableFlags flags =
      ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_PadOuterX;
  float avail = ImGui::GetContentRegionAvail().x;
  bool narrow = avail < em * 24;
  bool wide = avail > em * 42;
  float column = em * (wide ? 11.5f : 6.2f);
  if (!ImGui::BeginTable(narrow ? "narrow tap table" : "tap table", narrow ? 1 : 3, flags)) return {};
  ImGui::TableSetupColumn("tap", ImGuiTableColumnFlags_WidthStretch);
  if (!narrow) {
    ImGui::TableSetupColumn("expected", ImGuiTableColumnFlags_WidthFixed, column);
    ImGui::TableSetupColumn("kernel", ImGuiTableColumnFlags_WidthFixed, column);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextColored(t.dim, "tap");
    ImGui::TableNextColumn();
    ImGui::TextColored(t.reference, "expected");
    explain_item(t, {"The input that belongs here, and what it adds",
                     "i = (j + p − k·d)/s;  Σ over ci of x[n, ci, i]·w[ci, co, k]", "computed in double precision"});
    ImGui::TableNextColumn();
    ImGui::TextColored(t.kernel, "kernel");
    explain_item(t, {"The input that the kernel took, and what that adds",
                     "w one-hot at tap k, x[i] = i + 1: the output spells out i", "measured on the running kernel"});
  }
  int hovered = -1;
  std::optional<int> clicked;
  table.heights.resize(w.taps.size(), 0);
  for (size_t i = 0; i < w.taps.size(); i++) {
    const TapWords& x = w.taps[i];
    float& height = table.heights[i];
    ImGui::TableNextRow(0, height);
    ImGui::TableNextColumn();
    ImVec2 at = ImGui::GetCursorScreenPos();
    if (height > 0 && !ImGui::IsRectVisible(at, {at.x + 1, at.y + height})) continue;
    ImGui::PushID(static_cast<int>(i));
    bool differs = tap_differs(x.state), current = current_row == static_cast<int>(i);
    if (current) ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, ImGui::GetColorU32(ImGuiCol_Header));
    constexpr ImGuiSelectableFlags select = ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap;
    ImGui::SetNextItemAllowOverlap();
    if (ImGui::Selectable("##row", false, select, {0, std::max(0.0f, height - 2 * ImGui::GetStyle().CellPadding.y)}))
      clicked = current ? -1 : static_cast<int>(i);
    if (ImGui::IsItemHovered()) hovered = static_cast<int>(i);
    ImGui::SetCursorScreenPos(at);
    status_mark(t, differs ? "fail" : x.state == TapState::idle ? "skipped" : "pass");
    tooltip(t, differs                     ? "The kernel does something else than it should"
               : x.state == TapState::idle ? "No input belongs here and none is taken"
                                           : "The right input");
    ImGui::SameLine(0, em * 0.3f);
    ImGui::TextUnformatted(x.name.c_str());
    if (ImGui::GetContentRegionAvail().x > em * 30) ImGui::SameLine(em * 6);
    ImGui::PushFont(t.code_font, ImGui::GetStyle().FontSizeBase * 0.87f);
    coloured(t.dim, x.formula);
    ImGui::PopFont();
    if (!x.note.empty()) coloured(t.wrong, x.note);
    float bottom = ImGui::GetItemRectMax().y;
    for (int c = 0; c < 2; c++) {
      const std::string &which = c == 0 ? x.expected : x.kernel, &sum = c == 0 ? x.expected_sum : x.kernel_sum;
      const ImVec4& ink = which == "nothing" ? t.dim : c == 0 ? t.reference : t.kernel;
      if (narrow) {
        ImGui::TextColored(t.dim, "%s", c == 0 ? "expected" : "kernel");
        ImGui::SameLine(em * 5);
      } else {
        ImGui::TableNextColumn();
      }
      ImGui::PushFont(t.code_font, 0);
      coloured(ink, which);
      if ((narrow || wide) && !sum.empty()) beside_if_fits(ImGui::CalcTextSize(sum.c_str()).x);
      if (!sum.empty()) coloured(ink, sum);
      ImGui::PopFont();
      bottom = std::max(bottom, ImGui::GetItemRectMax().y);
    }
    height = bottom - at.y + 2 * ImGui::GetStyle().CellPadding.y;
    ImGui::PopID();
  }
  table.hovered = hovered;
  auto last = [&](const char* label, const std::string& expected, const std::string& kernel, const About& about) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::Indent(em * 1.3f);
    ImGui::TextUnformatted(label);
    ImGui::Unindent(em * 1.3f);
    explain_item(t, about);
    ImGui::PushFont(t.code_font, 0);
    if (narrow)
      ImGui::SameLine(em * 5);
    else
      ImGui::TableNextColumn();
    coloured(t.reference, expected);
    if (narrow)
      beside_if_fits(ImGui::CalcTextSize(kernel.c_str()).x);
    else
      ImGui::TableNextColumn();
    coloured(t.kernel, kernel);
    ImGui::PopFont();
  };
  if (!w.bias.empty())
    last(w.bias_name.c_str(), w.bias, w.kernel_bias,
         {"The bias of this output channel", "", "the run's own bias tensor"});
  last(w.bias.empty() ? "Σ" : "bias + Σ", w.expected_total, w.kernel_total,
       {"All of it", "b[co] + Σ over ci and k", "computed in double precision"});
  ImGui::EndTable();
  copy_menu(f, "copy taps", [&] { return csv_of(e); });
  if (w.idle) dim_text(t, fmt::format("and {} taps that reach nothing, as they should", w.idle));
  return clicked;
}

}  // namespace convscope::ui
