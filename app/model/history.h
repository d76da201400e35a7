// Undo: a stack of Documents, one step a gesture.
#pragma once
#include <string>
#include <vector>

#include "app/model/document.h"

namespace convscope {

class History {
 public:
  explicit History(Document first = {}) : now_(std::move(first)) {}

  const Document& now() const { return now_; }

  // Applies a command. True when the document has changed. Errors: InputError, and nothing has changed.
  bool apply(const Command& command) {
    Document next = convscope::apply(now_, command.change);
    if (next == now_) return false;
    bool same_gesture = command.gesture != 0 && command.gesture == gesture_ && !past_.empty();
    if (!same_gesture) {
      past_.push_back(now_);
      if (past_.size() > most_steps) past_.erase(past_.begin());
    }
    gesture_ = command.gesture;
    now_ = std::move(next);
    future_.clear();
    // A gesture that is back where it began is no step.
    if (same_gesture && past_.back() == now_) past_.pop_back(), gesture_ = 0;
    return true;
  }

  bool can_undo() const { return !past_.empty(); }
  bool can_redo() const { return !future_.empty(); }
  // What the next undo or redo would take back or bring again, in words.
  std::string undo_text() const { return can_undo() ? describe_change(past_.back(), now_) : ""; }
  std::string redo_text() const { return can_redo() ? describe_change(now_, future_.back()) : ""; }

  bool undo() { return move(past_, future_); }
  bool redo() { return move(future_, past_); }

 private:
  bool move(std::vector<Document>& from, std::vector<Document>& to) {
    if (from.empty()) return false;
    to.push_back(std::move(now_));
    now_ = std::move(from.back());
    from.pop_back();
    gesture_ = 0;
    return true;
  }

  static constexpr size_t most_steps = 500;
  Document now_;
  std::vector<Document> past_, future_;
  uint64_t gesture_ = 0;
};

}  // namespace convscope
