// Texts of nvdisasm and of ptxas, read line by line; which tool is taken; and the program's own device code, whose line
// table needs no GPU.
#include "profiling/disassembly/disassembly.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "kernels/base/run_program.h"
#include "tests/convolution.h"
#include "tests/fakes/setting.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::Setting;

constexpr const char* printed = R"(
	.target	sm_90a
//--------------------- .text.other          --------------------------
	.section	.text.other,"ax",@progbits
.text.other:
        /*0000*/                   EXIT ;
//--------------------- .text.mine          --------------------------
	.section	.text.mine,"ax",@progbits
mine:
.text.mine:
	//## File "/src/kernels/mine.cu", line 34
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/src/kernels/mine.cu", line 12 inlined at "/src/kernels/mine.cu", line 35
        /*0010*/                   S2R R2, SR_TID.X ;
.L_x_198:
        /*0020*/               @P0 EXIT ;
        /*garbage*/                NOP ;
.L_x_199:
        /*10000*/                  BRA `(.L_x_198) ;
//--------------------- .nv.shared --------------------------
        /*0030*/                   NOP ;
)";

TEST(Sass, IsOfTheFunctionWithItsLines) {
  auto list = parse_sass(printed, "mine");
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].offset, 0u);
  EXPECT_EQ(list[0].text, "LDC R1, c[0x0][0x28]");
  EXPECT_EQ(list[0].at.file, "/src/kernels/mine.cu");
  EXPECT_EQ(list[0].at.line, 34);
  EXPECT_EQ(list[1].at.line, 12) << "of code that was put in, the innermost";
  EXPECT_EQ(list[2].label, ".L_x_198");
  EXPECT_EQ(list[2].text, "@P0 EXIT");
  EXPECT_EQ(list[2].at.line, 12) << "a place holds until the next";
  EXPECT_EQ(list[3].offset, 0x10000u);
  EXPECT_EQ(list[3].label, ".L_x_199");
  EXPECT_EQ(parse_sass(printed, "other").size(), 1u);
  EXPECT_TRUE(parse_sass(printed, "none").empty());
  EXPECT_TRUE(parse_sass("", "mine").empty());
}

constexpr const char* ptx = R"(
.version 9.0
.visible .entry other(
.param .u64 other_param_0
)
{
ret;
}
.visible .entry mine(
.param .u64 mine_param_0
)
.maxntid 256, 1, 1
{
.reg .f32 %f<3>;
.loc	1 30 0
mov.u32 %r1, %ctaid.x;
.loc	1 12 3, function_name $L__info_string0, inlined_at 1 31 3
{ add.f32 %f1, %f1, %f2; }
.loc	1 0 3
bra $L__BB0_1;
$L__BB0_1:
ret;
}
.visible .entry mine2(
)
{
ret;
}
	.file	1 "/src/kernels/mine.cu"
)";

TEST(Ptx, IsOfTheFunctionWithItsLines) {
  auto list = parse_ptx(ptx, "mine");
  ASSERT_EQ(list.size(), 12u);
  EXPECT_EQ(list[0].text, ".visible .entry mine(");
  EXPECT_EQ(list[0].at.line, 0);
  EXPECT_EQ(list[6].text, "mov.u32 %r1, %ctaid.x;");
  EXPECT_EQ(list[6].at.line, 30);
  EXPECT_EQ(list[6].at.file, "/src/kernels/mine.cu") << "files are named at the end";
  EXPECT_EQ(list[7].at.line, 12);
  EXPECT_EQ(list[8].at.line, 12) << "line 0 is nobody's";
  EXPECT_EQ(list.back().text, "}");
  EXPECT_TRUE(parse_ptx(ptx, "min").empty());
}

TEST(Sass, AnyTextIsTaken) {
  test::Random r(7);
  const std::string texts[] = {printed, ptx};
  for (int i = 0; i < 3000; i++) {
    std::string text = texts[i % 2];
    for (int64_t n = test::between(r, 1, 40); n > 0; n--) text[r() % text.size()] = static_cast<char>(r());
    text.resize(r() % (text.size() + 1));
    for (const auto& l : parse_sass(text, "mine")) EXPECT_GE(l.at.line, 0);
    for (const auto& l : parse_ptx(text, "mine")) EXPECT_GE(l.at.line, 0);
    device_images(text), code_of(text, "mine"), symbol_of(text, "mine"), ptx_of(text);
  }
}

// The program's device code, with bytes that are wrong.
TEST(DeviceImage, AnyBytesAreTaken) {
  auto images = compiled_images("kernels/ladder/direct.cu");
  if (images.empty()) GTEST_SKIP() << "this build has no device code";
  EXPECT_FALSE(code_of(images[0].elf, "direct_f32").empty());
  EXPECT_GT(symbol_of(images[0].elf, "direct_f32"), 0u);
  EXPECT_EQ(symbol_of(images[0].elf, "direct"), 0u);
  EXPECT_NE(ptx_of(images[0].elf).find(".entry direct_f32("), std::string::npos);
  test::Random r(8);
  for (int i = 0; i < 300; i++) {
    std::string bytes(images[0].elf);
    for (int64_t n = test::between(r, 1, 200); n > 0; n--)
      bytes[i % 2 ? r() % 64 : r() % bytes.size()] = static_cast<char>(r());
    bytes.resize(bytes.size() - r() % (i % 3 ? 1 : bytes.size()));
    code_of(bytes, "direct_f32"), symbol_of(bytes, "direct_f32"), ptx_of(bytes), image_facts({90, bytes});
  }
}

class Disassembler : public ::testing::Test {
 protected:
  std::string script(const std::string& text) {
    std::string path = folder_.path("nvdisasm");
    std::ofstream(path) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::vector<FunctionCode> direct(const Cupti& cupti) {
    Activity activity;
    return disassemble(compiled_images("kernels/ladder/direct.cu"), "sm_90", {"direct_f32", "not_there"}, cupti,
                       activity);
  }
  void SetUp() override {
    if (compiled_images("kernels/ladder/direct.cu").empty()) GTEST_SKIP() << "this build has no device code";
  }
  Cupti::Places nowhere() {
    Cupti::Places p;
    p.folders = {"/nowhere"};
    p.by_name = false;
    return p;
  }
  test::ScratchFolder folder_;
};

TEST_F(Disassembler, IsFoundWhereItIsNamed) {
  Gap gap;
  {
    Setting named("CONVSCOPE_NVDISASM", "/nowhere/nvdisasm");
    EXPECT_EQ(find_nvdisasm(gap), "");
    EXPECT_EQ(gap.code, "no-nvdisasm");
    EXPECT_NE(gap.what.find("/nowhere/nvdisasm"), std::string::npos);
    EXPECT_NE(gap.how.find("cuda-nvdisasm"), std::string::npos);
  }
  std::string tool = script("exit 0");
  Setting named("CONVSCOPE_NVDISASM", tool);
  EXPECT_EQ(find_nvdisasm(gap), tool);
  EXPECT_FALSE(gap);
}

TEST_F(Disassembler, GivesTextAndLines) {
  std::string tool = script(
      "if [ \"$1\" = --version ]; then echo 'nvdisasm: NVIDIA'; echo 'release 13.0, V13.0.85'; exit 0; fi\n"
      "printf '.text.direct_f32:\\n\\t//## File \"/b/kernels/ladder/direct.cu\", line 21\\n  /*0010*/  NOP ;\\n'\n");
  Setting named("CONVSCOPE_NVDISASM", tool);
  auto list = direct(Cupti(nowhere()));
  ASSERT_EQ(list.size(), 1u) << "what is not there is left out";
  const FunctionCode& f = list[0];
  EXPECT_FALSE(f.no_text) << f.no_text.sentence();
  EXPECT_EQ(f.sass_source, "nvdisasm V13.0.85");
  EXPECT_EQ(f.lines_source, "its line table, by nvdisasm V13.0.85");
  ASSERT_EQ(f.sass.size(), 1u);
  EXPECT_EQ(f.sass[0].at.file, "kernels/ladder/direct.cu") << "by the name of the source that is carried";
  EXPECT_GT(f.facts.registers, 0);
  EXPECT_GT(f.code_bytes, 1000u);
  EXPECT_EQ(f.code_hash.size(), 16u);
  EXPECT_FALSE(f.ptx.empty());
}

TEST_F(Disassembler, WithoutOneThereIsTheBareCode) {
  struct Step {
    std::string tool;
    const char *code, *what;
  };
  std::string failing =
      "if [ \"$1\" = --version ]; then echo 'nvdisasm: release 13.0, V13.0.85'; exit 0; fi\n"
      "echo 'nvdisasm fatal: too new' >&2; exit 1\n";
  for (const auto& s : {Step{"", "no-nvdisasm", "/nowhere"}, Step{"echo hello", "no-nvdisasm", "is no nvdisasm"},
                        Step{failing, "nvdisasm-fails", "too new"}}) {
    SCOPED_TRACE(s.code);
    Setting named("CONVSCOPE_NVDISASM", s.tool.empty() ? "/nowhere/nvdisasm" : script(s.tool));
    auto list = direct(Cupti(nowhere()));
    ASSERT_EQ(list.size(), 1u);
    const FunctionCode& f = list[0];
    EXPECT_EQ(f.no_text.code, s.code);
    EXPECT_NE(f.no_text.what.find(s.what), std::string::npos) << f.no_text.sentence();
    EXPECT_NE(f.no_text.how.find("CONVSCOPE_NVDISASM"), std::string::npos);
    EXPECT_EQ(f.sass.size() * 16, f.code_bytes);
    EXPECT_EQ(f.sass[1].text.size(), 33u) << "two words: " << f.sass[1].text;
    EXPECT_EQ(f.no_lines.code, "no-cupti") << "and no line table, without CUPTI";
    EXPECT_FALSE(f.ptx.empty()) << "PTX needs no tool";
  }
}

// By a real CUPTI, where there is one: no GPU is needed for its line table.
TEST_F(Disassembler, LinesComeFromTheLineTable) {
  Setting none("CONVSCOPE_NVDISASM", "/nowhere/nvdisasm");
  Cupti cupti(Cupti::usual_places());
  auto list = direct(cupti);
  ASSERT_EQ(list.size(), 1u);
  if (list[0].no_lines.code == "no-cupti") GTEST_SKIP() << list[0].no_lines.what;
  EXPECT_EQ(list[0].lines_source, "its line table, by CUPTI") << list[0].no_lines.sentence();
  size_t in_loop = 0;
  for (const auto& i : list[0].sass) in_loop += i.at.line >= 18 && i.at.line <= 25;
  EXPECT_GT(in_loop, list[0].sass.size() / 10);
  // A real nvdisasm says the same of every instruction.
  unsetenv("CONVSCOPE_NVDISASM");
  Gap gap;
  if (find_nvdisasm(gap).empty()) return;
  auto text = direct(cupti);
  ASSERT_EQ(text[0].sass.size(), list[0].sass.size()) << text[0].no_text.sentence();
  for (size_t i = 0; i < list[0].sass.size(); i++) {
    EXPECT_EQ(text[0].sass[i].offset, list[0].sass[i].offset);
    EXPECT_EQ(text[0].sass[i].at.line, list[0].sass[i].at.line) << i;
  }
}

TEST_F(Disassembler, AProgramThatHangsIsEnded) {
  Activity activity;
  auto r = run_program(script("exec sleep 60"), {}, 0.2, activity);
  EXPECT_TRUE(r.started && r.late);
  EXPECT_NE(r.status, 0);
  activity.cancel();
  EXPECT_THROW(run_program(script("exec sleep 60"), {}, 60, activity), Cancelled);
  Activity other;
  EXPECT_FALSE(run_program("/nowhere/program", {}, 1, other).started);
  r = run_program("/bin/sh", {"-c", "echo out; echo err >&2; exit 3"}, 10, other);
  EXPECT_EQ(r.status, 3);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
}

}  // namespace
}  // namespace convscope
