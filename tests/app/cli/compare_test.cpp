// `compare`: two recordings beside each other, made here so that it is known what became of each kernel; and --fail-on.
#include <functional>
#include <gtest/gtest.h>

#include "app/engine/recording.h"
#include "tests/app/cli/cli.h"

namespace convscope::test {
namespace {
using nlohmann::json;

// Where and how a recording was made: what differs between two is put in.
struct Made {
  std::string gpu = "NVIDIA H200", driver = "580.159.04", kind = "cuda", source = "measured", date = "2026-11-22";
  double sm_mhz = 1980, throttled = 0;
  bool clocks = true;
  int samples = 12;
};

json samples_around(double ms, int count = 12) {
  json samples = json::array();
  for (int i = 0; i < count; i++) samples.push_back(ms * (1 + 0.0001 * (i % 5)));
  return {{"samples_ms", samples}};
}

class RecordingsCompared : public testing::Test {
 protected:
  static RunRequest question(const std::string& kernel, Accuracy accuracy = Accuracy::strict) {
    RunRequest r;
    r.kernel = kernel, r.accuracy = accuracy;
    r.problem.in_channels = 4, r.problem.out_channels = 6, r.problem.kernel_size = 3, r.problem.length = 100;
    return r;
  }
  static json asked(const char* type, const RunRequest& r) {
    std::vector<std::byte> payload;
    json j = request_json(r, payload);
    j["type"] = type;
    return j;
  }
  static void judged(Recording& r, const std::string& kernel, const std::string& status, const Made& made = {}) {
    const RunRequest q = question(kernel);
    r.add(asked("run", q),
          {{"kernel", {{"name", kernel}, {"file", nullptr}, {"requires", json::array()}}},
           {"problem", full_problem_json(q.problem)},
           {"device", {{"kind", made.kind}, {"name", made.gpu}}},
           {"verdict",
            {{"status", status}, {"sentence", status + ": so it was"}, {"layers", json::array()}, {"exit_code", 0}}},
           {"references", json::array()},
           {"timing", json::object()}},
          {}, made.date);
  }
  // packed_ms: with weights packed before; 0: it packs none.
  static void timed(Recording& r, const std::string& kernel, double ms, const Made& made = {}, double packed_ms = 0,
                    Accuracy accuracy = Accuracy::strict) {
    const RunRequest q = question(kernel, accuracy);
    json timing = {
        {"hot", samples_around(ms, made.samples)}, {"cold", samples_around(ms, made.samples)}, {"source", made.source}};
    timing["packed"] = packed_ms > 0 ? samples_around(packed_ms) : json(nullptr);
    json conditions = {{"driver", made.driver}, {"throttled_fraction", made.throttled}};
    conditions["warnings"] = made.throttled > 0 ? json({"the GPU slowed itself down"}) : json::array();
    if (made.clocks) conditions["sm_mhz"] = {{"least", made.sm_mhz}, {"median", made.sm_mhz}, {"most", made.sm_mhz}};
    r.add(asked("profile", q),
          {{"kernel", {{"name", kernel}, {"kind", kernel == "cudnn" ? "reference" : "kernel"}}},
           {"problem", full_problem_json(q.problem)},
           {"device",
            {{"kind", made.kind},
             {"name", made.gpu},
             {"driver", (made.driver.empty() ? "" : made.driver + ", ") + "CUDA 13.0"}}},
           {"timing", timing},
           {"counters", json::object()},
           {"conditions", conditions},
           {"roofline", json::object()},
           {"warnings", json::array()}},
          {}, made.date);
  }
  std::string kept(const std::string& name, Recording r) {
    r.about.update({{"device", {{"name", "NVIDIA H200"}}}, {"date", "2026-11-22"}, {"convscope", "0.1.0"}});
    const std::string text = session_of(r).dump();
    return folder_.write(name, text.data(), text.size());
  }
  // Of one kernel, which took 1 ms then.
  json entry(double ms, const Made& now, const Made& then = {}) {
    Recording a, b;
    timed(a, "tiled", 1, then), timed(b, "tiled", ms, now);
    return compared(kept("a.convscope", a), kept("b.convscope", b));
  }
  static json compared(const std::string& then, const std::string& now, int code = 0, const Words& more = {}) {
    Finished f = convscope_run(Words{"compare", then, now, "--json"} + more);
    EXPECT_EQ(f.code, code) << f.out << f.err;
    return f.document();
  }
  static json of(const json& document, const std::string& kernel) {
    for (const auto& e : document["entries"])
      if (e["kernel"] == kernel) return e;
    ADD_FAILURE() << kernel << " is in none of " << document["entries"];
    return json();
  }
  ScratchFolder folder_;
};

TEST_F(RecordingsCompared, SaysWhatBecameOfEach) {
  Recording a, b;
  const Made later = {.date = "2026-11-29"};
  for (const char* kernel : {"tiled", "direct", "scatter"})
    judged(a, kernel, "right"), judged(b, kernel, "right", later);
  judged(a, "S4", "wrong"), judged(b, "S4", "right", later);
  judged(a, "S3", "wrong"), judged(b, "S3", "crashed", later);
  timed(a, "tiled", 1), timed(b, "tiled", 1.001, later);
  timed(a, "direct", 2), timed(b, "direct", 2.2, later);
  timed(a, "scatter", 2), timed(b, "scatter", 1, later);
  timed(a, "cudnn", 3), timed(b, "cudnn", 3, later);
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", b);
  const json j = compared(then, now);
  EXPECT_EQ(of(j, "tiled")["hot"]["verdict"], "SAME");
  const json slower = of(j, "direct");
  EXPECT_EQ(slower["hot"]["verdict"], "SLOWER") << slower;
  EXPECT_EQ(slower["cold"]["verdict"], "SLOWER");
  EXPECT_NEAR(slower["hot"]["ratio"].get<double>(), 1.1, 1e-9);
  EXPECT_LT(slower["hot"]["ratio_interval"][0], 1.1);
  EXPECT_GT(slower["hot"]["ratio_interval"][1], 1.1);
  EXPECT_GT(slower["hot"]["ratio_interval"][0], 1.09);
  EXPECT_NEAR(slower["hot"]["speedup"].get<double>(), 1 / 1.1, 1e-9) << "as bench has it";
  EXPECT_EQ(slower["hot"]["then"]["samples"], 12);
  EXPECT_EQ(slower["then"]["date"], "2026-11-22");
  EXPECT_EQ(slower["now"]["date"], "2026-11-29");
  EXPECT_EQ(slower["now"]["driver"], "580.159.04");
  EXPECT_EQ(slower["now"]["sm_mhz"]["median"], 1980);
  EXPECT_EQ(of(j, "scatter")["hot"]["verdict"], "FASTER");
  EXPECT_EQ(of(j, "S4")["verdict_change"], "better");
  EXPECT_EQ(of(j, "S4")["hot"]["verdict"], nullptr);
  EXPECT_EQ(of(j, "S4")["hot"]["reason"], "it was timed in neither");
  EXPECT_EQ(of(j, "S3")["verdict_change"], "changed");
  EXPECT_EQ(of(j, "tiled")["verdict_change"], "none");
  EXPECT_EQ(of(j, "cudnn")["verdict_change"], nullptr);
  EXPECT_EQ(of(j, "cudnn")["now"]["status_reason"], "references are not judged");
  EXPECT_EQ(j["summary"], json({{"compared", 6},
                                {"SAME", 2},
                                {"FASTER", 1},
                                {"SLOWER", 1},
                                {"AMBIGUOUS", 0},
                                {"without_times", 2},
                                {"worse", 0},
                                {"better", 1},
                                {"changed", 1}}));
  EXPECT_EQ(j["failed"], json::array());
  EXPECT_EQ(j["exit_code"], 0);
  EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION);
  EXPECT_EQ(j["warnings"], json::array()) << "the same GPU, driver and clocks";
  const std::string out = convscope_run({"compare", then, now}).out;
  for (const char* said : {"a.convscope: NVIDIA H200, 2026-11-22, driver 580.159.04, SM 1980 MHz, convscope 0.1.0\n",
                           "\nnow  ", "wrong → right", "1.100 (1.100 to 1.100)", "SLOWER",
                           "6 compared: 2 SAME, 1 FASTER, 1 SLOWER, 0 AMBIGUOUS, 2 without times; "
                           "verdicts: 0 worse, 1 better, 1 otherwise changed\n",
                           "not taken in turn"})
    EXPECT_TRUE(holds(out, said)) << said << "\n" << out;
}

TEST_F(RecordingsCompared, AKernelThatIsNotRightAnyMoreFails) {
  for (const char* status : {"wrong", "crashed", "hung", "not-run"}) {
    Recording a, b;
    judged(a, "tiled", "right"), judged(b, "tiled", status);
    const std::string then = kept("a.convscope", a), now = kept("b.convscope", b);
    const json j = compared(then, now, 1);
    EXPECT_EQ(of(j, "tiled")["verdict_change"], "worse");
    EXPECT_EQ(j["failed"], json::array({std::string("tiled on 1 × 4→6, K 3, L 100, s 1, p 0, d 1: right then, ") +
                                        status + " now (" + status + ": so it was)"}));
    Finished text = convscope_run({"compare", then, now});
    EXPECT_EQ(text.code, 1);
    EXPECT_TRUE(holds(text.out, "  ✗ tiled on ")) << text.out;
    compared(now, now);  // it was so before
    compared(now, then);
  }
}

TEST_F(RecordingsCompared, FailsOnWhatIsSlower) {
  Recording a, b;
  timed(a, "tiled", 1), timed(b, "tiled", 1.1), timed(a, "direct", 1), timed(b, "direct", 0.5);
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", b);
  const json j = compared(then, now, 1, {"--fail-on", "slower"});
  EXPECT_EQ(j["failed"], json({"tiled on 1 × 4→6, K 3, L 100, s 1, p 0, d 1: SLOWER, 1.1 times as long"}));
  EXPECT_EQ(j["fail_on"], "slower");
  EXPECT_EQ(compared(then, now, 1, {"--fail-on", "slower:9.9"})["exit_code"], 1);
  EXPECT_EQ(compared(then, now, 0, {"--fail-on", "slower:10.1"})["exit_code"], 0);
  EXPECT_EQ(compared(then, now)["fail_on"], nullptr) << "nobody has asked";
  // The other way round it is faster, and what took half the time takes twice.
  EXPECT_EQ(compared(now, then, 1, {"--fail-on", "slower"})["failed"].size(), 1u);
}

// What a pipeline must not take for fast enough, and what it is not asked about.
TEST_F(RecordingsCompared, FailsOnWhatCannotBeFastEnough) {
  const Words slower = {"--fail-on", "slower"};
  Recording a, few_samples, none, reference;
  timed(a, "tiled", 1), timed(a, "cudnn", 1);
  timed(few_samples, "tiled", 100, {.samples = 3}), timed(few_samples, "cudnn", 1);
  judged(none, "tiled", "right"), timed(none, "cudnn", 1);
  timed(reference, "tiled", 1), timed(reference, "cudnn", 1.5);
  const std::string then = kept("a.convscope", a);
  auto failed = [&](const Recording& now, int code) {
    return compared(then, kept("b.convscope", now), code, slower)["failed"];
  };
  const std::string tiled = "tiled on 1 × 4→6, K 3, L 100, s 1, p 0, d 1: ";
  const std::string far = failed(few_samples, 1).at(0);
  EXPECT_TRUE(far.starts_with(tiled + "at least ") && far.ends_with(" times as long, by too few samples for a verdict"))
      << far;
  EXPECT_EQ(failed(none, 1), json({tiled + "timed then, not now"}));
  EXPECT_EQ(failed(reference, 0), json::array()) << "a reference is nobody's kernel";
  Recording without;
  timed(without, "cudnn", 1);
  EXPECT_EQ(failed(without, 1), json({tiled + "in the earlier recording alone"}));
  // And none of it where nobody asks.
  for (const Recording* now : {&few_samples, &none, &reference, &without})
    EXPECT_EQ(compared(then, kept("b.convscope", *now))["failed"], json::array());
}

TEST_F(RecordingsCompared, AreNotWrittenOver) {
  Recording a;
  timed(a, "tiled", 1);
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", a), before = text_file(then);
  const char* rule = "is read by this command: take another name";
  expect_refused({"compare", then, now, "--out", then}, "out", then, rule);
  // Nor is what any other verb reads, however it is called there.
  expect_refused({"bench", "tiled", "--recording", then, "--out=" + then}, "out", then, rule);
  expect_refused({"profile", "tiled", "--recording=" + then, "--out", then}, "out", then, rule);
  const std::string text = text_file(project_file("assets/kernels/gather.cu")),
                    kernel = folder_.write("mine.cu", text.data(), text.size()),
                    round_about = folder_.path("./mine.cu");
  expect_refused({"profile", kernel, "--trust", "--out", round_about}, "out", round_about, rule);
  expect_refused({"profile", kernel + ":gather", "--trust", "--out", kernel}, "out", kernel, rule);
  EXPECT_EQ(text_file(kernel), text);
  EXPECT_EQ(text_file(then), before);
  const std::string oracle = folder_.path("oracle.npy");
  ASSERT_EQ(convscope_run({"run", "direct", "--save", folder_.path(".")}).code, 0);
  expect_refused({"run", "direct", "--input", oracle, "--save", folder_.path("")}, "save", oracle, rule);
  // What is there and is not read is written over, as ever: a kernel of that name is no file.
  const std::string named = "cd " + folder_.path("") + " && convscope export S4 --format source --out S4";
  for (int time = 0; time < 2; time++) EXPECT_EQ(convscope_shell(named).code, 0);
  EXPECT_EQ(convscope_run({"compare", then, now, "--format", "json", "--out", kernel}).code, 0);
  EXPECT_NE(text_file(kernel), text);
  EXPECT_EQ(convscope_run({"record", then, "direct", "--preset", "kernelbench-79-small", "--samples", "2"}).code, 0)
      << "what is recorded goes into the file that is there";
}

TEST_F(RecordingsCompared, WhatElseDiffersIsSaid) {
  auto warned = [&](const Made& now) {
    const json j = entry(1.5, now);
    EXPECT_EQ(j["warnings"], j["entries"][0]["warnings"]);
    return j["warnings"].empty() ? std::string() : j["warnings"][0].get<std::string>();
  };
  const std::string doing = ": what differs between times need not be the kernel's doing";
  EXPECT_EQ(warned({}), "");
  EXPECT_EQ(warned({.gpu = "NVIDIA A100", .sm_mhz = 1980}), "another GPU, NVIDIA H200 then, NVIDIA A100 now" + doing);
  EXPECT_EQ(warned({.driver = "590.1"}), "another driver, 580.159.04 then, 590.1 now" + doing);
  EXPECT_EQ(warned({.driver = ""}), "the driver was not recorded now: whether it is another one is not known");
  EXPECT_EQ(warned({.sm_mhz = 1755}), "other clocks, SM 1980 MHz then, 1755 MHz now" + doing);
  EXPECT_EQ(warned({.sm_mhz = 1975}), "") << "nearer than what matters of times";
  EXPECT_EQ(warned({.clocks = false}),
            "clocks were not recorded now: whether the GPU was slower then or now is not known");
  // It stands in the text as well.
  EXPECT_TRUE(holds(convscope_run({"compare", folder_.path("a.convscope"), folder_.path("b.convscope")}).out,
                    "  ! clocks were not recorded now"));
}

// As `bench` has it: what another clock explains is not believed, what it cannot explain is.
TEST_F(RecordingsCompared, AClockExplainsWhatItCan) {
  EXPECT_EQ(entry(1.1, {})["entries"][0]["hot"]["verdict"], "SLOWER") << "the negative control";
  const json explained = entry(1.1, {.sm_mhz = 1755})["entries"][0]["hot"];  // 1980 / 1755 is 1.13
  EXPECT_EQ(explained["verdict"], "AMBIGUOUS");
  EXPECT_TRUE(holds(explained["evidence"], "the SM clock was 1980 MHz then, 1755 MHz now")) << explained;
  EXPECT_EQ(entry(1.5, {.sm_mhz = 1755})["entries"][0]["hot"]["verdict"], "SLOWER");
  const json slowed = entry(1.1, {.throttled = 0.5, .clocks = false})["entries"][0]["hot"];
  EXPECT_EQ(slowed["verdict"], "AMBIGUOUS");
  EXPECT_TRUE(holds(slowed["evidence"], "now: the GPU slowed itself down")) << slowed;
  EXPECT_EQ(entry(1.1, {.gpu = "NVIDIA A100", .sm_mhz = 1410})["entries"][0]["hot"]["verdict"], "SLOWER")
      << "another GPU has clocks of its own";
}

TEST_F(RecordingsCompared, TimesOfTheEmulatorAndOfAGpu) {
  const Made emulated = {
      .gpu = "CPU emulator", .driver = "", .kind = "emulator", .source = "emulated", .clocks = false};
  const json e = entry(1, emulated)["entries"][0];
  EXPECT_EQ(e["hot"], json({{"verdict", nullptr},
                            {"reason", "a time of a GPU then and one of the emulator now say nothing of each other"}}));
  const json both = entry(1.5, emulated, emulated);
  EXPECT_EQ(both["entries"][0]["hot"]["verdict"], "SLOWER");
  EXPECT_EQ(both["warnings"],
            json({"times of the CPUs that ran them, which need not be the same: they say nothing of a GPU"}));
}

TEST_F(RecordingsCompared, WeightsPackedBefore) {
  Recording a, b;
  timed(a, "registers", 2, {}, 1), timed(b, "registers", 3, {}, 1);
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", b);
  const json packed = of(compared(then, now), "registers"),
             whole = of(compared(then, now, 0, {"--with-packing"}), "registers");
  EXPECT_EQ(packed["of"], "packed");
  EXPECT_EQ(packed["hot"]["verdict"], "SAME");
  EXPECT_EQ(whole["of"], "whole");
  EXPECT_EQ(whole["hot"]["verdict"], "SLOWER");
  // An older one has none.
  Recording old;
  timed(old, "registers", 2);
  EXPECT_EQ(of(compared(kept("old.convscope", old), now), "registers")["of"], "whole");
}

TEST_F(RecordingsCompared, WhatOnlyOneHolds) {
  Recording a, b;
  for (Recording* r : {&a, &b}) timed(*r, "tiled", 1);
  timed(a, "S0", 1), timed(a, "cudnn", 1), timed(b, "mma_tf32", 1, {}, 0, Accuracy::tf32), timed(a, "mma_tf32", 1);
  b.about["left_out"] = json::array({json({{"what", "profile cudnn"}, {"reason", "libcudnn.so.9 is not here"}})});
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", b);
  const json j = compared(then, now);
  EXPECT_EQ(j["entries"].size(), 1u);
  ASSERT_EQ(j["only"].size(), 4u) << j["only"];
  EXPECT_EQ(j["only"][0]["kernel"], "S0");
  EXPECT_EQ(j["only"][0]["in"], "then");
  EXPECT_EQ(j["only"][0]["reason"], nullptr);
  EXPECT_EQ(j["only"][1]["reason"], "left out there: libcudnn.so.9 is not here");
  EXPECT_EQ(j["only"][2]["reason"], "recorded there at another accuracy, with another seed or other inputs");
  EXPECT_EQ(j["only"][3]["in"], "now");
  EXPECT_EQ(j["only"][3]["accuracy"], "tf32");
  EXPECT_TRUE(holds(convscope_run({"compare", then, now}).out, "\n  only then: S0 on "));
}

TEST_F(RecordingsCompared, RefusesWhatItCannotRead) {
  Recording a, b, other;
  judged(a, "tiled", "right"), timed(a, "tiled", 1), timed(b, "tiled", 1), timed(other, "S4", 1);
  const std::string then = kept("a.convscope", a), now = kept("b.convscope", b), apart = kept("c.convscope", other);
  const std::string rule = "must be slower or slower:PERCENT";
  for (const char* words : {"faster", "slower:", "slowerer", "slow"})
    expect_refused({"compare", then, now, "--fail-on", words}, "fail-on", words, rule);
  for (const char* words : {"slower:-1", "slower:much", "slower:5%", "slower:inf"})
    expect_refused({"compare", then, now, "--fail-on", words}, "fail-on", words, rule + ", a number of at least 0");
  expect_refused({"compare", then}, "now", "",
                 "is missing: for example `convscope compare before.convscope after.convscope --fail-on slower:3`");
  expect_refused({"compare", then, "nowhere"}, "recording", "nowhere",
                 "is no file, and none of that name comes with the program (see `convscope list recordings`)");
  expect_refused({"compare", then, apart}, "recording", apart,
                 "holds no kernel on a problem that " + then + " holds as well");
  expect_refused({"compare", then, now, "--format", "csv"}, "format", "csv", "must be table or json");
  auto damaged = [&](Recording r, const std::function<void(json&)>& change) {
    for (auto& answer : r.answers) change(answer.answer);
    return kept("damaged.convscope", r);
  };
  const std::string of_time = damaged(b, [](json& j) { j["timing"]["hot"]["samples_ms"][3] = -1; });
  expect_refused({"compare", then, of_time}, "recording", of_time,
                 "is damaged: a field of its answer is missing or of another type: samples_ms holds -1 ms, which is no "
                 "time");
  const std::string of_status = damaged(a, [](json& j) {
    if (j.contains("verdict")) j["verdict"].erase("status");
  });
  expect_refused({"compare", of_status, now}, "recording", of_status,
                 "is damaged: its run has no field verdict/status that is a text");
  EXPECT_EQ(convscope_run({"compare", then, now}).code, 0) << "the negative control";
}

// Those that come with the program: the same figures twice are nowhere different.
TEST(ShippedRecordings, ComparedWithThemselves) {
  Finished f =
      convscope_run({"compare", "h200-kernelbench-79", "h200-kernelbench-79", "--json", "--fail-on", "slower"});
  EXPECT_EQ(f.code, 0) << f.err;
  const json j = f.document();
  EXPECT_GT(j["entries"].size(), 20u);
  EXPECT_EQ(j["only"], json::array());
  for (const char* none : {"FASTER", "SLOWER", "worse", "better", "changed"}) EXPECT_EQ(j["summary"][none], 0) << none;
  EXPECT_GT(j["summary"]["SAME"], 5);
  for (const auto& e : j["entries"])
    if (e["hot"]["verdict"].is_string()) {
      EXPECT_EQ(e["hot"]["ratio"], 1.0) << e["kernel"];
    }
  EXPECT_EQ(j["then"]["devices"], json({"NVIDIA H200"}));
  EXPECT_EQ(j["then"]["dates"], json({"2026-11-22", "2026-11-27"}));
}

// ---- bench --fail-on ------------------------------------------------------------------------------------------------

const Words few = {"--length", "100", "--samples", "12"};

// On one short row tiled takes ten times as long as direct.
TEST(BenchFailOn, IsAboutTheFirstKernel) {
  auto bench = [](const Words& words, int code) {
    Finished f = convscope_run(Words{"bench"} + words + few + Words{"--json"});
    EXPECT_EQ(f.code, code) << f.out << f.err;
    return std::pair(f.document()["fail_on"], f.err);
  };
  const auto [slower, line] = bench({"tiled", "direct", "--against", "direct", "--fail-on", "slower"}, 1);
  EXPECT_EQ(slower["failed"], true);
  EXPECT_EQ(slower["kernel"], "tiled");
  EXPECT_TRUE(line.starts_with("convscope: tiled is SLOWER than direct: ") && line.ends_with(" times as long\n"))
      << line;
  EXPECT_EQ(bench({"tiled", "direct", "--against", "direct", "--fail-on", "slower:1000000"}, 0).first["failed"], false);
  EXPECT_EQ(bench({"direct", "tiled", "--against", "tiled", "--fail-on", "slower"}, 0).first["failed"], false);
  // Others that are slower than the reference are not asked about.
  EXPECT_EQ(bench({"polyphase", "tiled", "--against", "tiled", "--fail-on", "slower"}, 0).first["failed"], false);
  EXPECT_EQ(bench({"tiled", "direct", "--against", "direct"}, 0).first, nullptr) << "nobody has asked";
}

TEST(BenchFailOn, WithoutAVerdictItFails) {
  // Without a strict reference the first one is what the others are compared with: what was measured is told.
  Finished first = convscope_run(Words{"bench", "tiled", "direct", "--fail-on", "slower"} + few);
  EXPECT_EQ(first.code, 1) << first.out;
  EXPECT_TRUE(holds(first.out, "direct")) << first.out;
  EXPECT_EQ(first.err, "convscope: tiled is what the others are compared with: name another one with --against\n");
  Finished f = convscope_run(Words{"bench", "direct", "onednn", "--against", "onednn", "--fail-on", "slower"} + few);
  if (f.code == 3) GTEST_SKIP() << f.err;
  EXPECT_EQ(f.code, 1) << f.out;
  EXPECT_TRUE(f.err.starts_with("convscope: direct is not held against onednn: ")) << f.err;
}

TEST(BenchFailOn, RefusesWhatItCannotSay) {
  expect_refused(Words{"bench", "tiled", "direct", "--fail-on", "slow"} + few, "fail-on", "slow",
                 "must be slower or slower:PERCENT");
  expect_refused({"bench", "--fail-on", "slower"}, "fail-on", "slower",
                 "needs a kernel by name: the first one is what it is about");
  expect_refused(Words{"bench", "tiled", "direct", "--against", "tiled", "--fail-on", "slower"} + few, "against",
                 "tiled", "is the first kernel, which --fail-on is about: name another one");
  expect_refused({"bench", "--recording", "h200-kernelbench-79", "--fail-on", "slower"}, "fail-on", "slower",
                 "is about times that are measured: `convscope compare` holds recordings against each other");
}

}  // namespace
}  // namespace convscope::test
