// --fail-on: which times make a verb end with 1, for those who compare in a pipeline.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace convscope {

// "slower", or "slower:5": SLOWER, and by more than 5 % of the other's time.
class FailOn {
 public:
  explicit FailOn(const std::string& words);  // "": nothing fails. Errors: InputError
  bool is_asked() const { return !words_.empty(); }
  const std::string& words() const { return words_; }
  double percent() const { return percent_; }
  // held: `verdict` and `speedup` of times that were held against others.
  bool is_met_by(const nlohmann::json& held) const;

 private:
  std::string words_;
  double percent_ = 0;
};

// "1.07 times as long", of the same.
std::string as_long_words(const nlohmann::json& held);

}  // namespace convscope
