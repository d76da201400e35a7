// The search for a faster form in the workbench, with an engine of its own. On the emulator, whose times mean nothing:
// what is looked at is what becomes of each form, and who gives way to whom. What is found is seen on a GPU
// (engine/gpu_tuning_test.cpp).
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

// One knob: its loops begin behind something else, its pointers share nothing.
constexpr const char* one_knob = R"(// One knob.
// convscope: launch up grid=ceil_div(N*Cout*Lout,64) block=64 args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d supports=g==1
__global__ void __launch_bounds__(1024, 1) up(const float* __restrict__ x, const float* __restrict__ w,
                   const float* __restrict__ b, float* __restrict__ y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= N * Cout * Lout) return;
  const int j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = b ? b[co] : 0.0f;
  /* taps */ for (int k = 0; k < K; k++) {
    const int t = j + p - k * d;
    if (t < 0 || t % s != 0 || t / s >= L) continue;
    /* channels */ for (int ci = 0; ci < Cin; ci++)
      sum += x[(n * Cin + ci) * L + t / s] * w[(ci * Cout + co) * K + k];
  }
  y[id] = sum;
}
)";

class TuningsTest : public testing::Test {
 protected:
  void begin(const std::string& from = "", const std::string& to = "") {
    std::string text = one_knob;
    if (!from.empty()) {
      ASSERT_NE(text.find(from), text.npos);
      text.replace(text.find(from), from.size(), to);
    }
    Document d = test::quick_document(60, "mine.cu");
    d.device = "emulator";
    bench_->tunings().begin(d, text, {.by_hot = true});  // no cache is cold here
  }
  const TuningNow& now() { return bench_->tunings().now(); }
  bool over() {
    return bench_.until([&] { return !now().running; }, 120 * test::slowness);
  }
  const TriedForm* form(const std::string& words) {
    for (const auto& f : now().search->tried())
      if (f.words == words) return &f;
    return nullptr;
  }

  test::ScratchFolder folder_;
  test::Bench bench_{"env CONVSCOPE_CACHE=" + test::own_cache(folder_) + " " + test::real_engine()};
};

TEST_F(TuningsTest, FormsAreCompiledJudgedAndTimed) {
  begin();
  EXPECT_TRUE(now().running);
  EXPECT_EQ(bench_->tunings().of(now().document), &now());
  Document other = now().document;
  other.problem.length++;
  EXPECT_FALSE(bench_->tunings().of(other)) << "of another problem nothing is known";
  ASSERT_TRUE(over());
  EXPECT_EQ(now().trouble, "");
  ASSERT_TRUE(now().result);
  EXPECT_GE(now().result->judged, 3u);
  for (const char* words : {"every 64 → 128", "every 64 → 32", "every 64 → 256", "every 64 → 16"}) {
    ASSERT_TRUE(form(words)) << words;
    EXPECT_EQ(form(words)->state, TriedForm::State::timed) << words << form(words)->reason;
    EXPECT_GT(form(words)->ms.value_or(0), 0) << words;
  }
  // What is faster by the emulator's times is in the text, or nothing is.
  EXPECT_EQ(now().result->lines.empty(), now().search->best_text() == one_knob);
  EXPECT_EQ(now().result->before_ms.has_value(), !now().result->lines.empty());
  EXPECT_EQ(bench_->link().status().deaths, 0);
}

// Values of files are of one shape, and small problems are of others.
TEST_F(TuningsTest, FilesOfValuesAreLeftOut) {
  Document d = test::quick_document(60, "mine.cu");
  d.device = "emulator", d.inputs.x.kind = InputKind::file, d.inputs.x.file = "x.npy";
  bench_->tunings().begin(d, one_knob, {.by_hot = true});
  EXPECT_EQ(now().search->spec().request.inputs.x.kind, InputSpec{}.x.kind);
  EXPECT_EQ(bench_->tunings().of(d), &now());
  bench_->tunings().stop();
}

// A form that ends its engine is one that is left out, and the window's engine knows nothing of it.
TEST_F(TuningsTest, AFormThatCrashesIsLeftOut) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  begin("float sum = b", "if (blockDim.x == 256) *static_cast<volatile int*>(nullptr) = 1;\n  float sum = b");
  ASSERT_TRUE(over());
  EXPECT_EQ(now().trouble, "");
  ASSERT_TRUE(form("every 64 → 256"));
  EXPECT_EQ(form("every 64 → 256")->state, TriedForm::State::crashed) << form("every 64 → 256")->reason;
  ASSERT_TRUE(form("every 64 → 16"));
  EXPECT_EQ(form("every 64 → 16")->state, TriedForm::State::timed) << form("every 64 → 16")->reason;
  EXPECT_EQ(bench_->link().status().deaths, 0);
}

TEST_F(TuningsTest, WhatDoesNotCompileSaysSo) {
  begin("float sum = b", "float sum = unknown ");
  ASSERT_TRUE(over());
  EXPECT_TRUE(holds(now().trouble, "unknown")) << now().trouble;
  EXPECT_FALSE(now().result);
}

TEST_F(TuningsTest, EndsWithWhatThereIsAndStops) {
  begin();
  ASSERT_TRUE(bench_.until([&] { return holds(now().now, "judge: every 64"); }, 60 * test::slowness));
  bench_->cancel();
  EXPECT_TRUE(now().running && now().ending) << "what is judged by now is still timed";
  ASSERT_TRUE(over());
  ASSERT_TRUE(now().result);
  EXPECT_GT(now().result->left, 0);
  EXPECT_LT(now().search->tried().size(), 4u);
  begin();
  ASSERT_TRUE(bench_.until([&] { return now().now != "compile the file"; }, 60 * test::slowness));
  bench_->cancel();
  bench_->cancel();
  EXPECT_FALSE(now().running);
  EXPECT_EQ(now().trouble, "stopped");
  begin();
  bench_->tunings().forget_file("other.cu");
  EXPECT_TRUE(now().running);
  bench_->tunings().forget_file("mine.cu");
  EXPECT_FALSE(now().running || now().search);
}

}  // namespace
}  // namespace convscope
