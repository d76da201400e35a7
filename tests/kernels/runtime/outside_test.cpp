// Files from outside in the list of kernels: under which names they stand there, and that what stands there stays.
#include "kernels/runtime/compile/outside.h"

#include <gtest/gtest.h>

#include "kernels/runtime/registry.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

class Outside : public testing::Test {
 protected:
  // Other tests of this program go through the list.
  ~Outside() override {
    for (const char* name : {"twice.cu", "./twice.cu", "again.cu"}) list_outside(name, {}, {});
  }
  const KernelDefinition* bring(const std::string& name, const std::string& text) {
    return bring_outside(name, text, activity_).kernels.at(0);
  }
  static std::string sample() { return test::text_file(test::project_file("assets/kernels/gather.cu")); }

  Activity activity_;
  test::ScratchFolder folder_;
  test::Setting cache_{"CONVSCOPE_CACHE", test::own_cache(folder_)};
};

// As in `bench twice.cu ./twice.cu`: one module, two kernels.
TEST_F(Outside, OneFileUnderTwoNamesIsKnownUnderBoth) {
  const auto* first = bring("twice.cu", sample());
  const auto* second = bring("./twice.cu", sample());
  EXPECT_NE(first, second);
  EXPECT_EQ(first->name(), "twice.cu");
  EXPECT_EQ(second->name(), "./twice.cu");
  EXPECT_EQ(&find_kernel("twice.cu"), first);
  EXPECT_EQ(&find_kernel("./twice.cu"), second);
  for (const char* name : {"twice.cu", "./twice.cu"}) {
    if (const KernelDefinition* twin = find_traced(name)) {
      EXPECT_NE(twin, &find_kernel(name));
    }
  }
  ConvProblem p;
  p.length = 7;
  EXPECT_EQ(first->plan_for(p).launches().size(), 1u);
  EXPECT_EQ(second->plan_for(p).launches().size(), 1u);
}

// Others may be reading it, as what shows a source does.
TEST_F(Outside, WhatIsListedDoesNotChange) {
  const auto* k = bring("again.cu", sample());
  const char *name = k->name().data(), *text = k->text().data();
  EXPECT_EQ(k->text(), sample());
  EXPECT_EQ(bring("again.cu", sample()), k) << "the same file: the same kernel";
  EXPECT_EQ(k->name().data(), name);
  EXPECT_EQ(k->text().data(), text);
  // Another text is another kernel.
  const auto* other = bring("again.cu", "\n" + sample());
  EXPECT_NE(other, k);
  EXPECT_EQ(find_kernel("again.cu").text(), "\n" + sample());
  EXPECT_EQ(k->text(), sample());
  EXPECT_EQ(bring("again.cu", sample()), k) << "and back";
  EXPECT_EQ(&find_kernel("again.cu"), k);
}

}  // namespace
}  // namespace convscope
