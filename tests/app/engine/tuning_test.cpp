// A search for a faster form asks one thing after the other and keeps what came: played with answers that an engine
// with a GPU would give.
#include "app/engine/tuning.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support.h"

namespace convscope {
namespace {

using nlohmann::json;
using test::holds;

constexpr const char* untuned = R"(// Gather.
// convscope: launch up grid=ceil_div(N*Cout*Lout,256) block=256 args=x,w,b,y,N,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void up(const float* x, const float* w, const float* b, float* y, int N, int Cin, int Cout, int K, int L,
                   int Lout, int s, int p, int d, int g) {
  float sum = 0;
  for (int k = 0; k < K; k++) {
    for (int q = 0; q < Cin / g; q++)
      sum += x[q] * w[k];
  }
  y[0] = sum;
}
)";

TuningSpec tuning_spec(std::string text = untuned) {
  TuningSpec s;
  s.request.kernel = "mine.cu";
  s.request.problem.in_channels = s.request.problem.out_channels = 8;
  s.request.problem.kernel_size = 5, s.request.problem.length = 4000, s.request.problem.stride = 2;
  s.text = std::move(text);
  return s;
}

// An engine of words: what a text is, and how fast.
struct PlayedGpu {
  std::function<double(const std::string&)> ms = [](const std::string&) { return 1.0; };
  std::function<bool(const std::string&, const json& request)> right = [](auto&, auto&) { return true; };
  std::function<std::string(const std::string&, const std::string& type)> failure = [](auto&, auto&) { return ""; };
  std::map<std::string, std::string> texts{{"mine.cu", untuned}};
  std::vector<std::string> brought;
  std::vector<json> asked;

  json judged(const json& r) {
    const bool is = right(texts.at(r.at("kernel")), r);
    return {{"device", {{"name", "GPU"}}},
            {"verdict", {{"status", is ? "right" : "wrong"}, {"sentence", is ? "right: all" : "wrong: half"}}}};
  }
  json timed(const json& r) {
    json entries = json::array();
    const double first = ms(texts.at(r.at("kernels")[0]));
    for (const auto& k : r.at("kernels")) {
      const double own = ms(texts.at(k));
      const json held = {{"verdict", own < 0.99 * first   ? "FASTER"
                                     : own > 1.01 * first ? "SLOWER"
                                                          : "SAME"},
                         {"speedup", first / own}};
      const json times = {{"median_ms", own}, {"noise_pct", 0.5}, {"samples", 9}};
      entries.push_back({{"name", k},
                         {"hot", {{"median_ms", 0.1}}},
                         {"cold", times},
                         {"against", {{"hot", {{"verdict", "SAME"}, {"speedup", 1}}}, {"cold", held}}}});
    }
    return {{"entries", entries}};
  }
  // To its end, or so many answers.
  void play(Tuning& t, int most = 100000) {
    for (; most > 0; most--) {
      const auto r = t.next();
      if (!r) return;
      const bool brings = !r->text.empty();
      if (brings) texts[r->file] = r->text, brought.push_back(r->text);
      if (!brings) asked.push_back(r->header);
      const std::string type = brings ? "bring" : r->header.at("type").get<std::string>();
      std::string of = brings ? r->text : "";
      if (type == "judge") of = texts.at(r->header.at("kernel"));
      if (type == "bench")
        for (const auto& k : r->header.at("kernels")) of += texts.at(k);
      if (const std::string code = failure(of, type); !code.empty()) {
        if (!t.failed(code, "it " + code)) return;
        continue;
      }
      t.took(brings ? json::object() : type == "judge" ? judged(r->header) : timed(r->header));
    }
  }
};

const TriedForm* form_of(const Tuning& t, const std::string& words) {
  for (const auto& f : t.tried())
    if (f.words == words) return &f;
  return nullptr;
}

// What is FASTER is kept, and what is tried next is tried with it; last the file and the best form are timed.
TEST(Tuning, KeepsWhatIsFasterAndGoesOnFromThere) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) {
    double v = holds(text, "block=64 ") ? 2.0 : holds(text, "block=128 ") ? 3.0 : 4.0;
    if (holds(text, "#pragma unroll 4")) v *= 0.8;
    return holds(text, "__restrict__") ? 1.005 * v : v;
  };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_TRUE(t.confirmed());
  EXPECT_TRUE(holds(t.best_text(), "grid=ceil_div(N*Cout*Lout,64) block=64 ")) << t.best_text();
  EXPECT_TRUE(holds(t.best_text(), "#pragma unroll 4\n    for (int q")) << t.best_text();
  EXPECT_FALSE(holds(t.best_text(), "__restrict__")) << "it is no faster";
  const json d = t.document();
  EXPECT_EQ(d["status"], "faster");
  EXPECT_EQ(d["changes"], json({"every 256 → 64", "the loop at line 7 unrolled 4 times"}));
  EXPECT_DOUBLE_EQ(d["before"]["median_ms"], 4.0);
  EXPECT_DOUBLE_EQ(d["after"]["median_ms"], 1.6);
  EXPECT_DOUBLE_EQ(d["speedup"], 2.5);
  EXPECT_DOUBLE_EQ(d["steps_speedup"], 2.5);
  EXPECT_EQ(d["samples"], 9);
  EXPECT_EQ(d["text"], t.best_text());
  // In the samples that a verdict asks for, and the file's own form with it.
  EXPECT_EQ(engine.asked.back()["type"], "bench");
  EXPECT_EQ(engine.asked.back()["samples"], 0);
  EXPECT_EQ(engine.asked.back()["kernels"][0], "mine.cu");
  const TriedForm* unrolled = form_of(t, "the loop at line 7 unrolled 4 times");
  ASSERT_TRUE(unrolled);
  EXPECT_TRUE(unrolled->kept);
  EXPECT_EQ(unrolled->with, std::vector<std::string>{"every 256 → 64"});
  // No text twice.
  std::sort(engine.brought.begin(), engine.brought.end());
  EXPECT_EQ(std::adjacent_find(engine.brought.begin(), engine.brought.end()), engine.brought.end());
}

// What made no difference may make one with what came after it.
TEST(Tuning, EveryKnobIsTurnedAgainBehindOneThatWasKept) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) {
    return !holds(text, "#pragma unroll 4") ? 4.0 : holds(text, "__restrict__") ? 2.0 : 3.0;
  };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_EQ(t.document()["changes"],
            json({"the loop at line 7 unrolled 4 times", "__restrict__ on every pointer of a kernel"}));
}

// The control of all others: where nothing is faster, nothing is kept, and nothing is timed once more.
TEST(Tuning, NothingIsKeptWhereNothingIsFaster) {
  PlayedGpu engine;
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_EQ(t.best_text(), untuned);
  EXPECT_EQ(t.document()["status"], "none");
  EXPECT_TRUE(t.document()["text"].is_null());
  EXPECT_GT(t.tried().size(), 8u);
  EXPECT_EQ(t.document()["not_tried"], 0);
}

TEST(Tuning, AWrongFileIsNotMadeFaster) {
  PlayedGpu engine;
  engine.right = [](auto&, auto&) { return false; };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_EQ(t.wrong(), "wrong: half");
  EXPECT_EQ(t.document()["status"], "wrong");
  EXPECT_TRUE(engine.brought.empty());
}

// A wrong form is not timed, whatever its time would be; after two of them a knob is left.
TEST(Tuning, WrongFormsAreLeftOut) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) { return holds(text, "block=256 ") ? 4.0 : 1.0; };
  engine.right = [](const std::string& text, auto&) { return holds(text, "block=256 "); };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_EQ(t.best_text(), untuned);
  ASSERT_TRUE(form_of(t, "every 256 → 512"));
  EXPECT_EQ(form_of(t, "every 256 → 512")->state, TriedForm::State::wrong);
  EXPECT_EQ(form_of(t, "every 256 → 512")->reason, "wrong: half");
  EXPECT_TRUE(form_of(t, "every 256 → 128"));
  EXPECT_FALSE(form_of(t, "every 256 → 1024"));
  EXPECT_EQ(t.document()["not_tried"], 2);
}

// The asked problem takes long: it is asked of what would be kept alone.
TEST(Tuning, WhatIsKeptIsJudgedOnTheAskedProblem) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) {
    return holds(text, "block=64 ") ? 2.0 : holds(text, "block=128 ") ? 3.0 : 4.0;
  };
  engine.right = [](const std::string& text, const json& r) {
    return r["problem"]["length"] != 4000 || !holds(text, "block=64 ");
  };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_TRUE(holds(t.best_text(), "block=128 ")) << t.best_text();
  const TriedForm* wrong = form_of(t, "every 256 → 64");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->state, TriedForm::State::wrong);
  EXPECT_TRUE(holds(wrong->reason, "right on small problems, and on the asked one wrong: half")) << wrong->reason;
  int64_t whole = 0;
  for (const auto& r : engine.asked) whole += r["type"] == "judge" && r["problem"]["length"] == 4000;
  EXPECT_EQ(whole, 3) << "the file, the fastest, the next one";
}

// What the file does not do is not asked of its forms.
TEST(Tuning, SmallProblemsThatTheFileIsWrongOnAreLeftOut) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) { return holds(text, "block=128 ") ? 3.0 : 4.0; };
  engine.right = [](auto&, const json& r) { return r["problem"]["stride"] == 2; };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_TRUE(t.confirmed());
  for (const auto& p : t.document()["judged_on"]) EXPECT_EQ(p["problem"]["stride"], 2);
  EXPECT_GE(t.document()["judged_on"].size(), 3u);
}

// One that ends the engine while it is judged is out; one that does so among others while they are timed takes these
// along. The search goes on.
TEST(Tuning, AnEngineThatEndsIsNotTheEnd) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) { return holds(text, "#pragma unroll 8") ? 1.0 : 4.0; };
  engine.failure = [](const std::string& of, const std::string& type) -> std::string {
    if (type == "judge" && holds(of, "block=512 ")) return "crashed";
    if (type == "bring" && holds(of, "__restrict__")) return "compile";
    return type == "bench" && holds(of, "block=128 ") ? "hung" : "";
  };
  Tuning t(tuning_spec());
  engine.play(t);
  EXPECT_TRUE(holds(t.best_text(), "#pragma unroll 8")) << t.best_text();
  EXPECT_EQ(form_of(t, "every 256 → 512")->state, TriedForm::State::crashed);
  EXPECT_EQ(form_of(t, "every 256 → 64")->state, TriedForm::State::crashed);
  EXPECT_EQ(form_of(t, "__restrict__ on every pointer of a kernel")->state, TriedForm::State::refused);
  Tuning broken(tuning_spec());
  PlayedGpu none;
  none.failure = [](auto&, auto&) { return "crashed"; };
  none.play(broken);
  EXPECT_TRUE(broken.next()) << "without a verdict of the file itself there is nothing to search for";
  Tuning cancelled(tuning_spec());
  none.failure = [](auto&, const std::string& type) { return type == "bring" ? "cancelled" : ""; };
  none.play(cancelled);
  EXPECT_TRUE(cancelled.tried().empty());
}

// When the time is up: what is judged is timed, what is faster is kept, and nothing else is begun.
TEST(Tuning, WhenTheTimeIsUp) {
  PlayedGpu engine;
  engine.ms = [](const std::string& text) { return holds(text, "block=512 ") ? 2.0 : 4.0; };
  Tuning t(tuning_spec());
  while (t.next()->kind != std::string("compiling") || engine.brought.empty()) engine.play(t, 1);
  t.enough();
  EXPECT_EQ(t.next()->header["type"], "bench");
  const size_t brought = engine.brought.size();
  engine.play(t);
  EXPECT_EQ(engine.brought.size(), brought);
  EXPECT_TRUE(t.confirmed());
  EXPECT_TRUE(holds(t.best_text(), "block=512 "));
  EXPECT_GT(t.document()["not_tried"], 5);
  Tuning early(tuning_spec());
  early.enough();
  EXPECT_FALSE(early.next());
  EXPECT_GT(early.document()["not_tried"], 8);
}

TEST(Tuning, SmallProblemsAreOfTheLayer) {
  ConvProblem p;
  p.batch = 64, p.in_channels = 4096, p.out_channels = 96, p.groups = 32, p.kernel_size = 16, p.stride = 8;
  p.padding = 4, p.length = 1'000'000;
  for (const bool for_layer : {false, true})
    for (const auto& c : tuning_problems(p, for_layer)) {
      EXPECT_TRUE(broken_rules(c.problem).empty());
      EXPECT_TRUE(c.problem.groups == 32 || (!for_layer && c.problem.groups == 1));
      EXPECT_TRUE(!for_layer || c.problem.stride == 8);
      EXPECT_LT(c.problem.y_elements() * c.problem.kernel_size, int64_t{1} << 31);
    }
  EXPECT_EQ(tuning_problems(p, false).size(), tuning_problems(p, true).size() + 2);
  p.groups = 1, p.in_channels = 64;
  const auto all = tuning_problems(p, false);
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& c) { return c.problem.groups == 2; }));
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& c) { return c.problem.bias; }));
}

}  // namespace
}  // namespace convscope
