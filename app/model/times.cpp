#include "app/model/times.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "kernels/base/text.h"

namespace convscope {

std::string times_in_words(const Report* run, const Profile* profile, const KernelComparison* comparison) {
  struct Time {
    double ms;
    std::string of;
  };
  std::vector<Time> whole;
  std::string kernel;
  // A report without a verdict has the times of its profile.
  if (run && run->timing.median_ms && run->status != "not-judged" && run->timing.source != "emulated") {
    whole.push_back({*run->timing.median_ms, fmt::format("the run ({} samples)", run->timing.samples_ms.size())});
    if (run->timing.samples_ms.empty()) whole.back().of = "the run";
    kernel = run->kernel;
  }
  if (profile && profile->hot_ms && profile->time_source != "emulated")
    whole.push_back({*profile->hot_ms, "the profile"}), kernel = profile->kernel;
  if (comparison && comparison->first.hot.median_ms && comparison->source != "emulated")
    whole.push_back({*comparison->first.hot.median_ms,
                     fmt::format("the comparison ({} rounds in turn with others)", comparison->rounds)}),
        kernel = comparison->first.name;
  if (whole.size() + (profile && profile->kernel_ms ? 1 : 0) < 2) return "";
  std::string list;
  for (const auto& t : whole) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", time_text(t.ms), t.of);
  std::string out = fmt::format("Whole calls of {}, hot, each of a measurement of its own: {}", kernel, list);
  if (whole.size() > 1) {
    auto [least, most] =
        std::minmax_element(whole.begin(), whole.end(), [](const Time& a, const Time& b) { return a.ms < b.ms; });
    out += fmt::format(" ({} apart: clocks, heat and what ran before were not the same)",
                       noise_text(100 * (most->ms / least->ms - 1)));
  }
  if (profile && profile->kernel_ms)
    out += fmt::format("; its kernels alone in one recorded call {}", time_text(*profile->kernel_ms));
  return out + ".";
}

}  // namespace convscope
