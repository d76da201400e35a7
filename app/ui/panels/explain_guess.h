// A question in the place of the answer: which inputs belong to an output, or to which outputs an input goes. Who has
// guessed looks at the arrows with other eyes, and on a stage a room can be asked.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/ui/panels/explain_picture.h"

namespace convscope::ui {

struct Question {
  ConvProblem problem;
  Direction direction = Direction::gather;
  int64_t at = 0;  // gather: the output position; scatter: the input position
  friend bool operator==(const Question&, const Question&) = default;
};

// The positions that are right, ascending; none may be.
std::vector<int64_t> right_positions(const Question& q);

struct Judged {
  bool right = false;
  std::vector<std::string> lines;  // what was right and why, or of each position that is not
};
Judged judged(const Question& q, const std::vector<int64_t>& chosen);

// So many positions that a row has no place for them are nothing to be guessed.
bool can_be_guessed(const ConvProblem& p);
// Positions beside each other, among which the right ones lie; some that do not exist.
struct Range {
  int64_t first = 0, last = 0;
};
Range asked_range(const Question& q);

// The window's: whether a question is asked, and what has been chosen.
class Guess {
 public:
  bool is_on() const { return on_; }
  void turn(bool on);
  // The question of this moment: another one begins anew. False: it is none that can be guessed.
  bool ask(const Question& q);
  bool waits() const { return on_ && !checked_; }  // for the answer, which is shown nowhere until then
  const std::vector<int64_t>& chosen() const { return chosen_; }
  bool has(int64_t position) const;
  void toggle(int64_t position);
  void check();
  const std::optional<Judged>& answer() const { return checked_; }
  std::string score() const;  // "2 of 3 right"; "" before the first
  // Another position to ask for, of the question's kind: in the middle, now and then near an end.
  int64_t another();

 private:
  bool on_ = false;
  std::optional<Question> question_;
  std::vector<int64_t> chosen_;
  std::optional<Judged> checked_;
  int asked_ = 0, right_ = 0;
  uint64_t drawn_ = 0;
};
Guess& guess();

// What is asked for; what was chosen, and the button that ends it. Then: how it went; true when another question is
// wanted.
void guess_question(Frame& f, const Explained& e, const Question& q);
void guess_choice(Frame& f, const Question& q);
bool guess_answer(Frame& f);

}  // namespace convscope::ui
