// `disassemble`: instructions under the lines that they come from. A script plays nvdisasm.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope::test {
namespace {
using nlohmann::json;

class DisassembleCli : public testing::Test {
 protected:
  void SetUp() override {
    if (convscope_run({"disassemble", "direct", "--json"}).document()["functions"].empty())
      GTEST_SKIP() << "this build has no device code";
    std::string printed =
        ".text.direct_f32:\\n\\t//## File \"/b/kernels/ladder/direct.cu\", line 21\\n  /*0010*/  ISETP.NE.AND P0 ;\\n"
        "\\t//## File \"/b/kernels/ladder/direct.cu\", line 23\\n  /*0020*/  LDG.E R4 ;\\n"
        "\\t//## File \"/b/kernels/ladder/direct.cu\", line 21\\n  /*0030*/  BRA 0x10 ;\\n";
    std::string script = folder_.path("nvdisasm");
    std::ofstream(script) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'nvdisasm: NVIDIA'; echo 'release 13.0, "
                             "V13.0.85'; exit 0; fi\n"
                          << "printf '" << printed << "'\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    tool_ = {"CONVSCOPE_NVDISASM=" + script};
  }
  ScratchFolder folder_;
  Words tool_;
};

TEST_F(DisassembleCli, PutsInstructionsUnderTheirLines) {
  Finished f = convscope_run({"disassemble", "direct"}, tool_);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(f.out.rfind("kernels/ladder/direct.cu\n", 0), 0u);
  size_t line = f.out.find("\n   21 | "), first = f.out.find("    10  ISETP.NE.AND P0"),
         second = f.out.find("    30  BRA"), next = f.out.find("\n   23 | "), load = f.out.find("    20  LDG.E R4");
  EXPECT_TRUE(line < first && first < second && second < next && next < load && load != std::string::npos) << f.out;
  EXPECT_NE(f.out.find("instructions: nvdisasm V13.0.85"), std::string::npos) << f.out;
  EXPECT_NE(f.out.find(" registers, "), std::string::npos);
  // One line of it; a line without any says so.
  Finished one = convscope_run({"disassemble", "direct", "--line", "23"}, tool_);
  EXPECT_NE(one.out.find("LDG.E R4"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("ISETP"), std::string::npos) << one.out;
  EXPECT_NE(convscope_run({"disassemble", "direct", "--line", "1"}, tool_).out.find("no instruction comes from"),
            std::string::npos);
}

// The document is of the line that the text is of.
TEST_F(DisassembleCli, TheDocumentOfOneLine) {
  json j = convscope_run({"disassemble", "direct", "--line", "23", "--json"}, tool_).document();
  EXPECT_EQ(j["convscope"], CONVSCOPE_VERSION);
  EXPECT_EQ(j["line"], 23);
  ASSERT_EQ(j["functions"][0]["sass"].size(), 1u) << j["functions"][0]["sass"];
  EXPECT_EQ(j["functions"][0]["sass"][0]["line"], 23);
  j = convscope_run({"disassemble", "direct", "--line", "1", "--json"}, tool_).document();
  EXPECT_TRUE(j["functions"][0]["sass"].empty());
  EXPECT_EQ(j["functions"][0]["line_reason"], "no instruction comes from this line");
  Finished f = convscope_run({"disassemble", "direct", "--line", "99999", "--json"}, tool_);
  EXPECT_EQ(f.code, 2);
  EXPECT_EQ(f.document()["error"]["field"], "line");
  EXPECT_EQ(convscope_run({"disassemble", "direct", "--json"}, tool_).document()["functions"][0]["sass"].size(), 3u);
}

TEST_F(DisassembleCli, PtxNeedsNoTool) {
  Finished f = convscope_run({"disassemble", "direct", "--ptx"}, {"CONVSCOPE_NVDISASM=/nowhere/nvdisasm"});
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_NE(f.out.find("ld.global"), std::string::npos);
  EXPECT_EQ(f.out.find("cuda-nvdisasm"), std::string::npos) << "nothing is missing for it";
}

TEST_F(DisassembleCli, PtxWithoutALineTableSaysSo) {
  Finished f = convscope_run({"disassemble", "direct", "--ptx", "--line", "30"});
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_NE(f.out.find("! its PTX names no lines"), std::string::npos) << f.out;
  EXPECT_EQ(f.out.find("no instruction comes from"), std::string::npos) << "that is not known";
  f = convscope_run({"disassemble", "direct", "--line", "9000"});
  EXPECT_EQ(f.code, 2);
  EXPECT_NE(f.err.find("line 9000 is beyond the file's "), std::string::npos) << f.err;
}

TEST_F(DisassembleCli, WithoutTheToolItSaysHowToGetIt) {
  Finished f = convscope_run({"disassemble", "direct"}, {"CONVSCOPE_NVDISASM=/nowhere/nvdisasm"});
  EXPECT_EQ(f.code, 0);
  EXPECT_NE(f.out.find("! instructions have no text"), std::string::npos) << f.out.substr(0, 500);
  EXPECT_NE(f.out.find("cuda-nvdisasm"), std::string::npos);
}

TEST(DisassembleRefusals, NameWhatIsWrong) {
  expect_refused({"disassemble", "dirct"}, "kernel", "dirct", "is not known; did you mean direct?");
  for (const char* none : {"-1", "0"})
    expect_refused({"disassemble", "direct", "--line", none}, "line", none, "must be at least 1");
  for (const char* word : {"abc", "3x", "1.5"})
    expect_refused({"disassemble", "direct", "--line", word}, "line", word, "must be a whole number");
  EXPECT_EQ(convscope_run({"disassemble"}).code, 2);
}

}  // namespace
}  // namespace convscope::test
