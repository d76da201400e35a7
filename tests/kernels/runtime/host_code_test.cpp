// Host code of kernel files: where CUDA is in Python, which function is called and with what, and how launches read for
// the host compiler. What becomes of it is tested through the command line (tests/app/cli/host_code_test.cpp).
#include "kernels/runtime/compile/host_code.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/dynamic_shared.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_bounds.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/python_source.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;

const std::string kernel = "__global__ void k(float* y) {}\n";

std::string refusal(const std::string& text, const std::string& name = "m.cu") {
  return test::error_of<InputError>([&] { registration_of_host_code(text, text, name); });
}
std::string registration(const std::string& text) { return registration_of_host_code(text, text, "m.cu"); }

TEST(HostCode, LaunchesAreFoundInCodeOnly) {
  EXPECT_TRUE(has_host_code("void f() { k<<<1, 2>>>(y); }"));
  for (const char* text :
       {"// k<<<1, 2>>>(y)\n", "/* k<<<\n1>>> */", "const char* s = \"<<<\";", "int a = 1 << 3;", "'<' '<<<'"})
    EXPECT_FALSE(has_host_code(text)) << text;
}

TEST(HostCode, LaunchesInMacrosAreLaunches) {
  const std::string text = kernel +
                           "#define LAUNCH(n) \\\n  k<<<n, 32>>>(y)\n#define OTHER 1 << 3\n"
                           "void f(float* y, int N) { LAUNCH(N); }\nvoid g(float* y) { int n = OTHER; }\n";
  EXPECT_TRUE(has_host_code(text));
  EXPECT_TRUE(holds(with_noted_launches(text), "  ::convscope::host::Launching<k>(n, 32)(y)\n"));
  EXPECT_TRUE(holds(registration(text), "return f("));
}

// The compiler says what is wrong with it.
TEST(HostCode, ALaunchOfNothingIsLeftToTheCompiler) {
  for (const char* nothing : {"<<<1, 1>>>(y);", "  \n<<<1, 1>>>(y);", "int n = 3;<<<1, 1>>>(y);"}) {
    const std::string text = kernel + "void f(float* y) {" + nothing + " k<<<2, 32>>>(y); }\n";
    const std::string noted = with_noted_launches(text);
    EXPECT_TRUE(holds(noted, nothing)) << noted;
    EXPECT_TRUE(holds(noted, "::convscope::host::Launching<k>(2, 32)(y)")) << noted;
  }
  EXPECT_EQ(with_noted_launches("<<<1, 1>>>(y);"), "<<<1, 1>>>(y);");
}

// Comments are blanks, of which there may be any number before and in what is looked for.
TEST(HostCode, FunctionsBehindALongComment) {
  const std::string words(300'000, 'x'), lines(300'000, '\n');
  for (const std::string& comment : {"/*" + words + "*/", "//" + words + "\n", "/*" + lines + "*/"}) {
    const auto all = functions_in(comment + "void f(float* y) {}\nnamespace up {" + comment + "int g() { return 1; }}" +
                                  comment + "template <int N>" + comment + "void h() {}");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].name, "f");
    EXPECT_EQ(all[0].parameters, "float* y");
    EXPECT_EQ(all[1].name, "up::g");
    EXPECT_EQ(all[2].name, "h");
    EXPECT_TRUE(all[2].is_template && !all[1].is_template);
    const std::string text = kernel + comment + "void f(float* y) { k<<<1, 32>>>(y); }\n";
    EXPECT_TRUE(holds(with_noted_launches(text), "::convscope::host::Launching<k>(1, 32)(y)"));
  }
}

// A variable holds the address of a kernel, whose name is noted where it stands for it.
TEST(HostCode, KernelsAreKnownByTheirAddresses) {
  const std::string own = "template <int B> __global__ void k(float* y) {}\n";
  const std::string noted =
      with_noted_launches(own + "auto go = n ? &k<1> : k<2>;\ngo<<<1, 2>>>(y);\nk<3><<<1, 2>>>(y);");
  EXPECT_FALSE(holds(noted, "known<k<B>>")) << noted;
  EXPECT_EQ(noted.substr(noted.find("auto go")),
            "auto go = n ? ::convscope::host::known<k<1>>() : ::convscope::host::known<k<2>>();\n"
            "::convscope::host::launching(go, 1, 2)(y);\n::convscope::host::Launching<k<3>>(1, 2)(y);");
  // Without such a variable nothing of it is needed.
  EXPECT_TRUE(holds(with_noted_launches(own + "use(k<1>); k<3><<<1, 2>>>(y);"), "use(k<1>);"));
}

// Of kernels that stand in another file one name alone is known.
TEST(HostCode, ANameOfAKernelIsKnownWhenItIsCompiled) {
  EXPECT_TRUE(holds(with_noted_launches("auto go = k<64>;\ngo<<<1, 2>>>(y);"), "constexpr auto go = k<64>;\n::"));
  EXPECT_TRUE(holds(with_noted_launches("auto other = 1;\nk<<<1, 2>>>(y);"), "auto other = 1;"));
}

TEST(HostCode, TheForwardPassIsMeant) {
  const std::string text =
      kernel +
      "torch::Tensor conv_forward(torch::Tensor x, torch::Tensor w, int stride) { k<<<1, 2>>>(y); }\n"
      "torch::Tensor conv_backward(torch::Tensor grad_output, torch::Tensor w) { k<<<1, 2>>>(y); }\n"
      "void reset(float* scratch) { k<<<1, 2>>>(scratch); }\n";
  EXPECT_TRUE(holds(registration(text), "return conv_forward(")) << registration(text);
  EXPECT_TRUE(holds(registration(text), "\"takes no output padding\""));
  EXPECT_TRUE(holds(registration(text), "\"takes no groups\""));
}

TEST(HostCode, UsualNames) {
  for (const auto& [name, meaning] : {std::pair{"stride_", "stride"},
                                      {"conv_stride", "stride"},
                                      {"stride_size", "stride"},
                                      {"batch_size", "N"},
                                      {"in_len", "L"},
                                      {"out_pad", "op"},
                                      {"has_bias", "bias"},
                                      {"stride_val", "stride"},
                                      {"padding_value", "padding"},
                                      {"outputPadding", "op"},
                                      {"inChannels", "Cin"},
                                      {"num_groups", "groups"},
                                      {"numGroups", "groups"},
                                      {"kernelSize", "K"},
                                      {"ker", "K"},
                                      {"kernel", "K"},
                                      {"str", "s"},
                                      {"bs", "N"},
                                      {"oc", "Cout"},
                                      {"n1", ""},
                                      {"in", ""},
                                      {"num_out", ""},
                                      {"n_p", ""},
                                      {"num_c", ""},
                                      {"bias_size", ""},
                                      {"conv_bias", "bias"},
                                      {"group_size", ""},
                                      {"num_channels", ""}})
    EXPECT_EQ(usual_meaning(name, false), meaning) << name;
  for (const auto& [name, meaning] :
       {std::pair{"d_x", "x"}, {"x_ptr", "x"}, {"grad_out", ""}, {"weight_t", "w"}, {"ker", "w"}})
    EXPECT_EQ(usual_meaning(name, true), meaning) << name;
}

TEST(HostCode, LaunchesReadAsCalls) {
  const std::string l = "::convscope::host::Launching<";
  EXPECT_EQ(with_noted_launches("  k<<<g, 256>>>(y, 1);"), "  " + l + "k>(g, 256)(y, 1);");
  EXPECT_EQ(with_noted_launches("a::k<T, f<2>(3)> <<<dim3(1, 2), b,\n s>>> (y);"),
            l + "a::k<T, f<2>(3)>>(dim3(1, 2), b,\n s) (y);");
  EXPECT_EQ(with_noted_launches("// k<<<1>>>\nx = \"<<<\"; k<<<1, 2>>>(); m<<<3, 4>>>();"),
            "// k<<<1>>>\nx = \"<<<\"; " + l + "k>(1, 2)(); " + l + "m>(3, 4)();");
  EXPECT_EQ(with_noted_launches("k<<<1, 2"), "k<<<1, 2") << "not whole: the compiler says so";
}

TEST(LaunchBounds, BecomeConstantsBeforeTheirKernels) {
  const std::string one =
      "int a;\ntemplate <\nint T> // of it: {\n__global__ void __launch_bounds__(T * f(2), 1) k(int) {\n}\n"
      "extern \"C\" __launch_bounds__(64) __global__ void m(float* y) { y[0] = 1; }\n";
  auto b = with_launch_bounds(one);
  EXPECT_EQ(b.names, (std::set<std::string>{"k", "m"}));
  EXPECT_TRUE(
      holds(b.text, "int a;\ntemplate < int T> constexpr int convscope_bounds_k = (T * f(2)); template <\nint T>"))
      << b.text;
  EXPECT_TRUE(holds(b.text, "\nconstexpr int convscope_bounds_m = (64); extern \"C\" ")) << b.text;
  EXPECT_EQ(std::count(b.text.begin(), b.text.end(), '\n'), std::count(one.begin(), one.end(), '\n'));
  EXPECT_EQ(bounds_of("n::k<g<2>(1)> ", b.names), "n::convscope_bounds_k<g<2>(1)> ");
  EXPECT_EQ(bounds_of("m", b.names), "convscope_bounds_m");
  EXPECT_EQ(bounds_of("other<m>", b.names), "");
  EXPECT_EQ(with_noted_launches("m<<<1, 65>>>(y);", b.names),
            "::convscope::host::Launching<m>(1, 65).bounded(convscope_bounds_m)(y);");
  // Commas and < that are no brackets.
  EXPECT_TRUE(holds(with_launch_bounds("__global__ void __launch_bounds__(1 << 8, 2) k(int) {}\n").text,
                    "constexpr int convscope_bounds_k = (1 << 8); "));
  EXPECT_TRUE(holds(with_launch_bounds("template <int A, bool B = (A > 4)> __global__ void __launch_bounds__(A >= 4 ? "
                                       "256 : 128, 2) k(int) {}\n")
                        .text,
                    "template <int A, bool B = (A > 4)> constexpr int convscope_bounds_k = (A >= 4 ? 256 : 128); "));
  // Of several definitions, of macros, and what is declared only: nothing. Nor where it is launched before or from
  // elsewhere, or where it cannot be told how far the first argument goes.
  for (const char* none :
       {"__global__ void k(int);\nvoid f();\n__global__ void __launch_bounds__(64) k(int) {}\n",
        "namespace n {\n__global__ void __launch_bounds__(64) k(int) {}\n}\nusing n::k;\n",
        "__global__ void __launch_bounds__(f<1, 2>(), 3) k(int) {}\n",
        "__global__ void __launch_bounds__(64) k(int);\n", "__global__ void k() {}\n// __launch_bounds__(64)\n",
        "#define K __global__ void __launch_bounds__(64) k(int) {}\nK\n",
        "template <class T> __global__ void __launch_bounds__(64) k(T) {}\n"
        "template <> __global__ void __launch_bounds__(32) k(int) {}\n"}) {
    b = with_launch_bounds(none);
    EXPECT_TRUE(b.names.empty()) << none;
    EXPECT_EQ(b.text, none);
  }
}

TEST(DynamicShared, StandsWhereItIsUsed) {
  const std::string own = "CONVSCOPE_DYNAMIC_SHARED(float, s);";
  EXPECT_EQ(with_dynamic_shared("__global__ void k() {\n  extern __shared__ float s[];\n}"),
            "__global__ void k() {\n  " + own + "\n}");
  EXPECT_EQ(with_dynamic_shared("extern __shared__ float s[];\n__global__ void k(int n) { s[n] = 0; }\n"
                                "__device__ void f(float* s) { s[0] = 1; }\n__global__ void g() { float ss, s_; }\n"
                                "struct A { __device__ void h() const { s[1] = 2; } };"),
            "\n__global__ void k(int n) { " + own +
                " s[n] = 0; }\n"
                "__device__ void f(float* s) { s[0] = 1; }\n__global__ void g() { float ss, s_; }\n"
                "struct A { __device__ void h() const { " +
                own + " s[1] = 2; } };");
  EXPECT_EQ(with_dynamic_shared("namespace n {\nextern __shared__\n float s[];\n}\nvoid k() { { s; } }"),
            "namespace n {\n\n\n}\nvoid k() { " + own + " { s; } }")
      << "lines stay";
  EXPECT_EQ(with_dynamic_shared("#define S extern __shared__ float s[];\nvoid k() { S s; }"),
            "#define S " + own + "\nvoid k() { S s; }");
  const std::string said = "// extern __shared__ float s[];\nvoid k() { s; }";
  EXPECT_EQ(with_dynamic_shared(said), said);
}

// PyTorch's headers bring much of the standard library along.
TEST(HostCode, WhatItUsesOfTheStandardLibraryComesBeforeIt) {
  EXPECT_EQ(includes_before("__global__ void k(float* y) { std::cout; }"), "") << "no host code";
  const std::string launch = kernel + "void up(float* y) { k<<<1, 32>>>(y); ";
  EXPECT_EQ(includes_before(launch + "}"), "#include \"convscope/host_code.h\"\n");
  EXPECT_EQ(
      includes_before(launch + "std::ostringstream s; /* std::set<int> */ auto t = \"std::cout\"; std::set_new; }"),
      "#include \"convscope/host_code.h\"\n#include <sstream>\n");
  EXPECT_TRUE(holds(includes_before(launch + "}\n#define OUT std::cout\n"), "#include <iostream>\n"));
  EXPECT_TRUE(holds(includes_before(launch + "throw std::runtime_error(\"no\"); }"), "#include <stdexcept>\n"));
  EXPECT_TRUE(holds(includes_before(launch + "int n = std::accumulate(a, b, 1, std::multiplies<int>()); }"),
                    "#include <numeric>\n#include <functional>\n"));
}

TEST(HostCode, TheFunctionThatNobodyCallsIsCalled) {
  const std::string text = kernel +
                           "static int half(int n) { return n / 2; }\n"
                           "void inner(float* y, int n) { k<<<n, 32>>>(y); }\n"
                           "torch::Tensor outer(torch::Tensor input, const torch::Tensor& weight, int64_t stride) {\n"
                           "  if (half(4)) { inner(nullptr, 1); }\n  return input;\n}\n"
                           "int main() { outer(); }\n";
  const std::string code = registration(text);
  EXPECT_TRUE(holds(code,
                    "return outer(convscope_call.tensor(::convscope::host::Role::x), "
                    "convscope_call.tensor(::convscope::host::Role::w), stride);"))
      << code;
  EXPECT_TRUE(holds(code, "#line 4 \"m.cu\"\nnamespace {\nauto convscope_called(")) << code;
  EXPECT_TRUE(holds(code, "if (convscope_problem.bias) return \"takes no bias\";")) << code;
}

// A class, a template and macros stand between the function and its launches.
TEST(HostCode, LaunchesByWayOfOthersAreItsOwn) {
  const std::string caller = "at::Tensor up(at::Tensor x, at::Tensor w, int stride) { ";
  for (const std::string& text :
       {"class Up final : Base {\n  void operator()(float* y) const { k<<<1, 2>>>(y); }\n};\n" + caller +
            "Up()(x); }\n",
        "template <int S>\nvoid go(float* y) { k<<<S, 2>>>(y); }\n#define CASE(S) case S: go<S>(y); break\n"
        "#define CASES \\\n  CASE(1)\n" +
            caller + "switch (stride) { CASES; } }\n",
        "struct __align__(16) Up {\n  template <int S> void go() { k<<<1, S>>>(y); }\n};\n"
        "#define CASE(S) case S: u.go<S>(); break\n" +
            caller + "Up u; switch (stride) { CASE(1); } }\n"})
    EXPECT_TRUE(holds(registration(kernel + text), "return up(")) << text;
  const std::string alone = kernel + "struct Up {\n  void go() { k<<<1, 2>>>(y); }\n};\n";
  EXPECT_TRUE(holds(refusal(alone),
                    "launches kernels in Up, which no function outside of classes and templates calls; "
                    "write one that does, and name it in a line: // convscope: call FUNCTION args=x,"))
      << refusal(alone);
  const std::string unused = "struct Other {};\n" + alone + "at::Tensor f(at::Tensor x, at::Tensor w) { Other o; }\n";
  EXPECT_TRUE(holds(refusal(unused), "launches kernels in Up")) << "who does not name the class launches nothing";
}

TEST(HostCode, ParametersOfAllKinds) {
  const std::string code = registration(
      kernel +
      "namespace a { namespace {\nvoid run(const float* __restrict__ d_x, float const* weight_ptr, float *out,\n"
      "  c10::optional<at::Tensor> bias, std::vector<int64_t> stride, at::IntArrayRef pad, int Cin,\n"
      "  cudaStream_t s, bool extra = true) { k<<<1, 2>>>(out); }\n} }\n");
  for (const char* part :
       {"return a::run(convscope_call.pointer(::convscope::host::Role::x)",
        "convscope_call.pointer(::convscope::host::Role::w), convscope_call.pointer(::convscope::host::Role::y)",
        "convscope_call.maybe(::convscope::host::Role::b), {stride}, {p}, Cin, nullptr);"})
    EXPECT_TRUE(holds(code, part)) << code;
  EXPECT_FALSE(holds(code, "takes no bias")) << code;
}

TEST(HostCode, ACommentSaysWhatNamesDoNot) {
  const std::string f = kernel + "void f(float* a, float* q, int n1) { k<<<1, 2>>>(a); }\n";
  EXPECT_TRUE(holds(refusal(f), "put this in it, with values for ?: // convscope: call f args=?,?,?")) << refusal(f);
  const std::string said = "// convscope: call f args=y,x,2*K+1 supports=groups==1\n" + f;
  EXPECT_TRUE(holds(registration(said), "Role::y), convscope_call.pointer(::convscope::host::Role::x), 2*K+1);"));
  EXPECT_TRUE(holds(registration(said), "if (!(groups==1)) return \"takes only problems with groups==1\";"));
  EXPECT_TRUE(holds(refusal("// convscope: call g args=y\n" + f), "`call g` names no function of its host code"));
  EXPECT_TRUE(holds(refusal("// convscope: call f args=y,x,K,L\n" + f), "gives 4 values, f takes 3"));
  EXPECT_TRUE(holds(refusal("// convscope: call f args=y,x,z\n" + f), "names z, which is none of"));
  EXPECT_TRUE(holds(refusal("// convscope: call f grid=1\n" + f), "`grid=1` is none of args=, supports="));
  EXPECT_TRUE(holds(refusal("// convscope: call f\n" + f), "`call f` needs args="));
  EXPECT_EQ(registration_of_lines(said, "m.cu"), "") << "it is no launch line";
}

TEST(HostCode, ALaunchInAMainOnlyIsNone) {
  const std::string text = kernel + "int main() { k<<<1, 2>>>(y); }\nint after;\n";
  EXPECT_TRUE(
      holds(refusal(text), "launches kernels in main, which no function outside of classes and templates calls"))
      << refusal(text);
  const std::string source = cuda_source(text, "m.cu");
  EXPECT_FALSE(has_host_code(source));
  EXPECT_EQ(source.size(), text.size());
  EXPECT_TRUE(source.ends_with("\nint after;\n")) << source;
}

TEST(HostCode, OfPythonTheCudaStringsRemain) {
  const std::string text =
      "\"\"\"A doc string.\"\"\"\nimport torch  # \"\"\" not one\n# convscope: call f args=y\nsource = \"\"\"\n"
      "__global__ void k(float* y) { printf(\"%d\\\\n\", 1); }\n\"\"\"\nother = r'''\nvoid f() { k<<<1, 2>>>(y); "
      "}\n'''\n"
      "text = \"\"\"words\"\"\"\n";
  const std::string cuda = cuda_of_python(text, "m.py");
  EXPECT_EQ(std::count(cuda.begin(), cuda.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_TRUE(holds(cuda, "\n__global__ void k(float* y) { printf(\"%d\\n\", 1); }\n")) << cuda;
  EXPECT_TRUE(holds(cuda, "\nvoid f() { k<<<1, 2>>>(y); }\n")) << cuda;
  EXPECT_TRUE(holds(cuda, "\n// convscope: call f args=y\n")) << cuda;
  for (const char* gone : {"import", "words", "doc", "source"}) EXPECT_FALSE(holds(cuda, gone)) << cuda;
  const std::string speaks = "\"\"\"It has a __global__ function and k<<<1, 2>>>.\"\"\"\n";
  EXPECT_FALSE(holds(cuda_of_python(speaks + text, "m.py"), "It has")) << "what only speaks of them";
  EXPECT_TRUE(holds(test::error_of<InputError>([] { cuda_of_python("import torch\n", "m.py"); }),
                    "has no CUDA source: no triple-quoted string with a __global__ function"));
}

// A source of several strings, which alone are no kernels, and of strings that are formatted.
TEST(HostCode, OfPythonAllPartsOfASource) {
  const std::string body = "__global__ void k(float* y) { y[threadIdx.x] = SIZE; }\n";
  auto made = [&](const std::string& text) {
    const std::string cuda = cuda_of_python(text, "m.py");
    EXPECT_EQ(std::count(cuda.begin(), cuda.end(), '\n'), std::count(text.begin(), text.end(), '\n')) << cuda;
    return cuda;
  };
  const std::string load = "m = load_inline(name='m', cpp_sources=words, cuda_sources=";
  std::string cuda = made("words = '''void f();'''\ncommon = '''#define SIZE 2\n'''\nsource = common + '''" + body +
                          "'''\n" + load + "source, functions=['f'])\n");
  EXPECT_TRUE(holds(cuda, "#define SIZE 2\n")) << cuda;
  EXPECT_TRUE(holds(cuda, body)) << cuda;
  EXPECT_FALSE(holds(cuda, "void f()")) << "only what is in cuda_sources: " << cuda;
  cuda = made("head = \"#include <cuda.h>\\n#define SIZE 2\\n\"\nkernel = '''" + body + "'''\n" + load +
              "[head, kernel])\n");
  EXPECT_TRUE(cuda.starts_with("#define SIZE 2\n")) << cuda;
  const std::string formatted = "__global__ void k(float* y) {{ y[threadIdx.x] = {SIZE}; }}\n",
                    right = "__global__ void k(float* y) { y[threadIdx.x] = 64; }\n";
  EXPECT_TRUE(holds(made("SIZE = 64\nkernel = f'''" + formatted + "'''\n"), right));
  EXPECT_TRUE(holds(made("kernel = '''" + formatted + "'''.format(SIZE=64)\n"), right));
  EXPECT_TRUE(holds(made("size = 64\nkernel = '''" + body + "'''.replace('SIZE', str(size))\n"), right));
  EXPECT_TRUE(holds(
      made("kernel = '''" + std::string(body).replace(body.find("SIZE"), 4, "%(SIZE)d %% 7") + "''' % dict(SIZE=64)\n"),
      "y[threadIdx.x] = 64 % 7; }"));
  // One of two is formatted; one is formatted later; one goes through a function.
  cuda = made("kernel = '''" + body + "''' + '''" + formatted + "'''.format(SIZE=64)\n" + load + "kernel)\n");
  EXPECT_TRUE(holds(cuda, body) && holds(cuda, right)) << cuda;
  EXPECT_TRUE(holds(made("s = '''" + formatted + "'''\ns = s.format(SIZE=64)\n" + load + "s)\n"), right));
  cuda = made("head = '''#define SIZE 2\n'''\nkernel = '''" + body + "'''\n" + load + "dedent(head) + kernel)\n");
  EXPECT_TRUE(holds(cuda, "#define SIZE 2\n")) << cuda;
  EXPECT_TRUE(holds(made("kernel = '''" + body + "'''\n"), body)) << "the control";
  auto refused = [](const std::string& text) {
    return test::error_of<InputError>([&] { cuda_of_python(text, "m.py"); });
  };
  EXPECT_TRUE(holds(refused("kernel = f'''" + formatted + "'''\n"), "has {SIZE} in its CUDA source")) << "not known";
  EXPECT_TRUE(holds(refused("SIZE = MORE\nMORE = SIZE\nkernel = f'''" + formatted + "'''\n"), "has {SIZE} in its"));
  EXPECT_TRUE(holds(refused("kernel = '''" + body + "'''.replace('SIZE', str(pick()))\n"),
                    "puts str(pick()) into its CUDA source in line 2, whose value is not known here"));
  EXPECT_TRUE(holds(refused("m = load(name='m', sources=['up.cu'])\n"), "it loads up.cu, which is the file to name"));
}

// Where forward() changes tensors the call alone would be wrong, though the module is right.
// Whatever stands in a file: an InputError at worst, and as many lines.
TEST(HostCode, OfAnyPythonLinesStay) {
  const std::string whole =
      "SIZE = 64\nhead = \"#define A 1\\n\"\nkernel = f'''\n__global__ void k(float* y) {{ y[0] = {SIZE}; }}\n'''\n"
      "other = r\"\"\"\nint f() { k<<<1, 2>>>(y); }\n\"\"\".replace('A', str(SIZE)) % dict(B=\"2\")\n"
      "m = load_inline(cuda_sources=[head, kernel + other.format(C=3)], functions=['f'])\nclass M:\n"
      "  def forward(self, x):  # it\n    return m.f(x)\n";
  uint64_t random = 1;
  auto next = [&](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  int taken = 0;
  for (int round = 0; round < 3000; round++) {
    std::string text = whole;
    for (uint64_t changes = 1 + next(4); changes > 0; changes--) {
      const size_t at = next(text.size());
      constexpr std::string_view signs = "\"'{}()[]%.,=+#\\\nf";
      if (changes % 2)
        text[at] = signs[next(signs.size())];
      else
        text.erase(at, 1 + next(9));
    }
    try {
      const std::string cuda = cuda_of_python(text, "m.py");
      taken++;
      ASSERT_LE(std::count(cuda.begin(), cuda.end(), '\n'), std::count(text.begin(), text.end(), '\n')) << text;
    } catch (const InputError&) {
    }
  }
  EXPECT_GT(taken, 100) << "of 3,000";
}

TEST(HostCode, PythonNamesItsFunction) {
  const std::string text = kernel + "void one(float* y) { k<<<1, 2>>>(y); }\nvoid two(float* y) { k<<<1, 2>>>(y); }\n";
  EXPECT_TRUE(holds(registration(text), "return two(")) << "the last one";
  EXPECT_TRUE(holds(registration_of_host_code(text, "load_inline(functions = ['one', 'two'])", "m.py"), "return one("));
}

}  // namespace
}  // namespace convscope
