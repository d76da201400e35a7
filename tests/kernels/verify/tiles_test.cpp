// What a trace tells of kernels that read through shared memory or a workspace: which element a copy is of, and which
// line takes what does not belong.
#include <algorithm>
#include <gtest/gtest.h>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "kernels/verify/stray_reads.h"
#include "tests/kernels/verify/judging.h"
#include "tests/support.h"

namespace convscope {
namespace {

class Tiles : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "no traced module in a ThreadSanitizer build";
#endif
    ASSERT_EQ(simt::load_traced_kernels(), "");
    ASSERT_EQ(test::open_module("libtest_tiles.so"), "");
  }
};

ConvProblem tiled_layer() {
  ConvProblem p;
  p.batch = 2, p.in_channels = 8, p.out_channels = 5, p.kernel_size = 3, p.length = 100, p.padding = 1, p.bias = true;
  return p;
}

constexpr int64_t n = 1, co = 2, j = 70;
ElementTrace trace_of(const char* kernel, const ConvProblem& p) {
  Activity activity;
  const KernelDefinition* k = find_traced(kernel);
  if (!k) {
    ElementTrace none;
    none.reason = "no such kernel";
    return none;
  }
  return trace_element(*k, p, {}, n, co, std::min(j, p.out_length() - 1), activity);
}
std::vector<StrayReads> strays_of(const char* kernel, const ConvProblem& p) {
  const ElementTrace t = trace_of(kernel, p);
  EXPECT_EQ(t.reason, "");
  EXPECT_FALSE(t.writers.empty());
  return stray_reads(t, p, n, co, std::min(j, p.out_length() - 1));
}
int line(const char* text) { return test::line_of("tests/kernels/verify/tiles.cu", text); }

std::vector<int64_t> reads_of(const ElementTrace& t, char tensor) {
  std::vector<int64_t> v;
  for (const auto& r : t.reads)
    if (r.tensor == tensor) v.push_back(r.index);
  std::sort(v.begin(), v.end());
  return v;
}
std::vector<int64_t> landing(const ConvProblem& p, char tensor, int64_t j) {
  std::vector<int64_t> v;
  for (int64_t ci = 0; ci < p.in_channels; ci++)
    for (const Tap& tap : taps_at(p, j))
      v.push_back(tensor == 'x' ? (n * p.in_channels + ci) * p.length + tap.i
                                : (ci * p.out_channels + co) * p.kernel_size + tap.k);
  std::sort(v.begin(), v.end());
  return v;
}

TEST_F(Tiles, CopiesAreKnownByTheirValues) {
  const ConvProblem p = tiled_layer();
  const ElementTrace t = trace_of("tile_right", p);
  ASSERT_EQ(t.reason, "");
  EXPECT_TRUE(t.through_shared);
  EXPECT_EQ(t.unknown, 0);
  EXPECT_EQ(reads_of(t, 'x'), landing(p, 'x', j)) << "what it copied for others is not among them";
  EXPECT_EQ(reads_of(t, 'w'), landing(p, 'w', j));
  EXPECT_EQ(reads_of(t, 'b'), std::vector<int64_t>{co});
  for (const auto& r : t.reads) {
    EXPECT_EQ(r.where, ElementRead::Where::shared);
    EXPECT_EQ(r.line, line(r.tensor == 'x' ? "// READS x" : r.tensor == 'w' ? "// READS w" : "// READS b"));
    if (r.tensor != 'b') {
      EXPECT_EQ(r.from_line, line(r.tensor == 'x' ? "// FILLS x" : "// FILLS w"));
    }
  }
  EXPECT_TRUE(strays_of("tile_right", p).empty());
}

TEST_F(Tiles, TheLinesThatAreToBlameAreNamed) {
  const ConvProblem p = tiled_layer();
  for (const char* kernel : {"tile_wrong_fill", "tile_wrong_read"}) {
    const auto s = strays_of(kernel, p);
    ASSERT_EQ(s.size(), 2u) << kernel;
    EXPECT_EQ(s[1].tensor, 'y');
    EXPECT_EQ(s[1].words, "what belongs to y[1, 2, 71]: either the reads or this place is wrong") << kernel;
    EXPECT_EQ(s[0].words, "x at i = 72, which none of its taps takes, from shared memory that line " +
                              std::to_string(line("// FILLS x")) + " fills")
        << kernel;
    EXPECT_EQ(s[0].line, line("// READS x"));
    EXPECT_EQ(s[0].from_line, line("// FILLS x"));
    EXPECT_EQ(s[0].stray, 8);
    EXPECT_EQ(s[0].all, 24);
  }
  auto s = strays_of("tile_wrong_weights", p);
  ASSERT_EQ(s.size(), 1u) << "its bias is its own";
  EXPECT_EQ(s[0].line, line("// READS w"));
  EXPECT_TRUE(s[0].words.starts_with("w of output channel 3, not 2, from shared memory that line ")) << s[0].words;
  s = strays_of("tile_wrong_bias", p);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].tensor, 'b');
  EXPECT_EQ(s[0].line, line("// READS b"));
  EXPECT_TRUE(s[0].words.starts_with("b of output channel 3, not 2, from shared memory")) << s[0].words;
}

TEST_F(Tiles, SharedMemoryThatNobodyHasWrittenIsNamed) {
  const ConvProblem p = tiled_layer();
  Activity activity;
  const int64_t at = 68;  // thread 4 reads the places 4, 5 and 6 of each row
  const auto s = stray_reads(trace_element(*find_traced("tile_unset"), p, {}, n, co, at, activity), p, n, co, at);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].words, "shared memory that nobody has written");
  EXPECT_EQ(s[0].line, line("// READS x"));
  EXPECT_EQ(s[0].stray, 8) << "one of each channel";
  EXPECT_EQ(s[0].all, 24);
}

// What is read and not used is no fault, whatever else is wrong.
TEST_F(Tiles, WhatIsReadAndNotUsedIsNotToBlame) {
  const ConvProblem p = tiled_layer();
  EXPECT_TRUE(strays_of("spare_right", p).empty());
  const ElementTrace t = trace_of("spare_right", p);
  int64_t unused = 0;
  for (const auto& r : t.reads) {
    unused += r.unused;
    EXPECT_FALSE(r.unused && r.line != line("// SPARE unused"));
  }
  EXPECT_EQ(unused, 24) << "one a tap of each channel";
  const auto s = strays_of("spare_weights", p);
  ASSERT_FALSE(s.empty());
  EXPECT_EQ(s[0].line, line("// SPARE weights"));
  EXPECT_EQ(s[0].words, "w of output channel 3, not 2");
  for (const auto& other : s) EXPECT_NE(other.tensor, 'x') << other.words;
}

TEST_F(Tiles, WhatBelongsElsewhereIsNamed) {
  const auto s = strays_of("spare_place", tiled_layer());
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].tensor, 'x');
  EXPECT_EQ(s[1].words, "what belongs to y[1, 2, 69]: either the reads or this place is wrong");
  EXPECT_EQ(s[1].line, line("// SPARE place"));
}

TEST_F(Tiles, CopiesThatNobodyHasWaitedForAreNamed) {
  ConvProblem p = tiled_layer();
  p.length = 20, p.padding = 0, p.bias = false;
  Activity activity;
  const auto s = stray_reads(trace_element(*find_traced("row_not_waited"), p, {}, n, co, 9, activity), p, n, co, 9);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].words, "shared memory before the copy of line " + std::to_string(line("// COPIES x")) +
                            " is there: nobody has waited for it");
  EXPECT_EQ(s[0].line, line("// TAKES x"));
  EXPECT_EQ(s[0].from_line, line("// COPIES x"));
  EXPECT_EQ(s[0].stray, 24);
  const ElementTrace right = trace_element(*find_traced("row_copied"), p, {}, n, co, 9, activity);
  ASSERT_EQ(right.reads.size(), 48u);
  for (const auto& r : right.reads) {
    EXPECT_EQ(r.from_line, r.tensor == 'x' ? line("// COPIES x") : 0);
  }
}

// Where values of other threads are added up, what reaches the element is found by changing it, whoever reads it.
TEST_F(Tiles, WhatComesThroughOtherThreadsIsNamed) {
  const ConvProblem p = tiled_layer();
  const ElementTrace t = trace_of("tile_of_sums", p);
  EXPECT_EQ(t.unknown, 1);
  auto s = stray_reads(t, p, n, co, j);
  ASSERT_EQ(s.size(), 1u) << "the neighbour's sum: one of its inputs is none of its own";
  EXPECT_EQ(s[0].words, "x at i = 72, which none of its taps takes; it comes to y through other threads");
  EXPECT_EQ(s[0].line, line("// FILLS x"));
  EXPECT_EQ(s[0].all, 0);

  ConvProblem shorter = p;
  shorter.length = 20, shorter.padding = 0, shorter.bias = false;
  Activity activity;
  auto at = [&](const char* kernel, const ConvProblem& q, int64_t position) {
    const ElementTrace all = trace_element(*find_traced(kernel), q, {}, n, co, position, activity);
    EXPECT_EQ(all.reason, "") << kernel;
    EXPECT_TRUE(all.looked_for_reaching) << kernel;
    return stray_reads(all, q, n, co, position);
  };
  EXPECT_TRUE(at("lanes_shuffle", shorter, 9).empty());
  s = at("lanes_shuffle_wrong", shorter, 9);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].words, "x at i = 11, 12 and 13, which none of its taps takes; it comes to y through other threads");
  EXPECT_EQ(s[0].line, line("// LANES read"));
  EXPECT_TRUE(at("scattered", shorter, 9).empty());
  s = at("scattered_wrong", shorter, 9);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].tensor, 'y');
  EXPECT_EQ(s[0].words, "what comes of x at i = 2, 3 and 4, which none of its taps takes");
  EXPECT_EQ(s[0].line, line("// SCATTERS"));
}

// What a thread reads is for all that it writes in a row.
TEST_F(Tiles, SeveralOutputsOfAThread) {
  ConvProblem p = tiled_layer();
  p.length = 61, p.kernel_size = 4, p.padding = 0, p.bias = false;
  const ElementTrace t = trace_of("tile_four", p);
  EXPECT_EQ(t.together.size(), 4u);
  EXPECT_EQ(t.unknown, 0);
  EXPECT_TRUE(strays_of("tile_four", p).empty());
  Activity activity;
  auto at = [&](const char* kernel, int64_t j) {
    return stray_reads(trace_element(*find_traced(kernel), p, {}, n, co, j, activity), p, n, co, j);
  };
  EXPECT_TRUE(at("tile_four", 21).empty());
  const auto s = at("tile_wrong_four", 21);
  ASSERT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0].line, line("// READS four"));
  EXPECT_TRUE(s[0].words.starts_with(
      "x at i = 24, 25, 26 and 27, which no tap of the 4 outputs it writes takes, from shared memory that line "))
      << s[0].words;
}

TEST_F(Tiles, ThroughAWorkspace) {
  const ConvProblem p = tiled_layer();
  const ElementTrace t = trace_of("tile_packed", p);
  EXPECT_TRUE(t.through_workspace);
  ASSERT_EQ(t.writers.size(), 1u);
  EXPECT_EQ(t.writers[0].launch, 1);
  EXPECT_EQ(reads_of(t, 'w'), landing(p, 'w', j));
  EXPECT_EQ(reads_of(t, 'x'), landing(p, 'x', j)) << "and what the launch before read is not its own";
  EXPECT_TRUE(strays_of("tile_packed", p).empty());
  const auto s = strays_of("tile_wrong_packed", p);
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].line, line("// READS packed"));
  EXPECT_EQ(s[0].words,
            "w of output channel 0, not 2, from a workspace that line " + std::to_string(line("// PACKS")) + " fills");
  EXPECT_EQ(s[0].from_line, line("// PACKS"));
}

// Right kernels of other shapes: nothing in them is to blame.
TEST_F(Tiles, NothingIsSaidOfRightKernels) {
  ConvProblem p = tiled_layer();
  p.out_channels = 8, p.padding = 0;
  Activity activity;
  auto of = [&](const char* kernel, const ConvProblem& q, int64_t n, int64_t co, int64_t j) {
    const ElementTrace t = trace_element(*find_traced(kernel), q, {}, n, co, j, activity);
    EXPECT_EQ(t.reason, "") << kernel;
    EXPECT_FALSE(t.writers.empty()) << kernel;
    std::string words;
    for (const auto& s : stray_reads(t, q, n, co, j)) words += s.words + "; ";
    return words;
  };
  ConvProblem shorter = p;
  shorter.bias = false, shorter.length = 20;
  for (const int64_t channel : {int64_t{0}, int64_t{3}, int64_t{6}})
    for (const int64_t at : {int64_t{5}, int64_t{70}}) {
      EXPECT_EQ(of("strided_bias", p, 1, channel, at), "");
      EXPECT_EQ(of("two_channels", p, 1, channel, at), "");
      EXPECT_EQ(of("taps_turned", p, 1, channel, at), "");
      EXPECT_EQ(of("row_ahead", shorter, 1, channel, at % 20), "");
      EXPECT_EQ(of("lanes_shuffle", shorter, 1, channel, at % 20), "");
      EXPECT_EQ(of("scattered", shorter, 1, channel, at % 20), "");
      EXPECT_EQ(of("row_copied", shorter, 1, channel, at % 20), "");
    }
  EXPECT_EQ(of("strided_wrong_bias", p, 0, 0, 5), "b of output channel 1, not 0; ") << "the first of its thread";
  EXPECT_EQ(of("strided_wrong_bias", p, 1, 6, 70), "b of output channel 7, not 6; ");
  EXPECT_EQ(of("two_wrong_channels", p, 1, 2, 9), "w of output channel 4, none of the 2 outputs it writes; ");
  EXPECT_EQ(of("two_wrong_channels", p, 1, 3, 9), "w of output channel 4, none of the 2 outputs it writes; ");
}

// Our own rungs: right ones, in all types that they take.
TEST_F(Tiles, OfRungsThatShareTheirTiles) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const char* kernel : {"tiled", "registers", "depthwise"}) {
      ConvProblem p;
      p.dtype = type, p.batch = 2, p.in_channels = 6, p.out_channels = 64, p.kernel_size = 4, p.length = 40;
      p.stride = 2, p.padding = 1, p.groups = 2;
      if (std::string(kernel) == "depthwise") p.groups = p.out_channels = 6;
      if (!find_kernel(kernel).unsupported(p).empty()) continue;
      for (const int64_t at : {0, 33}) {
        Activity activity;
        const ElementTrace t = trace_element(find_kernel(kernel), p, {}, 1, 4, at, activity);
        EXPECT_EQ(t.reason, "");
        EXPECT_EQ(t.unknown, 0) << kernel << ' ' << name_of(type);
        EXPECT_TRUE(stray_reads(t, p, 1, 4, at).empty()) << kernel << ' ' << name_of(type) << ' ' << at;
        auto holds = [](const std::vector<int64_t>& all, int64_t v) {
          return std::binary_search(all.begin(), all.end(), v);
        };
        const auto xs = reads_of(t, 'x');
        const int64_t first = 4 / p.out_per_group() * p.in_per_group();
        for (const Tap& tap : taps_at(p, at))
          EXPECT_TRUE(holds(xs, (p.in_channels + first) * p.length + tap.i)) << kernel << ' ' << name_of(type);
      }
    }
}

}  // namespace
}  // namespace convscope
