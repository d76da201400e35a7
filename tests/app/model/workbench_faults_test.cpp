// Engines that crash, hang, are killed, talk nonsense or are not there: the workbench says so, keeps its pictures, goes
// on.
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "tests/app/model/benches.h"

namespace convscope {
namespace {

using Map = Pictures::Map;

std::string faulty_engine() { return test::test_engine_with("CONVSCOPE_LIBDNNL=none"); }

// A document for a faulty kernel: y = x·w.
Document fault(const std::string& kernel, int64_t length = 64) {
  Document d = test::quick_document(length, kernel);
  d.problem = {};
  d.problem.length = length;
  return d;
}

bool log_has(test::Bench& b, const std::string& text) {
  for (const auto& line : b->link().log())
    if (line.text.find(text) != std::string::npos) return true;
  return false;
}

// The pictures of the last good run are there, and can be moved: tiles of it are still answered.
void expect_pictures_of(test::Bench& b, const Document& good) {
  ASSERT_TRUE(b->runs().picture());
  EXPECT_EQ(b->runs().picture()->document, good);
  ASSERT_TRUE(b.settle());
  const MapTile* t = b.whole_tile(Map::kernel, Quantity::output);
  ASSERT_TRUE(t) << "the tensors are not there any more";
  EXPECT_EQ(t->key, b->runs().picture()->key);
}

void expect_works(test::Bench& b) {
  Document d = test::quick_document(33);
  auto r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->right()) << r->sentence;
  EXPECT_EQ(b->runs().picture(), r);
}

TEST(WorkbenchFaults, AKernelThatCrashes) {
  test::Bench b(faulty_engine());
  Document good = fault("healthy");
  ASSERT_TRUE(b.run(good));
  b.whole_tile(Map::kernel, Quantity::output);
  for (const char* kernel : {"wild_write", "call_abort", "leave"}) {
    auto r = b.run(fault(kernel));
    if (!r) {
      b.settle();
      r = b->runs().report();
    }
    ASSERT_TRUE(r);
    EXPECT_EQ(r->document, fault(kernel));
    EXPECT_EQ(r->status, "crashed");
    EXPECT_TRUE(r->sentence.starts_with("crashed: ")) << r->sentence;
    EXPECT_EQ(r->key, "");
    EXPECT_EQ(b->runs().wanted(), fault(kernel));
    EXPECT_EQ(b->runs().stale(fault(kernel)), "of kernel healthy; now: kernel " + std::string(kernel));
    expect_pictures_of(b, good);
    EXPECT_EQ(b->runs().report()->status, "crashed") << "what has been said stays said";
  }
  EXPECT_GE(b->link().status().deaths, 3);
  EXPECT_NE(b->link().status().last_death, "");
  EXPECT_TRUE(log_has(b, "engine: "));
  expect_works(b);
}

// What stands beside it may end the engine: the picture comes back, and it is not asked a second time.
TEST(WorkbenchFaults, AKernelBesideItThatCrashes) {
  test::Bench b(faulty_engine());
  Document good = fault("healthy");
  ASSERT_TRUE(b.run(good));
  Document d = good;
  d.compare_with = "call_abort";
  auto trouble = [&] {
    b->beside().want(d);
    const Beside* other = b->runs().picture() ? b->beside().of(d, *b->runs().picture()) : nullptr;
    return other && !other->trouble.empty() && !b->runs().running();
  };
  ASSERT_TRUE(b.until(trouble));
  expect_pictures_of(b, good);
  ASSERT_TRUE(b.until(trouble));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b->link().status().deaths, 1);
  EXPECT_EQ(b->beside().of(d, *b->runs().picture())->trouble, "it ended the engine when it ran here");
  expect_works(b);
}

TEST(WorkbenchFaults, TheSentenceNamesTheLine) {
  if (test::under_sanitizer) GTEST_SKIP() << "there it is the sanitizer's report that ends the engine";
  test::Bench b(faulty_engine());
  b->run(fault("wild_write"));
  ASSERT_TRUE(b.settle());
  int line = test::line_of("tests/app/engine/faulty.cu", "// FAULT wild_write");
  EXPECT_NE(b->runs().report()->sentence.find("faulty.cu:" + std::to_string(line)), std::string::npos)
      << b->runs().report()->sentence;
}

TEST(WorkbenchFaults, AKernelThatHangs) {
  test::Bench b(test::test_engine_with("CONVSCOPE_PATIENCE_S=1 CONVSCOPE_LIBDNNL=none"));
  Document good = fault("healthy");
  ASSERT_TRUE(b.run(good));
  b->run(fault("loop_for_ever"));
  ASSERT_TRUE(b.until([&] { return b->runs().report()->status == "hung"; }));
  EXPECT_TRUE(b->runs().report()->sentence.starts_with("hung: nothing has finished for 1 s"))
      << b->runs().report()->sentence;
  expect_pictures_of(b, good);
  EXPECT_EQ(b->runs().report()->status, "hung");
  expect_works(b);
}

TEST(WorkbenchFaults, AKernelThatThrowsIsAVerdict) {
  test::Bench b(faulty_engine());
  auto r = b.run(fault("throw_words"));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "crashed");
  EXPECT_EQ(b->link().status().deaths, 0);
  EXPECT_FALSE(r->failing) << "what was not compared has no figures";
  expect_works(b);
}

TEST(WorkbenchFaults, CancelEndsWhatRuns) {
  test::Bench b(faulty_engine());
  Document good = fault("healthy");
  ASSERT_TRUE(b.run(good));
  auto before = b->runs().report();
  Document slow = fault("slow", 4000);
  slow.problem.dilation = 5;
  b->run(slow);
  ASSERT_TRUE(b.until([&] { return b->link().status().phase != "waiting for the engine" || !b->runs().running(); }));
  b->cancel();
  ASSERT_TRUE(b.settle());
  EXPECT_FALSE(b->runs().running());
  EXPECT_EQ(b->runs().report(), before);
  EXPECT_TRUE(log_has(b, "cancelled"));
  expect_works(b);
}

TEST(WorkbenchFaults, CancelEndsAnExplanation) {
  test::Bench b(faulty_engine());
  Document slow = fault("slow", 2000);
  slow.problem.dilation = 3;
  b->explaining().want(slow, 0, 0, 0);
  b.until([] { return false; }, 0.1);
  b->cancel();
  EXPECT_FALSE(b->explaining().waits());
  test::Stopwatch watch;
  expect_works(b);
  // Two runs a tap of 6 s each lie ahead of it otherwise.
  EXPECT_LT(watch.seconds(), 8 * test::slowness);
}

// ---- killed ---------------------------------------------------------------------------------------------------------

TEST(WorkbenchFaults, KilledWhileItRuns) {
  test::Bench b(faulty_engine());
  Document good = fault("healthy");
  ASSERT_TRUE(b.run(good));
  Document slow = fault("slow", 1000);
  slow.problem.dilation = 5;
  b->run(slow);
  ASSERT_TRUE(b.until([&] { return b->link().status().phase == "running slow"; })) << b->link().status().phase;
  kill(b->link().pid(), SIGKILL);
  ASSERT_TRUE(b.until([&] { return b->runs().report()->status == "crashed"; }));
  EXPECT_NE(b->runs().report()->sentence.find("signal 9 (Killed)"), std::string::npos) << b->runs().report()->sentence;
  EXPECT_EQ(b->runs().report()->document, slow);
  expect_pictures_of(b, good);
  expect_works(b);
}

// The same document as the picture is of.
TEST(WorkbenchFaults, KilledWhileItRunsAgain) {
  test::Bench b(faulty_engine());
  Document slow = fault("slow", 150);
  ASSERT_TRUE(b.run(slow));
  ASSERT_TRUE(b.whole_tile(Map::kernel, Quantity::output));
  b->run(slow);
  ASSERT_TRUE(b.until([&] { return b->link().status().phase == "running slow"; }));
  kill(b->link().pid(), SIGKILL);
  ASSERT_TRUE(b.until([&] { return b->runs().report()->status == "crashed"; }));
  expect_pictures_of(b, slow);
  EXPECT_EQ(b->runs().report()->status, "crashed");
}

// Nothing runs: what is shown is made again when it is looked at.
TEST(WorkbenchFaults, KilledWhileIdle) {
  test::Bench b;
  Document d = test::quick_document();
  auto r = b.run(d);
  ASSERT_TRUE(r);
  ASSERT_TRUE(b.whole_tile(Map::kernel, Quantity::output));
  for (int i = 0; i < 3; i++) {
    kill(b->link().pid(), SIGKILL);
    ASSERT_TRUE(b.until([&] { return b->link().pid() == 0; }));
    const MapTile* t = b.whole_tile(Map::difference, i % 2 ? Quantity::ratio : Quantity::error);
    ASSERT_TRUE(t);
    b->pictures().want_numbers(0, 2, 0, 5 + i);
    b->pictures().want_statistics();
    ASSERT_TRUE(b.settle());
    EXPECT_TRUE(b->pictures().numbers() && b->pictures().numbers()->at(1, 4 + i));
    EXPECT_EQ(b->runs().report()->status, "right");
  }
  // No request by itself once everything has come.
  int starts = b->link().status().starts;
  b.until([] { return false; }, 0.05);
  EXPECT_EQ(b->link().status().starts, starts);
  EXPECT_EQ(b->link().waiting(), 0);
}

// ---- no engine, and such as make no sense ---------------------------------------------------------------------------

TEST(WorkbenchFaults, NoEngine) {
  for (const char* command : {"/nothing/here", "/dev/null", "true", "echo hello"}) {
    test::Bench b(command);
    auto r = b.run(test::quick_document());
    ASSERT_TRUE(r) << command;
    EXPECT_EQ(r->status, "not-run") << command;
    EXPECT_NE(r->sentence.find("its command must start `convscope engine`"), std::string::npos) << r->sentence;
    EXPECT_TRUE(log_has(b, "the engine does not start: ")) << command;
    EXPECT_EQ(b->runs().picture(), nullptr);
    b->pictures().want_statistics();
    b->pictures().want_hover({0, 0});
    b->sources().want("direct");
    b->explaining().want(test::quick_document(), 0, 0, 0);
    EXPECT_TRUE(b.settle()) << command;
    ASSERT_TRUE(b->sources().of("direct"));
    EXPECT_TRUE(b->sources().of("direct")->front().text.starts_with("// ")) << "the reason, as a comment";
  }
}

// Frames in order, with answers of another world in them: said in the log, and nothing breaks.
TEST(WorkbenchFaults, AnswersOfTheWrongTypes) {
  for (const char* mode : {"null", "numbers", "text", "lists", "objects", "random 1", "random 2", "random 3"}) {
    test::Bench b(test::program("odd_engine") + " " + mode);
    test::Random r(3);
    for (int i = 0; i < 30; i++) {
      b->run(test::small_document(r));
      b.settle();
      if (auto p = b->runs().picture())
        b->pictures().want_tile(Map::kernel, {p->key, Quantity::output, 0, 1, 0, 1, 1, 1, {}});
      b->pictures().want_numbers(0, 1, 0, 1);
      b->pictures().want_hover({0, 0});
      b->pictures().want_statistics();
      b->explaining().want(test::small_document(r), 0, 0, 0);
      b->pictures().find_failing({0, -1}, true, [](std::optional<ElementIndex>) {});
      b->sources().want("kernel " + std::to_string(i));
      b->inventory().ask();
      ASSERT_TRUE(b.settle()) << mode;
      if (const Statistics* s = b->pictures().statistics()) s->failing_at(0.5), s->ratio_quantile(0.5);
    }
    EXPECT_FALSE(b->runs().running());
  }
}

}  // namespace
}  // namespace convscope
