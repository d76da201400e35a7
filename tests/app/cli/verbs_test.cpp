// What each verb prints, for people.
#include <gtest/gtest.h>
#include <set>

#include "tests/app/cli/cli.h"

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::holds;
using test::json;

// A line that begins with the name.
bool lists(const std::string& text, const std::string& name) {
  return holds(std::string("\n").append(text), std::string("\n").append(name).append(" "));
}

TEST(Verbs, Version) {
  auto r = convscope_run({"--version"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "convscope " CONVSCOPE_VERSION "\n");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(convscope_run({"--version", "--json"}).document(), json({{"convscope", CONVSCOPE_VERSION}}));
}

// `convscope help` lists the verbs, and each that is listed can be explained.
TEST(Verbs, Help) {
  auto r = convscope_run({"help"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(convscope_run({"--help"}).out, r.out);
  EXPECT_EQ(convscope_run({"-h"}).out, r.out);
  EXPECT_EQ(convscope_run({"help", "--json"}).document(), json({{"help", r.out}}));
  EXPECT_EQ(convscope_run({"--help", "--json"}).document(), json({{"help", r.out}}));
  for (const char* verb : {"demo", "run", "explain", "list", "info", "engine", "help"}) {
    EXPECT_TRUE(holds(r.out, std::string("\n  ") + verb + " ")) << verb;
    auto one = convscope_run({"help", verb});
    EXPECT_EQ(one.code, 0);
    EXPECT_TRUE(holds(one.out, std::string("Usage: convscope ") + verb)) << one.out;
    EXPECT_EQ(convscope_run({verb, "--help"}).out, one.out);
  }
}

// Every option that scripts may give to the verb.
TEST(Verbs, HelpNamesEveryOption) {
  const std::set<std::string> everywhere = {"--device", "--json", "--engine", "--timeout"};
  const std::set<std::string> problem = {
      "--preset", "--batch",   "--in-channels",    "--out-channels", "--kernel-size", "--length",
      "--stride", "--padding", "--output-padding", "--dilation",     "--groups",      "--bias",
      "--dtype",  "--input",   "--weight",         "--bias-values",  "--seed"};
  auto expect = [](const std::string& verb, const std::set<std::string>& options) {
    auto text = convscope_run({"help", verb}).out;
    for (const auto& o : options) EXPECT_TRUE(holds(text, "  " + o + " ")) << verb << " " << o;
  };
  for (const char* verb : {"run", "explain", "demo", "list", "info"}) expect(verb, everywhere);
  for (const char* verb : {"run", "explain"}) expect(verb, problem);
  expect("run", {"--save", "--samples", "--accuracy", "--tolerance"});
  expect("explain", {"--at"});
  expect("demo", {"--out"});
}

TEST(Verbs, ListKernels) {
  auto r = convscope_run({"list", "kernels"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  auto j = convscope_run({"list", "kernels", "--json"}).document()["kernels"];
  std::set<std::string> names;
  for (const auto& k : j) {
    names.insert(k["name"]);
    EXPECT_TRUE(lists(r.out, k["name"])) << k;
    std::string kind = k["kind"];
    EXPECT_TRUE(kind == "specimen" || kind == "ladder" || kind == "reference") << kind;
    EXPECT_FALSE(k["idea"].get<std::string>().empty());
    EXPECT_EQ(k["file"].is_null(), kind == "reference");
    EXPECT_TRUE(k["requires"].is_array());
    EXPECT_EQ(k["available"].get<bool>(), k["reason"].is_null()) << k;
  }
  for (const char* name : {"S0", "S1", "S2", "S3", "S4", "direct", "scatter", "polyphase", "tiled"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(names.size(), j.size()) << "each once";
}

TEST(Verbs, ListPresets) {
  auto r = convscope_run({"list", "presets"});
  EXPECT_EQ(r.code, 0);
  auto j = convscope_run({"list", "presets", "--json"}).document()["presets"];
  std::map<std::string, json> by_name;
  for (const auto& p : j) {
    EXPECT_TRUE(lists(r.out, p["name"])) << p;
    by_name[p["name"]] = p["problem"];
  }
  for (const char* name : {"kernelbench-64", "kernelbench-74", "kernelbench-79"}) {
    ASSERT_TRUE(by_name.count(name) && by_name.count(std::string(name) + "-small"));
    EXPECT_EQ(by_name[std::string(name) + "-small"]["batch"], 1);
  }
  EXPECT_EQ(by_name["kernelbench-64-small"]["length"], 256);
  EXPECT_EQ(by_name["kernelbench-74-small"]["length"], 2048);
  EXPECT_EQ(by_name["kernelbench-79-small"]["length"], 4096);
}

TEST(Verbs, ListReferencesAndDevices) {
  auto references = convscope_run({"list", "references", "--json"}).document()["references"];
  ASSERT_FALSE(references.empty());
  EXPECT_EQ(references[0]["name"], "oracle");
  for (const auto& r : references) EXPECT_EQ(r["available"].get<bool>(), r["reason"].is_null()) << r;
  EXPECT_TRUE(holds(convscope_run({"list", "references"}).out, "oracle"));
  auto devices = convscope_run({"list", "devices", "--json"}).document()["devices"];
  ASSERT_EQ(devices.size(), 1u) << "the GPUs are hidden";
  EXPECT_EQ(devices[0]["kind"], "emulator");
  EXPECT_TRUE(holds(convscope_run({"list", "devices"}).out, "emulator"));
}

// For each missing piece: what it costs and how to get it.
TEST(Verbs, Info) {
  auto r = convscope_run({"info"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  auto j = convscope_run({"info", "--json"}).document();
  EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION);
  EXPECT_FALSE(j["devices"].empty());
  bool gpu_is_missing = false;
  for (const auto& p : j["pieces"]) {
    EXPECT_TRUE(holds(r.out, p["name"]));
    if (p["available"]) continue;
    gpu_is_missing |= holds(p["name"], "GPU");
    EXPECT_TRUE(holds(r.out, p["without_it"])) << p;
    EXPECT_TRUE(holds(r.out, p["how_to_get_it"])) << p;
  }
  EXPECT_TRUE(gpu_is_missing);
}

TEST(Verbs, RunOfAWrongKernel) {
  auto r = convscope_run({"run", "S4", "--kernel-size", "3", "--length", "50", "--stride", "2", "--out-channels", "2"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(r.out.starts_with("S4 on 1 × 1→2, K 3, L 50, s 2, p 0, d 1 → Lout 101\n")) << r.out;
  EXPECT_TRUE(holds(r.out, "(times are not GPU times)")) << r.out;
  EXPECT_TRUE(holds(r.out, "\n  wrong: ")) << r.out;
  for (const char* layer :
       {"✓ compile", "✓ binding", "✓ shape", "✓ memory", "✗ mathematics", "✓ determinism", "· speed"})
    EXPECT_TRUE(holds(r.out, layer)) << layer << "\n" << r.out;
  for (const char* part :
       {"  error       202 elements, ", "  usual gates ", "  first       n 0, co ", "  time        "})
    EXPECT_TRUE(holds(r.out, part)) << part << "\n" << r.out;
}

TEST(Verbs, RunOfARightKernel) {
  auto r = convscope_run({"run", "polyphase", "--preset", "kernelbench-79-small", "--length", "40", "--samples", "2"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(holds(r.out, "polyphase on 1 × 32→64, K 3, L 40, s 2, p 1, d 2 → Lout 81\n"))
      << "--preset first, then the rest: " << r.out;
  EXPECT_TRUE(holds(r.out, "\n  right: all 5,184 elements ")) << r.out;
  EXPECT_FALSE(holds(r.out, "✗")) << r.out;
}

TEST(Verbs, Explain) {
  const test::Words words = {"explain",  "S4", "--at",          "0,1,2", "--stride",       "2",
                             "--length", "5",  "--kernel-size", "3",     "--out-channels", "2"};
  auto r = convscope_run(words);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_TRUE(r.out.starts_with("y[0, 1, 2] of S4 on 1 × 1→2, K 3, L 5, s 2, p 0, d 1\n")) << r.out;
  EXPECT_TRUE(holds(r.out, "but it takes one")) << r.out;
  EXPECT_TRUE(holds(r.out, "✗ s4.cu:") &&
              holds(r.out, " reads w of k = 1, a tap that does not reach it (1 of its 3 reads)\n"))
      << r.out;
  auto j = convscope_run(words + test::Words{"--json"}).document();
  EXPECT_EQ(j["kernel"], "S4");
  const auto& e = j["explanation"];
  EXPECT_EQ(e["at"], json({0, 1, 2}));
  // j = 2, s = 2: taps 0 and 2 land, on positions 1 and 0; S4 also takes the one between them.
  ASSERT_EQ(e["taps"].size(), 3u);
  EXPECT_EQ(e["taps"][0]["expected_i"], 1);
  EXPECT_EQ(e["taps"][1]["expected_i"], nullptr);
  EXPECT_EQ(e["taps"][1]["read_i"], 0);
  EXPECT_EQ(e["taps"][2]["expected_i"], 0);
  ASSERT_EQ(j["stray_reads"].size(), 1u);
  EXPECT_EQ(j["stray_reads"][0]["tensor"], "w");
  EXPECT_GT(j["stray_reads"][0]["line"], 0);
  auto right = convscope_run({"explain", "direct", "--at", "0,1,2", "--stride", "2", "--length", "5", "--kernel-size",
                              "3", "--out-channels", "2", "--bias"});
  EXPECT_EQ(right.code, 0);
  EXPECT_FALSE(holds(right.out, "✗")) << right.out;
  EXPECT_TRUE(holds(right.out, "\n    bias ")) << right.out;
}

// A fault of the bias alone is a note, and no tap is said to be all of it.
TEST(Verbs, ExplainABias) {
  const test::Words words = {"explain", "S4", "--at", "0,3,11", "--preset", "kernelbench-79-small", "--bias"};
  auto notes = convscope_run(words + test::Words{"--json"}).document()["explanation"]["notes"];
  EXPECT_EQ(notes, json({"adds no bias where b[3] belongs"}));
  auto r = convscope_run(words);
  EXPECT_TRUE(holds(r.out, "✗ adds no bias where b[3] belongs")) << r.out;
}

// With nothing to do and no display to do it on.
TEST(Verbs, NoneAndNoDisplay) {
  auto r = convscope_run({});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(holds(r.err, "display")) << r.err;
  EXPECT_TRUE(holds(r.err, "`convscope demo`")) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  auto j = convscope_run({"--json"});
  EXPECT_EQ(j.code, 3);
  EXPECT_EQ(j.document()["error"]["code"], "missing");
}

}  // namespace
}  // namespace convscope
