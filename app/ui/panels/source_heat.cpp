#include "app/ui/panels/source_heat.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <imgui.h>

#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr const char* csv_counters[] = {"load_requests", "load_sectors",    "load_bytes",        "store_requests",
                                        "store_sectors", "store_bytes",     "shared_wavefronts", "shared_conflicts",
                                        "accesses",      "load_used_bytes", "load_lanes",        "store_used_bytes",
                                        "store_lanes",   "shared_requests", "shared_lanes"};

double measured(const ProfileLine& l, const HeatMeasure& m) { return l.value(m.counters[0]) + l.value(m.counters[1]); }

std::string count_text(double v) { return grouped(std::llround(v)); }

// One sentence for each kind of access, with what is good: 32 threads that read 4 bytes side by side need 4 sectors.
std::string about_line(const ProfileLine& l, const std::string& source) {
  std::string out = fmt::format("line {}", l.line);
  auto threads = [&](const char* lanes, const char* requests) {
    return l.values.contains(lanes)
               ? fmt::format("; {:.3g} of 32 threads take part", l.value(lanes) / std::max(1.0, l.value(requests)))
               : "";  // not counted in recordings of before
  };
  auto traffic = [&](const char* what, const char* requests, const char* sectors, const char* used, const char* asked,
                     const char* lanes) {
    double n = l.value(requests), touched = l.value(sectors);
    if (n <= 0) return;
    out += fmt::format("\n{} {}s of a warp, {:.3g} sectors each", count_text(n), what, touched / n);
    // Threads that share an address ask for its bytes several times: of recordings of before only that is known.
    if (l.values.contains(used))
      out += fmt::format("; {:.0f} % of the bytes they touch are used", 100 * l.value(used) / (32 * touched));
    else
      out += fmt::format("; threads ask for {:.0f} % of the bytes they touch", 100 * l.value(asked) / (32 * touched));
    out += threads(lanes, requests);
  };
  traffic("load", "load_requests", "load_sectors", "load_used_bytes", "load_bytes", "load_lanes");
  traffic("store", "store_requests", "store_sectors", "store_used_bytes", "store_bytes", "store_lanes");
  if (double cycles = l.value("shared_wavefronts"); cycles > 0) {
    double conflicts = l.value("shared_conflicts");
    out += fmt::format("\n{} cycles of shared memory, {}", count_text(cycles),
                       conflicts > 0
                           ? fmt::format("{:.0f} % of them because threads met in a bank", 100 * conflicts / cycles)
                           : "no bank conflict") +
           threads("shared_lanes", "shared_requests");
  }
  return out + fmt::format("\n{} accesses of single threads\nsource: {}", count_text(l.value("accesses")), source);
}

const std::vector<HeatMeasure>& counted_measures() {
  static const std::vector<HeatMeasure> all = {
      {"sectors",
       "sectors",
       "32-byte pieces of global memory that loads and stores touch: what the caches have to move",
       {"load_sectors", "store_sectors"}},
      {"requests", "requests", "Loads and stores of whole warps to global memory", {"load_requests", "store_requests"}},
      {"shared", "shared memory", "Cycles of shared memory, conflicts included", {"shared_wavefronts", ""}},
      {"conflicts",
       "bank conflicts",
       "Cycles of shared memory that only repeat because threads met in a bank",
       {"shared_conflicts", ""}},
      {"accesses", "accesses", "Reads and writes of single threads, wherever they go", {"accesses", ""}},
  };
  return all;
}

// What the samples of a line were, the most first.
std::string about_samples(const SampledPlace& l, const ProfileSamples& all) {
  auto share = [](int64_t part, int64_t whole) {
    return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  std::string out = fmt::format("line {}\n{} samples of warps, {:.1f} % of all", l.line, grouped(l.samples),
                                share(l.samples, all.samples));
  std::vector<std::pair<int64_t, std::string>> reasons;
  for (const auto& [name, n] : l.reasons) reasons.emplace_back(n, name);
  std::sort(reasons.rbegin(), reasons.rend());
  for (size_t i = 0; i < std::min<size_t>(6, reasons.size()); i++) {
    const SampledReason* r = all.find(reasons[i].second);
    out += fmt::format("\n{:.0f} %  {}", share(reasons[i].first, l.samples), r ? r->words : reasons[i].second);
  }
  return out + "\nsource: " + all.source;
}

Heat sampled_heat(const Profile& p, const std::string& file, const HeatMeasure& measure) {
  Heat heat;
  auto of = [&](const SampledPlace& l) {
    auto it = l.reasons.find(measure.reason);
    return static_cast<double>(measure.reason.empty() ? l.samples : it == l.reasons.end() ? 0 : it->second);
  };
  double sum = 0, most = 0;
  for (const auto& l : p.samples.lines) sum += of(l);
  if (sum <= 0) return heat;
  heat.columns = "samples";
  for (const auto& r : p.samples.reasons) heat.columns += "," + r.name;
  for (const auto& l : p.samples.lines) {
    double share = of(l) / sum;
    if (l.line <= 0 || file_name(l.file) != file_name(file)) {
      heat.elsewhere += share;
      continue;
    }
    auto line = static_cast<int>(l.line - 1);
    HeatLine& h = heat.lines[line];
    h.share += share;
    h.about = about_samples(l, p.samples);
    h.csv = fmt::format("{},{}", l.line, l.samples);
    for (const auto& r : p.samples.reasons) {
      auto it = l.reasons.find(r.name);
      h.csv += fmt::format(",{}", it == l.reasons.end() ? 0 : it->second);
    }
    if (h.share > most) most = h.share, heat.hottest = line;
  }
  return heat;
}

}  // namespace

std::vector<HeatMeasure> heat_measures(const Profile* p) {
  std::vector<HeatMeasure> all;
  if (p && p->samples.samples > 0) {
    all.push_back({"samples",
                   "samples",
                   "Where warps were, each time the hardware looked: the time of the kernel, line by line",
                   {"", ""},
                   true,
                   ""});
    constexpr size_t most_reasons = 6;
    for (size_t i = 0; i < std::min(most_reasons, p->samples.reasons.size()); i++) {
      const SampledReason& r = p->samples.reasons[i];
      if (r.samples > 0)
        all.push_back({"stall " + r.name, r.name, "Warps that were found " + r.words, {"", ""}, true, r.name});
    }
  }
  if (!p || !p->lines.empty() || all.empty())
    all.insert(all.end(), counted_measures().begin(), counted_measures().end());
  return all;
}

Heat heat_of(const Profile& p, const std::string& file, const HeatMeasure& measure) {
  if (measure.sampled) return sampled_heat(p, file, measure);
  Heat heat;
  double sum = 0;
  for (const auto& l : p.lines) sum += measured(l, measure);
  if (sum <= 0) return heat;
  double most = 0;
  for (const auto& l : p.lines) {
    double share = measured(l, measure) / sum;
    if (l.line <= 0 || file_name(l.file) != file_name(file)) {
      heat.elsewhere += share;
      continue;
    }
    auto line = static_cast<int>(l.line - 1);
    HeatLine& h = heat.lines[line];
    h.share = share;
    h.about = about_line(l, p.lines_source);
    h.csv = std::to_string(l.line);
    for (const char* name : csv_counters) h.csv += fmt::format(",{:.9g}", l.value(name));
    if (share > most) most = share, heat.hottest = line;
  }
  return heat;
}

HeatOfFiles heat_of_files(const Profile& p, const HeatMeasure& measure, const std::vector<std::string>& files) {
  HeatOfFiles all;
  for (const auto& file : files) all.shares[file] = 0;
  double most = 0;
  for (auto& [file, share] : all.shares) {
    const Heat here = heat_of(p, file, measure);
    for (const auto& [line, h] : here.lines) share += h.share;
    if (here.hottest < 0 || here.lines.at(here.hottest).share <= most) continue;
    most = here.lines.at(here.hottest).share, all.hottest_file = file, all.hottest = here.hottest;
  }
  return all;
}

std::string Heat::csv() const {
  std::string out = "line";
  if (columns.empty())
    for (const char* name : csv_counters) out += std::string(",") + name;
  else
    out += "," + columns;
  out += "\n";
  for (const auto& [line, h] : lines) out += h.csv + "\n";
  return out;
}

void draw_heat(const Theme& t, const HeatLine& line, float width, float height) {
  ImVec2 at = ImGui::GetCursorScreenPos();
  float inside = std::max(1.0f, width - 0.3f * t.em), high = height * 0.86f, top = at.y + (height - high) / 2;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  auto share = static_cast<float>(line.share);
  draw->AddRectFilled({at.x, top}, {at.x + inside, top + high}, packed(t.raised, 0.6f));
  draw->AddRectFilled({at.x, top}, {at.x + std::max(2.0f, inside * share), top + high},
                      packed(t.warning, 0.18f + 0.3f * std::sqrt(share)));
  std::string text = line.share < 0.005 ? "<1" : fmt::format("{:.0f} %", 100 * line.share);
  ImVec2 size = ImGui::CalcTextSize(text.c_str());
  draw->AddText({at.x + inside - size.x - 0.15f * t.em, at.y + (height - size.y) / 2}, packed(t.text), text.c_str());
}

}  // namespace convscope::ui
