#include "app/model/undo_bursts.h"

#include <algorithm>
#include <utility>

namespace convscope {
namespace {

constexpr double longest_pause = 1;  // seconds

bool is_blank(const std::string& text) { return text == " " || text == "\t"; }

// One character of UTF-8 that ends no line.
bool is_a_key(const std::string& text) {
  return text != "\n" && std::count_if(text.begin(), text.end(),
                                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }) == 1;
}

}  // namespace

bool UndoBursts::continues(const Step& before, const Step& now) {
  if (now.seconds - before.seconds > longest_pause) return false;
  // Of what replaced a selection the last change is what was typed.
  if (now.changes.size() != 1 || before.changes.empty()) return false;
  const TextChange &last = before.changes.back(), &next = now.changes.front();
  if (last.insert != next.insert || !is_a_key(last.text) || !is_a_key(next.text)) return false;
  if (next.insert) return next.begin == last.end && (!is_blank(last.text) || is_blank(next.text));
  return next.end == last.begin || next.begin == last.begin;  // Backspace; Delete
}

void UndoBursts::made(size_t step, std::vector<TextChange> changes, double seconds) {
  if (step == 0) return;
  if (step <= steps_.size()) steps_.resize(step - 1);
  while (steps_.size() + 1 < step) steps_.emplace_back();  // those before were made unseen
  Step now{std::move(changes), seconds, true};
  now.begins = steps_.empty() || !continues(steps_.back(), now);
  steps_.push_back(std::move(now));
}

bool UndoBursts::has(size_t step, const std::vector<TextChange>& changes) const {
  return step > 0 && step <= steps_.size() && steps_[step - 1].changes == changes;
}

bool UndoBursts::begins(size_t step) const { return step == 0 || step > steps_.size() || steps_[step - 1].begins; }

}  // namespace convscope
