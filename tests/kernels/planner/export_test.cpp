#include "kernels/planner/export.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {

// Those whose text the program carries. Files that other tests of this process have opened stay kernels of it.
std::vector<const KernelDefinition*> exported_kernels() {
  auto all = all_kernels();
  std::erase_if(all, [](const auto* k) { return k->kind() == KernelKind::test || k->kind() == KernelKind::outside; });
  return all;
}

size_t times(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) n++;
  return n;
}

TEST(Export, ATextStandsAlone) {
  for (const auto* k : exported_kernels()) {
    std::string text = flattened(k->file());
    EXPECT_EQ(times(text, "#include \""), 0u) << k->file();
    for (const char* of_the_host : {"CONVSCOPE_KERNEL(", "ConvProblem", "namespace convscope", "ENTRY("})
      EXPECT_EQ(text.find(of_the_host), std::string::npos) << k->file() << " still has " << of_the_host;
    EXPECT_EQ(times(text, "struct ConvArgs"), 1u) << "once, however often it is included";
    EXPECT_EQ(times(text, "#if"), times(text, "#endif")) << k->file();
  }
  EXPECT_THROW(flattened("kernels/ladder/none.cu"), std::logic_error);
}

TEST(Export, OnlyWhatWorksOnWeightsAloneIsPacking) {
  auto p = find_preset("encodec.d1").problem;  // a length that is no multiple of 4: x is copied as well
  const auto& k = find_kernel("stream_tf32");
  Plan plan = k.plan_for(p);
  ASSERT_EQ(plan.launches().size(), 3u);
  EXPECT_EQ(plan.without_packing().launches().size(), 2u);
  std::string text = exported_cuda(k, p);
  EXPECT_EQ(times(text, "if (pack)"), 1u);
  EXPECT_EQ(times(text, "if (int e = launch("), 3u);
  EXPECT_EQ(times(text, ", stream, true)"), 2u) << "the copy of x and the products wait for launches before them";
  EXPECT_NE(text.find("return " + std::to_string(plan.workspace_bytes()) + ";"), std::string::npos);
  EXPECT_EQ(times(exported_cuda(find_kernel("direct"), p), "if (pack)"), 0u);
}

TEST(Export, BiasIsGivenOrNull) {
  auto p = find_preset("kernelbench-79-small").problem;
  EXPECT_NE(exported_cuda(find_kernel("tiled"), p).find("= nullptr;"), std::string::npos);
  p.bias = true;
  EXPECT_EQ(exported_cuda(find_kernel("tiled"), p).find("= nullptr;"), std::string::npos);
}

TEST(Export, ThePythonFileSaysItsProblem) {
  auto p = find_preset("kernelbench-79").problem;
  std::string text = exported_pytorch(find_kernel("hopper_3xtf32"), p);
  for (const char* said :
       {"class ModelNew(nn.Module)", "in_channels=32, out_channels=64, kernel_size=3, stride=2",
        "INPUT_SHAPE = (16, 32, 131072)", "OUTPUT_SHAPE = (16, 64, 262145)", "NEEDS = \"sm_90a\"", "torch.float32",
        "3xtf32 accuracy", "Compilers: torch.compile works", "also of another length"})
    EXPECT_NE(text.find(said), std::string::npos) << said;
  EXPECT_EQ(text.find('@' + std::string("CUDA@")), std::string::npos);
  for (const char* mark : {"@IN@", "@ARCH@", "@GPUS@", "@BY@", "@SHARED@", "@LOUT@", "@KERNEL@"})
    EXPECT_EQ(text.find(mark), std::string::npos) << mark << " is left";
}

TEST(Export, SixteenBitsHaveTheirTypes) {
  auto p = find_preset("kernelbench-79").problem;
  p.dtype = DType::f16;
  std::string text = exported_pytorch(find_kernel("scatter"), p);
  EXPECT_NE(text.find("DTYPE = torch.float16"), std::string::npos);
  EXPECT_NE(text.find("#include <cuda_fp16.h>"), std::string::npos);
  // The launch that fills the sums reads the bias and no weights: it runs at every call.
  EXPECT_EQ(times(text, "if (pack)"), 0u);
  EXPECT_EQ(times(text, "if (int e = launch("), 3u);
  p.dtype = DType::bf16;
  EXPECT_NE(exported_pytorch(find_kernel("tiled"), p).find("DTYPE = torch.bfloat16"), std::string::npos);
}

TEST(Export, HoldsTheFormThatIsLaunchedAndNoOther) {
  auto p = find_preset("kernelbench-64").problem;
  p.dtype = DType::f16;
  std::string text = exported_cuda(find_kernel("hopper_16bit"), p);
  EXPECT_EQ(times(text, "F(half_128_3_s1,"), 1u);
  EXPECT_EQ(times(text, "F(half_64_any,"), 0u);
  EXPECT_GT(times(flattened(find_kernel("hopper_16bit").file()), "F(half_64_any,"), 0u);
  p.stride = 3;
  EXPECT_EQ(times(exported_cuda(find_kernel("hopper_16bit"), p), "F(half_128_any,"), 1u);
  // Forms that lines of their own define; what packs has none.
  EXPECT_EQ(
      times(exported_cuda(find_kernel("registers"), find_preset("kernelbench-79").problem), "\nCONVSCOPE_REGISTERS("),
      1u);
  EXPECT_EQ(times(flattened("kernels/ladder/registers.cu"), "\nCONVSCOPE_REGISTERS("), 20u);
  EXPECT_EQ(times(flattened("kernels/ladder/depthwise.cu"), "\nCONVSCOPE_DEPTHWISE("), 20u);
  for (auto [dtype, form] : {std::pair{DType::f32, "(depthwise_f32_any, float, 4, 0)"},
                             {DType::f64, "(depthwise_f64_any, double, 2, 0)"},
                             {DType::bf16, "(depthwise_bf16_any, __nv_bfloat16, 8, 0)"}}) {
    auto q = find_preset("kernelbench-79").problem;
    q.dtype = dtype;
    text = exported_cuda(find_kernel("depthwise"), q);
    EXPECT_EQ(times(text, "\nCONVSCOPE_DEPTHWISE("), 1u) << form;
    EXPECT_EQ(times(text, std::string("\nCONVSCOPE_DEPTHWISE") + form), 1u);
  }
  // A list of one form, on the macro's own line.
  const auto& split = find_kernel("hopper_3xtf32");
  EXPECT_EQ(times(exported_cuda(split, find_preset("kernelbench-74").problem), "F(hopper_split_5by3_s1_boxes,"), 1u);
  EXPECT_EQ(times(exported_cuda(split, find_preset("kernelbench-79").problem), "F(hopper_split_5by3_s1_boxes,"), 0u);
}

TEST(Export, AnActivationIsNamedAndDefined) {
  auto p = find_preset("hifigan.u1").problem;
  const Activation leaky = Activation::from("leaky_relu:0.1"), relu = Activation::from("relu");
  std::string text = exported_cuda(find_kernel("registers"), p, leaky);
  size_t defined = text.find("\n#define CONVSCOPE_LEAKY_RELU 0.1\n");
  ASSERT_NE(defined, std::string::npos);
  EXPECT_LT(defined, text.find("T activated(T v)")) << "before it is looked at";
  EXPECT_NE(text.substr(0, text.find('\n')).find(", and then leaky_relu:0.1, fused"), std::string::npos);
  EXPECT_EQ(times(exported_cuda(find_kernel("registers"), p, relu), "\n#define CONVSCOPE_RELU\n"), 1u);
  text = exported_pytorch(find_kernel("hopper_tf32"), p, leaky);
  for (const char* said : {", and then leaky_relu:0.1.\n",
                           "    y = self.conv1d_transpose(x)\n    y = torch.nn.functional.leaky_relu(y, 0.1)\n",
                           "forward(x) ends with the activation, fused: leaky_relu:0.1."})
    EXPECT_EQ(times(text, said), 1u) << said;
  EXPECT_EQ(times(exported_pytorch(find_kernel("hopper_tf32"), p, relu), "    y = torch.nn.functional.relu(y)\n"), 1u);
  // Without one nothing is said of one, and nothing defined.
  text = exported_pytorch(find_kernel("hopper_tf32"), p);
  for (const char* word :
       {"#define CONVSCOPE_LEAKY_RELU", "#define CONVSCOPE_RELU", "and then", "leaky_relu(y", "activation,"})
    EXPECT_EQ(times(text, word), 0u) << word;
  for (const char* mark : {"@THEN@", "@FUSED@", "@APPLIES@"}) EXPECT_EQ(times(text, mark), 0u) << mark;
}

TEST(Export, WhoFusesAnActivationCallsIt) {
  int fusing = 0;
  const Activation relu = Activation::from("relu");
  for (const auto* k : exported_kernels()) {
    // Its definition is there once where it is included; calls come after it.
    size_t calls = times(flattened(k->file()), "activated(");
    EXPECT_EQ(calls > 1, k->fuses_activation()) << k->name();
    EXPECT_EQ(relu.refused_by(*k).empty(), k->fuses_activation());
    EXPECT_EQ(Activation().refused_by(*k), "");
    fusing += k->fuses_activation();
  }
  EXPECT_EQ(fusing, 23) << "the ladder but for scatter";
  EXPECT_NE(relu.refused_by(find_kernel("scatter")).find("take polyphase"), std::string::npos);
  EXPECT_NE(relu.refused_by(find_kernel("S4")).find("take direct"), std::string::npos);
}

TEST(Activation, IsReadAsItIsWritten) {
  using Kind = Activation::Kind;
  EXPECT_EQ(Activation::from(""), Activation());
  EXPECT_EQ(Activation::from("none"), Activation());
  EXPECT_EQ(Activation::from("relu"), (Activation{Kind::relu, 0}));
  EXPECT_EQ(Activation::from("leaky_relu"), (Activation{Kind::leaky_relu, 0.01})) << "PyTorch's";
  EXPECT_EQ(Activation::from("leaky_relu:0"), (Activation{Kind::leaky_relu, 0}));
  EXPECT_EQ(Activation::from("leaky_relu:1").macro(), "#define CONVSCOPE_LEAKY_RELU 1\n");
  EXPECT_EQ(Activation::from("leaky_relu:-0").name(), "leaky_relu:0");
  for (const char* name : {"none", "relu", "leaky_relu:0.01", "leaky_relu:0.1", "leaky_relu:1e-05"})
    EXPECT_EQ(Activation::from(name).name(), name);
  for (const char* bad :
       {"gelu", "ReLU", "relu:0.1", "leaky", "leaky_relu:", "leaky_relu:x", "leaky_relu:0.1x", "leaky_relu:-0.1",
        "leaky_relu:1.0001", "leaky_relu:nan", "leaky_relu:inf", "leaky_relu: 0.1"})
    try {
      Activation::from(bad);
      ADD_FAILURE() << bad << " is taken";
    } catch (const InputError& e) {
      EXPECT_EQ(e.field(), "activation");
      EXPECT_EQ(e.value(), bad);
    }
}

// What spread_of() and the docstring say of values that are not finite, on the emulator: of each kernel of the ladder
// some problems with one such number in x, or in the weight, and which outputs that no tap of it reaches are numbers.
struct Reached {
  std::vector<bool> x, w;
};

Reached reached_by(const ConvProblem& p, int64_t ci, int64_t i, int64_t tap_channel, int64_t tap) {
  const int64_t per = p.out_per_group(), group = ci / p.in_per_group(), lout = p.out_length();
  Reached r{std::vector<bool>(static_cast<size_t>(p.y_elements())), r.x};
  r.w = r.x;
  auto set = [&](std::vector<bool>& which, int64_t q, int64_t from, int64_t k) {
    int64_t j = from * p.stride - p.padding + k * p.dilation;
    if (j >= 0 && j < lout) which[static_cast<size_t>((group * per + q) * lout + j)] = true;
  };
  for (int64_t q = 0; q < per; q++)
    for (int64_t k = 0; k < p.kernel_size; k++) set(r.x, q, i, k);
  for (int64_t from = 0; from < p.length; from++) set(r.w, tap_channel, from, tap);
  return r;
}

HostTensor with_infinity(const HostTensor& t, int64_t at) {
  return make_tensor(t.dtype, t.shape, [&](auto* data, int64_t count) {
    using T = std::remove_pointer_t<decltype(data)>;
    for (int64_t i = 0; i < count; i++) data[i] = static_cast<T>(static_cast<float>(t.at(i)));
    data[at] = static_cast<T>(std::numeric_limits<float>::infinity());
  });
}

TEST(Export, ValuesThatAreNotFiniteGoWhereItIsSaid) {
  auto of = [](int64_t in, int64_t out, int64_t kernel_size, int64_t stride, int64_t dilation, DType dtype) {
    ConvProblem p;
    p.in_channels = in, p.out_channels = out, p.kernel_size = kernel_size, p.stride = stride, p.dilation = dilation;
    p.padding = 1, p.length = 256, p.batch = 1, p.dtype = dtype;
    return p;
  };
  std::vector<ConvProblem> problems;
  for (DType dtype : {DType::f32, DType::f16})
    for (ConvProblem p : {of(32, 64, 3, 2, 2, dtype), of(16, 32, 8, 4, 1, dtype), of(16, 32, 7, 4, 1, dtype),
                          of(64, 20, 4, 2, 1, dtype), of(64, 20, 3, 2, 1, dtype), of(12, 20, 5, 1, 3, dtype),
                          of(8, 8, 3, 2, 1, dtype), of(6, 6, 5, 2, 1, dtype)}) {
      if (p.in_channels == 6) p.groups = 6;
      problems.push_back(p);
    }
  test::Random random(61);
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::ladder) continue;
    int ran = 0;
    int64_t x_spread = 0, w_spread = 0;
    for (const ConvProblem& p : problems) {
      if (!k->unsupported(p).empty()) continue;
      ran++;
      auto t = test::random_tensors(random, p);
      const int64_t ci = 3, i = p.length / 2, q = std::min<int64_t>(5, p.out_per_group() - 1), tap = 1;
      const Reached reached = reached_by(p, ci, i, q, tap);
      auto strangers = [&](const test::Tensors& tensors, const std::vector<bool>& is_reached) {
        HostTensor y = test::run_kernel(*k, p, tensors);
        int64_t spread = 0;
        for (int64_t e = 0; e < y.elements(); e++) {
          bool number = std::isfinite(y.at(e)), there = is_reached[static_cast<size_t>(e)];
          EXPECT_FALSE(there && number) << k->name() << " " << describe(p) << ": lost at " << e;
          spread += !there && !number;
        }
        return spread;
      };
      test::Tensors of_x = t, of_w = t;
      of_x.x = with_infinity(t.x, ci * p.length + i);
      of_w.w = with_infinity(t.w, (ci * p.out_per_group() + q) * p.kernel_size + tap);
      x_spread += strangers(of_x, reached.x), w_spread += strangers(of_w, reached.w);
    }
    ASSERT_GT(ran, 0) << k->name() << ": no problem here that it takes";
    const Spread said = spread_of(*k);
    EXPECT_EQ(x_spread > 0, said == Spread::of_both) << k->name() << ": " << x_spread << " outputs beside x's";
    EXPECT_EQ(w_spread > 0, said != Spread::none) << k->name() << ": " << w_spread << " outputs beside the weight's";
  }
}

TEST(Export, TheFileSaysWhatItIsFor) {
  auto p = find_preset("kernelbench-79-small").problem;
  auto python = [&](const char* kernel) { return exported_pytorch(find_kernel(kernel), p); };
  for (auto [kernel, says] : {std::pair{"direct", "Values: any. Inf and NaN"},
                              {"registers", "Values: a finite weight."},
                              {"columns_tf32", "Values: finite ones."},
                              {"hopper_3xtf32", "what is 2^127 or larger, may come out as NaN"},
                              {"hopper_1xf16", "smaller than their neighbours by 2^-25"},
                              {"S4", "Values: a specimen"}})
    EXPECT_EQ(times(python(kernel), says), 1u) << kernel;
  const std::string ordered = exported_pytorch(find_kernel("ordered_3xf16"), find_preset("hifigan.u2").problem);
  EXPECT_EQ(times(ordered, "smaller than another one within 128 positions by 2^-15"), 1u);
  EXPECT_EQ(times(python("hopper_tf32"), "2^127"), 0u);
  for (const char* section : {"Input: x of shape", "Gradients: none", "Streams and threads:", "Weights are packed when",
                              "CUDA graphs: call the module once before capturing"})
    EXPECT_EQ(times(python("registers"), section), 1u) << section;
  EXPECT_EQ(times(python("registers"), "\nPACKS = True "), 1u);
  EXPECT_EQ(times(python("direct"), "\nPACKS = False "), 1u);
  p.groups = 4;
  EXPECT_EQ(times(python("registers"), "\nWEIGHT_SHAPE = (32, 16, 3)\n"), 1u);
}

TEST(Export, SaysWhichGpusHaveTheSharedMemory) {
  const auto p = find_preset("kernelbench-74").problem;
  const char* gpus =
      "GPU of compute capability 8.0 or higher that gives a block 103424 bytes of shared memory (not 8.6, 8.8, 8.9, "
      "12.0, "
      "12.1).";
  std::string text = exported_cuda(find_kernel("mma_3xtf32"), p);
  EXPECT_EQ(times(text, std::string("For an NVIDIA ") + gpus), 1u) << text.substr(0, 900);
  EXPECT_EQ(times(text, "cudaErrorInvalidConfiguration where the GPU gives a block less shared memory than 103424"),
            1u);
  EXPECT_EQ(times(text, "return e == cudaErrorInvalidValue ? cudaErrorInvalidConfiguration : e;"), 1u);
  text = exported_pytorch(find_kernel("mma_3xtf32"), p);
  EXPECT_EQ(times(text, std::string("for an NVIDIA ") + gpus), 1u);
  EXPECT_EQ(times(text, "\nSHARED_BYTES = 103424 "), 1u);
  EXPECT_EQ(times(exported_pytorch(find_kernel("mma_3xtf32"), find_preset("kernelbench-79").problem), "(not 8.6"), 0u);
  EXPECT_EQ(times(exported_cuda(find_kernel("direct"), p), "// For an NVIDIA GPU.\n"), 1u);
  EXPECT_EQ(times(exported_cuda(find_kernel("direct"), p), "cudaErrorInvalidConfiguration"), 0u);
  EXPECT_EQ(times(exported_cuda(find_kernel("hopper_tf32"), p), "// For an NVIDIA GPU of compute capability 9.0.\n"),
            1u);
}

TEST(Export, TheHeadSaysHowItIsCompiledAndCalled) {
  const auto p = find_preset("kernelbench-79-small").problem;
  auto head = [&](const char* kernel, const ExportedAs& as) {
    std::string text = exported_cuda(find_kernel(kernel), p, {}, as);
    return text.substr(0, text.find("#include"));
  };
  for (auto [kernel, architecture, compiled_for] : {std::tuple{"registers", "", "native"},
                                                    {"registers", "sm_75", "sm_75"},
                                                    {"columns_tf32", "", "sm_80"},
                                                    {"columns_tf32", "sm_100", "sm_100"},
                                                    {"hopper_tf32", "sm_90", "sm_90a"}})
    EXPECT_EQ(times(head(kernel, {.function = "up1", .architecture = architecture, .version = ""}),
                    fmt::format("-arch={} -shared -Xcompiler -fPIC -o up1.so THIS_FILE", compiled_for)),
              1u)
        << kernel;
  const std::string text = head("tiled", {.function = "up1", .architecture = "", .version = "0.1.0"});
  for (const char* said :
       {"//   size_t up1_workspace(void);\n",
        "//   int up1(const void* x, const void* w, const void* b, void* y, void* workspace, int pack,\n"
        "//           void* stream);\n",
        "// Kernel tiled of convscope 0.1.0 (kernels/ladder/tiled.cu)", "// up1() only launches"})
    EXPECT_EQ(times(text, said), 1u) << said << text;
  EXPECT_EQ(text.find("conv_transpose1d"), std::string::npos);
  EXPECT_NE(exported_pytorch(find_kernel("tiled"), p, {}, {.version = "0.1.0"})
                .find("Kernel tiled of convscope 0.1.0, strict"),
            std::string::npos);
  EXPECT_EQ(times(head("hopper_tf32", {}), "may be linked into one program; not with -rdc=true"), 1u);
  EXPECT_EQ(times(text, "rdc"), 0u);
  EXPECT_EQ(times(head("S4", {}), "A specimen, wrong on purpose: right only for some problems."), 1u);
}

TEST(Export, RefusesNamesOfFunctions) {
  const auto p = find_preset("kernelbench-79-small").problem;
  auto said = [&](const std::string& name) {
    return test::error_of<InputError>([&] { exported_cuda(find_kernel("hopper_tf32"), p, {}, {.function = name}); });
  };
  for (const char* bad : {"1st", "up-1", "_up", "a__b", "class", "int", "namespace", "co_await", "restrict", "main",
                          "up 1", "größe", "a::b"})
    EXPECT_EQ(said(bad), fmt::format("function {} must be a name in C: up to 64 letters, digits and single _, a letter "
                                     "first, no keyword",
                                     bad));
  EXPECT_TRUE(said("").starts_with("function must be a name in C"));
  EXPECT_TRUE(said(std::string(65, 'a')).find("must be a name in C") != std::string::npos);
  for (const char* own : {"hopper_pack", "ConvArgs", "hopper_64_3_s2_blocks", "launch", "describe"})
    EXPECT_EQ(said(own), fmt::format("function {} is a word of the kernel's own text: take another name", own));
  for (const char* library : {"printf",    "memcpy",   "sinf",         "cudaMalloc",  "cuInit", "half",   "float4",
                              "make_int2", "uint8_t",  "atomicAdd",    "threadIdx",   "read",   "NULL",   "NAN",
                              "EOF",       "INFINITY", "INT_MAX",      "RAND_MAX",    "M_PI",   "EINVAL", "SIGINT",
                              "PRId64",    "UINT64_C", "EXIT_SUCCESS", "FLT_EPSILON", "linux"})
    EXPECT_EQ(said(library),
              fmt::format("function {} is a name of the C library or of CUDA's headers: take another name", library));
  for (const char* taken : {"upsample_1", "conv_transpose1d", "cutter", "text_1", "atomics", "memorise", "sinl2",
                            "float5x", "UPSAMPLE", "Encoder", "Signal", "MAX_POOL", "C"})
    EXPECT_NO_THROW(exported_cuda(find_kernel("hopper_tf32"), p, {}, {.function = taken})) << taken;
}

// Whoever links two files into one program has two kernels of one name, unless they are the files' own.
TEST(Export, NothingButTheFunctionsIsSeenFromOutside) {
  for (const auto* k : exported_kernels()) {
    const auto p = find_preset("kernelbench-79").problem;
    if (!k->unsupported(p).empty()) continue;
    const std::string text = exported_cuda(*k, p);
    const size_t begin = text.find("\nnamespace {\n"), end = text.find("\n}  // namespace\n");
    ASSERT_TRUE(begin < end && end != std::string::npos) << k->name();
    EXPECT_EQ(times(text, "extern \"C\" __global__"), 0u) << k->name();
    const std::string outside = text.substr(0, begin) + text.substr(end);
    EXPECT_EQ(times(outside, "__global__"), 0u) << k->name();
    EXPECT_EQ(times(outside, "\nextern \"C\" "), 2u) << k->name();
    EXPECT_EQ(times(text.substr(begin, end - begin), "#include"), 0u) << k->name();
  }
}

TEST(Export, TheHeadOfTheCudaFileHasTheRulesOfItsFunction) {
  auto p = find_preset("kernelbench-79-small").problem;
  auto head = [&](const char* kernel) {
    std::string text = exported_cuda(find_kernel(kernel), p);
    return text.substr(0, text.find("#include"));
  };
  std::string text = head("registers");
  for (const char* rule :
       {"b is not read and may be null, y [", "x and y on 16 bytes", "one for each stream", "It holds packed weights",
        "the first call with a workspace needs it", "cudaErrorInvalidValue for an address that is null or not aligned",
        "// 2: packs them and does"})
    EXPECT_EQ(times(text, rule), 1u) << rule;
  text = head("direct");
  EXPECT_EQ(times(text, "// workspace: none, may be null.\n"), 1u);
  EXPECT_EQ(times(text, "// pack: of no effect"), 1u);
  p.bias = true;
  EXPECT_EQ(times(head("registers"), "\n// b [64], y ["), 1u);
}

}  // namespace
}  // namespace convscope
