// Python files whose CUDA source holds values of their layer: it is compiled for each layer, with the file's lines.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

// What differs from style to style: HEAD, the sources and what stands for values in them; BUILD, in __init__().
constexpr const char* of_a_layer = R"py(import functools, textwrap
import torch, torch.nn as nn
from string import Template
from torch.utils.cpp_extension import load_inline
HEAD
CPP = 'torch::Tensor go(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b);'

class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        super().__init__()
        self.c = nn.ConvTranspose1d(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, bias=bias)
BUILD
    def forward(self, x):
        return self.ext.go(x, self.c.weight, self.c.bias)
)py";
// <K> is what a style writes for it; lines are counted from the string's first.
constexpr const char* source = R"cu(
#include <torch/extension.h>
__global__ void up(const float* x, const float* w, const float* b, float* y, int Cin, int Cout, int L, int Lout) {
  constexpr int taps = <K>;
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  float sum = b ? b[co] : 0.f;
  for (int k = 0; k < taps; k++) {
    const int t = j + <P> - k * <D>;
    if (t < 0 || t - t / <S> * <S> || t / <S> >= L) continue;
    for (int ci = 0; ci < Cin; ci++) sum += x[(n * Cin + ci) * L + t / <S>] * w[(ci * Cout + co) * taps + k];
  }
  y[(n * Cout + co) * Lout + j] = sum;
}
torch::Tensor go(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> b) {
  const int L = x.size(2), Lout = (L - 1) * <S> - 2 * <P> + <D> * (<K> - 1) + 1;
  auto y = torch::empty({x.size(0), w.size(1), Lout}, x.options());
  up<<<dim3((Lout + 63) / 64, w.size(1), x.size(0)), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(),
    b ? b->data_ptr<float>() : nullptr, y.data_ptr<float>(), x.size(1), w.size(1), L, Lout);
  return y;
}
)cu";

struct Style {
  const char *name, *k, *p, *d, *s;  // in the source
  bool braces;                       // its own are written twice
  const char *open, *build;
};
const Style styles[] = {
    {"f", "{kernel_size}", "{padding}", "{dilation}", "{stride}", true, nullptr,
     "        src = f'''SOURCE'''\n"
     "        self.ext = load_inline(name=f'up_{stride}', cpp_sources=CPP, cuda_sources=src, functions=['go'])"},
    {"replace", "@K@", "@P@", "@D@", "@S@", false,
     "SRC = '''SOURCE'''\n@functools.lru_cache(None)\ndef build(K, P, D, S):\n    src = SRC\n"
     "    for name, v in (('K', K), ('P', P), ('D', D), ('S', S)):\n        src = src.replace('@' + name + '@', "
     "str(v))\n"
     "    return load_inline('up', [CPP], [src], functions=['go'])",
     "        self.ext = build(kernel_size, padding, dilation, stride)"},
    {"percent", "%(K)d", "%(P)d", "%(D)d", "%(S)d", false, "SRC = r'''SOURCE'''",
     "        values = dict(K=kernel_size, P=padding, D=dilation, S=stride)\n"
     "        self.ext = load_inline(name='up', cpp_sources=CPP, cuda_sources=SRC % values, functions=['go'])"},
    {"format", "{K}", "{P}", "{D}", "{S}", true,
     "SRC = '''SOURCE'''\ndef source_of(K, **rest):\n    return textwrap.dedent(SRC.format(K=K, **rest))",
     "        self.ext = load_inline(name='up', cpp_sources=CPP, functions=['go'],\n"
     "            cuda_sources=source_of(kernel_size, P=padding, D=dilation, S=stride))"},
    {"template", "$K", "${P}", "${D}", "$S", false, "SRC = Template('''SOURCE''')",
     "        src = SRC.substitute(K=kernel_size, P=padding, D=dilation, S=stride)\n"
     "        self.ext = load_inline(name='up', cpp_sources=CPP, cuda_sources=src, functions=['go'])"},
    {"flags", "TAPS", "PAD", "DIL", "STRIDE", false, "SRC = '''SOURCE'''",
     "        flags = ['-O3', f'-DTAPS={kernel_size}', '-DPAD=%d' % padding, '-DDIL=' + str(dilation)]\n"
     "        self.ext = load_inline(name='up', cpp_sources=CPP, cuda_sources=SRC, functions=['go'],\n"
     "            extra_cuda_cflags=flags + ['-D', f'STRIDE={stride}'])"},
};

class ForLayersCli : public OutsideCli {
 protected:
  static std::string with(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
    return text;
  }
  std::string file_of(const Style& style, std::string cuda = source) {
    if (style.braces) cuda = with(with(cuda, "{", "{{"), "}", "}}");
    for (const auto& [word, v] : {std::pair{"<K>", style.k}, {"<P>", style.p}, {"<D>", style.d}, {"<S>", style.s}})
      cuda = with(cuda, word, v);
    const std::string head = style.open ? style.open : "";
    return file(std::string(style.name) + ".py",
                with(with(with(of_a_layer, "HEAD", head), "BUILD", style.build), "SOURCE", cuda));
  }
};

TEST_F(ForLayersCli, ASourceIsCompiledForItsLayer) {
  for (const Style& style : styles) {
    const std::string name = file_of(style);
    for (const Words& layer :
         {little, Words{"--in-channels", "3", "--length", "9", "--kernel-size", "5", "--stride", "3"}}) {
      const auto r = run(Words{"run", name} + layer);
      EXPECT_EQ(r.code, 0) << style.name << r.out << r.err;
      EXPECT_TRUE(holds(r.out, "right: all ")) << style.name << r.out;
    }
  }
}

TEST_F(ForLayersCli, WhatIsWrongInItIsTold) {
  for (const Style& style : {styles[0], styles[1]}) {
    const std::string name = file_of(style, with(source, "j + <P>", "j - <P>"));
    const auto r = run(Words{"run", name} + little);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "the padding has the wrong sign")) << r.out;
  }
  // What differs between layers is given to no launch, and still is known to differ.
  const auto r = run({"check", file_of(styles[2]), "--cases", "6"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(ForLayersCli, WhatDoesNotCompileIsToldWithTheFilesLine) {
  for (const Style& style : styles) {
    const std::string name = file_of(style, with(source, "float sum = b", "float sum = bb"));
    const std::string text = test::text_file(name);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("bb ?")), '\n');
    const auto r = run(Words{"run", name} + little);
    EXPECT_EQ(r.code, 1) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "its host code does not compile for this layer: ") &&
                holds(r.out, ".py:" + std::to_string(line) + ": 'bb' was not declared"))
        << style.name << " line " << line << "\n"
        << r.out;
  }
  // A value that nobody knows.
  Style style = styles[0];
  const std::string build =
      with(style.build, "        src = ", "        stride = torch.cuda.mem_get_info()[0]\n        src = ");
  style.build = build.c_str();
  const auto r = run(Words{"run", file_of(style)} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "is not followed here: ") && holds(r.out, "mem_get_info()[0]")) << r.out;
}

// Its strings alone tell it, where what puts them together is not followed.
TEST_F(ForLayersCli, ASourceOfStringsIsOneForAll) {
  std::string text = changed_into(test::text_file(test::project_file("assets/kernels/extension.py")), "class ModelNew",
                                  "def source_of(name):\n    assert torch.cuda.mem_get_info()[0]\n    "
                                  "print(f'building {name}')\n    return CUDA\n\nclass ModelNew");
  text = changed_into(text, "CPP, CUDA,", "CPP, source_of('up'),");
  const auto r = run(Words{"run", file("strings.py", text)} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST_F(ForLayersCli, ALineForEachOfManyDefinitions) {
  Style style = styles[5];
  const std::string build =
      "        defines = {'TAPS': kernel_size, 'PAD': padding, 'DIL': dilation, 'STRIDE': stride}\n"
      "        header = '\\n'.join(f'#define {name} {v}' for name, v in sorted(defines.items()))\n"
      "        self.ext = load_inline(name='up', cpp_sources=CPP, cuda_sources=SRC.replace('// DEFINES', header),\n"
      "            functions=['go'])";
  style.build = build.c_str();
  const auto r = run(Words{"run", file_of(style, with(source, "__global__", "// DEFINES\n__global__"))} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
}  // namespace convscope
