// Session files: everything comes back, and what is no session says why.
#include <filesystem>
#include <gtest/gtest.h>

#include "app/engine/codec.h"
#include "tests/app/model/documents.h"
#include "tests/app/model/sessions.h"

namespace convscope {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

class Session : public testing::Test {
 protected:
  std::string write(const json& j) {
    std::string text = j.dump();
    return folder_.write("s.convscope", text.data(), text.size());
  }
  // A valid session with one field replaced.
  std::string with_field(const char* field, const json& value) {
    json j = {{"type", "convscope-session"}, {"version", 1}, {"problem", {{"length", 9}}}};
    j[field] = value;
    return write(j);
  }
  std::string refusal(const std::string& file) {
    return test::error_of<InputError>([&] { load_session(file); });
  }
  test::ScratchFolder folder_;
};

void expect_same(const SessionFile& got, const SessionFile& expected) {
  const Document &a = got.document, &b = expected.document;
  EXPECT_EQ(a.problem, b.problem);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.compare_with, b.compare_with);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.inputs.seed, b.inputs.seed);
  EXPECT_EQ(a.accuracy, b.accuracy);
  EXPECT_EQ(a.atol, b.atol);
  EXPECT_EQ(a.rtol, b.rtol);
  for (auto source : {&InputSpec::x, &InputSpec::w, &InputSpec::b}) {
    const TensorSource &x = a.inputs.*source, &y = b.inputs.*source;
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.file, y.file);
    ASSERT_EQ(x.values.has_value(), y.values.has_value());
    if (!x.values) continue;
    EXPECT_EQ(x.values->shape, y.values->shape);
    for (int64_t i = 0; i < x.values->elements(); i++) EXPECT_EQ(x.values->at(i), y.values->at(i));
  }
  EXPECT_EQ(got.view, expected.view);
  EXPECT_EQ(got.unknown, expected.unknown);
}

TEST_F(Session, EverythingComesBack) {
  SessionFile s = test::unusual_session(folder_);
  std::string file = folder_.path("s.convscope");
  save_session(file, s);
  expect_same(load_session(file), s);
  SessionFile plain;
  plain.unknown = json::object();
  save_session(file, plain);
  expect_same(load_session(file), plain);
}

TEST_F(Session, EveryLegalDocumentComesBack) {
  test::Random r(5);
  std::string file = folder_.path("s.convscope");
  for (int i = 0; i < 50; i++) {
    SessionFile s;
    s.unknown = json::object();
    s.document.problem = test::random_problem(r);
    s.document.inputs.seed = r();
    for (auto source : {&InputSpec::x, &InputSpec::w, &InputSpec::b})
      s.document.inputs.*source = {input_kinds[r() % input_kinds.size()].kind, {}, {}};
    s.document.atol = static_cast<double>(r()) * 1e-25;
    s.view.row1 = static_cast<double>(r()) * 1e-19, s.view.column1 = 1 / 3.0;
    save_session(file, s);
    expect_same(load_session(file), s);
  }
}

TEST_F(Session, FilesBelowItAreRelative) {
  SessionFile s = test::unusual_session(folder_);
  save_session(folder_.path("s.convscope"), s);
  json j = json::parse(test::text_of(folder_.path("s.convscope")));
  EXPECT_EQ(j["input"], "values/x.npy");
  EXPECT_EQ(j["weight"], "w.npy");
  EXPECT_EQ(j["bias_values"], "ramp");
  // The folder can be moved as a whole.
  test::ScratchFolder elsewhere;
  fs::copy(folder_.path(""), elsewhere.path(""), fs::copy_options::recursive);
  SessionFile moved = load_session(elsewhere.path("s.convscope"));
  EXPECT_EQ(moved.document.inputs.x.file, elsewhere.path("values/x.npy"));
  EXPECT_EQ(moved.document.inputs.x.values->shape, (std::vector<int64_t>{2, 4, 9}));
}

TEST_F(Session, FilesElsewhereAreAbsolute) {
  test::ScratchFolder elsewhere;
  SessionFile s = test::unusual_session(elsewhere);
  save_session(folder_.path("s.convscope"), s);
  EXPECT_EQ(json::parse(test::text_of(folder_.path("s.convscope")))["input"], elsewhere.path("values/x.npy"));
  expect_same(load_session(folder_.path("s.convscope")), s);
}

// The kernel's file, and what stands beside it when that is a file, go with the session like values.
TEST_F(Session, KernelsFilesGoWithTheSession) {
  fs::create_directory(folder_.path("kernels"));
  folder_.write("kernels/mine.cu", "x", 1);
  test::ScratchFolder elsewhere;
  const std::string other = elsewhere.write("other.py", "x", 1);
  SessionFile s;
  s.unknown = json::object();
  s.document.kernel = folder_.path("kernels/mine.cu:gather"), s.document.compare_with = other;
  save_session(folder_.path("s.convscope"), s);
  json j = json::parse(test::text_of(folder_.path("s.convscope")));
  EXPECT_EQ(j["kernel"], "kernels/mine.cu:gather");
  EXPECT_EQ(j["compare_with"], other);
  expect_same(load_session(folder_.path("s.convscope")), s);
  test::ScratchFolder moved;
  fs::copy(folder_.path(""), moved.path(""), fs::copy_options::recursive);
  SessionFile back = load_session(moved.path("s.convscope"));
  EXPECT_EQ(back.document.kernel, moved.path("kernels/mine.cu:gather"));
  EXPECT_EQ(back.document.compare_with, other);
}

// Typed in the working folder, opened from another one.
TEST_F(Session, AKernelsFileAsItWasTyped) {
  folder_.write("mine.cu", "x", 1);
  test::ScratchFolder sessions;
  const fs::path was = fs::current_path();
  fs::current_path(folder_.path(""));
  SessionFile s;
  s.document.kernel = "mine.cu";
  save_session(sessions.path("s.convscope"), s);
  fs::current_path(was);
  EXPECT_TRUE(fs::equivalent(load_session(sessions.path("s.convscope")).document.kernel, folder_.path("mine.cu")));
}

// A relative path that is not there beside the session counts from the working folder, and stays as it is.
TEST_F(Session, AKernelsFileOfAnOldSession) {
  const std::string file = with_field("kernel", "old/mine.cu:gather");
  SessionFile s = load_session(file);
  EXPECT_EQ(s.document.kernel, "old/mine.cu:gather");
  save_session(file, s);
  EXPECT_EQ(json::parse(test::text_of(file))["kernel"], "old/mine.cu:gather");
  // A control: the program's own kernels are no files, whatever lies there.
  folder_.write("tiled", "x", 1);
  EXPECT_EQ(load_session(with_field("kernel", "tiled")).document.kernel, "tiled");
}

// A recording's answers are found by the name that was asked for, wherever it is opened.
TEST_F(Session, AKernelsFileOfARecording) {
  for (const char* name : {"mine.cu", "other.cu"}) folder_.write(name, "x", 1);
  SessionFile s;
  s.unknown = json::object();
  RunRequest asked;
  asked.kernel = "mine.cu", asked.problem = s.document.problem;
  std::vector<std::byte> none;
  json request = request_json(asked, none);
  request["type"] = "run";
  Recording r;
  r.about = {{"device", {{"name", "NVIDIA H200"}}}, {"date", "2026-11-22"}};
  r.add(request, {{"verdict", {{"status", "right"}}}}, {}, "2026-11-22");
  s.recording = std::make_shared<Recording>(r);
  s.document.kernel = "mine.cu", s.document.compare_with = folder_.path("other.cu");
  const std::string file = folder_.path("s.convscope");
  save_session(file, s);
  for (int i = 0; i < 2; i++) {
    SessionFile back = load_session(file);
    EXPECT_EQ(back.document.kernel, "mine.cu");
    EXPECT_EQ(back.document.compare_with, folder_.path("other.cu")) << "the control: it has no answers";
    save_session(file, back);
  }
}

// As `convscope window s.convscope` in the folder of the session.
TEST_F(Session, AFileInTheWorkingFolder) {
  fs::path was = fs::current_path();
  fs::current_path(folder_.path(""));
  SessionFile s = test::unusual_session(folder_);
  save_session("s.convscope", s);
  json j = json::parse(test::text_of("s.convscope"));
  SessionFile back = load_session("s.convscope");
  save_session("s.convscope", back);
  json again = json::parse(test::text_of("s.convscope"));
  fs::current_path(was);
  EXPECT_EQ(j["input"], "values/x.npy");
  EXPECT_EQ(again["input"], "values/x.npy");
  EXPECT_EQ(back.document.inputs.x.file, "values/x.npy");
}

TEST_F(Session, WhatIsUnknownIsKept) {
  json j = {{"type", "convscope-session"},
            {"version", 1},
            {"problem", {{"length", 9}}},
            {"plugin", {{"a", {1, nullptr, "x"}}}},
            {"colour", "red"}};
  SessionFile s = load_session(write(j));
  EXPECT_EQ(s.unknown, (json{{"plugin", {{"a", {1, nullptr, "x"}}}}, {"colour", "red"}}));
  s.document.kernel = "tiled";
  save_session(folder_.path("t.convscope"), s);
  json saved = json::parse(test::text_of(folder_.path("t.convscope")));
  EXPECT_EQ(saved["plugin"], j["plugin"]);
  EXPECT_EQ(saved["colour"], "red");
  EXPECT_EQ(saved["kernel"], "tiled");
}

TEST_F(Session, LittleIsEnough) {
  SessionFile s = load_session(write({{"type", "convscope-session"}, {"version", 1}}));
  EXPECT_EQ(test::why_illegal(s.document), "");
  EXPECT_TRUE(s.view.whole());
}

TEST_F(Session, WhatIsNoSession) {
  auto text = [&](const std::string& t) { return folder_.write("s.convscope", t.data(), t.size()); };
  for (const char* t : {"", "{}", "[]", "null", "\"convscope-session\"", "{\"type\":", "\xff\xfe\x01",
                        R"({"type": "something"})", R"({"type": 3})"})
    EXPECT_NE(refusal(text(t)).find("is no convscope session"), std::string::npos) << t;
  EXPECT_NE(refusal(folder_.path("not there")).find("cannot be opened"), std::string::npos);
  EXPECT_NE(refusal(folder_.path("")).find("cannot be opened"), std::string::npos);
}

TEST_F(Session, OtherVersions) {
  EXPECT_NE(refusal(with_field("version", 2)).find("is of version 2: this program reads up to 1"), std::string::npos);
  for (const json& v :
       {json(0), json(-1), json("1"), json(1.5), json(nullptr), json(18446744073709551615u), json(1e300)})
    EXPECT_NE(refusal(with_field("version", v)), "") << v;
}

TEST_F(Session, WrongTypesAndIllegalValuesAreNamed) {
  struct Case {
    const char* field;
    json value;
    const char* words;
  };
  const std::vector<Case> cases = {
      {"problem", 3, "problem must be an object"},
      {"problem", {{"length", "nine"}}, "length nine has the wrong type"},
      {"problem", {{"length", 1.5}}, "length 1.5 has the wrong type"},
      {"problem", {{"stride", 0}}, "stride 0 must be at least 1"},
      {"problem", {{"stride", 18446744073709551615u}}, "is too large"},
      {"problem", {{"dtype", "f8"}}, "dtype f8 must be"},
      {"problem", {{"bias", 1}}, "bias 1 has the wrong type"},
      {"kernel", 7, "kernel"},
      {"kernel", "", "kernel '' must have a name"},
      {"compare_with", json::array(), "compare_with"},
      {"device", false, "device"},
      {"seed", "many", "seed"},
      {"seed", -1, "seed"},
      {"seed", 1.5, "seed"},
      {"seed", true, "seed"},
      {"input", 5, "input"},
      {"input", "noise", "input noise must be one of"},
      {"input", "not_there.npy", "not_there.npy"},
      {"weight", "/proc/self/mem.npy", "mem.npy"},
      {"accuracy", "loose", "accuracy loose must be strict, 3xtf32 or tf32"},
      {"accuracy", 3, "accuracy"},
      {"tolerance", {-1, 1}, "tolerance -1"},
      {"tolerance", 3, "tolerance"},
      {"tolerance", {1, "x"}, "tolerance"},
      {"tolerance", {1, 2, 3}, "tolerance"},
      {"view", 3, "view"},
      {"view", {{"row0", "x"}}, "row0"},
      {"view", {{"selected", 1}}, "selected"},
      {"view", {{"selected", {1, 2.5}}}, "selected"},
      {"view", {{"show_classes", 2}}, "show_classes"},
      {"view", {{"value_range", 2}}, "value_range of the wrong type"},
      {"view", {{"value_range", {2, 1}}}, "value_range [2,1] must go up"},
      {"view", {{"error_range", {-1, 2}}}, "error_range [-1,2] must be symmetric around 0"},
      {"view", {{"ratio_range", {-1, 1}}}, "must be symmetric around 1"},
  };
  for (const auto& c : cases) {
    std::string said = refusal(with_field(c.field, c.value));
    EXPECT_NE(said.find(c.words), std::string::npos) << c.field << " = " << c.value << ": '" << said << "'";
  }
  // A control: the same file with right values is taken.
  EXPECT_EQ(refusal(with_field("seed", 18446744073709551615u)), "");
  EXPECT_EQ(refusal(with_field("tolerance", {0, 1})), "");
  EXPECT_EQ(refusal(with_field("view", {{"selected", {1, 2}}, {"row1", 3}})), "");
  EXPECT_EQ(refusal(with_field("view", {{"value_range", {-1, 2}}, {"ratio_range", {0.1, 10}}})), "");
}

TEST_F(Session, AFileOfAnotherShapeIsNamed) {
  test::write_npy(folder_, "x.npy", {1, 1, 8});
  EXPECT_NE(refusal(with_field("input", "x.npy")).find("has shape [1, 1, 8], the problem needs [1, 1, 9]"),
            std::string::npos);
  test::write_npy(folder_, "x.npy", {1, 1, 9});
  EXPECT_EQ(refusal(with_field("input", "x.npy")), "");
}

// A selection outside of the result would be looked up there.
TEST_F(Session, ASelectionOutsideIsDropped) {
  for (const json& at : {json{-1, 0}, json{0, -5}, json{1, 0}, json{0, 9}, json{int64_t{1} << 60, int64_t{1} << 60}})
    EXPECT_FALSE(load_session(with_field("view", {{"selected", at}})).view.selected) << at;
  EXPECT_TRUE(load_session(with_field("view", {{"selected", {0, 8}}})).view.selected);
}

// ---- saving ---------------------------------------------------------------------------------------------------------

TEST_F(Session, WhatCannotBeSavedLeavesTheOld) {
  std::string file = folder_.path("s.convscope");
  SessionFile s = test::unusual_session(folder_);
  save_session(file, s);
  EXPECT_THROW(save_session("/proc/s.convscope", s), std::runtime_error);
  EXPECT_THROW(save_session(folder_.path("not/there.convscope"), s), std::runtime_error);
  // A path that is no text cannot stand in the file.
  s.document.inputs.x.file = folder_.path("\xff.npy");
  EXPECT_THROW(save_session(file, s), std::runtime_error);
  expect_same(load_session(file), test::unusual_session(folder_));
}

}  // namespace
}  // namespace convscope
