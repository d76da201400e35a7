// Which one edit of its text makes a wrong kernel file right: found, put in words, judged, and written.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::OutsideCli;
using test::Words;

class FixCli : public OutsideCli {
 protected:
  using Lines = std::vector<std::pair<std::string, std::string>>;  // before ("": put in), after

  // What is found of a file.
  nlohmann::json fixed(const std::string& text, const Words& problem, const std::string& name = "mine.cu") {
    const auto r = run(Words{"fix", file(name, text), "--json", "--limit", "150"} + problem);
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    return r.document();
  }
  static Lines lines_of(const nlohmann::json& answer) {
    Lines all;
    if (answer.at("fix").is_object())
      for (const auto& l : answer["fix"]["lines"]) all.emplace_back(l["before"], l["after"]);
    return all;
  }
};

const Words layer{"--batch",  "2",  "--in-channels", "6", "--out-channels", "4", "--kernel-size", "3",
                  "--length", "40", "--stride",      "2", "--padding",      "1", "--dilation",    "2"};

constexpr const char* gather =
    R"(// convscope: launch gather grid=ceil_div(Lout,64),Cout,N block=64 args=x,w,b,y,Cin,Cout,K,L,Lout,s,p,d,g
__global__ void gather(const float* x, const float* w, const float* b, float* y, int Cin, int Cout, int K, int L,
                       int Lout, int s, int p, int d, int g) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  if (j >= Lout) return;
  const int ipg = Cin / g, opg = Cout / g, first = co / opg * ipg;
  float sum = b ? b[co] : 0.0f;
  for (int c = 0; c < ipg; c++)
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t < 0 || t % s != 0) continue;
      const int i = t / s;
      if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co % opg) * K + k];
    }
  y[(n * Cout + co) * Lout + j] = sum;
}
)";

struct Slip {
  const char *right, *wrong;
  const char *before, *after;  // the changed line
  bool groups = false;
};

TEST_F(FixCli, OneTermOfTheIndex) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  constexpr Slip slips[] = {
      {"j + p - k * d;", "j - k * d;", "const int t = j - k * d;", "const int t = j + p - k * d;"},
      {"- k * d;", "- k;", "const int t = j + p - k;", "const int t = j + p - k * d;"},
      {"|| t % s != 0) continue;", "|| t % s != 0) break;", "if (t < 0 || t % s != 0) break;",
       "if (t < 0 || t % s != 0) continue;"},
      {"if (i < L) sum", "if (i <= L) sum",
       "if (i <= L) sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co % opg) * K + k];",
       "if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co % opg) * K + k];"},
      {"* K + k];", "* K + (K - 1 - k)];", "", ""},  // in w, or in x
      {"co % opg", "co", "if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co) * K + k];",
       "if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co % opg) * K + k];", true},
      {"blockIdx.x * blockDim.x + threadIdx.x, co", "blockIdx.x * blockDim.x + threadIdx.y, co",
       "const int j = blockIdx.x * blockDim.x + threadIdx.y, co = blockIdx.y, n = blockIdx.z;",
       "const int j = blockIdx.x * blockDim.x + threadIdx.x, co = blockIdx.y, n = blockIdx.z;"},
      {"if (t < 0 || t % s != 0) continue;", "if (t < 0) continue;", "", "if (t % s != 0) continue;"},
      // What an index's own text says of its extent.
      {"const int i = t / s;\n      if (i < L) sum += x[(n * Cin + first + c) * L + i]",
       "sum += x[(n * Cin + first + c) * L + t / s]",
       "sum += x[(n * Cin + first + c) * L + t / s] * w[((first + c) * opg + co % opg) * K + k];",
       "if (t / s < L) sum += x[(n * Cin + first + c) * L + t / s] * w[((first + c) * opg + co % opg) * K + k];"},
      // Another layout, which is one change of the whole index.
      {"w[((first + c) * opg + co % opg) * K + k]", "w[(co * Cin + c) * K + k]",
       "if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[(co * Cin + c) * K + k];",
       "if (i < L) sum += x[(n * Cin + first + c) * L + i] * w[(c * opg + co) * K + k];"},
  };
  for (const Slip& slip : slips) {
    const Words problem = slip.groups ? layer + Words{"--groups", "2", "--trust"} : layer + Words{"--trust"};
    const auto answer = fixed(changed_into(gather, slip.right, slip.wrong), problem);
    ASSERT_EQ(answer["status"], "fixed") << slip.wrong << answer;
    EXPECT_EQ(answer["fix"]["edits"], 1) << slip.wrong;
    EXPECT_TRUE(answer["fix"]["asked"].get<bool>()) << slip.wrong;
    const auto lines = lines_of(answer);
    ASSERT_EQ(lines.size(), 1u) << slip.wrong;
    if (*slip.after) {
      EXPECT_EQ(lines[0], (std::pair<std::string, std::string>{slip.before, slip.after})) << slip.wrong;
    }
  }
}

// A right kernel has nothing to be mended; one whose sums are of something else is mended by no small edit.
TEST_F(FixCli, NothingIsFoundWhereNothingIsToBe) {
  const std::string right = file("right.cu", gather);
  auto r = run(Words{"fix", right, "--trust", "--json"} + layer);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.document()["status"], "right");
  EXPECT_TRUE(r.document()["fix"].is_null());

  const std::string text = changed_into(gather, "L + i] * w[", "L + i] * 3 - w["), wrong = file("wrong.cu", text);
  r = run(Words{"fix", wrong, "--trust", "--json", "--write"} + layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_EQ(r.document()["status"], "none");
  EXPECT_FALSE(r.document()["written"].get<bool>());
  EXPECT_GT(r.document()["tried"].get<int>(), 1000);
  EXPECT_EQ(test::text_file(wrong), text);

  r = run({"fix", "direct"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "is the program's own")) << r.err;
  r = run({"fix", "S4", "--write"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "write S4 is no .cu or .py file")) << r.err;
  r = run({"fix", right, "--trust", "--limit", "0"});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(holds(r.err, "limit 0 must be greater than 0 seconds")) << r.err;
}

// Threads add up among themselves, and one of them is to write.
TEST_F(FixCli, OneThreadWritesTheSum) {
  const auto answer =
      fixed(R"(// convscope: launch warp grid=N*Cout*Lout block=32 args=x,w,y,Cin,Cout,K,L,Lout,s,p,d supports=g==1
__global__ void warp(const float* x, const float* w, float* y, int Cin, int Cout, int K, int L, int Lout, int s, int p,
                     int d) {
  const int id = blockIdx.x, j = id % Lout, co = id / Lout % Cout, n = id / Lout / Cout;
  float sum = 0;
  for (int c = threadIdx.x; c < Cin; c += 32)
    for (int k = 0; k < K; k++) {
      const int t = j + p - k * d;
      if (t < 0 || t % s != 0 || t / s >= L) continue;
      sum += x[(n * Cin + c) * L + t / s] * w[(c * Cout + co) * K + k];
    }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  y[id] = sum;
}
)",
            layer + Words{"--trust"});
  EXPECT_EQ(lines_of(answer), (Lines{{"y[id] = sum;", "if (threadIdx.x == 0) y[id] = sum;"}})) << answer;
}

TEST_F(FixCli, IsWrittenIntoTheFile) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  const std::string at = file("mine.cu", changed_into(gather, "j + p - k * d;", "j - k * d;"));
  auto r = run(Words{"fix", at, "--trust"} + layer);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.out, "mine.cu:10  − const int t = j - k * d;")) << r.out;
  EXPECT_TRUE(holds(r.out, "mine.cu:10  + const int t = j + p - k * d;")) << r.out;
  EXPECT_TRUE(holds(r.out, "nothing is written")) << r.out;
  EXPECT_NE(test::text_file(at), gather);
  r = run(Words{"fix", at, "--trust", "--write"} + layer);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(test::text_file(at), gather);
  EXPECT_TRUE(holds(run(Words{"run", at, "--trust"} + layer).out, "\n  right: "));
}

// Threads that race may be right in every order in which the emulator runs them: what is looked at is the race.
TEST_F(FixCli, ABarrier) {
  constexpr const char* tile =
      R"(// convscope: launch tile grid=ceil_div(Lout,32),Cout,N block=32,2 args=x,w,b,y,Cin,Cout,K,L,Lout,s,p,d
__global__ void tile(const float* x, const float* w, const float* b, float* y, int Cin, int Cout, int K, int L,
                     int Lout, int s, int p, int d) {
  __shared__ float ws[64];
  const int j = blockIdx.x * 32 + threadIdx.x, co = blockIdx.y, n = blockIdx.z;
  const int me = threadIdx.y * 32 + threadIdx.x;
  float sum = b ? b[co] : 0.0f;
  for (int c = 0; c < Cin; c++) {
    for (int k = me; k < K; k += 64) ws[k] = w[(c * Cout + co) * K + k];
    __syncthreads();
    for (int k = 0; k < K && threadIdx.y == 0; k++) {
      const int t = j + p - k * d;
      if (t >= 0 && t % s == 0 && t / s < L) sum += x[(n * Cin + c) * L + t / s] * ws[k];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && j < Lout) y[(n * Cout + co) * Lout + j] = sum;
}
)";
  const Words trusted = layer + Words{"--trust"};
  const std::string before = "    __syncthreads();\n    for (int k = 0;", after = "    __syncthreads();\n  }\n";
  for (const auto& [with, without] :
       {std::pair{before, std::string("    for (int k = 0;")}, {after, std::string("  }\n")}}) {
    const std::string text = changed_into(tile, with, without);
    const auto answer = fixed(text, trusted);
    ASSERT_EQ(answer["status"], "fixed") << answer;
    EXPECT_EQ(lines_of(answer), (Lines{{"", "__syncthreads();"}})) << answer;
    EXPECT_EQ(answer["fix"]["text"], tile) << answer["fix"]["text"];
  }
}

// A module around CUDA that has forward(x, w, stride, padding).
std::string module_around(const std::string& cuda) {
  return R"(import torch
from torch.utils.cpp_extension import load_inline
source = """
)" + cuda +
         R"("""
ext = load_inline(name="ext", cpp_sources="torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding);",
                  cuda_sources=source, functions=["forward"])
class ModelNew(torch.nn.Module):
    def __init__(self, cin, cout, k, stride=1, padding=0, bias=False):
        super().__init__()
        self.layer = torch.nn.ConvTranspose1d(cin, cout, k, stride=stride, padding=padding, bias=bias)
        self.stride, self.padding = stride, padding
    def forward(self, x):
        return ext.forward(x, self.layer.weight, self.stride, self.padding)
)";
}
const Words layer_of_module{"--batch",  "2",  "--in-channels", "6", "--out-channels", "4", "--kernel-size", "3",
                            "--length", "40", "--stride",      "2", "--padding",      "1", "--trust"};

// Of the host code of a Python file, and of blocks that add to one output.
TEST_F(FixCli, HostCodeAndAtomics) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  const std::string module = module_around(
      R"(__global__ void scatter(const float* x, const float* w, float* y, int N, int Cin, int Cout, int K, int L, int Lout,
                        int s, int p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, n = blockIdx.z;
  if (i >= L) return;
  const float v = x[(n * Cin + c) * L + i];
  for (int co = 0; co < Cout; co++)
    for (int k = 0; k < K; k++) {
      const int j = i * s + k - p;
      if (j >= 0 && j < Lout) atomicAdd(&y[(n * Cout + co) * Lout + j], v * w[(c * Cout + co) * K + k]);
    }
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + K;
  auto y = torch::zeros({N, Cout, Lout}, x.options());
  scatter<<<dim3((L + 63) / 64, Cin, N), 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), N, Cin,
                                               Cout, K, L, Lout, stride, padding);
  return y;
}
)");
  struct Case {
    const char *right, *wrong;
  };
  for (const Case& c :
       {Case{"(L + 63) / 64, ", "L / 64, "},
        // Of the module: what it hands to the host code.
        Case{"self.layer.weight, self.stride, self.padding)", "self.layer.weight, self.padding, self.stride)"},
        Case{"stride, padding);\n  return", "padding, stride);\n  return"},
        Case{"atomicAdd(&y[(n * Cout + co) * Lout + j], v * w[(c * Cout + co) * K + k])",
             "y[(n * Cout + co) * Lout + j] += v * w[(c * Cout + co) * K + k]"}}) {
    const auto answer = fixed(changed_into(module, c.right, c.wrong), layer_of_module, "mine.py");
    ASSERT_EQ(answer["status"], "fixed") << c.wrong << answer;
    EXPECT_EQ(answer["fix"]["edits"], 1) << c.wrong;
    EXPECT_TRUE(holds(answer["fix"]["text"].get<std::string>(), c.right)) << lines_of(answer)[0].second;
  }
}

// Blocks take rows from a counter that the host code clears: in the form in which edits are tried it does something
// else, and it is right.
TEST_F(FixCli, WhatCannotBeTriedIsJudged) {
  const std::string module = module_around(R"(#include <torch/extension.h>
__device__ unsigned next_row;
__global__ void rows(const float* x, const float* w, float* y, unsigned all, int Cin, int Cout, int K, int L, int Lout,
                     int s, int p) {
  __shared__ unsigned row;
  while (true) {
    if (threadIdx.x == 0) row = atomicAdd(&next_row, 1u);
    __syncthreads();
    const unsigned r = row;
    __syncthreads();
    if (r >= all) return;
    const int co = r % Cout, n = r / Cout;
    for (int j = threadIdx.x; j < Lout; j += blockDim.x) {
      float sum = 0;
      for (int c = 0; c < Cin; c++)
        for (int k = 0; k < K; k++) {
          const int t = j + p - k;
          if (t >= 0 && t % s == 0 && t / s < L) sum += x[(n * Cin + c) * L + t / s] * w[(c * Cout + co) * K + k];
        }
      y[r * Lout + j] = sum;
    }
  }
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, int stride, int padding) {
  const int N = x.size(0), Cin = x.size(1), L = x.size(2), Cout = w.size(1), K = w.size(2);
  const int Lout = (L - 1) * stride - 2 * padding + K;
  auto y = torch::empty({N, Cout, Lout}, x.options());
  void* counter = nullptr;
  cudaGetSymbolAddress(&counter, next_row);
  cudaMemsetAsync(counter, 0, sizeof(unsigned), 0);
  rows<<<4, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), N * Cout, Cin, Cout, K, L, Lout,
                  stride, padding);
  return y;
}
)");
  const auto answer = fixed(module, layer_of_module, "mine.py");
  EXPECT_EQ(answer["status"], "right") << answer;
  EXPECT_TRUE(answer["fix"].is_null()) << answer;
}

// Without a dilation it is right: that is said where no edit brings one in.
// A loop that goes on to the end of all is right as well, and no mended one.
TEST_F(FixCli, NoFurtherThanItMust) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  // gather, over the inputs instead of the taps.
  std::string text = gather;
  const size_t loop = text.find("  for (int c = 0;"), end = text.find("  y[(n * Cout");
  text.replace(loop, end - loop, R"(  const int from = j + p > (K - 1) * d ? (j + p - (K - 1) * d) / s : 0;
  int last = j / s;
  if (last > L - 1) last = L - 1;
  for (int c = 0; c < ipg; c++)
    for (int i = from; i <= last; i++) {
      const int t = j + p - i * s;
      if (t >= 0 && t % d == 0 && t / d < K)
        sum += x[(n * Cin + first + c) * L + i] * w[((first + c) * opg + co % opg) * K + t / d];
    }
)");
  const auto found = fixed(text, layer);
  const Lines lines = lines_of(found);
  ASSERT_EQ(lines.size(), 1u) << found.dump(2);
  EXPECT_EQ(lines[0].first, "int last = j / s;");
  EXPECT_EQ(lines[0].second, "int last = (j + p) / s;");
  // Others are drawn, and it is right on them.
  EXPECT_GE(found["fix"]["drawn"]["of"].get<int>(), 30) << found["fix"].dump(2);
  EXPECT_EQ(found["fix"]["drawn"]["right"], found["fix"]["drawn"]["of"]) << found["fix"].dump(2);
  EXPECT_TRUE(found["fix"]["drawn"]["wrong"].is_null());
}

// A table of eight taps: the edit is right, and what it does not mend is told.
TEST_F(FixCli, WhereItIsWrongNevertheless) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  std::string text = gather;
  auto put = [&](const std::string& a, const std::string& b) { text.replace(text.find(a), a.size(), b); };
  put("k < K; k++", "k < (K < 8 ? K : 8); k++"), put("j + p - k * d", "j - k * d");
  const auto found = fixed(text, layer);
  ASSERT_TRUE(found["fix"].is_object()) << found.dump(2);
  EXPECT_EQ(lines_of(found).at(0).second, "const int t = j + p - k * d;");
  const auto& drawn = found["fix"]["drawn"];
  EXPECT_LT(drawn["right"].get<int>(), drawn["of"].get<int>());
  EXPECT_GT(drawn["wrong"]["kernel_size"].get<int>(), 8);
  const auto told = run(Words{"fix", file("mine.cu", text), "--limit", "150"} + layer);
  EXPECT_TRUE(holds(told.out, "✗ wrong on ") && holds(told.out, " more that were drawn; the first: ")) << told.out;
}

// What stood there may be a zero by chance: the judge sees that nobody has put it there.
TEST_F(FixCli, WhatNobodyHasCleared) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  std::string text = gather;
  auto put = [&](const std::string& a, const std::string& b) { text.replace(text.find(a), a.size(), b); };
  put("float sum = b ? b[co] : 0.0f;", "float sum[1][2];\n  if (b) sum[0][0] = b[co];");
  put("if (i < L) sum +=", "if (i < L) sum[0][0] +=");
  put("Lout + j] = sum;", "Lout + j] = sum[0][0];");
  const auto found = fixed(text, layer);
  const Lines lines = lines_of(found);
  ASSERT_EQ(lines.size(), 1u) << found.dump(2);
  EXPECT_EQ(lines[0].second, "float sum[1][2] = {};");
}

// No edit is of what a kernel does beside its sums: it is not said to be right, but what is wrong.
TEST_F(FixCli, WhatIsWrongBesideTheSums) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  std::string text = test::text_file(test::project_file("assets/kernels/extension.py"));
  const std::string from = "  auto output = torch::empty(";
  text.insert(text.find(from), "  static const torch::Tensor kept = weight.flip({2}).flip({2});\n  weight = kept;\n");
  const auto r = run(Words{"fix", file("kept.py", text), "--limit", "60"} + layer);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out,
                    "what it computes is right on all small problems that edits are tried on, and yet wrong: its "
                    "host code launches 3 in its first call and 1 in the next"))
      << r.out;
}

TEST_F(FixCli, WhereItIsRight) {
  std::string text = changed_into(gather, "- k * d;", "- k;");
  text = changed_into(text, "int Lout, int s, int p, int d, int g)", "int Lout, int s, int p, int g)");
  text = changed_into(text, "s,p,d,g", "s,p,g");
  const auto r = run(Words{"fix", file("mine.cu", text), "--trust", "--json"} + layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_EQ(r.document()["status"], "none");
  EXPECT_TRUE(r.document()["reason"].get<std::string>().starts_with("it is right without a dilation, on all "))
      << r.document()["reason"];
}

// An exhibit has two faults of which each is seen on some problems: both are found, one after the other.
TEST_F(FixCli, ExhibitsOneEditAfterTheOther) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  const auto r = run({"fix", "S0", "--preset", "kernelbench-79-small", "--json", "--limit", "150"});
  EXPECT_EQ(r.code, 0) << r.err;
  const auto lines = lines_of(r.document());
  ASSERT_EQ(lines.size(), 2u) << r.out;
  EXPECT_TRUE(holds(lines[0].second, "+ c.padding - k * d")) << lines[0].second;
  EXPECT_TRUE(holds(lines[1].second, "c.output_padding")) << lines[1].second;
  EXPECT_EQ(r.document()["fix"]["wrong_on"], 0);
}

}  // namespace
}  // namespace convscope
