#include "profiling/profile/subject.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

size_t bytes_of(int64_t elements, const ConvProblem& p) { return static_cast<size_t>(elements) * size_of(p.dtype); }

// A kernel that ignores groups walks a weight tensor `groups` times as long.
size_t past_weights(const ConvProblem& p) {
  return std::min(bytes_of(p.w_elements(), p) * static_cast<size_t>(p.groups - 1), size_t{256} << 20);
}

class KernelSubject final : public Subject {
 public:
  KernelSubject(const KernelDefinition& kernel, Device& device, const ConvProblem& p)
      : kernel_(kernel), device_(device), plan_(kernel.plan_for(p)) {}
  std::string name() const override { return kernel_.name(); }
  bool is_reference() const override { return false; }
  std::string file() const override { return kernel_.file(); }
  std::vector<std::string> requires_hardware() const override { return kernel_.requires_hardware(); }
  int64_t out_length() const override { return plan_.out_length(); }
  size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  void run(const Bindings& at, Activity* activity) override {
    // The emulator's blocks are the signs of life there; a GPU gives none before the end.
    if (device_.is_emulator())
      device_.run(kernel_, plan_, at, {.order_seed = 0, .activity = activity});
    else
      device_.run_together(kernel_, plan_, at);
  }
  Timing time(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) override {
    return device_.time(kernel_, plan_, at, cold, options, activity);
  }
  std::vector<LaunchFacts> launch_facts() override { return device_.launch_facts(kernel_, plan_); }

 private:
  const KernelDefinition& kernel_;
  Device& device_;
  Plan plan_;
};

class ReferenceSubject final : public Subject {
 public:
  ReferenceSubject(Reference& reference, const ConvProblem& p) : reference_(reference), problem_(p) {}
  std::string name() const override { return reference_.name(); }
  bool is_reference() const override { return true; }
  std::string what_ran() const override { return reference_.what_ran(); }
  int64_t out_length() const override { return problem_.out_length(); }
  void run(const Bindings& at, Activity*) override { reference_.run(problem_, at, nullptr); }
  Timing time(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) override {
    return reference_.time(problem_, at, cold, options, activity);
  }
  bool tensor_arithmetic() const override { return reference_.may_use_tf32(); }

 private:
  Reference& reference_;
  ConvProblem problem_;
};

}  // namespace

ProblemMemory::ProblemMemory(Device& device, const ConvProblem& p, const Inputs& inputs, int64_t own_length,
                             size_t workspace)
    : inputs_(inputs),
      x_(device, bytes_of(p.x_elements(), p)),
      w_(device, bytes_of(p.w_elements(), p), past_weights(p)),
      y_(device, bytes_of(p.batch * p.out_channels * std::max({own_length, p.out_length(), int64_t{1}}), p)) {
  if (p.bias) b_ = std::make_unique<GuardedTensor>(device, bytes_of(p.b_elements(), p));
  if (workspace) workspace_ = std::make_unique<GuardedTensor>(device, workspace);
  x_.write(inputs.x.data(), inputs.x.size_bytes());
  w_.write(inputs.w.data(), inputs.w.size_bytes());
  if (b_) b_->write(inputs.b.data(), inputs.b.size_bytes());
  at_ = {x_.address(), w_.address(), b_ ? b_->address() : 0, y_.address(), workspace_ ? workspace_->address() : 0};
}

void ProblemMemory::restore_input() { x_.write(inputs_.x.data(), inputs_.x.size_bytes()); }

std::unique_ptr<Subject> make_subject(const std::string& name, Device& device,
                                      std::vector<std::unique_ptr<Reference>>& references, const ConvProblem& p) {
  for (auto& r : references)
    if (r->name() == name) {
      if (auto why = r->unavailable(); !why.empty()) throw MissingError("reference " + name, why);
      if (auto why = r->unsupported(p); !why.empty())
        throw InputError("reference", name, "does not take this problem: " + why);
      return std::make_unique<ReferenceSubject>(*r, p);
    }
  if (name.starts_with("cudnn") || name == "onednn")
    throw MissingError("reference " + name + " is not for this device (" + device.info().name + ")",
                       name == "onednn" ? "use --device emulator" : "use --device cuda on a machine with a GPU");
  const KernelDefinition& kernel = find_kernel(name);
  if (auto why = kernel.unsupported(p); !why.empty())
    throw InputError("kernel", name, "does not take this problem: " + why);
  if (auto why = device.unavailable(kernel); !why.empty()) throw MissingError("kernel " + name, why);
  return std::make_unique<KernelSubject>(kernel, device, p);
}

}  // namespace convscope
