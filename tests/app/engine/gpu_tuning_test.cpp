// A faster form of a file is found on a real GPU: compiled, judged and timed there. Skipped with the reason where there
// is no GPU or no nvcc.
#include <cstdio>
#include <gtest/gtest.h>

#include "app/engine/kernel_file.h"
#include "app/engine/tuning.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "tests/app/engine/harness.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::holds;
using test::json;

class TuningGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const json devices = test::result_of(client_, {{"type", "list"}, {"what", "devices"}})["devices"];
    if (devices.empty() || devices[0]["kind"] != "cuda") GTEST_SKIP() << "no GPU: " << devices;
    try {
      device_compiler();
    } catch (const std::exception& e) {
      GTEST_SKIP() << "no GPU: " << e.what();
    }
  }
  // The sample with one text in every place of another, as small blocks of a layer of 4 M outputs.
  static TuningSpec spec(const std::string& from, const std::string& to) {
    TuningSpec s;
    s.text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    EXPECT_TRUE(holds(s.text, from));
    for (size_t at = s.text.find(from); at != s.text.npos; at = s.text.find(from, at + to.size()))
      s.text.replace(at, from.size(), to);
    s.request.kernel = "mine.cu", s.request.device = "cuda:0";
    ConvProblem& p = s.request.problem;
    p.batch = 8, p.in_channels = 32, p.out_channels = 32, p.kernel_size = 5, p.stride = 2, p.padding = 1,
    p.length = 8000;
    return s;
  }
  // To its end, as the command line does it. Forms that end the engine are answered for by the next one.
  json found(const TuningSpec& s) {
    bring("mine.cu", s.text);
    Tuning t(s);
    while (const auto r = t.next()) {
      const Answer a = r->text.empty() ? client_.request(r->header.dump()) : bring(r->file, r->text);
      const bool told = a.kind == Answer::Kind::result || a.kind == Answer::Kind::error;
      const json header = told ? json::parse(a.header) : json({{"code", "crashed"}, {"message", a.message}});
      if (a.kind == Answer::Kind::result) {
        t.took(header);
      } else if (!t.failed(header.value("code", "failed"), header.value("message", ""))) {
        ADD_FAILURE() << header;
        break;
      }
    }
    return t.document();
  }

 private:
  Answer bring(const std::string& name, const std::string& text) {
    return client_.request(kernel_file_request(name, "emulator"), as_payload(text), {}, 0, {}, name);
  }
  test::ScratchFolder folder_;
  EngineClient client_{
      EngineOptions{"env CONVSCOPE_CACHE=" + test::own_cache(folder_) + " " + test::program("convscope") + " engine"}};
};

// Blocks of a quarter of a warp: those of more threads are faster by far, and found.
TEST_F(TuningGpu, SmallBlocksBecomeLarger) {
  const json d = found(spec("256", "8"));
  EXPECT_EQ(d["status"], "faster") << d.dump(1);
  EXPECT_GT(d.value("speedup", 0.0), 1.5) << d.dump(1);
  EXPECT_FALSE(holds(d.value("text", "block=8 "), "block=8 ")) << d.dump(1);
  EXPECT_GE(d["judged_on"].size(), 4u);
  std::printf("tune: %s: %.3g times as fast, of %zu forms\n", d["changes"].dump().c_str(), d.value("speedup", 0.0),
              d["tried"].size());
}

// The control: a wrong file, of which a faster form would be as wrong.
TEST_F(TuningGpu, NothingIsMadeOfAWrongFile) {
  const json d = found(spec("j + p - k * d", "j - k * d"));
  EXPECT_EQ(d["status"], "wrong") << d.dump(1);
  EXPECT_TRUE(d["tried"].empty());
}

}  // namespace
}  // namespace convscope
