#include "profiling/cupti/pc_samples.h"

#include <algorithm>

namespace convscope {

std::vector<PcLine> PcSamples::lines() const {
  std::map<std::pair<std::string, int>, PcLine> all;
  for (const auto& f : functions)
    for (const auto& i : f.instructions) {
      PcLine& l = all[{i.at.file, i.at.line}];
      l.at = i.at;
      l.samples += i.samples;
      for (const auto& [name, n] : i.reasons) l.reasons[name] += n;
    }
  std::vector<PcLine> list;
  for (auto& [at, l] : all) list.push_back(std::move(l));
  std::stable_sort(list.begin(), list.end(), [](const PcLine& a, const PcLine& b) { return a.samples > b.samples; });
  return list;
}

StallSamples PcSamples::by_reason() const {
  StallSamples sum;
  for (const auto& f : functions)
    for (const auto& i : f.instructions)
      for (const auto& [name, n] : i.reasons) sum[name] += n;
  return sum;
}

}  // namespace convscope
