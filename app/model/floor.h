// The floor of a problem: one rule for every panel, so that no two of them hold one time against two numbers.
#pragma once
#include <optional>
#include <string>

#include "app/model/roof.h"

namespace convscope {

struct ProblemFloor {
  double ms = 0;
  bool by_bytes = false;
  std::string rate;   // "4.27 TB/s", "65.2 TFLOP/s": what its bytes or operations come to in its time
  std::string words;  // "by bytes of NVIDIA H200, datasheet"
};
inline constexpr const char* floor_rule =
    "Least time of this problem, whichever kernel is chosen: each byte of x, w, b and y moved once, or its "
    "multiply-adds by the arithmetic that the accuracy allows, whichever takes longer. With data in the cache from the "
    "call before a small problem may be faster. Rates: the highest that were measured, in the open recording or on "
    "this "
    "GPU, else the data sheet's.";
inline constexpr const char* floor_formula = "max(least bytes / bandwidth, operations / peak)";

// Ceilings of a GPU by the driver's name of it. `recorded`: of figures of the open recording, which stand under its
// ceilings; else what was measured on this machine comes first, then the recording's of such a GPU, then the data
// sheet.
Roof known_roof(const Workbench& bench, const Document& document, const std::string& gpu, bool recorded);
// Nothing where no rates are known.
std::optional<ProblemFloor> floor_under(const Roof& roof, const ConvProblem& problem);
// Of what a report's times are held against; nothing beside emulated times.
std::optional<ProblemFloor> floor_of(const Workbench& bench, const Document& document, const Report& report);

}  // namespace convscope
