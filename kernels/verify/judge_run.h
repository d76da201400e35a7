// One run of the judge, step by step (private to the judge).
#pragma once
#include <array>
#include <functional>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/runtime/stand_ins.h"
#include "kernels/verify/guarded.h"
#include "kernels/verify/judge.h"
#include "kernels/verify/races.h"

namespace convscope {

// "1 element", "2,160 elements"
inline std::string amount(int64_t n, const char* what) { return grouped(n) + " " + what + (n == 1 ? "" : "s"); }

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
  RunReport go(const std::function<void(bool begins)>& timing);
  RunReport output_alone(Reference* reference);
  OutputDifference difference(const ResultTensors& one, const ResultTensors& other, ResultTensors& apart);

 private:
  struct Poison {
    uint32_t word;
    uint32_t order_seed;
  };
  bool declared();  // compile and binding; false ends the run
  void take_memory();
  void draw_inputs();  // into tensors
  void upload(const Inputs& in);
  bool execute(const Poison& poison);  // false: the kernel faulted, the verdict says how
  void crashed(const std::string& why);
  // Does what runs the kernel; false: it faulted, the verdict says how.
  template <class F>
  bool survives(F work) {
    try {
      work();
      return true;
    } catch (const KernelFault& e) {
      crashed(e.what());
    } catch (const DeviceError& e) {
      if (e.poisoned()) throw;  // the engine ends; its client reports the crash
      crashed(e.what());
    }
    return false;
  }
  void shown_run();
  void second_looks();
  void other_poison(std::vector<bool>& differs);
  void other_order(std::vector<bool>& differs);
  void look_closer();
  void note_later(const HostBytes& y);
  void note_spread(double a, double b);
  // f(T{}, number of the element in the overlap, its bits in the run that is shown, its bits in a later one).
  template <class F>
  void each_element(const HostBytes& later, F f) const {
    dispatch(p_.dtype, [&](auto zero) {
      using Bits = BitsOf<decltype(zero)>;
      int64_t lout = p_.out_length();
      size_t e = 0;
      for (int64_t row = 0; row < rows_; row++)
        for (int64_t j = 0; j < overlap_; j++)
          f(zero, e++, r_.tensors->output.as<Bits>()[row * lout + j], later.as<Bits>()[row * own_ + j]);
    });
  }
  void time_it();
  std::string and_of_stand_ins() const {
    const std::string words = stand_in_words(plan_);
    return words.empty() ? "" : "; " + words;
  }
  void check_packed_calls();
  void judge_references();
  void exact_pass();
  std::string behind_the_sums();
  void zero_pass();
  void precision_pass();
  std::optional<Comparison> wide_integers(int bits);
  std::optional<Comparison> on_exact(const Inputs& in);
  void fallback_rounding();
  void look_for_races();
  bool writes_outside() const;  // as far as is known
  void add_where_it_leaves();
  void look_for_unset();
  void conclude();
  void conclude_memory();
  void conclude_mathematics();
  void conclude_determinism();
  void conclude_speed();
  std::unique_ptr<Oracle> oracle(const Inputs& in);
  // What the output holds before the passes on the judge's own inputs: a kernel that is known to add to it gets zeros
  // there, so that its sums can be judged.
  uint32_t math_poison() const { return depends_on_output_ ? 0 : unwritten_word; }
  HostBytes download() const;
  std::vector<SampleRow> sample(const HostBytes& y, Oracle& oracle, const Inputs& in) const;
  bool all_whole_numbers() const;
  bool inputs_are_drawn() const;  // all of them at random
  std::string right_sentence() const;
  std::string length_words() const;
  void find_outside_reads();
  std::pair<const char*, GuardedTensor*> input_tensor(size_t i) const;  // x, w, b
  std::array<std::pair<const char*, GuardedTensor*>, 5> all_tensors() const;

  Judge& judge_;
  Device& device_;
  Activity& activity_;
  const std::function<void(const RunReport&)> partial_;
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
  RaceSearch races_;
  bool depends_on_output_ = false;
  int64_t differing_elements_ = 0;                            // in any of three runs
  std::vector<double> ran_ms_;                                // of whole runs, by the host's clock
  int64_t differing_by_poison_ = 0, differing_by_order_ = 0;  // with another content of the output, in another order
  bool fails_in_some_runs_ = false;                           // an element is right in one run and wrong in another
  double spread_ = 0;                                         // infinite: NaN or Infinity in some runs only
  bool full_precision_ = false;                               // bitwise right on the widest integers of the type
  int64_t zero_unwritten_ = 0, zero_wrong_ = 0;               // where every sum is 0
  std::string zero_first_;                                    // the first of zero_wrong_
  std::optional<Comparison>
      random_rounding_;  // on random inputs, when the requested ones are too regular for the model

  // What the verdict is made of.
  std::string memory_;
  bool exact_fails_ = false, zero_fails_ = false, imprecise_ = false, rounding_fails_ = false, rms_fails_ = false,
       unsteady_ = false, impossible_ = false;
  bool by_nobody_ = false;  // what makes runs differ is no order of threads: a value that the launch has not set
};

}  // namespace convscope
