// Where measured ceilings are kept: a small text file for each GPU.
#include "kernels/base/cache.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sstream>

#include "profiling/roofline/measure.h"

namespace convscope {
namespace {

// Grows when the kernels that measure change what they find.
constexpr const char* first_line = "convscope-ceilings 1";

struct Field {
  const char* name;
  double Ceilings::*value;
};
constexpr Field fields[] = {{"memory_gbs", &Ceilings::memory_gbs}, {"l2_gbs", &Ceilings::l2_gbs},
                            {"shared_gbs", &Ceilings::shared_gbs}, {"f32_gflops", &Ceilings::f32_gflops},
                            {"f64_gflops", &Ceilings::f64_gflops}, {"tf32_gflops", &Ceilings::tf32_gflops},
                            {"f16_gflops", &Ceilings::f16_gflops}};

std::string identity(const DeviceInfo& d) { return d.name + " | " + d.pci_bus + " | " + d.driver; }

bool number(const std::string& text, double& v) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(v) && v >= 0;
}

struct Known {
  std::mutex mutex;
  std::map<std::string, Ceilings> by_file;
};
Known& known() {
  static Known k;
  return k;
}

}  // namespace

std::string ceilings_file(const DeviceInfo& device) {
  return cache_file("ceilings-" + device.name + "-" + device.pci_bus + "-" + device.driver + ".txt");
}

std::string ceilings_text(const Ceilings& c, const DeviceInfo& device) {
  std::string out = fmt::format("{}\n{}\n", first_line, identity(device));
  for (const auto& f : c.facts) out += fmt::format("{} {:.9g} {:.4g} {}\n", f.name, f.value, f.noise_pct, f.how);
  // Shows that nothing is cut off.
  return out + "end\n";
}

std::optional<Ceilings> read_ceilings(const std::string& text, const DeviceInfo& device) {
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != first_line) return {};
  if (!std::getline(in, line) || line != identity(device)) return {};
  Ceilings c;
  c.gpu = device.name;
  c.source = "measured";
  while (std::getline(in, line)) {
    if (line == "end") {
      const bool whole = in.peek() == std::istringstream::traits_type::eof() && c.memory_gbs > 0;
      return whole ? std::optional(c) : std::nullopt;
    }
    std::istringstream words(line);
    std::string name, value, noise, how;
    if (!(words >> name >> value >> noise) || !std::getline(words, how)) return {};
    CeilingFact fact{name, 0, 0, how.substr(how.find_first_not_of(' ') == std::string::npos ? 0 : 1)};
    if (!number(value, fact.value) || !number(noise, fact.noise_pct) || fact.value > 1e9) return {};
    bool is_known = false;
    for (const auto& f : fields)
      if (name == f.name) c.*f.value = fact.value, is_known = true;
    if (!is_known) return {};
    c.facts.push_back(std::move(fact));
  }
  return {};
}

namespace {

// What was not measured keeps what is known otherwise.
Ceilings filled(Ceilings c, const Ceilings& otherwise) {
  for (const auto& f : fields)
    if (c.*f.value <= 0) c.*f.value = otherwise.*f.value;
  return c;
}

}  // namespace

std::optional<Ceilings> known_ceilings(const DeviceInfo& device) {
  if (device.kind == DeviceInfo::Kind::emulator) return {};
  const std::string file = ceilings_file(device);
  std::lock_guard lock(known().mutex);
  if (auto it = known().by_file.find(file); it != known().by_file.end()) return it->second;
  if (auto c = read_ceilings(cached_text(file, 64 << 10), device)) return known().by_file[file] = *c;
  return {};
}

Ceilings ceilings_of(Device& device, const Ceilings& otherwise, Activity* activity) {
  if (device.is_emulator()) return otherwise;
  if (auto c = known_ceilings(device.info())) return filled(*c, otherwise);
  Ceilings c = measure_ceilings(device, otherwise, activity);
  const std::string file = ceilings_file(device.info());
  // One that says nothing of the memory is no measurement to be kept.
  bool whole = false;
  for (const auto& f : c.facts) whole |= f.name == "memory_gbs" && f.value > 0;
  if (whole) {
    std::lock_guard lock(known().mutex);
    known().by_file[file] = c;
    // Without a place to keep it, it is measured again next time.
    cache_text(file, ceilings_text(c, device.info()));
  }
  return c;
}

}  // namespace convscope
