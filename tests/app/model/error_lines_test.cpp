// Which lines of a file a compiler names.
#include "app/model/error_lines.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

std::string said(const std::vector<ErrorLine>& all) {
  std::string out;
  for (const auto& e : all) out += std::to_string(e.line) + " " + e.text + "; ";
  return out;
}

TEST(ErrorLines, OfBothCompilers) {
  EXPECT_EQ(said(error_lines("/home/u/my.cu: In function 'void f()':\n"
                             "/home/u/my.cu:12:9: error: 'summe' was not declared in this scope; did you mean 'sum'?\n"
                             "   12 |   y = summe;\n"
                             "/home/u/my.cu:9:3: warning: unused variable 'i'\n"
                             "/home/u/my.cu:20:1: error: expected '}' at end of input\n"
                             "/home/u/my.cu:4:3: note: to match this '{'\n",
                             "/home/u/my.cu", "")),
            "12 'summe' was not declared in this scope; did you mean 'sum'?; 20 expected '}' at end of input; ");
  EXPECT_EQ(said(error_lines("my.cu(7): error: identifier \"a\" is undefined\n\n    y = a;\n        ^\n"
                             "my.cu(9): error #20: identifier \"b\" is undefined\n"
                             "my.cu(7): error: identifier \"a\" is undefined\n"
                             "my.cu(3): warning #177-D: variable \"error: x\" was declared but never referenced\n"
                             "2 errors detected in the compilation of \"my.cu\".\n",
                             "/home/u/my.cu", "")),
            "7 identifier \"a\" is undefined; 9 identifier \"b\" is undefined; ")
      << "each once";
  EXPECT_EQ(said(error_lines("my.cu:1:10: fatal error: none.h: No such file or directory\n", "my.cu", "")),
            "1 none.h: No such file or directory; ");
}

TEST(ErrorLines, OfTheFileAlone) {
  EXPECT_EQ(said(error_lines("simt.h:12:9: error: no\nnot_my.cu:3:1: error: no\nmy.cu:3: error\nmy.cuh:3:1: error: no\n"
                             "g++: error: my.cu:5: no such file\n",
                             "my.cu", "")),
            "");
}

// What is said of all of it is in better words, and may be of a line that only led to an error elsewhere.
TEST(ErrorLines, BeginWithWhatIsSaidFirst) {
  const std::string log = "my.cu:5:2: error: a\nmy.cu:8:2: error: b\n";
  EXPECT_EQ(said(error_lines(log, "/u/my.cu", "/u/my.cu:5: A: said well")), "5 A: said well; 8 b; ");
  EXPECT_EQ(said(error_lines(log, "/u/my.cu", "/u/my.cu:3: PTX in asm()")), "3 PTX in asm(); 5 a; 8 b; ");
  EXPECT_EQ(said(error_lines("", "/u/my.cu", "/u/my.cu:3: PTX in asm()")), "3 PTX in asm(); ");
  EXPECT_EQ(said(error_lines("", "/u/my.cu", "kernel /u/my.cu says nothing of a launch")), "");
}

TEST(ErrorLines, NamesALine) {
  EXPECT_EQ(line_named("/a/my file.cu:12:9: note: here", "/a/my file.cu"), 12);
  EXPECT_EQ(line_named("my.cu(7): error: my.cu:9", "/a/my.cu"), 7);
  EXPECT_EQ(line_named("my.cu, my.cu: 3, my.cu:x, my.cu", "my.cu"), 0);
  EXPECT_EQ(line_named("tommy.cu:4", "my.cu"), 0);
  EXPECT_EQ(line_named("anything:3", ""), 0);
}

}  // namespace
}  // namespace convscope
