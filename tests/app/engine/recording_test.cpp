// Recordings: what was put in comes out, whatever is in it; what is no recording is refused in one line.
#include "app/engine/recording.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "app/engine/packed.h"
#include "app/engine/profile_codec.h"
#include "kernels/problem/presets.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {
using nlohmann::json;

RunRequest asked(const std::string& kernel, const std::string& preset = "kernelbench-79") {
  RunRequest r;
  r.kernel = kernel;
  r.problem = find_preset(preset).problem;
  return r;
}

json request(const std::string& type, const RunRequest& r) {
  std::vector<std::byte> payload;
  json j = request_json(r, payload);
  j["type"] = type, j["id"] = 7;
  return j;
}

std::vector<std::byte> bytes(size_t n) {
  std::vector<std::byte> b(n);
  for (size_t i = 0; i < n; i++) b[i] = static_cast<std::byte>(i * 37);
  return b;
}

Recording example() {
  Recording r;
  r.about = {
      {"device", {{"name", "NVIDIA H200"}}}, {"date", "2026-11-22"}, {"convscope", "9.9"}, {"from later", {1, 2}}};
  r.add(request("run", asked("S4")), {{"id", 7}, {"result", "abc"}, {"timing", {{"source", "measured"}}}}, {},
        "2026-11-22");
  r.add(request("profile", asked("S4")),
        {{"counters", {{"source", "counted by hardware"}}}, {"unknown to us", {{"deep", true}}}}, bytes(1000),
        "2026-11-22");
  return r;
}

TEST(Recording, ComesBackAsItWas) {
  for (size_t n : {0, 1, 2, 3, 4, 1000}) {
    Recording r = example();
    r.add(request("profile", asked("tiled")), {{"x", n}}, bytes(n), "2026-11-23");
    std::string text = session_of(r).dump();
    Recording back = recording_from(json::parse(text), "f");
    ASSERT_EQ(back.answers.size(), 3u);
    EXPECT_EQ(back.about, r.about);
    for (size_t i = 0; i < 3; i++) {
      EXPECT_EQ(back.answers[i].request, r.answers[i].request);
      EXPECT_EQ(back.answers[i].answer, r.answers[i].answer);
      EXPECT_EQ(back.answers[i].payload, r.answers[i].payload);
      EXPECT_EQ(back.answers[i].date, r.answers[i].date);
    }
    EXPECT_EQ(session_of(back).dump(), text) << "nothing is lost on a second way";
  }
}

// What it begins with: not a reference, which is no kernel to choose.
TEST(Recording, BeginsWithTheFastestThatIsRight) {
  Recording r;
  auto profiled = [&](const char* kernel, const char* kind, double ms) {
    r.add(request("profile", asked(kernel)), {{"kernel", {{"kind", kind}}}, {"timing", {{"hot", {{"median_ms", ms}}}}}},
          {}, "2026-11-22");
  };
  auto judged = [&](const char* kernel, const char* status, double ms) {
    r.add(request("run", asked(kernel)), {{"verdict", {{"status", status}}}, {"timing", {{"median_ms", ms}}}}, {},
          "2026-11-22");
  };
  auto kernel = [&] { return session_of(r)["kernel"].get<std::string>(); };
  profiled("cudnn", "reference", 1);
  profiled("direct", "kernel", 9);
  EXPECT_EQ(kernel(), "direct");
  profiled("tiled", "kernel", 3);
  EXPECT_EQ(kernel(), "tiled");
  judged("S4", "wrong", 2);
  EXPECT_EQ(kernel(), "tiled") << "there is no verdict but one";
  judged("direct", "right", 9);
  EXPECT_EQ(kernel(), "direct");
  judged("tiled", "right", 3);
  EXPECT_EQ(kernel(), "tiled");
}

TEST(Recording, KeepsFieldsOfLaterVersions) {
  json j = session_of(example(), {{"view", {{"row0", 1}}}});
  j["recording"]["answers"][0]["stamp"] = "later";
  Recording back = recording_from(j, "f");
  EXPECT_EQ(recording_json(back)["answers"][0]["stamp"], "later");
  EXPECT_EQ(recording_json(back)["from later"], json({1, 2}));
}

TEST(Recording, FindsByKernelProblemInputsAndAccuracy) {
  Recording r = example();
  EXPECT_TRUE(r.find("run", asked("S4")));
  EXPECT_FALSE(r.find("bench", asked("S4")));
  EXPECT_FALSE(r.find("run", asked("S3")));
  EXPECT_FALSE(r.find("run", asked("S4", "kernelbench-74")));
  RunRequest other = asked("S4");
  other.inputs.seed = 43;
  EXPECT_FALSE(r.find("run", other));
  other = asked("S4"), other.accuracy = Accuracy::tf32;
  EXPECT_FALSE(r.find("run", other));
  other = asked("S4"), other.device = "emulator", other.samples = 9;
  EXPECT_TRUE(r.find("run", other)) << "where it would run and how long does not matter";
}

TEST(Recording, AnewerAnswerTakesThePlaceOfAnOlderOne) {
  Recording r = example();
  r.add(request("run", asked("S4")), {{"new", true}}, {}, "2026-11-24");
  EXPECT_EQ(r.answers.size(), 2u);
  EXPECT_TRUE(r.find("run", asked("S4"))->answer.contains("new"));
}

TEST(Recording, ARunOfBeforeNamesTheNewerTime) {
  auto shown = [](double run_ms, const char* profiled, double profile_ms) {
    Recording r = example();
    r.add(request("run", asked("S4")), {{"timing", {{"median_ms", run_ms}}}}, {}, "2026-11-22");
    r.add(request("profile", asked("S4")), {{"timing", {{"hot", {{"median_ms", profile_ms}}}}}}, {}, profiled);
    return shown_answer(r, *r.find("run", asked("S4")))["timing"].value("newer", "");
  };
  EXPECT_EQ(shown(2, "2026-11-24", 1.25), "this time is of 2026-11-22; the kernel's profile of 2026-11-24 has 1.25 ms");
  EXPECT_EQ(shown(2, "2026-11-22", 1.25), "") << "of one day";
  EXPECT_EQ(shown(2, "2026-11-21", 1.25), "") << "an older one";
  EXPECT_EQ(shown(2, "2026-11-24", 1.98), "") << "the same";
}

TEST(Recording, ShowsEverySourceAsRecorded) {
  Recording r = example();
  json shown = shown_answer(r, *r.find("run", asked("S4")));
  EXPECT_EQ(shown["timing"]["source"], "recorded: NVIDIA H200, 2026-11-22");
  EXPECT_EQ(shown["recorded"]["device"], "NVIDIA H200");
  EXPECT_FALSE(shown.contains("result")) << "its tensors are gone";
  EXPECT_EQ(shown_answer(r, *r.find("profile", asked("S4")))["counters"]["source"],
            "recorded: NVIDIA H200, 2026-11-22, counted by hardware");
  EXPECT_EQ(recorded_source("NVIDIA H200, measured", "X"), "NVIDIA H200, recorded: X");
  EXPECT_EQ(recorded_source("NVIDIA H200, datasheet", "X"), "NVIDIA H200, datasheet");
  EXPECT_EQ(recorded_source("sampled by hardware", "X"), "recorded: X, sampled by hardware");
  EXPECT_EQ(recorded_source("emulated", "X"), "emulated");
  EXPECT_EQ(recorded_source("computed", "X"), "computed");
  // No word of it says measured, however deep.
  json deep = {{"a", {{"b", {{{"source", "measured"}}}}}}, {"floor_source", "measured"}};
  r.add(request("profile", asked("S1")), deep, {}, "2026-11-22");
  EXPECT_EQ(shown_answer(r, *r.find("profile", asked("S1"))).dump().find("\"measured\""), std::string::npos);
}

// Shades are by the rules of this version: not what a version before wrote, and they follow the figures.
TEST(Recording, ShadesAreThoseOfThisVersion) {
  const Recording r = read_recording(test::project_file("assets/recordings/h200-kernelbench-79.convscope"));
  const json* answer = nullptr;
  for (const auto& a : r.answers)
    if (a.type() == "profile" && a.asked.kernel == "hopper_tf32") answer = &a.answer;
  ASSERT_TRUE(answer);
  auto shades = [](json j, const char* written, std::optional<double> memory_busy = {}) {
    for (auto& h : j["headlines"]) {
      h["shade"] = written;
      if (memory_busy && h["name"] == "memory-busy") h["value"] = *memory_busy;
    }
    judge_recorded_profile(j);
    std::map<std::string, std::string> all;
    for (const auto& h : j["headlines"]) all[h["name"]] = h["shade"];
    return all;
  };
  const auto now = shades(*answer, "bad");
  EXPECT_EQ(now, shades(*answer, "good"));
  EXPECT_EQ(now.at("bytes-moved"), "good") << "1.00 times the least bytes";
  EXPECT_EQ(now.at("memory-busy"), "fair") << "72 %";
  EXPECT_EQ(shades(*answer, "good", 5.0).at("memory-busy"), "bad");
  EXPECT_EQ(shades(*answer, "bad", 95.0).at("memory-busy"), "good");
}

// A class without a GPU sees the three benchmark problems and five layers that people run, in a download of 20 MB.
TEST(Recording, TheShippedOnesAreSmallAndWhole) {
  uintmax_t bytes = 0;
  for (const auto& file : test::project_files("assets/recordings", "", "")) bytes += std::filesystem::file_size(file);
  EXPECT_LT(bytes, 20'000'000u);
  EXPECT_GT(bytes, 100'000u);
  for (const char* preset : {"kernelbench-64", "kernelbench-74", "kernelbench-79", "dac.d3", "demucs.d", "encodec.d3",
                             "hifigan.u2", "oobleck.d5"}) {
    SCOPED_TRACE(preset);
    Recording r;
    ASSERT_NO_THROW(
        r = read_recording(test::project_file(std::string("assets/recordings/h200-") + preset + ".convscope")));
    const ConvProblem& p = find_preset(preset).problem;
    EXPECT_GE(r.kernels("profile", p).size(), 15u) << "rungs, specimens and both ways of cuDNN";
    EXPECT_FALSE(r.kernels("run", p).empty());
    EXPECT_NE(r.source().find("NVIDIA H200, 2026-"), std::string::npos) << r.source();
  }
}

TEST(Recording, RefusesWhatIsNoRecording) {
  const json good = session_of(example());
  auto refused = [&](const std::function<void(json&)>& spoil) {
    json j = good;
    spoil(j);
    return test::error_of<InputError>([&] { recording_from(j, "f.convscope"); });
  };
  EXPECT_EQ(refused([](json&) {}), "");
  EXPECT_EQ(refused([](json& j) { j["recording"] = 7; }),
            "recording f.convscope has a field recording of the wrong type");
  EXPECT_EQ(refused([](json& j) { j["recording"]["version"] = 2; }),
            "recording f.convscope holds a recording of version 2: this program reads up to 1");
  EXPECT_EQ(refused([](json& j) { j["recording"]["version"] = 18446744073709551615u; }),
            "recording f.convscope holds a recording of version 18446744073709551615: this program reads up to 1");
  EXPECT_EQ(refused([](json& j) { j["recording"].erase("version"); }),
            "recording f.convscope has a recording without a version");
  EXPECT_EQ(refused([](json& j) { j["recording"]["answers"] = "all"; }),
            "recording f.convscope has answers that are no list");
  EXPECT_EQ(refused([](json& j) { j["recording"]["answers"][1].erase("answer"); }),
            "recording f.convscope has no question or no answer in answer 2");
  EXPECT_EQ(refused([](json& j) { j["recording"]["answers"][1]["payload"] = "a_b="; }),
            "recording f.convscope has a payload that is no base64 in answer 2");
  EXPECT_EQ(refused([](json& j) { j["recording"]["answers"][0]["request"]["type"] = 1; }),
            "recording f.convscope has no type in the request of answer 1");
  EXPECT_EQ(refused([](json& j) { j["recording"]["answers"][0]["request"]["problem"]["stride"] = 0; }),
            "recording f.convscope cannot be read in answer 1: stride 0 must be at least 1");
  EXPECT_EQ(
      refused([](json& j) { j["recording"]["answers"] = json::array_t(most_recorded_answers + 1, json::object()); }),
      "recording f.convscope has 16385 answers: at most 16384");
  EXPECT_NE(refused([](json& j) {
              j["recording"]["answers"][0]["request"]["files"] = {{"input", {{"name", "x.npy"}}}};
            }).find("a recording is of inputs that a seed draws"),
            std::string::npos);
}

// The file's own version, beside that of the recording in it.
TEST(Recording, IsReadFromAFileOfItsVersion) {
  test::ScratchFolder folder;
  auto file = [&](const json& version) {
    json j = session_of(example());
    j["version"] = version;
    const std::string text = j.dump();
    return folder.write("f.convscope", text.data(), text.size());
  };
  auto refused = [&](const json& version) {
    const std::string path = file(version);
    const std::string said = test::error_of<InputError>([&] { read_recording(path); });
    return said.substr(std::min(said.size(), ("recording " + path + " ").size()));
  };
  EXPECT_EQ(refused(1), "");
  EXPECT_EQ(refused(2), "is of version 2: this program reads up to 1");
  EXPECT_EQ(refused(-1), "is of version -1: this program reads up to 1");
  EXPECT_EQ(refused(18446744073709551615u), "is of version 18446744073709551615: this program reads up to 1");
  for (const json& none : {json("1"), json(1e300), json(nullptr), json(true)})
    EXPECT_EQ(refused(none), "has a field version of the wrong type") << none;
  EXPECT_TRUE(is_recording_file(file(99))) << "ours, if a later program's";
  for (const char* other : {"", "x", "{}", "[]", R"({"type": "convscope-session", "version": 1})"})
    EXPECT_FALSE(is_recording_file(folder.write("other", other, std::strlen(other)))) << other;
}

// ---- the file -------------------------------------------------------------------------------------------------------

class PackedFile : public testing::Test {
 protected:
  std::string refused(const std::string& bytes) {
    return test::error_of<InputError>([&] { json_of_file("session", "f", bytes); });
  }
};

TEST_F(PackedFile, HoldsTheSameTextPackedAndPlain) {
  std::string text = session_of(example()).dump();
  EXPECT_EQ(json_of_file("session", "f", text), json::parse(text));
  EXPECT_EQ(json_of_file("session", "f", packed(text)), json::parse(text));
  std::string large(20 << 20, ' ');
  EXPECT_LT(packed(large).size(), 100000u);
  EXPECT_EQ(json_of_file("session", "f", packed(large + "[1]")), json({1}));
}

TEST_F(PackedFile, RefusesWhatUnpacksToTooMuch) {
  std::string large(most_unpacked_bytes + 1, ' ');
  EXPECT_EQ(refused(packed(large)), "session f unpacks to more than 256.00 MiB");
  large.resize(most_unpacked_bytes - 1);
  EXPECT_EQ(refused(packed(large)), "") << "as much as may be";
  EXPECT_EQ(refused(std::string(most_packed_bytes + 1, 'x')), "session f is larger than 64.00 MiB");
}

TEST_F(PackedFile, RefusesManyValuesAndDeepOnes) {
  std::string many = "[";
  for (uint64_t i = 0; i <= most_json_values; i++) many += "1,";
  EXPECT_EQ(refused(packed(many + "1]")), "session f holds more than 8,388,608 values");
  auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_EQ(refused(nested(most_json_depth)), "");
  EXPECT_EQ(refused(nested(most_json_depth + 1)), "session f is nested too deep");
  EXPECT_EQ(refused(nested(10'000'000)), "session f is nested too deep");
}

// Whatever bytes: a document, a discarded one, or an InputError.
TEST_F(PackedFile, TruncatedAndFlipped) {
  std::string good = packed(session_of(example()).dump());
  int taken = 0;
  auto take = [&](const std::string& bytes) {
    try {
      json j = json_of_file("session", "f", bytes);
      if (j.is_object()) taken += !recording_from(j, "f").empty();
    } catch (const InputError& e) {
      ASSERT_STRNE(e.what(), "");
    }
  };
  for (size_t n = 0; n < good.size(); n++) ASSERT_NO_FATAL_FAILURE(take(good.substr(0, n)));
  EXPECT_EQ(taken, 0) << "a part of a packed file is no file";
  EXPECT_EQ(refused(good.substr(0, good.size() / 2)), "session f is packed and damaged");
  EXPECT_EQ(refused(good + "more"), "session f is packed and damaged");
  test::Random r(3);
  for (int i = 0; i < 3000; i++) {
    std::string bytes = good;
    for (int64_t n = test::between(r, 1, 3); n > 0; n--) {
      char& c = bytes[r() % bytes.size()];
      c = static_cast<char>(c ^ (1 << r() % 8));
    }
    ASSERT_NO_FATAL_FAILURE(take(bytes));
  }
  // The text within, too: then the checksum holds.
  std::string text = session_of(example()).dump();
  int before = taken;
  for (int i = 0; i < 3000; i++) {
    std::string bytes = text;
    char& c = bytes[r() % bytes.size()];
    c = static_cast<char>(c ^ (1 << r() % 8));
    ASSERT_NO_FATAL_FAILURE(take(packed(bytes)));
  }
  EXPECT_GT(taken, before) << "some changes are of words that nobody reads";
}

}  // namespace
}  // namespace convscope
