// Which inputs reach an output element that do not belong to it, found by changing them: for kernels in which values of
// other threads are added up, so that what a thread reads does not tell.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/coded_inputs.h"

namespace convscope {

// Runs a kernel, on a device whose memory is this process's, again and again with some input values changed.
class Changing {
 public:
  // run: all that has to be done anew for what stands at `y`. Nothing is told apart where that is no number.
  Changing(const ConvProblem& p, const Bindings& at, std::vector<uint64_t> y, std::function<void()> run);
  // Whether what stands at y is another number (by more than the order of additions makes) when these have others. All
  // within their tensors.
  bool changes(const std::vector<CodedInputs::Element>& elements);
  // Of these, in their order, some that change it, at most `most`; so many runs at most.
  std::vector<CodedInputs::Element> that_change(const std::vector<CodedInputs::Element>& elements, size_t most,
                                                int runs);
  bool within(const CodedInputs::Element& e) const;
  bool works() const { return works_; }

 private:
  char* value_of(const CodedInputs::Element& e) const;
  std::vector<double> results() const;

  const ConvProblem& p_;
  const Bindings at_;
  const std::vector<uint64_t> y_;
  const std::function<void()> run_;
  std::vector<double> before_;
  bool works_ = false;
};

}  // namespace convscope
