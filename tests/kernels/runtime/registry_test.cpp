#include "kernels/runtime/registry.h"

#include <gtest/gtest.h>
#include <set>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/simt/executor.h"
#include "kernels/runtime/sources.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(Sources, AFileComesWithTheHeadersItIncludes) {
  auto names = [](const char* file) {
    std::vector<std::string> out;
    for (const auto& s : with_headers(file)) out.push_back(s.file.substr(s.file.rfind('/') + 1));
    return out;
  };
  auto hopper = names("kernels/ladder/hopper_tf32.cu");
  EXPECT_EQ(hopper.front(), "hopper_tf32.cu");
  for (const char* header : {"hopper_block.h", "hopper_results.h", "hopper_plan.h", "wgmma.h", "hopper.h", "kernel.h"})
    EXPECT_EQ(std::count(hopper.begin(), hopper.end(), header), 1) << header;
  EXPECT_EQ(std::count(hopper.begin(), hopper.end(), "held_16bit.h"), 0);
  auto direct = names("kernels/ladder/direct.cu");
  EXPECT_EQ(direct.front(), "direct.cu");
  EXPECT_EQ(std::count(direct.begin(), direct.end(), "wgmma.h"), 0);
  EXPECT_TRUE(with_headers("kernels/ladder/nothing.cu").empty());
}

TEST(Registry, SpecimensThenTheLadderThenTests) {
  auto all = all_kernels();
  int last = -1;
  std::string before;
  int rung = 0;
  for (const auto* k : all) {
    EXPECT_GE(static_cast<int>(k->kind()), last);
    if (static_cast<int>(k->kind()) != last) before.clear(), rung = 0;
    last = static_cast<int>(k->kind());
    EXPECT_GE(k->rung(), rung);
    if (k->rung() == rung) {
      EXPECT_LT(before, k->name());
    }
    rung = k->rung(), before = k->name();
    EXPECT_NE(k->kind(), KernelKind::internal) << "in no list";
  }
  std::vector<std::string> first;
  for (size_t i = 0; i < 9; i++) first.push_back(all[i]->name());
  EXPECT_EQ(first, (std::vector<std::string>{"S0", "S1", "S2", "S3", "S4", "direct", "scatter", "polyphase", "tiled"}));
}

TEST(Registry, EveryKernelSaysWhatItIs) {
  std::set<std::string> names;
  for (const auto* k : all_kernels()) {
    SCOPED_TRACE(k->name());
    EXPECT_TRUE(names.insert(k->name()).second);
    EXPECT_FALSE(k->idea().empty());
    EXPECT_EQ(k->idea().find('\n'), std::string::npos);
    EXPECT_NE(k->file()[0], '/') << "a place in the project, not on a machine";
    EXPECT_TRUE(k->file().ends_with(".cu"));
    EXPECT_NO_THROW(test::file_bytes(test::project_file(k->file())));
    EXPECT_EQ(&find_kernel(k->name()), k);
    if (k->kind() == KernelKind::specimen) {
      EXPECT_NO_THROW(find_preset(k->home_preset()));
    }
    if (k->kind() == KernelKind::ladder) {
      EXPECT_GE(k->rung(), 1);
    }
  }
}

TEST(Registry, SpecimensKnowWhereTheyBelong) {
  // From the notes: home problem, right there or not.
  const std::tuple<const char*, const char*, bool> table[] = {{"S0", "kernelbench-79", false},
                                                              {"S1", "kernelbench-64", true},
                                                              {"S2", "kernelbench-74", true},
                                                              {"S3", "kernelbench-64", true},
                                                              {"S4", "kernelbench-79", false}};
  for (auto [name, home, right] : table) {
    EXPECT_EQ(find_kernel(name).home_preset(), home) << name;
    EXPECT_EQ(find_kernel(name).known_right(find_preset(home).problem), right) << name;
  }
  EXPECT_TRUE(find_kernel("direct").known_right(find_preset("kernelbench-79").problem));
  ConvProblem p;
  p.dtype = DType::f64;
  for (const char* name : {"S0", "S3", "S4"}) EXPECT_EQ(find_kernel(name).unsupported(p), "is written for f32 only");
  for (const char* name : {"S1", "S2"}) EXPECT_EQ(find_kernel(name).unsupported(p), "");
}

TEST(Registry, AnUnknownNameGetsTheNearest) {
  auto said = [](const char* name) { return test::error_of<InputError>([&] { find_kernel(name); }); };
  EXPECT_EQ(said("tilled"), "kernel tilled is not known; did you mean tiled?");
  EXPECT_EQ(said("nonesuch-kernel"), "kernel nonesuch-kernel is not known: see `convscope list kernels`");
  EXPECT_TRUE(said("cudnn").starts_with("kernel cudnn is a reference and no kernel: ")) << said("cudnn");
  EXPECT_TRUE(said("./mine.cu").starts_with("kernel ./mine.cu is a file that nobody has opened here"))
      << said("./mine.cu");
  EXPECT_THROW(find_internal_kernel("direct"), std::logic_error) << "the ladder's are not internal";
}

TEST(Registry, PlansHaveOneShapeEverywhere) {
  // Plans are plain data, made without a device: for every preset each launch is one that a GPU takes.
  for (const auto& preset : presets())
    for (const auto* k : all_kernels()) {
      if (k->kind() != KernelKind::ladder || !k->unsupported(preset.problem).empty()) continue;
      Plan plan = k->plan_for(preset.problem);
      ASSERT_FALSE(plan.launches().empty());
      EXPECT_EQ(plan.out_length(), preset.problem.out_length());
      for (const auto& l : plan.launches())
        EXPECT_EQ(simt::launch_shape_fault(l.entry, l.grid, l.block, l.dynamic_shared_bytes), "") << preset.name;
    }
}

}  // namespace
}  // namespace convscope
