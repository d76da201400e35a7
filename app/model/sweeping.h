// Kernels over one parameter of the problem, asked for beside everything else: what has come of it so far.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/sweep.h"
#include "app/model/document.h"

namespace convscope {

struct Sweeping {
  std::unique_ptr<Sweep> sweep;  // null: nobody has asked
  SweepSpec asked;               // also of one that was refused
  bool running = false;
  std::string now;                     // what is done now
  std::vector<std::string> sentences;  // what it shows so far (Sweep::sentences)
  std::string times;                   // what its times are (Sweep::times_words); "": none
  std::string trouble;                 // why it ended before it was over: a refusal, or that it was stopped
  uint64_t serial = 0;                 // changes with all that is here
  uint64_t request = 0;
};

// What a document asks for: its kernel and those beside it, over `axis`.
SweepSpec sweep_of(const Document& d, const Axis& axis, const std::vector<std::string>& with);

// What a person would sweep a parameter over: "1..8" of a stride.
std::string usual_values(const std::string& field);

}  // namespace convscope
