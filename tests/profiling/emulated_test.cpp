// Warps put together from traces: hand-made instructions whose sectors and bank cycles are known, and kernels whose
// requests follow from their shape.
#include <cmath>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace_readers.h"
#include "kernels/runtime/sources.h"
#include "profiling/bottleneck/bottleneck.h"
#include "profiling/emulated/count.h"
#include "tests/fakes/setting.h"

namespace convscope {
namespace {

WarpInstruction warp(uint64_t base, uint64_t step, uint32_t size = 4, uint32_t lanes = ~0u) {
  WarpInstruction w;
  w.lanes = lanes, w.size = size;
  for (uint64_t lane = 0; lane < 32; lane++) w.address[lane] = base + lane * step;
  return w;
}

TEST(Warps, Sectors) {
  EXPECT_EQ(sectors_of(warp(0, 4)), 4) << "32 floats side by side";
  EXPECT_EQ(sectors_of(warp(16, 4)), 5) << "not aligned";
  EXPECT_EQ(sectors_of(warp(0, 0)), 1) << "all the same";
  EXPECT_EQ(sectors_of(warp(0, 8)), 8);
  EXPECT_EQ(sectors_of(warp(0, 32)), 32);
  EXPECT_EQ(sectors_of(warp(0, 1024)), 32);
  EXPECT_EQ(sectors_of(warp(0, 16, 16)), 16) << "16 bytes a thread";
  EXPECT_EQ(sectors_of(warp(0, 8, 8)), 8);
  EXPECT_EQ(sectors_of(warp(0, 4, 4, 0x1)), 1);
  EXPECT_EQ(sectors_of(warp(0, 4, 4, 0xff)), 1);
  EXPECT_EQ(sectors_of(warp(30, 0, 4)), 2) << "across a border";
}

TEST(Warps, BytesThatAreUsed) {
  EXPECT_EQ(bytes_of(warp(0, 4)), 128u);
  EXPECT_EQ(bytes_of(warp(0, 0)), 4u) << "all the same";
  EXPECT_EQ(bytes_of(warp(0, 2)), 66u) << "each overlaps the next by half";
  EXPECT_EQ(bytes_of(warp(0, 16, 16)), 512u);
  EXPECT_EQ(bytes_of(warp(0, 1024)), 128u) << "far apart";
  EXPECT_EQ(bytes_of(warp(0, 4, 4, 0x5)), 8u);
  EXPECT_EQ(bytes_of(warp(0, 4, 4, 0)), 0u);
  EXPECT_EQ(bytes_of(warp(4096, static_cast<uint64_t>(-4))), 128u) << "backwards";
  WarpInstruction mixed = warp(0, 4, 8);  // a long one that holds a later one
  mixed.address[1] = 2;
  EXPECT_EQ(bytes_of(mixed), 132u);
}

TEST(Warps, Wavefronts) {
  auto is = [](const WarpInstruction& w, int all, int conflicts) {
    Wavefronts f = wavefronts_of(w);
    EXPECT_EQ(f.all, all);
    EXPECT_EQ(f.conflicts, conflicts);
  };
  is(warp(0, 4), 1, 0);
  is(warp(0, 0), 1, 0);       // one word for all
  is(warp(0, 8), 2, 1);       // two threads a bank
  is(warp(0, 128), 32, 31);   // all in one bank
  is(warp(0, 132), 1, 0);     // padded by a word
  is(warp(0, 12), 1, 0);      // an odd step meets nobody
  is(warp(0, 8, 8), 2, 0);    // half a warp at a time
  is(warp(0, 16, 16), 4, 0);  // a quarter
  is(warp(0, 128, 4, 0x3), 2, 1);
  is(warp(0, 4, 4, 0), 0, 0);
}

simt::Access access(uint64_t address, uint64_t pc, uint64_t block, uint16_t thread,
                    simt::AccessKind kind = simt::AccessKind::read) {
  return {address, pc, block, thread, 4, kind};
}

TEST(Warps, AreAssembledThreadByThread) {
  WarpAssembler assembler([](uint64_t a) { return a < 1 << 20; });
  // Two blocks of 64 threads; each thread reads twice at one place and writes once, and touches shared memory once.
  for (uint64_t block = 0; block < 2; block++)
    for (uint16_t t = 0; t < 64; t++) {
      for (uint64_t round = 0; round < 2; round++) assembler.take(access(4096 * round + 4u * t, 1, block, t));
      assembler.take(access((1 << 20) + 8u * t, 2, block, t));
      assembler.take(access(8192 + 4u * t, 3, block, t, simt::AccessKind::write));
    }
  WarpCounts c;
  const PlaceCounts& places = assembler.finish();
  for (const auto& [pc, counts] : places) c.add(counts);
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places.at(1).load_requests, c.load_requests);
  EXPECT_EQ(places.at(2).shared_wavefronts, c.shared_wavefronts);
  EXPECT_EQ(places.at(3).store_requests, c.store_requests);
  EXPECT_EQ(c.load_requests, 2u * 2 * 2);  // blocks, warps, rounds
  EXPECT_EQ(c.load_sectors, 4u * c.load_requests);
  EXPECT_EQ(c.store_requests, 2u * 2);
  EXPECT_EQ(c.store_sectors, 16u);
  EXPECT_EQ(c.shared_wavefronts, 2u * 2 * 2);
  EXPECT_EQ(c.shared_conflicts, 2u * 2);
  EXPECT_EQ(c.load_bytes, 2u * 64 * 2 * 4);
  EXPECT_EQ(c.accesses, 2u * 64 * 4);
  EXPECT_EQ(c.load_used_bytes, c.load_bytes) << "nobody shares";
  EXPECT_EQ(c.load_lanes, 32u * c.load_requests);
  EXPECT_EQ(c.store_used_bytes, 2u * 64 * 4);
  EXPECT_EQ(c.store_lanes, 2u * 64);
  EXPECT_EQ(c.shared_requests, 2u * 2);
  EXPECT_EQ(c.shared_lanes, 2u * 64);
}

// Half a warp in another branch, and all of the rest at one address.
TEST(Warps, WhoTakesPartIsCounted) {
  WarpAssembler assembler([](uint64_t) { return true; });
  for (uint16_t t = 0; t < 32; t++)
    if (t % 2) assembler.take(access(4096, 1, 0, t));
  const WarpCounts c = assembler.finish().at(1);
  EXPECT_EQ(c.load_requests, 1u);
  EXPECT_EQ(c.load_lanes, 16u);
  EXPECT_EQ(c.load_bytes, 64u) << "asked for";
  EXPECT_EQ(c.load_used_bytes, 4u);
}

// Two threads deliver parts, and in the end one of them the rests of both. A rest may begin with a block that nobody has
// begun, while the one who delivers it has another open.
TEST(Warps, RestsThatOneThreadDelivers) {
  auto part = [](std::initializer_list<std::pair<uint64_t, int>> pieces) {  // block and which of its two halves
    std::vector<simt::Access> list;
    for (auto [block, half] : pieces)
      for (uint16_t t = 0; t < 16; t++)
        list.push_back(access(4096 + 4u * (16u * static_cast<unsigned>(half) + t), 1, block,
                              static_cast<uint16_t>(16 * half + t)));
    return list;
  };
  simt::TraceReaders<WarpAssembler> assemblers(
      [] { return std::make_unique<WarpAssembler>([](uint64_t) { return true; }); });
  assemblers.take(part({{0, 0}, {0, 1}, {2, 0}}));
  std::thread([&] { assemblers.take(part({{1, 0}, {1, 1}})); }).join();
  assemblers.only_rests_follow();
  assemblers.take(part({{3, 0}, {3, 1}}));          // the other's
  assemblers.take(part({{2, 1}, {4, 0}, {4, 1}}));  // its own
  assemblers.take({});
  WarpCounts c;
  for (const auto& assembler : assemblers.all())
    for (const auto& [pc, counts] : assembler->finish()) c.add(counts);
  EXPECT_EQ(c.accesses, 5u * 32);
  EXPECT_EQ(c.load_requests, 5u) << "one a block";
}

class Emulated : public ::testing::Test {
 protected:
  EmulatedCounters count(const std::string& kernel, const ConvProblem& p) {
    Activity activity;
    return count_emulated(find_kernel(kernel), p, make_inputs(p, {}), activity);
  }
  void SetUp() override {
    auto c = count("direct", find_preset("kernelbench-79-small").problem);
    if (!c.missing.empty()) GTEST_SKIP() << c.missing;
  }
};

// `direct` stores each output once, side by side, and its threads walk all taps: what it stores is exact.
TEST_F(Emulated, StoresOfDirect) {
  ConvProblem p;
  p.batch = 2, p.in_channels = 3, p.out_channels = 4, p.kernel_size = 3, p.length = 64;
  auto c = count("direct", p);
  ASSERT_EQ(c.missing, "");
  EXPECT_EQ(c.blocks, c.all_blocks);
  double outputs = static_cast<double>(p.y_elements());
  EXPECT_EQ(c.values.at("store_requests"), std::ceil(outputs / 32));
  EXPECT_EQ(c.values.at("store_sectors"), std::ceil(outputs / 8));
  EXPECT_EQ(c.values.at("shared_wavefronts"), 0);
  EXPECT_GE(c.values.at("load_sectors"), c.values.at("load_requests"));
}

// The threads of `direct` whose tap does not land stand aside: with stride 2 every other one.
TEST_F(Emulated, SharesOfWhatIsFetchedAndWhoTakesPart) {
  ConvProblem p;
  p.batch = 1, p.in_channels = 4, p.out_channels = 2, p.kernel_size = 2, p.length = 512, p.stride = 2;
  auto c = count("direct", p);
  ASSERT_EQ(c.missing, "");
  EXPECT_NEAR(c.values.at("lanes_per_load"), 16, 0.5);
  EXPECT_NEAR(c.values.at("lanes_per_store"), 32, 0.01);
  EXPECT_NEAR(c.values.at("store_efficiency"), 100, 0.01) << "side by side, and whole sectors";
  EXPECT_NEAR(c.values.at("load_efficiency"), 100 * c.values.at("load_used_bytes") / (32 * c.values.at("load_sectors")),
              1e-9);
  EXPECT_LT(c.values.at("load_efficiency"), 100);
  EXPECT_LT(c.values.at("load_used_bytes"), c.values.at("load_bytes")) << "a weight is one for the whole warp";
  EXPECT_FALSE(c.values.contains("lanes_per_shared_request")) << "nothing of nothing";
  for (const auto& [name, v] : c.values) {
    const Metric* m = find_metric(name);
    ASSERT_TRUE(m) << name << " has no unit";
  }
}

// What the rule of scattered loads asks is among what is counted: 10 sectors a load, of which 30 % are used, are no
// wide loads.
TEST_F(Emulated, ScatteredLoadsAreToldFromWideOnes) {
  auto c = count("stream_tf32", find_preset("kernelbench-79-small").problem);
  if (!c.missing.empty()) GTEST_SKIP() << c.missing;
  BottleneckFacts f;
  f.emulated = true;
  f.counters = c.values;
  // Beside the copy engine its loads are few; here they are all there is.
  f.counters.erase("store_sectors"), f.counters.erase("shared_wavefronts");
  ASSERT_GE(f.counters.at("load_sectors"), 10 * f.counters.at("load_requests"));
  ASSERT_LT(f.counters.at("load_efficiency"), 50);
  EXPECT_EQ(find_bottleneck(f).rule, "uncoalesced");
  f.counters.erase("load_used_bytes");
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced") << "without it they pass for wide ones";
}

// Tiles bring their data through shared memory: far fewer loads for the same products.
TEST_F(Emulated, TilesLoadLess) {
  auto p = find_preset("kernelbench-79-small").problem;
  auto direct = count("direct", p), tiled = count("tiled", p);
  EXPECT_LT(5 * tiled.values.at("load_sectors"), direct.values.at("load_sectors"));
  EXPECT_GT(tiled.values.at("shared_wavefronts"), 0);
}

// Counting some blocks says nearly what counting all says: on a problem where both can be had.
TEST_F(Emulated, SomeBlocksStandForAll) {
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  p.in_channels = 8, p.out_channels = 16;
  auto all = count("polyphase", p);
  p.batch = 30;
  auto some = count("polyphase", p);
  ASSERT_EQ(all.blocks, all.all_blocks);
  ASSERT_LT(some.blocks, some.all_blocks);
  for (const char* name : {"load_requests", "load_sectors", "store_sectors"})
    EXPECT_NEAR(some.values.at(name) / (30 * all.values.at(name)), 1, 0.03) << name;
}

// The same grid whole: what comparing with a GPU's counters needs (results/h200-emulated.md has these of an H200).
TEST_F(Emulated, WholeGridsWhenAsked) {
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  auto some = count("scatter", p);
  test::Setting all("CONVSCOPE_COUNT_ALL", "1");
  auto whole = count("scatter", p);
  EXPECT_LT(some.blocks, some.all_blocks);
  EXPECT_EQ(whole.blocks, whole.all_blocks);
  EXPECT_EQ(whole.values.at("store_requests"), 16386);
  EXPECT_NE(some.values.at("store_requests"), 16386);
}

// Blocks of one launch after those of another, on several threads: the same figures every time.
TEST_F(Emulated, IsTheSameEveryTime) {
  auto p = find_preset("kernelbench-79-small").problem;
  p.in_channels = 8, p.out_channels = 16;
  auto first = count("scatter", p);
  for (int i = 0; i < 10; i++) EXPECT_EQ(count("scatter", p).values, first.values);
}

// Every counted access is on a line, and the lines are those where the text reads and writes tensors.
TEST_F(Emulated, LinesOfTheSource) {
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  p.in_channels = 8, p.out_channels = 16;
  for (const char* kernel : {"direct", "tiled", "scatter", "registers", "mma_tf32"}) {
    auto c = count(kernel, p);
    std::string_view all;
    for (const auto& source : kernel_sources())
      if (source.file == find_kernel(kernel).file()) all = source.text;
    std::istringstream file{std::string(all)};
    std::vector<std::string> text;
    for (std::string line; std::getline(file, line);) text.push_back(line);
    ASSERT_GT(text.size(), 10u);
    Counters sum;
    for (const auto& l : c.lines) {
      for (const auto& [name, value] : l.values) sum[name] += value;
      ASSERT_TRUE(l.file.ends_with(std::string(kernel) + ".cu")) << l.file;
      ASSERT_LE(static_cast<size_t>(l.line), text.size());
      EXPECT_NE(text[static_cast<size_t>(l.line - 1)].find_first_of("[*("), std::string::npos) << l.line;
    }
    EXPECT_GT(c.lines.size(), 1u);
    EXPECT_EQ(sum.size(), line_counters().size());
    int sums = 0;
    for (const auto& [name, value] : c.values) {  // the others are quotients of these
      if (!sum.contains(name)) continue;
      EXPECT_NEAR(sum[name], value, 1e-9 * value) << kernel << " " << name;
      sums++;
    }
    EXPECT_EQ(sums, static_cast<int>(line_counters().size()) - 1) << "all but accesses of single threads";
    // What is used is never more than what is touched, nor than what was asked for; nobody but 32 threads takes part.
    for (const auto& l : c.lines)
      for (const std::string kind : {"load", "store"}) {
        auto of = [&](const char* what) { return l.values.at(kind + what); };
        EXPECT_LE(of("_used_bytes"), of("_bytes") * (1 + 1e-12)) << l.line;
        EXPECT_LE(of("_used_bytes"), 32 * of("_sectors") * (1 + 1e-12)) << l.line;
        EXPECT_LE(of("_lanes"), 32 * of("_requests") * (1 + 1e-12)) << l.line;
      }
  }
}

// A launch of few blocks beside one of many: what packs the weights does so once, however many blocks there are.
TEST_F(Emulated, EachLaunchIsScaledByItself) {
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  p.in_channels = 8;
  auto whole = count("registers", p);
  p.batch = 64;
  auto some = count("registers", p);
  ASSERT_EQ(whole.missing + some.missing, "");
  ASSERT_EQ(find_kernel("registers").plan_for(p).launches().size(), 2u);
  ASSERT_LT(3 * some.blocks, some.all_blocks);
  int once = 0, grow = 0;
  for (const auto& a : whole.lines)
    for (const auto& b : some.lines) {
      if (a.line != b.line || a.values.at("store_bytes") == 0) continue;
      double times = b.values.at("store_bytes") / a.values.at("store_bytes");
      if (times < 2) {
        EXPECT_EQ(times, 1) << a.line;
        once++;
      } else {
        EXPECT_NEAR(times / 64, 1, 0.05) << a.line;
        grow++;
      }
    }
  EXPECT_GT(once, 0);
  EXPECT_GT(grow, 0);
}

// Of a grid far too large to be run whole, some blocks are: stores of `direct` are known without counting.
TEST_F(Emulated, LargeGridsAreCountedInPart) {
  ConvProblem p = find_preset("kernelbench-79").problem;
  p.batch = 1, p.length = 65536;
  auto c = count("direct", p);
  ASSERT_EQ(c.missing, "");
  EXPECT_LT(50 * c.blocks, c.all_blocks);
  EXPECT_NEAR(c.values.at("store_requests") / (static_cast<double>(p.y_elements()) / 32), 1, 0.02);
}

TEST_F(Emulated, WhatCannotBeCountedSaysWhy) {
  ConvProblem p;  // few blocks, each with work for minutes
  p.in_channels = 2048, p.out_channels = 8, p.kernel_size = 1025, p.length = 1024;
  auto c = count("direct", p);
  EXPECT_NE(c.missing.find("too many to trace"), std::string::npos) << c.missing;
  EXPECT_TRUE(c.values.empty() && c.lines.empty());
}

// Counted by an H200 (tests/bench/results/h200-emulated.md): threads skip taps that do not land, and a warp's threads
// come together again in every round of the loop. Taking the n-th load of each thread together gives 128,384 requests.
TEST_F(Emulated, ThreadsThatSkipRoundsAreCountedAsAnH200Does) {
  ConvProblem p;
  p.batch = 2, p.in_channels = p.out_channels = 16, p.kernel_size = 4, p.length = 1000;
  p.stride = 2, p.padding = 1, p.dilation = 3;
  auto is = [&](const char* kernel, double requests, double sectors, double store_sectors) {
    EmulatedCounters c = count(kernel, p);
    EXPECT_EQ(c.values["load_requests"], requests) << kernel;
    EXPECT_EQ(c.values["load_sectors"], sectors) << kernel;
    EXPECT_EQ(c.values["store_sectors"], store_sectors) << kernel;
  };
  is("direct", 256768, 497024, 8024);
  is("polyphase", 128384, 264512, 8024);
  is("S4", 258048, 512000, 9536);
  is("mma_tf32", 992, 13440, 18096);
}

// Counted by an H200 as well. Copies that lie beyond the input are left out by some threads of a warp, whose round
// stays that of the others: in rounds of their own they would make 3,840 and 1,952 requests.
TEST_F(Emulated, ThreadsThatCopyNothingStayInTheirRound) {
  auto is = [&](const char* kernel, const char* preset, double requests, double sectors) {
    EmulatedCounters c = count(kernel, find_preset(preset).problem);
    EXPECT_EQ(c.values["load_requests"], requests) << kernel << " " << preset;
    EXPECT_EQ(c.values["load_sectors"], sectors) << kernel << " " << preset;
  };
  is("registers", "kernelbench-64-small", 3328, 39680);
  is("registers", "kernelbench-74-small", 1840, 27360);
  is("registers", "kernelbench-79-small", 2576, 33760);
  is("mma_tf32", "kernelbench-64-small", 3328, 54016);
}

}  // namespace
}  // namespace convscope
