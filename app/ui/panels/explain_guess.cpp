#include "app/ui/panels/explain_guess.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include "app/ui/panels/flow.h"
#include "app/ui/widgets.h"
#include "kernels/problem/counts.h"

namespace convscope::ui {
namespace {

constexpr int64_t most_taps = 16, most_positions = 48;
constexpr size_t most_lines = 4;

int64_t output_of(const ConvProblem& p, int64_t i, int64_t k) { return i * p.stride - p.padding + k * p.dilation; }

// "9, 11, 13": where an input goes, the outputs outside among them.
std::string outputs_words(const ConvProblem& p, int64_t i) {
  std::vector<int64_t> all;
  for (int64_t k = 0; k < std::min<int64_t>(p.kernel_size, 6); k++) all.push_back(output_of(p, i, k));
  return fmt::format("{}{}", fmt::join(all, ", "), p.kernel_size > 6 ? ", …" : "");
}

std::string line_of_right(const Question& q, int64_t position) {
  const ConvProblem& p = q.problem;
  const int64_t i = q.direction == Direction::gather ? position : q.at,
                j = q.direction == Direction::gather ? q.at : position, k = (j + p.padding - i * p.stride) / p.dilation;
  if (q.direction == Direction::gather)
    return fmt::format("i = {} by k = {}: ({} + {} − {}·{})/{} = {}", i, k, j, p.padding, k, p.dilation, p.stride, i);
  return fmt::format("j = {} by k = {}: {}·{} − {} + {}·{} = {}", j, k, i, p.stride, p.padding, k, p.dilation, j);
}

std::string line_of_wrong(const Question& q, int64_t position) {
  const ConvProblem& p = q.problem;
  if (q.direction == Direction::gather)
    return fmt::format("Not i = {}: it goes to j = {}, and not to {}.", position, outputs_words(p, position), q.at);
  return fmt::format("Not j = {}: i = {} goes to j = {}.", position, q.at, outputs_words(p, q.at));
}

}  // namespace

std::vector<int64_t> right_positions(const Question& q) {
  const ConvProblem& p = q.problem;
  std::vector<int64_t> all;
  if (q.direction == Direction::gather) {
    for (const Tap& tap : taps_at(p, q.at)) all.push_back(tap.i);
  } else {
    for (int64_t k = 0; k < p.kernel_size; k++)
      if (const int64_t j = output_of(p, q.at, k); j >= 0 && j < p.out_length()) all.push_back(j);
  }
  std::sort(all.begin(), all.end());
  return all;
}

Judged judged(const Question& q, const std::vector<int64_t>& chosen) {
  const auto right = right_positions(q);
  const bool gather = q.direction == Direction::gather;
  Judged out;
  out.right = chosen == right;
  auto& lines = out.lines;
  // Whatever was chosen.
  if (right.empty())
    lines.push_back(gather ? fmt::format("None belongs to it: ({} + {} − k·{})/{} is a whole number from 0 to {} for "
                                         "no k. It is {}.",
                                         q.at, q.problem.padding, q.problem.dilation, q.problem.stride,
                                         q.problem.length - 1, q.problem.bias ? "the bias alone" : "0")
                           : "It goes to none: all of them lie outside, and are dropped.");
  if (out.right) {
    for (int64_t position : right) lines.push_back(line_of_right(q, position));
  } else {
    for (int64_t position : chosen)
      if (!std::binary_search(right.begin(), right.end(), position)) lines.push_back(line_of_wrong(q, position));
    for (int64_t position : right)
      if (!std::binary_search(chosen.begin(), chosen.end(), position))
        lines.push_back("Missed: " + line_of_right(q, position));
  }
  if (lines.size() > most_lines) {
    const size_t more = lines.size() - most_lines;
    lines.resize(most_lines);
    lines.push_back(fmt::format("and {} more", more));
  }
  return out;
}

Range asked_range(const Question& q) {
  const ConvProblem& p = q.problem;
  const int64_t reach = (p.kernel_size - 1) * p.dilation;
  if (q.direction == Direction::scatter) {
    const int64_t first = output_of(p, q.at, 0);
    return {first - 2, first + reach + 2};
  }
  auto floor_of = [&](int64_t a) { return a >= 0 ? a / p.stride : -((-a + p.stride - 1) / p.stride); };
  return {floor_of(q.at + p.padding - reach) - 1, floor_of(q.at + p.padding) + 2};
}

bool can_be_guessed(const ConvProblem& p) {
  return p.kernel_size <= most_taps && (p.kernel_size - 1) * p.dilation + 5 <= most_positions;
}

void Guess::turn(bool on) {
  on_ = on;
  question_.reset(), checked_.reset(), chosen_.clear();
  asked_ = right_ = 0;
}

bool Guess::ask(const Question& q) {
  if (!can_be_guessed(q.problem)) return false;
  if (question_ && *question_ == q) return true;
  question_ = q;
  chosen_.clear(), checked_.reset();
  return true;
}

bool Guess::has(int64_t position) const { return std::binary_search(chosen_.begin(), chosen_.end(), position); }

void Guess::toggle(int64_t position) {
  const auto at = std::lower_bound(chosen_.begin(), chosen_.end(), position);
  if (at != chosen_.end() && *at == position)
    chosen_.erase(at);
  else
    chosen_.insert(at, position);
}

void Guess::check() {
  if (!question_ || checked_) return;
  checked_ = judged(*question_, chosen_);
  asked_++, right_ += checked_->right;
}

std::string Guess::score() const { return asked_ ? fmt::format("{} of {} right", right_, asked_) : ""; }

int64_t Guess::another() {
  if (!question_) return 0;
  const ConvProblem& p = question_->problem;
  const int64_t all = question_->direction == Direction::gather ? p.out_length() : p.length;
  if (all < 2) return 0;
  // The same ones for everybody: what is asked of a room can be prepared.
  auto draw = [&](int64_t below) {
    drawn_ = drawn_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((drawn_ >> 33) % static_cast<uint64_t>(below));
  };
  constexpr int64_t near_an_end = 4;
  int64_t at = draw(all);
  if (draw(4) == 0) {
    at = draw(std::min(near_an_end, all));
    if (draw(2)) at = all - 1 - at;
  }
  return at == question_->at ? (at + 1) % all : at;
}

Guess& guess() {
  static Guess all;
  return all;
}

void guess_question(Frame& f, const Explained& e, const Question& q) {
  const Theme& t = f.theme;
  const ConvProblem& p = q.problem;
  ImGui::PushFont(t.bold_font, 0);
  wrapped(q.direction == Direction::gather
              ? fmt::format("Which inputs i belong to y[{}, {}, {}]? Click them, and Check. There may be none.", e.n,
                            e.co, q.at)
              : fmt::format("To which outputs j does x[{}, ci, {}] go? Click them, and Check. There may be none.", e.n,
                            q.at));
  ImGui::PopFont();
  dim_text(t, fmt::format("stride s = {}, padding p = {}, dilation d = {}, taps k = 0…{}", p.stride, p.padding,
                          p.dilation, p.kernel_size - 1));
}

void guess_choice(Frame& f, const Question& q) {
  const Theme& t = f.theme;
  Guess& g = guess();
  if (ImGui::Button("Check")) g.check();
  tooltip(t, "Shows the answer: which of them are right, and why");
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  const char name = q.direction == Direction::gather ? 'i' : 'j';
  ImGui::TextUnformatted(g.chosen().empty() ? "none chosen"
                                            : fmt::format("{} = {}", name, fmt::join(g.chosen(), ", ")).c_str());
  if (const std::string score = g.score(); !score.empty()) {
    beside_if_fits(ImGui::CalcTextSize(score.c_str()).x);
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", score.c_str());
  }
}

bool guess_answer(Frame& f) {
  const Theme& t = f.theme;
  Guess& g = guess();
  const Judged& a = *g.answer();
  ImGui::AlignTextToFramePadding();
  status_mark(t, a.right ? "pass" : "fail");
  ImGui::SameLine(0, t.em * 0.3f);
  ImGui::AlignTextToFramePadding();
  ImGui::TextColored(a.right ? t.right : t.wrong, "%s", a.right ? "Your guess is right" : "Not quite");
  beside_if_fits(t.em * 6);
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", g.score().c_str());
  tooltip(t, "Since Guess was switched on");
  const bool another = button_beside("Another");
  tooltip(t, "Asks for another element of this problem");
  for (const auto& line : a.lines) wrapped(line);
  return another;
}

}  // namespace convscope::ui
