#include "kernels/verify/fuzz_pins.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace convscope {
namespace {

// In order.
const std::vector<int64_t>& likely_values(const std::string& field) {
  static const std::vector<int64_t> strides = {1, 2, 3, 4, 5, 8}, dilations = {1, 2, 3, 4}, paddings = {0, 1, 2, 3, 4},
                                    output_paddings = {0, 1}, groups = {1, 2};
  return field == "stride"           ? strides
         : field == "dilation"       ? dilations
         : field == "padding"        ? paddings
         : field == "output_padding" ? output_paddings
                                     : groups;
}

int64_t ConvProblem::*member_of_problem(const std::string& field) {
  for (const auto& f : problem_fields())
    if (field == f.name) return f.value;
  return nullptr;
}

}  // namespace

PinSearch::PinSearch(const ConvProblem& failing, const std::vector<std::string>& not_given,
                     const std::set<std::string>& fixed)
    : failing_(failing), begin_(failing), length_is_fixed_(fixed.contains("length")) {
  for (const auto& f : not_given)
    if (!fixed.contains(f) && member_of_problem(f)) open_.push_back(f);
  over_ = open_.empty();
  // Small, and such that no parameter is of no matter: several taps, positions between the ends.
  auto set = [&](const char* field, int64_t ConvProblem::*value, int64_t to) {
    if (!fixed.contains(field)) begin_.*value = to;
  };
  set("kernel_size", &ConvProblem::kernel_size, std::clamp<int64_t>(failing.kernel_size, 3, 7));
  set("length", &ConvProblem::length, std::clamp<int64_t>(failing.length, 19, 64));
  set("batch", &ConvProblem::batch, std::min<int64_t>(failing.batch, 2));
  set("padding", &ConvProblem::padding, std::min<int64_t>(failing.padding, 1));
  set("output_padding", &ConvProblem::output_padding, 0);
  // All likely values are to be legal.
  const int64_t of = std::lcm<int64_t>(2, failing.groups);
  set("in_channels", &ConvProblem::in_channels, (failing.in_channels + of - 1) / of * of);
  set("out_channels", &ConvProblem::out_channels, (failing.out_channels + of - 1) / of * of);
  set("stride", &ConvProblem::stride, std::max<int64_t>(failing.stride, 2));

  choices_ = {{}};
  for (const auto& f : open_) {
    std::vector<std::vector<size_t>> longer;
    for (const auto& c : choices_)
      for (size_t i = 0; i < likely_values(f).size(); i++) longer.push_back(c), longer.back().push_back(i);
    choices_ = std::move(longer);
  }
  std::stable_sort(choices_.begin(), choices_.end(), [](const auto& a, const auto& b) {
    return std::accumulate(a.begin(), a.end(), size_t{0}) < std::accumulate(b.begin(), b.end(), size_t{0});
  });
  as_right_.assign(open_.size(), false), wrong_ = as_right_;
}

ConvProblem PinSearch::with(const std::vector<size_t>& choice) const {
  ConvProblem p = begin_;
  for (size_t i = 0; i < open_.size(); i++) p.*member_of_problem(open_[i]) = likely_values(open_[i])[choice[i]];
  return p;
}

ConvProblem PinSearch::longer(ConvProblem p) const {
  if (!length_is_fixed_) p.length += 10;
  return p;
}

std::optional<ConvProblem> PinSearch::next() {
  while (!over_) {
    ConvProblem p;
    if (!chosen_) {
      if (choice_ == choices_.size()) {
        over_ = true;
        break;
      }
      p = with(choices_[choice_]);
    } else {
      p = *chosen_;
      p.*member_of_problem(open_[field_]) = likely_values(open_[field_])[other_];
    }
    if (is_longer_) p = longer(p);
    if (!check(p)) return p;
    judged(Status::not_run);
  }
  return {};
}

void PinSearch::judged(Status status) {
  const bool right = status == Status::right;
  constexpr int most_tried = 200, most_crashes = 3;
  crashes_ += status == Status::crashed ? 1 : status == Status::hung ? most_crashes : 0;
  if (++tried_ > most_tried || crashes_ >= most_crashes) {
    over_ = true, chosen_.reset();
    return;
  }
  if (chosen_ && status == Status::wrong) wrong_[field_] = true;
  const bool both = right && is_longer_;
  is_longer_ = right && !is_longer_;
  if (is_longer_) return;  // the same once more
  if (!chosen_) {
    if (!both)
      choice_++;
    else
      chosen_ = with(choices_[choice_]), other_ = 0, field_ = 0;
  } else if (both) {
    as_right_[field_] = true, other_ = likely_values(open_[field_]).size();
  } else {
    other_++;
  }
  if (chosen_) ask_next_other();
}

// Past the chosen value itself, and on to the next field.
void PinSearch::ask_next_other() {
  for (; field_ < open_.size(); field_++, other_ = 0) {
    const auto& values = likely_values(open_[field_]);
    if (other_ < values.size() && values[other_] == *chosen_.*member_of_problem(open_[field_])) other_++;
    if (other_ < values.size()) return;
  }
  over_ = true;
}

std::optional<Pins> PinSearch::found() const {
  if (!over_ || !chosen_) return {};
  Pins pins{{}, *chosen_, ""};
  bool failing_has_them = true;
  for (size_t i = 0; i < open_.size(); i++) {
    // What it refuses needs no word: it is not drawn.
    if (as_right_[i] || !wrong_[i]) continue;
    const int64_t value = *chosen_.*member_of_problem(open_[i]);
    pins.fields.insert(open_[i]);
    failing_has_them &= failing_.*member_of_problem(open_[i]) == value;
    pins.words += fmt::format("{}{} {}", pins.words.empty() ? "" : " and ", open_[i], value);
  }
  if (pins.fields.empty() || failing_has_them) return {};
  return pins;
}

}  // namespace convscope
