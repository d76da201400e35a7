// Kernel files from outside: compiled while the program runs, judged like those that were built with it.
#include "tests/app/cli/outside.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

namespace convscope {
namespace {

using test::operator+;
using test::convscope_run;
using test::expect_refused;
using test::has_nvcc;
using test::holds;
using test::json;
using test::little;
using test::of_a_file;
using test::OutsideCli;
using test::Words;

TEST_F(OutsideCli, RunsOnlyWhenItIsTrusted) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  expect_refused({"run", file}, "kernel", file,
                 "is code from outside that would run with your rights: look through it, then add --trust");
}

TEST_F(OutsideCli, TheSamplesAreRight) {
  // A block for each output is slow on the emulator.
  for (const auto& [sample, cases] :
       {std::pair{"gather.cu", "20"}, std::pair{"shared_sum.cu", "5"}, std::pair{"scatter.cu", "20"}}) {
    auto r = run({"check", test::project_file(std::string("assets/kernels/") + sample), "--cases", cases});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_TRUE(holds(r.out, "✓ right on all " + std::string(cases) + " problems")) << r.out;
    EXPECT_EQ(r.err, "") << "no warnings";
  }
}

TEST_F(OutsideCli, WhatIsWrongWithItsIndexIsSaid) {
  auto r = run(Words{"run", changed("gather.cu", "j + p - k * d", "j + p - k")} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(
      holds(r.out, "Why: it takes i = (j + p − k)/s, where i = (j + p − k·d)/s belongs: the dilation is missing"))
      << r.out;
  EXPECT_TRUE(holds(r.out, "✓ compile      compiled for the emulator (")) << r.out;
  // And of anything else that stands in its loop.
  r = run(Words{"xray", changed("gather.cu", "co = id / Lout % Cout", "co = id / L % Cout")} + little);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out,
                    "✗ the channel of an output is wrong: it takes co = e/L mod Cout, where co = e/Lout mod Cout "
                    "belongs (e: an output's place in memory)\n"))
      << r.out;
  EXPECT_TRUE(holds(r.out, "  it takes     co = e/L mod Cout\n  definition   co = e/Lout mod Cout\n")) << r.out;
}

// A formula of four small problems of five, and channels as they are taken on one alone, were told before.
TEST_F(OutsideCli, WhatFitsAllSmallProblemsIsSaid) {
  const Words layer{"--batch",  "2",  "--in-channels", "12",     "--out-channels", "24", "--kernel-size", "5",
                    "--length", "21", "--stride",      "3",      "--padding",      "5",  "--dilation",    "2",
                    "--groups", "4",  "--bias",        "--trust"};
  for (const auto& [is, other, said] :
       {std::tuple{"j + p - k * d", "j + p - (k + 1) * d", "it takes j + p − (k + 1)·d, where j + p − k·d belongs"},
        {"if (i >= L)", "if (i >= Lout)", "it takes i < Lout, where i < L belongs"},
        {"out_group = Cout / g", "out_group = Cout * g", "it takes Cout·groups, where Cout/groups belongs"},
        {"out_group = Cout / g", "out_group = L / g", "it takes L/groups, where Cout/groups belongs"}}) {
    auto r = run(Words{"xray", changed("gather.cu", is, other)} + layer);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_TRUE(holds(r.out, said)) << r.out;
    EXPECT_FALSE(holds(r.out, "but on")) << r.out;
  }
}

TEST_F(OutsideCli, TwoFaultsAreSaid) {
  const std::string once = test::text_file(changed("gather.cu", "n = id / Lout / Cout", "n = id / L / Cout"));
  auto r = run(Words{"run", changed_text(once, "co % out_group) * K", "co % out_group) * L"), "--batch", "2",
                     "--in-channels", "4", "--out-channels", "6", "--kernel-size", "3", "--length", "10", "--stride",
                     "2", "--padding", "1", "--groups", "2", "--trust"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out,
                    "the sequence of an output is wrong: it takes n = e/(L·Cout), where n = e/(Lout·Cout) "
                    "belongs; the address in w is wrong: it takes "
                    "w[(ci·(Cout/groups) + co mod (Cout/groups))·L + k], where"))
      << r.out;
  // Where a formula is that of some small problems alone, and the others have no structure.
  const std::string wide = test::text_file(changed("gather.cu", "if (i >= L)", "if (i > L)"));
  r = run(Words{"xray", changed_text(wide, "* K + k]", "* out_group + k]")} +
          Words{"--batch",  "2",  "--in-channels",    "12", "--out-channels", "24",     "--kernel-size", "5",
                "--length", "21", "--stride",         "3",  "--padding",      "5",      "--dilation",    "2",
                "--groups", "4",  "--output-padding", "1",  "--bias",         "--trust"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "it takes i < (L + 1), where i < L belongs; the address in w is wrong")) << r.out;
}

// One thread an input, which adds its products to outputs: its statements are named as they stand there.
TEST_F(OutsideCli, AScatterHasItsOwnWords) {
  const std::string text = test::text_file(test::project_file("assets/kernels/scatter.cu"));
  const Words layer{"--batch",       "2", "--in-channels", "3", "--out-channels", "4", "--length", "9",
                    "--kernel-size", "3", "--stride",      "2", "--padding",      "1", "--trust"};
  EXPECT_EQ(run(Words{"run", file("scatter.cu", text)} + layer).code, 0);
  for (const auto& [is, other, said] :
       {std::tuple{"j >= Lout", "j >= Lout - 1",
                   "the test for the end of a row of y is wrong: it takes j < (Lout − 1)"},
        {"co < out_group", "co < out_group - 1",
         "the last output channel of the loop is wrong: it takes co < ((Cout/groups) − 1)"},
        {"ci = e / L % Cin", "ci = e / Lout % Cin", "the channel of an input is wrong: it takes ci = e/Lout mod Cin"},
        {"* Lout + j", "* L + j", "the address in y is wrong: it takes y["}}) {
    auto r = run(Words{"run", changed_text(text, is, other)} + layer);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_TRUE(holds(r.out, said)) << r.out;
  }
}

// Where no product is, or no output, that is said, and no formula.
TEST_F(OutsideCli, NothingIsSaidToBeNothing) {
  const Words layer{"--length", "10", "--trust"};
  auto none = run(Words{"run", changed("gather.cu", "k < K", "k > K")} + layer);
  EXPECT_TRUE(holds(none.out, "on small problems no product stays in any output: a loop is not entered")) << none.out;
  auto unwritten = run(Words{"run", changed("gather.cu", "if (id >= ", "if (id >= 0 || id >= ")} + layer);
  EXPECT_TRUE(holds(unwritten.out, "no output is ever written")) << unwritten.out;
}

// One of the small problems has stride 1: the kernel fails there, or ends its engine, and the others are asked all the
// same.
TEST_F(OutsideCli, ASmallProblemThatEndsTheEngineIsLeftOut) {
  const Words layer{"--length", "10", "--stride", "3", "--trust"};
  const std::string file = changed("gather.cu", "i = t / s", "i = t / (s - 1)");
  auto r = run(Words{"run", file} + layer);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "it takes i = t/(s − 1), where i = t/s belongs")) << r.out;
  auto x = run(Words{"xray", file} + layer);
  EXPECT_TRUE(holds(x.out, "it takes     i = t/(s − 1)")) << x.out;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have the signals
  EXPECT_TRUE(holds(x.out, ": a division by zero, or one whose result does not fit\n")) << x.out;
  EXPECT_FALSE(holds(x.out, "ended the engine")) << x.out;
#endif
  x = run(Words{"xray", changed("gather.cu", "i = t / s", "i = s == 1 ? (__builtin_abort(), 0) : t / (s - 1)")} +
          layer);
  EXPECT_TRUE(holds(x.out, "on it the kernel ended the engine: ")) << x.out;
}

// Pairs of 16 bits, copies that are waited for, and a name that is a parameter's in the launch line.
TEST_F(OutsideCli, ItsWordsAreThoseOfCuda) {
  const std::string text = R"(#include <cuda_fp16.h>
#include <cuda_pipeline.h>
// convscope: launch K grid=N*Cout*Lout block=1 type=f16 args=x,w,b,y,Cin,Cout,K,L,Lout,s,p,d supports=g==1
__global__ void K(const __half* x, const __half* w, const __half* b, __half* y, int Cin, int Cout, int taps, int L,
                  int Lout, int s, int p, int d) {
  __shared__ __half2 zeros[2];
  zeros[1] = __float2half2_rn(1.0f);
  __pipeline_memcpy_async(zeros, x, 4, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  const int j = blockIdx.x % Lout, co = blockIdx.x / Lout % Cout, n = blockIdx.x / Lout / Cout;
  float sum = b ? __half2float(b[co]) : 0;
  for (int ci = 0; ci < Cin; ci++)
    for (int k = 0; k < taps; k++) {
      const int t = j + p - k * d;
      if (t < 0 || t % s || t / s >= L) continue;
      const __half2 both = __halves2half2(x[(n * Cin + ci) * L + t / s], w[(ci * Cout + co) * taps + k]);
      const float2 f = __half22float2(__hfma2(both, zeros[1], __hadd2(zeros[0], zeros[0])));
      sum += f.x * f.y;
    }
  y[blockIdx.x] = __float2half(sum);
}
)";
  auto r = run(Words{"run", folder_.write("words.cu", text.data(), text.size()), "--dtype", "f16"} + little);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "right: all ")) << r.out;
}

#if !defined(__SANITIZE_THREAD__)  // where nothing is traced
TEST_F(OutsideCli, ARaceIsToldWithItsLines) {
  const std::string file =
      changed("shared_sum.cu", "part[threadIdx.x] = sum;\n  __syncthreads();", "part[threadIdx.x] = sum;\n");
  auto r = run(Words{"run", file} + little);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, " reads at shared_sum.cu:23, and thread 32 writes at shared_sum.cu:20 the same memory"))
      << r.out;
}
#endif

TEST_F(OutsideCli, WhatDoesNotCompileIsAVerdict) {
  const std::string file = changed("gather.cu", "y[id] = sum;", "y[id] = summe;");
  auto r = run(Words{"run", file} + little);
  EXPECT_EQ(r.code, 1);
  EXPECT_TRUE(holds(r.out, "not run: it does not compile: " + file + ":24: ")) << r.out;
  EXPECT_TRUE(holds(r.err, "summe")) << "what the compiler printed: " << r.err;
  auto j = run(Words{"run", file, "--json"} + little).document();
  EXPECT_EQ(j["verdict"]["status"], "not-run");
  EXPECT_EQ(j["verdict"]["layers"][0]["name"], "compile");
  EXPECT_EQ(j["verdict"]["layers"][0]["status"], "fail");
  EXPECT_EQ(j["problem"]["length"], 40);
  auto other = run({"check", file});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(holds(other.err, "'summe' was not declared in this scope")) << other.err;
}

// What is right on small problems and ends the engine on longer ones: said so, and not that nothing can be mapped.
TEST_F(OutsideCli, ACrashOnLongRowsIsAskedWithoutThem) {
  if (test::under_sanitizer) GTEST_SKIP() << test::ends_without_words;
  const std::string name =
      changed("gather.cu", "if (i >= L) continue;",
              "if (i >= L) continue;\n    if (id == 777) *static_cast<volatile int*>(nullptr) = 3;");
  const auto r = run(Words{"run", name, "--preset", "kernelbench-79-small", "--json"});
  const json verdict = json::parse(r.out)["verdict"];
  EXPECT_EQ(verdict["status"], "crashed") << r.out;
  EXPECT_TRUE(holds(verdict.value("cause_reason", ""), "its products on small problems are the definition's"))
      << verdict;
}

TEST_F(OutsideCli, ACrashEndsTheEngineAndTheNextOneHasTheFileAgain) {
  const std::string file = changed("gather.cu", "y[id] = sum;", "*reinterpret_cast<volatile float*>(16) = sum;");
  auto r = run(Words{"run", file, "--json"} + little);
  EXPECT_EQ(r.code, 4) << r.err;
  auto j = r.document();
  EXPECT_EQ(j["verdict"]["status"], "crashed");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have the signals
  EXPECT_TRUE(holds(j["verdict"]["sentence"].get<std::string>(), ":24")) << j["verdict"]["sentence"];
#endif
  EXPECT_EQ(j["kernel"]["file"], file) << "by the engine after it";
}

TEST_F(OutsideCli, IsCompiledOnce) {
  std::string file = changed("gather.cu", "float sum", "float  sum");
  EXPECT_EQ(run(Words{"run", file} + little).code, 0);
  EXPECT_EQ(modules(), of_a_file);
  EXPECT_EQ(run(Words{"run", file} + little, {"CONVSCOPE_CXX=/bin/false"}).code, 1) << "another compiler";
  EXPECT_EQ(run(Words{"run", file} + little).code, 0);
  EXPECT_EQ(modules(), of_a_file);
  file = changed("gather.cu", "float sum", "float   sum");
  EXPECT_EQ(run(Words{"run", file} + little).code, 0);
  EXPECT_EQ(modules(), 2 * of_a_file);
}

TEST_F(OutsideCli, WhatFilesBeginWithIsCompiledOnce) {
  const Words fresh = {"CONVSCOPE_CACHE=" + folder_.path("fresh")};
  const auto headers = [&] {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (const auto& e : std::filesystem::directory_iterator(folder_.path("fresh/kernels/headers")))
      if (e.path().extension() == ".gch") all[e.path().string()] = e.last_write_time();
    return all;
  };
  const auto right = [&](const std::string& f) {
    const auto r = run(Words{"run", f} + little, fresh);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
  };
  right(changed("gather.cu", "float sum", "float  sum"));
  const auto first = headers();
  EXPECT_EQ(first.size(), of_a_file);
  // Another file is compiled with them, which a compiler that knows nothing of them would not be.
  right(changed("gather.cu", "float sum", "float   sum"));
  EXPECT_EQ(headers().size(), of_a_file);
  right(changed("extension.py", "padding", "padding"));  // host code has more of them
  EXPECT_EQ(headers().size(), 2 * of_a_file);
  EXPECT_EQ(files("fresh/kernels/headers", "hooks-"), of_a_file - 1) << "of whatever is traced";
  // Spoilt: read as far as it goes by a compiler that then finds errors in the file, or that crashes. Made anew.
  const std::string noise(1 << 20, '\x5a');
  for (const auto& [path, time] : first)
    if (path == first.begin()->first)
      std::filesystem::resize_file(path, 1000000);
    else
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(1 << 20) << noise;
  right(changed("gather.cu", "float sum", "float    sum"));
  const auto again = headers();
  EXPECT_EQ(again.size(), 2 * of_a_file);
  for (const auto& [path, time] : first) EXPECT_GT(std::filesystem::file_size(path), size_t{1} << 21) << path;
  right(changed("gather.cu", "float sum", "float     sum"));
  EXPECT_EQ(headers().size(), 2 * of_a_file);
}

TEST_F(OutsideCli, ARungMayBeTakenOutAndChanged) {
  std::string text = test::text_file(test::project_file("kernels/ladder/tiled.cu"));
  const std::string file = folder_.write("tiled.cu", text.data(), text.size());
  for (const Words& words : {Words{"bench", file, "direct"}, Words{"bench", "direct", "--against", file}}) {
    auto r = run(words + little);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(holds(r.out, file)) << r.out;
  }
  auto run_alone = run(Words{"run", file} + little);
  EXPECT_EQ(run_alone.code, 0) << run_alone.out << run_alone.err;
}

TEST_F(OutsideCli, AKernelOfTheProgramIsTakenOutMendedAndRun) {
  const std::string mine = folder_.path("mine.cu");
  auto taken = run({"export", "S4", "--format", "source", "--out", mine});
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_TRUE(holds(taken.err, "mine.cu: S4 as the program has it")) << taken.err;
  const std::string text = test::text_file(mine);
  const Words plain = {"--in-channels", "3", "--out-channels", "2", "--kernel-size", "3", "--length", "40",
                       "--stride",      "2", "--padding",      "1", "--dilation",    "2"};  // S4 takes no bias
  EXPECT_EQ(text, test::text_file(test::project_file("kernels/specimens/s4.cu")));
  EXPECT_TRUE(holds(run(Words{"run", mine} + plain).out, "wrong: "));
  auto mended = run(Words{"run", changed_text(text, "if (i >= 0", "if ((j + p - k * d) % s == 0 && i >= 0")} + plain);
  EXPECT_TRUE(holds(mended.out, "right: ")) << mended.out << mended.err;
  // What is written for programs is told apart from what would only lack a line.
  for (const char* format : {"cuda", "pytorch"}) {
    const std::string file = folder_.path(format == std::string("cuda") ? "of.cu" : "of.py");
    ASSERT_EQ(run({"export", "direct", "--preset", "kernelbench-79-small", "--format", format, "--out", file}).code, 0);
    auto r = run({"run", file});
    EXPECT_EQ(r.code, 2) << r.out;
    EXPECT_TRUE(holds(r.err, "is an export: it is for programs of yours")) << r.err;
  }
}

TEST_F(OutsideCli, OnlyWhatThisUserPutThereIsOpened) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  std::filesystem::create_directories(folder_.path("cache"));
  std::filesystem::create_directories(folder_.path("elsewhere"));
  std::filesystem::create_directory_symlink(folder_.path("elsewhere"), folder_.path("cache/kernels"));
  auto r = run(Words{"run", file} + little);
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_TRUE(holds(r.err, "cache/kernels is no folder of this user's alone")) << r.err;
}

// ---- for a GPU, by nvcc -------------------------------------------------------------------------------------------

TEST_F(OutsideCli, ItsMachineCodeIsShownWithoutAGpu) {
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto r = run({"disassemble", test::project_file("assets/kernels/gather.cu"), "--device", "emulator"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.out, "gather, sm_90: ")) << r.out.substr(0, 400);
  EXPECT_TRUE(holds(r.out, " registers, ")) << r.out.substr(0, 400);
  if (holds(r.out, "lines: its line table")) {  // which CUPTI or nvdisasm read
    EXPECT_TRUE(holds(r.out, "   24 | ")) << "the line that writes y";
  }
  auto profile = run(Words{"profile", test::project_file("assets/kernels/gather.cu"), "--device", "emulator"} + little);
  EXPECT_EQ(profile.code, 0) << profile.err;
  EXPECT_TRUE(holds(profile.out, "(the device code for sm_90)")) << profile.out;
  EXPECT_TRUE(holds(profile.out, "limited by registers")) << profile.out;
}

TEST_F(OutsideCli, WithoutNvccItIsSaidAndTheEmulatorGoesOn) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  const Words none = {"CONVSCOPE_NVCC=/nowhere/nvcc"};
  auto code = run({"disassemble", file, "--device", "emulator"}, none);
  EXPECT_EQ(code.code, 3) << code.out;
  EXPECT_TRUE(holds(code.err, "CONVSCOPE_NVCC is /nowhere/nvcc, which is no program")) << code.err;
  auto profile = run(Words{"profile", file, "--device", "emulator"} + little, none);
  EXPECT_EQ(profile.code, 0) << profile.err;
  EXPECT_TRUE(holds(profile.out, "nvcc, which compiles a file from outside for it, is not here or did not take it"))
      << profile.out;
  if (!test::has_fake_gpu()) return;
  auto gpu = run(Words{"run", file, "--device", "cuda"} + little, none + test::fake_gpu());
  EXPECT_EQ(gpu.code, 3) << gpu.out << gpu.err;
  EXPECT_TRUE(holds(gpu.err, "CONVSCOPE_NVCC is /nowhere/nvcc")) << gpu.err;
}

// A driver of fakes launches nothing, so that the verdict is one of what was not written; but it is given a function of
// that name, with as many arguments.
TEST_F(OutsideCli, OnAGpuItIsCompiledForThat) {
  if (!test::has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  auto r =
      run(Words{"run", test::project_file("assets/kernels/gather.cu"), "--device", "cuda"} + little, test::fake_gpu());
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(holds(r.out, "✓ compile      compiled for sm_90 (")) << r.out;
  EXPECT_TRUE(holds(r.out, "never writes 324 elements")) << r.out;
#if defined(__SANITIZE_THREAD__)
  EXPECT_EQ(modules(), 2u);
#else
  EXPECT_EQ(modules(), 3u) << "two for the emulator, one for the GPU";
#endif
}

TEST_F(OutsideCli, WhatNvccDoesNotTakeIsAVerdictToo) {
  if (!test::has_fake_gpu()) GTEST_SKIP() << "this build has no GPU side";
  if (!has_nvcc()) GTEST_SKIP() << "no nvcc is here";
  // A host function, which is not told from others where the preprocessor has a say (device_rules.h).
  const std::string file = changed("gather.cu", "__global__ void gather(",
                                   "#if 1\nfloat host_only(float v) { return v; }\n#endif\n__global__ void gather(");
  std::string text = test::text_file(file);
  text.replace(text.find("y[id] = sum;"), 12, "y[id] = host_only(sum);");
  folder_.write("gather.cu", text.data(), text.size());
  auto r = run(Words{"run", file, "--device", "cuda"} + little, test::fake_gpu());
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_TRUE(holds(r.out, "not run: it does not compile: " + file + ":27: ")) << r.out;
  EXPECT_TRUE(holds(r.err, "host_only")) << r.err;
}

TEST_F(OutsideCli, WhatCannotBeDoneWithIt) {
  const std::string file = test::project_file("assets/kernels/gather.cu");
  auto exported = run({"export", file, "--preset", "kernelbench-79-small"});
  EXPECT_EQ(exported.code, 2);
  EXPECT_TRUE(holds(exported.err, "is a file from outside: what is exported is the program's own")) << exported.err;
  auto none = run(Words{"run", file} + little, {"CONVSCOPE_CXX=/nowhere/g++"});
  EXPECT_EQ(none.code, 3) << none.out;
  EXPECT_TRUE(holds(none.err, "CONVSCOPE_CXX is /nowhere/g++, which is no program")) << none.err;
}

TEST_F(OutsideCli, AGridOfNoBlocksIsWhatCheckFinds) {
  const std::string file = changed("gather.cu", "grid=ceil_div(N*Cout*Lout,256)", "grid=N*Cout*Lout/256");
  auto r = run({"check", file});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const char* said : {"✗ not-run on problem ", "smallest  1 × 1→1, K 1, L 1, s 1, p 0, d 1   (",
                           "grid.x 0 must be between 1 and", "see it    convscope run "})
    EXPECT_TRUE(holds(r.out, said)) << said << "\n" << r.out;
  const json j = run({"check", file, "--json"}).document();
  EXPECT_TRUE(j["first_failing"].is_object()) << j;
}

TEST_F(OutsideCli, WhatARightVerdictSaysNothingOfIsSaid) {
  const std::string file = changed("gather.cu", "b ? b[co] : 0.0f", "0.0f");
  auto plain = run({"run", file, "--preset", "kernelbench-79-small"});
  EXPECT_EQ(plain.code, 0) << plain.out;
  EXPECT_TRUE(
      holds(plain.out,
            "not seen    a second sequence, groups, a bias, a dilation other than its stride, output padding: this "
            "problem has none; `convscope check "))
      << plain.out;
  const json warned = run({"run", file, "--preset", "kernelbench-79-small", "--json"}).document()["warnings"];
  ASSERT_EQ(warned.size(), 1u) << "what the text says, scripts are told: " << warned;
  EXPECT_TRUE(warned[0].get<std::string>().starts_with("not seen: a second sequence, groups, a bias, ")) << warned;
  EXPECT_FALSE(holds(run(Words{"run", file} + little).out, "not seen")) << "it is wrong there";
  EXPECT_FALSE(holds(convscope_run({"run", "tiled"}).out, "not seen")) << "a kernel of the program's";
  EXPECT_TRUE(holds(convscope_run({"run", "S4"}).out, "On the smallest problem, which is taken where none is given, "));
  EXPECT_FALSE(holds(plain.out, "On the smallest problem"));
}

TEST_F(OutsideCli, ValuesThatAreNoNumbersHaveNoError) {
  const std::string all = changed("gather.cu", "y[id] = sum;", "y[id] = sum / 0.0f - sum / 0.0f;");
  auto none = run(Words{"run", all} + little);
  EXPECT_TRUE(holds(none.out, "; none of them is a finite number")) << none.out;
  const json j = run(Words{"run", all, "--json"} + little).document();
  for (const char* figure : {"max_abs", "rms_rel"}) EXPECT_TRUE(j["error"][figure].is_null()) << figure;
  EXPECT_TRUE(holds(j["error"]["reason"].get<std::string>(), "no output is a finite number"));
  const std::string some = changed("gather.cu", "y[id] = sum;", "y[id] = id == 3 ? sum / 0.0f - sum / 0.0f : sum;");
  EXPECT_TRUE(holds(run(Words{"run", some} + little).out, "; largest error of those that are finite ")) << "one";
}

}  // namespace
}  // namespace convscope
