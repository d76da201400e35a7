// Undo and redo: one step a gesture, the same values back, and ten thousand random commands.
#include "app/model/history.h"

#include <gtest/gtest.h>

#include "tests/app/model/documents.h"
#include "tests/support.h"

namespace convscope {
namespace {

Command length(int64_t value, uint64_t gesture = 0) {
  ConvProblem p = Document().problem;
  p.length = value;
  return {SetProblem{p}, gesture};
}

TEST(History, UndoAndRedoGiveTheSameValues) {
  History h;
  EXPECT_FALSE(h.can_undo());
  EXPECT_FALSE(h.undo());
  EXPECT_EQ(h.undo_text(), "");
  std::vector<Document> was{h.now()};
  for (const Command& c : {length(10), Command{SetKernel{"tiled"}}, Command{SetSeed{7}},
                           Command{SetSource{Role::input, test::file_source("x.npy", {1, 32, 10})}}}) {
    ASSERT_TRUE(h.apply(c));
    was.push_back(h.now());
  }
  EXPECT_EQ(h.undo_text(), "input values");
  for (size_t i = was.size() - 1; i-- > 0;) {
    ASSERT_TRUE(h.undo());
    EXPECT_EQ(h.now(), was[i]);
  }
  EXPECT_FALSE(h.undo());
  EXPECT_EQ(h.redo_text(), describe_change(was[0], was[1]));
  for (size_t i = 1; i < was.size(); i++) {
    ASSERT_TRUE(h.redo());
    EXPECT_EQ(h.now(), was[i]);
  }
  EXPECT_FALSE(h.redo());
}

TEST(History, WhatChangesNothingIsNoStep) {
  History h;
  EXPECT_FALSE(h.apply({SetKernel{h.now().kernel}}));
  EXPECT_FALSE(h.can_undo());
  h.apply(length(10));
  h.undo();
  // … and does not end what can be done again.
  EXPECT_FALSE(h.apply({SetKernel{h.now().kernel}}));
  EXPECT_TRUE(h.can_redo());
}

TEST(History, ARefusedCommandLeavesEverything) {
  History h;
  h.apply(length(10));
  h.apply(length(11));
  h.undo();
  Document now = h.now();
  EXPECT_THROW(h.apply(length(0)), InputError);
  EXPECT_EQ(h.now(), now);
  EXPECT_TRUE(h.can_undo() && h.can_redo());
}

TEST(History, AChangeAfterUndoEndsTheFuture) {
  History h;
  h.apply(length(10));
  h.undo();
  h.apply(length(12));
  EXPECT_FALSE(h.can_redo());
  h.undo();
  EXPECT_EQ(h.now(), Document());
}

TEST(History, AGestureIsOneStep) {
  History h;
  h.apply(length(9));
  for (int64_t v = 10; v < 60; v++) h.apply(length(v, 5));
  for (int64_t v = 70; v < 80; v++) h.apply(length(v, 6));
  h.undo();
  EXPECT_EQ(h.now().problem.length, 59);
  h.undo();
  EXPECT_EQ(h.now().problem.length, 9);
  h.undo();
  EXPECT_EQ(h.now(), Document());
  h.redo();
  h.redo();
  EXPECT_EQ(h.now().problem.length, 59);
}

TEST(History, AGestureDoesNotGoOnAcrossOthers) {
  History h;
  h.apply(length(10, 5));
  h.apply({SetKernel{"tiled"}});
  h.apply(length(11, 5));
  h.undo();
  EXPECT_EQ(h.now().problem.length, 10);
  EXPECT_EQ(h.now().kernel, "tiled");
  // Nor across undo.
  h.apply(length(12, 8));
  h.undo();
  h.apply(length(13, 8));
  h.undo();
  EXPECT_EQ(h.now().problem.length, 10);
}

// A slider that is pulled back to where it was.
TEST(History, AGestureThatEndsWhereItBeganIsNoStep) {
  History h;
  h.apply(length(9));
  for (int64_t v : {10, 11, 10, 9}) h.apply(length(v, 5));
  EXPECT_EQ(h.undo_text(), "length 4096 → 9");
  h.undo();
  EXPECT_EQ(h.now(), Document());
  // It may go on after that.
  History g;
  g.apply(length(9));
  for (int64_t v : {10, 9, 12, 13}) g.apply(length(v, 5));
  g.undo();
  EXPECT_EQ(g.now().problem.length, 9);
  g.undo();
  EXPECT_EQ(g.now(), Document());
}

TEST(History, KeepsFiveHundredSteps) {
  History h;
  for (int64_t v = 1; v <= 600; v++) h.apply({SetSeed{static_cast<uint64_t>(1000 + v)}});
  int steps = 0;
  while (h.undo()) steps++;
  EXPECT_EQ(steps, 500);
  EXPECT_EQ(h.now().inputs.seed, 1100u);
  while (h.redo()) steps--;
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(h.now().inputs.seed, 1600u);
}

// ---- ten thousand commands -----------------------------------------------------------------------------------------

// What a history must be, said another way: all documents of a session in a row, and where one stands.
struct Model {
  std::vector<Document> all{Document()};
  size_t at = 0, first = 0;  // first: the oldest that is kept
  uint64_t gesture = 0;

  void applied(const Document& d, uint64_t g) {
    bool same = g && g == gesture && at > first;
    all.resize(at + (same ? 0 : 1));
    all.push_back(d);
    at = all.size() - 1;
    first = std::max(first, at > 500 ? at - 500 : 0);
    gesture = g;
    // Back where the gesture began.
    if (same && all[at] == all[at - 1]) all.pop_back(), at--, gesture = 0;
  }
  bool undo() { return at > first && (at--, gesture = 0, true); }
  bool redo() { return at + 1 < all.size() && (at++, gesture = 0, true); }
};

TEST(History, TenThousandRandomCommands) {
  test::Random r(20);
  History h;
  Model m;
  int taken = 0, refused = 0, undone = 0;
  uint64_t gesture = 1;
  for (int i = 0; i < 10000; i++) {
    if (r() % 5 == 0) {
      for (int64_t n = test::between(r, 1, 12); n > 0; n--) {
        bool back = r() % 3;
        bool moved = back ? h.undo() : h.redo();
        EXPECT_EQ(moved, back ? m.undo() : m.redo());
        undone += moved;
        ASSERT_EQ(h.now(), m.all[m.at]) << "command " << i;
      }
      EXPECT_EQ(h.can_undo(), m.at > m.first);
      EXPECT_EQ(h.can_redo(), m.at + 1 < m.all.size());
    }
    if (r() % 4 == 0) gesture++;
    Command c{test::random_change(r, h.now()), r() % 2 ? gesture : 0};
    const Document before = h.now();
    try {
      if (h.apply(c))
        taken++, m.applied(h.now(), c.gesture);
      else
        EXPECT_EQ(h.now(), before);
    } catch (const InputError& e) {
      refused++;
      EXPECT_FALSE(e.field().empty());
      EXPECT_FALSE(e.rule().empty());
      ASSERT_EQ(h.now(), before) << e.what();
    }
    ASSERT_EQ(test::why_illegal(h.now()), "") << "command " << i;
    ASSERT_EQ(h.now(), m.all[m.at]) << "command " << i;
    if (i % 1000 != 999) continue;
    // All the way back, and all the way again.
    while (h.undo()) EXPECT_EQ(test::why_illegal(h.now()), "");
    EXPECT_EQ(h.now(), m.all[m.first]);
    while (h.redo()) EXPECT_EQ(test::why_illegal(h.now()), "");
    EXPECT_EQ(h.now(), m.all.back());
    m.at = m.all.size() - 1, m.gesture = 0;
  }
  // Both happened often, or the test says little.
  EXPECT_GT(taken, 3000);
  EXPECT_GT(refused, 2000);
  EXPECT_GT(undone, 3000);
}

// With every command a step of its own, the first value is the very first, as long as there are no more steps than are
// kept.
TEST(History, AllTheWayBackIsTheBeginning) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    test::Random r(seed);
    History h;
    for (int i = 0; i < 450; i++) try {
        h.apply({test::random_change(r, h.now())});
      } catch (const InputError&) {
      }
    const Document last = h.now();
    while (h.undo()) {
    }
    EXPECT_EQ(h.now(), Document());
    while (h.redo()) {
    }
    EXPECT_EQ(h.now(), last);
  }
}

}  // namespace
}  // namespace convscope
