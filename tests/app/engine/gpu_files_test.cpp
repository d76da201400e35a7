// Kernel files from outside on a real GPU: compiled there by nvcc, judged, named by their fault, profiled with the
// lines their warps stand at. Skipped with the reason where there is no GPU or no nvcc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/engine/codec.h"
#include "app/engine/kernel_file.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "tests/app/engine/harness.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::json;

// The sum of one output element by a template that is no function of C, with its own dynamic shared memory.
constexpr const char* a_template = R"(// A template.
// convscope: launch gather<64,float> grid=ceil_div(Lout,64),Cout,N block=64 shared=64*4 args=x,w,b,y,c
template <int B, class T>
static __global__ void gather(const T* x, const T* w, const T* b, T* y, const ConvArgs c) {
  extern __shared__ T kept[];
  const int64_t j = blockIdx.x * static_cast<int64_t>(B) + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  const int64_t in_group = c.in_channels / c.groups, out_group = c.out_channels / c.groups;
  T sum = b ? b[co] : T(0);
  for (int64_t k = 0; k < c.kernel_size; k++) {
    const int64_t t = j + c.padding - k * c.dilation, i = t / c.stride;
    if (t < 0 || t % c.stride || i >= c.length) continue;
    for (int64_t q = 0; q < in_group; q++) {
      const int64_t ci = co / out_group * in_group + q;
      sum += x[(n * c.in_channels + ci) * c.length + i] * w[(ci * out_group + co % out_group) * c.kernel_size + k];
    }
  }
  kept[threadIdx.x] = sum;
  __syncthreads();
  if (j < c.out_length) y[(n * c.out_channels + co) * c.out_length + j] = kept[threadIdx.x];
}
)";

class FilesGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    json devices = test::result_of(client_, {{"type", "list"}, {"what", "devices"}})["devices"];
    if (devices.empty() || devices[0]["kind"] != "cuda") GTEST_SKIP() << "no GPU: " << devices;
    try {
      device_compiler();
    } catch (const std::exception& e) {
      GTEST_SKIP() << "no GPU: " << e.what();
    }
  }
  // The sample with one text in the place of another.
  static std::string sample(const std::string& from = "", const std::string& to = "", const char* file = "gather.cu") {
    std::string text = test::text_file(test::project_file(std::string("assets/kernels/") + file));
    if (!from.empty()) {
      EXPECT_NE(text.find(from), text.npos) << from;
      text.replace(text.find(from), from.size(), to);
    }
    return text;
  }
  Answer bring(const std::string& text, const char* device = "cuda", const char* name = "mine.cu") {
    return client_.request(kernel_file_request(name, device), as_payload(text), {}, 300, {}, name);
  }
  json ask(const char* type, const char* preset = "kernelbench-79-small", const char* name = "mine.cu") {
    ConvProblem p = find_preset(preset).problem;
    return test::result_of(
        client_,
        {{"type", type}, {"kernel", name}, {"device", "cuda"}, {"accuracy", "strict"}, {"problem", problem_json(p)}});
  }
  test::ScratchFolder folder_;
  EngineClient client_{
      EngineOptions{"env CONVSCOPE_CACHE=" + test::own_cache(folder_) + " " + test::program("convscope") + " engine"}};
};

TEST_F(FilesGpu, SamplesAndTemplatesAreRight) {
  for (const std::string& text : {sample(), sample("", "", "shared_sum.cu"), std::string(a_template)}) {
    Answer a = bring(text);
    ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
    json came = json::parse(a.header);
    EXPECT_TRUE(came["kernels"][0]["available"]) << came;
    EXPECT_GT(came["compiled_in_s"], 0);
    fmt::print("files compiled_in_s={:.1f}\n", came["compiled_in_s"].get<double>());
    json r = ask("run");
    EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"] << text;
    EXPECT_TRUE(r["timing"]["median_ms"].is_number()) << r["timing"];
    EXPECT_TRUE(test::holds(r["verdict"]["layers"][0].dump(), "compiled for sm_")) << r["verdict"]["layers"][0];
  }
}

// On this GPU there is memory, on the emulator there is none: what the GPU computed is not lost with that.
TEST_F(FilesGpu, AReadFarBeyondATensorIsFoundByTheEmulator) {
  Answer a = bring(sample("+= x[(", "+= 0 * x[100000 + ("));
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  const json r = ask("run");
  EXPECT_EQ(r["verdict"]["status"], "wrong") << r["verdict"];
  const std::string sentence = r["verdict"]["sentence"];
  EXPECT_TRUE(test::holds(sentence, ": reads element 10")) << sentence;
  EXPECT_TRUE(test::holds(sentence, " of x, which has ")) << sentence;
  EXPECT_TRUE(test::holds(sentence, " (found by the emulator, on ")) << sentence;
  EXPECT_TRUE(r["timing"]["median_ms"].is_number()) << r["timing"];
  EXPECT_EQ(client_.starts(), 1);
}

TEST_F(FilesGpu, WhereItWritesBesideATensorIsFoundByTheEmulator) {
  ASSERT_EQ(bring(sample("y[id] = sum", "y[id - 2] = sum")).kind, Answer::Kind::result);
  const auto sentence = ask("run")["verdict"]["sentence"].get<std::string>();
  EXPECT_TRUE(test::holds(sentence, "writes outside y: 8 bytes directly before its start; it writes element -"))
      << sentence;
  EXPECT_TRUE(test::holds(sentence, " (found by the emulator, on ")) << sentence;
  fmt::print("files beside: {}\n", sentence);
}

// Where a NaN stood a GPU's addition leaves one of its own, and a sum of floats whatever came last in a race.
TEST_F(FilesGpu, WhatIsAddedToAndWhatRacesIsToldByTheXray) {
  auto told = [&](std::initializer_list<std::pair<std::string, std::string>> parts) {
    std::string text = sample();
    for (const auto& [from, to] : parts) text.replace(text.find(from), from.size(), to);
    EXPECT_EQ(bring(text).kind, Answer::Kind::result);
    const auto sentence = ask("xray")["xray"]["sentence"].get<std::string>();
    fmt::print("files xray: {}\n", sentence);
    return sentence;
  };
  EXPECT_TRUE(test::holds(told({{"y[id] = sum", "atomicAdd(&y[id], sum)"}}),
                          "sums are added to what stood there, which nobody has cleared"));
  // Each channel's thread puts its own products there.
  EXPECT_TRUE(test::holds(
      told({{"N*Cout*Lout", "N*Cout*Lout*Cin"},
            {"if (id >=", "const int mine = id % Cin; id /= Cin; if (id >="},
            {"for (int ci = first; ci < first + in_group; ci++)", "for (int ci = mine; ci < mine + 1; ci++)"}}),
      "its threads race, and as long as they do its products say nothing"));
}

// Its plan is what its own host code launches; nvcc finds the template by it.
TEST_F(FilesGpu, AnExtensionInPythonIsRight) {
  Answer a = bring(sample("", "", "extension.py"), "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  for (const char* preset : {"kernelbench-79-small", "hifigan.u2"}) {
    json r = ask("run", preset, "mine.py");
    EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"];
  }
  a = bring(sample("torch::empty(", "torch::zeros(", "extension.py"), "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  EXPECT_EQ(ask("run", "kernelbench-79-small", "mine.py")["verdict"]["status"], "right") << "cleared before";
}

// What PyTorch would compute around its kernels is computed on the GPU as well: products, parts, sums.
TEST_F(FilesGpu, ProductsAndPartsAreRight) {
  Answer a = bring(sample("", "", "col2im.py"), "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  for (const char* preset : {"kernelbench-79-small", "hifigan.u2"}) {
    const json r = ask("run", preset, "mine.py");
    EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"];
    EXPECT_TRUE(test::holds(r["verdict"].dump(), "for a library's (PyTorch, cuBLAS), whose matrix products are faster"))
        << r;
  }
  std::string longer = sample("out_length =\n      (", "out_length =\n      1 + (", "col2im.py");
  longer.replace(longer.find("return output;"), 14,
                 "return torch::zeros({1}, output.options()) + output.narrow(2, 0, out_length - 1);");
  a = bring(longer, "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  const json r = ask("run", "kernelbench-79-small", "mine.py");
  EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"];
}

// What the module does around the call is done there, too, and is judged.
TEST_F(FilesGpu, AModuleIsFollowed) {
  const char* call = "x, layer.weight,";
  Answer a = bring(sample(call,
                          "torch.nn.functional.pad(x.double(), (0, 0)).float(), "
                          "layer.weight.permute(2, 0, 1).contiguous().permute(1, 2, 0).contiguous(),",
                          "extension.py"),
                   "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  json r = ask("run", "kernelbench-79-small", "mine.py");
  EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"];
  EXPECT_TRUE(test::holds(r["verdict"].dump(), "stand for PyTorch's own")) << r["verdict"];
  a = bring(sample("layer.padding[0]", "2 * layer.padding[0]", "extension.py"), "cuda", "mine.py");
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  r = ask("run", "kernelbench-79-small", "mine.py");
  EXPECT_EQ(r["verdict"]["status"], "wrong") << r["verdict"];
  const json x = ask("xray", "kernelbench-79-small", "mine.py")["xray"];
  EXPECT_TRUE(test::holds(x["sentence"].get<std::string>(), "the padding counts twice")) << x;
}

// nvcc makes the templates whose addresses the host code takes; numbers in a kernel are told from outside.
TEST_F(FilesGpu, KernelsAreLaunchedByAddressAndByCall) {
  auto text = [](const std::string& launch, const char* t, const char* s) {
    return fmt::format(R"(#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <bool plain>
__global__ void up(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout, int s, int p, int d) {{
  const int e = blockIdx.x * blockDim.x + threadIdx.x, j = e % Lout, co = e / Lout % Cout, n = e / Lout / Cout;
  if (n >= N) return;
  float sum = 0.f;
  for (int c = 0; c < Cin; c++)
    for (int k = 0; k < K; k++)
      if (const int t = {1}; t >= 0 && (plain || t % {2} == 0) && t / {2} < L)
        sum += x[(n * Cin + c) * L + t / {2}] * w[(c * Cout + co) * K + k];
  y[e] = sum;
}}
torch::Tensor forward(torch::Tensor x_, torch::Tensor w_, int stride, int padding, int output_padding, int dilation) {{
  int N = x_.size(0), Cin = x_.size(1), Cout = w_.size(1), K = w_.size(2), L = x_.size(2);
  int Lout = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1;
  auto y_ = torch::empty({{N, Cout, Lout}}, x_.options());
  const float *x = x_.data_ptr<float>(), *w = w_.data_ptr<float>();
  float* y = y_.data_ptr<float>();
  const int blocks = (N * Cout * Lout + 127) / 128;
  {0}
  return y_;
}}
)",
                       launch, t, s);
  };
  const std::string by_call =
                        "void* args[] = {&x, &w, &y, &N, &Cin, &Cout, &K, &L, &Lout, &stride, &padding, &dilation};\n"
                        "  AT_CUDA_CHECK(cudaLaunchKernel((void*)up<false>, blocks, 128, args, 0, nullptr));",
                    by_address =
                        "auto kernel = up<true>;\n  if (stride > 1) kernel = up<false>;\n"
                        "  kernel<<<blocks, 128>>>(x, w, y, N, Cin, Cout, K, L, Lout, stride, padding, dilation);";
  for (const std::string& launch : {by_call, by_address}) {
    const Answer a = bring(text(launch, "j + p - k * d", "s"));
    ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
    const json r = ask("run");
    EXPECT_EQ(r["verdict"]["status"], "right") << r["verdict"];
  }
  const Answer a = bring(text(by_address, "j + 1 - k * 2", "2"));
  ASSERT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
  EXPECT_EQ(ask("run")["verdict"]["status"], "right");
  const json x = ask("xray")["xray"];
  EXPECT_TRUE(test::holds(x["sentence"].get<std::string>(), "stride 2, padding 1 and dilation 2 are fixed in it")) << x;
}

// From outside on a GPU as on the emulator: by what is written behind y, and what is left.
TEST_F(FilesGpu, ABoundAndAGridAreNamed) {
  const std::string grid = "grid=ceil_div(N*Cout*Lout,256)",
                    asks = "if (id >= static_cast<long long>(N) * Cout * Lout) return;";
  std::string unasked = sample(asks, "");
  struct Of {
    std::string text;
    const char* says;
  };
  for (const Of& of :
       {Of{sample(asks, "if (id > static_cast<long long>(N) * Cout * Lout) return;"),
           "index ≤ N·Cout·Lout is let through"},
        Of{unasked, "nothing asks whether index < N·Cout·Lout: outputs are written up to a multiple of 256"},
        Of{sample(grid, "grid=N*Cout*Lout/256"), "(N·Cout·Lout)/256 is rounded down"}}) {
    ASSERT_EQ(bring(of.text).kind, Answer::Kind::result) << of.says;
    const json x = ask("xray")["xray"];
    EXPECT_TRUE(test::holds(x["sentence"].get<std::string>(), of.says)) << x;
  }
}

TEST_F(FilesGpu, AFaultIsToldByName) {
  ASSERT_EQ(bring(sample("j + p - k * d", "j + p - k")).kind, Answer::Kind::result);
  json r = ask("run");
  EXPECT_EQ(r["verdict"]["status"], "wrong") << r["verdict"];
  json x = ask("xray")["xray"];
  EXPECT_TRUE(test::holds(x["sentence"].get<std::string>(), "the dilation is missing")) << x;
}

// Where a register happens to be zero its results are right; the emulator sees it in a short piece.
TEST_F(FilesGpu, AVariableThatNothingWasPutIntoIsNamed) {
  const std::string start = "float sum = b ? b[co] : 0.0f;";
  ASSERT_EQ(bring(sample(start, "float sum;")).kind, Answer::Kind::result);
  json r = ask("run");
  EXPECT_EQ(r["verdict"]["status"], "wrong") << r["verdict"];
  const auto sentence = r["verdict"]["sentence"].get<std::string>();
  EXPECT_TRUE(test::holds(sentence, "uses sum at mine.cu:")) << sentence;
  EXPECT_TRUE(test::holds(sentence, "(found by the emulator, on ")) << sentence;
  fmt::print("files unset: {}\n", sentence);
  ASSERT_EQ(bring(sample(start, "float sum = 0;")).kind, Answer::Kind::result);
  EXPECT_EQ(ask("run")["verdict"]["status"], "right");
}

TEST_F(FilesGpu, OpenedForTheEmulatorItIsCompiledWhenItIsAskedHere) {
  ASSERT_EQ(bring(sample(), "emulator").kind, Answer::Kind::result);
  EXPECT_EQ(ask("run")["verdict"]["status"], "right");
}

TEST_F(FilesGpu, ProfilesHaveItsLines) {
  ASSERT_EQ(bring(sample()).kind, Answer::Kind::result);
  json request = {{"type", "profile"},    {"kernel", "mine.cu"},
                  {"device", "cuda"},     {"set", "full"},
                  {"accuracy", "strict"}, {"problem", problem_json(find_preset("hifigan.u2").problem)}};
  json r = test::result_of(client_, request);
  ASSERT_EQ(r["launches"].size(), 1u) << r["launches"];
  EXPECT_EQ(r["launches"][0]["entry"], "gather");
  EXPECT_GT(r["launches"][0]["registers"], 0);
  EXPECT_EQ(r["counters"]["gap"], nullptr) << r["counters"]["gap"];
  const json& samples = r["pc_sampling"];
  ASSERT_EQ(samples["gap"], nullptr) << samples["gap"];
  bool own_line = false;
  for (const auto& line : samples["lines"]) own_line |= line["file"] == "mine.cu" && line["line"] > 10;
  EXPECT_TRUE(own_line) << samples.dump().substr(0, 600);
}

TEST_F(FilesGpu, ACrashIsReportedAndTheFileIsThereAgain) {
  ASSERT_EQ(bring(sample("y[id] = sum;", "*reinterpret_cast<float*>(16) = sum;")).kind, Answer::Kind::result);
  ConvProblem p = find_preset("kernelbench-79-small").problem;
  json request = {
      {"type", "run"}, {"kernel", "mine.cu"}, {"device", "cuda"}, {"accuracy", "strict"}, {"problem", problem_json(p)}};
  Answer a = client_.request(request.dump(), {}, {}, 60, {});
  EXPECT_NE(a.kind, Answer::Kind::result) << a.header.substr(0, 500);
  ASSERT_EQ(bring(sample()).kind, Answer::Kind::result);
  EXPECT_EQ(ask("run")["verdict"]["status"], "right");
}

}  // namespace
}  // namespace convscope
