#include "app/model/floor.h"

#include <algorithm>
#include <fmt/format.h>

#include "app/engine/json_fields.h"
#include "kernels/problem/counts.h"

namespace convscope {
namespace {

using nlohmann::json;

bool has_rates(const ProfileCeilings* c) { return c && c->memory_gbs > 0; }

// What the engine knows of its GPUs: measured where that was done, else the data sheet's.
std::optional<ProfileCeilings> ceilings_here(const Workbench& bench, const std::string& gpu) {
  using namespace json_fields;
  for (const auto& d : part(bench.inventory().info(), "devices"))
    if (text(d, "name") == gpu && text(d, "kind") == "cuda")
      if (ProfileCeilings c = ceilings_from(part(d, "ceilings")); has_rates(&c)) return c;
  return {};
}

std::optional<Roof> of_recording(const Workbench& bench, const Document& d, const std::string& gpu) {
  const Recorded& recorded = bench.recorded();
  if (!recorded.is_open() || !recorded.source().starts_with(gpu + ",")) return {};
  const ProfileCeilings* c = recorded.ceilings();
  return has_rates(c) ? std::optional(roof_of(*c, d)) : std::nullopt;
}

std::optional<Roof> measured_here(const Workbench& bench, const Document& d, const std::string& gpu) {
  if (const Profile* p = bench.measuring().profile(); p && p->device_name == gpu && has_rates(&p->ceilings))
    return roof_of(p->ceilings, d);
  if (auto c = ceilings_here(bench, gpu)) return roof_of(*c, d);
  return {};
}

}  // namespace

Roof known_roof(const Workbench& bench, const Document& d, const std::string& gpu, bool recorded) {
  if (gpu.empty()) return {};
  if (!recorded)
    if (auto here = measured_here(bench, d, gpu)) return *here;
  if (auto there = of_recording(bench, d, gpu)) return *there;
  return datasheet_roof(gpu, d);
}

std::optional<ProblemFloor> floor_under(const Roof& roof, const ConvProblem& problem) {
  if (!roof.known() || !(roof.peak() > 0)) return {};
  const double bytes = static_cast<double>(least_bytes(problem)), operations = flops(problem),
               by_bytes = bytes / (roof.memory_gbs * 1e6), by_operations = operations / (roof.peak() * 1e6);
  ProblemFloor f;
  f.ms = std::max(by_bytes, by_operations), f.by_bytes = by_bytes >= by_operations;
  f.rate = f.by_bytes ? fmt::format("{:.3g} TB/s", roof.memory_gbs * 1e-3)
                      : fmt::format("{:.3g} TFLOP/s", roof.peak() * 1e-3);
  f.words = fmt::format("by {} of {}, {}", f.by_bytes ? "bytes" : "operations", roof.gpu, roof.source);
  return f;
}

std::optional<ProblemFloor> floor_of(const Workbench& bench, const Document& d, const Report& r) {
  if (r.device_kind != "cuda") return {};
  return floor_under(known_roof(bench, d, r.device_name, !r.recorded.empty()), r.document.problem);
}

}  // namespace convscope
