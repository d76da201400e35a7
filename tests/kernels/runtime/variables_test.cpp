// The memory that kernel files declare: which variables these are, and what plans know of them.
#include "kernels/runtime/compile/variables.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "convscope/plan.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

std::string variables_said(const std::string& text) {
  std::string all;
  for (const auto& v : variables_in(text))
    all += v.name + ":" + std::to_string(v.line) + (v.is_constant ? " constant" : "") + (v.is_set ? " set" : "") + "; ";
  return all;
}

TEST(Variables, AreFoundWhereverTheyAreDeclared) {
  EXPECT_EQ(variables_said("__constant__ float w[4096];\n__global__ void k() {}\n__device__ int n;"),
            "w:1 constant; n:3; ");
  EXPECT_EQ(variables_said("static __constant__ float a[2][3], b;\n__constant__ __align__(16) const int t[] = {1, 2};"),
            "a:1 constant; b:1 constant; t:2 constant set; ");
  EXPECT_EQ(
      variables_said("namespace up {\nnamespace {\n__constant__ Params<float, 3> p;\n}\n__device__ float s[9];\n}"),
      "up::p:3 constant; up::s:5; ");
  EXPECT_EQ(variables_said("struct Q { int k; };\n__constant__ Q q{3};\nalignas(8) __constant__ double d = f(1, 2);"),
            "q:2 constant set; d:3 constant set; ");
}

// A line that is not finished yet, as editors save it.
TEST(Variables, ALineOfNothingButAHash) {
  for (const char* end : {"#", "# ", "  #\t", "\n#", "#if"})
    EXPECT_EQ(variables_said(std::string("__constant__ float w[3];\n") + end), "w:1 constant; ") << end;
}

// As long as licences and tables of results in comments are.
TEST(Variables, BehindALongComment) {
  const std::string words(300'000, 'x'), lines(300'000, '\n');
  for (const std::string& comment : {"/*" + words + "*/", "//" + words + "\n", "/*" + lines + "*/"}) {
    const auto at = std::to_string(1 + std::count(comment.begin(), comment.end(), '\n'));
    EXPECT_EQ(variables_said(comment + "namespace up {" + "__constant__ float w[3];}"), "up::w:" + at + " constant; ");
    EXPECT_EQ(variables_said("namespace " + comment + "up {__constant__ float w[3];}"), "up::w:" + at + " constant; ");
    EXPECT_EQ(variables_said(comment + "__global__ void k() {}__device__ int n;"), "n:" + at + "; ");
    EXPECT_EQ(variables_said("__constant__ int t[] = " + comment + "{1, 2};"), "t:1 constant set; ");
    EXPECT_EQ(variables_said("alignas" + comment + "(8) __device__ int n;"), "n:" + at + "; ");
  }
}

// What is between #if and #endif may not be there when the file is compiled.
TEST(Variables, ConditionalOnesAreLeftOut) {
  EXPECT_EQ(variables_said("#ifdef WITH_TABLE\n__constant__ float table[64];\n#endif\n__constant__ float w[3];"),
            "w:4 constant; ");
  EXPECT_EQ(variables_said("#if A\n# if B\n__device__ int n;\n# endif\n__device__ int m;\n#else\n__device__ int k;\n"
                           "#endif\nnamespace q {\n__device__ int z;\n}"),
            "q::z:10; ");
}

// Two of one name in different namespaces are two.
TEST(Variables, AreToldApartByTheirPlace) {
  Plan plan(ConvProblem{});
  float one[2], two[2];
  EXPECT_EQ(plan.variable({"v", one, 8}).variable, 0u);
  EXPECT_EQ(plan.variable({"v", two, 8}).variable, 1u);
  EXPECT_EQ(plan.variable({"v", one, 8}, 4).variable, 0u);
  EXPECT_EQ(plan.variables().size(), 2u);
}

TEST(Variables, OthersAreNot) {
  EXPECT_EQ(variables_said("__device__ float f(float a, int b);\n__device__ float g() { return 1; }\n"
                           "extern __constant__ float e[3];\nfloat host[3];\n// __constant__ float c;\n"
                           "template <int n> __device__ int t = n;\nstruct S { int i; };\n"
                           "__global__ void k() { __shared__ float s[3]; float v = 0; }"),
            "");
}

TEST(Variables, MoreThanAGpuHasDoesNotCompile) {
  const std::string text = "\n__constant__ float w[9];\nnamespace a { __constant__ int n; }\n__device__ float d;";
  const std::string alone = registration_of_variables(text, "m.cu", false);
  EXPECT_TRUE(holds(alone, "#line 2 \"m.cu\"\nstatic_assert(sizeof(::w) + sizeof(::a::n) <= 65536, ")) << alone;
  EXPECT_FALSE(holds(alone, "Declared"));
  const std::string host = registration_of_variables(text, "m.cu", true);
  EXPECT_TRUE(holds(host,
                    "#line 3 \"m.cu\"\nstatic const ::convscope::host::Declared convscope_declared_1(\"n\", "
                    "::a::n, true);"))
      << host;
  EXPECT_TRUE(holds(host, "(\"d\", ::d, false);"));
  EXPECT_EQ(registration_of_variables("__global__ void k() {}", "m.cu", true), "");
}

extern "C" void fills_in_plan(float* to, const float* from, int n) {
  for (int i = 0; i < n; i++) to[i] = from ? from[i] : 0;
}
struct FourFloats {
  alignas(8) float all[4];
};
extern "C" void sets_in_plan(float* to, FourFloats from, int n) {
  for (int i = 0; i < n; i++) to[i] = from.all[i];
}
extern "C" void reads_in_plan(const float* from, float* to) {
  for (int i = 0; i < 4; i++) to[i] = from[i];
}

// A launch of one block that fills so many bytes of a variable.
template <auto F, class... A>
void note_fill(Plan& plan, TypedEntry<F> f, int64_t bytes, const A&... a) {
  plan.launch(f, {1}, {1}).args(a...);
  plan.end_launch(plan.launches().size() - 1, bytes);
}

TEST(Variables, APlanKnowsThemAndWhatFillsThem) {
  ConvProblem p;
  float memory[4] = {};
  auto filled = [&](int times) {
    Plan plan(p);
    const Plan::Variable w{"w", memory, sizeof memory, true}, b{"b", memory + 2, 8, true};
    for (int i = 0; i < times; i++) note_fill(plan, ENTRY(fills_in_plan), 16, plan.variable(w), plan.w(), 4);
    note_fill(plan, ENTRY(fills_in_plan), 8, plan.variable(b), plan.x(), 2);
    plan.launch(ENTRY(reads_in_plan), {1}, {1}).args(plan.x(), plan.y());
    return plan;
  };
  const Plan once = filled(1), twice = filled(2);
  ASSERT_EQ(once.variables().size(), 2u);
  EXPECT_EQ(once.launches()[1].arguments[0].tensor.variable, 1u);
  EXPECT_EQ(once.launches()[0].fills_bytes, 16);
  EXPECT_EQ(once.launches()[2].fills_bytes, 0);
  EXPECT_TRUE(once.launches()[0].packs) << "weights that stay";
  EXPECT_FALSE(once.launches()[1].packs);
  EXPECT_FALSE(twice.launches()[0].packs || twice.launches()[1].packs) << "the second takes the first one's place";
  Bindings at;
  at.variables = {100, 200};
  EXPECT_EQ(at.address({Tensor::variable, 8, 1}), 208u);
}

// A launch alone, as it is traced: what is filled before it is, by the inputs of this run.
TEST(Variables, ALaunchAloneFindsThemFilled) {
  auto device = open_emulator();
  float memory[6] = {9, 9, 9, 9, 9, 9}, w[4] = {1, 2, 3, 4}, y[4] = {};
  Plan plan{ConvProblem()};
  const TensorRef all = plan.variable({"all", memory, sizeof memory, true});
  note_fill(plan, ENTRY(fills_in_plan), 16, all, plan.w(), 4);
  note_fill(plan, ENTRY(fills_in_plan), 4, plan.variable({"all", memory, sizeof memory, true}, 4),
            TensorRef{Tensor::none}, 1);
  note_fill(plan, ENTRY(sets_in_plan), 4, plan.variable({"all", memory, sizeof memory, true}, 12), FourFloats{{7}}, 1);
  plan.launch(ENTRY(reads_in_plan), {1}, {1}).args(all, plan.y());
  note_fill(plan, ENTRY(fills_in_plan), 16, all, plan.y(), 4);
  Bindings at;
  at.w = reinterpret_cast<uint64_t>(w), at.y = reinterpret_cast<uint64_t>(y);
  const std::vector<float> want = {1, 0, 3, 7};
  const KernelDefinition& any = *all_kernels().front();
  device->run(any, plan, at, {.only_launch = 3});
  EXPECT_EQ(std::vector<float>(y, y + 4), want);
  w[2] = 30;
  device->run(any, plan, at, {});
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{1, 0, 30, 7}));
  EXPECT_EQ(memory[4], 9) << "and no more than that";
}

}  // namespace
}  // namespace convscope
