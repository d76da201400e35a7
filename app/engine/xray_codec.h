// What was found of a kernel's index, as JSON (PROTOCOL.md, `xray`), and as the reason of a verdict.
#pragma once
#include <algorithm>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/verify/verdict.h"
#include "kernels/verify/xray.h"

namespace convscope {

nlohmann::json xray_json(const Xray& x);
// The request's fields `limit_s` and `left_out`.
XrayLimits xray_limits(const nlohmann::json& request);

// A kernel that ends the engine on one small problem (a division by zero) is asked about the others.
class XrayAgain {
 public:
  // What an engine sends before it runs a small problem: the header of a partial answer.
  static std::string begun(size_t place);
  // A partial answer came.
  void heard(const std::string& header);
  // The engine ended in these words: whether to ask the next one, with `left_out` in the header.
  bool after(const std::string& how);
  void put_into(nlohmann::json& header) const;

 private:
  std::optional<size_t> place_;
  std::map<size_t, std::string> left_out_;
};

// Without a sentence, the reason why there is none.
struct CauseWords {
  std::string sentence, reason;
  bool elsewhere = false;  // the reason: what is wrong is nothing of its index, and stands in the verdict
};
// What its verdict found beside: its mathematics are right, and other things wrong; threads race, or a variable that
// nothing was put into is in its results, and what comes of that looks like a fault of the index.
struct CauseBeside {
  bool sums_right = false, crashed = false;
  std::vector<Finding> found;  // of all layers
  bool has(Finding f) const { return std::find(found.begin(), found.end(), f) != found.end(); }
  // A layer's fields: `findings` by their names.
  void layer(std::string_view name, std::string_view status, const std::vector<std::string>& findings);
};
CauseBeside cause_beside(const nlohmann::json& verdict);
// Of a verdict's JSON: that its mathematics passed.
bool sums_are_right(const nlohmann::json& verdict);
// A launch that a GPU ended has a cause that only the emulator sees: a shared array that is left, an address beside a
// tensor. Whether these are words of such an end, and a small problem to look at there instead of p.
bool ended_by_a_gpu(std::string_view sentence);
std::optional<ConvProblem> piece_for_the_emulator(ConvProblem p);
// Of the emulator's report on that piece: the cause, or "" where nothing is wrong there.
std::string cause_seen_by_the_emulator(const nlohmann::json& report, const ConvProblem& piece);

// Why a kernel is wrong; of one that is right on its problem (right): why it is not in general.
CauseWords cause_words(const nlohmann::json& xray, bool right, const CauseBeside& beside);

}  // namespace convscope
