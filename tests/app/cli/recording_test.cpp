// `record`, and the verbs that show a recording without an engine.
#include "app/engine/recording.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>

#include "app/engine/packed.h"
#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope::test {
namespace {
using nlohmann::json;

const Words small = {"--preset", "kernelbench-64-small"};

class RecordingCli : public testing::Test {
 protected:
  void record(const Words& kernels, const Words& more = {}) {
    Finished f = convscope_run(Words{"record", file_} + kernels + small +
                               Words{"--device", "emulator", "--samples", "3"} + more);
    ASSERT_EQ(f.code, 0) << f.err;
  }
  size_t files() const {
    namespace fs = std::filesystem;
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path("")), fs::directory_iterator()));
  }
  // The file again, with something changed in it.
  std::string changed(const std::function<void(json&)>& change) const {
    json j = read_json_file("recording", file_);
    change(j);
    const std::string text = j.dump();
    return folder_.write("changed.convscope", text.data(), text.size());
  }
  ScratchFolder folder_;
  std::string file_ = folder_.path("r.convscope");
};

TEST_F(RecordingCli, KeepsVerdictsProfilesAndComparison) {
  record({"tiled", "S4"});
  Finished run = convscope_run({"run", "S4", "--recording", file_, "--json"});
  json report = run.document();
  EXPECT_EQ(run.code, report["verdict"]["exit_code"].get<int>());
  EXPECT_EQ(report["kernel"]["name"], "S4");
  EXPECT_EQ(report["recorded"]["source"].get<std::string>().rfind("recorded: CPU emulator", 0), 0u);
  // The same figures on every look.
  EXPECT_EQ(convscope_run({"run", "S4", "--recording", file_, "--json"}).document(), report);
  Finished text = convscope_run({"profile", "tiled", "--recording", file_});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out.rfind("recorded: CPU emulator", 0), 0u) << text.out;
  for (const char* format : {"csv", "chrome-trace", "json"})
    EXPECT_EQ(convscope_run({"profile", "tiled", "--recording", file_, "--format", format}).code, 0) << format;
  json bench = convscope_run({"bench", "--recording", file_, "--json"}).document();
  EXPECT_EQ(bench["entries"].size(), 2u);
  // It is made anew without one: nothing here says recorded then.
  EXPECT_FALSE(
      convscope_run(Words{"run", "S4", "--device", "emulator", "--json"} + small).document().contains("recorded"));
}

// What does not fit into the time is what matters least.
TEST_F(RecordingCli, BeginsWithWhatIsPredictedToBeFastest) {
  const Words problem = {"--preset", "kernelbench-74-small", "--dtype", "f16"};
  const json chosen =
      convscope_run(Words{"export", "auto", "--format", "cuda", "--out", folder_.path("k.cu"), "--json"} + problem)
          .document()["chosen"];
  std::vector<std::pair<double, std::string>> order;
  for (const char* kernel : {"scatter", "mma_16bit", "held_16bit", "depthwise"})
    for (const json& c : chosen["candidates"])
      if (c["name"] == kernel) order.emplace_back(c["predicted_ms"], kernel);
  ASSERT_EQ(order.size(), 4u) << chosen;
  std::sort(order.begin(), order.end());
  json expected = json::array();
  for (const auto& [ms, kernel] : order) expected.push_back(kernel);
  expected.push_back("direct");
  Finished f = convscope_run(Words{"record", file_, "direct", "scatter", "depthwise", "mma_16bit", "held_16bit",
                                   "--device", "emulator", "--samples", "1", "--json"} +
                             problem);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(f.document()["profiles"], expected);
  const json ladder = {"mma_16bit", "depthwise", "held_16bit", "scatter", "direct"};  // from the newest rung down
  EXPECT_NE(expected, ladder) << "the order of the ladder would pass as well";
}

TEST_F(RecordingCli, AddsTheRest) {
  record({"tiled"});
  Finished f = convscope_run(
      Words{"record", file_, "tiled", "S4", "--add", "--device", "emulator", "--samples", "3", "--json"} + small);
  json added = f.document();
  EXPECT_EQ(added["interrupted"], false);
  EXPECT_EQ(added["profiles"], json({"tiled", "S4"}));
  EXPECT_EQ(added["added"], 3) << "S4's verdict, its profile, and the comparison";
}

TEST_F(RecordingCli, TheComparisonGrowsWithIt) {
  record({"tiled", "S4"});
  Finished f = convscope_run(
      Words{"record", file_, "registers", "--add", "--device", "emulator", "--samples", "3", "--json"} + small);
  ASSERT_EQ(f.code, 0) << f.err;
  json names = json::array();
  const json bench = convscope_run({"bench", "--recording", file_, "--json"}).document();
  for (const auto& e : bench["entries"]) names.push_back(e["name"]);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, json({"S4", "registers", "tiled"})) << "not the new one alone";
}

TEST_F(RecordingCli, TakesTheProblemThatHasWhatIsGiven) {
  record({"tiled"});
  const json all = convscope_run({"profile", "tiled", "--recording", file_, "--json"}).document();
  for (const Words& some : {Words{"--dtype", "f32"}, Words{"--kernel-size", "3", "--no-bias"}})
    EXPECT_EQ(convscope_run(Words{"profile", "tiled", "--recording", file_, "--json"} + some).document(), all);
  for (const Words& other : {Words{"--dtype", "f16"}, Words{"--kernel-size", "4"}, Words{"--bias"}}) {
    Finished f = convscope_run(Words{"profile", "tiled", "--recording", file_} + other);
    EXPECT_EQ(f.code, 2);
    EXPECT_NE(f.err.find("is not recorded: the recording holds kernelbench-64-small"), std::string::npos) << f.err;
  }
}

TEST_F(RecordingCli, SaysWhatItDoesNotHold) {
  record({"tiled"});
  expect_refused({"profile", "direct", "--recording", file_}, "kernel", "direct",
                 "has no profile in the recording: it holds tiled");
  expect_refused({"run", "tiled", "--recording", file_, "--preset", "kernelbench-79"}, "problem", "kernelbench-79",
                 "is not recorded: the recording holds kernelbench-64-small");
  expect_refused({"run", "tiled", "--recording", file_, "--seed", "7"}, "kernel", "tiled",
                 "was recorded with other inputs, another seed or another accuracy");
  expect_refused({"run", "tiled", "--recording", file_, "--save", "x"}, "save", "x",
                 "needs a run: a recording holds no tensors");
  expect_refused({"bench", "--recording", file_, "--against", "tiled"}, "against", "tiled",
                 "cannot be chosen: a recorded comparison is of all that were timed in turn; leave the names out");
  expect_refused({"run", "tiled", "--recording", "nowhere"}, "recording", "nowhere",
                 "is no file, and none of that name comes with the program (see `convscope list recordings`)");
  std::string plain = folder_.write("plain.convscope", "{}", 2);
  expect_refused({"run", "tiled", "--recording", plain}, "recording", plain, "is no convscope session");
  expect_refused({"record", file_, "nonesuch"}, "kernel", "nonesuch", "is not known: see `convscope list kernels`");
  expect_refused({"record", file_, "tiled", "--set", "most"}, "set", "most", "must be live, memory or full");
  expect_refused({"record", folder_.path("no/such/r.convscope"), "tiled"}, "out", folder_.path("no/such/r.convscope"),
                 "cannot be written");
}

// A kernel's name or file where the recording's belongs: neither is it recorded there, nor is the file lost.
TEST_F(RecordingCli, IsMadeOnlyWhereOneIsMeant) {
  const std::string ending = "must end in .convscope: it becomes a recording",
                    none = "is there and holds no recording: take another name",
                    session = R"({"type": "convscope-session", "version": 1, "kernel": "S4"})",
                    source = folder_.write("my.cu", "x", 1), text = folder_.write("text.convscope", "x", 1),
                    own = folder_.write("own.convscope", session.data(), session.size());
  expect_refused({"record", source, "--trust"}, "out", source, ending);
  expect_refused({"record", "S4"}, "out", "S4", ending);
  for (const auto& there : {text, own}) expect_refused({"record", there, "tiled"}, "out", there, none);
  expect_refused({"record", own, "tiled", "--add"}, "out", own, none);
  EXPECT_EQ(text_file(source), "x");
  EXPECT_EQ(text_file(text), "x");
  EXPECT_EQ(text_file(own), session);
  // An empty one, as mktemp makes it, and one's own of before are taken.
  folder_.write("r.convscope", "", 0);
  record({"tiled"});
  record({"tiled"});
}

TEST_F(RecordingCli, OfAnotherVersionIsRefused) {
  record({"tiled"});
  auto of_version = [&](const json& version) { return changed([&](json& j) { j["version"] = version; }); };
  for (const auto& [version, rule] : {std::pair<json, const char*>{99, "is of version 99: this program reads up to 1"},
                                      {2, "is of version 2: this program reads up to 1"},
                                      {-1, "is of version -1: this program reads up to 1"},
                                      {"1", "has a field version of the wrong type"},
                                      {1e300, "has a field version of the wrong type"}}) {
    const std::string file = of_version(version);
    expect_refused({"run", "tiled", "--recording", file}, "recording", file, rule);
  }
  std::string file = changed([](json& j) { j.erase("version"); });
  expect_refused({"bench", "--recording", file}, "recording", file, "is a session without a version");
  file = of_version(99);
  const std::string before = text_file(file);
  expect_refused({"record", file, "direct", "--add"}, "recording", file,
                 "is of version 99: this program reads up to 1");
  EXPECT_EQ(text_file(file), before);
  EXPECT_EQ(convscope_run({"run", "tiled", "--recording", of_version(1)}).code, 0) << "the negative control";
}

// One document, one line, and whose fault it is; never the words of the library that reads JSON.
TEST_F(RecordingCli, ADamagedOneIsRefused) {
  record({"tiled", "S4"});
  auto answer = [](json& j, const std::string& type) -> json& {
    for (auto& a : j["recording"]["answers"])
      if (a["request"]["type"] == type) return a["answer"];
    return j;
  };
  const std::string some = "is damaged: a field of its answer is missing or of another type: ";
  const std::function<void(json&)> spoils[] = {[&](json& j) { answer(j, "run")["verdict"] = nullptr; },
                                               [&](json& j) { answer(j, "run")["verdict"].erase("exit_code"); },
                                               [&](json& j) { answer(j, "run")["verdict"]["sentence"] = 7; },
                                               [&](json& j) { answer(j, "profile").erase("timing"); },
                                               [&](json& j) { answer(j, "bench")["entries"] = "all"; },
                                               [&](json& j) { answer(j, "bench")["entries"][0].erase("against"); }};
  const std::string rules[] = {"is damaged: its run has no field verdict that is an object",
                               some + "key 'exit_code' not found",
                               some + "type must be string, but is number",
                               "is damaged: its profile has no field timing that is an object",
                               "is damaged: its bench has no field entries that is a list",
                               some + "key 'against' not found"};
  const std::string first = read_recording(file_).kernels("run", read_recording(file_).problems()[0])[0];
  for (size_t i = 0; i < std::size(rules); i++) {
    const std::string file = changed(spoils[i]);
    const Words verb = i < 3    ? Words{"run", first}
                       : i == 3 ? Words{"profile", read_recording(file_).answers[0].asked.kernel}
                                : Words{"bench"};
    expect_refused(verb + Words{"--recording", file}, "recording", file, rules[i]);
  }
  // What is added to may be damaged where nobody looks, and is kept as it is.
  const std::string file = changed([&](json& j) { answer(j, "profile")["timing"] = nullptr; });
  Finished f = convscope_run(
      Words{"record", file, "tiled", "S4", "registers", "--add", "--device", "emulator", "--samples", "3"} + small);
  EXPECT_EQ(f.code, 0) << f.err;
}

TEST_F(RecordingCli, TwoAddAtTheSameTime) {
  record({"tiled"});
  auto adding = [&](const char* kernel) {
    return Words{"record", file_, kernel, "--add", "--device", "emulator", "--samples", "3"} + small;
  };
  Cli one(adding("S4")), other(adding("registers"));
  EXPECT_EQ(one.finish().code, 0);
  EXPECT_EQ(other.finish().code, 0);
  const Recording r = read_recording(file_);
  for (const char* type : {"profile", "run"}) {
    auto kernels = r.kernels(type, r.problems()[0]);
    std::sort(kernels.begin(), kernels.end());
    EXPECT_EQ(kernels, (std::vector<std::string>{"S4", "registers", "tiled"})) << type;
  }
  EXPECT_EQ(files(), 1u) << "the lock beside it is gone";
}

TEST_F(RecordingCli, LimitKeepsWhatIsDone) {
  Finished f = convscope_run(
      Words{"record", file_, "tiled", "S4", "direct", "--device", "emulator", "--limit", "0.001"} + small);
  EXPECT_EQ(f.code, 1) << "nothing was begun";
  EXPECT_EQ(files(), 0u) << "neither it nor half of it";
}

TEST_F(RecordingCli, CtrlCKeepsWhatIsDone) {
  Cli cli(Words{"record", file_, "tiled", "direct", "S0", "S1", "--device", "emulator", "--json", "--preset",
                "kernelbench-79-small"});
  ASSERT_TRUE(cli.says("tiled"));
  cli.signal(SIGINT);
  EXPECT_EQ(cli.finish().code, 130);
  const json j = cli.finish().document();
  EXPECT_EQ(j["interrupted"], true);
  ASSERT_EQ(j["left_out"].size(), 1u) << j;
  EXPECT_TRUE(j["left_out"][0]["what"].get<std::string>().ends_with(" and what follows")) << j["left_out"];
  EXPECT_EQ(j["left_out"][0]["reason"], "interrupted");
  EXPECT_EQ(read_recording(file_).about["left_out"], j["left_out"]);
  EXPECT_EQ(convscope_run({"profile", "tiled", "--recording", file_, "--json"}).document()["kernel"]["name"], "tiled");
  EXPECT_EQ(files(), 1u) << "nothing is left beside it";
}

// A kernel's file is recorded under its name; of its text a hash is kept, so that it is known when it is another one.
TEST_F(RecordingCli, AKernelsFile) {
  const std::string text = text_file(project_file("assets/kernels/gather.cu")), other = text + "\n";
  const std::string mine = folder_.write("mine.cu", text.data(), text.size());
  expect_refused({"record", file_, mine}, "kernel", mine,
                 "is code from outside that would run with your rights: look through it, then add --trust");
  record({mine, "tiled"}, {"--trust"});
  auto recorded = [&](const Words& verb) {
    Finished f = convscope_run(verb + Words{"--recording", file_, "--json"});
    EXPECT_EQ(f.code, 0) << f.err;
    return f.document();
  };
  const json run = recorded({"run", mine}), profile = recorded({"profile", mine});
  EXPECT_EQ(run["kernel"]["name"], mine);
  EXPECT_EQ(run["kernel"]["text_hash"], kernel_text_hash(text));
  EXPECT_EQ(profile["kernel"]["text_hash"], kernel_text_hash(text));
  EXPECT_FALSE(recorded({"run", "tiled"})["kernel"].contains("text_hash")) << "a kernel of the program";
  const json bench = recorded({"bench"});
  EXPECT_EQ(bench["entries"].size(), 2u);
  for (const auto& e : bench["entries"])
    EXPECT_EQ(e.value("text_hash", ""), e["name"] == mine ? kernel_text_hash(text) : "") << e["name"];
  EXPECT_FALSE(run["recorded"].contains("text_changed"));
  // What the file holds stays, until the kernel's file does not.
  const Words again =
      Words{"record", file_, mine, "--trust", "--add", "--device", "emulator", "--samples", "3"} + small;
  EXPECT_EQ(convscope_run(again).code, 1) << "nothing is left to record";
  folder_.write("mine.cu", other.data(), other.size());
  EXPECT_EQ(recorded({"run", mine})["recorded"]["text_changed"], true);
  EXPECT_TRUE(holds(convscope_run({"run", mine, "--recording", file_}).out, "! of another text than " + mine));
  EXPECT_EQ(convscope_run(again).code, 0);
  EXPECT_EQ(recorded({"run", mine})["kernel"]["text_hash"], kernel_text_hash(other));
  EXPECT_EQ(recorded({"profile", mine})["kernel"]["text_hash"], kernel_text_hash(other));
  EXPECT_FALSE(recorded({"run", mine})["recorded"].contains("text_changed"));
  // Gone, or on another machine: what was recorded is all there is.
  std::filesystem::remove(mine);
  EXPECT_FALSE(recorded({"run", mine})["recorded"].contains("text_changed"));
  // One that is not named again is in no new comparison, which says so.
  Finished more =
      convscope_run(Words{"record", file_, "S4", "--add", "--device", "emulator", "--samples", "3", "--json"} + small);
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(more.document()["left_out"],
            json::array({json({{"what", mine + " in the comparison"},
                               {"reason", "its file was not named, so it was not timed again"}})}));
}

class RecordingOfAGpu : public RecordingCli {
 protected:
  void SetUp() override {
    if (!has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  }
  Finished make(const Words& more, const char* us = "FAKE_CUDA_KERNEL_US=2000") {
    return convscope_run(
        Words{"record", file_, "direct", "--samples", "5", "--device", "cuda", "--json"} + small + more,
        fake_gpu({us, "FAKE_CUPTI_PC=direct_f32:256:wait:60"}));
  }
  json profile() { return convscope_run({"profile", "direct", "--recording", file_, "--json"}).document(); }
};

// What takes longest comes last, and goes into the profile that is there already.
TEST_F(RecordingOfAGpu, SamplesAreAddedToTheProfile) {
  ASSERT_EQ(make({"--set", "full"}).code, 0);
  json j = profile();
  EXPECT_EQ(j["set"], "full");
  EXPECT_EQ(j["counters"]["sets"].size(), 5u);
  EXPECT_EQ(j["pc_sampling"]["lines"][0]["line"], 26);
  EXPECT_EQ(j["pc_sampling"]["source"].get<std::string>().rfind("recorded: NVIDIA H200", 0), 0u) << j["pc_sampling"];
  EXPECT_EQ(make({"--add"}).code, 1) << "nothing is left to record";
  // Without the full set there are none, and nothing is sampled.
  ASSERT_EQ(make({"--set", "live"}).code, 0);
  EXPECT_EQ(profile()["pc_sampling"]["source"], nullptr);
}

// A kernel that has changed: its figures are measured anew, the others' stay.
TEST_F(RecordingOfAGpu, AKernelIsRecordedAgain) {
  ASSERT_EQ(make({"S4", "--set", "live"}).code, 0);
  auto hot_of = [&](const char* kernel) {
    json j = convscope_run({"profile", kernel, "--recording", file_, "--json"}).document();
    return j["timing"]["hot"]["median_ms"].get<double>();
  };
  const double direct = hot_of("direct"), s4 = hot_of("S4");
  ASSERT_EQ(make({"S4", "--set", "live", "--add", "--again", "S4"}, "FAKE_CUDA_KERNEL_US=6000").code, 0);
  EXPECT_EQ(hot_of("direct"), direct);
  EXPECT_GT(hot_of("S4"), 2 * s4);
  // Without --add everything is anew, and a name that is none is said.
  Finished alone = make({"--again", "S4"}), unknown = make({"--add", "--again", "S44"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("--add"), std::string::npos) << alone.err;
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("S44 is not known; did you mean S4?"), std::string::npos) << unknown.err;
}

TEST_F(RecordingOfAGpu, ASlowKernelGetsFewerCountersAndSaysSo) {
  ASSERT_EQ(make({}, "FAKE_CUDA_KERNEL_US=150000").code, 0);
  json j = profile();
  EXPECT_EQ(j["set"], "memory");
  ASSERT_EQ(j["counters"]["sets"].size(), 2u);
  EXPECT_EQ(j["counters"]["sets"][1]["set"], "memory");
  for (const char* part : {"pc_sampling", "timeline"})
    EXPECT_NE(j[part]["reason"].get<std::string>().find("above 100 ms only"), std::string::npos) << j[part];
  EXPECT_NE(j["lines_reason"].get<std::string>().find("above 100 ms only"), std::string::npos) << j["lines_reason"];
}

TEST_F(RecordingOfAGpu, WhatIsLeftOutIsKeptWithItsReason) {
  json left = make({"cudnn"}).document()["left_out"];
  ASSERT_EQ(left.size(), 1u) << left;
  EXPECT_EQ(left[0]["what"], "profile cudnn");
  EXPECT_NE(left[0]["reason"].get<std::string>().find("libcudnn.so.9"), std::string::npos) << left;
  EXPECT_EQ(read_recording(file_).about["left_out"], left);
  // Not begun in its time: the file stays as it was.
  EXPECT_EQ(make({"--add", "S4", "--limit", "0.001"}).document()["error"]["code"], "failed");
  EXPECT_EQ(read_recording(file_).about["left_out"], left);
  ASSERT_EQ(make({"--add", "S4"}).code, 0);
  EXPECT_FALSE(read_recording(file_).about.contains("left_out")) << "of what was asked for now, all is there";
}

// Those that come with the program: read whole, each on the GPU that its name says.
TEST(ShippedRecordings, AreListedAndShown) {
  json list = convscope_run({"list", "recordings", "--json"}).document()["recordings"];
  EXPECT_EQ(list.size(), project_files("assets/recordings", "", ".convscope").size());
  for (const auto& r : list) {
    EXPECT_FALSE(r.contains("reason")) << r;
    EXPECT_NE(r["source"].get<std::string>().find("recorded: NVIDIA H200, 20"), std::string::npos) << r;
    std::string name = r["name"], problem = r["problems"][0], kernel = r["kernels"][problem]["profile"][0];
    Finished f = convscope_run({"profile", kernel, "--recording", name});
    EXPECT_EQ(f.code, 0) << f.err;
    EXPECT_EQ(f.out.rfind("recorded: NVIDIA H200", 0), 0u) << f.out;
    EXPECT_EQ(f.out.find("measured)"), std::string::npos) << f.out;
  }
}

// A comparison says who owes being faster to less accurate arithmetic, and a verdict of before that there is a newer
// time.
TEST(ShippedRecordings, NameAccuraciesAndNewerTimes) {
  const std::string out = convscope_run({"bench", "--recording", "h200-kernelbench-79"}).out;
  const size_t at = out.find("accuracy, where it is not the type's own: 3xtf32 ");
  ASSERT_NE(at, std::string::npos) << out;
  const std::string line = out.substr(at, out.find('\n', at) - at);
  for (const char* name : {"hopper_3xtf32", "; tf32 ", "cudnn-tf32", "hopper_tf32"})
    EXPECT_TRUE(holds(line, name)) << name << ": " << line;
  EXPECT_FALSE(holds(line, "registers")) << line;
  EXPECT_TRUE(holds(convscope_run({"run", "mma_tf32", "--recording", "h200-kernelbench-79"}).out,
                    "! this time is of 2026-11-22; the kernel's profile of 2026-11-24 has 1.18 ms"));
}

// What limits a kernel is said by this version's rules, and is not disproved by the counters beside it.
TEST(ShippedRecordings, TheSentenceAgreesWithItsCounters) {
  for (const char* name : {"h200-kernelbench-74", "h200-kernelbench-79", "h200-kernelbench-64"}) {
    json j = convscope_run({"profile", "hopper_tf32", "--recording", name, "--json"}).document();
    const std::string said = j["bottleneck"]["sentence"];
    EXPECT_EQ(j["bottleneck"]["rule"], "data-path") << name << ": " << said;
    EXPECT_TRUE(holds(said, "the L2 cache")) << said;
    EXPECT_EQ(j["bottleneck"]["source"], "by the rules of this version, from the recorded figures");
  }
}

// Of the 634 µs that were sampled, kernels ran for 464: the mean is theirs.
TEST(ShippedRecordings, MeansOverTimeAreOfKernels) {
  json j = convscope_run({"profile", "hopper_tf32", "--recording", "h200-kernelbench-74", "--json"}).document();
  const json& t = j["timeline"];
  EXPECT_NEAR(t["kernels_us"].get<double>(), 463.7, 0.1);
  for (const auto& lane : t["lanes"]) {
    if (lane["name"] != "sm_active") continue;
    EXPECT_GT(lane["mean"].get<double>(), 98) << lane["mean"];
  }
  const std::string out = convscope_run({"profile", "hopper_tf32", "--recording", "h200-kernelbench-74"}).out;
  for (const char* said :
       {"points of 5 µs while kernels ran, 464 µs", "171 µs of it lie between kernels", "377 µs by bytes at 4268 GB/s",
        "good: near the floor of the problem", "whole calls of this profile", "each warp's 1152 rounded up to 1280"})
    EXPECT_TRUE(holds(out, said)) << said << "\n" << out;
}

TEST(ShippedRecordings, NamesOfAComparisonAreToBeLeftOut) {
  Finished f = convscope_run({"bench", "tiled", "hopper_tf32", "--recording", "h200-kernelbench-74"});
  EXPECT_EQ(f.code, 2);
  EXPECT_TRUE(holds(f.err, "leave the names out")) << f.err;
}

}  // namespace
}  // namespace convscope::test
