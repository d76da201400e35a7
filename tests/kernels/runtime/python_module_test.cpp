// Modules of Python files, followed: what the host code's functions are given, without compiling any. What becomes of
// whole files is tested through the command line (tests/app/cli/python_test.cpp).
#include "convscope/python_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/compile/python_syntax.h"
#include "tests/support.h"

namespace convscope {
namespace {

using host::PythonValue;
using test::holds;

std::string heard;  // of the last call

std::string words_of(const PythonValue& v) {
  if (std::holds_alternative<std::monostate>(v.is)) return "None";
  if (auto b = std::get_if<bool>(&v.is)) return *b ? "True" : "False";
  if (auto n = std::get_if<int64_t>(&v.is)) return std::to_string(*n);
  if (auto d = std::get_if<double>(&v.is)) return fmt::format("{:g}", *d);
  if (auto s = std::get_if<std::string>(&v.is)) return *s;
  if (auto t = std::get_if<host::Tensor>(&v.is)) {
    constexpr const char* names[] = {"?", "x", "w", "b", "y"};
    const int what = host::what_of(t->address());
    return fmt::format("{}[{}]", what >= 1 && what <= 4 ? names[what] : "?",
                       fmt::join(static_cast<const std::vector<int64_t>&>(t->sizes()), ","));
  }
  return "?";
}

PythonValue listens(const PythonValue::List& given) {
  heard.clear();
  for (const PythonValue& v : given) heard += (heard.empty() ? "" : " ") + words_of(v);
  return given.empty() ? PythonValue{} : given.front();
}

// What f() is given by a module; or why it is refused.
std::string given_by(const std::string& text, const ConvProblem& p, size_t parameters, const char* names = "") {
  host::PythonOperations none{};
  none.flip = [](const host::Tensor& t, const host::Sizes&) { return t; };
  heard = "nothing";
  try {
    const host::Given given(p);
    const host::PythonFunction functions[] = {{"f", names, parameters, listens}};
    host::python_module(p, given, text.c_str(), functions, none);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return heard;
}

const ConvProblem layer = {.batch = 2,
                           .in_channels = 4,
                           .out_channels = 6,
                           .kernel_size = 5,
                           .length = 9,
                           .stride = 3,
                           .padding = 2,
                           .output_padding = 1,
                           .dilation = 2,
                           .groups = 2,
                           .bias = true};

std::string module(const std::string& forward, const std::string& init = "") {
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
         "ext = load_inline(name='e', cuda_sources=src, functions=['f'])\nTWO = 2\n"
         "def helper(x, w, b, s=7):\n    return ext.f(x, w, b, s)\n"
         "class Fn(torch.autograd.Function):\n  @staticmethod\n  def forward(ctx, x, w, s):\n"
         "    ctx.save_for_backward(x, w)\n    ctx.s = s\n    return ext.f(x, w, None, ctx.s)\n"
         "class Model(nn.Module):\n  def forward(self, x):\n    return F.conv_transpose1d(x, self.w)\n"
         "class ModelNew(nn.Module):\n"
         "  def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0,\n"
         "               dilation=1, groups=1, bias=False):\n"
         "    super().__init__()\n"
         "    self.conv = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride=stride, padding=padding,\n"
         "      output_padding=output_padding, dilation=dilation, groups=groups, bias=bias)  # the layer\n" +
         init + "  def pack(self, w):\n    return w.flip(2)\n  def forward(self, x: torch.Tensor) -> torch.Tensor:\n" +
         forward;
}

struct Follows {
  const char *forward, *init, *given;
};
std::ostream& operator<<(std::ostream& out, const Follows& f) { return out << f.forward; }
class PythonModules : public testing::TestWithParam<Follows> {};
TEST_P(PythonModules, AreFollowed) {
  const Follows& f = GetParam();
  EXPECT_EQ(given_by(module(f.forward, f.init), layer, 4), f.given);
}

INSTANTIATE_TEST_SUITE_P(
    Forward, PythonModules,
    testing::Values(
        Follows{"    return ext.f(x, self.conv.weight, self.conv.bias, self.conv.stride[0])\n", "",
                "x[2,4,9] w[4,3,5] b[6] 3"},
        Follows{
            "    c = self.conv\n    return ext.f(x.contiguous(), c.weight, None, c.dilation[0] * (c.kernel_size[0] - "
            "1) + 1)\n",
            "", "x[2,4,9] w[4,3,5] None 9"},
        // Attributes of one's own, tuples of one, a helper, a method, a Function, the layer's numbers by other names.
        Follows{"    return helper(x, self.conv.weight, self.b)\n", "    self.b = self.conv.bias\n",
                "x[2,4,9] w[4,3,5] b[6] 7"},
        Follows{"    return Fn.apply(x, self.conv.weight, self.s)\n",
                "    self.s = stride if isinstance(stride, int) else stride[0]\n", "x[2,4,9] w[4,3,5] None 3"},
        Follows{"    w = self.pack(self.conv.weight)\n    return ext.f(x, w, self.conv.bias, TWO)\n", "",
                "x[2,4,9] w[4,3,5] b[6] 2"},
        Follows{"    N, C, L = x.shape\n    return ext.f(x, self.conv.weight, self.conv.bias, (L - 1) * N // 3 - -C % "
                "3)\n",
                "", "x[2,4,9] w[4,3,5] b[6] 3"},
        // Parameters of one's own, told by their sizes; a buffer; what is kept from one call to the next.
        Follows{"    return ext.f(x, self.weight, self.bias, self.n)\n",
                "    self.weight = nn.Parameter(torch.empty(in_channels, out_channels // groups, kernel_size))\n"
                "    if bias:\n      self.bias = nn.Parameter(torch.zeros(out_channels))\n    else:\n"
                "      self.register_parameter('bias', None)\n    self.reset_parameters()\n    self.n = 1\n"
                "  def reset_parameters(self):\n    nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))\n"
                "    fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.weight)\n",
                "x[2,4,9] w[4,3,5] b[6] 1"},
        Follows{
            "    if self.packed is None:\n      self.packed = self.conv.weight\n    return ext.f(x, self.packed, None, "
            "0)\n",
            "    self.packed = None\n", "x[2,4,9] w[4,3,5] None 0"},
        // Branches, also ones that are not taken, with, try, assert, for, conditional expressions, shapes that change.
        Follows{"    if not x.is_cuda or x.dtype != torch.float32:\n      return torch.relu(x)\n    elif False: pass\n"
                "    with torch.no_grad():\n      try:\n        w = self.conv.weight\n      except Exception as e:\n"
                "        raise\n    assert x.dim() == 3, 'of three'\n    n = 0\n    for i in range(4):\n      n += i\n"
                "    return ext.f(x, w, None if n > 9 else self.conv.bias, n)\n",
                "", "x[2,4,9] w[4,3,5] b[6] 6"},
        Follows{"    return ext.f(x.unsqueeze(0)[0], self.conv.weight.permute(1, 0, 2), x[:, 1:3, ..., :-1], "
                "x.size(-1))\n",
                "", "x[2,4,9] w[3,4,5] x[2,2,8] 9"},
        Follows{"    r\"\"\"Of a layer.\n\n  x: three dimensions\n    \"\"\"\n    'and more'\n"
                "    return ext.f(x, self.conv.weight, self.conv.bias, 1)\n",
                "    '''Makes it.'''\n", "x[2,4,9] w[4,3,5] b[6] 1"},
        Follows{"    args = (self.conv.stride[0],)\n    return ext.f(x, self.conv.weight, self.conv.bias, *args)\n", "",
                "x[2,4,9] w[4,3,5] b[6] 3"}));

TEST(PythonModule, ArgumentsByName) {
  const std::string text = module("    return ext.f(x, weight=self.conv.weight, stride=self.conv.stride[0])\n");
  EXPECT_EQ(given_by(text, layer, 4, "x,weight,bias=None,stride"), "x[2,4,9] w[4,3,5] None 3");
  EXPECT_TRUE(holds(given_by(text, layer, 4), "its module gives f() 3 values, some by name; it takes 4"));
}

TEST(PythonModule, WhatIsNotFollowedIsRefusedWithItsLine) {
  for (const char* line :
       {"return torch.relu(ext.f(x, 1, 2, 3))", "y = x ** 2", "z = [i for i in x]", "y = await x", "if x > 0: pass",
        "return self.conv(x)", "w = unknown.thing(x)", "raise_(x)", "a, b = x.shape"}) {
    const std::string said = given_by(module(std::string("    ") + line + "\n"), layer, 4);
    EXPECT_TRUE(holds(said, "its forward() does more than call its host code: line 26, " + std::string(line)))
        << line << ": " << said;
  }
  EXPECT_TRUE(holds(given_by(module("    return ext.g(x)\n"), layer, 4),
                    "its host code has no g() for its module, which calls it: functions names f"));
  EXPECT_TRUE(
      holds(given_by(module("    raise ValueError('no')\n"), layer, 4), "it raises in line 26: ValueError('no')"));
  EXPECT_TRUE(
      holds(given_by(module("    assert self.conv.stride[0] == 1\n"), layer, 4), "its assertion in line 26 fails"));
  EXPECT_TRUE(holds(given_by(module("    return 3\n"), layer, 4), "returns a whole number, where a tensor belongs"));
}

// What a module cannot be asked for.
TEST(PythonModule, TakesWhatItsParametersSay) {
  const std::string text =
      "class M(nn.Module):\n  def __init__(self, cin, cout, k, stride=1):\n    super(M, self).__init__()\n"
      "    self.c = nn.ConvTranspose1d(cin, cout, k, stride, bias=False)\n  def forward(self, x):\n"
      "    return ext.f(x, self.c.weight, self.c.bias, self.c.padding[0])\n";
  ConvProblem p{.in_channels = 2, .out_channels = 2, .kernel_size = 3, .length = 5, .stride = 2};
  EXPECT_EQ(given_by(text, p, 4), "x[1,2,5] w[2,2,3] None 0");
  p.output_padding = 1;
  EXPECT_EQ(given_by(text, p, 4), "takes no output padding");
  p.output_padding = 0, p.groups = 2;
  EXPECT_EQ(given_by(text, p, 4), "takes no groups");
  p.groups = 1, p.bias = true;
  EXPECT_EQ(given_by(text, p, 4), "takes no bias");
  EXPECT_EQ(python_module_numbers(text), (std::vector<std::string>{"Cin", "Cout", "K", "stride"}));
}

// A layer that is given all of it with each call.
TEST(PythonModule, ForwardMayBeGivenEverything) {
  const std::string text =
      "class M(nn.Module):\n  def __init__(self):\n    super().__init__()\n    self.keeps = self.helps\n"
      "  def helps(self, n):\n    return n + 1\n"
      "  def forward(self, x, weight, bias=None, stride=1, groups: int = 1):\n"
      "    return ext.f(x, weight, bias, self.keeps(stride) * groups)\n";
  ConvProblem p = layer;
  EXPECT_EQ(given_by(text, p, 4), "takes no output padding");
  p.output_padding = 0;
  EXPECT_EQ(given_by(text, p, 4), "x[2,4,9] w[4,3,5] b[6] 8");
}

TEST(PythonModule, TheOneThatIsMeant) {
  EXPECT_TRUE(has_python_module(module("    return x\n")));
  EXPECT_TRUE(has_python_module("\"\"\"What this file\nis.\"\"\"\n" + module("    return x\n")));
  EXPECT_FALSE(has_python_module(module("    return x\n") + "# convscope: call f args=x,w\n"));
  EXPECT_FALSE(has_python_module("def forward(x):\n  return x\n"));
  EXPECT_TRUE(has_python_module("class Model(nn.Module):\n  def forward(self, x):\n    return x\n"));
}

TEST(PythonModule, BindingsOfAnExtension) {
  const auto all = python_bindings(
      "m = load_inline(functions=['one', \"two\"])\nsource = '''PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
      "  m.def(\"forward\", &conv::run, \"says\", py::arg(\"x\"), py::arg(\"bias\") = py::none(),\n"
      "        pybind11::arg(\"stride\") = 1);\n}'''\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.at("two").function, "two");
  EXPECT_EQ(all.at("forward").function, "conv::run");
  EXPECT_EQ(all.at("forward").names, "x,bias=None,stride=1");
}

// Whatever stands in a file: refused at worst.
TEST(PythonModule, OfAnyTextNothingWorse) {
  const std::string whole = module(
      "    if x.is_cuda and not self.training: # yes\n      w = self.pack(self.conv.weight)[:, ::2, -1]\n"
      "    a, (b, c) = 1, (2, 3.5e-1)\n    return ext.f(x, w, b=None, *[a, b], **dict(c=c)) if a < b <= c else None\n");
  uint64_t random = 1;
  auto next = [&](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  for (int round = 0; round < 4000; round++) {
    std::string text = whole;
    for (uint64_t changes = 1 + next(5); changes > 0; changes--) {
      const size_t at = next(text.size());
      constexpr std::string_view signs = "\"'{}()[]%.,=+#\\\nf :*-@1";
      if (changes % 3)
        text[at] = signs[next(signs.size())];
      else
        text.erase(at, 1 + next(9));
    }
    if (has_python_module(text)) given_by(text, layer, 4);
  }
  const std::string deep(100'000, '('), minus(100'000, '-');
  std::string blocks;
  for (int i = 0; i < 3000; i++) blocks += std::string(static_cast<size_t>(i), ' ') + "if a:\n";
  for (const std::string& text : {deep, minus, blocks, "x = " + deep, "class A:\n def forward(self, x):\n  " + blocks})
    EXPECT_NO_THROW(python_statements(text));
}

}  // namespace
}  // namespace convscope
