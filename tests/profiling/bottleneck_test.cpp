// Each rule has figures on which it must fire, and figures that only differ in what the rule rests on, on which it must
// not.
#include "profiling/bottleneck/bottleneck.h"

#include <gtest/gtest.h>
#include <set>

namespace convscope {
namespace {

using Facts = BottleneckFacts;

// Nothing stands out: 1 ms, 0.3 ms of floor, enough blocks, everything half busy.
Facts plain() {
  Facts f;
  f.ms = 1, f.floor_ms = 0.3, f.flops = 1e10, f.least_bytes = 1e8;
  f.multiprocessors = 132, f.blocks = 10000, f.local_bytes = 0, f.registers = 64;
  f.counters = {{"dram_busy", 30},
                {"dram_read_bytes", 8e7},
                {"dram_write_bytes", 3e7},
                {"issue_busy", 55},
                {"occupancy", 60},
                {"sm_cycles_active", 95},
                {"sm_cycles_elapsed", 100},
                {"fma_pipe_busy", 45},
                {"tensor_pipe_busy", 0},
                {"ffma_threads", 6e9},
                {"instructions", 4e8},
                {"fadd_threads", 0},
                {"fmul_threads", 0},
                {"load_sectors", 400},
                {"load_requests", 100},
                {"shared_wavefronts", 1000},
                {"shared_conflicts", 50},
                {"l1_busy", 40},
                {"l2_busy", 30},
                {"stall_long_scoreboard", 1},
                {"stall_wait", 1},
                {"stall_barrier", 0.5},
                {"stall_mio_throttle", 0.5},
                {"stall_lg_throttle", 0.5},
                {"stall_short_scoreboard", 0.5}};
  return f;
}

struct Case {
  const char* rule;
  void (*fires)(Facts&);      // changes plain() so that the rule fires
  void (*not_quite)(Facts&);  // the same, but for what the rule rests on
  const char* says;           // in the sentence
};

const Case cases[] = {
    {"launch-bound", [](Facts& f) { f.ms = 0.004, f.floor_ms = 0.0001; },
     [](Facts& f) { f.ms = 0.004, f.floor_ms = 0.003; }, "4 µs a call, of which the work itself needs 0.1 µs"},
    {"few-blocks", [](Facts& f) { f.blocks = 33; }, [](Facts& f) { f.blocks = 120; },
     "33 blocks for 132 multiprocessors: 75 % of the GPU"},
    {"spills", [](Facts& f) { f.local_bytes = 400, f.registers = 255, f.counters["stall_long_scoreboard"] = 2; },
     [](Facts& f) { f.local_bytes = 400, f.registers = 255, f.counters["stall_wait"] = 4; },
     "400 bytes a thread are in local memory, beside 255 registers"},
    {"refetching", [](Facts& f) { f.counters["dram_busy"] = 85, f.counters["dram_read_bytes"] = 4e8; },
     [](Facts& f) { f.counters["dram_read_bytes"] = 4e8; }, "85 % busy, and carries 4.3 times the bytes"},
    {"memory-bound", [](Facts& f) { f.counters["dram_busy"] = 92; }, [](Facts& f) { f.counters["dram_busy"] = 50; },
     "the memory is 92 % busy with 1.10 times the least bytes"},
    {"tensor-bound", [](Facts& f) { f.counters["tensor_pipe_busy"] = 71; },
     [](Facts& f) { f.counters["tensor_pipe_busy"] = 30; }, "the tensor cores are 71 % busy"},
    {"wasted-arithmetic", [](Facts& f) { f.counters["fma_pipe_busy"] = 75, f.counters["ffma_threads"] = 1e10; },
     [](Facts& f) { f.counters["fma_pipe_busy"] = 45, f.counters["ffma_threads"] = 1e10; },
     "55 % of the issue slots are used, and 50 % of the multiply-adds are not needed"},
    {"compute-bound", [](Facts& f) { f.counters["fma_pipe_busy"] = 80; },
     [](Facts& f) { f.counters["fma_pipe_busy"] = 55; }, "the multiply-add units are 80 % busy"},
    {"bank-conflicts", [](Facts& f) { f.counters["shared_conflicts"] = 600, f.counters["stall_mio_throttle"] = 5; },
     [](Facts& f) { f.counters["shared_conflicts"] = 600; }, "60 % of the shared memory cycles are repeats"},
    {"uncoalesced", [](Facts& f) { f.counters["load_sectors"] = 3200, f.counters["stall_long_scoreboard"] = 5; },
     [](Facts& f) { f.counters["load_sectors"] = 900, f.counters["stall_long_scoreboard"] = 5; },
     "touches 32.0 sectors where 4 would do"},
    // Two loads of 32 sectors behind a mean of 3.3.
    {"uncoalesced-lines",
     [](Facts& f) {
       f.counters["stall_long_scoreboard"] = 5;
       f.lines = {{"x.cu:7", 100, 270, 0}, {"x.cu:9", 2, 64, 0}};
     },
     [](Facts& f) {
       f.counters["stall_long_scoreboard"] = 5;
       f.lines = {{"x.cu:7", 100, 270, 400}, {"x.cu:9", 2, 64, 0}};
     },
     "where 4 sectors a load would do: x.cu:9 32.0 sectors a load with 19 % of all sectors; the mean of all loads, "
     "3.27"},
    {"data-path",
     [](Facts& f) {
       f.counters["dram_busy"] = 72, f.counters["l2_busy"] = 80, f.counters["l2_sectors"] = 1.6 * f.least_bytes / 32;
     },
     [](Facts& f) { f.counters["dram_busy"] = 72, f.counters["l2_busy"] = 60; },
     "the L2 cache is 80 % busy with 1.60 times the least bytes, the memory 72 % with 1.10 times them"},
    {"cache-bound", [](Facts& f) { f.counters["l1_busy"] = 85; }, [](Facts& f) { f.counters["l1_busy"] = 65; },
     "the L1 cache is 85 % busy, while the multiply-add units are 45 % busy"},
    {"instruction-overhead", [](Facts& f) { f.counters["issue_busy"] = 80, f.counters["instructions"] = 2e9; },
     [](Facts& f) { f.counters["issue_busy"] = 80; },
     "80 % of the issue slots are used, but only 9 % of the instructions multiply and add"},
    {"tensor-overhead", [](Facts& f) { f.counters["tensor_pipe_busy"] = 22, f.counters["ffma_threads"] = 0; },
     [](Facts& f) { f.counters["tensor_pipe_busy"] = 3; },  // by the noise of its counter: multiply-adds did the work
     "55 % of the issue slots are used, while the tensor cores are 22 % busy"},
    {"issue-bound", [](Facts& f) { f.counters["issue_busy"] = 73; },
     [](Facts& f) { f.counters["issue_busy"] = 73, f.counters.erase("l1_busy"); },
     "73 % of the issue slots are used: no unit is nearer to its limit (the multiply-add units with 45 % are next); 47 "
     "% of the instructions multiply and add"},
    {"barriers", [](Facts& f) { f.counters["stall_barrier"] = 6; }, [](Facts& f) { f.counters["stall_barrier"] = 1; },
     "of their waiting at barriers"},
    {"unbalanced", [](Facts& f) { f.counters["sm_cycles_active"] = 60; },
     [](Facts& f) { f.counters["sm_cycles_active"] = 85; }, "has work 60 % of the time: 10000 blocks on 132 of them"},
    {"latency-bound", [](Facts& f) { f.counters["issue_busy"] = 20, f.counters["occupancy"] = 12; },
     [](Facts& f) { f.counters["issue_busy"] = 52; }, "20 % of the issue slots are used with 12 % of the warps"},
    {"far-from-floor", [](Facts& f) { f.counters.clear(), f.ms = 3; },
     [](Facts& f) { f.counters.clear(), f.ms = 0.33; }, "3 ms is 10.0 times the floor of 300 µs by arithmetic"},
    {"near-floor", [](Facts& f) { f.counters.clear(), f.ms = 0.33; }, [](Facts& f) { f.counters.clear(), f.ms = 0.6; },
     "330 µs is 1.10 times the floor"},
    {"unknown", [](Facts& f) { f = {}, f.emulated = true, f.ms = 5; }, [](Facts& f) { f.counters.clear(); },
     "cannot be seen from emulated time"},
};

TEST(Bottleneck, EachRuleFiresWhereItMust) {
  for (const auto& c : cases) {
    Facts f = plain();
    c.fires(f);
    auto b = find_bottleneck(f);
    EXPECT_EQ(b.rule, c.rule) << b.sentence;
    EXPECT_NE(b.sentence.find(c.says), std::string::npos) << c.rule << ": " << b.sentence;
  }
}

TEST(Bottleneck, AndNotWhereItMustNot) {
  for (const auto& c : cases) {
    Facts f = plain();
    c.not_quite(f);
    auto b = find_bottleneck(f);
    EXPECT_NE(b.rule, c.rule) << b.sentence;
  }
  Facts poor = plain();
  poor.counters.erase("l1_busy");
  EXPECT_EQ(find_bottleneck(poor).rule, "far-from-floor") << "nothing stands out of what was counted";
}

TEST(Bottleneck, NoRuleIsLeftUntested) {
  std::set<std::string> tested, all;
  for (const auto& c : cases) tested.insert(c.rule);
  for (const auto& r : bottleneck_rules()) all.insert(r);
  EXPECT_EQ(tested, all);
}

// A rule rests on figures: without them it says nothing.
TEST(Bottleneck, NothingIsMadeUp) {
  Facts nothing;
  auto b = find_bottleneck(nothing);
  EXPECT_EQ(b.rule, "unknown");
  EXPECT_EQ(b.sentence, "nothing was measured");
  Facts only_time = plain();
  only_time.counters.clear();
  only_time.counters_missing = "hardware counters are not permitted to this user";
  b = find_bottleneck(only_time);
  EXPECT_EQ(b.rule, "far-from-floor");
  EXPECT_NE(b.next.find("hardware counters are not permitted to this user"), std::string::npos) << b.next;
  // From the live set alone, latency is told without the reasons for waiting.
  Facts live = plain();
  live.counters = {{"issue_busy", 20}, {"occupancy", 50}, {"dram_busy", 10}};
  b = find_bottleneck(live);
  EXPECT_EQ(b.rule, "latency-bound");
  EXPECT_EQ(b.sentence.find("mostly"), std::string::npos) << b.sentence;
}

// Nobody is sent to where he is, or has been.
TEST(Bottleneck, DoesNotAdviseWhatIsReached) {
  Facts f = plain();
  f.counters["l1_busy"] = 85;
  EXPECT_EQ(find_bottleneck(f).rung, "tiled");
  f.reached = {"direct", "tiled"};
  Bottleneck b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "cache-bound");
  EXPECT_EQ(b.rung, "");
  EXPECT_NE(b.next, "");
  f.reached = {"direct"};
  EXPECT_EQ(find_bottleneck(f).rung, "tiled");
  f = plain();
  f.counters["issue_busy"] = 80, f.counters["instructions"] = 2e9;
  EXPECT_EQ(find_bottleneck(f).rung, "polyphase");
  f.reached = {"direct", "polyphase"};
  EXPECT_EQ(find_bottleneck(f).rung, "registers") << "the next that does it";
}

// Few warps are a fault, but for kernels of the tensor cores.
TEST(Bottleneck, LatencyOfTensorCores) {
  Facts f = plain();
  f.counters["issue_busy"] = 20, f.counters["occupancy"] = 12, f.occupancy_limit = "limited by registers";
  EXPECT_EQ(find_bottleneck(f).next, "more warps at once (limited by registers)");
  f.counters["tensor_pipe_busy"] = 40, f.counters["ffma_threads"] = 0;
  EXPECT_EQ(find_bottleneck(f).rule, "latency-bound");
  EXPECT_NE(find_bottleneck(f).next.find("while these are multiplied"), std::string::npos);
}

// The L2 cache carries inputs and outputs in any case; and to tensor cores other things are advised.
TEST(Bottleneck, ACacheThatCarriesLittleMoreThanItMustIsNotBlamed) {
  Facts f = plain();
  f.counters["l2_busy"] = 75, f.counters["l2_sectors"] = 2 * f.least_bytes / 32;
  EXPECT_NE(find_bottleneck(f).rule, "cache-bound");
  f.counters["l2_sectors"] = 5 * f.least_bytes / 32;
  EXPECT_EQ(find_bottleneck(f).rule, "cache-bound");
  f.counters["tensor_pipe_busy"] = 30, f.counters["ffma_threads"] = 0;
  Bottleneck b = find_bottleneck(f);
  EXPECT_NE(b.sentence.find("while the tensor cores are 30 % busy"), std::string::npos) << b.sentence;
  EXPECT_NE(b.next.find("clusters"), std::string::npos) << b.next;
  EXPECT_EQ(b.rung, "");
}

// A load of 16 bytes a thread takes 16 sectors, and a few bad loads beside many others limit nothing.
TEST(Bottleneck, WideLoadsAndFewLoadsAreNoFault) {
  Facts f = plain();
  f.counters["load_sectors"] = 1600, f.counters["stall_long_scoreboard"] = 5;
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced");
  f.counters["load_used_bytes"] = 100 * 32 * 4;  // 4 bytes a thread in 16 sectors
  auto b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "uncoalesced");
  EXPECT_NE(b.sentence.find("uses 25 % of their bytes"), std::string::npos) << b.sentence;
  f.counters["load_used_bytes"] = 100 * 32 * 16;
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced");
  f.counters.erase("load_used_bytes"), f.counters["load_sectors"] = 3200, f.counters["l2_sectors"] = 10000;
  EXPECT_EQ(find_bottleneck(f).rule, "uncoalesced");
  f.counters["l2_sectors"] = 1e6;
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced");
  // The emulator counts no sectors of the L2 cache: then it is stores that a few loads are held against.
  f.counters.erase("l2_sectors"), f.counters["store_sectors"] = 9000;
  EXPECT_EQ(find_bottleneck(f).rule, "uncoalesced");
  f.counters["store_sectors"] = 11000;
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced");
}

// A slow kernel has the live set only: what its problem needs is known all the same.
TEST(Bottleneck, OverheadIsSeenWithoutCountedArithmetic) {
  Facts f = plain();  // 1e10 operations are 1.6e8 multiply-adds of a warp
  f.counters = {{"issue_busy", 80}, {"occupancy", 60}, {"dram_busy", 10}, {"sm_cycles_active", 1e8}};
  auto b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "instruction-overhead") << b.sentence;
  EXPECT_NE(b.sentence.find("would take 0.37 % of these"), std::string::npos) << b.sentence;
  f.counters["sm_cycles_active"] = 5e5;  // 2.1e8 slots: most of them are needed
  EXPECT_NE(find_bottleneck(f).rule, "instruction-overhead");
}

TEST(Bottleneck, SpillsDoNotExplainBusyUnits) {
  Facts f = plain();
  f.local_bytes = 128, f.counters["tensor_pipe_busy"] = 60, f.counters["stall_long_scoreboard"] = 2;
  EXPECT_EQ(find_bottleneck(f).rule, "tensor-bound");
  f.counters["tensor_pipe_busy"] = 30;
  EXPECT_EQ(find_bottleneck(f).rule, "spills");
}

TEST(Bottleneck, WhatIsNearestToItsLimitIsNamed) {
  Facts f = plain();
  f.counters["issue_busy"] = 30, f.counters["l1_busy"] = 66;
  auto b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "latency-bound");
  EXPECT_NE(b.sentence.find("nothing is at its limit, the L1 cache with 66 % is nearest"), std::string::npos)
      << b.sentence;
  for (const char* name : {"l1_busy", "fma_pipe_busy"}) f.counters[name] = 20;
  EXPECT_NE(find_bottleneck(f).sentence.find("no unit that was counted is more than 40 % busy"), std::string::npos);
}

// What is said to be nearest to its limit has no other beside it that is nearer.
TEST(Bottleneck, NothingIsNearestBesideWhatIsNearer) {
  Facts f = plain();
  f.counters["dram_busy"] = 69;
  auto b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "memory-bound");
  EXPECT_NE(b.sentence.find("69 % busy with 1.10 times the least bytes: nothing else is nearer"), std::string::npos)
      << b.sentence;
  // As recorded of a kernel whose tiles come by the copy engine.
  f.counters["l2_busy"] = 82, f.counters["l1_busy"] = 82, f.counters["l2_sectors"] = 1.63 * f.least_bytes / 32;
  f.counters["tensor_pipe_busy"] = 40;
  b = find_bottleneck(f);
  EXPECT_EQ(b.rule, "data-path") << b.sentence;
  EXPECT_NE(b.sentence.find("the L1 cache 82 %"), std::string::npos) << b.sentence;
  EXPECT_NE(b.sentence.find("the caches are nearest to their limits"), std::string::npos) << b.sentence;
  // At its limit a memory is the limit, whatever else is.
  f.counters["dram_busy"] = 85, f.counters["l2_busy"] = 90;
  EXPECT_EQ(find_bottleneck(f).rule, "memory-bound");
  // Of tensor cores and multiply-adds the same is true.
  f = plain();
  f.counters["tensor_pipe_busy"] = 57, f.counters["l1_busy"] = 53;
  EXPECT_EQ(find_bottleneck(f).rule, "tensor-bound");
  f.counters["l1_busy"] = 72;
  EXPECT_EQ(find_bottleneck(f).rule, "cache-bound");
  f = plain();
  f.counters["fma_pipe_busy"] = 62;
  EXPECT_EQ(find_bottleneck(f).rule, "compute-bound");
  f.counters["l1_busy"] = 75;
  EXPECT_EQ(find_bottleneck(f).rule, "cache-bound");
  // From the live set alone nobody knows of the caches.
  f.counters = {{"dram_busy", 69}};
  EXPECT_NE(find_bottleneck(f).sentence.find("of what was counted"), std::string::npos);
}

TEST(Bottleneck, LinesOfWideLoadsAreNoFault) {
  Facts f = plain();
  f.counters["stall_long_scoreboard"] = 5;
  f.lines = {{"x.cu:7", 100, 270, 0}, {"x.cu:9", 2, 34, 0, 2 * 512}};  // 16 bytes a thread, not at a sector's begin
  EXPECT_NE(find_bottleneck(f).rule, "uncoalesced-lines");
  f.lines[1].load_used_bytes = 2 * 128;
  EXPECT_EQ(find_bottleneck(f).rule, "uncoalesced-lines");
  f.element_bytes = 8;
  EXPECT_NE(find_bottleneck(f).sentence.find("where 8 sectors a load would do"), std::string::npos);
}

TEST(Bottleneck, EmulatedTimeIsNotATime) {
  Facts f = plain();
  f.emulated = true;
  f.counters.clear();
  EXPECT_EQ(find_bottleneck(f).rule, "unknown");
}

}  // namespace
}  // namespace convscope
