// Inputs whose values tell where they stand: each element of x, w and b has one of its own (f16 and bf16, which have
// too few, share each among some). So what a kernel reads from shared memory, from constants or from a workspace is
// recognised by its value, as long as it was copied and not computed with.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/problem/inputs.h"

namespace convscope {

class CodedInputs {
 public:
  explicit CodedInputs(const ConvProblem& p) : p_(p) {}
  Inputs make() const;

  struct Element {
    char tensor = 'x';  // x, w or b
    int64_t index = 0;  // flat
    auto operator<=>(const Element&) const = default;
  };
  // Of each value that lies in `bytes` (2, 4 or 8) bytes, the elements it may be: none where it is no input's; all in
  // all empty where everything is zero, which is nothing's. In 4 bytes of a 16-bit problem there are one number that
  // was made an f32, or two as they were.
  std::vector<std::vector<Element>> read(uint64_t bits, unsigned bytes) const;

 private:
  std::vector<Element> elements_of(uint64_t element_bits) const;
  std::vector<std::vector<Element>> halves(uint32_t bits) const;

  ConvProblem p_;
};

}  // namespace convscope
