// What nvcc refuses of device code and the host's compiler takes: refused here as well, with the line.
#include <gtest/gtest.h>

#include "tests/app/cli/outside.h"

namespace convscope {
namespace {

using test::operator+;
using test::holds;
using test::little;
using test::OutsideCli;
using test::Words;

class DeviceRulesCli : public OutsideCli {
 protected:
  // assets/kernels/gather.cu with something before its kernel, and in it.
  std::string with(const std::string& before, const std::string& statements, bool calls = false) {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    if (calls) text = changed_into(text, "j + p - k * d", "tap_of(j, p) - k * d");
    text = changed_into(text, "__global__ void gather", before + "\n__global__ void gather");
    return changed_text(text, "  float sum = b ?", statements + "\n  float sum = b ?", "rules.cu");
  }
};

TEST_F(DeviceRulesCli, WhatAGpuHasNoCodeForIsRefused) {
  struct Fault {
    const char *before, *statements, *says;
    bool calls = false;
  };
  for (const Fault& f :
       {Fault{"inline int tap_of(int j, int p) { return j + p; }", "",
              "rules.cu:18: tap_of() is a function of the host, and device code calls it", true},
        Fault{"template <class T> T tap_of(T j, T p) { return j + p; }", "", "rules.cu:18: tap_of() is a function",
              true},
        Fault{"constexpr int tap_of(int j, int p) { return j + p; }", "",
              "rules.cu:18: tap_of() is a constexpr function of the host, and device code calls it: nvcc refuses "
              "that without --expt-relaxed-constexpr (where that is given, say so in a comment). Make it __host__ "
              "__device__",
              true},
        Fault{"#include <algorithm>", "  if (s < std::max(p, -1)) return;",
              "rules.cu:15: std::max() is a constexpr function of the host"},
        Fault{"", "  if (s < 0) throw 1;", "rules.cu:15: device code has no exceptions"},
        Fault{"#include <vector>", "  std::vector<float> own(K);", "rules.cu:15: std::vector is the host's"},
        Fault{"", "  __shared__ float one = 1;", "rules.cu:15: __shared__ memory has no initial value"},
        Fault{"__global__ void other(int* to) { extern __shared__ int room[]; to[0] = room[0]; }",
              "  extern __shared__ float room[];",
              "rules.cu:15: extern __shared__ float room[] is declared before as int room[]"}}) {
    const auto r = run(Words{"run", with(f.before, f.statements, f.calls)} + little);
    EXPECT_EQ(r.code, 1) << f.says << r.out << r.err;
    EXPECT_TRUE(holds(r.out, f.says)) << f.says << "\n" << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "✗ compile")) << f.says << "\n" << r.out << r.err;
  }
  EXPECT_EQ(modules(), 0u) << "nothing is compiled for it";
  // What g++ alone tells.
  const auto r = run(Words{"run", with("", "  float own[K];\n  own[0] = 0;\n  if (s < 0) y[0] = own[0];")} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "rules.cu:15: own is an array whose size is not known when it is compiled")) << r.out;
}

// All in one file: what looks like these and is none.
TEST_F(DeviceRulesCli, WhatNvccTakesIsRun) {
  auto r = run(Words{"run", with("#include <vector>\n#define BOTH __host__ __device__\n"
                                 "constexpr int twice(int a) { return a * 2; }\nconstexpr int four = twice(2);\n"
                                 "constexpr __host__ __device__ int once(int a) { return a; }\n"
                                 "BOTH inline int same(int a) { return a; }\n"
                                 "__device__ int tap_of(int j, int p);\n"
                                 "__device__ int tap_of(int j, int p) { "
                                 "return once(same(j + p)) * four / 4; }\n"
                                 "inline int one_of(int n) { std::vector<int> all(n); int sizes[n]; sizes[0] = 1;\n"
                                 "  if (n < 0) throw 1;\n  return sizes[0] + static_cast<int>(all.size()); }\n"
                                 "struct Pair { int one_of; };\n"
                                 "__global__ void other(float* to) { extern __shared__ __align__(16) float room[]; "
                                 "to[0] = room[0]; }",
                                 "  extern __shared__ float room[];\n  const int five = 5;\n  float own[five + 1];\n"
                                 "  __shared__ float tile[five == 5 ? 8 : 2];\n  own[0] = tile[0] = 0;\n"
                                 "  auto one_of = [](int v) { return v; };\n"
                                 "  if (s < one_of(-1)) y[0] = own[0] + tile[0] + room[0];",
                                 true)} +
               little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  r = run(Words{"run", with("// nvcc --expt-relaxed-constexpr\n"
                            "constexpr int tap_of(int j, int p) { return j + p; }",
                            "", true)} +
          little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  // What the preprocessor makes of a function is not known here.
  r = run(Words{"run", with("#ifdef __CUDACC__\n__device__\n#endif\ninline int tap_of(int j, int p) { return j + p; }",
                            "", true)} +
          little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

}  // namespace
}  // namespace convscope
