// Kernel files that use memory that is not there, or an instruction that the processor refuses, on the emulator: the
// launch ends with it, and the engine lives on. (What breaks the engine itself: crash_test.cpp.)
#include <gtest/gtest.h>

#include "app/engine/kernel_file.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class Stray : public testing::Test {
 protected:
  void SetUp() override {
    if (test::under_sanitizer) GTEST_SKIP() << "it is the sanitizer's report that ends the engine";
  }
  // The verdict on the sample with one text in the place of another.
  json verdict(const std::string& from, const std::string& to, const json& problem = {{"length", 300}}) {
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    EXPECT_NE(text.find(from), text.npos);
    text.replace(text.find(from), from.size(), to);
    const Answer a =
        client_.request(kernel_file_request("mine.cu", "emulator"), as_payload(text), {}, 0, {}, "mine.cu");
    EXPECT_EQ(a.kind, Answer::Kind::result) << a.header << a.message;
    return test::result_of(client_, test::run_request("mine.cu", problem))["verdict"];
  }

  test::NothingLeft nothing_left_;
  test::ScratchFolder folder_;
  EngineClient client_{{.command = test::test_engine_with("CONVSCOPE_CACHE=" + test::own_cache(folder_))}};
};

TEST_F(Stray, TheEngineLivesOn) {
  const std::string sum = "float sum = b ? b[co] : 0.0f;", last = "if (id == 299) ";
  const std::string where = "crashed: kernel gather, block (1, 0, 0), thread (43, 0, 0), at mine.cu:";
  struct Case {
    std::string from, to, words;
  };
  for (const Case& c : {
           Case{"+= x[(", "+= x[i / 299 * 100000000 + (", "reads element 100000299 of x, which has 300"},
           Case{"y[id] = sum", "y[id - id / 299 * 50000] = sum", "writes element -49701 of y, which has 300"},
           Case{sum, last + "*(volatile float*)16 = 1; " + sum, "an address that is not there was used"},
           Case{sum, "if (j == 299 && 7 / *(volatile int*)&n == 7) return; " + sum,
                "a division by zero, or one whose result does not fit"},
           Case{sum, last + "__builtin_trap(); " + sum, "an illegal instruction"},
       }) {
    const json v = verdict(c.from, c.to);
    EXPECT_EQ(v["status"], "crashed") << v;
    EXPECT_EQ(v["exit_code"], 4);
    const std::string sentence = v["sentence"];
    EXPECT_TRUE(sentence.starts_with(where)) << sentence;
    EXPECT_TRUE(sentence.ends_with(": " + c.words)) << sentence;
    test::expect_works(client_);
  }
  EXPECT_EQ(verdict("y[id] = sum", "y[id] = sum")["status"], "right") << "after all of these, in the same engine";
  EXPECT_EQ(client_.starts(), 1);
}

// Every thread of every block, on all workers at once, inside of barriers that others wait at.
TEST_F(Stray, ManyAtOnce) {
  for (int i = 0; i < 5; i++) {
    const json v =
        verdict("y[id] = sum;", "if (threadIdx.x % 3) __syncthreads(); y[id + 100000000] = sum;", {{"length", 200000}});
    EXPECT_EQ(v["status"], "crashed") << v;
    EXPECT_TRUE(test::holds(v["sentence"], ": writes element 10")) << v;
  }
  EXPECT_EQ(verdict("y[id] = sum", "y[id] = sum")["status"], "right");
  EXPECT_EQ(client_.starts(), 1);
}

// The search for races looks at what stands in memory before the kernel does.
TEST_F(Stray, InATracedKernelTheEngineLivesOn) {
  const std::string traced = "\n#ifdef __SANITIZE_THREAD__\n#define FAR 100000000\n#else\n#define FAR 0\n#endif\n";
  for (const auto& [from, to, words] : {std::tuple{"+= x[(", "+= x[FAR + (", ": reads element 1000"},
                                        {"y[id] = sum", "y[FAR + id] = sum", ": writes element 1000"}}) {
    const std::string head = "__global__ void gather";
    std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
    text.replace(text.find(from), std::string(from).size(), to);
    text.insert(0, traced);
    ASSERT_EQ(client_.request(kernel_file_request("mine.cu", "emulator"), as_payload(text), {}, 0, {}, "mine.cu").kind,
              Answer::Kind::result);
    const json v = test::result_of(client_, test::run_request("mine.cu", {{"length", 300}}))["verdict"];
    EXPECT_EQ(v["status"], "crashed") << v;
    EXPECT_TRUE(test::holds(v["sentence"], words)) << v;
    EXPECT_TRUE(test::holds(v["sentence"], ", at mine.cu:")) << v;
    test::expect_works(client_);
  }
  EXPECT_EQ(client_.starts(), 1);
}

// Nothing of the emulator's is left to go on with: the engine's end, as with a kernel of its own.
TEST_F(Stray, AStackThatOverflowsEndsIt) {
  std::string text = test::text_file(test::project_file("assets/kernels/gather.cu"));
  const std::string sum = "float sum = b ? b[co] : 0.0f;", head = "__global__ void gather";
  text.replace(text.find(sum), sum.size(), "float sum = b ? b[co] : deeper(j);");
  text.insert(
      text.find(head),
      "__device__ __attribute__((noinline)) float deeper(int n) {\n"
      "  volatile float room[64];\n  room[n % 64] = n;\n  return n < 0 ? 0 : room[n % 64] + deeper(n + 1) - n;\n}\n");
  ASSERT_EQ(client_.request(kernel_file_request("mine.cu", "emulator"), as_payload(text), {}, 0, {}, "mine.cu").kind,
            Answer::Kind::result);
  const Answer a = test::ask(client_, test::run_request("mine.cu", {{"length", 300}}));
  EXPECT_EQ(a.kind, Answer::Kind::crashed);
  EXPECT_TRUE(test::holds(a.message, "the stack overflowed")) << a.message;
  test::expect_works(client_);
  EXPECT_EQ(client_.starts(), 2);
}

}  // namespace
}  // namespace convscope
