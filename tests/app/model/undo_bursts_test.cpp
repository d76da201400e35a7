// What one press of undo takes back.
#include "app/model/undo_bursts.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

// Keys as an editor tells of them, on one line.
struct Keys {
  UndoBursts bursts;
  size_t steps = 0, at = 0;
  double now = 0;

  void insert(const std::string& text, double pause = 0.1) {
    const TextPlace begin{0, at};
    at += text.size();
    bursts.made(++steps, {{true, begin, {0, at}, text}}, now += pause);
  }
  void type(const std::string& keys) {
    for (char c : keys) insert(std::string(1, c));
  }
  void backspace() {
    at--;
    bursts.made(++steps, {{false, {0, at}, {0, at + 1}, "x"}}, now += 0.1);
  }
  // The steps that begin one.
  std::string begins() const {
    std::string all;
    for (size_t i = 1; i <= steps; i++) all += bursts.begins(i) ? "|" : ".";
    return all;
  }
};

TEST(UndoBursts, AWordIsOne) {
  Keys k;
  k.type("sum += w;");
  EXPECT_EQ(k.begins(), "|...|..|.") << "a word begins behind blanks, and has those that follow";
}

TEST(UndoBursts, EndAtAPause) {
  Keys k;
  k.type("ab");
  k.insert("c", 1.1);
  k.insert("d", 0.9);
  EXPECT_EQ(k.begins(), "|.|.");
}

TEST(UndoBursts, EndWhereTheCaretWasMoved) {
  Keys k;
  k.type("ab");
  k.at = 0;
  k.type("cd");
  EXPECT_EQ(k.begins(), "|.|.");
}

TEST(UndoBursts, EndBetweenInsertingAndDeleting) {
  Keys k;
  k.type("abc");
  k.backspace(), k.backspace();
  k.type("d");
  EXPECT_EQ(k.begins(), "|..|.|");
  // Delete takes what stands behind the caret, which stays.
  for (int i = 0; i < 2; i++) k.bursts.made(++k.steps, {{false, {0, 5}, {0, 6}, "x"}}, k.now += 0.1);
  EXPECT_EQ(k.begins(), "|..|.||.");
}

TEST(UndoBursts, ANewLineAndAPasteStandAlone) {
  Keys k;
  k.type("a");
  k.insert("\n");
  k.type("b");
  k.insert("pasted");
  k.type("c");
  EXPECT_EQ(k.begins(), "|||||");
  k.insert("ß");
  EXPECT_EQ(k.begins(), "|||||.") << "one character, though of two bytes";
}

// Typed over a selection: what was there goes with the first key.
TEST(UndoBursts, ASelectionGoesWithTheWordInItsPlace) {
  Keys k;
  k.type("x ");
  k.bursts.made(++k.steps, {{false, {0, 2}, {0, 9}, "divided"}, {true, {0, 2}, {0, 3}, "m"}}, k.now += 0.1);
  k.at = 3;
  k.type("od");
  EXPECT_EQ(k.begins(), "|.|..");
}

TEST(UndoBursts, AreOfWhatWasMadeLast) {
  Keys k;
  k.type("abc");
  const std::vector<TextChange> c = {{true, {0, 2}, {0, 3}, "c"}};
  EXPECT_TRUE(k.bursts.has(3, c)) << "done again";
  EXPECT_FALSE(k.bursts.has(2, c));
  EXPECT_FALSE(k.bursts.has(4, c));
  // Undone down to the first, and something else typed.
  k.steps = 1, k.at = 1;
  k.insert(" "), k.insert("d");
  EXPECT_EQ(k.begins(), "|.|");
  EXPECT_TRUE(k.bursts.begins(4)) << "a step that is not known stands alone";
  k.bursts.clear();
  EXPECT_TRUE(k.bursts.begins(2));
  k.bursts.made(5, c, 0);  // those before were not seen
  EXPECT_TRUE(k.bursts.begins(5));
}

}  // namespace
}  // namespace convscope
