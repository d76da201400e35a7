#include "app/cli/fail_on.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "app/engine/json_fields.h"
#include "kernels/base/error.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr std::string_view slower_words = "slower";

}  // namespace

FailOn::FailOn(const std::string& words) : words_(words) {
  if (words.empty() || words == slower_words) return;
  const std::string_view all = words;
  const size_t behind = slower_words.size() + 1;
  if (!all.starts_with(slower_words) || all.size() <= behind || all[behind - 1] != ':')
    throw InputError("fail-on", words, "must be slower or slower:PERCENT");
  const char* end = all.data() + all.size();
  auto [stop, error] = std::from_chars(all.data() + behind, end, percent_);
  if (error != std::errc{} || stop != end || !std::isfinite(percent_) || percent_ < 0)
    throw InputError("fail-on", words, "must be slower or slower:PERCENT, a number of at least 0");
}

bool FailOn::is_met_by(const json& held) const {
  const auto speedup = json_fields::number(held, "speedup");
  if (!is_asked() || json_fields::text(held, "verdict") != "SLOWER" || !speedup || !(*speedup > 0)) return false;
  return 100 * (1 / *speedup - 1) > percent_;
}

std::string as_long_words(const json& held) {
  const auto speedup = json_fields::number(held, "speedup");
  return speedup && *speedup > 0 ? fmt::format("{:.3g} times as long", 1 / *speedup) : "";
}

}  // namespace convscope
