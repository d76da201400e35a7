// An explanation of one element as rows of words: what `explain` prints and a page shows.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace convscope {

struct TapRow {
  int64_t k = 0;
  bool same = true;
  std::string should_i, reads_i, should_add, adds, note;
};
struct TapRows {
  std::vector<TapRow> rows;
  int idle = 0;  // taps that reach nothing, as they should, and are left out of many
};
// Of `explanation` of an answer to `explain`. Errors: nlohmann::json::exception.
TapRows tap_rows(const nlohmann::json& explanation);

// "s4.cu:20 reads x at i = 3, where no tap lands (64 of its 64 reads)", for each of `stray_reads`.
std::vector<std::string> stray_words(const nlohmann::json& stray_reads);

// A value of an explanation: a number, "NaN", or –.
std::string explained_number(const nlohmann::json& v);

}  // namespace convscope
