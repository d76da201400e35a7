// What a verdict of a kernel file says of what is not seen in its results: memory that is gone, a caller's stream,
// weights that the module sets itself, calls that PyTorch's binding does not take.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

struct Change {
  std::string from, to;
};

class BesideVerdictCli : public OutsideCli {
 protected:
  // assets/kernels/extension.py with some texts in the place of others.
  test::Finished changed_run(const std::vector<Change>& changes, const Words& how = little) {
    std::string text = test::text_file(test::project_file("assets/kernels/extension.py"));
    for (const Change& c : changes) text = changed_into(text, c.from, c.to);
    return run(Words{"run", file("extension.py", text)} + how);
  }
  void expect(const test::Finished& r, int code, const std::string& words) {
    EXPECT_EQ(r.code, code) << words << "\n" << r.out << r.err;
    EXPECT_TRUE(holds(r.out + r.err, words)) << words << "\n" << r.out << r.err;
  }
};

constexpr const char* takes_output = "  auto output = torch::empty(";
constexpr const char* takes_blocks = "  const dim3 blocks(";
const Change by_pointer = {"weight.data_ptr<scalar_t>(), bias", "(const scalar_t*)turned, bias"};
const std::string gone = "const void* turned = weight.flip({2}).flip({2}).data_ptr();\n";

TEST_F(BesideVerdictCli, MemoryOfATensorThatIsGone) {
  // Something else is taken before the launch, and may lie there.
  expect(
      changed_run({{takes_output, gone + takes_output}, by_pointer}), 1,
      "wrong: gives up_float a pointer to the memory of a tensor that is gone (data_ptr() of a temporary: the tensor "
      "needs a name that lives until the launch), where PyTorch may have put what is taken next, 1296 bytes");
  // Nothing is: right, and told.
  expect(changed_run({{takes_blocks, gone + takes_blocks}, by_pointer}), 0,
         "  note        its host code gives up_float a pointer to the memory of a tensor that is gone");
  // In the launch itself, by a name, in a list that is emptied, and where nothing is converted they live.
  for (const std::string& text :
       {std::string("weight.flip({2}).flip({2}).data_ptr<scalar_t>(), bias"),
        std::string("[](torch::Tensor t) { return t; }(weight.flip({2}).flip({2})).data_ptr<scalar_t>(), bias"),
        std::string("weight.to(input.scalar_type()).data_ptr<scalar_t>(), bias")}) {
    const auto r = changed_run({{"weight.data_ptr<scalar_t>(), bias", text}});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_FALSE(holds(r.out, "note  ")) << r.out;
  }
  const auto r = changed_run({{takes_output,
                               "std::vector<torch::Tensor> all(3, weight.flip({2}));\nall[1] = all[0].flip({2});\n"
                               "torch::Tensor kept = std::move(all[1]);\nall.clear();\n"
                               "const void* turned = kept.data_ptr();\n" +
                                   std::string(takes_output)},
                              by_pointer});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_FALSE(holds(r.out, "note  ")) << r.out;
}

const std::string of_layer = "groups, bias, dilation)\n";

TEST_F(BesideVerdictCli, ValuesThatAModuleGivesItsWeights) {
  expect(changed_run({{of_layer, of_layer + "        torch.nn.init.xavier_normal_(self.layer.weight)\n"}}), 0,
         "  note        its module sets its weights by nn.init.xavier_normal_: judged is what it computes, with the "
         "weights of the layer");
  expect(changed_run({{of_layer, of_layer + "        self.reset()\n"},
                      {"    def forward(",
                       "    def reset(self):\n        torch.nn.init.zeros_(self.layer.weight)\n\n    "
                       "def forward("},
                      {"self.reset()", "self.reset_parameters()"},
                      {"def reset(", "def reset_parameters("}}),
         0, "sets its weights by zeros_ in reset_parameters()");
  expect(changed_run({{of_layer, of_layer + "        self.layer = torch.nn.utils.weight_norm(self.layer)\n"}}), 0,
         "its layer is given to weight_norm()");
  expect(changed_run({{of_layer, of_layer + "        self.packed = self.layer.weight.data.flip(2)\n"},
                      {"(x, layer.weight", "(x, self.packed.to(x.device).flip(2)"}}),
         0,
         "its __init__() works on its weights: what is loaded into the module later, or trained, does not reach that");
  // As the layer does it.
  for (const char* usual : {"        torch.nn.init.kaiming_uniform_(self.layer.weight, a=5 ** 0.5)\n",
                            "        self.layer.reset_parameters()\n"}) {
    const auto r = changed_run({{of_layer, of_layer + usual}});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_FALSE(holds(r.out, "note  ")) << r.out;
  }
}

constexpr const char* stands =
    "return self.op.conv_transpose1d(x, layer.weight, layer.bias, layer.stride[0], "
    "layer.padding[0],\n                                        layer.output_padding[0], "
    "layer.groups, layer.dilation[0])";
const std::string by_name =
    "return self.op.conv_transpose1d(x, layer.weight, bias=layer.bias, stride=layer.stride[0], "
    "padding=layer.padding[0], output_padding=0, groups=1, dilation=layer.dilation[0])";

TEST_F(BesideVerdictCli, ArgumentsByName) {
  const std::string ends = "  return output;\n}\n";
  const std::string binding =
      "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"conv_transpose1d\", &conv_transpose1d, py::arg(\"x\"), "
      "py::arg(\"w\"), py::arg(\"bias\"), py::arg(\"stride\"), py::arg(\"padding\"), py::arg(\"output_padding\"), "
      "py::arg(\"groups\"), py::arg(\"dilation\")); }\n";
  const Change alone = {"load_inline(\"conv_transpose1d\", CPP, CUDA, functions=[\"conv_transpose1d\"])",
                        "load_inline(\"conv_transpose1d\", \"\", CUDA)"};
  EXPECT_EQ(changed_run({{ends, ends + binding}, alone, {stands, by_name}}).code, 0);
  // Names are given to parameters in their order, whatever these are called.
  const std::string other = changed_into(changed_into(binding, "(\"stride\")", "(\"dilation\")"),
                                         ", py::arg(\"dilation\"))", ", py::arg(\"stride\"))");
  expect(changed_run({{ends, ends + other}, alone, {stands, by_name}},
                     Words(little.begin(), little.end() - 3) + Words{"--dilation", "3"}),
         1, "wrong: ");
  // As literals, and of a function that has no name.
  std::string literal = binding;
  for (size_t at; (at = literal.find("py::arg(")) != literal.npos;) {
    const size_t end = literal.find(')', at);
    literal.replace(end, 1, "_a").erase(at, 8);
  }
  EXPECT_EQ(
      changed_run({{ends, ends + "using namespace pybind11::literals;\n" + literal}, alone, {stands, by_name}}).code,
      0);
  const std::string nameless =
      "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"conv_transpose1d\", [](torch::Tensor x, torch::Tensor w, "
      "c10::optional<torch::Tensor> b, std::vector<int64_t> a) { return conv_transpose1d(x, w, b, a[0], a[1], a[2], "
      "a[3], a[4]); }, \"of lists\"); }\n";
  auto of_lists = [&](const char* numbers) {
    return changed_run({{ends, ends + nameless},
                        alone,
                        {stands, std::string("return self.op.conv_transpose1d(x, layer.weight, layer.bias, [*") +
                                     numbers + ", *layer.output_padding, 1, *layer.dilation])"}})
        .code;
  };
  EXPECT_EQ(of_lists("layer.stride, *layer.padding"), 0);
  EXPECT_EQ(of_lists("layer.padding, *layer.stride"), 1);
  // functions= binds no names.
  expect(changed_run({{stands, by_name}}), 1,
         "fails in PyTorch: conv_transpose1d() is called with names of its arguments, of which its binding has none");
  expect(changed_run({{", layer.dilation[0])", ")"}}), 1,
         "fails in PyTorch: its module gives conv_transpose1d() 7 values; it takes 8");
}

// Where PyTorch raises a problem is not left out: `check` has a wrong kernel.
TEST_F(BesideVerdictCli, ViewsAsPyTorchHasThem) {
  const Change turned = {"(x, layer.weight,", "(x, layer.weight.transpose(0, 1).view(-1).view(layer.weight.shape),"};
  std::string text = test::text_file(test::project_file("assets/kernels/extension.py"));
  const auto r = run({"check", file("view.py", changed_into(text, turned.from, turned.to)), "--cases", "8"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "✗ not-run on problem")) << r.out;
  EXPECT_TRUE(holds(r.out, "fails in PyTorch: its host code takes view() of a tensor whose elements")) << r.out;
  // One that parts a dimension is none of that.
  EXPECT_EQ(changed_run({{turned.from,
                          "(x, layer.weight.transpose(0, 1).view(layer.weight.shape[1], -1, 2, "
                          "layer.weight.shape[2]).flatten(1, 2).transpose(0, 1),"}})
                .code,
            0);
  // What raises may be caught.
  expect(
      changed_run({{"        layer = self.layer\n",
                    "        layer = self.layer\n        try:\n            w = layer.weight.view(7, 7)\n        except "
                    "RuntimeError:\n            w = layer.weight\n"}}),
      1, "is not followed here: its forward() does more than call its host code");
}

TEST_F(BesideVerdictCli, ArithmeticOfTensors) {
  for (const std::string& right :
       {std::string("        y = self.op.conv_transpose1d(-x * 2.0, layer.weight / -2.0, None, "),
        std::string("        y = self.op.conv_transpose1d(x * torch.ones_like(x), 1 * layer.weight + 0, None, ")}) {
    const Change call = {"        return self.op.conv_transpose1d(x, layer.weight, layer.bias, ", right};
    const Change then = {"layer.dilation[0])",
                         "layer.dilation[0])\n        y *= 1.0\n        return torch.mul(y, 1) if "
                         "layer.bias is None else y.add_(layer.bias[:, None]) - 0"};
    auto r = changed_run({call, then});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    r = changed_run({call, {then.from, changed_into(then.to, "y *= 1.0", "y += 1.0")}});
    EXPECT_EQ(r.code, 1) << r.out << r.err;
  }
  const std::string ends = "  return output;\n";
  EXPECT_EQ(
      changed_run({{ends, "  output *= 2.0;\n  return -(output - output * 1.5) * torch::ones_like(output);\n"}}).code,
      0);
  EXPECT_EQ(changed_run({{ends, "  return output.relu();\n"}}).code, 1);
}

TEST_F(BesideVerdictCli, EinsumOfTwo) {
  const std::string both =
      "        w = torch.einsum('iok,pi->pok', layer.weight, self.eye.to(x.device))\n        layer = self.layer\n";
  const Change eye = {of_layer, of_layer +
                                    "        self.eye = torch.zeros(in_channels, in_channels)\n        for i in "
                                    "range(in_channels):\n            self.eye[i, i] = 1.0\n"};
  const Change takes = {"(x, layer.weight,", "(x, w.contiguous(),"};
  auto r = changed_run({eye, takes, {"        layer = self.layer\n", "        layer = self.layer\n" + both}});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = changed_run({eye,
                   takes,
                   {"        layer = self.layer\n",
                    "        layer = self.layer\n" + changed_into(both, "'iok,pi->pok'", "'iok,pi->opk'")},
                   {"w.contiguous()", "w.reshape(layer.weight.shape)"}});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
}

#if !defined(__SANITIZE_THREAD__)  // which has no traced twin
TEST_F(BesideVerdictCli, StreamsOfAModule) {
  const std::string call = "        return self.op.conv_transpose1d(";
  const Change then = {"layer.dilation[0])",
                       "layer.dilation[0])\n        torch.cuda.current_stream().wait_stream(side)"
                       "\n        return y"};
  auto on_side = [&](const std::string& first) {
    return Change{call, "        side = torch.cuda.Stream()\n" + first +
                            "        with torch.cuda.stream(side):\n            y = self.op.conv_transpose1d("};
  };
  const std::string waits = "        side.wait_stream(torch.cuda.current_stream())\n";
  EXPECT_EQ(changed_run({on_side(waits), then}).code, 0);
  EXPECT_EQ(changed_run({on_side("        torch.cuda.synchronize()\n"), then}).code, 0);
  EXPECT_EQ(changed_run({on_side("        side.wait_event(torch.cuda.current_stream().record_event())\n"), then}).code,
            0);
  expect(
      changed_run({on_side(""), then}), 1,
      "wrong: gives x to up_float while what makes it may still run: its stream is one of its own, and does not wait "
      "for the caller's");
  expect(changed_run({on_side(waits), {then.from, "layer.dilation[0])\n        return y"}}), 1,
         "wrong: returns y while up_float may still run");
}
#endif

TEST_F(BesideVerdictCli, WhatOneCallLeavesForTheNext) {
  const std::string includes = "#include <torch/extension.h>\n#include <unordered_map>";
  expect(changed_run({{takes_output, "  static int calls = 0;\n  if (calls++) weight = weight.flip({2});\n" +
                                         std::string(takes_output)}}),
         1,
         "wrong: its host code launches 1 in its first call and 2 in the next: what it keeps between calls (static)");
  auto keeps = [&](const std::string& text) {
    return changed_run({{takes_output, text + takes_output}, {"#include <torch/extension.h>", includes}});
  };
  // What is packed once, whatever weights come then.
  const std::string
      packs = "weight.flip({2}).flip({2})",
      first_weights =
          "wrong: its host code launches 3 in its first call and 1 in the next, which is given other "
          "weights and looks at none of them: what it keeps between calls (static) is of the first weights";
  expect(keeps("  static torch::Tensor kept;\n  if (!kept.defined()) kept = " + packs + ";\n  weight = kept;\n"), 1,
         first_weights);
  expect(keeps("  static const torch::Tensor kept = " + packs + ";\n  weight = kept;\n"), 1, first_weights);
  // By what it is packed of: right, and told.
  expect(keeps("  static std::unordered_map<const void*, torch::Tensor> all;\n  auto& kept = all[weight.data_ptr()];\n"
               "  if (!kept.defined()) kept = " +
               packs + ";\n  weight = kept;\n"),
         0, "  note        its host code keeps what it makes in a first call (static); judged is that call");
  expect(keeps("  static std::unordered_map<const void*, torch::Tensor> all;\n  auto& kept = all[weight.data_ptr()];\n"
               "  if (!kept.defined()) kept = weight.flip({2});\n  weight = kept;\n"),
         1, "the taps of w are taken in reverse order");
  // Room that each call fills anew.
  const auto r = keeps(
      "  static torch::Tensor room;\n  if (!room.defined()) room = torch::empty({1000}, "
      "input.options());\n  auto part = room.narrow(0, 0, weight.numel()).view(weight.sizes());\n"
      "  part.copy_(weight);\n  weight = part;\n");
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_FALSE(holds(r.out, "note  ")) << r.out;
}

TEST_F(BesideVerdictCli, ABiasThatIsNotThere) {
  const Change takes{"groups, bias, dilation)", "groups, False, dilation)"};
  expect(changed_run({takes}), 1, "wrong: its module is asked for a bias and makes none");
  const Words without{"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40"};
  // torch.Tensor() has no elements, and no memory.
  const Change empty{"layer.weight, layer.bias,", "layer.weight, torch.Tensor(),"};
  EXPECT_EQ(changed_run({takes, empty}, without).code, 0);
  expect(changed_run({empty}), 1, "the bias is missing");
}

TEST_F(BesideVerdictCli, TensorsThatPyTorchDoesNotMakeOrCompare) {
  expect(changed_run({{"out_channels, out_length}", "out_channels, out_length - 1000}"}}), 1,
         "its host code makes a tensor of sizes [1, 4, -919], of which none may be negative");
  expect(changed_run({{"  return output;\n", "  return output.cpu();\n"}}), 1,
         "wrong: its output is on the CPU, where its input is on the GPU");
}

TEST_F(BesideVerdictCli, ModulesAreMadeInOtherWaysToo) {
  for (const std::string& made :
       {std::string("        torch.nn.Module.__init__(self)\n"),
        std::string("        from pathlib import Path\n        super().__init__()\n        self.name = \"up_\" + "
                    "Path(__file__).stem\n"),
        std::string(
            "        super().__init__()\n        self.__dict__.update({'s': stride}, p=padding)\n        match "
            "{'s': self.s, 'p': self.p, 'd': dilation}:\n            case {'s': stride, 'p': padding, **rest}:\n"
            "                dilation = rest['d']\n")}) {
    const auto r = changed_run({{"        super().__init__()\n", made}});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
  }
  const std::string borrowed =
      "c10::MaybeOwned<at::Tensor> owned = at::borrow_from_optional_tensor(bias);\n"
      "const at::Tensor& own = *owned;\nauto x = input.expect_contiguous();\n";
  const auto r = changed_run(
      {{takes_output, borrowed + takes_output},
       {"input.data_ptr<scalar_t>()", "x->data_ptr<scalar_t>()"},
       {"bias ? bias->data_ptr<scalar_t>() : nullptr", "own.defined() ? own.data_ptr<scalar_t>() : nullptr"}});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
}  // namespace convscope
