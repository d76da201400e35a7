// Tracing: each access of a traced kernel once, with its size, kind, thread and source line; nothing else.
#include "kernels/runtime/simt/trace.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "kernels/problem/counts.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using simt::Access;
using simt::AccessKind;
using test::launch_entry;
using test::planned_launch;

// Not built under ThreadSanitizer, whose hooks the modules' would replace.
#if defined(__SANITIZE_THREAD__)
#define NEEDS_TRACING GTEST_SKIP() << "no traced module in a ThreadSanitizer build"
#else
#define NEEDS_TRACING                         \
  ASSERT_EQ(simt::load_traced_kernels(), ""); \
  ASSERT_EQ(test::open_module("libtest_traced.so"), "")
#endif

template <class F>
std::vector<Access> trace(F&& run, const simt::TraceWish& wish = {}) {
  std::vector<Access> all;
  std::mutex mutex;
  {
    simt::Tracing tracing(
        [&](std::span<const Access> part) {
          std::lock_guard lock(mutex);
          all.insert(all.end(), part.begin(), part.end());
        },
        wish);
    run();
  }
  return all;
}

struct Range {
  uint64_t begin = 0, bytes = 0;
  bool holds(const Access& a) const { return a.address - begin < bytes; }
};
template <class T>
Range range_of(const std::vector<T>& v) {
  return {reinterpret_cast<uint64_t>(v.data()), v.size() * sizeof(T)};
}

int64_t count(const std::vector<Access>& all, const Range& where, AccessKind kind) {
  return std::count_if(all.begin(), all.end(), [&](const Access& a) { return a.kind == kind && where.holds(a); });
}

const char* const source = "tests/kernels/simt/traced.cu";

TEST(Trace, SizesKindsThreadsAndLines) {
  NEEDS_TRACING;
  std::vector<float> f(40), out(40);
  std::vector<float4> v(40, make_float4(1, 2, 3, 4));
  std::vector<double> d(40);
  std::vector<unsigned char> c(40);
  auto run = [&](bool traced) {
    return trace([&] {
      launch_entry(planned_launch("trace_sizes", traced), {2}, {20}, 0, {}, f.data(), v.data(), d.data(), c.data(),
                   out.data());
    });
  };
  auto all = run(true);
  struct Want {
    const char* mark;
    Range where;
    unsigned size;
    AccessKind kind;
  };
  for (const Want& w :
       {Want{"single", range_of(f), 4, AccessKind::read}, Want{"float4", range_of(v), 16, AccessKind::read},
        Want{"double", range_of(d), 8, AccessKind::read}, Want{"byte", range_of(c), 1, AccessKind::read},
        Want{"out", range_of(out), 4, AccessKind::write}}) {
    SCOPED_TRACE(w.mark);
    int line = test::line_of(source, std::string("// TRACE ") + w.mark);
    int found = 0;
    for (const auto& a : all) {
      if (!w.where.holds(a)) continue;
      found++;
      EXPECT_EQ(a.size, w.size);
      EXPECT_EQ(a.kind, w.kind);
      EXPECT_LT(a.thread, 20);
      EXPECT_EQ(a.address, w.where.begin + uint64_t{a.thread} * w.size) << "both blocks use the same words";
      auto place = simt::source_line(a.pc);
      EXPECT_EQ(place.file, source);
      EXPECT_EQ(place.line, line);
    }
    EXPECT_EQ(found, 40);
  }
  EXPECT_EQ(all.size(), 5u * 40) << "and nothing else: no index, no stack, no argument";
  std::map<uint64_t, int> of_block;
  for (const auto& a : all) of_block[a.block]++;
  EXPECT_EQ(of_block, (std::map<uint64_t, int>{{0, 100}, {1, 100}}));

  EXPECT_TRUE(run(false).empty()) << "a plain kernel records nothing";
}

TEST(Trace, ACopyOfAVectorIsOneReadAndOneWrite) {
  NEEDS_TRACING;
  std::vector<float4> in(32), out(32);
  auto all = trace([&] { launch_entry(planned_launch("trace_copy", true), {1}, {32}, 0, {}, in.data(), out.data()); });
  EXPECT_EQ(count(all, range_of(in), AccessKind::read), 32);
  EXPECT_EQ(count(all, range_of(out), AccessKind::write), 32);
  EXPECT_EQ(all.size(), 64u);
  for (const auto& a : all) EXPECT_EQ(a.size, 16);
}

// A warp is together again after one of its lanes was elsewhere: what all do in the same round has the same name.
TEST(Trace, RoundsAreThoseOfOthersAfterACall) {
  NEEDS_TRACING;
  std::vector<int> out(128);
  auto all =
      trace([&] { launch_entry(planned_launch("trace_calls", true), {1}, {32}, 0, {}, out.data()); }, {.rounds = true});
  std::map<int, std::map<uint64_t, std::set<int>>> threads;  // by line and round
  for (const auto& a : all) threads[simt::source_line(a.pc).line][a.round].insert(a.thread);
  const auto& stored = threads[test::line_of(source, "// TRACE stored")];
  EXPECT_EQ(stored.size(), 3u * 4);
  for (const auto& [round, who] : stored) EXPECT_EQ(who.size(), 32u) << round;
  // Two places of a call are two instructions: a GPU has the function at both.
  const auto& called = threads[test::line_of(source, "// TRACE called")];
  EXPECT_EQ(called.size(), 3u * 2);
  int without_one = 0;
  for (const auto& [round, who] : called) without_one += who.size() == 31 && !who.contains(5);
  EXPECT_EQ(without_one, 3);
}

TEST(Trace, SharedMemoryAndAtomicsYesStackNo) {
  NEEDS_TRACING;
  std::vector<int> in(64), out(64), counter(1);
  auto all = trace([&] {
    launch_entry(planned_launch("trace_places", true), {1}, {64}, 0, {}, in.data(), out.data(), counter.data());
  });
  EXPECT_EQ(counter[0], 64);
  std::map<int, std::map<AccessKind, int>> by_line;
  for (const auto& a : all) {
    auto place = simt::source_line(a.pc);
    EXPECT_EQ(place.file, source);
    by_line[place.line][a.kind]++;
  }
  auto on = [&](const char* mark) { return by_line[test::line_of(source, std::string("// TRACE ") + mark)]; };
  using Counts = std::map<AccessKind, int>;
  EXPECT_EQ(on("shared_write"), (Counts{{AccessKind::read, 64}, {AccessKind::write, 64}})) << "in[t] and cell[t]";
  EXPECT_EQ(on("shared_read"), (Counts{{AccessKind::read, 64}, {AccessKind::write, 64}})) << "cell[63 - t] and out[t]";
  EXPECT_EQ(on("atomic"), (Counts{{AccessKind::atomic, 64}})) << "the kernel's line, not the header's";
  EXPECT_EQ(by_line.size(), 3u);
  EXPECT_EQ(all.size(), 5u * 64) << "the local array is on a thread's own stack";
}

TEST(Trace, MemcpyIsRecorded) {
  NEEDS_TRACING;
  std::vector<int> in(6 * 32, 1), out(32);
  auto all =
      trace([&] { launch_entry(planned_launch("trace_memcpy", true), {1}, {32}, 0, {}, in.data(), out.data()); });
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(count(all, range_of(in), AccessKind::read), 32);
  int line = test::line_of(source, "// TRACE memcpy");
  for (const auto& a : all)
    if (range_of(in).holds(a)) {
      EXPECT_EQ(a.size, 24);
      EXPECT_EQ(simt::source_line(a.pc).line, line);
    }
}

TEST(Trace, AThreadsAccessesComeInItsOrder) {
  NEEDS_TRACING;
  std::vector<int> data(5 * 96);
  std::vector<std::vector<Access>> of_thread(96);
  {
    simt::Tracing tracing([&](std::span<const Access> part) {
      for (const auto& a : part) of_thread[a.thread].push_back(a);
    });
    launch_entry(planned_launch("trace_order", true), {1}, {96}, 0, {}, data.data());
  }
  for (size_t t = 0; t < 96; t++) {
    ASSERT_EQ(of_thread[t].size(), 10u);
    for (size_t i = 0; i < 5; i++) {
      const Access &read = of_thread[t][2 * i], &write = of_thread[t][2 * i + 1];
      EXPECT_EQ(read.kind, AccessKind::read);
      EXPECT_EQ(read.address, reinterpret_cast<uint64_t>(&data[5 * t + 4 - i]));
      EXPECT_EQ(write.kind, AccessKind::write);
      EXPECT_EQ(write.address, reinterpret_cast<uint64_t>(&data[5 * t + i]));
    }
  }
}

TEST(Trace, BuffersThatOverflowLoseNothing) {
  NEEDS_TRACING;
  std::atomic<int64_t> accesses{0}, calls{0};
  std::vector<int> data(5 * 256);
  {
    simt::Tracing tracing([&](std::span<const Access> part) {
      accesses += static_cast<int64_t>(part.size());
      calls++;
    });
    launch_entry(planned_launch("trace_order", true), {300}, {256}, 0, {.workers = 1}, data.data());
  }
  EXPECT_EQ(accesses, int64_t{300} * 256 * 10);
  EXPECT_GT(calls, 20);
  int64_t before = accesses;
  launch_entry(planned_launch("trace_order", true), {3}, {256}, 0, {}, data.data());
  EXPECT_EQ(accesses, before) << "nobody traces any more";
}

TEST(Trace, OneTracingAfterAnother) {
  NEEDS_TRACING;
  std::vector<int> data(5 * 64);
  for (int round = 0; round < 5; round++) {
    auto all = trace([&] { launch_entry(planned_launch("trace_order", true), {8}, {64}, 0, {}, data.data()); });
    ASSERT_EQ(all.size(), 8u * 64 * 10);
  }
}

// ---- the ladder's kernels -------------------------------------------------------------------------------------------

struct Counts {
  int64_t x_reads = 0, w_reads = 0, b_reads = 0, y_writes = 0, y_atomics = 0;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << "x " << c.x_reads << ", w " << c.w_reads << ", b " << c.b_reads << ", y " << c.y_writes << " and "
             << c.y_atomics << " atomic";
}

struct TracedRun {
  Counts counts;
  std::map<std::string, std::set<int>> lines;  // of x, w, y: where they are touched
  std::set<std::string> files;
};

TracedRun run_traced(const KernelDefinition& kernel, const ConvProblem& p) {
  test::Random r(7);
  auto t = test::random_tensors(r, p);
  auto device = open_emulator();
  auto place = [&](int64_t elements) {
    auto m = device->allocate(static_cast<size_t>(std::max<int64_t>(1, elements)) * size_of(p.dtype));
    return m;
  };
  auto x = place(p.x_elements()), w = place(p.w_elements()), b = place(p.b_elements()), y = place(p.y_elements());
  device->write(*x, 0, t.x.data(), t.x.size_bytes());
  device->write(*w, 0, t.w.data(), t.w.size_bytes());
  device->write(*b, 0, t.b.data(), t.b.size_bytes());
  auto all = trace([&] {
    device->run(kernel, kernel.plan_for(p), {x->address(), w->address(), p.bias ? b->address() : 0, y->address(), 0},
                {});
  });
  auto range = [](const DeviceMemory& m) { return Range{m.address(), m.size()}; };
  TracedRun out;
  out.counts = {count(all, range(*x), AccessKind::read), count(all, range(*w), AccessKind::read),
                p.bias ? count(all, range(*b), AccessKind::read) : 0, count(all, range(*y), AccessKind::write),
                count(all, range(*y), AccessKind::atomic)};
  EXPECT_EQ(count(all, range(*x), AccessKind::write), 0);
  EXPECT_EQ(count(all, range(*w), AccessKind::write), 0);
  EXPECT_EQ(count(all, range(*y), AccessKind::read), 0);
  std::map<uint64_t, simt::SourceLine> resolved;
  for (const auto& a : all) {
    const char* tensor = range(*x).holds(a) ? "x" : range(*w).holds(a) ? "w" : range(*y).holds(a) ? "y" : nullptr;
    auto [at, fresh] = resolved.try_emplace(a.pc);
    if (fresh) at->second = simt::source_line(a.pc);
    out.files.insert(at->second.file);
    if (!tensor) continue;
    out.lines[tensor].insert(at->second.line);
    EXPECT_EQ(a.size, size_of(p.dtype));
  }
  return out;
}

// What the loops of each rung imply, counted by going through them.
Counts implied(const std::string& rung, const ConvProblem& p) {
  int64_t taps = useful_taps(p), y = p.y_elements();
  if (rung == "direct" || rung == "polyphase") return {taps, taps, p.bias ? y : 0, y, 0};
  if (rung == "scatter") return {p.x_elements(), taps, p.bias ? y : 0, y, taps};
  // tiled: 256 positions of a class and 8 channels a block, 8 input channels a round.
  Counts c;
  c.y_writes = y;
  int64_t s = p.stride, g = std::gcd(s, p.dilation), period = s / g, back = p.dilation / g;
  int64_t lout = p.out_length(), cin = p.in_per_group(), cout = p.out_per_group();
  int64_t round_taps = std::min({(p.kernel_size + period - 1) / period, int64_t{32}, 1 + 256 / back});
  for (int64_t offset = 0; offset < std::min(s, lout); offset++) {
    std::vector<int64_t> ks;
    for (int64_t k = 0; k < p.kernel_size; k++)
      if ((offset + p.padding - k * p.dilation) % s == 0) ks.push_back(k);
    for (int64_t m0 = 0; m0 < ((lout + s - 1) / s + 255) / 256 * 256; m0 += 256)
      for (int64_t co0 = 0; co0 < cout; co0 += 8) {
        int64_t outs = std::min<int64_t>(8, cout - co0);
        if (p.bias) c.b_reads += 256 * outs * p.groups * p.batch;
        for (size_t u0 = 0; u0 < ks.size(); u0 += static_cast<size_t>(round_taps)) {
          size_t now = std::min(static_cast<size_t>(round_taps), ks.size() - u0);
          c.w_reads += cin * static_cast<int64_t>(now) * outs * p.groups * p.batch;
          // The inputs from the last tap's for the first output to the first tap's for the last one.
          int64_t left = m0 + (offset + p.padding - ks[u0 + now - 1] * p.dilation) / s;
          int64_t right = m0 + 255 + (offset + p.padding - ks[u0] * p.dilation) / s;
          c.x_reads += std::max<int64_t>(0, std::min(right, p.length - 1) - std::max<int64_t>(left, 0) + 1) * cin *
                       p.groups * p.batch;
        }
      }
  }
  return c;
}

std::vector<ConvProblem> traced_problems() {
  ConvProblem kb79;
  kb79.batch = 2, kb79.in_channels = 3, kb79.out_channels = 4, kb79.kernel_size = 3, kb79.length = 17;
  kb79.stride = 2, kb79.padding = 1, kb79.dilation = 2;
  ConvProblem grouped;
  grouped.in_channels = 6, grouped.out_channels = 18, grouped.groups = 2, grouped.kernel_size = 7, grouped.length = 12;
  grouped.stride = 3, grouped.padding = 2, grouped.output_padding = 1, grouped.bias = true;
  ConvProblem wide = grouped;
  wide.groups = 1, wide.out_channels = 3, wide.in_channels = 10, wide.length = 300, wide.dtype = DType::f64,
  wide.stride = 1;
  wide.output_padding = 0;
  ConvProblem rounds;  // taps so far apart that they are taken in three rounds
  rounds.in_channels = 2, rounds.out_channels = 2, rounds.kernel_size = 7, rounds.length = 50, rounds.dilation = 100;
  return {kb79, grouped, wide, rounds};
}

TEST(Trace, LadderKernelsTouchExactlyWhatTheirLoopsSay) {
  NEEDS_TRACING;
  for (const auto& p : traced_problems())
    for (const char* name : {"direct", "scatter", "polyphase", "tiled"}) {
      SCOPED_TRACE(std::string(name) + " on " + describe(p));
      const auto* kernel = find_traced(name);
      ASSERT_NE(kernel, nullptr);
      EXPECT_EQ(run_traced(*kernel, p).counts, implied(name, p));
      EXPECT_EQ(run_traced(find_kernel(name), p).counts, Counts{}) << "the plain kernel records nothing";
    }
}

TEST(Trace, LadderLinesAreTheKernelsOwn) {
  NEEDS_TRACING;
  for (const char* name : {"direct", "scatter", "polyphase", "tiled"}) {
    SCOPED_TRACE(name);
    auto run = run_traced(*find_traced(name), traced_problems()[1]);
    std::string file = std::string("kernels/ladder/") + name + ".cu";
    EXPECT_EQ(run.files, std::set<std::string>{file});
    for (const auto& [tensor, lines] : run.lines) {
      EXPECT_LE(lines.size(), 2u);
      for (int line : lines) {
        // The pointers of the polyphase rung are called xs and ws; tiled copies x and w to arrays of these names.
        auto text = test::text_of_line(file, line);
        EXPECT_TRUE(text.find(tensor + "[") != std::string::npos || text.find(tensor + "s[") != std::string::npos)
            << file << ":" << line << " touches " << tensor << ": " << text;
      }
    }
    EXPECT_EQ(run.lines.size(), 3u);
  }
}

TEST(Trace, TracedKernelsComputeTheSame) {
  NEEDS_TRACING;
  test::Random r(8);
  for (const auto& p : traced_problems()) {
    auto t = test::random_tensors(r, p);
    auto expected = test::expected_result(p, t);
    for (const auto* k : all_kernels()) {
      if (k->kind() != KernelKind::ladder || !k->requires_hardware().empty() || !k->unsupported(p).empty()) continue;
      const auto* traced = find_traced(k->name());
      ASSERT_NE(traced, nullptr) << k->name();
      auto got = trace(
          [&] { EXPECT_EQ(test::first_wrong(p, t, expected, test::run_kernel(*traced, p, t)), "") << k->name(); });
      EXPECT_FALSE(got.empty());
    }
  }
}

TEST(Trace, EveryBuiltInKernelHasATracedTwin) {
  NEEDS_TRACING;
  for (const auto* k : all_kernels()) {
    if (k->kind() == KernelKind::test) continue;
    const auto* twin = find_traced(k->name());
    ASSERT_NE(twin, nullptr) << k->name();
    EXPECT_NE(twin, k);
    EXPECT_EQ(twin->file(), k->file());
  }
  EXPECT_EQ(find_traced("no such kernel"), nullptr);
  EXPECT_EQ(simt::load_traced_kernels(), "") << "asked twice";
}

TEST(Trace, LinesOfUnknownPlacesAreEmpty) {
  EXPECT_EQ(simt::source_line(0x10).file, "");
  EXPECT_EQ(simt::source_line(0x10).line, 0);
}

}  // namespace
}  // namespace convscope
