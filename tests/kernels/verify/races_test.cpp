// The search for races: kernels that have one, each beside one that does the same in order; and no rung has one.
#include "kernels/verify/races.h"

#include <gtest/gtest.h>

#include "kernels/problem/presets.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/fuzz.h"
#include "kernels/verify/problem_memory.h"
#include "kernels/verify/xray_sizes.h"
#include "kernels/verify/xray_tell.h"
#include "tests/fakes/emulated_gpu.h"
#include "tests/fakes/setting.h"
#include "tests/kernels/verify/judging.h"
#include "tests/support.h"

namespace convscope {
namespace {

#if defined(__SANITIZE_THREAD__)
#define NEEDS_RACY_KERNELS GTEST_SKIP() << "no traced module in a ThreadSanitizer build"
#else
#define NEEDS_RACY_KERNELS                    \
  ASSERT_EQ(simt::load_traced_kernels(), ""); \
  ASSERT_EQ(test::open_module("libtest_races.so"), "")
#endif

RaceSearch races_of(const KernelDefinition& kernel, const ConvProblem& p) {
  Activity activity;
  auto device = open_emulator();
  const Plan plan = kernel.plan_for(p);
  const Inputs in = make_inputs(p, {});
  ProblemMemory memory(*device, p, in, plan.out_length(), plan.workspace_bytes(), &activity);
  return find_races(*device, kernel, p, memory.at(), activity);
}

RunReport judged(const char* kernel, int64_t length) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(*device, none);
  Activity activity;
  RunSpec spec;
  spec.problem.length = length;
  spec.kernel = find_traced(kernel);
  return judge.run(spec, activity);
}

TEST(Races, EachKindIsFoundAndItsLikeInOrderIsNot) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 64;
  int racy = 0, calm = 0;
  for (const char* name : {"race_no_barrier",
                           "calm_barrier",
                           "race_second_round",
                           "calm_second_round",
                           "race_warp",
                           "calm_syncwarp",
                           "race_syncwarp_across",
                           "race_shuffle",
                           "race_plain_sum",
                           "calm_atomic_sum",
                           "race_atomic_read",
                           "race_clear_and_add",
                           "calm_clear_and_add",
                           "race_no_hand_over",
                           "calm_hand_over",
                           "calm_all_write_it",
                           "race_all_write_their_own",
                           "race_that_does_not_matter",
                           "calm_one_writes",
                           "calm_stage",
                           "race_stage_early",
                           "race_stage_taken",
                           "race_output",
                           "calm_halves",
                           "calm_copy",
                           "race_copy_late_wait",
                           "race_copy_no_wait",
                           "race_copy_own",
                           "race_copy_overwrites",
                           "calm_copy_twice"}) {
    const KernelDefinition* kernel = find_traced(name);
    ASSERT_TRUE(kernel) << name;
    const RaceSearch s = races_of(*kernel, p);
    EXPECT_EQ(s.missing, "") << name;
    EXPECT_EQ(s.blocks, 1) << name;
    const bool has = std::string_view(name).starts_with("race_");
    EXPECT_EQ(!s.race.empty(), has) << name << ": " << s.race;
    (has ? racy : calm)++;
  }
  EXPECT_EQ(racy, 18);
  EXPECT_EQ(calm, 12);
}

// Of copies: who reads what, and whether it is on its way or will overwrite what others still read.
TEST(Races, CopiesThatNobodyHasWaitedFor) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 64;
  auto at = [](const char* mark) {
    return "races.cu:" + std::to_string(test::line_of("tests/kernels/simt/races.cu", std::string("COPY ") + mark));
  };
  for (const char* kernel : {"race_copy_late_wait", "race_copy_no_wait"}) {
    const std::string said = races_of(*find_traced(kernel), p).race;
    EXPECT_TRUE(test::holds(said, " reads at " + at("taken") + " what thread ")) << said;
    EXPECT_TRUE(test::holds(said, "'s copy at " + at("ordered") + " brings, which nobody has waited for")) << said;
  }
  EXPECT_EQ(races_of(*find_traced("race_copy_own"), p).race, "a race in block 0: thread 0 reads at " + at("read") +
                                                                 " what its own copy at " + at("ordered") +
                                                                 " brings, which nobody has waited for");
  const std::string over = races_of(*find_traced("race_copy_overwrites"), p).race;
  EXPECT_TRUE(test::holds(over, "'s copy writes at " + at("ordered"))) << over;
  EXPECT_TRUE(over.ends_with(" the same memory, with nothing between that orders them")) << over;
  // What comes out shows it as well, and is the same in all orders of a right one.
  EXPECT_EQ(judged("race_copy_no_wait", 64).verdict.status, Status::wrong);
  EXPECT_EQ(races_of(*find_traced("calm_copy"), p).unset, "");
}

TEST(Races, TheSentenceNamesBothSides) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 64;
  auto line_of = [](const char* mark) {
    return std::to_string(test::line_of("tests/kernels/simt/races.cu", std::string("RACE ") + mark));
  };
  EXPECT_EQ(races_of(*find_traced("race_no_barrier"), p).race,
            "a race in block 0: thread 0 reads at races.cu:" + line_of("read") + ", and thread 32 writes at races.cu:" +
                line_of("written") + " the same memory, with nothing between that orders them");
  const std::string early = races_of(*find_traced("race_stage_early"), p).race;
  for (const char* said : {"thread 0's copy writes", " reads at races.cu:"})
    EXPECT_TRUE(test::holds(early, said)) << said << "\n" << early;
}

// What came out is right, in every order that was tried: a race it is all the same.
TEST(Races, ARightResultWithARaceIsWrong) {
  NEEDS_RACY_KERNELS;
  for (const char* name : {"race_that_does_not_matter", "calm_all_write_it", "calm_one_writes"}) {
    const RunReport r = judged(name, 256);
    const bool racy = std::string_view(name).starts_with("race_");
    EXPECT_EQ(r.error.failing, 0) << name;
    EXPECT_EQ(r.verdict.status, racy ? Status::wrong : Status::right) << r.verdict.sentence;
    EXPECT_EQ(r.verdict.find("mathematics")->status, LayerStatus::pass);
    EXPECT_EQ(r.verdict.find("determinism")->status, racy ? LayerStatus::fail : LayerStatus::pass);
    if (racy)
      EXPECT_TRUE(r.verdict.sentence.starts_with("wrong: a race in block 0: thread ")) << r.verdict.sentence;
    else
      EXPECT_TRUE(
          r.verdict.find("determinism")
              ->evidence.ends_with("no race between the threads of 4 blocks that were traced, and none between blocks"))
          << r.verdict.find("determinism")->evidence;
  }
}

// It is no fault of sizes or values, either.
TEST(Races, AreNotToldAsSizes) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 256;
  auto device = open_emulator();
  Activity activity;
  const KernelDefinition& racy = *find_traced("race_that_does_not_matter");
  EXPECT_TRUE(judged("race_that_does_not_matter", 256).verdict.results_are_right());
  EXPECT_FALSE(size_fault(*device, racy, p, Accuracy::strict, 1e9, activity));
  EXPECT_FALSE(judged("race_no_barrier", 256).verdict.results_are_right()) << "its results are wrong as well";
}

// Of a file, variables that nothing was put into as well: what a GPU has in a register may be right.
TEST(Races, OfAShortPieceOfAFile) {
  NEEDS_RACY_KERNELS;
  const test::ScratchFolder folder;
  const test::Setting cache("CONVSCOPE_CACHE", test::own_cache(folder));
  ConvProblem p;
  p.in_channels = p.out_channels = 4, p.kernel_size = 3, p.length = 1'000'000, p.batch = 64;
  Activity activity;
  auto found = [&](const std::string& to) {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    const std::string from = "float sum = b ? b[co] : 0.0f;";
    text.replace(text.find(from), from.size(), to);
    return find_races_of_piece(*bring_outside("mine.cu", text, activity).kernels.at(0), p, activity);
  };
  const RaceSearch unset = found("float sum;");
  EXPECT_TRUE(test::holds(unset.variable, "uses sum at mine.cu:")) << unset.variable << unset.missing;
  EXPECT_TRUE(test::holds(unset.variable,
                          " before anything was put into it: what stands there reaches 2,416 elements "
                          "(found by the emulator, on 2 × 4→4, K 3, L 300, s 1, p 0, d 1)"))
      << unset.variable;
  const RaceSearch set = found("float sum = 0;");
  EXPECT_EQ(set.variable, "");
  EXPECT_EQ(set.missing, "");
}

// A file on what is taken for a GPU: what the emulator sees of it there is told.
class OnAGpu : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "no traced module in a ThreadSanitizer build";
#endif
  }
  // The sample, with other words in the place of some.
  const KernelDefinition& changed(std::initializer_list<std::pair<std::string, std::string>> parts) {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    for (const auto& [from, to] : parts) text.replace(text.find(from), from.size(), to);
    return *bring_outside("mine.cu", text, activity_).kernels.at(0);
  }
  const test::ScratchFolder folder_;
  const test::Setting cache_{"CONVSCOPE_CACHE", test::own_cache(folder_)};
  const ConvProblem p_{
      .batch = 1, .in_channels = 4, .out_channels = 3, .kernel_size = 3, .length = 40, .stride = 2, .padding = 1};
  Activity activity_;
  test::EmulatedGpu gpu_{[](const Launch&) { return 1.0; }};
};

TEST_F(OnAGpu, WhereItWritesBesideATensorIsFoundByTheEmulator) {
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(gpu_, none);
  RunSpec spec = test::quick();
  spec.kernel = &changed({{"y[id] = sum", "y[id - 2] = sum"}}), spec.problem = p_;
  const std::string said = judge.run(spec, activity_).verdict.sentence;
  EXPECT_TRUE(test::holds(said,
                          "writes outside y: 8 bytes directly before its start; it writes element -1 of y, which "
                          "has 237, at mine.cu:"))
      << said;
  EXPECT_TRUE(test::holds(said, "(found by the emulator, on 1 × 4→3, K 3, L 40, s 2, p 1, d 1)")) << said;
}

// Each channel's thread puts its own products there: the last one stays, as if it were the only one that is summed.
TEST_F(OnAGpu, AFormulaOfARaceIsNotTold) {
  const KernelDefinition& racy =
      changed({{"N*Cout*Lout", "N*Cout*Lout*Cin"},
               {"if (id >=", "const int mine = id % Cin; id /= Cin; if (id >="},
               {"for (int ci = first; ci < first + in_group; ci++)", "for (int ci = mine; ci < mine + 1; ci++)"}});
  const Xray x = xray(gpu_, racy, p_, Accuracy::strict, {}, activity_);
  EXPECT_EQ(x.is, Xray::Is::wrong);
  EXPECT_TRUE(x.sentence.starts_with(std::string(threads_race) + "a race ")) << x.sentence;
  EXPECT_FALSE(x.names_index()) << x.sentence;
  // The control: where no threads race, a formula is told.
  const Xray calm = xray(gpu_, changed({{"j + p - k * d", "j - p - k * d"}}), p_, Accuracy::strict, {}, activity_);
  EXPECT_TRUE(calm.names_index()) << calm.sentence;
}

class AsksForAPebibyte final : public KernelDefinition {
 public:
  AsksForAPebibyte() : KernelDefinition("asks_for_a_pebibyte", "races_test.cpp") {
    plan([](const ConvProblem&, Plan& plan) { plan.need_workspace(size_t{1} << 50); });
  }
};

// A verdict does not go with it.
TEST(Races, OfAShortPieceForWhichThereIsNoMemory) {
  ConvProblem p;
  p.in_channels = p.out_channels = 4, p.kernel_size = 3, p.length = 1'000'000;
  Activity activity;
  const RaceSearch none = find_races_of_piece(AsksForAPebibyte(), p, activity);
  EXPECT_TRUE(none.missing.starts_with("on the emulator, on 1 × 4→4, K 3, L 300")) << none.missing;
  EXPECT_TRUE(test::holds(none.missing, "needed at once")) << none.missing;
  EXPECT_EQ(none.race, "");
}

// A kernel that runs on a GPU is looked at on the emulator, in a short piece of its problem.
TEST(Races, OfAShortPiece) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.in_channels = p.out_channels = 4, p.kernel_size = 3, p.length = 1'000'000, p.batch = 64;
  Activity activity;
  const RaceSearch racy = find_races_of_piece(*find_traced("race_no_barrier"), p, activity);
  EXPECT_TRUE(racy.race.starts_with("a race in block 0: thread 0 reads at races.cu:")) << racy.race << racy.missing;
  EXPECT_TRUE(racy.race.ends_with(" (found by the emulator, on 2 × 4→4, K 3, L 300, s 1, p 0, d 1)")) << racy.race;
  const RaceSearch calm = find_races_of_piece(*find_traced("calm_barrier"), p, activity);
  EXPECT_EQ(calm.race, "");
  EXPECT_EQ(calm.missing, "");
  EXPECT_GT(calm.blocks, 0);
  // Blocks that wait for others do so for ever there: it is given up, and not asked again.
  for (const char* why : {"takes longer than 4 s", "takes too long for this kernel"}) {
    const RaceSearch waits = find_races_of_piece(*find_traced("waits_for_others"), p, activity);
    EXPECT_TRUE(test::holds(waits.missing, why)) << waits.missing << waits.race;
  }
  // What no piece is small enough of is not looked for, and said.
  p.in_channels = 1 << 16, p.out_channels = 1 << 10, p.length = 16;
  EXPECT_TRUE(test::holds(find_races_of_piece(*find_traced("calm_barrier"), p, activity).missing, "no short piece"));
  activity.cancel();
  p.in_channels = p.out_channels = 4;
  EXPECT_THROW(find_races_of_piece(*find_traced("calm_barrier"), p, activity), Cancelled);
}

// No order of threads makes runs differ that have neither a race nor an atomic addition.
TEST(Races, WhatDiffersWithoutAnOrder) {
  NEEDS_RACY_KERNELS;
  const std::string said = judged("remembers", 64).verdict.find("determinism")->evidence;
  EXPECT_TRUE(said.starts_with("not the same twice, and nothing in it depends on an order: a value is used that "))
      << said;
  ConvProblem p;
  p.length = 64;
  EXPECT_FALSE(races_of(*find_traced("remembers"), p).atomics);
  EXPECT_TRUE(races_of(*find_traced("calm_blocks_atomic"), p).atomics) << "the control";
}

// The emulator runs a block to its end: nothing is lost here of what a GPU loses.
TEST(Races, BetweenBlocks) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 256;
  for (const char* name : {"race_blocks_sum", "race_blocks_their_own", "race_blocks_mixed", "calm_blocks_atomic",
                           "calm_blocks_same", "calm_blocks_apart", "calm_blocks_ticket"}) {
    const KernelDefinition* kernel = find_traced(name);
    ASSERT_TRUE(kernel) << name;
    const RaceSearch s = races_of(*kernel, p);
    EXPECT_EQ(s.missing, "") << name;
    EXPECT_TRUE(s.between) << name;
    EXPECT_EQ(!s.race.empty(), std::string_view(name).starts_with("race_")) << name << ": " << s.race;
    EXPECT_EQ(s.misaligned, "") << name;
  }
  const std::string line = std::to_string(test::line_of("tests/kernels/simt/races.cu", "RACES(RACE)") + 1);
  const std::string said = races_of(*find_traced("race_blocks_sum"), p).race;
  // Of which element depends, rarely, on the workers: where two write at the very same time, both find what was before.
  EXPECT_TRUE(said.starts_with("a race between blocks over y[0, 0, ")) << said;
  EXPECT_TRUE(test::holds(said, "writes it at races.cu:" + line)) << said;
  EXPECT_TRUE(test::holds(races_of(*find_traced("race_blocks_mixed"), p).race, " adds to it at ")) << "atomically";
  // What takes long is left out, and that it was is known.
  p.in_channels = p.out_channels = 1024, p.length = 256;
  EXPECT_FALSE(races_of(*find_traced("race_blocks_sum"), p).between);
}

// The passes before have left zeros in x, and sums of zeros are all the same.
TEST(Races, BetweenBlocksIsToldFromNumbersThatDiffer) {
  NEEDS_RACY_KERNELS;
  const std::string said = judged("race_blocks_beyond", 256).verdict.sentence;
  EXPECT_TRUE(test::holds(said, "a race between blocks over y[0, 0, 63]: ")) << said;
}

TEST(Races, SharedMemoryThatNobodyHasWritten) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 256;
  const std::string line = std::to_string(test::line_of("tests/kernels/simt/races.cu", "UNSET read")),
                    words = "reads shared memory that nobody has written at races.cu:" + line + ", thread 5 of block 0";
  for (const char* name : {"unset_static", "unset_dynamic"}) {
    EXPECT_EQ(races_of(*find_traced(name), p).unset, words) << name;
    // The emulator lays NaN there before each block, whichever kind it is of.
    const RunReport r = judged(name, 256);
    EXPECT_EQ(r.error.nan, 4) << name << ": one in each block";
    EXPECT_TRUE(r.verdict.sentence.starts_with("wrong: " + words)) << r.verdict.sentence;
  }
  for (const char* name : {"set_static", "set_dynamic"}) {
    EXPECT_EQ(races_of(*find_traced(name), p).unset, "") << name;
    EXPECT_EQ(judged(name, 256).verdict.status, Status::right) << name;
  }
  EXPECT_EQ(races_of(*find_traced("unset_unused"), p).unset, words);
  EXPECT_EQ(judged("unset_unused", 256).verdict.status, Status::right) << "what is read and of no use is no fault";
}

TEST(Races, AddressesThatAreNoMultipleOfWhatIsMoved) {
  NEEDS_RACY_KERNELS;
  ConvProblem p;
  p.length = 256;
  const std::string writes = races_of(*find_traced("misaligned_write"), p).misaligned;
  EXPECT_TRUE(writes.starts_with("writes 8 bytes at an address that is a multiple of 4 only at races.cu:")) << writes;
  EXPECT_TRUE(test::holds(writes, ", thread 0 of block 0: a GPU ends the launch there")) << writes;
  EXPECT_EQ(races_of(*find_traced("aligned_write"), p).misaligned, "");
  EXPECT_TRUE(test::holds(judged("misaligned_write", 256).verdict.find("memory")->evidence, writes));
}

TEST(Races, NoRungHasOne) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no traced module in a ThreadSanitizer build";
#endif
  ASSERT_EQ(simt::load_traced_kernels(), "");
  int searched = 0, left_out = 0, between = 0;
  for (const auto* kernel : all_kernels()) {
    if (kernel->kind() == KernelKind::test) continue;
    for (DType dtype : {DType::f32, DType::f16}) {
      FuzzSpec spec;
      spec.base.dtype = dtype;
      spec.cases = 6;
      spec.most_products = 3e5;
      Fuzz fuzz(spec);
      while (auto p = fuzz.next()) {
        if (!kernel->unsupported(*p).empty()) {
          fuzz.judged(Status::not_run, "");
          if (fuzz.refused() > 200) break;  // of another type
          continue;
        }
        const RaceSearch s = races_of(*kernel, *p);
        EXPECT_EQ(s.race, "") << kernel->name() << " on " << describe(*p);
        EXPECT_EQ(s.misaligned, "") << kernel->name() << " on " << describe(*p);
        // The exhibits do with groups, which they do not know.
        if (kernel->kind() == KernelKind::ladder) {
          EXPECT_EQ(s.leaves, "") << kernel->name() << " on " << describe(*p);
        }
        between += s.between;
        (s.missing.empty() ? searched : left_out)++;
        fuzz.judged(Status::right, "");
      }
    }
  }
  EXPECT_GT(searched, 150);
  EXPECT_LT(left_out, searched / 10);
  EXPECT_GT(between, searched * 9 / 10) << "their problems are small";
}

}  // namespace
}  // namespace convscope
