// The line that a bare kernel lacks, put where it belongs.
#include <gtest/gtest.h>

#include "app/model/kernel_file.h"

namespace convscope {
namespace {

std::string with_line(const std::string& text, const std::string& trouble) {
  OpenedFile file;
  file.text = text, file.trouble = trouble;
  return with_launch_line(file);
}

TEST(LaunchLine, AboveTheKernel) {
  const std::string line = "// convscope: launch k grid=1 block=1 args=y", trouble = "put this above it: " + line;
  EXPECT_EQ(with_line("int a;\n\n__global__ void k();\n", trouble), "int a;\n\n" + line + "\n__global__ void k();\n");
  EXPECT_EQ(with_line("int a;\ntemplate <int N>\nextern \"C\"\n__global__ void k();\n", trouble),
            "int a;\n" + line + "\ntemplate <int N>\nextern \"C\"\n__global__ void k();\n");
  // In a Python file's string, and on the line that opens it.
  EXPECT_EQ(with_line("S = r'''\nextern \"C\" __global__ void k() {}\n'''\n", trouble),
            "S = r'''\n" + line + "\nextern \"C\" __global__ void k() {}\n'''\n");
  EXPECT_EQ(with_line("S = \"\"\"__global__ void k() {}\"\"\"\n", trouble),
            "S = \"\"\"\n" + line + "\n__global__ void k() {}\"\"\"\n");
  EXPECT_EQ(with_line("__global__ void k();\n", "mine.cu:1: no such word"), "");
  EXPECT_EQ(with_line("int a;\n", trouble), "");
}

}  // namespace
}  // namespace convscope
