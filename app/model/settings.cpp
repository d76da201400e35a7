#include "app/model/settings.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "kernels/base/safe_file.h"

namespace convscope {
using nlohmann::json;
namespace {
constexpr int version = 1;

// FNV-1a (Fowler, Noll & Vo).
std::string fingerprint(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
  return out;
}
}  // namespace

void Settings::remember(const std::string& path) {
  std::erase(recent, path);
  recent.insert(recent.begin(), path);
  if (recent.size() > 10) recent.resize(10);
}

std::string settings_folder() {
  namespace fs = std::filesystem;
  const char *xdg = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  fs::path folder;
  if (xdg && *xdg)
    folder = fs::path(xdg) / "convscope";
  else if (home && *home)
    folder = fs::path(home) / ".config" / "convscope";
  else
    return "";
  std::error_code error;
  fs::create_directories(folder, error);
  return fs::is_directory(folder, error) ? folder.string() : "";
}

KeptSettings read_settings(const std::string& file, Settings& s) {
  s = {};
  std::ifstream in(file);
  if (!in) return KeptSettings::none;
  std::stringstream text;
  text << in.rdbuf();
  const json j = json::parse(text.str(), nullptr, false);
  if (!j.is_object() || !j.contains("version") || !j["version"].is_number_unsigned()) return KeptSettings::damaged;
  if (j["version"].get<uint64_t>() > version) return KeptSettings::later;
  auto text_of = [&](const char* name, std::string& to) {
    if (j.contains(name) && j[name].is_string()) to = j[name];
  };
  auto flag_of = [&](const char* name, bool& to) {
    if (j.contains(name) && j[name].is_boolean()) to = j[name];
  };
  std::string theme;
  text_of("theme", theme);
  s.theme = theme == "light" ? Settings::Theme::light : Settings::Theme::dark;
  if (j.contains("scale") && j["scale"].is_number()) s.scale = std::clamp(j["scale"].get<double>(), 0.75, 2.0);
  flag_of("presenter", s.presenter);
  flag_of("live", s.live);
  text_of("value_colours", s.value_colours);
  if (s.value_colours != "cividis") s.value_colours = "viridis";
  // Dear ImGui trusts a layout it is given; one that is not as it was written is left out.
  text_of("layout", s.layout);
  std::string check;
  text_of("layout_check", check);
  if (check != fingerprint(s.layout)) s.layout.clear();
  text_of("sweep_over", s.sweep_over);
  if (j.contains("sweep_with") && j["sweep_with"].is_array()) {
    s.sweep_with.clear();
    for (const auto& k : j["sweep_with"])
      if (k.is_string() && s.sweep_with.size() < 16) s.sweep_with.push_back(k);
  }
  if (j.contains("recent") && j["recent"].is_array())
    for (const auto& r : j["recent"])
      if (r.is_string() && s.recent.size() < 10) s.recent.push_back(r);
  return KeptSettings::read;
}

Settings load_settings(const std::string& file, std::string& note) {
  Settings s;
  const KeptSettings kept = read_settings(file, s);
  if (kept == KeptSettings::damaged) note = file + " cannot be read as settings: the defaults are used";
  if (kept == KeptSettings::later) note = file + " is of a later version: the defaults are used, and it is left alone";
  return s;
}

bool save_settings(const std::string& file, const Settings& s) {
  if (Settings there; read_settings(file, there) == KeptSettings::later) return false;
  json j = {{"version", version},
            {"theme", s.theme == Settings::Theme::light ? "light" : "dark"},
            {"scale", s.scale},
            {"presenter", s.presenter},
            {"live", s.live},
            {"value_colours", s.value_colours},
            {"sweep_over", s.sweep_over},
            {"sweep_with", s.sweep_with},
            {"recent", s.recent},
            {"layout", s.layout},
            {"layout_check", fingerprint(s.layout)}};
  try {
    // The name of a recent file may be no text.
    write_file_safely(file, j.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace convscope
