// What was found of a kernel's index, as JSON (PROTOCOL.md, `xray`), and as the reason of a verdict.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kernels/verify/xray.h"

namespace convscope {

nlohmann::json xray_json(const Xray& x);

// Without a sentence, the reason why there is none.
struct CauseWords {
  std::string sentence, reason;
};
// What its verdict found beside: its mathematics are right, and other things wrong; threads race, or a variable that
// nothing was put into is in its results, and what comes of that looks like a fault of the index.
struct CauseBeside {
  bool sums_right = false, race = false, unset = false;
  void layer(std::string_view name, std::string_view status, std::string_view evidence);
};
// Why a kernel is wrong; of one that is right on its problem (right): why it is not in general.
CauseWords cause_words(const nlohmann::json& xray, bool right, const CauseBeside& beside);

}  // namespace convscope
