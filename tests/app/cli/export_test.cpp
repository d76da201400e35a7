// `export`, and the kernel `auto`.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::convscope_run;
using test::holds;
using test::json;
using test::text_file;

TEST(ExportCli, WritesAFileAndSaysWhatIsInIt) {
  test::ScratchFolder folder;
  std::string file = folder.path("model_new.py");
  auto r = convscope_run(
      {"export", "auto", "--preset", "kernelbench-79", "--accuracy", "tf32", "--architecture", "sm_90", "--out", file});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(holds(r.err, "hopper_tf32, tf32 accuracy")) << r.err;
  EXPECT_TRUE(holds(r.err, "predicted")) << r.err;
  EXPECT_TRUE(holds(text_file(file), "class ModelNew"));
  std::string command = "python3 -c \"import ast, sys; ast.parse(open(sys.argv[1]).read())\" '" + file + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << "it is Python";
}

// What a shell names as a file: a FIFO, its own stdout, /dev/null. By links in a folder of the test's own, so that a
// program that replaces what is there breaks nothing of the machine's.
TEST(ExportCli, IntoWhatIsNoFile) {
  test::ScratchFolder folder;
  const std::string source = convscope_run({"export", "S4", "--format", "source"}).out;
  ASSERT_TRUE(holds(source, "__global__"));
  const std::string begin = "cd " + folder.path("") + "; ", to = "convscope export S4 --format source --out ";
  auto fifo = test::convscope_shell(begin + "mkfifo fifo; " + to + "fifo & cat fifo; wait");
  EXPECT_EQ(fifo.out, source) << fifo.err;
  auto out = test::convscope_shell(begin + "ln -s /dev/fd/1 out; { echo before; " + to + "out; echo after; } > all");
  EXPECT_EQ(text_file(folder.path("all")), "before\n" + source + "after\n") << out.err;
  auto null = test::convscope_shell(begin + "ln -s /dev/null null; " + to + "null && test -c null -a -L null");
  EXPECT_EQ(null.code, 0) << null.err;
  auto full = test::convscope_shell(begin + "ln -s /dev/full full; " + to + "full");
  EXPECT_EQ(full.code, 2);
  EXPECT_EQ(full.err, "convscope: out full cannot be written\n");
}

TEST(ExportCli, CudaToTheTerminalAndAsJson) {
  auto r = convscope_run({"export", "tiled", "--preset", "kernelbench-79-small", "--format", "cuda"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.out, "extern \"C\" int conv_transpose1d("));
  json j =
      convscope_run({"export", "tiled", "--preset", "kernelbench-79-small", "--format", "cuda", "--json"}).document();
  EXPECT_EQ(j["kernel"], "tiled");
  EXPECT_EQ(j["text"], r.out);
  EXPECT_TRUE(j["chosen"].is_null());
  EXPECT_TRUE(j["architecture"].is_null()) << "nobody named one";
  EXPECT_EQ(j["function"], "conv_transpose1d");
}

// What the file was chosen for, and what it is compiled with.
TEST(ExportCli, SaysForWhichArchitecture) {
  const std::vector<std::string> words = {"export", "auto",     "--preset", "kernelbench-64", "--accuracy", "tf32",
                                          "--json", "--format", "cuda"};
  for (auto [given, says, nvcc] :
       {std::tuple{"sm_100", "sm_100", "-arch=sm_100 "}, {"sm_90", "sm_90", "-arch=sm_90a "}}) {
    auto more = words;
    more.insert(more.end(), {"--architecture", given});
    json j = convscope_run(more).document();
    EXPECT_EQ(j["architecture"], says);
    EXPECT_TRUE(holds(j["text"].get<std::string>(), nvcc)) << given;
  }
  auto more = words;
  more.insert(more.end(), {"--device", "emulator"});
  EXPECT_EQ(convscope_run(more).document()["architecture"], "sm_90") << "an H200 stands for it";
}

TEST(ExportCli, NamesTheFunctionAndItself) {
  auto r = convscope_run(
      {"export", "tiled", "--preset", "kernelbench-79-small", "--format", "cuda", "--function", "upsample_1"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.out, "extern \"C\" int upsample_1(")) << r.out.substr(0, 600);
  EXPECT_FALSE(holds(r.out, "conv_transpose1d"));
  EXPECT_TRUE(holds(r.out, "Kernel tiled of convscope " CONVSCOPE_VERSION " ("));
}

TEST(ExportCli, WarnsOfASpecimen) {
  auto r = convscope_run({"export", "S4", "--preset", "kernelbench-64-small", "--format", "cuda"});
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(holds(r.err, "convscope: S4 is a specimen, wrong on purpose: it is right only for some problems\n"))
      << r.err;
  EXPECT_TRUE(holds(r.out, "A specimen, wrong on purpose"));
  r = convscope_run({"export", "tiled", "--preset", "kernelbench-64-small", "--format", "cuda"});
  EXPECT_FALSE(holds(r.err, "specimen"));
}

TEST(ExportCli, FusesAnActivation) {
  test::ScratchFolder folder;
  std::string file = folder.path("model_new.py");
  auto r = convscope_run({"export", "auto", "--preset", "hifigan.u1", "--architecture", "sm_90", "--accuracy", "tf32",
                          "--activation", "leaky_relu:0.1", "--out", file});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(holds(r.err, "tf32 accuracy, then leaky_relu:0.1; ")) << r.err;
  EXPECT_TRUE(holds(text_file(file), "#define CONVSCOPE_LEAKY_RELU 0.1\n"));
  EXPECT_TRUE(holds(text_file(file), "torch.nn.functional.leaky_relu(y, 0.1)"));
  std::string command = "python3 -c \"import ast, sys; ast.parse(open(sys.argv[1]).read())\" '" + file + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << "it is Python";
  json j = convscope_run({"export", "auto", "--preset", "kernelbench-79-small", "--format", "cuda", "--activation",
                          "relu", "--json"})
               .document();
  EXPECT_EQ(j["activation"], "relu");
  EXPECT_TRUE(holds(j["text"], "#define CONVSCOPE_RELU\n"));
  bool refused = false;
  for (const auto& k : j["chosen"]["candidates"])
    refused |= k["name"] == "scatter" && k["refused"] == "cannot fuse relu";
  EXPECT_TRUE(refused);
  // Without it nothing is defined.
  r = convscope_run({"export", "tiled", "--preset", "kernelbench-79-small", "--format", "cuda"});
  EXPECT_FALSE(holds(r.out, "#define CONVSCOPE_RELU") || holds(r.out, "#define CONVSCOPE_LEAKY_RELU"));
}

TEST(ExportCli, Refuses) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  for (const Case& c :
       {Case{{"export"}, "kernel is missing"},
        {{"export", "nope", "--preset", "kernelbench-79"}, "kernel nope is not known"},
        {{"export", "tiled", "--format", "onnx"}, "format onnx must be pytorch, cuda or source"},
        {{"export", "auto", "--architecture", "hopper"}, "architecture hopper must be one of sm_75, sm_80"},
        {{"export", "hopper_tf32", "--dtype", "f64"}, "takes f32 only"},
        {{"export", "mma_tf32", "--dtype", "f16"}, "takes f32 only"},
        {{"export", "tiled", "--activation", "gelu"},
         "activation gelu must be none, relu, leaky_relu or leaky_relu:SLOPE"},
        {{"export", "tiled", "--activation", "leaky_relu:2"}, "activation leaky_relu:2 must have a slope from 0 to 1"},
        {{"export", "scatter", "--activation", "relu"},
         "activation relu cannot follow in scatter, which adds to its output in many steps: take "
         "polyphase, or auto"},
        {{"export", "S4", "--activation", "leaky_relu"},
         "activation leaky_relu:0.01 cannot follow in S4, which stays as it was found: take direct"},
        {{"export", "S3", "--preset", "kernelbench-79"}, "works out another output length"},
        // A kernel that is less accurate than asked is not written, and no other in its place.
        {{"export", "hopper_tf32", "--preset", "kernelbench-79"},
         "accuracy strict does not allow hopper_tf32, which computes in tf32: --accuracy tf32 does"},
        {{"export", "columns_tf32", "--accuracy", "3xtf32", "--format", "cuda"},
         "accuracy 3xtf32 does not allow columns_tf32, which computes in tf32: --accuracy tf32 does"},
        {{"export", "mma_3xtf32", "--preset", "kernelbench-79"},
         "accuracy strict does not allow mma_3xtf32, which computes in 3xtf32: --accuracy 3xtf32 does"},
        {{"export", "hopper_tf32", "--preset", "kernelbench-79", "--accuracy", "tf32", "--architecture", "sm_80"},
         "architecture sm_80 cannot run hopper_tf32: it needs sm_90a, this is sm_80"},
        {{"export", "mma_3xtf32", "--preset", "kernelbench-79", "--accuracy", "tf32", "--architecture", "sm_75"},
         "architecture sm_75 cannot run mma_3xtf32: it needs sm_80, this is sm_75"},
        {{"export", "tiled", "--format", "cuda", "--function", "two words"}, "function two words must be a name in C"},
        {{"export", "tiled", "--format", "cuda", "--function", "ConvArgs"},
         "function ConvArgs is a word of the kernel's"},
        {{"export", "tiled", "--format", "cuda", "--function", "NULL"},
         "function NULL is a name of the C library or of CUDA's headers: take another name"},
        {{"export", "tiled", "--function", "up1"}, "function up1 is for CUDA files: a Python file calls its own"},
        {{"export", "tiled", "--out", "/nowhere/at/all.py"}, "out /nowhere/at/all.py"}}) {
    auto r = convscope_run(c.arguments);
    EXPECT_EQ(r.code, 2) << c.says;
    EXPECT_TRUE(holds(r.err, c.says)) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

// The same kernels where they are allowed: at their own accuracy, at a lower one, where it has no meaning, and on GPUs
// that run them.
TEST(ExportCli, WritesWhatIsAllowed) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"export", "hopper_tf32", "--preset", "kernelbench-79", "--accuracy", "tf32"},
           {"export", "mma_3xtf32", "--preset", "kernelbench-79", "--accuracy", "3xtf32"},
           {"export", "mma_3xtf32", "--preset", "kernelbench-79", "--accuracy", "tf32", "--architecture", "sm_120"},
           {"export", "hopper_16bit", "--preset", "kernelbench-79", "--dtype", "f16", "--architecture", "sm_90"},
           {"export", "registers", "--preset", "kernelbench-79", "--architecture", "sm_75"}}) {
    auto r = convscope_run(arguments);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(holds(r.err, "convscope: " + arguments[1] + ", ")) << r.err;
    EXPECT_TRUE(holds(r.out, "Kernel " + arguments[1] + " of convscope")) << arguments[1];
  }
}

TEST(Auto, RunsWhatItChose) {
  auto r = convscope_run(
      {"run", "auto", "--preset", "kernelbench-74-small", "--device", "emulator", "--samples", "1", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  json j = r.document();
  EXPECT_EQ(j["kernel"]["name"], j["chosen"]["kernel"]);
  EXPECT_NE(j["kernel"]["name"], "auto");
  EXPECT_EQ(j["verdict"]["status"], "right");
  EXPECT_GE(j["chosen"]["candidates"].size(), 8u);
  auto text =
      convscope_run({"run", "auto", "--preset", "kernelbench-74-small", "--device", "emulator", "--samples", "1"});
  EXPECT_TRUE(holds(text.out, "chosen by auto: ")) << text.out;
  // Where a name was given there is nothing to say.
  EXPECT_FALSE(
      convscope_run({"run", "tiled", "--length", "64", "--samples", "1", "--json"}).document().contains("chosen"));
}

TEST(Auto, AmongOthersInABench) {
  json j =
      convscope_run({"bench", "auto", "direct", "--length", "256", "--device", "emulator", "--samples", "3", "--json"})
          .document();
  ASSERT_TRUE(j["chosen"].is_object()) << j.dump(1);
  bool there = false;
  for (const auto& e : j["entries"]) there |= e["name"] == j["chosen"]["kernel"];
  EXPECT_TRUE(there);
}

}  // namespace
}  // namespace convscope
