#include "profiling/roofline/roofline.h"

#include <algorithm>

namespace convscope {
namespace {

// NVIDIA's datasheets and architecture papers: boost clock, dense (no structured sparsity), f16 with f32 accumulation.
const Ceilings table[] = {
    {"H200", "datasheet", 4800, 66900, 494700, 989400, 33500},
    {"H100 PCIe", "datasheet", 2000, 51200, 378000, 756000, 25600},
    {"H100", "datasheet", 3350, 66900, 494700, 989400, 33500},
    {"A100-SXM4-80GB", "datasheet", 2039, 19500, 156000, 312000, 9700},
    {"A100 80GB PCIe", "datasheet", 1935, 19500, 156000, 312000, 9700},
    {"A100", "datasheet", 1555, 19500, 156000, 312000, 9700},
    {"L40S", "datasheet", 864, 91600, 183000, 362000, 1430},
    {"L4", "datasheet", 300, 30300, 60000, 121000, 473},
    {"RTX 4090", "datasheet", 1008, 82600, 82600, 165200, 1290},
    {"RTX 3090", "datasheet", 936, 35600, 35600, 71000, 556},
    {"Tesla T4", "datasheet", 320, 8100, 0, 65000, 253},
};

}  // namespace

const char* name_of(Arithmetic a) {
  switch (a) {
    case Arithmetic::f32:
      return "f32";
    case Arithmetic::tf32:
      return "tf32";
    case Arithmetic::tf32x3:
      return "3xtf32";
    case Arithmetic::f16:
      return "f16";
    case Arithmetic::f64:
      return "f64";
  }
  return "";
}

double Ceilings::gflops(Arithmetic a) const {
  switch (a) {
    case Arithmetic::f32:
      return f32_gflops;
    // The fastest that is as accurate: f16 numbers with a scale are (kernels/ladder/hopper_scaled.h).
    case Arithmetic::tf32:
      return std::max(tf32_gflops, f16_gflops);
    case Arithmetic::tf32x3:
      return std::max(tf32_gflops, f16_gflops) / 3;
    case Arithmetic::f16:
      return f16_gflops;
    case Arithmetic::f64:
      return f64_gflops;
  }
  return 0;
}

double Ceilings::ridge(Arithmetic a) const { return memory_gbs > 0 ? gflops(a) / memory_gbs : 0; }

std::span<const Ceilings> datasheets() { return table; }

const Ceilings* find_datasheet(std::string_view gpu) {
  const Ceilings* best = nullptr;
  for (const auto& c : table)
    if (gpu.find(c.gpu) != std::string_view::npos && (!best || c.gpu.size() > best->gpu.size())) {
      // "L4" is in "L40": a name must end where the entry does.
      size_t end = gpu.find(c.gpu) + c.gpu.size();
      if (end == gpu.size() || gpu[end] == ' ' || gpu[end] == '-') best = &c;
    }
  return best;
}

std::optional<Floor> floor_of(const Ceilings& c, Arithmetic a, double flops, double least_bytes) {
  if (c.memory_gbs <= 0 || c.gflops(a) <= 0) return std::nullopt;
  double by_bytes = least_bytes / (c.memory_gbs * 1e6), by_flops = flops / (c.gflops(a) * 1e6);
  return Floor{std::max(by_bytes, by_flops), by_bytes >= by_flops};
}

std::vector<RooflinePoint> roofline_points(const Ceilings& c, Arithmetic a, const RooflineWork& w) {
  std::vector<RooflinePoint> points;
  if (w.ms <= 0 || w.flops <= 0 || c.memory_gbs <= 0 || c.gflops(a) <= 0) return points;
  auto add = [&](const char* name, double bytes, double ms, bool cold) {
    if (bytes <= 0 || ms <= 0) return;
    RooflinePoint p;
    p.name = name;
    p.cold = cold;
    p.intensity = w.flops / bytes;
    p.gflops = w.flops / (ms * 1e6);
    double by_memory = p.intensity * c.memory_gbs;
    p.memory_bound = by_memory < c.gflops(a);
    p.ceiling = std::min(by_memory, c.gflops(a));
    points.push_back(p);
  };
  add("least bytes", w.least_bytes, w.ms, false);
  if (w.dram_bytes) add("measured bytes", *w.dram_bytes, w.ms, false);
  if (w.cold_ms) add("least bytes, cold", w.least_bytes, *w.cold_ms, true);
  return points;
}

}  // namespace convscope
