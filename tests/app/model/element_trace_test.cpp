// Who writes an element and what it reads for it, against the index of the operator.
#include "kernels/verify/element_trace.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "tests/app/model/documents.h"
#include "tests/support.h"

namespace convscope {
namespace {

class ElementTracing : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = simt::load_traced_kernels(); !why.empty()) GTEST_SKIP() << why;
  }
  static ElementTrace trace(const std::string& kernel, const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
    Activity activity;
    return trace_element(find_kernel(kernel), p, {}, n, co, j, activity);
  }
};

ConvProblem tiny() {
  ConvProblem p;
  p.batch = 2, p.in_channels = 3, p.out_channels = 4, p.kernel_size = 4, p.length = 7, p.stride = 2, p.padding = 1,
  p.dilation = 3, p.bias = true;
  return p;
}

std::vector<int64_t> sorted(std::vector<int64_t> v) {
  std::sort(v.begin(), v.end());
  return v;
}
std::vector<int64_t> reads_of(const ElementTrace& t, char tensor) {
  std::vector<int64_t> v;
  for (const auto& r : t.reads)
    if (r.tensor == tensor) v.push_back(r.index);
  return sorted(v);
}
// The flat indices of the taps that land on an element.
std::vector<int64_t> landing(const ConvProblem& p, char tensor, int64_t n, int64_t co, int64_t j) {
  std::vector<int64_t> v;
  int64_t first = co / p.out_per_group() * p.in_per_group();
  for (int64_t ci = first; ci < first + p.in_per_group(); ci++)
    for (const Tap& tap : taps_at(p, j))
      v.push_back(tensor == 'x' ? (n * p.in_channels + ci) * p.length + tap.i
                                : (ci * p.out_per_group() + co % p.out_per_group()) * p.kernel_size + tap.k);
  return sorted(v);
}

TEST_F(ElementTracing, DirectReadsExactlyTheTapsThatLand) {
  ConvProblem grouped = tiny();
  grouped.in_channels = 6, grouped.groups = 2, grouped.bias = false;
  for (const ConvProblem& p : {tiny(), grouped})
    for (int64_t j = 0; j < p.out_length(); j += j < 3 ? 1 : 4)
      for (int64_t co : {int64_t{0}, p.out_channels - 1}) {
        int64_t n = j % 2, id = (n * p.out_channels + co) * p.out_length() + j;
        ElementTrace t = trace("direct", p, n, co, j);
        ASSERT_EQ(t.reason, "");
        EXPECT_EQ(t.writes, 1);
        ASSERT_EQ(t.writers.size(), 1u);
        EXPECT_EQ(t.writers[0].block, static_cast<uint64_t>(id / 256));
        EXPECT_EQ(t.writers[0].thread, static_cast<uint32_t>(id % 256));
        EXPECT_TRUE(t.writers[0].file.ends_with("kernels/ladder/direct.cu")) << t.writers[0].file;
        EXPECT_EQ(t.writers[0].line,
                  test::line_of("kernels/ladder/direct.cu", "y[id] = static_cast<T>(activated(sum))"));
        EXPECT_EQ(reads_of(t, 'x'), landing(p, 'x', n, co, j)) << "j " << j;
        EXPECT_EQ(reads_of(t, 'w'), landing(p, 'w', n, co, j)) << "j " << j;
        EXPECT_EQ(reads_of(t, 'b'), p.bias ? std::vector<int64_t>{co} : std::vector<int64_t>{});
        EXPECT_TRUE(reads_of(t, 'y').empty());
        EXPECT_EQ(t.reads_total, static_cast<int64_t>(t.reads.size()));
        EXPECT_FALSE(t.through_shared);
        for (const auto& r : t.reads) EXPECT_EQ(r.line > 0, true);
      }
}

// The specimen takes the quotient of every tap, divisible or not: what it reads too much are its ghost taps.
TEST_F(ElementTracing, SpecimenReadsItsGhostTaps) {
  ConvProblem p = tiny();
  p.bias = false;
  bool ghosts = false;
  for (int64_t j = 0; j < p.out_length(); j++) {
    int64_t n = 1, co = 2;
    ElementTrace t = trace("S4", p, n, co, j);
    ASSERT_EQ(t.reason, "");
    ASSERT_EQ(t.writers.size(), 1u);
    // Grid (n, co, j/256), one thread a position.
    EXPECT_EQ(t.writers[0].block, static_cast<uint64_t>(n + p.batch * co));
    EXPECT_EQ(t.writers[0].thread, static_cast<uint32_t>(j));
    EXPECT_EQ(t.writers[0].line, test::line_of("kernels/specimens/s4.cu", "y[(n * Cout + co) * Lout + j] = sum"));
    std::vector<int64_t> expected;
    for (int64_t ci = 0; ci < p.in_channels; ci++)
      for (int64_t k = 0; k < p.kernel_size; k++) {
        int64_t i = (j + p.padding - k * p.dilation) / p.stride;
        if (i >= 0 && i < p.length) expected.push_back((n * p.in_channels + ci) * p.length + i);
      }
    auto reads = reads_of(t, 'x'), right = landing(p, 'x', n, co, j);
    EXPECT_EQ(reads, sorted(expected)) << "j " << j;
    EXPECT_TRUE(std::includes(reads.begin(), reads.end(), right.begin(), right.end()))
        << "all that lands is read as well";
    ghosts |= reads != right;
  }
  EXPECT_TRUE(ghosts) << "it reads what it should not";
  // The control: where the stride is 1 it reads as the operator does.
  p.stride = 1;
  for (int64_t j : {0, 3, 7}) EXPECT_EQ(reads_of(trace("S4", p, 0, 1, j), 'x'), landing(p, 'x', 0, 1, j));
}

TEST_F(ElementTracing, PackedWeightsComeThroughTheWorkspace) {
  ConvProblem p = tiny();
  const KernelDefinition& kernel = find_kernel("mma_tf32");
  if (auto why = kernel.unsupported(p); !why.empty()) GTEST_SKIP() << why;
  ASSERT_GT(kernel.plan_for(p).workspace_bytes(), 0u);
  ElementTrace t = trace("mma_tf32", p, 0, 0, 3);
  ASSERT_EQ(t.reason, "");
  EXPECT_TRUE(t.through_workspace);
}

TEST_F(ElementTracing, TiledReadsThroughSharedMemory) {
  ConvProblem p = tiny();
  p.length = 40;
  int64_t n = 1, j = 30;
  ElementTrace t = trace("tiled", p, n, 0, j);
  ASSERT_EQ(t.reason, "");
  EXPECT_EQ(t.writes, 1);
  ASSERT_EQ(t.writers.size(), 1u);
  // Thread m writes j = offset + m·s of its class.
  EXPECT_EQ(t.writers[0].thread, static_cast<uint32_t>(j / p.stride));
  EXPECT_TRUE(t.writers[0].file.ends_with("kernels/ladder/tiled.cu"));
  EXPECT_EQ(t.writers[0].line,
            test::line_of("kernels/ladder/tiled.cu", "* c.out_length + j] = static_cast<T>(activated(sum[q]))"));
  EXPECT_TRUE(t.through_shared) << "others fetched what it used";
  EXPECT_FALSE(t.through_workspace) << "it has none";
  // What it fetched itself lies in the tensors.
  for (const auto& r : t.reads) {
    int64_t limit = r.tensor == 'x'   ? p.x_elements()
                    : r.tensor == 'w' ? p.w_elements()
                    : r.tensor == 'b' ? p.b_elements()
                                      : 0;
    EXPECT_TRUE(r.index >= 0 && r.index < limit) << r.tensor << r.index;
  }
  EXPECT_FALSE(reads_of(t, 'x').empty());
}

TEST_F(ElementTracing, AKernelsOwnLengthIsSaid) {
  ConvProblem p = tiny();
  p.bias = false, p.dilation = 1, p.output_padding = 1;
  ElementTrace t = trace("S4", p, 0, 0, p.out_length() - 1);
  EXPECT_NE(t.reason.find("the kernel's own output ends at position"), std::string::npos) << t.reason;
  EXPECT_TRUE(t.writers.empty());
}

TEST_F(ElementTracing, TooMuchIsAReason) {
  ConvProblem p = tiny();
  p.length = 100000000;
  EXPECT_NE(trace("direct", p, 0, 0, 0).reason.find("too many to trace"), std::string::npos);
}

TEST_F(ElementTracing, OutsideIsRefused) {
  ConvProblem p = tiny();
  auto refusal = [&](int64_t n, int64_t co, int64_t j) {
    return test::error_of<InputError>([&] { trace("direct", p, n, co, j); });
  };
  EXPECT_EQ(refusal(2, 0, 0), "n 2 must be between 0 and 1");
  EXPECT_EQ(refusal(0, -1, 0), "co -1 must be between 0 and 3");
  EXPECT_NE(refusal(0, 0, p.out_length()), "");
}

TEST_F(ElementTracing, CanBeCancelled) {
  Activity activity;
  activity.cancel();
  EXPECT_THROW(trace_element(find_kernel("direct"), tiny(), {}, 0, 0, 0, activity), Cancelled);
}

}  // namespace
}  // namespace convscope
