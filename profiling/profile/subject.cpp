#include "profiling/profile/subject.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/runtime/device_code.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/stand_ins.h"

namespace convscope {
namespace {

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
      device_.run_together(kernel_, plan_, at, 1);
  }
  void run_times(const Bindings& at, int times) override { device_.run_together(kernel_, plan_, at, times); }
  Timing time(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) override {
    return device_.time(kernel_, plan_, at, cold, options, activity);
  }
  std::string stand_ins() const override { return stand_in_words(plan_); }
  bool packs_weights() const override { return plan_.packs_weights(); }
  std::string no_packed_times() const override { return convscope::no_packed_times(plan_, device_); }
  PackedTimes packed_times(const Bindings& at, const TimingOptions& options, Activity* activity) override {
    return convscope::packed_times(device_, kernel_, plan_, at, options, activity);
  }
  Timing time_packed(const Bindings& at, bool cold, const TimingOptions& options, Activity* activity) override {
    return device_.time(kernel_, plan_.without_packing(), at, cold, options, activity);
  }
  Timing time_packing(const Bindings& at, const TimingOptions& options, Activity* activity) override {
    return device_.time(kernel_, plan_.packing(), at, false, options, activity);
  }
  bool packs(const std::string& entry) const override {
    const auto& all = plan_.launches();
    return std::any_of(all.begin(), all.end(), [&](const Launch& l) { return l.packs && entry == l.entry.name; });
  }
  std::vector<LaunchFacts> launch_facts() override {
    auto facts = device_.launch_facts(kernel_, plan_);
    if (facts.empty()) facts = compiled_launch_facts();
    for (size_t i = 0; i < facts.size(); i++) facts[i].output = plan_.launches()[i].is_given(Tensor::y);
    return facts;
  }
  Accuracy accuracy() const override { return accuracy_from(kernel_.accuracy()).value_or(Accuracy::strict); }
  bool tensor_cores() const override {
    const auto& needs = kernel_.requires_hardware();
    return std::any_of(needs.begin(), needs.end(), [](const auto& n) { return n == "wgmma" || n == "mma"; });
  }

 private:
  // Without a GPU: of the newest architecture that the program carries device code for.
  std::vector<LaunchFacts> compiled_launch_facts() const {
    std::vector<LaunchFacts> list;
    auto compiled = compiled_facts(kernel_);
    for (const auto& l : plan_.launches()) {
      const BinaryFacts* best = nullptr;
      for (const auto& f : compiled)
        if (f.entry == l.entry.name && (!best || f.architecture > best->architecture)) best = &f;
      if (!best) return {};
      list.push_back({l.entry.name, l.grid, l.block, best->registers, best->static_shared_bytes,
                      static_cast<int64_t>(l.dynamic_shared_bytes), best->stack_bytes,
                      "sm_" + std::to_string(best->architecture)});
    }
    return list;
  }

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
  Accuracy accuracy() const override { return reference_.may_use_tf32() ? Accuracy::tf32 : Accuracy::strict; }

 private:
  Reference& reference_;
  ConvProblem problem_;
};

}  // namespace

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
  if (auto why = device.unavailable(kernel, kernel.plan_for(p)); !why.empty())
    throw MissingError("kernel " + name, why);
  return std::make_unique<KernelSubject>(kernel, device, p);
}

}  // namespace convscope
