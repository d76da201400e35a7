// convscope report: one page of kernels on a problem, with nothing around it.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::holds;
using test::json;
using test::Words;

const Words small = {"--in-channels", "2",  "--out-channels", "3", "--kernel-size", "3",
                     "--length",      "20", "--stride",       "2", "--padding",     "1"};

Words report(const std::string& out, Words kernels, const Words& more = {}) {
  Words words = {"report", out};
  words.insert(words.end(), kernels.begin(), kernels.end());
  words.insert(words.end(), small.begin(), small.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Report, SaysWhyAnElementIsWrong) {
  test::ScratchFolder folder;
  const std::string out = folder.path("a b.html");
  const auto r = convscope_run(report(out, {"S4"}));
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "✗ S4  wrong: ")) << r.out;
  EXPECT_TRUE(holds(r.out, "Report with pictures: " + out));
  const std::string html = test::text_file(out);
  for (const char* said :
       {"<h1>S4 is wrong</h1>", "where i = (j + p − k·d)/s belongs", "error / bound", "Why y[0, 0, 0] is",
        "s4.cu:20 reads ", "data-n=\"20\" class=\"marked\"", "beyond their bound",
        "convscope run S4 --in-channels 2 --kernel-size 3 --length 20 --out-channels 3 --padding 1 --stride 2"})
    EXPECT_TRUE(holds(html, said)) << said;
  for (const char* part : {"http:", "https:", "file:", "<link", "<iframe"}) EXPECT_FALSE(holds(html, part)) << part;
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

// One that is right beside one that is not; what the planner takes says so; lines of a file are named by what is said.
TEST(Report, OfSeveralKernels) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  test::ScratchFolder folder;
  std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
  text.replace(text.find("  y[id] = sum;"), 14, "  y[id + Cout * N * Lout] = sum;");
  const std::string file = folder.write("lost.cu", text.data(), text.size());
  const std::string out = folder.path("r.html");
  const auto r = convscope_run(report(out, {file, "direct", "auto"}, {"--trust", "--json"}));
  EXPECT_EQ(r.code, 1) << r.err;
  const json document = r.document();
  ASSERT_EQ(document["cases"].size(), 3u);
  EXPECT_EQ(document["report"], out);
  EXPECT_EQ(document["cases"][1]["verdict"]["status"], "right");
  const std::string html = test::text_file(out);
  EXPECT_TRUE(holds(html, "<h1>Which of these kernels are right?</h1>"));
  EXPECT_TRUE(holds(html, "Chosen by auto: "));
  EXPECT_TRUE(holds(html, "<a href=\"#case2\">"));
  EXPECT_TRUE(holds(html, "data-n=\"24\" class=\"marked\"")) << "the line that writes beside y";
  EXPECT_TRUE(holds(html, "--trust"));
  // The text of what is right has no marks.
  EXPECT_FALSE(holds(html.substr(html.find("<details id=\"case1\"")), "class=\"marked\""));
}

TEST(Report, WhatCannotBeMadeIsSaidBeforeAnythingRuns) {
  test::ScratchFolder folder;
  const std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
  const std::string file = folder.write("mine.cu", text.data(), text.size());
  const std::string nowhere = folder.path("none/r.html"), out = folder.path("r.html");
  test::expect_refused(report(nowhere, {"S4"}), "out", nowhere, "cannot be written");
  test::expect_refused(report(file, {file}, {"--trust"}), "out", file, "is read by this command: take another name");
  test::expect_refused(report(out, {"nobody"}), "kernel", "nobody", "is not known: see `convscope list kernels`");
  const auto r = convscope_run({"report", out});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "kernel is missing: for example `convscope report s4.html S4")) << r.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace convscope
