#include "app/ui/panels/machine_code.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>
#include <tuple>
#include <utility>

#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"
#include "kernels/runtime/stand_ins.h"

namespace convscope::ui {
namespace {

// Which function is shown until a person chooses: where most samples were taken, else of the launch that a profile is
// about, else the first of the kernel's own.
size_t usual_function(const MachineCode& m, const Profile* profile, const Report* report) {
  std::map<std::string, int64_t> samples;
  if (profile)
    for (const SampledPlace& i : profile->samples.instructions) samples[i.function] += i.samples;
  const bool launched = report && report->document.kernel == m.kernel && !report->launches.empty();
  const std::string main = launched ? report->launches[main_launch(*report, profile)].entry : "";
  auto rank = [&](const CodeFunction& c) {
    const auto it = samples.find(c.name);
    return std::tuple(it == samples.end() ? 0 : it->second, c.name == main, !is_stand_in(c.name));
  };
  const auto best = std::max_element(m.functions.begin(), m.functions.end(),
                                     [&](const CodeFunction& a, const CodeFunction& b) { return rank(a) < rank(b); });
  return static_cast<size_t>(best - m.functions.begin());
}

std::string heat_words(const SampledPlace& at, const ProfileSamples& all) {
  std::string out =
      fmt::format("{} samples, {:.1f} % of all", grouped(at.samples),
                  all.samples ? 100.0 * static_cast<double>(at.samples) / static_cast<double>(all.samples) : 0.0);
  std::vector<std::pair<int64_t, std::string>> reasons;
  for (const auto& [name, n] : at.reasons) reasons.emplace_back(n, name);
  std::sort(reasons.rbegin(), reasons.rend());
  for (size_t i = 0; i < std::min<size_t>(5, reasons.size()); i++) {
    const SampledReason* r = all.find(reasons[i].second);
    out += fmt::format(
        "\n{:.0f} %  {} ({})",
        100.0 * static_cast<double>(reasons[i].first) / static_cast<double>(std::max<int64_t>(1, at.samples)),
        r ? r->words : reasons[i].second, reasons[i].second);
  }
  return out + "\nsource: " + all.source;
}

}  // namespace

void MachineCodePane::take_heat(const CodeFunction& c, const std::string& architecture, const Profile* profile,
                                const std::string& reason) {
  std::string key =
      fmt::format("{} {} {} {} {}", c.name, c.code_hash, architecture, profile ? profile->serial : 0, reason);
  if (key == heat_key_) return;
  heat_key_ = key;
  heat_.clear();
  most_ = 0, all_ = 0;
  sampled_ = {};
  if (!profile || profile->samples.instructions.empty()) return;
  sampled_ = sampled_code(*profile, &c, architecture);
  if (sampled_.code == SampledCode::Is::other) return;  // its offsets are those of other instructions
  for (const auto& i : profile->samples.instructions) {
    if (i.function != c.name) continue;
    auto it = i.reasons.find(reason);
    int64_t n = reason.empty() ? i.samples : it == i.reasons.end() ? 0 : it->second;
    heat_[i.offset] = {n, heat_words(i, profile->samples)};
    most_ = std::max(most_, n);
    all_ += n;
  }
}

void MachineCodePane::head(Frame& f, const MachineCode& m, const CodeFunction& c) {
  const Theme& t = f.theme;
  if (m.functions.size() > 1) {
    ImGui::SetNextItemWidth(t.em * 12);
    if (ImGui::BeginCombo("##function", c.name.c_str())) {
      for (size_t i = 0; i < m.functions.size(); i++)
        if (ImGui::Selectable(m.functions[i].name.c_str(), i == function_))
          function_ = i, function_chosen_ = true, scrolled_for_.clear();
      ImGui::EndCombo();
    }
    tooltip(t, "Which of the kernel's launches");
    ImGui::SameLine();
  }
  if (radio_button("SASS", !ptx_)) chosen_ptx_ = ptx_ = false, scrolled_for_.clear();
  tooltip(t, "The instructions that the GPU runs" + (c.sass_reason.empty() ? "" : "\n" + c.sass_reason));
  ImGui::SameLine();
  if (radio_button("PTX", ptx_)) chosen_ptx_ = ptx_ = true, scrolled_for_.clear();
  tooltip(t, "What the compiler made of the source, before ptxas made instructions of it");
  std::string facts = fmt::format("{}, {}: {} registers, {} of code", c.name, m.architecture, c.registers,
                                  bytes_text(static_cast<double>(c.code_bytes)));
  beside_if_fits(ImGui::CalcTextSize(facts.c_str()).x);
  dim_text(t, facts);
  std::string from = ptx_                    ? "as ptxas was given it, from the device code"
                     : c.sass_source.empty() ? "from the device code"
                                             : "by " + c.sass_source;
  tooltip(t, fmt::format("static shared memory {}, stack {} a thread\ninstructions: {}\nlines: {}{}{}",
                         bytes_text(static_cast<double>(c.static_shared_bytes)),
                         bytes_text(static_cast<double>(c.stack_bytes)), from,
                         c.lines_source.empty() ? "not known" : c.lines_source,
                         sampled_.evidence.empty() ? "" : "\nsamples: ", sampled_.evidence));
  if (!ptx_ && !c.sass_reason.empty()) coloured(t.warning, c.sass_reason);
  if (ptx_ && !c.ptx_reason.empty()) coloured(t.warning, c.ptx_reason);
  if (!c.lines_reason.empty()) coloured(t.warning, c.lines_reason);
  if (!ptx_ && !sampled_.code_words.empty()) coloured(t.warning, sampled_.code_words);
}

std::string MachineCodePane::csv(const CodeFunction& c) const {
  std::string out = "offset,instruction,file,line,samples\n";
  for (const auto& l : ptx_ ? c.ptx : c.sass) {
    auto it = heat_.find(l.offset);
    out += fmt::format("{},\"{}\",{},{},{}\n", l.offset < 0 ? "" : fmt::format("0x{:x}", l.offset), l.text, l.file,
                       l.line ? std::to_string(l.line) : "",
                       ptx_ || it == heat_.end() ? "" : std::to_string(it->second.samples));
  }
  return out;
}

void MachineCodePane::rows(Frame& f, const CodeFunction& c, const std::string& file, CodeLink& link) {
  const Theme& t = f.theme;
  const auto& lines = ptx_ ? c.ptx : c.sass;
  auto line_of = [&](const CodeLine& l) {
    return l.line > 0 && file_name(l.file) == file_name(file) ? static_cast<int>(l.line - 1) : -1;
  };
  const int marked = link.source_hovered >= 0 ? link.source_hovered : link.source_chosen;
  // A line that was chosen in the source: its first instruction comes into view, once.
  std::string wish = fmt::format("{} {} {}", c.name, ptx_, link.source_chosen);
  if (link.source_chosen >= 0 && wish != scrolled_for_) {
    auto first =
        std::find_if(lines.begin(), lines.end(), [&](const CodeLine& l) { return line_of(l) == link.source_chosen; });
    if (first != lines.end()) {
      float row = ImGui::GetTextLineHeightWithSpacing() * static_cast<float>(first - lines.begin());
      ImGui::SetScrollY(std::max(0.0f, row - ImGui::GetWindowHeight() / 3));
    }
    scrolled_for_ = wish;
  }
  const bool heat = !ptx_ && all_ > 0;
  const float bar = heat ? t.em * 4 : 0;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(lines.size()), ImGui::GetTextLineHeightWithSpacing());
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; i++) {
      const CodeLine& l = lines[static_cast<size_t>(i)];
      const int line = line_of(l);
      ImVec2 at = ImGui::GetCursorScreenPos();
      ImDrawList* draw = ImGui::GetWindowDrawList();
      const float high = ImGui::GetTextLineHeight(), width = std::max(ImGui::GetContentRegionAvail().x, t.em * 30);
      if (marked >= 0 && line == marked) draw->AddRectFilled(at, {at.x + width, at.y + high}, packed(t.accent, 0.22f));
      ImGui::PushID(i);
      ImGui::InvisibleButton("row", {width, high});
      std::string about = line >= 0    ? fmt::format("line {}", line + 1)
                          : l.line > 0 ? fmt::format("{}:{}", l.file, l.line)
                                       : "of no line";
      if (ImGui::IsItemHovered() && line >= 0) link.code_hovered = line;
      if (ImGui::IsItemClicked() && line >= 0) link.code_chosen = line;
      auto found = heat_.find(l.offset);
      if (heat && found != heat_.end()) {
        double share = static_cast<double>(found->second.samples) / static_cast<double>(all_);
        auto part = static_cast<float>(static_cast<double>(found->second.samples) /
                                       static_cast<double>(std::max<int64_t>(1, most_)));
        draw->AddRectFilled({at.x, at.y + 1}, {at.x + std::max(2.0f, (bar - t.em * 0.4f) * part), at.y + high - 1},
                            packed(t.warning, 0.18f + 0.3f * std::sqrt(part)));
        std::string percent = share < 0.001 ? "" : fmt::format("{:.1f} %", 100 * share);
        draw->AddText({at.x + bar - t.em * 0.4f - ImGui::CalcTextSize(percent.c_str()).x, at.y}, packed(t.text),
                      percent.c_str());
        about += "\n" + found->second.about;
      }
      tooltip(t, about);
      float x = at.x + bar;
      if (!ptx_) {
        draw->AddText({x, at.y}, packed(t.dim), fmt::format("{:5x}", l.offset).c_str());
        x += ImGui::CalcTextSize("00000").x + t.em * 0.6f;
      }
      std::string label = l.label.empty() ? "" : l.label + ":  ";
      if (!label.empty()) {
        draw->AddText({x, at.y}, packed(t.floor), label.c_str());
        x += ImGui::CalcTextSize(label.c_str()).x;
      }
      draw->AddText({x, at.y}, packed(l.line > 0 ? t.text : t.dim), l.text.c_str());
      ImGui::PopID();
    }
}

void MachineCodePane::ask(Frame& f) {
  // What was known of a file is forgotten when it comes anew.
  const bool forgotten = !f.bench.sources().machine_code() && !f.bench.sources().machine_code_waiting();
  if (!asked_ || needs_run(*asked_, f.document) || asked_of_ != f.bench.link().status().starts || forgotten) {
    asked_ = f.document, asked_of_ = f.bench.link().status().starts;
    f.wish([d = f.document](Workbench& b) { b.sources().want_machine_code(d); });
  }
}

void MachineCodePane::follow_line(const MachineCode& m, const std::string& file, const CodeLink& link) {
  std::string wish = link.source_chosen < 0 ? "" : fmt::format("{} {}", file, link.source_chosen);
  if (std::exchange(followed_line_, wish) == wish || wish.empty()) return;
  auto has = [&](const CodeFunction& c) {
    return std::any_of(c.sass.begin(), c.sass.end(), [&](const CodeLine& l) {
      return l.line == link.source_chosen + 1 && file_name(l.file) == file_name(file);
    });
  };
  if (has(m.functions[function_])) return;
  const auto other = std::find_if(m.functions.begin(), m.functions.end(), has);
  if (other != m.functions.end()) function_ = static_cast<size_t>(other - m.functions.begin()), function_chosen_ = true;
}

void MachineCodePane::draw(Frame& f, const std::string& file, const Profile* profile, const std::string& reason,
                           CodeLink& link) {
  link.code_hovered = link.code_chosen = -1;
  const Theme& t = f.theme;
  const OpenedFile* own = f.bench.files().of(f.document.kernel);
  if (own && !own->ever)
    return (void)empty_state(t, "No instructions",
                             own->compiling ? "the file is being compiled" : "the file has not compiled yet");
  ask(f);
  const MachineCode* m = f.bench.sources().machine_code();
  if (!m || f.bench.sources().machine_code_waiting()) {
    empty_state(t, "Reading the device code", f.document.kernel.c_str());
    f.again_in(0.25);
    return;
  }
  if (m->functions.empty()) {
    empty_state(t, "No instructions",
                m->reason.empty() ? "the device code has none of its functions" : m->reason.c_str());
    return;
  }
  if (std::exchange(function_of_, m->kernel) != m->kernel) function_chosen_ = false;
  if (!function_chosen_ || function_ >= m->functions.size()) function_ = usual_function(*m, profile, f.report());
  follow_line(*m, file, link);
  const CodeFunction& c = m->functions[function_];
  take_heat(c, m->architecture, profile, reason);
  ptx_ = chosen_ptx_.value_or(!c.sass_reason.empty() && !c.ptx.empty() && heat_.empty());
  head(f, *m, c);
  ImGui::PushFont(t.code_font, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {t.em * 0.4f, t.em * 0.1f});
  ImGui::BeginChild("code", {0, 0}, ImGuiChildFlags_None, ImGuiWindowFlags_HorizontalScrollbar);
  rows(f, c, file, link);
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::PopFont();
  copy_menu(f, "copy-code", [&] { return csv(c); });
}

}  // namespace convscope::ui
