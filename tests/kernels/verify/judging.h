// What the tests of the judge share: problems at a glance, oracles made up, outputs computed by the book with a fault
// planted, and a judge that is run in one line.
#pragma once
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "kernels/reference/oracle.h"
#include "kernels/verify/compare.h"
#include "kernels/verify/judge.h"
#include "kernels/verify/xray.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope::test {

// 2160 elements; even outputs are reached by tap 1, odd ones by taps 0 and 2.
inline const ConvProblem general{.batch = 3,
                                 .in_channels = 4,
                                 .out_channels = 6,
                                 .kernel_size = 3,
                                 .length = 60,
                                 .stride = 2,
                                 .padding = 1,
                                 .output_padding = 1,
                                 .bias = true};

// Inputs of the program from tensors of a test.
inline Inputs inputs_of(const Tensors& t) { return {t.x, t.w, t.b}; }
inline Tensors tensors_of(const Inputs& in) { return {in.x, in.w, in.b}; }
inline HostTensor make_empty(DType t) {
  return make_tensor(t, {0}, [](auto*, int64_t) {});
}

// An oracle that says what a test wants to hear: value and magnitude of every element, [rows, columns] of the problem.
class MadeUpOracle final : public Oracle {
 public:
  MadeUpOracle(const ConvProblem& p, std::function<double(int64_t row, int64_t j)> value,
               std::function<double(int64_t row, int64_t j)> magnitude)
      : lout_(p.out_length()), value_(std::move(value)), magnitude_(std::move(magnitude)) {}
  void compute(const OutputBlock& block, double* value, double* magnitude) override;
  std::string where() const override { return "made up"; }

 private:
  int64_t lout_;
  std::function<double(int64_t, int64_t)> value_, magnitude_;
};

// One product of an element's sum, as a kernel may see it.
struct Product {
  int64_t n, co, j, ci, k, i;
  double x, w;
};
// The output in the problem's type, each element summed in double (its products as `each` says) and rounded once.
// Without `each`: x·w.
HostTensor computed(const ConvProblem& p, const Tensors& t, const std::function<double(const Product&)>& each = {});
// The same, summed in the problem's own type, one rounding after the other: as an honest kernel does.
HostTensor computed_in_type(const ConvProblem& p, const Tensors& t);

// A copy with some elements changed.
HostTensor changed(const HostTensor& t, const std::vector<std::pair<int64_t, double>>& elements);

// An output against the CPU oracle.
Comparison compared(const ConvProblem& p, const Tensors& t, const HostTensor& y, CompareOptions options = {});

// Judges a kernel on the emulator, without references and pictures unless the spec asks for them.
const KernelDefinition& kernel(const std::string& name);
RunSpec quick();  // no references, two timing samples
RunReport judged(const std::string& kernel, const ConvProblem& p, RunSpec spec = quick());
// Whether a text has a part, and both of them when it has not.
inline ::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos)
    return ::testing::AssertionSuccess() << '"' << part << "\" in \"" << text << '"';
  return ::testing::AssertionFailure() << "no \"" << part << "\" in \"" << text << '"';
}

// The index of a kernel on the emulator.
Xray rayed(const std::string& kernel, const ConvProblem& p, Accuracy accuracy = Accuracy::strict);
std::string evidence(const RunReport& r, const std::string& layer);
LayerStatus layer_status(const RunReport& r, const std::string& layer);

// How many cases a test tries: more where CONVSCOPE_LONG is set, fewer where fibres are slow (one at least).
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int fewer = 5;
#else
inline constexpr int fewer = 1;
#endif
int cases(int usually, int of_long);

// Kernels of faults_runs.cu that count their launches begin anew.
void forget_launches();

// x rounded to TF32 (to nearest, ties away: cvt.rna), cut off to TF32, and rounded to bfloat16.
float rounded_to_tf32(float v);
float cut_to_tf32(float v);
float rounded_to_bf16(float v);

}  // namespace convscope::test
