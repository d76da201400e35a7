// How fast a GPU could be, and where a kernel stands below that (Williams, Waterman & Patterson, "Roofline", 2009).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// What a kernel's arithmetic may use; f16 stands for bf16 too, which tensor cores multiply at the same rate.
// tf32x3: three products of the tensor cores for one of f32.
enum class Arithmetic { f32, tf32, tf32x3, f16, f64 };
const char* name_of(Arithmetic a);

// How one of the ceilings was found.
struct CeilingFact {
  std::string name;      // the field of Ceilings: memory_gbs, …
  double value = 0;      // 0: it was not believed
  double noise_pct = 0;  // half of the samples lie within this of it
  std::string how;       // what ran, in words
};

// The most a GPU can do. Zero: unknown.
struct Ceilings {
  std::string gpu;     // whose they are
  std::string source;  // "datasheet", "computed from the driver's clocks and widths", "measured"
  double memory_gbs = 0;
  double f32_gflops = 0, tf32_gflops = 0, f16_gflops = 0, f64_gflops = 0;  // dense; tf32 and f16 on tensor cores
  double l2_gbs = 0, shared_gbs = 0;                                       // measured only
  std::vector<CeilingFact> facts = {};                                     // of measured ones
  double gflops(Arithmetic a) const;
  // Operations a byte where the two limits meet.
  double ridge(Arithmetic a) const;
};

// From the vendor's datasheets, for GPUs that are at hand in no other way.
std::span<const Ceilings> datasheets();
// By the driver's name of a GPU ("NVIDIA H200"), or null. The longest entry that is in the name counts.
const Ceilings* find_datasheet(std::string_view gpu);

// One kernel on one problem.
struct RooflinePoint {
  std::string name;           // "least bytes", "measured bytes", "least bytes, cold"
  double intensity = 0;       // operations a byte
  double gflops = 0;          // reached
  double ceiling = 0;         // GFLOP/s that the roof allows at this intensity
  bool memory_bound = false;  // the slanted part is the lower one here
  bool cold = false;          // of the time with the L2 cache flushed
  double fraction() const { return ceiling > 0 ? gflops / ceiling : 0; }
};

struct RooflineWork {
  double flops = 0;                  // exact, of taps that land
  double least_bytes = 0;            // that must move
  std::optional<double> dram_bytes;  // that did move, counted
  double ms = 0;
  std::optional<double> cold_ms = {};  // with the L2 cache flushed: what was counted is not of such calls
};

// The floor: the least time that bytes and operations leave.
struct Floor {
  double ms = 0;
  bool by_bytes = false;
};
std::optional<Floor> floor_of(const Ceilings& c, Arithmetic a, double flops, double least_bytes);

// A point for the least bytes, where they were counted one for the bytes that moved, and one for the cold time. None
// without a time or ceilings.
std::vector<RooflinePoint> roofline_points(const Ceilings& c, Arithmetic a, const RooflineWork& work);

}  // namespace convscope
