#include "app/model/inventory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/model/kernel_file.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

KernelEntry kernel_entry(const json& k) {
  KernelEntry e;
  auto text = [&](const char* field) {
    return k.contains(field) && k[field].is_string() ? k[field].get<std::string>() : "";
  };
  e.name = text("name"), e.kind = text("kind"), e.idea = text("idea"), e.file = text("file"), e.reason = text("reason");
  e.home_preset = text("written_for");
  if (auto promised = text("accuracy"); accuracy_from(promised)) e.accuracy = promised;
  e.available = k.value("available", true);
  if (k.contains("requires") && k["requires"].is_array())
    for (const auto& r : k["requires"]) e.requires_hardware.push_back(r.get<std::string>());
  return e;
}

Inventory::Inventory(EngineLink& link) : link_(link), info_(std::make_unique<json>(json::object())) {}

void Inventory::ask() {
  link_.ask("", {{"type", "list"}, {"what", "kernels"}}, [this](Answer a) {
    link_.came_up();
    if (a.kind != Answer::Kind::result) {
      link_.note("the engine does not start: " + trouble_of(a), LogLine::Kind::trouble);
      return;
    }
    kernels_.clear();
    json all = json::parse(a.header).value("kernels", json::array());
    for (const auto& k : all) kernels_.push_back(kernel_entry(k));
  });
  link_.ask("", {{"type", "info"}}, [this](Answer a) {
    if (a.kind == Answer::Kind::result) *info_ = json::parse(a.header);
  });
}

bool Inventory::knows_devices() const { return info_->contains("devices"); }

bool Inventory::runs_on_a_gpu(const Document& document) const {
  bool gpu = false;
  if (auto devices = info_->find("devices"); devices != info_->end() && devices->is_array())
    for (const auto& d : *devices) gpu |= d.is_object() && d.value("kind", json()) == "cuda";
  return gpu && document.device != "emulator";
}

bool Inventory::is_exhibit(const std::string& kernel) const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const KernelEntry& k) { return k.name == kernel && k.kind == "specimen"; });
}

bool Inventory::is_from_outside(const std::string& kernel) const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const KernelEntry& k) { return k.name == kernel && k.kind == "outside"; });
}

bool Inventory::is_kernel(const std::string& name) const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const KernelEntry& k) { return k.name == name && k.kind != "reference"; });
}

std::vector<std::string> Inventory::known_of(const std::vector<std::string>& kernels) const {
  std::vector<std::string> all;
  for (const auto& name : kernels)
    if (name == auto_kernel ||
        std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelEntry& k) { return k.name == name; }))
      all.push_back(name);
  return all;
}

void Inventory::take_file(const std::string& path, const json& answer) {
  std::erase_if(kernels_, [&](const KernelEntry& k) { return is_of_file(k.name, path); });
  for (const auto& k : answer.at("kernels")) kernels_.push_back(kernel_entry(k));
}

void Inventory::take_trouble(const std::string& path, const std::string& trouble) {
  if (std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelEntry& k) { return is_of_file(k.name, path); }))
    return;
  KernelEntry e;
  e.name = e.file = path, e.kind = "outside", e.idea = "has not compiled yet";
  e.available = false, e.reason = trouble;
  kernels_.push_back(e);
}

}  // namespace convscope
