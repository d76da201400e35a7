// Words in a text: where they stand, in which order they are gone through, and others in their place.
#include "app/model/text_search.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

std::string found(std::string_view text, const TextQuery& query) {
  std::string all;
  for (const auto& m : matches_in(text, query))
    all += std::to_string(m.begin.line) + ":" + std::to_string(m.begin.at) + "-" + std::to_string(m.end.at) + " ";
  return all;
}

TEST(TextSearch, FindsEveryPlaceInOrder) {
  EXPECT_EQ(found("int i = ii;\n\ni++", {"i"}), "0:0-1 0:4-5 0:8-9 0:9-10 2:0-1 ");
  EXPECT_EQ(found("aaaa", {"aa"}), "0:0-2 0:2-4 ") << "none overlaps another";
  EXPECT_EQ(found("Sum sum SUM", {"sum"}), "0:0-3 0:4-7 0:8-11 ");
  EXPECT_EQ(found("Sum sum SUM", {"sum", true}), "0:4-7 ");
  for (const char* none : {"", "x", "a\nb"}) EXPECT_EQ(found("a", {none}), "") << none;
  EXPECT_EQ(found("", {"a"}), "");
  EXPECT_EQ(found("a\n", {"a"}), "0:0-1 ") << "nothing stands behind the last end of a line";
}

TEST(TextSearch, WholeWordsAreThoseOfIdentifiers) {
  const TextQuery word{"k", true, true};
  EXPECT_EQ(found("k kk _k k_ k1 (k) k*k", word), "0:0-1 0:15-16 0:18-19 0:20-21 ");
  EXPECT_EQ(found("a->b b->c", {"->", true, true}), "0:1-3 0:6-8 ") << "what is no word has no longer one around it";
}

TEST(TextSearch, CountsCharactersAndNotBytes) {
  EXPECT_EQ(found("// größer × k", {"k"}), "0:12-13 ");
  EXPECT_EQ(found("×××", {"×"}), "0:0-1 0:1-2 0:2-3 ");
  EXPECT_EQ(found("Ä ä", {"ä"}), "0:2-3 ") << "only letters of ASCII stand for both cases";
}

TEST(TextSearch, GoesRoundTheEnds) {
  const auto all = matches_in("a a\na", {"a"});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(match_from(all, {0, 0}), 0u);
  EXPECT_EQ(match_from(all, {0, 1}), 1u);
  EXPECT_EQ(match_from(all, {0, 3}), 2u);
  EXPECT_EQ(match_from(all, {1, 1}), 0u) << "behind the last one comes the first";
  EXPECT_EQ(match_before(all, {1, 0}), 1u);
  EXPECT_EQ(match_before(all, {0, 0}), 2u) << "before the first one comes the last";
  EXPECT_EQ(match_from({}, {0, 0}), std::nullopt);
  EXPECT_EQ(match_before({}, {0, 0}), std::nullopt);
}

TEST(TextSearch, ReplacesWhatItFinds) {
  EXPECT_EQ(replaced_in("i = ii + I;", {"i"}, "jj"), "jj = jjjj + jj;");
  EXPECT_EQ(replaced_in("i = ii + I;", {"i", true, true}, ""), " = ii + I;");
  EXPECT_EQ(replaced_in("i", {""}, "x"), "i");
  EXPECT_EQ(replaced_in("größe", {"ß"}, "ss"), "grösse");
}

TEST(TextSearch, KnowsTheWordAtACaret) {
  auto word = [](const char* line, size_t at) {
    const WordHere here = word_at(line, at);
    return here.word.empty() ? "" : here.word + " " + std::to_string(here.begin);
  };
  EXPECT_EQ(word("int t_1 = j;", 4), "t_1 4");
  EXPECT_EQ(word("int t_1 = j;", 6), "t_1 4");
  EXPECT_EQ(word("int t_1 = j;", 7), "t_1 4") << "it stands behind it";
  EXPECT_EQ(word("int t_1 = j;", 8), "");
  EXPECT_EQ(word("×× k", 4), "k 3");
  EXPECT_EQ(word("", 0), "");
  EXPECT_EQ(word("a", 9), "a 0") << "beyond the end is its end";
}

}  // namespace
}  // namespace convscope
