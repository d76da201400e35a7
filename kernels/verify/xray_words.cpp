#include "kernels/verify/xray_words.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

#include "kernels/verify/index_channels.h"
#include "kernels/verify/index_formula.h"
#include "kernels/verify/xray.h"

namespace convscope {

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : "; ") + one;
  return text;
}

std::string without_effect(const std::string& fault, const ConvProblem& p) {
  auto says = [&](const char* word) { return fault.find(word) != std::string::npos; };
  if (says(fixed_in_it)) {
    for (const auto& [word, value] : {std::pair{"stride ", p.stride},
                                      {"padding ", p.padding},
                                      {"dilation ", p.dilation},
                                      {"kernel size ", p.kernel_size}})
      if (says(word) && !says(fmt::format("{}{} ", word, value).c_str()) &&
          !says(fmt::format("{}{},", word, value).c_str()))
        return "";
    return "they are these";
  }
  if (says("its output's length")) return "";
  if (says("exchanged")) {
    std::string names = fault;
    std::vector<int64_t> values;
    for (const auto& [name, value] : {std::pair{"output_padding", p.output_padding},
                                      {"padding", p.padding},
                                      {"stride", p.stride},
                                      {"dilation", p.dilation}})
      if (const size_t at = names.find(name); at != names.npos)
        values.push_back(value), names.erase(at, std::string_view(name).size());
    return values.size() == 2 && values[0] == values[1] ? fmt::format("both are {}", values[0]) : "";
  }
  if (says("output_padding stands where the dilation belongs"))
    return p.dilation == p.output_padding ? fmt::format("both are {}", p.dilation) : "";
  if (says("output_padding")) return p.output_padding == 0 ? "output_padding is 0" : "";
  if (says("too large") || says("too small")) return "";
  if (says("dilation")) return p.dilation == 1 ? "dilation is 1" : "";
  if (says("padding")) return p.padding == 0 ? "padding is 0" : "";
  return "";
}

void those_that_matter_first(std::vector<std::string>& faults, const ConvProblem& p) {
  std::stable_partition(faults.begin(), faults.end(), [&](const auto& f) { return without_effect(f, p).empty(); });
  for (auto& f : faults)
    if (const std::string why = without_effect(f, p); !why.empty())
      f += fmt::format(" (without effect here, where {})", why);
}

std::string words_of_sizes(const std::vector<std::string>& faults) {
  constexpr std::string_view right = "right with ", wrong = ", wrong with ";
  std::vector<std::string> own, tried;
  for (const std::string& f : faults) {
    const size_t at = f.find(wrong);
    if (!f.starts_with(right) || at == f.npos) return joined(faults);
    own.push_back(f.substr(right.size(), at - right.size())), tried.push_back(f.substr(at + wrong.size()));
  }
  if (own.size() < 3) return joined(faults);
  std::string all =
      fmt::format("right with {} and {} alone; wrong with ", fmt::join(own.begin(), own.end() - 1, ", "), own.back());
  for (size_t i = 0; i < own.size(); i++) {
    // "33 and 64 input channels", "stride 3 and 4"
    std::string name = own[i];
    const size_t digit = name.find_first_of("0123456789"), end = name.find_first_not_of("0123456789", digit);
    name.replace(digit, end == name.npos ? name.npos : end - digit, tried[i]);
    all += (i ? "; " : "") + name;
  }
  return all;
}

void one_fault_of_two(std::vector<std::string>& faults) {
  auto of = [&](const char* words) { return std::find(faults.begin(), faults.end(), words); };
  if (of(only_the_last_tap) == faults.end() || of(only_the_last_channel) == faults.end()) return;
  std::erase(faults, only_the_last_channel);
  *of(only_the_last_tap) = "each product takes the sum's place, and is not added to it";
}

bool same_with(const ConvProblem& p, const std::string& a, const std::string& b) {
  const std::pair<std::string_view, int64_t> values[] = {
      {"s", p.stride},      {"p", p.padding},         {"d", p.dilation},        {"K", p.kernel_size},
      {"L", p.length},      {"Lout", p.out_length()}, {"Cin", p.in_channels},   {"Cout", p.out_channels},
      {"groups", p.groups}, {"N", p.batch},           {"op", p.output_padding}, {"output_padding", p.output_padding}};
  auto with_values = [&](const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) end++;
      if (end == i) {
        out += text[i++];
        continue;
      }
      const std::string_view word = std::string_view(text).substr(i, end - i);
      const auto known = std::find_if(std::begin(values), std::end(values), [&](auto& v) { return v.first == word; });
      out += known == std::end(values) ? std::string(word) : std::to_string(known->second);
      i = end;
    }
    return out;
  };
  return !a.empty() && with_values(a) == with_values(b);
}

bool Xray::names_index() const {
  for (const char* words :
       {"it takes ", "nothing asks whether ", " is let through, ", " are taken to be ", " is missing: ", " of its launch "})
    if (sentence.find(words) != sentence.npos) return true;
  return false;
}

}  // namespace convscope
