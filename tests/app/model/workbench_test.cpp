// The workbench with the real engine: runs, pictures, numbers, statistics, explanations, sources.
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/problem/counts.h"
#include "tests/app/model/benches.h"

namespace convscope {
namespace {

using Map = Pictures::Map;

TEST(Workbench, PartialThenFinal) {
  test::Bench b(test::full_engine());
  Document d = test::quick_document(4000, "direct");
  b->run(d);
  EXPECT_TRUE(b->runs().running());
  EXPECT_EQ(b->runs().wanted(), d);
  bool partial = false;
  ASSERT_TRUE(b.until([&] {
    auto r = b->runs().report();
    if (r && !r->final) {
      partial = true;
      EXPECT_EQ(r->status, "") << "no verdict yet";
      EXPECT_FALSE(r->timing.median_ms);
      EXPECT_NE(r->key, "");
      EXPECT_EQ(b->runs().picture(), r) << "but pictures";
      EXPECT_TRUE(b->runs().running());
    }
    return r && r->final;
  }));
  EXPECT_TRUE(partial);
  auto r = b->runs().report();
  EXPECT_TRUE(r->right()) << r->sentence;
  EXPECT_EQ(r->document, d);
  EXPECT_EQ(b->runs().picture(), r);
  EXPECT_EQ(r->failing, 0);
  EXPECT_FALSE(b->runs().running());
  EXPECT_GT(b->runs().last_picture_ms(), 0);
  EXPECT_EQ(b->runs().stale(d), "");
  EXPECT_EQ(b->link().status().state, EngineStatus::State::idle);
}

TEST(Workbench, ListsKernelsAndDevices) {
  test::Bench b;
  ASSERT_TRUE(b.settle());
  std::set<std::string> names;
  for (const auto& k : b->inventory().kernels()) names.insert(k.name);
  for (const char* name : {"S0", "S4", "direct", "tiled"}) EXPECT_TRUE(names.count(name)) << name;
  EXPECT_TRUE(b->inventory().info().is_object());
  EXPECT_FALSE(b->inventory().info().empty());
  EXPECT_EQ(b->link().status().state, EngineStatus::State::idle);
}

TEST(Workbench, TheNewestOfFiftyWins) {
  test::Bench b;
  test::Random r(1);
  std::vector<Document> posted;
  uint64_t seen = 0;
  for (int i = 0; i < 50; i++) {
    posted.push_back(test::quick_document(20 + i));
    b->run(posted.back());
    if (r() % 3 == 0) b->drain();
    if (r() % 5 == 0) b.until([] { return false; }, 0.003);
    auto report = b->runs().report();
    if (!report) continue;
    EXPECT_GE(report->serial, seen) << "never an older one again";
    seen = report->serial;
    EXPECT_NE(std::find(posted.begin(), posted.end(), report->document), posted.end());
  }
  ASSERT_TRUE(b.settle());
  ASSERT_TRUE(b->runs().report());
  EXPECT_EQ(b->runs().report()->document, posted.back());
  EXPECT_TRUE(b->runs().report()->final && b->runs().report()->right());
  EXPECT_EQ(b->runs().picture(), b->runs().report());
  EXPECT_EQ(b->link().status().deaths, 0);
}

TEST(Workbench, WhatIsStaleSaysSo) {
  test::Bench b;
  Document d = test::quick_document();
  ASSERT_TRUE(b.run(d));
  Document other = d;
  other.kernel = "tiled";
  EXPECT_EQ(b->runs().stale(other), "of kernel direct; now: kernel tiled");
  b->run(other);
  EXPECT_EQ(b->runs().stale(other), "computing");
  EXPECT_EQ(b->runs().stale(d), "") << "the picture is still of this one";
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b->runs().stale(other), "");
  // Another tolerance is only another look.
  other.atol = 7;
  EXPECT_EQ(b->runs().stale(other), "");
}

// ---- pictures and numbers of a result -------------------------------------------------------------------------------

class WorkbenchPictures : public testing::Test {
 protected:
  void SetUp() override {
    document_ = test::quick_document(60, "S4");
    document_.problem.dilation = 2;
    report_ = b_.run(document_);
    ASSERT_TRUE(report_);
    ASSERT_EQ(report_->status, "wrong") << report_->sentence;
    ASSERT_TRUE(b_.settle()) << "why it is wrong";
  }
  test::Bench b_;
  Document document_;
  std::shared_ptr<const Report> report_;
};

TEST_F(WorkbenchPictures, TilesAndNumbersAreTheSameElements) {
  b_->pictures().want_numbers(0, report_->rows(), 0, report_->columns());
  ASSERT_TRUE(b_.settle());
  const NumberBlock* numbers = b_->pictures().numbers();
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->key, report_->key);
  int64_t failing = 0;
  for (int64_t row = 0; row < report_->rows(); row++)
    for (int64_t column = 0; column < report_->columns(); column++) failing += !(numbers->at(row, column)[3] <= 1);
  EXPECT_EQ(failing, report_->failing);
  EXPECT_EQ(numbers->at(report_->rows(), 0), nullptr);
  const Quantity quantities[] = {Quantity::output, Quantity::reference, Quantity::error, Quantity::ratio};
  for (Quantity q : quantities) {
    const MapTile* t = b_.whole_tile(Map::kernel, q);
    ASSERT_TRUE(t);
    ASSERT_EQ(t->cells.size(), static_cast<size_t>(report_->elements));
    ASSERT_EQ(t->pixels.size(), t->cells.size());
    for (int64_t row = 0; row < report_->rows(); row++)
      for (int64_t column = 0; column < report_->columns(); column++) {
        const Cell& c = t->cells[static_cast<size_t>(row * report_->columns() + column)];
        double v = numbers->at(row, column)[static_cast<size_t>(q)];
        EXPECT_EQ(c.flags & flag_failing ? 1 : 0, numbers->at(row, column)[3] <= 1 ? 0 : 1);
        if (!std::isfinite(v)) continue;
        ASSERT_EQ(c.minimum, static_cast<float>(v)) << row << " " << column;
        ASSERT_EQ(c.maximum, static_cast<float>(v));
      }
    EXPECT_GT(t->serial, 0u);
    EXPECT_GT(t->latency_ms, 0);
  }
}

TEST_F(WorkbenchPictures, EqualWishesAreOneRequest) {
  TileWish w{report_->key, Quantity::ratio, 0, 3, 0, 10, 10, 3, {}};
  b_->pictures().want_tile(Map::difference, w);
  EXPECT_EQ(b_->link().waiting(), 1);
  for (int i = 0; i < 10; i++) b_->pictures().want_tile(Map::difference, w);
  EXPECT_EQ(b_->link().waiting(), 1);
  ASSERT_TRUE(b_.settle());
  uint64_t serial = b_->pictures().tile(Map::difference)->serial;
  b_->pictures().want_tile(Map::difference, w);
  b_.settle();
  EXPECT_EQ(b_->pictures().tile(Map::difference)->serial, serial);
  // Nothing is asked for that cannot be.
  w.width = 0;
  b_->pictures().want_tile(Map::difference, w);
  b_->pictures().want_numbers(5, 5, 0, 9);
  b_->pictures().want_numbers(0, 1000, 0, 1000);
  EXPECT_EQ(b_->link().waiting(), 0);
}

// What the engine refuses is not asked again at every frame.
TEST_F(WorkbenchPictures, ARefusedWishIsNotRepeated) {
  TileWish w{report_->key, Quantity::ratio, -5, 3, 0, 10, 10, 3, {}};
  int starts = b_->link().status().starts, asked = 0;
  for (int i = 0; i < 50; i++) {
    b_->pictures().want_tile(Map::difference, w);
    asked += b_->link().waiting();
    ASSERT_TRUE(b_.settle());
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(b_->link().status().starts, starts);
  EXPECT_EQ(b_->runs().report(), report_) << "nor is anything run again for it";
}

TEST_F(WorkbenchPictures, Hover) {
  b_->pictures().want_hover({2, 17});
  ASSERT_TRUE(b_.settle());
  ASSERT_TRUE(b_->pictures().hover() && b_->pictures().hover()->at(2, 17));
  const double* v = b_->pictures().hover()->at(2, 17);
  EXPECT_NEAR(v[0] - v[1], v[2], 1e-6);
  EXPECT_EQ(b_->pictures().hover()->at(2, 18), nullptr);
}

TEST_F(WorkbenchPictures, Statistics) {
  b_->pictures().want_statistics();
  ASSERT_TRUE(b_.settle());
  const Statistics* s = b_->pictures().statistics();
  ASSERT_TRUE(s);
  EXPECT_EQ(s->key, report_->key);
  EXPECT_EQ(s->elements, report_->elements);
  for (const auto& g : report_->gates) {
    if (g.atol == g.rtol) {
      EXPECT_EQ(s->failing_at(g.atol), static_cast<double>(*g.failing)) << "two ways to count the same elements";
    }
  }
  // Not twice for one result.
  b_->pictures().want_statistics();
  EXPECT_EQ(b_->link().waiting(), 0);
}

TEST_F(WorkbenchPictures, FindsEveryFailingElementBothWays) {
  auto walk = [&](bool forward) {
    std::vector<ElementIndex> found;
    ElementIndex from{forward ? 0 : report_->rows() - 1, forward ? -1 : report_->columns()};
    for (bool more = true; more;) {
      bool answered = false;
      b_->pictures().find_failing(from, forward, [&](std::optional<ElementIndex> at) {
        answered = true;
        more = at.has_value();
        if (at) found.push_back(from = *at);
      });
      if (!b_.until([&] { return answered; })) break;
    }
    return found;
  };
  auto forward = walk(true), backward = walk(false);
  ASSERT_EQ(static_cast<int64_t>(forward.size()), *report_->failing);
  EXPECT_EQ(forward.front(),
            (ElementIndex{report_->first_failing->n * 3 + report_->first_failing->co, report_->first_failing->j}));
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

// Two questions at once: the older one has no answer, and that is not "none fails".
TEST_F(WorkbenchPictures, AnOvertakenSearchSaysNothing) {
  int answers = 0, none = 0;
  for (int i = 0; i < 20; i++)
    b_->pictures().find_failing({0, -1}, true, [&](std::optional<ElementIndex> at) { answers++, none += !at; });
  ASSERT_TRUE(b_.settle());
  EXPECT_GE(answers, 1);
  EXPECT_EQ(none, 0);
}

TEST_F(WorkbenchPictures, ExplanationAndTrace) {
  const auto& first = *report_->first_failing;
  b_->explaining().want(document_, first.n, first.co, first.j);
  EXPECT_TRUE(b_->explaining().waits());
  ASSERT_TRUE(b_.settle(60 * test::slowness));
  EXPECT_FALSE(b_->explaining().waits());
  const Explained* e = b_->explaining().explained();
  ASSERT_TRUE(e) << b_->explaining().trouble();
  EXPECT_EQ(e->document, document_);
  EXPECT_EQ(e->j, first.j);
  EXPECT_EQ(e->got, first.got);
  EXPECT_NEAR(e->expected, first.expected, 1e-6);
  double sum = e->bias;
  for (const auto& t : e->taps) sum += t.expected_sum;
  EXPECT_NEAR(sum, e->expected, 1e-5);
  const Traced* t = b_->explaining().traced();
  ASSERT_TRUE(t);
  EXPECT_EQ(t->j, first.j);
  if (!t->reason.empty()) return;  // a build without tracing
  ASSERT_EQ(t->writers.size(), 1u);
  EXPECT_TRUE(t->writers[0].file.ends_with("s4.cu"));
}

// With the verdict on a wrong kernel comes which term of its index is wrong; a right one is not asked.
TEST(Workbench, SaysWhyAKernelIsWrong) {
  test::Bench b;
  Document d = test::quick_document(60, "S0");
  d.problem.padding = 1, d.problem.stride = 2;
  auto r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "wrong") << r->sentence;
  ASSERT_TRUE(b.until([&] { return b->causes().of(*r) != nullptr; }));
  const Cause& c = *b->causes().of(*r);
  EXPECT_EQ(c.formula, "i = (j − k·d)/s");
  EXPECT_EQ(c.right_formula, "i = (j + p − k·d)/s");
  EXPECT_EQ(c.faults.front(), "the padding is missing");
  EXPECT_EQ(c.problems, 5);
  EXPECT_NE(c.example, "");
  d.kernel = "tiled";
  auto right = b.run(d);
  ASSERT_TRUE(right && right->right());
  ASSERT_TRUE(b.settle());
  EXPECT_FALSE(b->causes().of(*right));
  EXPECT_FALSE(b->causes().asks_for(*right));
  // Unless somebody asks.
  ASSERT_TRUE(b->causes().can_ask());
  b->causes().want(*right, true);
  ASSERT_TRUE(b.until([&] { return b->causes().of(*right) != nullptr; }));
  EXPECT_EQ(b->causes().of(*right)->sentence, "");
  EXPECT_TRUE(b->causes().of(*right)->reason.starts_with("every product is the definition's on 5 small problems"));
  // An exhibit where its fault cannot be seen.
  d.kernel = "S0", d.problem.padding = d.problem.output_padding = 0;
  auto lucky = b.run(d);
  ASSERT_TRUE(lucky && lucky->right()) << lucky->sentence;
  ASSERT_TRUE(b.until([&] { return b->causes().of(*lucky) != nullptr; }));
  EXPECT_TRUE(b->causes().of(*lucky)->sentence.starts_with("right here, but not in general: it takes i = (j − k·d)/s"))
      << b->causes().of(*lucky)->sentence;
}

TEST_F(WorkbenchPictures, AnExplanationThatCannotBeSaysWhy) {
  b_->explaining().want(document_, 0, 0, report_->columns());
  ASSERT_TRUE(b_.settle());
  EXPECT_NE(b_->explaining().trouble().find("j"), std::string::npos);
  EXPECT_EQ(b_->explaining().explained(), nullptr);
  EXPECT_FALSE(b_->explaining().waits());
}

TEST_F(WorkbenchPictures, Sources) {
  EXPECT_EQ(b_->sources().of("direct"), nullptr);
  b_->sources().want("direct");
  b_->sources().want("no such kernel");
  b_->sources().want("");
  ASSERT_TRUE(b_.settle());
  ASSERT_TRUE(b_->sources().of("direct"));
  EXPECT_NE(b_->sources().of("direct")->front().text.find("CONVSCOPE_KERNEL(direct)"), std::string::npos);
  ASSERT_TRUE(b_->sources().of("no such kernel"));
  EXPECT_TRUE(b_->sources().of("no such kernel")->front().text.starts_with("// ")) << "the reason, as a comment";
  b_->sources().want("direct");
  EXPECT_EQ(b_->link().waiting(), 0);
}

// ---- what a document may be -----------------------------------------------------------------------------------------

TEST(Workbench, AnySeedAndAnyFileName) {
  test::Bench b;
  Document d = test::quick_document();
  d.inputs.seed = ~uint64_t{0};
  auto r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->right()) << r->sentence;
  // A file's name is bytes, not text.
  d.inputs.x = test::file_source("\xff\xfe.npy", {1, 2, 40});
  r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->right()) << r->sentence;
}

TEST(Workbench, AKernelThatDoesNotSupportIt) {
  test::Bench b;
  Document d = test::quick_document();
  ASSERT_TRUE(b.run(d));
  auto good = b->runs().picture();
  d.kernel = "S4";
  d.problem.dtype = DType::f64;
  auto r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "not-run");
  EXPECT_NE(r->sentence.find("f32"), std::string::npos) << r->sentence;
  EXPECT_EQ(b->runs().picture(), good) << "the last picture stays";
  d.kernel = "no such kernel";
  r = b.run(d);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->status, "not-run");
  EXPECT_NE(r->sentence.find("no such kernel"), std::string::npos) << r->sentence;
}

// ---- profiles -----------------------------------------------------------------------------------------------------

TEST(Workbench, ProfilesOnTheEmulator) {
  test::Bench b;
  Document d = test::quick_document(40, "tiled");
  ASSERT_TRUE(b.run(d));
  b->measuring().want_profile(d, false);
  EXPECT_TRUE(b->measuring().waits());
  ASSERT_TRUE(b.until([&] { return !b->measuring().waits(); }));
  ASSERT_TRUE(b->measuring().profile()) << b->measuring().trouble();
  const Profile& p = *b->measuring().profile();
  EXPECT_EQ(p.document, d);
  EXPECT_EQ(p.kernel, "tiled");
  EXPECT_EQ(p.device_kind, "emulator");
  EXPECT_FALSE(p.sentence.empty());
  if (p.gap.find("no traced build") == std::string::npos && p.gap.find("libconvscope_traced") == std::string::npos) {
    EXPECT_TRUE(p.counted_by.starts_with("emulated")) << p.counted_by << p.gap;
    EXPECT_FALSE(p.values.empty());
  }
  EXPECT_EQ(p.headlines.size(), 12u);
  for (const auto& h : p.headlines) EXPECT_NE(h.value.has_value(), !h.reason.empty()) << h.name;
  EXPECT_GT(p.ceilings.memory_gbs, 0);
  EXPECT_TRUE(p.points.empty());
  EXPECT_FALSE(p.roofline_reason.empty());
  // Registers and the like are in the device code, where the program has one.
  EXPECT_NE(p.launches.empty(), p.launches_reason.empty());
  for (const auto& l : p.launches) {
    EXPECT_TRUE(l.source.starts_with("the device code for sm_")) << l.source;
    EXPECT_GT(l.registers.value_or(0), 0);
    EXPECT_GT(l.occupancy_pct.value_or(0), 0);
  }
  // Another one is the next of the trail; the trail has an end.
  for (int i = 0; i < 13; i++) {
    b->measuring().want_profile(d, false);
    ASSERT_TRUE(b.until([&] { return !b->measuring().waits(); }));
  }
  EXPECT_EQ(b->measuring().trail().size(), 12u);
}

TEST(Workbench, ARunGoesBeforeAProfile) {
  test::Bench b;
  Document large = test::quick_document(200000, "tiled"), small = test::quick_document(40, "direct");
  large.problem.in_channels = large.problem.out_channels = 16;
  ASSERT_TRUE(b.run(small));
  b->measuring().want_profile(large, false);
  EXPECT_TRUE(b->measuring().waits());
  ASSERT_TRUE(b.run(small));
  EXPECT_FALSE(b->measuring().waits());
  ASSERT_TRUE(b.settle());
  EXPECT_FALSE(b->measuring().profile()) << "it was not waited for";
  EXPECT_EQ(b->measuring().trouble(), "");
}

TEST(Workbench, AProfileThatCannotBeSaysWhy) {
  test::Bench b;
  Document d = test::quick_document();
  ASSERT_TRUE(b.run(d));
  d.kernel = "no_such_kernel";
  b->measuring().want_profile(d, true);
  ASSERT_TRUE(b.until([&] { return !b->measuring().waits(); }));
  EXPECT_FALSE(b->measuring().profile());
  EXPECT_NE(b->measuring().trouble().find("no_such_kernel"), std::string::npos) << b->measuring().trouble();
}

TEST(Workbench, AnotherKernelStandsBesideIt) {
  test::Bench b;
  Document d = test::quick_document(60, "S4");
  d.problem.stride = 2, d.problem.padding = 1;
  ASSERT_TRUE(b.run(d));
  b->beside().want(d);
  EXPECT_FALSE(b->beside().waits()) << "the oracle needs no run";
  d.compare_with = "direct";
  auto comes = [&] {
    return b.until([&] {
      b->beside().want(d);
      return b->beside().of(d, *b->runs().report()) != nullptr;
    });
  };
  ASSERT_TRUE(comes());
  const Beside* other = b->beside().of(d, *b->runs().report());
  EXPECT_EQ(other->trouble, "");
  EXPECT_EQ(other->beyond, b->runs().report()->failing);
  EXPECT_EQ(other->elements, b->runs().report()->elements);
  Document oracle = d;
  oracle.compare_with = oracle_name;
  EXPECT_FALSE(b->beside().of(oracle, *b->runs().report()));
  // Of the next result it is none until it has been asked for anew.
  d.problem.length = 61;
  ASSERT_TRUE(b.run(d));
  EXPECT_FALSE(b->beside().of(d, *b->runs().report()));
  ASSERT_TRUE(comes());
  EXPECT_EQ(b->beside().of(d, *b->runs().report())->elements, b->runs().report()->elements);
  // What cannot stand there says why.
  d.compare_with = "held_16bit";
  ASSERT_TRUE(comes());
  EXPECT_NE(b->beside().of(d, *b->runs().report())->trouble.find("takes f16 and bf16 only"), std::string::npos)
      << b->beside().of(d, *b->runs().report())->trouble;
}

}  // namespace
}  // namespace convscope
