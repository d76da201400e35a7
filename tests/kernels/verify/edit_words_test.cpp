// Edits of a text: where there are any, and what the text is with one.
#include "kernels/verify/edit_words.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string_view>

#include "kernels/runtime/compile/edit_constants.h"
#include "kernels/runtime/compile/edit_indices.h"
#include "kernels/runtime/compile/python_edits.h"
#include "kernels/verify/edit_zeros.h"

namespace convscope {
namespace {

std::set<std::string> texts_of(const std::string& cuda) {
  const EditSites all = edit_sites(cuda, EditsOf::everything, {});
  std::set<std::string> texts;
  for (const TextEdit& e : edits_at(all, cuda, std::vector<bool>(all.sites.size(), true)))
    texts.insert(edited_text(cuda, cuda, all, e));
  return texts;
}

std::string function(const std::string& body) {
  return "__global__ void f(const int a, const int b, const int c, int* y) {\n" + body + "}\n";
}

TEST(EditWords, AnExpressionHoldsTogetherAsItIsTried) {
  const auto texts = texts_of(function("  y[0] = a - b * c;\n"));
  for (const char* right :
       {"y[0] = a + b * c;", "y[0] = a - b % c;", "y[0] = c - b * c;", "y[0] = a + c - b * c;",
        "y[0] = a - (b + a) * c;", "y[0] = a - b * a * c;", "y[0] = a - b * (c + 1);", "y[0] = a - b * c + 1;",
        "y[0] = a - b;", "y[0] = a;", "y[0] = a - (b - c);", "y[0] = a - (a - 1 - b) * c;", "y[0] += a - b * c;",
        "y[a] = a - b * c;", "atomicAdd(&y[0], a - b * c);"})
    EXPECT_TRUE(texts.contains(function("  " + std::string(right) + "\n"))) << right;
  for (const std::string& text : texts)
    EXPECT_EQ(std::count(text.begin(), text.end(), '('), std::count(text.begin(), text.end(), ')')) << text;
}

TEST(EditWords, ConditionsAndStatements) {
  const auto texts =
      texts_of(function("  for (int k = 0; k < c; k++) {\n    const int i = a / b;\n"
                        "    if (i < c && k != a) y[i] = 1;\n  }\n"));
  auto with = [&](const std::string& loop, const std::string& inside, const std::string& test) {
    return function("  for (int k = 0; " + loop + "; k++) {\n    const int i = a / b;\n" + inside + "    if (" + test +
                    ") y[i] = 1;\n  }\n");
  };
  const std::string loop = "k < c", test = "i < c && k != a";
  EXPECT_TRUE(texts.contains(with("k <= c", "", test)));
  EXPECT_TRUE(texts.contains(with(loop, "", "i < c && i >= 0 && k != a")));
  EXPECT_TRUE(texts.contains(with(loop, "", "i < c || k != a")));
  EXPECT_TRUE(texts.contains(with(loop, "", "k != a")));
  EXPECT_TRUE(texts.contains(with(loop, "    if (a % b != 0) continue;\n", test)));
  EXPECT_TRUE(texts.contains(with(loop, "    if (i >= c) continue;\n", test)));
  EXPECT_TRUE(texts.contains(with(loop, "    __syncthreads();\n", test)));
}

TEST(EditWords, GuardsAndLayouts) {
  const auto texts = texts_of(function("  if (a > 0) y[(a * b + c) * 3 + a - b] = 1;\n  y[a * c + b * 2] = 2;\n"));
  for (const char* right : {"  if (a > 0 && c < b) y[(a * b + c) * 3 + a - b] = 1;\n  y[a * c + b * 2] = 2;\n",
                            "  if (a > 0 && a - b >= 0) y[(a * b + c) * 3 + a - b] = 1;\n  y[a * c + b * 2] = 2;\n",
                            "  if (a > 0) y[(c * b + a) * 3 + a - b] = 1;\n  y[a * c + b * 2] = 2;\n",
                            "  if (a > 0) y[(c * c + a) * 3 + a - b] = 1;\n  y[a * c + b * 2] = 2;\n",
                            "  if (a > 0) y[(a * b + c) * 3 + a - b] = 1;\n  if (b * 2 < c) y[a * c + b * 2] = 2;\n"})
    EXPECT_TRUE(texts.contains(function(right))) << right;
}

TEST(EditWords, OneThreadOfABlockOrAWarpWrites) {
  const auto texts = texts_of(function("  a = threadIdx.x;\n  y[b] = a;\n"));
  EXPECT_TRUE(texts.contains(function("  a = threadIdx.x;\n  if (threadIdx.x == 0) y[b] = a;\n")));
  EXPECT_TRUE(texts.contains(function("  a = threadIdx.x;\n  if (threadIdx.x % 32 == 0) y[b] = a;\n")));
  EXPECT_FALSE(texts.contains(function("  a = threadIdx.x;\n  if (threadIdx.x < b) y[b] = a;\n")));
  const auto alone = texts_of(function("  a = 1;\n  y[b] = a;\n"));
  EXPECT_FALSE(alone.contains(function("  a = 1;\n  if (threadIdx.x == 0) y[b] = a;\n")));
}

// Each costs as much as it is seldom what was meant.
int cost_of(const std::string& cuda, const std::string& edited) {
  const EditSites all = edit_sites(cuda, EditsOf::everything, {});
  for (const TextEdit& e : edits_at(all, cuda, std::vector<bool>(all.sites.size(), true)))
    if (edited_text(cuda, cuda, all, e) == edited) return e.cost;
  return 1000;
}

TEST(EditWords, WhatIsMostlyMeantComesFirst) {
  const std::string own = function("  const int i = (a - b + 1) / c + 1;\n  y[i] = a;\n");
  auto with = [](const std::string& value) { return function("  const int i = " + value + ";\n  y[i] = a;\n"); };
  const int without_one = cost_of(own, with("(a - b) / c + 1"));
  EXPECT_LT(without_one, cost_of(own, with("(a - c - b + 1) / c + 1")));
  EXPECT_LT(without_one, cost_of(own, with("a / c + 1")));
  EXPECT_LT(cost_of(own, with("(a - b + 1) / c + 1 + 2")), 1000);
  const std::string test = function("  if (a < b) y[0] = 1;\n");
  EXPECT_LT(cost_of(test, function("  if (a <= b) y[0] = 1;\n")), cost_of(test, function("  if (a > b) y[0] = 1;\n")));
  EXPECT_LT(cost_of(test, function("  if (a > b) y[0] = 1;\n")), 1000);
}

TEST(EditWords, AFactorOfOneIsLeftOut) {
  const auto texts = texts_of(function("  y[0] = 2 * a + b * 2 + c / 2 * a;\n"));
  EXPECT_TRUE(texts.contains(function("  y[0] = a + b * 2 + c / 2 * a;\n")));
  EXPECT_TRUE(texts.contains(function("  y[0] = 2 * a + b + c / 2 * a;\n")));
  EXPECT_TRUE(texts.contains(function("  y[0] = 2 * a + b * 2 + c / 1 * a;\n")));
}

// Bytes, the shape of a launch, and a number that stands beside it.
TEST(EditWords, OfHostCode) {
  const std::string head = "__global__ void f(int a, float* y) { y[a] = 0; }\nvoid run(int n, float* y) {\n";
  auto host = [&](const std::string& body) { return head + body + "}\n"; };
  const auto texts = texts_of(
      host("  dim3 grid((n + 63) / 64), block(16);\n  cudaMemset(y, 0, n);\n  f<<<grid, block, n>>>(n, y);\n"));
  const std::string shapes = "  dim3 grid((n + 63) / 64), block(16);\n", set = "  cudaMemset(y, 0, n);\n",
                    call = "  f<<<grid, block, n>>>(n, y);\n";
  EXPECT_TRUE(texts.contains(host(shapes + "  cudaMemset(y, 0, n * sizeof(float));\n" + call)));
  EXPECT_TRUE(texts.contains(host(shapes + set + "  f<<<grid, block, n * sizeof(float)>>>(n, y);\n")));
  EXPECT_TRUE(texts.contains(host(shapes + set + "  f<<<block, grid, n>>>(n, y);\n")));
  EXPECT_TRUE(texts.contains(host("  dim3 grid((n + 63) / 64), block(64);\n" + set + call)));
  EXPECT_FALSE(texts.contains(host(shapes + set + "  f<<<grid, block, n>>>(n * sizeof(float), y);\n")));
}

TEST(EditWords, OfWhatIsNotReached) {
  const std::string cuda = "void g(int a, int b);\nvoid run(int a, int b) {\n  g(a, b);\n}\n";
  const EditSites all = edit_sites(cuda, EditsOf::everything, {});
  const auto exchanged = [&](bool reached) {
    const auto found = edits_at(all, cuda, std::vector<bool>(all.sites.size(), reached));
    return std::any_of(found.begin(), found.end(), [](const TextEdit& e) { return e.choices.size() == 2; });
  };
  EXPECT_TRUE(exchanged(true));
  EXPECT_FALSE(exchanged(false));
}

TEST(EditWords, WhatACompilerMustKnow) {
  const std::string own =
      "// convscope: launch f<8,4> grid=ceil_div(Lout,32),Cout,N block=32,8 args=x\n#define TILE 16\n"
      "__launch_bounds__(64) void f();\nconstexpr int WIDE = 8;\nconst int wide = a + 2;\n"
      "wait_prior<1>();\nload(a, wmma::row_major);\nf<8, 4><<<1, 2>>>(a < 4, b > (2));\n";
  const auto all = texts_with_other_constants(own);
  auto has = [&](const std::string& a, const std::string& b) {
    std::string text = own;
    text.replace(text.find(a), a.size(), b);
    return std::find(all.begin(), all.end(), text) != all.end();
  };
  EXPECT_TRUE(has("block=32,8", "block=8,32"));
  EXPECT_TRUE(has("block=32,8", "block=64,8"));
  EXPECT_TRUE(has("grid=ceil_div(Lout,32),Cout,N", "grid=ceil_div(Lout,32),N,Cout"));
  EXPECT_TRUE(has("TILE 16", "TILE 32"));
  EXPECT_TRUE(has("WIDE = 8", "WIDE = 4"));
  EXPECT_TRUE(has("bounds__(64)", "bounds__(128)"));
  EXPECT_TRUE(has("row_major", "col_major"));
  EXPECT_TRUE(has("<1>", "<0>"));
  EXPECT_TRUE(has("f<8, 4><<<", "f< 4,8><<<"));
  EXPECT_FALSE(has("a + 2", "a + 4"));
  // What is mostly meant first; and each is another text.
  EXPECT_NE(all.front().find("col_major"), std::string::npos);
  EXPECT_EQ(std::count(all.begin(), all.end(), own), 0);
}

TEST(EditWords, ValuesOfAStruct) {
  const std::string head = "struct P { int s, p; };\nvoid run(int s, int p) {\n";
  const auto texts = texts_of(head + "  P one;\n  one.s = p; one.p = s;\n  go(P{p, s});\n}\n");
  EXPECT_TRUE(texts.contains(head + "  P one;\n  one.s = s; one.p = p;\n  go(P{p, s});\n}\n"));
  EXPECT_TRUE(texts.contains(head + "  P one;\n  one.s = p; one.p = s;\n  go(P{s, p});\n}\n"));
  const auto declared = texts_of(head + "  P one = {p, s};\n}\n");
  EXPECT_TRUE(declared.contains(head + "  P one = {s, p};\n}\n"));
}

TEST(EditWords, ZerosInThePlaceOfMemory) {
  const auto texts = texts_with_zeros("auto y = torch::empty({n}, o), z = x.new_empty({n}); empty(y); y.empty_like;\n");
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], "auto y = torch::zeros({n}, o), z = x.new_empty({n}); empty(y); y.empty_like;\n");
  EXPECT_EQ(texts[1], "auto y = torch::empty({n}, o), z = x.new_zeros({n}); empty(y); y.empty_like;\n");
}

TEST(EditWords, CoordinatesOfAnIndex) {
  auto words = [](std::string_view index) {
    std::string all;
    for (const auto& c : edits::coordinates_of(index)) all += c.text + " of " + c.extent + "; ";
    return all;
  };
  EXPECT_EQ(words("(n * Cout + co) * Lout + j"), "j of Lout; co of Cout; ");
  EXPECT_EQ(words("((long long)n * Cout + g * opg + v) * Lout + j0 + T * u"),
            "j0 + T * u of Lout; g * opg + v of Cout; v of opg; ");
  EXPECT_EQ(words("j + Lout * co"), "j of Lout; ");
  EXPECT_EQ(words("t / s"), "t / s of ; ");
  EXPECT_EQ(words("rows[n] + 1"), "");
}

// Of a module's file: what stands before a statement, and the texts with an edit.
std::string python_head(const std::string& before = "") {
  return "import torch\nSOURCE = \"\"\"void f(int a, int b);\"\"\"\nclass M(nn.Module):\n" + before +
         "    def forward(self, x):\n        ";
}
std::set<std::string> python_texts_of(const std::string& text) {
  std::set<std::string> texts;
  for (const PythonEdit& e : python_edits(text)) texts.insert(with_edit(text, e));
  return texts;
}

TEST(EditWords, OfAPythonFilesModule) {
  const std::string head = python_head();
  const auto texts = python_texts_of(head + "y = e.run(x.transpose(1, 2), self.s[0], self.p * 2, k - 1 - self.p)\n");
  for (const char* right : {"y = e.run(x.transpose(1, 2), self.p * 2, self.s[0], k - 1 - self.p)\n",
                            "y = e.run(x.transpose(1, 2).contiguous(), self.s[0], self.p * 2, k - 1 - self.p)\n",
                            "y = e.run(x.transpose(1, 2), self.p, self.p * 2, k - 1 - self.p)\n",
                            "y = e.run(x.transpose(1, 2), self.s[0], self.p, k - 1 - self.p)\n",
                            "y = e.run(x.transpose(1, 2), self.s[0], self.p * 2, self.s[0] * (k - 1) - self.p)\n",
                            "y = e.run(x.transpose(1, 2), self.s[0], self.p * 2, k + 1 - self.p)\n"})
    EXPECT_TRUE(texts.contains(head + right)) << right;
  for (const std::string& text : texts) EXPECT_TRUE(text.starts_with(head)) << text;
}

TEST(EditWords, SizesMoveNothingInPython) {
  const std::string head = python_head("    def __init__(self, d):\n        self.d = d\n");
  const auto texts = python_texts_of(head + "y = e.run(x.view(a, b, c), self.w.transpose(1, 2), self.s - 1)\n");
  for (const char* right : {"y = e.run(x.transpose(1, 2).contiguous(), self.w.transpose(1, 2), self.s - 1)\n",
                            "y = e.run(x.permute(2, 0, 1).contiguous(), self.w.transpose(1, 2), self.s - 1)\n",
                            "y = e.run(x.view(a, b, c), self.w, self.s - 1)\n",
                            // What the module keeps and this function does not name.
                            "y = e.run(x.view(a, b, c), self.w.transpose(1, 2), self.d)\n"})
    EXPECT_TRUE(texts.contains(head + right)) << right;
  EXPECT_FALSE(texts.contains(head + "y = e.run(x.view(a, b, c), self.w.transpose(2, 2), self.s - 1)\n"));
}

// What is tried is called in the text, whose lines stay; constants of the compiler and what is not understood stay as
// they are.
TEST(EditWords, TheTextKeepsItsLines) {
  const std::string cuda =
      "template <int N>\n__global__ void f(int a, float* y) {\n"
      "  constexpr int wide = N + 1;\n  const int rows = 4;\n  float sum[rows];\n"
      "  asm volatile(\"nop;\");\n  sum[a % rows] = a * 2; // a * 3\n"
      "  auto odd = y ?: nullptr;\n  y[a] = sum[0];\n}\n";
  const EditSites all = edit_sites(cuda, EditsOf::everything, {});
  EXPECT_EQ(std::count(all.text.begin(), all.text.end(), '\n'), std::count(cuda.begin(), cuda.end(), '\n'));
  for (const char* same : {"constexpr int wide = N + 1;", "const int rows = 4;", "float sum[rows];",
                           "asm volatile(\"nop;\");", "// a * 3", "auto odd = y ?: nullptr;"})
    EXPECT_NE(all.text.find(same), std::string::npos) << same << "\n" << all.text;
  EXPECT_EQ(all.text.find("sum[a % rows] = a * 2;"), std::string::npos);
  // Lines that the compiler did not take have none.
  const EditSites without = edit_sites(cuda, EditsOf::everything, {7});
  EXPECT_NE(without.text.find("sum[a % rows] = a * 2;"), std::string::npos) << without.text;
  EXPECT_LT(without.sites.size(), all.sites.size());
}

TEST(EditWords, LinesThatDiffer) {
  const auto lines = changed_lines("a\nb\nc\nd\n", "a\nx\nnew\nc\ny\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].line, 2);
  EXPECT_EQ(lines[0].before + ">" + lines[0].after, "b>x");
  EXPECT_EQ(lines[1].line, 3);
  EXPECT_EQ(lines[1].before + ">" + lines[1].after, ">new");
  EXPECT_EQ(lines[2].line, 4);
  EXPECT_EQ(lines[2].before + ">" + lines[2].after, "d>y");
  EXPECT_TRUE(changed_lines("a\n", "a\n").empty());
}

}  // namespace
}  // namespace convscope
