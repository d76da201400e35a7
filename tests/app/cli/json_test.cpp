// The documents of --json: their stable fields, and that stdout is one of them whatever happens.
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::json;
using test::Words;

json run_json(const Words& more, int expected_code) {
  auto r = convscope_run(Words{"run"} + more + Words{"--json"});
  EXPECT_EQ(r.code, expected_code) << r.out.substr(0, 1000) << r.err;
  return r.document();
}

// The JSON of `run`, the part that scripts depend on: these fields, of these types; null only with a reason beside it.
void expect_stable(const json& j) {
  auto text = [](const json& v) { return v.is_string() && !v.get<std::string>().empty(); };
  // Non-finite values are strings.
  auto number = [](const json& v) { return v.is_number() || v == "NaN" || v == "Infinity" || v == "-Infinity"; };
  auto reason = [](const json& of, const char* name = "reason") { return of.contains(name) && of[name].is_string(); };
  EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION);
  EXPECT_TRUE(text(j["kernel"]["name"]));
  EXPECT_TRUE(j["kernel"].contains("file"));
  EXPECT_TRUE(j["kernel"]["requires"].is_array());
  const json& p = j["problem"];
  for (const char* field : {"batch", "in_channels", "out_channels", "kernel_size", "length", "stride", "padding",
                            "output_padding", "dilation", "groups", "out_length", "least_bytes", "structural_zeros"})
    EXPECT_TRUE(p[field].is_number_integer()) << field << " " << p[field];
  EXPECT_TRUE(p["flops"].is_number());
  EXPECT_TRUE(p["bias"].is_boolean());
  EXPECT_TRUE(text(p["dtype"]));
  EXPECT_TRUE((text(j["device"]["kind"]) && text(j["device"]["name"])) || reason(j["device"])) << j["device"];
  EXPECT_TRUE(j["seed"].is_number_integer());
  const json& v = j["verdict"];
  EXPECT_TRUE(text(v["sentence"]));
  bool known = false;
  for (const char* status : {"right", "wrong", "crashed", "hung", "not-run"}) known |= v["status"] == status;
  EXPECT_TRUE(known) << v["status"];
  for (const auto& l : v["layers"]) {
    EXPECT_TRUE(l["status"] == "pass" || l["status"] == "fail" || l["status"] == "skipped") << l;
    EXPECT_TRUE(text(l["name"]) && text(l["evidence"])) << l;
  }
  EXPECT_TRUE(text(j["accuracy"]["allowed"]) && text(j["accuracy"]["ran"])) << j["accuracy"];
  const json& e = j["error"];
  EXPECT_TRUE(e["elements"].is_number_integer());
  bool compared = e["elements"].get<int64_t>() > 0;
  EXPECT_TRUE(compared || reason(e)) << e;
  for (const char* count : {"failing", "nan", "unwritten"})
    EXPECT_TRUE(compared ? e[count].is_number_integer() : e[count].is_null()) << count;
  for (const char* figure : {"failing_fraction", "max_abs", "max_bound_ratio", "rms_rel"})
    EXPECT_TRUE(compared ? number(e[figure]) : e[figure].is_null()) << figure;
  ASSERT_GE(e["gates"].size(), 2u);
  EXPECT_EQ(e["gates"][0]["atol"], 1e-2);
  EXPECT_EQ(e["gates"][0]["rtol"], 1e-2);
  EXPECT_EQ(e["gates"][1]["atol"], 1e-4);
  for (const auto& g : e["gates"]) {
    EXPECT_TRUE(g.contains("failing") && g.contains("failing_fraction"));
    EXPECT_TRUE(g["failing"].is_number_integer() || reason(g)) << g;
  }
  EXPECT_TRUE(j["kernel_out_length"].is_number_integer() || reason(j, "kernel_out_length_reason"));
  EXPECT_TRUE(text(j["kernel"]["file"]) || reason(j["kernel"], "file_reason")) << j["kernel"];
  ASSERT_TRUE(e.contains("first_failing"));
  if (compared && e["failing"] > 0) {
    for (const char* field : {"n", "co", "j"}) EXPECT_TRUE(e["first_failing"][field].is_number_integer());
    for (const char* field : {"got", "expected", "bound"}) EXPECT_TRUE(number(e["first_failing"][field]));
  }
  ASSERT_FALSE(j["references"].empty());
  EXPECT_EQ(j["references"][0]["name"], "oracle");
  for (const auto& r : j["references"]) {
    for (const char* field : {"max_abs", "max_bound_ratio", "median_ms", "source"})
      EXPECT_TRUE(r.contains(field)) << field;
    EXPECT_TRUE(r["median_ms"].is_number() || reason(r)) << r;
  }
  const json& t = j["timing"];
  bool timed = t["median_ms"].is_number();
  EXPECT_TRUE(timed || reason(t)) << t;
  for (const char* figure : {"median_ms", "min_ms", "noise_pct"})
    EXPECT_TRUE(timed ? number(t[figure]) : t[figure].is_null()) << figure;
  EXPECT_TRUE(t["samples"].is_number_integer());
  EXPECT_TRUE(timed ? t["source"] == "emulated" : t["source"].is_null());
  EXPECT_TRUE(t["cold"].is_object() || reason(t, "cold_reason")) << t;
  EXPECT_TRUE(t["floor_ms"].is_number() || reason(t, "floor_reason")) << t;
  EXPECT_TRUE(t.contains("floor_from"));
  for (const char* figure : {"packed", "packing_ms", "packing_source"})
    EXPECT_TRUE(t.contains(figure) && t[figure].is_null() && reason(t, "packed_reason")) << figure << " " << t;
}

// What was not reached, or is not known any more, is said to be.
void expect_all_layers(const json& j) {
  std::vector<std::string> names;
  for (const auto& l : j["verdict"]["layers"]) names.push_back(l["name"]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"compile", "binding", "shape", "memory", "mathematics", "determinism", "speed"}));
}

TEST(Json, RunRight) {
  json j =
      run_json({"direct", "--batch",    "2",  "--in-channels", "4", "--out-channels", "6",         "--kernel-size",
                "3",      "--length",   "20", "--stride",      "2", "--padding",      "1",         "--output-padding",
                "1",      "--dilation", "2",  "--groups",      "2", "--bias",         "--samples", "3",
                "--seed", "7"},
               0);
  expect_stable(j);
  EXPECT_EQ(j["verdict"]["status"], "right");
  EXPECT_EQ(j["kernel"]["name"], "direct");
  EXPECT_EQ(j["kernel"]["file"], "kernels/ladder/direct.cu");
  EXPECT_EQ(j["seed"], 7);
  EXPECT_EQ(j["device"]["kind"], "emulator");
  const json& p = j["problem"];
  EXPECT_EQ(p["out_length"], 42);  // (20 − 1)·2 − 2 + 2·2 + 1 + 1
  EXPECT_EQ(p["output_padding"], 1);
  EXPECT_EQ(p["bias"], true);
  EXPECT_EQ(p["least_bytes"], 4 * (2 * 4 * 20 + 4 * 3 * 3 + 6 + 2 * 6 * 42));
  EXPECT_EQ(j["error"]["elements"], 2 * 6 * 42);
  EXPECT_EQ(j["error"]["failing"], 0);
  EXPECT_EQ(j["error"]["first_failing"], nullptr);
  EXPECT_EQ(j["timing"]["samples"], 3);
  EXPECT_EQ(j["accuracy"], json({{"allowed", "strict"}, {"ran", "strict"}}));
  for (const auto& l : j["verdict"]["layers"]) EXPECT_NE(l["status"], "fail") << l;
  // The protocol's own fields stay inside.
  for (const char* own : {"id", "type", "result"}) EXPECT_FALSE(j.contains(own)) << own;
}

// The launch that a run is about is named: not what packs its weights, whose blocks may be more.
TEST(Json, RunNamesTheMainLaunch) {
  for (const char* kernel : {"registers", "hopper_tf32", "scatter"}) {
    json j = run_json({kernel, "--preset", "kernelbench-79-small", "--accuracy", "tf32", "--samples", "1"}, 0);
    ASSERT_EQ(j["launches"].size(), 2u) << kernel;
    EXPECT_EQ(j["launches"][0]["main"], false) << kernel << j["launches"];
    EXPECT_EQ(j["launches"][1]["main"], true) << kernel << j["launches"];
  }
}

TEST(Json, RunInSixteenBits) {
  for (const char* type : {"f16", "bf16"}) {
    json j = run_json({"tiled", "--in-channels", "4", "--out-channels", "6", "--kernel-size", "3", "--length", "21",
                       "--bias", "--samples", "2", "--dtype", type},
                      0);
    expect_stable(j);
    EXPECT_EQ(j["problem"]["dtype"], type);
    EXPECT_EQ(j["problem"]["least_bytes"], 2 * (4 * 21 + 4 * 6 * 3 + 6 + 6 * 23));
    EXPECT_EQ(j["accuracy"], json({{"allowed", "strict"}, {"ran", "strict"}}));
    EXPECT_LE(j["error"]["max_bound_ratio"].get<double>(), 1);
    EXPECT_GT(j["error"]["max_abs"].get<double>(), 1e-6) << "the output is rounded";
  }
  json j = run_json({"hopper_tf32", "--dtype", "f16", "--length", "64"}, 2);
  EXPECT_EQ(j["verdict"]["status"], "not-run");
  EXPECT_NE(j["verdict"]["sentence"].get<std::string>().find("takes f32 only"), std::string::npos);
  j = run_json({"S1", "--dtype", "bf16", "--length", "64"}, 2);
  EXPECT_NE(j["verdict"]["sentence"].get<std::string>().find("is written for f32 and f64 only"), std::string::npos);
}

TEST(Json, RunWrong) {
  json j = run_json({"S4", "--kernel-size", "3", "--length", "50", "--stride", "2", "--tolerance", "0.5,0"}, 1);
  expect_stable(j);
  EXPECT_EQ(j["verdict"]["status"], "wrong");
  EXPECT_GT(j["error"]["failing"], 0);
  ASSERT_EQ(j["error"]["gates"].size(), 3u);
  EXPECT_EQ(j["error"]["gates"][2]["atol"], 0.5);
  EXPECT_EQ(j["error"]["gates"][2]["rtol"], 0);
}

// Not a number among the results: text in the JSON, which has no such numbers.
TEST(Json, RunThatGivesNaN) {
  json j = run_json(test::with_test_engine({"few_wrong", "--length", "200"}), 1);
  expect_stable(j);
  EXPECT_EQ(j["error"]["failing"], 4);
  EXPECT_EQ(j["error"]["nan"], 2);
  EXPECT_EQ(j["error"]["first_failing"]["got"], "NaN");
  EXPECT_EQ(j["error"]["max_bound_ratio"], "Infinity");
}

TEST(Json, RunNotRun) {
  json j = run_json(test::with_test_engine({"picky", "--length", "8"}), 2);
  expect_stable(j);
  EXPECT_EQ(j["verdict"]["status"], "not-run");
  EXPECT_EQ(j["verdict"]["sentence"], "not run: picky is for length 7");
  j = run_json(test::with_test_engine({"from_the_future", "--length", "8"}), 3);
  expect_stable(j);
  EXPECT_EQ(j["verdict"]["status"], "not-run");
  EXPECT_EQ(j["kernel"]["requires"], json({"sm_999x"}));
  EXPECT_EQ(run_json(test::with_test_engine({"picky", "--length", "7"}), 0)["verdict"]["status"], "right")
      << "the negative control";
}

TEST(Json, RunCrashed) {
  for (const char* kernel : {"wild_write", "leave", "throw_words", "lose_device"}) {
    json j = run_json(test::with_test_engine({kernel, "--length", "64"}), 4);
    expect_stable(j);
    EXPECT_EQ(j["verdict"]["status"], "crashed") << kernel;
    EXPECT_EQ(j["kernel"]["name"], kernel);
    EXPECT_EQ(j["device"]["kind"], "emulator") << "another engine says it: " << j["device"];
    EXPECT_EQ(j["error"]["elements"], 0);
    EXPECT_EQ(j["timing"]["reason"], "the kernel crashed");
    expect_all_layers(j);
  }
}

TEST(Json, RunHung) {
  test::Stopwatch watch;
  json j = run_json({"direct", "--preset", "kernelbench-64", "--timeout", "0.3"}, 4);
  EXPECT_LT(watch.seconds(), 5 * test::slowness);
  expect_stable(j);
  EXPECT_EQ(j["verdict"]["status"], "hung");
  EXPECT_EQ(j["kernel"]["file"], "kernels/ladder/direct.cu") << "what is known without a result is there";
  EXPECT_EQ(j["device"]["kind"], "emulator");
  EXPECT_EQ(j["timing"]["reason"], "the kernel did not come to an end");
  expect_all_layers(j);
}

// What the text warns of, scripts are warned of.
TEST(Json, RunWarnsOfTheSmallestProblem) {
  EXPECT_EQ(run_json({"direct"}, 0)["warnings"],
            json({"On the smallest problem, which is taken where none is given, next to nothing shows: --preset "
                  "kernelbench-79-small says more"}));
  EXPECT_EQ(run_json({"direct", "--length", "20"}, 0)["warnings"], json::array());
}

// Figures of time warn as well: once in each form, above a table and among a document's warnings.
TEST(Json, FiguresWarnOfTheSmallestProblem) {
  for (const Words& verb : {Words{"profile", "direct"}, Words{"bench", "direct", "tiled"}}) {
    const Words few = verb + Words{"--samples", "2"};
    EXPECT_EQ(convscope_run(few + Words{"--json"}).document()["warnings"],
              json({"On the smallest problem, which is taken where none is given, next to nothing shows: --preset "
                    "kernelbench-79-small says more"}))
        << verb[0];
    EXPECT_EQ(convscope_run(few + Words{"--json", "--length", "20"}).document()["warnings"], json::array()) << verb[0];
    const std::string table = convscope_run(few).out, words = "next to nothing shows";
    const size_t at = table.find(words);
    EXPECT_NE(at, std::string::npos) << table;
    EXPECT_EQ(table.find(words, at + 1), std::string::npos) << table;
  }
  EXPECT_TRUE(test::holds(convscope_run({"profile", "direct", "--samples", "2", "--format", "csv"}).out,
                          "warning,,\"On the smallest problem"));
}

// A bound of 0 has no multiple: where the largest error is infinitely many of it, so is the mean, and not 0.
TEST(Json, ExactErrorsHaveNoMeanOfTheirBound) {
  const Words problem = {"--kernel-size", "3", "--length", "50", "--stride", "2", "--samples", "1"};
  const json wrong = run_json(Words{"S4"} + problem, 1), right = run_json(Words{"direct"} + problem, 0);
  EXPECT_EQ(wrong["exact"]["max_bound_ratio"], "Infinity");
  EXPECT_EQ(wrong["exact"]["rms_bound_ratio"], "Infinity");
  EXPECT_GT(wrong["error"]["rms_bound_ratio"].get<double>(), 1) << "these have bounds";
  EXPECT_EQ(right["exact"]["max_bound_ratio"], 0);
  EXPECT_EQ(right["exact"]["rms_bound_ratio"], 0);
}

// Each document says by which program, and of which seed where values are drawn.
TEST(Json, EveryVerbSaysItsVersion) {
  const Words layer = {"--kernel-size", "3", "--length", "20"};
  for (const Words& verb :
       {Words{"xray", "direct", "--seed", "7"}, Words{"explain", "direct", "--at", "0,0,3", "--seed", "7"},
        Words{"export", "direct", "--format", "cuda"}}) {
    const json j = convscope_run(verb + layer + Words{"--json"}).document();
    EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION) << verb[0];
    if (verb[0] != "export") {
      EXPECT_EQ(j["seed"], 7) << verb[0];
    }
  }
}

TEST(Json, SeedsOfSixtyFourBits) {
  EXPECT_EQ(run_json({"direct", "--length", "20", "--seed", "18446744073709551615"}, 0)["seed"], 18446744073709551615u);
}

TEST(Json, ErrorsHaveOneShape) {
  auto error = [](const Words& words, int code, const char* name) {
    auto r = convscope_run(words + Words{"--json"});
    EXPECT_EQ(r.code, code) << r.out << r.err;
    json e = r.document()["error"];
    EXPECT_EQ(e["code"], name) << e;
    for (const char* field : {"field", "value", "rule", "message"}) EXPECT_TRUE(e.contains(field)) << field << " " << e;
    EXPECT_TRUE(e["rule"].is_string()) << e;
    EXPECT_TRUE(r.err.ends_with("convscope: " + e["message"].get<std::string>() + "\n")) << r.err;
    return e;
  };
  error({"run", "direct", "--stride", "0"}, 2, "bad-input");
  error({"run", "nonesuch"}, 2, "bad-input");
  error({"run", "direct", "--device", "cuda"}, 3, "missing");
  error({}, 3, "missing");
  error({"list", "kernels", "--engine", "/no/such/engine"}, 3, "missing");
  error(test::with_test_engine({"explain", "wild_write", "--at", "0,0,0", "--length", "64"}), 4, "crashed");
  error({"explain", "direct", "--at", "0,0,0", "--preset", "kernelbench-64", "--timeout", "0.2"}, 4, "hung");
}

// Words that are no UTF-8, from a kernel or from the command line.
TEST(Json, IsAlwaysUtf8) {
  json j = run_json(test::with_test_engine({"throw_bytes", "--length", "64"}), 4);
  EXPECT_NE(j["verdict"]["sentence"].get<std::string>().find("\xef\xbf\xbd"), std::string::npos);
  auto r = convscope_run({"run", "\xff\xfe", "--json"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.document()["error"]["field"], "kernel");
  r = convscope_run({"run", "direct", "--input", "\xff.npy", "--json"});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.document()["error"]["field"], "input");
}

// A kernel that prints does not disturb the document; what it prints goes to stderr.
TEST(Json, KernelsMayPrint) {
  auto r = convscope_run(test::with_test_engine({"run", "print_a_lot", "--length", "64", "--json"}));
  EXPECT_EQ(r.code, 0) << r.err.substr(0, 500);
  EXPECT_EQ(r.document()["verdict"]["status"], "right");
  EXPECT_NE(r.err.find("a kernel's own words"), std::string::npos);
}

// Where the numbers come from makes no difference.
TEST(Json, TheSameSeedGivesTheSameNumbers) {
  auto numbers = [](const Words& more) {
    json j = run_json(Words{"S4", "--kernel-size", "3", "--length", "50", "--stride", "2"} + more, 1);
    return j["error"];
  };
  json base = numbers({});
  EXPECT_EQ(numbers({}), base);
  EXPECT_EQ(numbers({"--seed", "42"}), base);
  EXPECT_EQ(numbers({"--device", "emulator"}), base);
  EXPECT_EQ(numbers({"--input", "random", "--weight", "default"}), base);
  EXPECT_NE(numbers({"--seed", "43"}), base);
  EXPECT_NE(numbers({"--input", "signed"}), base);
}

}  // namespace
}  // namespace convscope
