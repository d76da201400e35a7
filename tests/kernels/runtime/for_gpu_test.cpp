// Kernel files from outside on their way to a GPU: names of entries, texts, messages. What nvcc makes of them is tested
// by the command line (tests/app/cli/outside_test.cpp) and on a GPU (tests/app/engine/gpu_files_test.cpp).
#include "kernels/runtime/compile/for_gpu.h"

#include <gtest/gtest.h>
#include <typeinfo>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/workshop.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

TEST(ForGpu, EntriesGetTheirPlainNames) {
  const std::string ptx = with_plain_entries(
      ".visible .entry _Z6gatherPKfS0_Pf(\n\t.param .u64 _Z6gatherPKfS0_Pf_param_0,\n"
      "\t.param .u64 _Z6gatherPKfS0_Pf_param_1\n)\nld.param.u64 %rd1, [_Z6gatherPKfS0_Pf_param_0];\n"
      ".shared .align 4 .b8 _ZZ6gatherPKfS0_PfE4part[128];\n");
  EXPECT_EQ(ptx,
            ".visible .entry gather(\n\t.param .u64 gather_param_0,\n\t.param .u64 gather_param_1\n)\n"
            "ld.param.u64 %rd1, [gather_param_0];\n.shared .align 4 .b8 _ZZ6gatherPKfS0_PfE4part[128];\n");
}

TEST(ForGpu, OfTemplatesNamespacesAndFilesOfTheirOwn) {
  EXPECT_EQ(with_plain_entries(".weak .entry _Z3temIfEvPKT_PS0_(\n"), ".weak .entry tem_float(\n");
  EXPECT_EQ(with_plain_entries(".entry _Z4statPf(\n"), ".visible .entry stat(\n") << "a driver must find it";
  EXPECT_EQ(with_plain_entries(".entry _ZN36_GLOBAL__N__4bdbfe0a_4_a_cu_2922533c4anonEPf(\n"),
            ".visible .entry anon(\n");
  EXPECT_EQ(with_plain_entries(".visible .entry plain(\n.param .u64 plain_param_0\n"),
            ".visible .entry plain(\n.param .u64 plain_param_0\n");
}

TEST(ForGpu, VariablesGetTheirPlainNamesAndAreFound) {
  EXPECT_EQ(with_plain_entries(".const .align 4 .b8 w[4096];\n.const .align 4 .b8 _ZN2up1bE[28];\n"
                               ".visible .global .align 4 .u32 n;\nld.const.f32 %f4, [_ZN2up1bE+12];\n"),
            ".visible .const .align 4 .b8 w[4096];\n.visible .const .align 4 .b8 b[28];\n"
            ".visible .global .align 4 .u32 n;\nld.const.f32 %f4, [b+12];\n");
  EXPECT_EQ(with_plain_entries(
                ".const .align 8 .f64 _ZN31_INTERNAL_d305ab83_4_c_cu_table33_GLOBAL__N__d305ab83_4_c_cu_table3c_dE;\n"),
            ".visible .const .align 8 .f64 c_d;\n");
  EXPECT_EQ(with_plain_entries(".global .align 1 .b8 _ZN4cuda3std5beginE[1];\n"),
            ".visible .global .align 1 .b8 _ZN4cuda3std5beginE[1];\n");
  const std::string of_a_function = ".global .align 1 .b8 _ZZ1fPfE4part[16];\n";
  EXPECT_EQ(with_plain_entries(of_a_function), of_a_function);
}

template <auto F>
struct Tag {};
template <int, class T>
void in_tag(T*) {}
void plain_in_tag(float) {}

TEST(ForGpu, ModulesNameFunctionsByTheSameRule) {
  const std::string name = host::name_in_device_code(typeid(Tag<&in_tag<64, int64_t>>).name());
  EXPECT_EQ(name, "in_tag_64_long");
  EXPECT_EQ(with_plain_entries(".visible .entry _Z6in_tagILi64ElEvPT0_(\n"), ".visible .entry " + name + "(\n");
  EXPECT_EQ(host::name_in_device_code(typeid(Tag<&plain_in_tag>).name()), "plain_in_tag");
}

TEST(ForGpu, TwoOfOneNameKeepTheirs) {
  const std::string two = ".visible .entry _Z1fPf(\n.visible .entry _Z1fPi(\n";
  EXPECT_EQ(with_plain_entries(two), two);
  EXPECT_EQ(with_plain_entries("not PTX"), "not PTX");
}

TEST(ForGpu, ATemplateIsUsedOnce) {
  const std::string text =
      "// convscope: launch k<64,float> grid=1 block=1 args=y\n// convscope: launch k<64,float> grid=1 block=1 args=y\n"
      "// convscope: launch plain grid=1 block=1 args=y\ntemplate <int, class T> __global__ void k(T*) {}\n";
  const std::string code = for_device(text, "m\"x.cu");
  EXPECT_TRUE(code.starts_with("#line 1 \"m\\\"x.cu\"\n" + text)) << code;
  const std::string use = "convscope_use_k_64_float = reinterpret_cast<const void*>(&k<64,float>);\n";
  EXPECT_TRUE(holds(code, use)) << code;
  EXPECT_EQ(code.find(use), code.rfind(use));
  EXPECT_FALSE(holds(code, "&plain")) << "it is there by itself";
  EXPECT_EQ(device_name("k<64,float>"), "k_64_float");
  EXPECT_EQ(device_name("k<-1, 1>"), "k_m1_1");
  EXPECT_NE(device_name("k<3, -1>"), device_name("k<3, 1>"));
  EXPECT_EQ(device_name("k"), "k");
}

TEST(ForGpu, ErrorsOfNvccAndPtxasInOneLine) {
  EXPECT_EQ(
      first_error("m.cu(24): error: identifier \"summe\" is undefined\n   y[id] = summe;\n\n1 error detected", "m.cu"),
      "m.cu:24: identifier \"summe\" is undefined");
  EXPECT_EQ(first_error("m.cu(3): warning #177-D: variable \"a\" was declared but never referenced\n\n"
                        "ptxas error   : Entry function 'k' uses too much shared data (0x18000 bytes, 0xc000 max)\n",
                        "m.cu"),
            "m.cu:3: Entry function 'k' uses too much shared data (0x18000 bytes, 0xc000 max)");
  EXPECT_EQ(first_error("nvcc fatal   : Unsupported gpu architecture 'compute_200'\n", "m.cu"),
            "m.cu: Unsupported gpu architecture 'compute_200'");
}

}  // namespace
}  // namespace convscope
