// Modules of Python files, followed: what the host code's functions are given, without compiling any. What becomes of
// whole files is tested through the command line (tests/app/cli/python_test.cpp).
#include "convscope/python_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "kernels/runtime/compile/for_layers.h"
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
  EXPECT_TRUE(
      holds(given_by(text, layer, 4), "f() is called with names of its arguments, of which its binding has none"));
  EXPECT_TRUE(holds(given_by(text, layer, 5, "x,weight,bias=None,stride,more"),
                    "its module gives f() 3 values, some by name; it takes 5"));
}

TEST(PythonModule, WhatIsNotFollowedIsRefusedWithItsLine) {
  for (const char* line :
       {"return torch.sigmoid(ext.f(x, 1, 2, 3))", "y = x ** 2", "z = [i for i in x]", "y = await x", "if x > 0: pass",
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

// ---- what the language has besides

// What stands before the class: records, an enumeration, a function.
constexpr const char* records = R"(from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar, List, NamedTuple
Shape = namedtuple('Shape', 'n c l extra', defaults=(5,))
class Geometry(NamedTuple):
  stride: int
  padding: int = 0
  dilation: int = 1
  def out(self, length):
    return (length - 1) * self.stride + 1
@dataclass
class Config:
  stride: int
  kinds: ClassVar[int] = 3
  names: List[int] = field(default_factory=list)
  twice: int = field(init=False, default=0)
  def __post_init__(self):
    self.twice = self.stride * 2
@dataclass
class Wider(Config):
  more: int = 9
class Algo(Enum):
  A = 'a'
  B = 2
  C = auto()
class Other(Enum):
  A = 'a'
def helped(a, b, c=0):
  return 100 * a + 10 * b + c
)";

std::string with_records(const std::string& forward) {
  std::string text = module(forward);
  return text.insert(text.find("class Fn("), records);
}

struct Means {
  const char *before, *value, *given;
};
// Each value is what python3 has written for it.
TEST(PythonModule, TheLanguageMeansWhatItMeansInPython) {
  for (const Means& m :
       {Means{"", "sum(10 * a + b for a in range(3) for b in range(a) if a + b > 1)", "41"},
        Means{"    t = {(r, q): r * 10 + q for r in range(3) for q in range(r + 1)}\n", "t[2, 1] + len(t)", "27"},
        Means{"", "next((a for a in [3, 5, 8] if a % 2 == 0), None)", "8"},
        Means{"", "len([c for row in [[1, 2], [3]] for c in row for d in range(c)])", "6"},
        Means{"    a, *b, c = range(6)\n", "a + 10 * b[-1] + 100 * c + 1000 * len(b)", "4540"},
        Means{"    s = list(range(8, 0, -2)) + [1]\n    s.sort()\n    s.extend([9, 11])\n",
              "s[::-1][0] * 100 + s[1::2][1] + s.index(9)", "1111"},
        Means{"    s = [3, 1, 2]\n", "s.pop() + 10 * s.pop(0) + 100 * len(s)", "132"},
        Means{"", "min([8, 3, 16], key=lambda v: abs(v - 10)) * 100 + sorted([2, 7, 4], reverse=True)[1]", "804"},
        Means{"    k, h = 3, 0.5\n", "f'{k}-{k * 2:03d}{{}}' + str(h) + str(True) + f\"{h!r}\"", "3-006{}0.5True0.5"},
        Means{"    t = {f'k{i}': i for i in range(4)}\n", "t[f'k{self.conv.stride[0]}']", "3"},
        Means{"", "str(x.dtype) + str(3)", "torch.float323"},
        Means{"    from functools import partial, reduce\n    f = partial(helped, 1, c=5)\n",
              "f(3) * 100 + reduce(lambda a, b: a * b, [2, 3, 4])", "13524"},
        Means{"    import itertools\n",
              "sum(a * b for a, b in itertools.product([1, 2], [3, 4])) + len(list(itertools.chain([1], [2, 3])))",
              "24"},
        Means{"", "sum(map(lambda a, b: a * b, [1, 2], [3, 4])) + len(list(filter(None, [0, 1, 2])))", "13"},
        Means{"    g = Geometry(3, dilation=2)\n    s, p, d = g\n", "g.out(9) + 100 * s + 1000 * len(g) + 10000 * g[2]",
              "23325"},
        Means{"    s = Shape(*x.shape)\n", "s.l + 10 * s.c + 100 * s._replace(n=7).n + 1000 * s.extra", "5749"},
        Means{
            "    c = Config(4, names=['a'])\n    d = Config(stride=5)\n    d.names.append(1)\n    d.names.append(2)\n",
            "c.stride + 10 * len(c.names) + 100 * len(d.names) + 1000 * len(Config(1).names) + 10000 * c.twice",
            "80214"},
        Means{"    c = Wider(4, 'x')\n", "c.stride + 10 * c.more + (100 if c.names == 'x' else 0)", "194"},
        Means{"    from dataclasses import asdict, replace\n", "asdict(Config(6))['stride'] + len(asdict(Config(4)))",
              "9"},
        Means{"",
              "(Algo.A is Algo.A) and (Algo.A != Other.A) and (Algo('a') is Algo.A) and (Algo.C.value == 3) and "
              "Algo.A.name == 'A'",
              "True"},
        Means{"    match x.dim():\n      case 2: v = 0\n      case 3 | 4: v = 34\n      case _: v = 9\n", "v", "34"},
        Means{"    v = 0\n    for s in (2, (3,), [4, 5, 6], 'a', None, True):\n      match s:\n        case None: v += "
              "1\n        case bool(): v += 10\n        case int() as n: v += 100 * n\n        case (n,): v += 1000 * "
              "n\n        case [n, *rest] if rest: v += 10000 * len(rest)\n        case 'a': v += 100000\n",
              "v", "123211"},
        Means{"    match x.dtype:\n      case torch.float16 | torch.bfloat16:\n        v = 1\n      case "
              "torch.float32:\n        v = 2\n",
              "v", "2"},
        Means{"    match Config(7):\n      case Config(stride=1):\n        v = 1\n      case Config(stride=s):\n       "
              " v = s\n",
              "v", "7"},
        Means{"    match = 4\n", "match + 1", "5"},
        Means{"", "type(self).__name__ + self.__class__.__name__", "ModelNewModelNew"},
        Means{"", "(type(3) is int) and (type(3.0) == float) and isinstance(True, int)", "True"},
        Means{"", "[2 * 3 ** 2, -2 ** 2, 2 ** 3 ** 2, 2 ** 62 + 1] == [18, -4, 512, 4611686018427387905]", "True"},
        Means{"    a, b = 9, 2\n    a //= 2\n    b **= 3\n", "a * 10 + b", "48"},
        Means{"    s = 1\n    for v in (2, 3):\n      if v == 3: break\n    else:\n      s = 9\n    while s < 3: s += "
              "1\n    else: s += 10\n",
              "s", "13"},
        Means{"    d = {'a': 1, 'b': 2}\n    l = [1, 2]\n    del d['a'], l[0]\n", "len(d) + l[0]", "3"},
        Means{"    try:\n      s = 1\n    except Exception:\n      s = 2\n    else:\n      s += 10\n    finally:\n     "
              " s += 100\n",
              "s", "111"},
        Means{"", "self.conv.padding_mode == 'zeros' and self.conv.transposed and isinstance(self.conv.stride, tuple)",
              "True"},
        Means{"", "not isinstance(self.conv.stride, list) and [1] != (1,) and [1] == [1] and x.shape == (2, 4, 9)",
              "True"},
        Means{"",
              "(Config(1) == Config(1)) and (Config(1) != Config(2)) and {'a': 1, 'b': 2} == {'b': 2, 'a': 1} and not "
              "(1 is True)",
              "True"},
        Means{"    match [1]:\n      case tuple(): v = 1\n      case _: v = 2\n", "v", "2"},
        Means{"", "sum([1, 2], 10) + len({1, 1}) + len(set([2, 2])) + len([0] * 2000)", "2015"},
        Means{"    fs = [lambda v: v + i for i in range(3)]\n    k = 1\n    f = lambda v, o=k: v * k + o\n    k = 2\n",
              "fs[0](0) * 100 + f(3)", "207"},
        Means{"    a = [1]\n    b = a\n    b += [2]\n    t = [last := v for v in (1, 2)]\n", "len(a) * 10 + last",
              "22"},
#if !defined(__SANITIZE_ADDRESS__)  // which a list in itself, given back by nobody, is a leak for
        Means{"    a = []\n    a.append(a)\n", "a == a", "True"},
#endif
        Means{"", R"('a\x41\101\u0042' == 'aAAB')", "True"},
        Means{"", "torch.cuda.current_stream().cuda_stream", "0"},
        Means{"", "float('inf') > 1e300", "True"}}) {
    const std::string text = with_records(std::string(m.before) + "    return ext.f(x, " + m.value + ")\n");
    EXPECT_EQ(given_by(text, layer, 2), std::string("x[2,4,9] ") + m.given) << m.before << m.value;
  }
}

// Neither guessed nor passed over.
TEST(PythonModule, WhatTheLanguageHasBesidesIsRefusedWithItsLine) {
  for (const char* line :
       {"s = Shape(1, 2)", "s = Shape(1, 2, 3, 4, 5)", "s = Config(1, other=2)", "s = Algo('z')", "s = helped(1)",
        "s = helped(1, 2, 3, 4)", "s = helped(1, 2, d=3)", "s = next(x)", "a, *b = ()", "s = f'{x}' == 'a'",
        "s = len(str(x))", "s = 1 if f'{3:>8}' else 2", "s = {f'{x.shape}': 1}[f'{x.shape}']", "s = type(x.shape)",
        "s = [1, 2].insert(0, 3)", "s = nn.Sequential(nn.Identity(), self.conv)(x)", "s = torch.einsum('ijk->ij', x)",
        "s = Fn(3)"}) {
    const std::string said =
        given_by(with_records(std::string("    ") + line + "\n    return ext.f(x, 1)\n"), layer, 2);
    EXPECT_TRUE(holds(said, "its forward() does more than call its host code: line 56, " + std::string(line)))
        << line << ": " << said;
  }
  for (const char* lines :
       {"    match {1: 2}.keys():\n      case list(): pass\n", "    match Config(1):\n      case Config(1): pass\n",
        "    match x:\n      case 3: pass\n", "    g = Geometry(1)\n    g.stride = 2\n"})
    EXPECT_TRUE(holds(given_by(with_records(std::string(lines) + "    return ext.f(x, 1)\n"), layer, 2),
                      "its forward() does more than call its host code: line 5"))
        << lines;
}

// Another meaning than Python's would be worse than none.
TEST(PythonModule, WhatWouldMeanSomethingElseIsRefused) {
  for (const char* line : {"s = 1 if NOBODY_KNOWS else 2", "s = 1 if self.conv.nothing == 3 else 2",
                           "s = 9223372036854775808", "s = (-9223372036854775807 - 1) // -1",
                           "with Config(1) as s: pass", "s = 1000 is 1000", "s = [v for v in {1, 2}]", "s = 3 ** 90"}) {
    const std::string said =
        given_by(with_records(std::string("    ") + line + "\n    return ext.f(x, 1)\n"), layer, 2);
    EXPECT_TRUE(holds(said, "its forward() does more than call its host code: line 56, ")) << line << ": " << said;
  }
  for (const char* lines :
       {"    n = 0\n    def g():\n      nonlocal n\n      n = 1\n    g()\n",
        "    try:\n      raise ValueError('a')\n    except ValueError: pass\n",
        "    @wrapper\n    def g(): return 1\n    g()\n", "    m = map(str, [1])\n    a, b = list(m), list(m)\n"})
    EXPECT_TRUE(holds(given_by(with_records(std::string(lines) + "    return ext.f(x, 1)\n"), layer, 2),
                      "its forward() does more than call its host code: line 5"))
        << lines;
  std::string sum = "1";
  for (int i = 0; i < 60'000; i++) sum += "+1";
  EXPECT_TRUE(holds(given_by(module("    return ext.f(x, " + sum + ")\n"), layer, 2), "more than call its host code"));
}

// What stands at the outer level, in its order.
TEST(PythonModule, GlobalNamesAreWhatTheLastStatementLeaves) {
  auto with = [&](const std::string& before, const std::string& value) {
    std::string text = module("    return ext.f(x, " + value + ")\n");
    return given_by(text.insert(text.find("class Fn("), before), layer, 2);
  };
  EXPECT_EQ(with("A = B = 0\nFAST, SLOW = False, True\n", "(A or FAST, SLOW)[1] and B"), "x[2,4,9] 0");
  EXPECT_EQ(with("if TWO > 2: S = 1\nelse: S = 2\nS += 10\n", "S"), "x[2,4,9] 12");
  EXPECT_EQ(with("T = []\nfor i in range(3):\n  T.append(i)\nD = {}\nD['a'] = 1\n", "len(T) + len(D)"), "x[2,4,9] 4");
  EXPECT_EQ(with("def g(): return 1\ndef g(): return 2\nclass Q:\n  z = 1\n  z = 3\n", "g() * 10 + Q.z"),
            "x[2,4,9] 23");
  EXPECT_TRUE(holds(with("S = 1\nX = S\nS = 2\n", "X"), "does more than call its host code"));
  // What is changed of another file is none of this one's values.
  const std::string environment =
      "import os\nV = os.environ.get('NOBODY_SETS_THIS', '7')\nos.environ.setdefault('A', '1')\n";
  EXPECT_EQ(with(environment, "7 if V == '7' and os.getenv('NOBODY_SETS_THIS') is None else 0"), "x[2,4,9] 7");
}

// nn.Sequential called as a whole: each of its parts in turn, and its own parts by number.
TEST(PythonModule, ASequenceCallsItsPartsInTurn) {
  const std::string up =
      "class Up(nn.Module):\n  def __init__(self, n):\n    super().__init__()\n    self.n = n\n"
      "  def forward(self, x):\n    return x[:, :, self.n:]\n";
  auto with = [&](const std::string& forward) {
    std::string text =
        module(forward, "    self.net = nn.Sequential(nn.Identity(), Up(2), nn.Sequential(Up(self.conv.stride[0])))\n");
    return text.insert(text.find("class Fn("), up);
  };
  EXPECT_EQ(given_by(with("    return ext.f(self.net(x), len(self.net))\n"), layer, 2), "x[2,4,4] 3");
  EXPECT_EQ(given_by(with("    return ext.f(self.net[1](x), self.net[1].n)\n"), layer, 2), "x[2,4,7] 2");
}

TEST(PythonModule, WhichOfSeveralIsBound) {
  const auto all = python_bindings(
      "'''PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
      "  m.def(\"a\", static_cast<at::Tensor (*)(at::Tensor, std::tuple<int, int>)>(&conv));\n"
      "  m.def(\"b\", py::overload_cast<at::Tensor, int>(&ns::conv), \"says\");\n}'''\n");
  EXPECT_EQ(all.at("a").function, "conv");
  EXPECT_EQ(all.at("a").types, "at::Tensor, std::tuple<int, int>");
  EXPECT_EQ(all.at("b").function, "ns::conv");
  EXPECT_EQ(all.at("b").types, "at::Tensor, int");
}

// Whatever stands in a file: refused at worst.
TEST(PythonModule, OfAnyTextNothingWorse) {
  const std::string whole = module(
      "    if x.is_cuda and not self.training: # yes\n      w = self.pack(self.conv.weight)[:, ::2, -1]\n"
      "    a, (b, c) = 1, (2, 3.5e-1)\n    match f'{a:03d}{b}':\n      case [a, *_] | 'b' if a: b = 1\n"
      "    d = [i for j in (a, b) for i in range(j)]\n    return ext.f(x, w, b=None, *[a, b], **dict(c=c)) if a < b <= "
      "c else None\n");
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

// Which files have another source for each layer: CUDA's own % and braces, and other text in strings, format nothing.
TEST(ForLayers, OnlyWhatTheFilesOwnStatementsFormat) {
  const std::string head = "import torch\nfrom torch.utils.cpp_extension import load_inline\n";
  const std::string cuda =
      "#include <torch/extension.h>\n__global__ void f(float* y, int n) { y[blockIdx.x % n] = f'x' ? 1 : 0; }\n"
      "torch::Tensor go(torch::Tensor x) { f<<<1, 32>>>(x.data_ptr<float>(), 4); return x; }\n";
  const std::string module =
      "class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "    def forward(self, x):\n        half = x.size(0) % 2\n        return op.go(x)\n";
  auto file = [&](const std::string& source, const std::string& given) {
    return head + source +
           "op = load_inline('op', cpp_sources='torch::Tensor go(torch::Tensor x);', cuda_sources=" + given +
           ", functions=['go'])\n" + module;
  };
  const std::string in_class = "class Src:\n    CUDA = r\"\"\"" + cuda + "\"\"\"\n";
  EXPECT_FALSE(differs_between_layers(file(in_class, "Src.CUDA"), "mine.py"));
  EXPECT_TRUE(differs_between_layers(file(in_class + "K = 3\n", "Src.CUDA.replace('4', str(K))"), "mine.py"));
  EXPECT_TRUE(differs_between_layers(file(in_class + "values = {}\n", "Src.CUDA % values"), "mine.py"));
}

}  // namespace
}  // namespace convscope
