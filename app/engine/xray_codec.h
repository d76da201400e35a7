// What was found of a kernel's index, as JSON (PROTOCOL.md, `xray`), and as the reason of a verdict.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernels/verify/xray.h"

namespace convscope {

nlohmann::json xray_json(const Xray& x);

// Why a kernel is wrong; of one that is right on its problem (right): why it is not in general. Without a sentence, the
// reason why there is none.
struct CauseWords {
  std::string sentence, reason;
};
// sums_right: the verdict found its mathematics right, and other things wrong.
CauseWords cause_words(const nlohmann::json& xray, bool right, bool sums_right);

}  // namespace convscope
