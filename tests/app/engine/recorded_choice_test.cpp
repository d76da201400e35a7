// The planner's model against the recordings that come with the program: what it chooses where nothing can be measured
// must be near the fastest of the rungs that were.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "app/engine/recording.h"
#include "kernels/planner/planner.h"
#include "kernels/runtime/registry.h"
#include "tests/support.h"

namespace convscope {
namespace {
using nlohmann::json;

double hot_ms(const json& timed) {
  const json* hot = timed.contains("hot") && timed["hot"].is_object() ? &timed["hot"] : nullptr;
  return hot && hot->value("median_ms", json()).is_number() ? hot->at("median_ms").get<double>() : 0;
}

// Hot medians of whole plans by kernel: of the bench, whose kernels ran in turn, and of the profiles for those that are
// in none.
std::map<std::string, double> recorded_ms(const Recording& r, const ConvProblem& p) {
  std::map<std::string, double> ms;
  for (const char* type : {"bench", "profile"})
    for (const auto& a : r.answers) {
      if (a.type() != type || !(a.asked.problem == p)) continue;
      if (a.type() == "profile") {
        if (double t = hot_ms(a.answer.value("timing", json::object())); t > 0) ms.emplace(a.asked.kernel, t);
      } else {
        for (const json& e : a.answer.value("entries", json::array()))
          if (double t = hot_ms(e); t > 0) ms.emplace(e.value("name", ""), t);
      }
    }
  return ms;
}

// Whether the recording says that it has no time of the kernel: its profile was left out, or the time was over before.
bool left_out(const Recording& r, const std::string& kernel) {
  for (const json& l : r.about.value("left_out", json::array())) {
    const std::string what = l.value("what", "");
    if (what == "profile " + kernel || (what.starts_with("profile ") && what.ends_with(" and what follows")))
      return true;
  }
  return false;
}

// Rungs that the shipped recordings are older than.
bool came_later(const std::string& kernel) { return kernel.starts_with("ordered_"); }

TEST(RecordedChoice, KnowsWhatWasLeftOut) {
  Recording r;
  EXPECT_FALSE(left_out(r, "tiled"));
  r.about["left_out"] = json::array({{{"what", "profile direct"}}, {{"what", "run tiled and what follows"}}});
  EXPECT_TRUE(left_out(r, "direct"));
  EXPECT_FALSE(left_out(r, "tiled"));
  r.about["left_out"].push_back({{"what", "profile scatter and what follows"}});
  EXPECT_TRUE(left_out(r, "tiled"));
}

// What was not recorded is passed over, if the recording says so or the rung came later.
TEST(RecordedChoice, IsNearTheFastest) {
  constexpr double near = 1.3;
  int held = 0;
  for (const auto& shipped : shipped_recordings()) {
    const Recording r = read_recording(shipped.path);
    ASSERT_NE(r.device_name().find("H200"), std::string::npos) << shipped.name << ": the target below is an H200";
    for (const ConvProblem& p : r.problems()) {
      const auto ms = recorded_ms(r, p);
      for (Accuracy allowed : {Accuracy::strict, Accuracy::tf32x3, Accuracy::tf32}) {
        const Choice c = choose(p, allowed, Target::of_architecture("sm_90"));
        std::string fastest;
        for (const auto& k : c.candidates)
          if (auto it = ms.find(k.kernel->name()); k.refused.empty() && it != ms.end())
            if (fastest.empty() || it->second < ms.at(fastest)) fastest = it->first;
        const std::string where = fmt::format("{}, {}: {}", shipped.name, name_of(allowed), c.reason);
        ASSERT_NE(fastest, "") << where;
        auto chosen = c.candidates.begin();
        auto passed_over = [&](const std::string& kernel) {
          return !ms.contains(kernel) && (came_later(kernel) || left_out(r, kernel));
        };
        while (passed_over(chosen->kernel->name())) ++chosen;
        const std::string name = chosen->kernel->name();
        ASSERT_TRUE(ms.contains(name)) << where << ": " << name << " is chosen, and was never recorded";
        EXPECT_LE(ms.at(name), near * ms.at(fastest)) << where << "; the fastest was " << fastest;
        held++;
      }
    }
  }
  EXPECT_GE(held, 3 * 12) << "eight layers are recorded, four of them in f16 as well";
}

// Where it decides: of the rungs that take less than three times the fastest, or are said to.
TEST(RecordedChoice, PredictionsAreOfTheRightSize) {
  for (const auto& shipped : shipped_recordings()) {
    const Recording r = read_recording(shipped.path);
    for (const ConvProblem& p : r.problems()) {
      const auto ms = recorded_ms(r, p);
      const Choice c = choose(p, Accuracy::tf32, Target::of_architecture("sm_90"));
      double fastest = std::numeric_limits<double>::infinity();
      for (const auto& k : c.candidates)
        if (auto it = ms.find(k.kernel->name()); k.refused.empty() && it != ms.end())
          fastest = std::min(fastest, it->second);
      for (const auto& k : c.candidates) {
        auto it = ms.find(k.kernel->name());
        if (!k.refused.empty() || it == ms.end() || std::min(k.predicted_ms, it->second) > 3 * fastest) continue;
        const double ratio = k.predicted_ms / it->second;
        EXPECT_TRUE(ratio > 0.4 && ratio < 2.2) << fmt::format("{} {}: predicted {} ms, recorded {}", shipped.name,
                                                               k.kernel->name(), k.predicted_ms, it->second);
      }
    }
  }
}

}  // namespace
}  // namespace convscope
