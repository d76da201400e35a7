// Hot times of the kernels of one problem, for the list that they are chosen from: how far each is from the fastest.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/model/document.h"

namespace convscope {

class Workbench;

struct KernelTime {
  std::string kernel;
  double ms = 0;              // median, hot, of a whole call
  std::optional<bool> packs;  // it packs weights as well; empty: nobody said
  bool looser = false;        // by arithmetic that the document's accuracy does not allow: no rival of the others
  std::string of = {};        // of which measurement, where a recording has several: "the profile of 2026-11-24"
};

struct KernelTimes {
  std::vector<KernelTime> all;
  std::string source;   // "recorded: NVIDIA H200, 2026-11-24", "measured: NVIDIA H200"; "" where there are none
  std::string fastest;  // of those whose arithmetic is allowed; "" where there are none
  double fastest_ms = 0;
  const KernelTime* of(const std::string& kernel) const;  // null: it has none
  // How long the bar of a time is, of 1: logarithmic, as the ladder's, from just below the shortest time to the
  // longest, a decade at least, so that near times have near bars.
  double bar_of(double ms) const;
};

// Those of the open recording while it is shown, else those that ran here on a GPU. Emulated times are none.
KernelTimes kernel_times(const Workbench& bench, const Document& document);

}  // namespace convscope
