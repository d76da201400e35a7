// A kernel's file in the workbench: brought, compiled, changed on disk, broken, and back after a crash.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"
#include "tests/support.h"

namespace convscope {
namespace {

class WorkbenchFile : public testing::Test {
 protected:
  WorkbenchFile() {
    bench_->files().on_came([this](const std::string&, const std::string& trouble) { came_++, trouble_ = trouble; });
  }
  // The sample with one text in the place of another.
  void write(const std::string& from = "", const std::string& to = "") {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    if (!from.empty()) {
      ASSERT_NE(text.find(from), text.npos);
      text.replace(text.find(from), from.size(), to);
    }
    std::ofstream(path_ + ".new") << text;
    std::filesystem::rename(path_ + ".new", path_);
  }
  bool comes(int times) {
    return bench_.until([&] { return came_ >= times; }, 60 * test::slowness);
  }
  std::shared_ptr<const Report> run() {
    Document d = test::quick_document(40, path_);
    d.problem.dilation = 2;
    return bench_.run(d);
  }

  // The compiler's work is kept with the tests' other scratch, not with the person's.
  test::ScratchFolder folder_;
  std::string path_ = folder_.path("mine.cu");
  test::Bench bench_{"env CONVSCOPE_CACHE=" + test::own_cache(folder_) + " " + test::real_engine()};
  int came_ = 0;
  std::string trouble_;
};

TEST_F(WorkbenchFile, IsCompiledAndListed) {
  write();
  bench_->files().bring(path_, "emulator");
  EXPECT_TRUE(bench_->files().of(path_)->compiling);
  ASSERT_TRUE(comes(1));
  EXPECT_EQ(trouble_, "");
  const auto& all = bench_->inventory().kernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().name, path_);
  EXPECT_EQ(all.back().kind, "outside");
  EXPECT_TRUE(all.back().idea.starts_with("One thread an output element")) << all.back().idea;
  auto r = run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "right") << r->sentence;
  bench_->sources().want(path_);
  ASSERT_TRUE(bench_.until([&] { return bench_->sources().of(path_); }));
  EXPECT_EQ(bench_->sources().of(path_)->front().text, test::text_file(path_));
  bench_->files().bring(path_, "emulator");  // the same text: at once
  EXPECT_EQ(came_, 2);
}

TEST_F(WorkbenchFile, ThatChangesOnDiskIsAnotherKernel) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  ASSERT_EQ(run()->status, "right");
  write("j + p - k * d", "j + p - k");
  ASSERT_TRUE(comes(2));
  EXPECT_EQ(run()->status, "wrong");
  // One that does not compile leaves the one before it.
  write("y[id] = sum;", "y[id] = summe;");
  ASSERT_TRUE(comes(3));
  EXPECT_TRUE(test::holds(trouble_, path_ + ":24: 'summe' was not declared")) << trouble_;
  EXPECT_EQ(bench_->files().of(path_)->trouble, trouble_);
  ASSERT_EQ(bench_->files().of(path_)->errors.size(), 1u);
  EXPECT_EQ(bench_->files().of(path_)->errors[0].line, 24);
  EXPECT_GT(bench_->files().of(path_)->waited, 0);
  // In the log each compilation begins with a line of its own.
  const auto& log = bench_->link().log();
  EXPECT_EQ(
      std::count_if(log.begin(), log.end(),
                    [&](const LogLine& l) { return l.kind == LogLine::Kind::heading && l.text.ends_with(path_); }),
      3);
  EXPECT_TRUE(bench_->inventory().kernels().back().available);
  EXPECT_EQ(run()->status, "wrong") << "of the text before";
  write();
  ASSERT_TRUE(comes(4));
  EXPECT_EQ(trouble_, "");
  EXPECT_TRUE(bench_->files().of(path_)->errors.empty());
  EXPECT_EQ(run()->status, "right");
}

// What is shown is of a text, and says so as soon as the file has another.
TEST_F(WorkbenchFile, WhatIsOfATextBeforeIsStale) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  const auto r = run();
  ASSERT_EQ(r->status, "right");
  EXPECT_FALSE(bench_->files().is_of_before(*r));
  EXPECT_EQ(bench_->runs().stale(r->document), "");
  bench_->files().bring(path_, "auto");  // for another device: the same text
  ASSERT_TRUE(comes(2));
  EXPECT_FALSE(bench_->files().is_of_before(*r));
  write("j + p - k * d", "j + p - k");
  ASSERT_TRUE(comes(3));
  EXPECT_TRUE(bench_->files().is_of_before(*r));
  EXPECT_EQ(bench_->runs().stale(r->document), "of the file as it was before");
  const auto wrong = run();
  EXPECT_EQ(wrong->status, "wrong");
  EXPECT_EQ(bench_->runs().stale(wrong->document), "");
  // What runs while the newest text does not compile is of the one before.
  write("y[id] = sum;", "y[id] = summe;");
  ASSERT_TRUE(comes(4));
  EXPECT_TRUE(bench_->files().is_of_before(*run()));
}

// Editors take a file away for a moment: that is no change. One that stays away is said, and comes back.
TEST_F(WorkbenchFile, ThatIsGoneIsSaidUntilItComesBack) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  ASSERT_EQ(run()->status, "right");
  std::filesystem::remove(path_);
  ASSERT_TRUE(comes(2));
  EXPECT_TRUE(bench_->files().of(path_)->gone);
  EXPECT_TRUE(test::holds(trouble_, "is no file that is there")) << trouble_;
  EXPECT_EQ(run()->status, "right") << "of the text before";
  write();
  ASSERT_TRUE(comes(3));
  EXPECT_EQ(trouble_, "");
  EXPECT_FALSE(bench_->files().of(path_)->gone);
}

// Instructions are those of the text that is there.
TEST_F(WorkbenchFile, ThatChangesHasOtherInstructions) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  Document d = test::quick_document(40, path_);
  bench_->sources().want_machine_code(d);
  ASSERT_TRUE(
      bench_.until([&] { return bench_->sources().machine_code() && !bench_->sources().machine_code_waiting(); }, 60));
  write("j + p - k * d", "j + p - k");
  ASSERT_TRUE(comes(2));
  EXPECT_EQ(bench_->sources().machine_code(), nullptr);
  bench_->sources().want_machine_code(d);
  EXPECT_TRUE(bench_->sources().machine_code_waiting());
  EXPECT_TRUE(
      bench_.until([&] { return bench_->sources().machine_code() && !bench_->sources().machine_code_waiting(); }, 60));
}

// Where it cannot be had on another device, what there is of it here stays.
TEST_F(WorkbenchFile, IsAskedForAnotherDeviceAndStaysWhereItIsNot) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  ASSERT_EQ(run()->status, "right");
  bench_->files().bring(path_, "cuda:7");  // the same text: not for that device yet
  EXPECT_TRUE(bench_->files().of(path_)->compiling);
  ASSERT_TRUE(comes(2));
  EXPECT_NE(trouble_, "");
  EXPECT_EQ(bench_->inventory().kernels().back().name, path_);
  EXPECT_TRUE(bench_->inventory().kernels().back().available);
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(3));
  EXPECT_EQ(trouble_, "");
  EXPECT_EQ(run()->status, "right");
}

TEST_F(WorkbenchFile, ThatNeverCompiledStandsThereWithItsReason) {
  write("y[id] = sum;", "y[id] = summe;");
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  EXPECT_FALSE(bench_->inventory().kernels().back().available);
  EXPECT_EQ(bench_->inventory().kernels().back().reason, trouble_);
  EXPECT_THROW(bench_->files().bring(folder_.path("none.cu"), "emulator"), InputError);
}

TEST_F(WorkbenchFile, AnEngineAfterACrashHasItAgain) {
  write("y[id] = sum;", "if (N == 2) __builtin_trap();\n  y[id] = sum;");
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  Document two = test::quick_document(40, path_);
  two.problem.batch = 2;
  auto crashed = bench_.run(two);
  ASSERT_TRUE(crashed);
  EXPECT_EQ(crashed->status, "crashed") << crashed->sentence;
  auto r = run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "right") << r->sentence;
}

// A text that does not compile leaves the one before it, also in the engine after this one.
TEST_F(WorkbenchFile, AnEngineAfterACrashHasTheTextThatCompiledLast) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  write("y[id] = sum;", "y[id] = summe;");
  ASSERT_TRUE(comes(2));
  EXPECT_NE(trouble_, "");
  kill(bench_->link().pid(), SIGKILL);
  auto r = run();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "right") << r->sentence;
}

// What is measured again and again is the text that is there, and readings of the one before go.
TEST_F(WorkbenchFile, ThatChangesIsMeasuredAnew) {
  write();
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  const Document d = test::quick_document(40, path_);
  bench_->measuring().keep_on(d);
  ASSERT_TRUE(bench_.until([&] { return bench_->measuring().monitor().calls >= 3; }))
      << bench_->measuring().monitor().trouble;
  write("y[id] = sum;", "assert(sum != sum);\n  y[id] = sum;");
  ASSERT_TRUE(comes(2));
  ASSERT_EQ(trouble_, "");
  EXPECT_EQ(bench_->measuring().monitor().calls, 0u);
  EXPECT_TRUE(bench_->measuring().monitor().on) << "nobody has stopped it";
  bench_->measuring().keep_on(d);
  ASSERT_TRUE(bench_.until([&] { return !bench_->measuring().monitor().on; })) << "the old text goes on without end";
  EXPECT_TRUE(test::holds(bench_->measuring().monitor().trouble, "sum != sum"))
      << bench_->measuring().monitor().trouble;
  EXPECT_EQ(bench_->measuring().monitor().calls, 0u);
}

// It ends on the problem that was asked for, and not on the small ones on which its products are mapped.
TEST_F(WorkbenchFile, ACrashHasItsCause) {
  write("const int t = j + p - k * d;", "if (L > 30) __builtin_trap();\n    const int t = j + p - k;");
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  auto r = run();
  ASSERT_TRUE(r);
  ASSERT_EQ(r->status, "crashed") << r->sentence;
  ASSERT_TRUE(bench_.until([&] { return bench_->causes().of(*r) != nullptr; }));
  EXPECT_TRUE(bench_->causes().of(*r)->sentence.ends_with(": the dilation is missing"))
      << bench_->causes().of(*r)->sentence;
  EXPECT_TRUE(bench_->causes().can_ask());
}

// Who writes a kernel is told of what does not show on the problem that is asked for, and of nothing else.
TEST_F(WorkbenchFile, ThatIsRightHereAloneIsToldSo) {
  write("j + p - k * d", "j + p - k");
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  auto r = bench_.run(test::quick_document(40, path_));
  ASSERT_TRUE(r && r->right()) << r->sentence;
  ASSERT_TRUE(bench_.until([&] { return bench_->causes().of(*r) != nullptr; }));
  EXPECT_TRUE(bench_->causes().of(*r)->sentence.ends_with(": the dilation is missing"))
      << bench_->causes().of(*r)->sentence;
  // Control: of one that is right the answer is kept to itself, until somebody asks.
  write();
  ASSERT_TRUE(comes(2));
  r = bench_.run(test::quick_document(40, path_));
  ASSERT_TRUE(r && r->right()) << r->sentence;
  ASSERT_TRUE(bench_.until([&] { return bench_->causes().of(*r) != nullptr; }));
  EXPECT_EQ(bench_->causes().of(*r)->sentence + bench_->causes().of(*r)->reason, "");
  bench_->causes().want(*r, true);
  ASSERT_TRUE(bench_.until([&] { return !bench_->causes().of(*r)->reason.empty(); }));
}

// One of the small problems has stride 1.
TEST_F(WorkbenchFile, ASmallProblemThatEndsTheEngineIsLeftOut) {
  write("i = t / s", "i = t / (s - 1)");
  bench_->files().bring(path_, "emulator");
  ASSERT_TRUE(comes(1));
  Document three = test::quick_document(40, path_);
  three.problem.stride = 3;
  auto r = bench_.run(three);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->status, "wrong") << r->sentence;
  ASSERT_TRUE(bench_.until([&] { return bench_->causes().of(*r) != nullptr; }));
  const Cause& c = *bench_->causes().of(*r);
  EXPECT_EQ(c.formula, "i = t/(s − 1)") << c.sentence << c.reason;
  EXPECT_EQ(c.problems, 4);
}

}  // namespace
}  // namespace convscope
