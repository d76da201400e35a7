#include "kernels/verify/reaching.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

namespace convscope {

Changing::Changing(const ConvProblem& p, const Bindings& at, std::vector<uint64_t> y, std::function<void()> run)
    : p_(p), at_(at), y_(std::move(y)), run_(std::move(run)) {
  run_();
  before_ = results();
  works_ = std::all_of(before_.begin(), before_.end(), [](double v) { return std::isfinite(v); });
}

std::vector<double> Changing::results() const {
  std::vector<double> all;
  for (const uint64_t address : y_)
    all.push_back(dispatch(p_.dtype, [&](auto v) {
      std::memcpy(&v, reinterpret_cast<const char*>(address), sizeof v);
      return static_cast<double>(v);
    }));
  return all;
}

bool Changing::within(const CodedInputs::Element& e) const {
  const int64_t elements = e.tensor == 'x'   ? p_.x_elements()
                           : e.tensor == 'w' ? p_.w_elements()
                           : e.tensor == 'b' ? p_.b_elements()
                                             : 0;
  return e.index >= 0 && e.index < elements;
}

char* Changing::value_of(const CodedInputs::Element& e) const {
  const uint64_t tensor = e.tensor == 'x' ? at_.x : e.tensor == 'w' ? at_.w : at_.b;
  return reinterpret_cast<char*>(tensor + static_cast<uint64_t>(e.index) * size_of(p_.dtype));
}

bool Changing::changes(const std::vector<CodedInputs::Element>& elements) {
  const size_t bytes = size_of(p_.dtype);
  std::vector<std::pair<char*, std::string>> kept;
  for (const auto& e : elements) {
    char* value = value_of(e);
    kept.emplace_back(value, std::string(value, bytes));
    dispatch(p_.dtype, [&](auto v) {
      std::memcpy(&v, value, sizeof v);
      v = static_cast<decltype(v)>(static_cast<float>(v) * 1.25f + 1.0f);
      std::memcpy(value, &v, sizeof v);
      return 0;
    });
  }
  run_();
  const std::vector<double> now = results();
  for (const auto& [value, before] : kept) std::memcpy(value, before.data(), bytes);
  const double least = is_half(p_.dtype) ? 0 : 1e-5;  // halves are rounded to the same, or not
  for (size_t i = 0; i < now.size(); i++)
    if (!(std::fabs(now[i] - before_[i]) <= least * std::fabs(before_[i]))) return true;
  return false;
}

std::vector<CodedInputs::Element> Changing::that_change(const std::vector<CodedInputs::Element>& elements, size_t most,
                                                        int runs) {
  std::vector<CodedInputs::Element> found;
  std::vector<std::vector<CodedInputs::Element>> parts;  // still to be asked, the first at the end
  if (!elements.empty()) parts.push_back(elements);
  while (!parts.empty() && found.size() < most && runs-- > 0) {
    const auto part = std::move(parts.back());
    parts.pop_back();
    if (!changes(part)) continue;
    if (part.size() == 1) {
      found.push_back(part.front());
      continue;
    }
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    parts.emplace_back(middle, part.end());
    parts.emplace_back(part.begin(), middle);
  }
  return found;
}

}  // namespace convscope
