// What one press of undo takes back: an editor keeps every key as a step of its own, and people think in words.
#pragma once
#include <string>
#include <vector>

#include "app/model/text_search.h"

namespace convscope {

struct TextChange {
  bool insert = true;    // or delete
  TextPlace begin, end;  // of what was inserted, or of what was deleted while it was there
  std::string text;
  bool operator==(const TextChange&) const = default;
};

// Steps have numbers from 1: of step n, n steps can be undone when it has been made.
class UndoBursts {
 public:
  // It takes the place of the steps of its number and beyond, which were undone. seconds: when it was made.
  void made(size_t step, std::vector<TextChange> changes, double seconds);
  // Whether it was made before with just these changes: then it was done again.
  bool has(size_t step, const std::vector<TextChange>& changes) const;
  // Whether undo and redo stop before it. A step that is not known stands alone.
  bool begins(size_t step) const;
  void clear() { steps_.clear(); }

 private:
  struct Step {
    std::vector<TextChange> changes;
    double seconds = 0;
    bool begins = true;
  };
  static bool continues(const Step& before, const Step& now);
  std::vector<Step> steps_;
};

}  // namespace convscope
