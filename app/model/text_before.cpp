#include "app/model/text_before.h"

#include <fmt/format.h>

#include "kernels/base/text.h"
#include "profiling/statistics/compare.h"

namespace convscope {
namespace {

// Of a result that nothing fails of, others may have failed: a race, an access beside an array.
std::string status_words(const Report& r) {
  if (r.status == "not-run") return "did not run";
  if (r.status != "wrong" || !r.failing) return r.status;
  return *r.failing ? fmt::format("wrong, {} of {} elements failing", grouped(*r.failing), grouped(r.elements))
                    : std::string("wrong, with no element failing");
}

// Of one device alone: the emulator's times say nothing, and another GPU's nothing of the text.
std::string time_words(const Report& before, const Report& now) {
  if (now.device_kind != "cuda" || before.device_name != now.device_name || !before.timing.median_ms ||
      !now.timing.median_ms)
    return "";
  const ComparisonOfTimes c = compare_times(now.timing.samples_ms, before.timing.samples_ms);
  const std::string both =
      fmt::format("{}, now {}", time_text(*before.timing.median_ms), time_text(*now.timing.median_ms));
  switch (c.verdict) {
    case Comparative::same:
      return both + ": as fast";
    case Comparative::faster:
      return fmt::format("{}: {:.3g} times as fast", both, c.speedup);
    case Comparative::slower:
      return fmt::format("{}: {:.3g} times as long", both, 1 / c.speedup);
    case Comparative::ambiguous:
      break;
  }
  return both + ": which is faster is not certain";
}

}  // namespace

TextBefore text_before(const Report& before, const Report& now) {
  TextBefore out;
  out.words = status_words(before);
  out.was_better = before.right() && !now.right();
  out.source = "the run before on this problem, of the file's text at that time";
  if (before.status == "wrong" && now.status == "wrong" && before.failing && now.failing &&
      before.elements == now.elements) {
    const int64_t more = *now.failing - *before.failing;
    out.words += more > 0   ? fmt::format("; {} more now", grouped(more))
                 : more < 0 ? fmt::format("; {} fewer now", grouped(-more))
                            : std::string("; as many now");
    out.was_better = more > 0;
  }
  if (const std::string times = time_words(before, now); !times.empty()) {
    out.words += "; " + times;
    out.source += ". Times: medians of both runs, held against each other by the rule of bench";
  }
  return out;
}

}  // namespace convscope
