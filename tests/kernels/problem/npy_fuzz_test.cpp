// Arbitrary bytes as array files: they are read, or refused by an InputError. Under AddressSanitizer and
// UndefinedBehaviorSanitizer this also shows that nothing is read outside the file or written outside the tensor.
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "tests/kernels/problem/array_files.h"
#include "tests/support.h"

namespace convscope {
namespace {

using namespace test;

struct Outcome {
  int read = 0, refused = 0;
  double sum = 0;
};

// Whatever else is thrown fails the test.
template <class F>
void attempt(Outcome& outcome, F&& parse) {
  try {
    HostTensor t = parse();
    ASSERT_LE(t.shape.size(), 8u);
    ASSERT_EQ(t.bytes->size(), t.size_bytes());
    for (int64_t e = 0; e < t.elements(); e++)
      if (std::isfinite(t.at(e))) outcome.sum += std::fabs(t.at(e)) < 1 ? t.at(e) : 1;
    outcome.read++;
  } catch (const InputError& e) {
    ASSERT_EQ(e.field(), e.field() == "memory" ? "memory" : "input");
    ASSERT_FALSE(e.rule().empty());
    outcome.refused++;
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t n) { return random_() % n; }

  std::string mutate(std::string s) {
    for (uint64_t times = 1 + below(4); times--;) {
      switch (below(8)) {
        case 0:
          change(s, [&](char& c) { c = static_cast<char>(random_()); });
          break;
        case 1:
          change(s, [&](char& c) { c = static_cast<char>(c ^ 1 << below(8)); });
          break;
        case 2:
          s.resize(below(s.size() + 1));
          break;
        case 3:
          s.insert(below(s.size() + 1), std::string(below(20), static_cast<char>(random_())));
          break;
        case 4:
          s.erase(below(s.size() + 1), below(20));
          break;
        case 5:
          number(s);
          break;
        case 6:
          word(s);
          break;
        default: {  // a part of it once more, somewhere else
          auto part = s.substr(below(s.size() + 1), below(64));
          s.insert(below(s.size() + 1), part);
        }
      }
    }
    return s;
  }
  std::string noise(size_t bytes) {
    std::string s(bytes, '\0');
    for (auto& c : s) c = static_cast<char>(random_());
    return s;
  }

 private:
  template <class F>
  void change(std::string& s, F&& f) {
    if (!s.empty()) f(s[below(s.size())]);
  }
  // A number at an edge, in place of two to eight bytes: sizes, counts and offsets are such.
  void number(std::string& s) {
    static const uint64_t edges[] = {0,          1,          0x7fff,       0xffff,           0x7fffffff,
                                     0xfffffffe, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63};
    auto bytes = little(edges[below(std::size(edges))], 2 << below(3));
    if (s.size() >= bytes.size()) s.replace(below(s.size() - bytes.size() + 1), bytes.size(), bytes);
  }
  // Words of a header, where a header may be.
  void word(std::string& s) {
    static const char* words[] = {
        "(", ")",  ",",  "'", "True", "False", "'descr': ", "'shape': ", "<f8", ">f2", "{", "}", "9223372036854775807",
        "0", "-1", "1e9"};
    std::string w = words[below(std::size(words))];
    s.replace(std::min<size_t>(s.size(), 10 + below(80)), below(10), w);
  }
  std::mt19937_64 random_;
};

constexpr int most_rounds = 1000000;
// A second of rounds, and as many as tell something on a machine that has other work.
bool goes_on(std::chrono::steady_clock::time_point start, int round, int least) {
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return round < most_rounds && (spent < 1 || round <= least);
}

std::vector<std::string> corpus(const char* ending) {
  std::vector<std::string> files;
  for (const auto& path : project_files("tests/data/npy", "", ending)) files.push_back(text_file(path));
  return files;
}

TEST(ArrayFuzz, ArraysAreReadOrRefused) {
  auto files = corpus(".npy");
  ASSERT_GT(files.size(), 20u);
  Mutator m(1);
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  int round = 0;
  for (; goes_on(start, round, 2000); round++) {
    auto file = round % 50 == 0 ? "\x93NUMPY\1" + m.noise(m.below(300)) : m.mutate(files[m.below(files.size())]);
    attempt(outcome, [&] { return parse_npy(file); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(outcome.read, round / 50) << "not everything is refused at the door";
  EXPECT_GT(outcome.refused, round / 4);
}

TEST(ArrayFuzz, ArchivesAreReadOrRefused) {
  auto files = corpus(".npz");
  files.push_back(zip({{"x.npy", small_npy(), true, true}, {"w.npy", small_npy(), false, true}}, "comment"));
  Mutator m(2);
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  int round = 0;
  for (; goes_on(start, round, 1000); round++) {
    auto file =
        round % 50 == 0 ? m.noise(m.below(300)) + "PK\5\6" + m.noise(18) : m.mutate(files[m.below(files.size())]);
    attempt(outcome, [&] { return parse_npz(file, round % 2 ? "x" : "w"); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(outcome.refused, round / 4);
}

TEST(ArrayFuzz, ArraysInsideSoundArchivesAreReadOrRefused) {
  // The checksum stops most damage, so here it is right and what it covers is wrong.
  auto files = corpus(".npy");
  Mutator m(3);
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  int round = 0;
  for (; goes_on(start, round, 500); round++) {
    auto array = m.mutate(files[m.below(files.size())]);
    auto file = zip({{"x.npy", array, m.below(2) == 0, m.below(2) == 0}});
    std::string alone, inside;
    attempt(outcome, [&] {
      alone = said_of_npy(array), inside = said_of_npz(file);
      return parse_npz(file);
    });
    if (HasFatalFailure()) return;
    ASSERT_EQ(alone.empty(), inside.empty()) << "an archive changes nothing about its array: " << alone << inside;
  }
  EXPECT_GT(outcome.read, round / 50);
}

}  // namespace
}  // namespace convscope
