// Room between the __shared__ variables of a traced module's assembly. What is seen with it is tested through the
// command line (tests/app/cli/shared_bounds_test.cpp).
#include "kernels/runtime/compile/shared_zones.h"

#include <gtest/gtest.h>

#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

const std::string code = "\t.text\n\t.type\t_Z1gPf, @function\n_Z1gPf:\n\tret\n\t.size\t_Z1gPf, .-_Z1gPf\n";

TEST(SharedZones, LieAroundVariablesWithoutAFirstValue) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "assembly of another architecture is left alone";
#endif
  // Of a template in a section of its own, and two side by side.
  const std::string out = with_room_around_shared(
      code +
          "\t.hidden\t_ZZ1fILi8EEvPfE1a\n"
          "\t.section\t.tbss._ZZ1fILi8EEvPfE1a,\"awTG\",@nobits,_ZZ1fILi8EEvPfE1a,comdat\n\t.align 16\n"
          "\t.type\t_ZZ1fILi8EEvPfE1a, @object\n\t.size\t_ZZ1fILi8EEvPfE1a, 32\n_ZZ1fILi8EEvPfE1a:\n\t.zero\t32\n"
          "\t.section\t.tbss,\"awT\",@nobits\n\t.align 4\n"
          "\t.type\t_ZZ1gPfE1b, @object\n\t.size\t_ZZ1gPfE1b, 16\n_ZZ1gPfE1b:\n\t.zero\t16\n"
          "\t.type\t_ZZ1gPfE1c, @object\n\t.size\t_ZZ1gPfE1c, 4\n_ZZ1gPfE1c:\n\t.zero\t4\n",
      128);
  for (const char* own :
       {"_ZZ1fILi8EEvPfE1a:\n\t.zero\t32\n", "_ZZ1gPfE1b:\n\t.zero\t16\n", "_ZZ1gPfE1c:\n\t.zero\t4\n"})
    EXPECT_TRUE(holds(out, "\t.zero\t128\n" + std::string(own) + "\t.zero\t128\n")) << own << out;
  EXPECT_TRUE(holds(out,
                    "convscope_declared_shared:\n\t.quad\t3, 128\n"
                    "\t.quad\t_ZZ1fILi8EEvPfE1a@dtpoff, 32, .Lconvscope_name0\n"
                    "\t.quad\t_ZZ1gPfE1b@dtpoff, 16, .Lconvscope_name1\n"
                    "\t.quad\t_ZZ1gPfE1c@dtpoff, 4, .Lconvscope_name2\n"))
      << out;
  EXPECT_TRUE(holds(out, ".Lconvscope_name1:\n\t.string\t\"_ZZ1gPfE1b\"\n")) << out;
  // Under -fno-weak, of templates.
  const std::string common = with_room_around_shared("\t.tls_common\t_ZZ1fILi8EEvPfE1a,140,8\n", 128);
  EXPECT_TRUE(holds(common,
                    "\t.pushsection\t.tbss,\"awT\",@nobits\n\t.balign\t8\n\t.type\t_ZZ1fILi8EEvPfE1a, @object\n"
                    "\t.size\t_ZZ1fILi8EEvPfE1a, 140\n\t.globl\t_ZZ1fILi8EEvPfE1a\n\t.zero\t128\n"
                    "_ZZ1fILi8EEvPfE1a:\n\t.zero\t140\n\t.zero\t128\n\t.popsection\n"))
      << common;
  EXPECT_TRUE(holds(common, "\t.quad\t_ZZ1fILi8EEvPfE1a@dtpoff, 140, .Lconvscope_name0\n")) << common;
  EXPECT_TRUE(out.starts_with(code)) << "what is no variable stays as it is";
}

TEST(SharedZones, OthersAreLeftAlone) {
  for (const std::string& text :
       {code, code + "\t.section\t.tdata,\"awT\",@progbits\n\t.type\tn, @object\n\t.size\tn, 4\nn:\n\t.long\t16\n",
        code + "\t.section\t.tbss,\"awT\",@nobits\n\t.type\t_ZN9convscope4host9recordingE, @object\n"
               "\t.size\t_ZN9convscope4host9recordingE, 8\n_ZN9convscope4host9recordingE:\n\t.zero\t8\n",
        code + "\t.bss\n\t.type\tm, @object\n\t.size\tm, 4\nm:\n\t.zero\t4\n"})
    EXPECT_EQ(with_room_around_shared(text), text);
}

}  // namespace
}  // namespace convscope
