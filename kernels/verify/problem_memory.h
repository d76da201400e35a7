// The tensors of a problem on a device, between red zones as in a judged run: a kernel that reads beside them harms
// nothing.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/problem/inputs.h"
#include "kernels/verify/guarded.h"

namespace convscope {

class ProblemMemory {
 public:
  // Filled with the inputs, which must live as long. `own_length`: the longest output that any kernel to run here
  // writes. `workspace`: the largest that any needs, in bytes. Errors: Cancelled, when the activity is.
  ProblemMemory(Device& device, const ConvProblem& p, const Inputs& inputs, int64_t own_length, size_t workspace,
                Activity* activity = nullptr);
  const Bindings& at() const { return at_; }

  struct Extent {
    char name;  // x, w, b, y; s: the workspace
    uint64_t address;
    size_t bytes;
    size_t walked;  // bytes after it that a kernel may take for it too: one that ignores groups does so with weights
  };
  std::vector<Extent> extents() const;

  // Gigabytes, so an activity is looked at in between. Errors: Cancelled, when it is; what was being written is then
  // written in part.
  void fill_output(uint32_t word, Activity* activity) { y_.fill(word, activity); }
  HostBytes output(const ConvProblem& p, int64_t own_length) const;
  uint64_t output_checksum(Activity* activity) const { return y_.checksum(activity); }
  // Other input values, and the drawn ones again.
  void change_input(Activity* activity) { x_.fill(0x3e99999a, activity); }  // 0.3
  void restore_input(Activity* activity);

  // Packed calls of a kernel (packed_times.h); the drawn input is there again afterwards.
  std::string packed_calls_look_honest(const std::function<void()>& whole, const std::function<void()>& packed,
                                       Activity* activity);

 private:
  const Inputs& inputs_;
  size_t past_w_;
  GuardedTensor x_, w_;
  std::unique_ptr<GuardedTensor> b_;
  GuardedTensor y_;
  std::unique_ptr<GuardedTensor> workspace_;
  Bindings at_;
};

}  // namespace convscope
