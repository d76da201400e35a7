// One run of the judge, step by step (private to the judge).
#pragma once
#include <array>
#include <utility>

#include "kernels/verify/guarded.h"
#include "kernels/verify/judge.h"

namespace convscope {

struct Judge::Cache {
  ConvProblem problem;
  InputSpec spec;
  std::shared_ptr<Inputs> inputs;
  Accuracy accuracy = Accuracy::strict;
  std::optional<std::vector<ReferenceReport>> references;
};

class Judge::Run {
 public:
  Run(Judge& judge, const RunSpec& spec, Activity& activity, const std::function<void(const RunReport&)>& partial);
  RunReport go();

 private:
  struct Poison {
    uint32_t word;
    uint32_t order_seed;
  };
  bool declared();                       // compile and binding; false ends the run
  void take_memory();
  void upload(const Inputs& in);
  bool execute(const Poison& poison);    // false: the kernel faulted, the verdict says how
  void shown_run();
  void second_looks();
  void time_it();
  void judge_references();
  void exact_pass();
  void precision_pass();
  void fallback_rounding();
  void conclude();
  std::unique_ptr<Oracle> oracle(const Inputs& in);
  HostBytes download() const;
  std::vector<SampleRow> sample(const HostBytes& y, Oracle& oracle, const Inputs& in) const;
  std::string right_sentence() const;
  std::string length_words() const;
  void find_outside_reads();
  std::pair<const char*, GuardedTensor*> input_tensor(size_t i) const;  // x, w, b

  Judge& judge_;
  Device& device_;
  Activity& activity_;
  const std::function<void(const RunReport&)>& partial_;
  RunReport r_;
  const ConvProblem& p_;
  const KernelDefinition& kernel_;
  Plan plan_;
  int64_t rows_, own_, overlap_;
  std::unique_ptr<GuardedTensor> x_, w_, b_, y_, workspace_;
  Bindings at_;

  std::array<uint64_t, 3> input_sums_{};  // of the requested inputs, as uploaded

  // What the passes found.
  std::string memory_fault_, input_fault_, outside_;
  bool depends_on_output_ = false, differs_between_runs_ = false;
  int64_t differing_elements_ = 0, failing_later_ = 0;
  double spread_ = 0;
  std::optional<Comparison> random_rounding_;  // on random inputs, when the requested ones are too regular for the model
};

}  // namespace convscope
