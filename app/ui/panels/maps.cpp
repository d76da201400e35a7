// Kernel, reference and difference, with one window for all three.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <utility>

#include "app/ui/panels/colour_scale.h"
#include "app/ui/panels/map_axes.h"
#include "app/ui/panels/map_classes.h"
#include "app/ui/panels/map_view.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

// On the toolbar's line where there is room, else below it.
void toolbar_text(const ImVec4& colour, const std::string& text) {
  if (ImGui::GetContentRegionAvail().x < ImGui::CalcTextSize(text.c_str()).x) ImGui::NewLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextColored(colour, "%s", text.c_str());
}

void difference_words(Frame& f, const Beside& b, const Report& r) {
  const std::string apart =
      b.beyond                    ? fmt::format("{} of {} differ ({})", grouped(b.beyond), grouped(b.elements),
                                                percent_text(static_cast<double>(b.beyond) / static_cast<double>(b.elements)))
      : b.identical == b.elements ? fmt::format("all {} the same, bit for bit", grouped(b.elements))
                                  : fmt::format("none of {} differs beyond rounding", grouped(b.elements));
  toolbar_text(b.beyond ? f.theme.wrong : f.theme.right, apart);
  const std::string about = fmt::format(
      "{}Elements of {} and {} that are further apart than the rounding of two right kernels can make "
      "them. {} are the same bit for bit; the largest difference is {}.",
      b.where.empty() ? "" : b.where + ". ", file_name(r.kernel), file_name(b.with), grouped(b.identical),
      value_text(b.max_abs));
  explain_item(f.theme, {about.c_str(), "|y1 − y2| > 2·(λ·√n·u·Σ|x·w| + one rounding of the output)",
                         r.device_kind == "emulator" ? "computed from the emulated outputs"
                                                     : "computed from the measured outputs"});
  if (b.status.empty()) return;
  // Two that are the same may both be wrong.
  ImGui::SameLine();
  const std::string with = file_name(b.with);
  if (b.status == "right")
    toolbar_text(f.theme.right, fmt::format("✓ {} is right", with));
  else if (b.status == "wrong")
    toolbar_text(f.theme.wrong, fmt::format("✗ {} is wrong", with));
  else
    toolbar_text(b.status == "not-run" ? f.theme.dim : f.theme.wrong, fmt::format("{}: {}", with, b.sentence));
  tooltip(f.theme, b.sentence + "\nsource: judged against the double-precision oracle, on this problem");
}

// What may stand beside the kernel's output.
void choose_beside(Frame& f) {
  const std::string& now = f.document.compare_with;
  auto entry = [&](const std::string& name, const std::string& title, const char* key) {
    if (ImGui::MenuItem(title.c_str(), key, now == name) && now != name) f.command(SetCompareWith{name});
  };
  entry(oracle_name, "oracle (double precision)", "Shift+1");
  auto group = [&](const char* title, auto is) {
    bool begun = false;
    int number = 0;
    for (const auto& k : f.bench.inventory().kernels()) {
      number++;
      if (!is(k)) continue;
      if (!std::exchange(begun, true)) ImGui::SeparatorText(title);
      const bool counts = number <= 9 && k.kind != "reference";
      ImGui::BeginDisabled(!k.available);
      entry(k.name, file_name(k.name), counts ? fmt::format("Alt+{}", number).c_str() : nullptr);
      ImGui::EndDisabled();
      tooltip(f.theme, k.available ? k.idea : "not here: " + k.reason);
    }
  };
  group("References", [](const KernelEntry& k) { return k.kind == "reference" && k.name != oracle_name; });
  group("Kernels", [&](const KernelEntry& k) { return k.kind != "reference" && k.name != f.document.kernel; });
}

void toolbar(Frame& f, const Report& r) {
  float em = ImGui::GetFontSize();
  auto button = [&](const char* label, const char* action, const char* about) {
    if (ImGui::Button(label)) f.act(action);
    tooltip(f.theme, about);
    ImGui::SameLine(0, em * 0.25f);
  };
  button("Fit", "fit", "Show everything (F)");
  button("+", "zoom-in",
         "Closer (+). The wheel zooms at the mouse; with Shift only positions, with Ctrl only channels.");
  button("-", "zoom-out", "Further away (-)");
  button("<", "view-back", "The view before (Alt+Left)");
  button(">", "view-forward", "The view after (Alt+Right)");
  ImGui::SameLine(0, em);
  const Beside* other = f.beside();
  if (other) {
    button("< differing", "previous-failing", "The differing element before the selected one (Shift+N)");
    button("differing >", "next-failing", "The next differing element (N)");
  } else {
    button("< failing", "previous-failing", "The failing element before the selected one (Shift+N)");
    button("failing >", "next-failing", "The next failing element (N)");
  }
  if (other) {
    difference_words(f, *other, r);
  } else if (r.failing) {
    ImVec4 c = out_of_date(f) ? f.theme.dim : *r.failing ? f.theme.wrong : f.theme.right;
    // Of an output of another length there is less to compare.
    const char* compared = r.own_length != r.out_length ? " compared" : "";
    std::string text = *r.failing ? fmt::format("{} of {}{} fail ({})", grouped(*r.failing), grouped(r.elements),
                                                compared, percent_text(r.failing_fraction.value_or(0)))
                                  : fmt::format("none of {}{} fails", grouped(r.elements), compared);
    toolbar_text(c, text);
    explain_item(
        f.theme,
        {"Elements whose error is above their bound", "|y − oracle| > λ·√n·u·Σ|x·w| + one rounding of the output",
         r.device_kind == "emulator" ? "computed from the emulated output" : "computed from the measured output"});
  }
  View v = f.view;
  const char* classes = "classes";
  float need = em * 16;
  // On the same line at its right end, or on one of its own.
  ImGui::SameLine();
  float room = ImGui::GetContentRegionAvail().x;
  if (room >= need)
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - need);
  else
    ImGui::NewLine();
  if (checkbox(classes, &v.show_classes)) f.view_to(v);
  tooltip(f.theme,
          "Tint positions by their polyphase class (j + p) mod s, and hatch those that no tap reaches (structural "
          "zeros). Seen when positions are at least 3 pixels wide.");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(em * 9);
  const char* kinds[] = {other ? "apart / bounds" : "error / bound", other ? "signed apart" : "signed error"};
  int kind = v.difference_is_ratio ? 0 : 1;
  if (ImGui::Combo("##difference", &kind, kinds, 2)) {
    v.difference_is_ratio = kind == 0;
    f.view_to(v);
  }
  tooltip(f.theme,
          "What the third map shows: |error| over its bound (logarithmic, red beyond 1), or the signed error (blue too "
          "low, orange too high). Beside another kernel: the difference of the two, over the bounds of both.");
}

}  // namespace

void draw_maps(Frame& f) {
  const Report* r = f.picture();
  if (!r) {
    no_output_state(f, "to see its output beside the oracle's");
    return;
  }
  toolbar(f, *r);
  stale_strip(f);
  if (f.view.show_classes) class_legend(f, r->document.problem);
  ImVec2 room = ImGui::GetContentRegionAvail();
  float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x,
        mini = std::clamp(room.y * 0.1f, em * 1.2f, em * 2.2f);
  room.y -= mini + ImGui::GetStyle().ItemSpacing.y;
  // What stands in the oracle's place is asked for; until it has come, what was shown stays.
  f.wish([d = f.document](Workbench& b) { b.beside().want(d); });
  const Beside *asked = f.bench.beside().of(f.document, *r), *other = f.beside();
  const bool oracle = f.document.compare_with == oracle_name, waits = !oracle && !asked;
  const std::string with = file_name(f.document.compare_with);
  const auto& ranges = other ? other->ranges : r->ranges;
  const bool ratio = f.view.difference_is_ratio;
  const ColourScale third_scale = ratio ? ColourScale::ratio : ColourScale::error;
  // The automatic scale of error/bound is the same for all results: that there is more beyond it is no news.
  const bool tells_beyond = !ratio || f.view.colours[static_cast<size_t>(third_scale)];
  const auto values_of_third =
      tells_beyond ? ranges[static_cast<size_t>(ratio ? Quantity::ratio : Quantity::error)] : std::nullopt;
  const Paint value_paint = paint_of(f, ColourScale::values, *r, other);
  const std::string kernel_title = fmt::format("{} (kernel)", file_name(r->kernel)),
                    other_title = oracle  ? "oracle (double precision)"
                                  : waits ? with + " …"
                                          : with,
                    apart = fmt::format("|{} − {}| / bounds", file_name(r->kernel), with),
                    signed_apart = fmt::format("{} − {}", file_name(r->kernel), with);
  MapStyle styles[] = {
      {Pictures::Map::kernel, r->key, Quantity::output, Quantity::output, kernel_title.c_str(),
       "output of the kernel, same scale as what stands beside it", value_paint, f.theme.kernel, "", nullptr,
       r->ranges[static_cast<size_t>(Quantity::output)]},
      {Pictures::Map::reference,
       waits   ? ""
       : other ? other->output
               : r->key,
       other ? Quantity::output : Quantity::reference, Quantity::reference, other_title.c_str(),
       other ? "output of what stands beside the kernel" : "output as it should be", value_paint, f.theme.reference,
       asked ? asked->trouble : "", choose_beside,
       other ? other->ranges[static_cast<size_t>(Quantity::output)]
             : r->ranges[static_cast<size_t>(Quantity::reference)]},
      {Pictures::Map::difference, waits ? "" : f.shown_key(), ratio ? Quantity::ratio : Quantity::error,
       ratio ? Quantity::ratio : Quantity::error,
       other   ? (ratio ? apart.c_str() : signed_apart.c_str())
       : ratio ? "|error| / bound"
               : "error = kernel − oracle",
       other   ? (ratio ? "|difference| over the rounding bounds of both: up to 1 is rounding, beyond is none"
                        : "signed difference, range symmetric around 0")
       : ratio ? "|error| over its bound: up to 1 is rounding, beyond is wrong"
               : "signed error, range symmetric around 0",
       paint_of(f, third_scale, *r, other), f.theme.text, "", nullptr, values_of_third}};
  // Beside or below each other: where there is little room, by how many numbers can be read.
  // Names of rows are not worth the third column of numbers.
  float rows = rows_width(f, room.x);
  auto columns_beside = [&](float names) {
    return cell_room({std::floor((room.x - names - 2 * gap) / 3), room.y}).columns;
  };
  if (columns_beside(rows) < std::min(3, columns_beside(0))) rows = 0;
  const ImVec2 third{std::floor((room.x - rows - 2 * gap) / 3), room.y},
      strip{room.x - rows, std::floor(room.y / 3) - ImGui::GetStyle().ItemSpacing.y};
  auto cells = [](ImVec2 size) { return cell_room({size.x, map_height(size.y)}); };
  auto count = [&](ImVec2 size) { return cells(size).rows * cells(size).columns; };
  const bool low = map_height(strip.y) <= em * 3;  // less would not be a map
  const bool beside = room.x >= em * 36 || (room.x >= em * 21 && (low || count(third) >= count(strip)));
  const ImVec2 size = beside ? third : strip;
  f.cells = cells(size);
  for (int i = 0; i < 3; i++) {
    if (beside && i)
      ImGui::SameLine(0, gap);
    else
      ImGui::SetCursorPosX(ImGui::GetCursorPosX() + rows), styles[i].rows_room = rows;
    draw_map(f, styles[i], size);
  }
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + rows);
  draw_minimap(f, mini);
}

}  // namespace convscope::ui
