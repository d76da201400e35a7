// Edits of a kernel's text: which there are at a place, and what the text is with one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/runtime/compile/edit_sites.h"

namespace convscope {

// One change at one site, as convscope/edits.h numbers it.
struct EditChoice {
  size_t site;
  uint16_t edit;
};
// What is tried as one: two where arguments are exchanged. cost: the smaller the more likely it is what was meant.
struct TextEdit {
  std::vector<EditChoice> choices;
  int cost = 0, edits = 1;
};

// All that are tried at these sites, likely ones first. reached: by site, those that whole numbers go through on the
// problem that is wrong.
std::vector<TextEdit> edits_at(const EditSites& all, const std::string& cuda, const std::vector<bool>& reached);

// The text with an edit. original: the file's own text, which has the same lines as cuda and may have more in them (a
// Python file's); "" where the edit cannot be put there.
std::string edited_text(const std::string& original, const std::string& cuda, const EditSites& all,
                        const TextEdit& edit);

// Lines that differ between two texts that are nearly the same, with their numbers in the first; one that was put in
// has no `before`, and the number of the line that it stands before.
struct ChangedLine {
  int line = 0;
  std::string before, after;  // without blanks at their ends
};
std::vector<ChangedLine> changed_lines(const std::string& before, const std::string& after);

}  // namespace convscope
