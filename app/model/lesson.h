// A lesson: steps of text, each with what the window shows to it. A file NAME.lesson, JSON; those of assets/lessons
// come with the program, and anybody can write another (the format: assets/lessons/README.md).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/model/document.h"
#include "app/model/view.h"

namespace convscope {

struct LessonStep {
  std::string title, text, task;  // task: what to try; "" for nothing
  Document document;              // what is shown: each step begins with that of the step before
  std::optional<ElementIndex> selected;
  std::optional<View> view;          // what the maps show: rows and columns alone count
  std::string line;                  // a part of the source line that the panel Source goes to; "": where it is
  bool classes = false;              // polyphase classes over the maps
  bool from_input = false;           // Explain is drawn from the input's side
  std::string panel, beside;         // brought to the front; the second of another dock. "": where they are
  std::string recording;             // name of a shipped recording that is open; "": none
  std::string sweep;                 // what the panel Sweep goes over; "": as it is
  std::vector<std::string> actions;  // by id, once the run is over
  // What the text claims, for a test: the verdict, and a part of its sentence or cause.
  std::string expect_status, expect_says;
};

struct Lesson {
  std::string title, about, path;
  std::vector<LessonStep> steps;
};

// Errors: InputError ("lesson", file or step, rule): unreadable, of a later version, without steps, a field that is not
// known or of the wrong type, a problem that is not legal.
Lesson load_lesson(const std::string& path);

// Whether a kernel's file lies beside those lessons that come with the program: it is as much to be trusted.
bool comes_with_the_program(const std::string& kernel_file);

// What comes with the program, in the order of their file names: title and path. Files that cannot be read are left
// out.
struct ShippedLesson {
  std::string name, title, about, path;
};
std::vector<ShippedLesson> shipped_lessons();

}  // namespace convscope
