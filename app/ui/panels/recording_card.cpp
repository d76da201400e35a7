#include "app/ui/panels/recording_card.h"

#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"
#include "kernels/problem/presets.h"

namespace convscope::ui {
namespace {

// Read out of the recording once.
struct Card {
  std::shared_ptr<const Recording> of;
  std::vector<std::pair<std::string, std::string>> facts;
  struct Problem {
    ConvProblem problem;
    std::string words;
  };
  std::vector<Problem> problems;
};

std::string text(const nlohmann::json& j, const char* field) {
  auto it = j.find(field);
  return it == j.end() ? "" : it->is_string() ? it->get<std::string>() : it->is_number() ? it->dump() : "";
}

const Card& card_of(const std::shared_ptr<const Recording>& recording) {
  static Card card;
  if (card.of == recording) return card;
  card = {recording, {}, {}};
  const Recording& r = *recording;
  auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) card.facts.push_back({label, value});
  };
  static const nlohmann::json none = nlohmann::json::object();
  auto device = r.about.find("device");
  const auto& d = device != r.about.end() && device->is_object() ? *device : none;
  add("GPU", text(d, "name")), add("architecture", text(d, "architecture")), add("driver", text(d, "driver"));
  add("date", text(r.about, "date")), add("convscope", text(r.about, "convscope"));
  add("command", text(r.about, "command"));
  if (auto left = r.about.find("left_out"); left != r.about.end() && left->is_array())
    for (const auto& each : *left)
      if (each.is_object()) add("left out", text(each, "what") + ": " + text(each, "reason"));
  for (const auto& p : r.problems()) {
    std::string name = preset_in_words(p);
    const size_t runs = r.kernels("run", p).size(), profiles = r.kernels("profile", p).size();
    card.problems.push_back({p, fmt::format("{}: {} verdict{}, {} profile{}", name.empty() ? describe(p) : name, runs,
                                            runs == 1 ? "" : "s", profiles, profiles == 1 ? "" : "s")});
  }
  return card;
}

}  // namespace

void draw_recording_card(Frame& f) {
  const Theme& t = f.theme;
  const Card& card = card_of(f.bench.recorded().recording());
  heading(t, "Recording");
  ImGui::PushStyleColor(ImGuiCol_Text, t.accent);
  wrapped("recorded: " + f.bench.recorded().source());
  ImGui::PopStyleColor();
  ImGui::BeginGroup();
  for (const auto& [label, value] : card.facts) {
    dim_text(t, label);
    wrapped(value);
  }
  ImGui::EndGroup();
  copy_menu(f, "copy-recording", [&] {
    std::string out = "what,value\n";
    for (const auto& [label, value] : card.facts) out += fmt::format("{},\"{}\"\n", label, value);
    return out;
  });
  dim_text(t, "holds");
  for (size_t i = 0; i < card.problems.size(); i++) {
    const auto& p = card.problems[i];
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(p.words.c_str(), f.document.problem == p.problem)) f.command(SetProblem{p.problem});
    ImGui::PopID();
    tooltip(t, describe(p.problem));
  }
}

}  // namespace convscope::ui
