#include "kernels/verify/problem_memory.h"

#include <algorithm>
#include <functional>

#include "kernels/verify/packed_times.h"

namespace convscope {
namespace {

size_t bytes_of(int64_t elements, const ConvProblem& p) { return static_cast<size_t>(elements) * size_of(p.dtype); }

// A kernel that ignores groups walks a weight tensor `groups` times as long.
size_t past_weights(const ConvProblem& p) {
  return std::min(bytes_of(p.w_elements(), p) * static_cast<size_t>(p.groups - 1), size_t{256} << 20);
}

}  // namespace

ProblemMemory::ProblemMemory(Device& device, const ConvProblem& p, const Inputs& inputs, int64_t own_length,
                             size_t workspace, Activity* activity)
    : inputs_(inputs),
      past_w_(past_weights(p)),
      x_(device, bytes_of(p.x_elements(), p), GuardedTensor::least_zone, activity),
      w_(device, bytes_of(p.w_elements(), p), past_w_, activity),
      y_(device, bytes_of(p.batch * p.out_channels * std::max({own_length, p.out_length(), int64_t{1}}), p),
         GuardedTensor::least_zone, activity, result_zone_word) {
  if (p.bias)
    b_ = std::make_unique<GuardedTensor>(device, bytes_of(p.b_elements(), p), GuardedTensor::least_zone, activity);
  if (workspace)
    workspace_ =
        std::make_unique<GuardedTensor>(device, workspace, GuardedTensor::least_zone, activity, result_zone_word);
  x_.write(inputs.x.data(), inputs.x.size_bytes(), activity);
  w_.write(inputs.w.data(), inputs.w.size_bytes(), activity);
  if (b_) b_->write(inputs.b.data(), inputs.b.size_bytes(), activity);
  at_ = {x_.address(), w_.address(), b_ ? b_->address() : 0, y_.address(), workspace_ ? workspace_->address() : 0};
  at_.elements = {p.x_elements(), p.w_elements(), p.b_elements(),
                  p.batch * p.out_channels * std::max<int64_t>(own_length, 0)};
  at_.element_bytes = size_of(p.dtype);
}

std::vector<ProblemMemory::Extent> ProblemMemory::extents() const {
  std::vector<Extent> all;
  auto add = [&](char name, const GuardedTensor* t, size_t walked = 0) {
    if (t) all.push_back({name, t->address(), t->size(), walked});
  };
  add('x', &x_), add('w', &w_, past_w_), add('b', b_.get()), add('y', &y_), add('s', workspace_.get());
  return all;
}

std::string ProblemMemory::packed_calls_look_honest(const std::function<void()>& whole,
                                                    const std::function<void()>& packed, Activity* activity) {
  std::string odd = convscope::packed_calls_look_honest(x_, y_, inputs_.x.dtype, whole, packed, activity);
  restore_input(activity);
  return odd;
}

void ProblemMemory::restore_input(Activity* activity) { x_.write(inputs_.x.data(), inputs_.x.size_bytes(), activity); }

HostBytes ProblemMemory::output(const ConvProblem& p, int64_t own_length) const {
  HostBytes y(bytes_of(p.batch * p.out_channels * std::max<int64_t>(own_length, 0), p));
  y_.read(0, y.data(), y.size());
  return y;
}

}  // namespace convscope
