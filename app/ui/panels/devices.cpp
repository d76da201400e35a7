// What this machine has to run kernels on, which of it is used, and what is missing.
#include <fmt/format.h>
#include <imgui.h>
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "app/ui/panel.h"
#include "app/ui/panels/recording_card.h"
#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {
using json_fields::text;
using nlohmann::json;

struct Figure {
  std::string label, value;
  About about;
};
struct Device {
  std::string choice, name;  // as SetDevice takes it; as its maker calls it
  bool gpu = false;
  std::vector<Figure> figures;
};
struct Piece {
  std::string name, detail, costs, how;
  bool available = false;
};
struct Inventory {
  const void* seen = nullptr;  // where the answer that this was made of lies
  std::vector<Device> devices;
  std::vector<Piece> pieces;
  size_t missing = 0;
};

double number(const json& j, const char* field) {
  auto it = j.find(field);
  return it != j.end() && it->is_number() ? it->get<double>() : 0;
}

Device device_from(const json& j) {
  Device d;
  d.gpu = text(j, "kind") == "cuda";
  d.choice = d.gpu ? fmt::format("cuda:{}", static_cast<int>(number(j, "index"))) : "emulator";
  d.name = text(j, "name");
  auto add = [&](const char* label, const std::string& value, const About& about) {
    if (!value.empty()) d.figures.push_back({label, value, about});
  };
  add("architecture", text(j, "architecture"), {"What its code is compiled for.", "", "the driver"});
  if (double n = number(j, "multiprocessors"); n > 0)
    add(d.gpu ? "multiprocessors" : "workers", grouped(static_cast<int64_t>(n)),
        {d.gpu ? "Streaming multiprocessors; blocks are spread over them."
               : "Threads of the host that blocks are spread over.",
         "", d.gpu ? "the driver" : "the host"});
  if (double b = number(j, "memory_bytes"); b > 0)
    add("memory", bytes_text(b),
        {d.gpu ? "Memory of the device." : "Memory of the host.", "", d.gpu ? "the driver" : "the host"});
  if (double b = number(j, "l2_bytes"); b > 0)
    add("L2 cache", bytes_text(b),
        {"A problem that fits it can beat the floor of bytes when it is run again and again.", "", "the driver"});
  if (double b = number(j, "peak_memory_gbs"); b > 0)
    add("peak memory rate", fmt::format("{:.0f} GB/s", b),
        {"Theoretical; a copy reaches about nine tenths of it. The floor of bytes rests on it.",
         "2 · clock · bus width", "computed from the driver's clocks"});
  if (double g = number(j, "peak_fma_gflops"); g > 0)
    add("peak f32 rate", fmt::format("{:.1f} TFLOP/s", g / 1000),
        {"Multiply-adds outside the tensor cores. The floor of operations rests on it.", "2 · lanes · clock",
         "computed from the driver's clocks"});
  add("driver", text(j, "driver"), {"Version of the NVIDIA driver.", "", "the driver"});
  return d;
}

// Made once for each answer of the engine: a new answer lies elsewhere.
const Inventory& inventory(const json& info) {
  static Inventory made;
  auto devices = info.find("devices");
  const void* seen = devices == info.end() ? nullptr : &*devices;
  if (seen == made.seen) return made;
  made = {.seen = seen, .devices = {}, .pieces = {}, .missing = 0};
  if (seen && devices->is_array())
    for (const auto& d : *devices) made.devices.push_back(device_from(d));
  if (auto pieces = info.find("pieces"); pieces != info.end() && pieces->is_array())
    for (const auto& p : *pieces) {
      Piece one{text(p, "name"), text(p, "detail"), text(p, "without_it"), text(p, "how_to_get_it"),
                p.contains("available") && p["available"].is_boolean() && p["available"].get<bool>()};
      made.missing += !one.available;
      made.pieces.push_back(std::move(one));
    }
  return made;
}

void choice(Frame& f, const char* label, const std::string& name, const char* about) {
  if (radio_button(label, f.document.device == name)) f.command(SetDevice{name});
  tooltip(f.theme, about);
}

bool begin_card(const Theme& t, const std::string& id, const ImVec4& edge) {
  ImGui::PushStyleColor(ImGuiCol_Border, edge);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, t.background);
  bool open = ImGui::BeginChild(id.c_str(), {0, 0}, ImGuiChildFlags_Borders | ImGuiChildFlags_AutoResizeY);
  ImGui::PopStyleColor(2);
  return open;
}

void device_card(Frame& f, const Device& d) {
  const Theme& t = f.theme;
  const Report* r = f.report();
  const bool used = r && r->device_name == d.name;
  if (begin_card(t, "device-" + d.choice, used ? t.accent : t.border)) {
    choice(f, d.choice.c_str(), d.choice,
           d.gpu ? "Run on this GPU"
                 : "Run on the CPU: the same sources and the same results, but times say nothing of a GPU");
    if (used) {
      ImGui::SameLine();
      ImGui::TextColored(t.accent, "in use");
      tooltip(t, "The verdict that is shown was run on it");
    }
    ImGui::PushFont(t.bold_font, 0);
    wrapped(d.name);
    ImGui::PopFont();
    if (begin_figures("figures")) {
      for (const auto& one : d.figures) figure(t, one.label.c_str(), one.value, one.about);
      end_figures();
    }
  }
  ImGui::EndChild();
  copy_menu(f, ("copy-" + d.choice).c_str(), [&] {
    std::string out = "what,value\nname," + d.name + "\n";
    for (const auto& one : d.figures) out += one.label + "," + one.value + "\n";
    return out;
  });
}

void piece_card(Frame& f, const Piece& p) {
  const Theme& t = f.theme;
  if (p.available) {
    status_mark(t, "pass");
    ImGui::SameLine(0, t.em * 0.4f);
    ImGui::BeginGroup();
    wrapped(p.name);
    if (!p.detail.empty()) dim_text(t, p.detail);
    ImGui::EndGroup();
    return;
  }
  if (begin_card(t, "piece-" + p.name, t.border)) {
    status_mark(t, "not-run");
    ImGui::SameLine(0, t.em * 0.4f);
    ImGui::PushStyleColor(ImGuiCol_Text, t.warning);
    wrapped(p.name + ": missing");
    ImGui::PopStyleColor();
    dim_text(t, p.detail);
    if (!p.costs.empty()) wrapped("Without it: " + p.costs + ".");
    if (!p.how.empty()) wrapped("To get it: " + p.how + ".");
  }
  ImGui::EndChild();
  copy_menu(f, ("copy-" + p.name).c_str(), [&] {
    return fmt::format("piece,detail,without_it,how_to_get_it\n\"{}\",\"{}\",\"{}\",\"{}\"\n", p.name, p.detail,
                       p.costs, p.how);
  });
}

}  // namespace

void draw_devices(Frame& f) {
  const Theme& t = f.theme;
  const Inventory& all = inventory(f.bench.inventory().info());
  if (f.bench.recorded().is_open()) draw_recording_card(f);
  if (all.devices.empty()) {
    if (empty_state(t, "Nothing is known of this machine yet",
                    "The engine says it when it has started. The log says what goes wrong, if it does not.",
                    "Ask again"))
      f.wish([](Workbench& b) { b.inventory().ask(); });
    return;
  }
  heading(t, "Run on");
  choice(f, "auto", "auto", "The first GPU; without one, the emulator");
  ImGui::SameLine();
  const float button = ImGui::CalcTextSize("Refresh").x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0f, ImGui::GetContentRegionAvail().x - button));
  if (ImGui::Button("Refresh")) f.wish([](Workbench& b) { b.inventory().ask(); });
  tooltip(t, "Ask the engine again what this machine has");
  for (const auto& d : all.devices) device_card(f, d);
  heading(t, all.missing ? fmt::format("What there is, and the {} missing", all.missing).c_str() : "What there is");
  for (const auto& p : all.pieces)
    if (!p.available) piece_card(f, p);
  for (const auto& p : all.pieces)
    if (p.available) piece_card(f, p);
}

}  // namespace convscope::ui
