// Hopper's own instructions on the emulator: what they do, and what is said when they are misused.
#include "kernels/runtime/simt/hopper.h"

#include <bit>
#include <gtest/gtest.h>
#include <thread>

#include "convscope/half.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/kernels/simt/hopper_modes.h"
#include "tests/kernels/simt/test_entries.h"
#include "tests/support.h"

namespace convscope {
namespace {

using test::fault_of;
using test::launch_entry;
using test::planned_launch;

constexpr uint32_t seeds = 20;

std::string marked(const std::string& mark) {
  const char* file = "tests/kernels/simt/hopper.cu";
  return std::string(file) + ":" + std::to_string(test::line_of(file, mark));
}

bool says(const std::string& said, const std::string& part) { return said.find(part) != said.npos; }

// ---- barriers and copies

struct Ran {
  std::string fault;
  int wrong = 0;
};
Ran run_pipeline(int mode, uint32_t seed, int rounds = 7) {
  const auto n = static_cast<size_t>(128 * rounds);
  std::vector<float4> memory(n / 4);  // on 16 bytes
  float* in = &memory[0].x;
  std::vector<float> out(n, -1);
  for (size_t i = 0; i < n; i++) in[i] = static_cast<float>(i);
  Ran r;
  r.fault = fault_of([&] {
    launch_entry(planned_launch("pipeline"), {1}, {160}, 2 * 512 + 4 * 8, {.order_seed = seed},
                 static_cast<const float*>(in), out.data(), rounds, mode);
  });
  for (size_t i = 0; i < n; i++) r.wrong += out[i] != static_cast<float>(i) + 1;
  return r;
}

TEST(Hopper, CopiesArriveAtBarriers) {
  for (uint32_t seed = 0; seed <= seeds; seed++) {
    Ran r = run_pipeline(pipeline_right, seed);
    ASSERT_EQ(r.fault, "") << "seed " << seed;
    ASSERT_EQ(r.wrong, 0) << "seed " << seed;
  }
}

TEST(Hopper, WhoReadsWithoutWaitingReadsWhatWasThere) {
  int seen = 0;
  for (uint32_t seed = 1; seed <= seeds; seed++) seen += run_pipeline(consumers_do_not_wait, seed).wrong > 0;
  EXPECT_EQ(seen, seeds) << "in a shuffled order copies arrive late";
}

TEST(Hopper, AStageThatIsFilledTooEarlyShows) {
  for (uint32_t seed = 0; seed <= seeds; seed++) {
    Ran r = run_pipeline(producer_does_not_wait, seed);
    ASSERT_TRUE(r.wrong > 0 || !r.fault.empty()) << "seed " << seed;
  }
}

TEST(Hopper, WhoWaitsInVainIsNamed) {
  EXPECT_EQ(run_pipeline(nothing_is_given_back, 0).fault,
            "deadlock in kernel pipeline, block (0, 0, 0): 32 threads of warp 0 wait at an mbarrier " +
                marked("// WAIT full") + ", 32 threads of warp 1 wait at an mbarrier " + marked("// WAIT full") +
                ", 32 threads of warp 2 wait at an mbarrier " + marked("// WAIT full") +
                ", 32 threads of warp 3 wait at an mbarrier " + marked("// WAIT full") + "; none of them can go on");
  EXPECT_TRUE(run_pipeline(too_few_bytes_expected, 0).fault.starts_with("deadlock in kernel pipeline"));
  EXPECT_EQ(run_pipeline(nothing_is_given_back, 0, 2).fault, "") << "two stages are there: the negative control";
}

// A persistent block works for long: it shows that it does, and ends when it is told to.
TEST(Hopper, ALongBlockShowsSignsOfLifeAndCanBeCancelled) {
  constexpr int rounds = 20000;
  std::vector<float4> in(32 * rounds);
  std::vector<float> out(128 * rounds);
  auto run = [&](Activity& activity, uint32_t seed) {
    launch_entry(planned_launch("pipeline"), {1}, {160}, 2 * 512 + 4 * 8, {.order_seed = seed, .activity = &activity},
                 static_cast<const float*>(&in[0].x), out.data(), rounds, int{pipeline_right});
  };
  for (uint32_t seed : {0u, 5u}) {
    Activity whole;
    run(whole, seed);
    EXPECT_GE(whole.snapshot().beat, 2u * rounds / 64) << "two barriers a round, every 64th phase is told";
    EXPECT_EQ(whole.snapshot().done, 1u) << "and one block done";
    Activity later;
    std::thread other([&] {
      while (later.snapshot().beat < 20) std::this_thread::yield();
      later.cancel();
    });
    EXPECT_THROW(run(later, seed), Cancelled);
    other.join();
    EXPECT_LT(later.snapshot().beat, 2u * rounds / 64);
  }
}

TEST(Hopper, MisuseOfBarriersAndCopiesIsSaid) {
  auto said = [](int mode) { return run_pipeline(mode, 0).fault; };
  EXPECT_TRUE(says(said(copy_from_nowhere), "cp.async.bulk from a null pointer"));
  EXPECT_TRUE(says(said(no_barriers_made), "of shared memory was not initialised")) << said(no_barriers_made);
  EXPECT_EQ(said(copy_is_not_aligned),
            "kernel pipeline, block (0, 0, 0), thread (128, 0, 0), at " + marked("// COPY") +
                ": cp.async.bulk at byte 4 of shared memory, which must be a multiple of 16");
  EXPECT_EQ(said(copy_beyond_shared_memory),
            "kernel pipeline, block (0, 0, 0), thread (128, 0, 0), at " + marked("// COPY") +
                ": cp.async.bulk at bytes 1048576 to 1049087 of shared memory, the launch has 1056");
}

// ---- boxes

TEST(Hopper, BoxesHaveZerosOutsideAndAreCutOff) {
  // x [2 sequences, 2 groups, 3 channels, 10 positions], rows of 12: boxes of 8 positions × 2 channels.
  std::vector<float> x(2 * 2 * 3 * 12), y(2 * 40, -1);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i + 1);
  TensorView from{{}, 4, {10, 3, 2, 2, 0}, {4, 48, 144, 288, 0}, {8, 2, 1, 1, 0}};
  // 32 words a row, two rows, swizzled: as results leave.
  TensorView to{{}, 5, {40, 2, 1, 1, 1}, {4, 160, 320, 320, 320}, {8, 2, 1, 1, 1}};
  auto map = [](const TensorView& v, void* p) { return simt::encoded(v, reinterpret_cast<uint64_t>(p)); };
  for (int position : {-9, -3, 0, 5, 9, 10})
    for (int channel : {-1, 0, 2}) {
      std::vector<float> seen(16, -1);
      std::fill(y.begin(), y.end(), -1.0f);
      launch_entry(planned_launch("boxes"), {1}, {32}, 128, {.order_seed = 3}, map(from, x.data()), map(to, y.data()),
                   position, channel, 1, 1, 64, seen.data(), 36, int{box_right});
      for (int c = 0; c < 2; c++)
        for (int i = 0; i < 8; i++) {
          int p = position + i, ch = channel + c;
          bool inside = p >= 0 && p < 10 && ch >= 0 && ch < 3;
          float want = inside ? static_cast<float>(((1 * 2 + 1) * 3 + ch) * 12 + p + 1) : 0.0f;
          ASSERT_EQ(seen[static_cast<size_t>(c * 8 + i)], want) << position << " " << channel;
          // Of a row of 40 the last four are left.
          for (int j = 0; j < 40; j++)
            if (j - 36 == i) {
              ASSERT_EQ(y[static_cast<size_t>(c * 40 + j)], want);
            }
        }
      for (int j = 0; j < 36; j++) ASSERT_EQ(y[static_cast<size_t>(j)], -1);
    }
}

TEST(Hopper, BoxesAreUnswizzledAsTheyLeave) {
  std::vector<float> x(64), y(2 * 32, -1), seen(64);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i);
  TensorView from{{}, 4, {32, 2, 1, 1, 0}, {4, 128, 256, 256, 0}, {32, 2, 1, 1, 0}};
  TensorView to{{}, 5, {32, 2, 1, 1, 1}, {4, 128, 256, 256, 256}, {32, 2, 1, 1, 1}, true};
  auto map = [](const TensorView& v, void* p) { return simt::encoded(v, reinterpret_cast<uint64_t>(p)); };
  auto run = [&](int write_at, int mode = box_right, uint32_t seed = 0) {
    return fault_of([&] {
      launch_entry(planned_launch("boxes"), {1}, {32}, 320, {.order_seed = seed}, map(from, x.data()),
                   map(to, y.data()), 0, 0, 0, 0, 256, seen.data(), write_at, mode);
    });
  };
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(seen, x) << "a copy into shared memory leaves them as they are";
  for (size_t r = 0; r < 2; r++)
    for (size_t j = 0; j < 32; j++)  // row 1's pieces of 16 bytes are exchanged in pairs
      ASSERT_EQ(y[r * 32 + j], x[r * 32 + ((j / 4) ^ r) * 4 + j % 4]) << r << " " << j;
  // Swizzled on both ways it is as it was.
  from.swizzled = true;
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(y, x);
  EXPECT_NE(seen, x);
  // What is overwritten before the engine has read it shows, in a shuffled order.
  EXPECT_EQ(run(0, box_overwritten, 3), "");
  EXPECT_NE(y, x);
  EXPECT_EQ(run(0, box_right, 3), "");
  EXPECT_EQ(y, x);
  EXPECT_TRUE(says(run(2), "a box is written from element 2 of its row on: that must be a multiple of 16 bytes"));
}

TEST(Hopper, BytesLeave) {
  std::vector<float4> memory(32);
  float* y = &memory[0].x;
  auto run = [&](int at, int bytes, int mode, uint32_t seed) {
    std::fill(y, y + 128, -7.0f);
    return fault_of(
        [&] { launch_entry(planned_launch("bytes_leave"), {1}, {32}, 256, {.order_seed = seed}, y, at, bytes, mode); });
  };
  for (uint32_t seed : {0u, 3u}) {
    EXPECT_EQ(run(8, 64, box_right, seed), "");
    for (int i = 0; i < 128; i++) ASSERT_EQ(y[i], i >= 8 && i < 24 ? static_cast<float>(i - 8) : -7.0f) << i;
  }
  // What is overwritten before the engine has read it shows, in a shuffled order.
  EXPECT_EQ(run(8, 64, box_overwritten, 3), "");
  EXPECT_EQ(y[8], -1);
  const std::string at = "kernel bytes_leave, block (0, 0, 0), thread (0, 0, 0), at " + marked("// LEAVE") + ": ";
  EXPECT_EQ(
      run(1, 64, box_right, 0),
      at + "cp.async.bulk of 64 bytes to an address that is 4 after a multiple of 16: both must be multiples of 16");
  EXPECT_TRUE(says(run(0, 8, box_right, 0), "cp.async.bulk of 8 bytes to an address that is 0 after"));
  EXPECT_TRUE(says(run(0, 512, box_right, 0), "cp.async.bulk at bytes 0 to 511 of shared memory, the launch has 256"));
}

// ---- warps that meet

TEST(Hopper, NamedBarriersHandValuesOver) {
  for (uint32_t seed = 0; seed <= seeds; seed++) {
    std::vector<int> out(9 * 128);
    launch_entry(planned_launch("hand_over"), {1}, {256}, 512, {.order_seed = seed}, 9, int{hand_over_right},
                 out.data());
    for (int i = 0; i < 9 * 128; i++)
      ASSERT_EQ(out[static_cast<size_t>(i)], i / 128 * 1000 + 127 - i % 128) << "seed " << seed;
  }
  std::vector<int> out(128);
  auto said = [&](int mode) {
    return fault_of([&] { launch_entry(planned_launch("hand_over"), {1}, {256}, 512, {}, 1, mode, out.data()); });
  };
  EXPECT_TRUE(says(said(other_numbers), "barrier 1 of 160 threads: others wait there for 256"));
  EXPECT_TRUE(says(said(nobody_arrives), "32 threads of warp 4 wait at bar.sync " + marked("// MEET 256")));
}

// ---- products

struct Product {
  int type, columns;  // 0 TF32, 1 f16, 2 bf16
  bool plain;         // B without swizzle
};
int depth_of(const Product& p) { return p.type ? 16 : 8; }

// Small whole numbers as the type has them, in the low bits.
uint32_t as_type(int type, int v) {
  auto f = static_cast<float>(v);
  if (type == 0) return std::bit_cast<uint32_t>(f) | 0x1abc;  // low bits that the hardware ignores
  return type == 1 ? __half_as_ushort(__half(f)) : __bfloat16_as_ushort(__nv_bfloat16(f));
}

Ran run_product(const Product& p, int mode, uint32_t seed) {
  test::Random r(seed + 5);
  const int k = depth_of(p), size = p.type ? 2 : 4, per_word = p.type ? 2 : 1;
  std::vector<int> a(static_cast<size_t>(2 * 64 * k)), b(static_cast<size_t>(2 * k * p.columns));
  for (int& v : a) v = static_cast<int>(test::between(r, -9, 9));
  for (int& v : b) v = static_cast<int>(test::between(r, -9, 9));
  std::vector<uint32_t> words(2 * 64 * 8);
  for (size_t i = 0; i < a.size(); i++)
    words[i / static_cast<size_t>(per_word)] |= as_type(p.type, a[i]) << (i % static_cast<size_t>(per_word) * 16);
  // B[k][n] of each step. k as neighbours: rows of 128 bytes a column, pieces of 16 bytes exchanged by the column's
  // number; the second step in the next 1024-byte patterns. Without swizzle: eight k values 16 bytes, then columns.
  const int step_bytes = p.plain ? p.columns * k * size : p.columns * 128;
  std::vector<unsigned char> image(static_cast<size_t>(2 * step_bytes), 0xff);
  for (int step = 0; step < 2; step++)
    for (int n = 0; n < p.columns; n++)
      for (int kk = 0; kk < k; kk++) {
        int offset = kk * size;
        int place = p.plain ? (kk / 8 * p.columns + n) * 16 + kk % 8 * 2
                            : n * 128 + ((offset / 16) ^ (n % 8)) * 16 + offset % 16;
        uint32_t v = as_type(p.type, b[static_cast<size_t>((step * k + kk) * p.columns + n)]);
        std::memcpy(&image[static_cast<size_t>(step * step_bytes + place)], &v, static_cast<size_t>(size));
      }
  uint64_t descriptor = p.plain ? uint64_t(p.columns) << 16 | uint64_t{128 / 16} << 32
                                : uint64_t{1} << 16 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 62;
  std::vector<float> out(static_cast<size_t>(64 * p.columns), 1e30f);
  Ran ran;
  ran.fault = fault_of([&] {
    launch_entry(planned_launch(p.columns == 64 ? "multiply_64" : "multiply_128"), {1}, {128},
                 static_cast<size_t>(2 * step_bytes), {.order_seed = seed}, static_cast<const uint32_t*>(words.data()),
                 static_cast<const unsigned char*>(image.data()), step_bytes, descriptor, p.type, int{p.plain}, mode,
                 out.data());
  });
  for (int i = 0; i < 64; i++)
    for (int n = 0; n < p.columns; n++) {
      int sum = 0;
      for (int step = 0; step < 2; step++)
        for (int kk = 0; kk < k; kk++)
          sum += a[static_cast<size_t>((step * 64 + i) * k + kk)] *
                 b[static_cast<size_t>((step * k + kk) * p.columns + n)];
      ran.wrong += out[static_cast<size_t>(i * p.columns + n)] != static_cast<float>(sum);
    }
  return ran;
}

TEST(Hopper, ProductsOfAWarpgroup) {
  for (const Product& p : {Product{0, 64, false},
                           {0, 128, false},
                           {1, 64, false},
                           {2, 64, false},
                           {1, 128, false},
                           {2, 128, false},
                           {1, 128, true},
                           {2, 128, true}})
    for (uint32_t seed = 0; seed < 5; seed++) {
      Ran r = run_product(p, products_right, seed);
      ASSERT_EQ(r.fault, "") << p.type << " " << p.columns;
      ASSERT_EQ(r.wrong, 0) << p.type << " " << p.columns << " " << p.plain;
    }
}

// A in shared memory: 72 rows of 16 k values, of which the product takes 64 from row `first` on.
Ran run_product_of_rows(bool bf16, int first, int mode, uint64_t more = 0) {
  test::Random r(static_cast<uint64_t>(first) + 3);
  constexpr size_t rows = 72, columns = 80, k = 16;
  std::vector<int> a(rows * k), b(k * columns);
  for (int& v : a) v = static_cast<int>(test::between(r, -9, 9));
  for (int& v : b) v = static_cast<int>(test::between(r, -9, 9));
  std::vector<unsigned char> in(columns * 128, 0xff), of(2 * rows * 16);
  auto put = [&](std::vector<unsigned char>& image, size_t at, int v) {
    const uint32_t bits = as_type(bf16 ? 2 : 1, v);
    std::memcpy(&image[at], &bits, 2);
  };
  for (size_t kk = 0; kk < k; kk++) {
    for (size_t n = 0; n < columns; n++) put(in, n * 128 + ((kk / 8) ^ (n % 8)) * 16 + kk % 8 * 2, b[kk * columns + n]);
    for (size_t m = 0; m < rows; m++) put(of, kk / 8 * rows * 16 + m * 16 + kk % 8 * 2, a[m * k + kk]);
  }
  const uint64_t of_b = uint64_t{1} << 16 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 62;
  const uint64_t of_a = static_cast<uint64_t>(first) | uint64_t{rows} << 16 | uint64_t{128 / 16} << 32 | more;
  std::vector<float> out(64 * columns, 1e30f);
  Ran ran;
  ran.fault = fault_of([&] {
    launch_entry(planned_launch("multiply_rows"), {1}, {128}, in.size() + of.size(), {},
                 static_cast<const unsigned char*>(in.data()), static_cast<const unsigned char*>(of.data()),
                 static_cast<int>(of.size()), of_b, of_a, int{bf16}, mode, out.data());
  });
  if (!ran.fault.empty()) return ran;  // rows behind the last have no sums to compare with
  for (size_t i = 0; i < 64; i++)
    for (size_t n = 0; n < columns; n++) {
      int sum = 0;
      for (size_t kk = 0; kk < k; kk++) sum += 2 * a[(i + static_cast<size_t>(first)) * k + kk] * b[kk * columns + n];
      ran.wrong += out[i * columns + n] != static_cast<float>(sum);
    }
  return ran;
}

TEST(Hopper, RowsOfAFromAnywhereInSharedMemory) {
  for (bool bf16 : {false, true})
    for (int first : {0, 1, 5, 8}) {
      const Ran r = run_product_of_rows(bf16, first, products_right);
      EXPECT_EQ(r.fault, "");
      EXPECT_EQ(r.wrong, 0) << first;
    }
  EXPECT_GT(run_product_of_rows(false, 0, weights_overwritten).wrong, 0) << "A was changed before the wait";
  EXPECT_TRUE(says(run_product_of_rows(false, 0, another_descriptor).fault, "order different wgmma products"));
  EXPECT_TRUE(says(run_product_of_rows(false, 0, products_right, uint64_t{1} << 62).fault,
                   "a wgmma operand A in shared memory with k as neighbours, 16 bits, and no swizzle"));
  EXPECT_TRUE(says(run_product_of_rows(false, 9, products_right).fault, "wgmma at"));  // a row behind the last
}

TEST(Hopper, ProductsAreDoneAtTheLastMoment) {
  for (const Product& p : {Product{0, 64, false}, {1, 128, true}})
    EXPECT_GT(run_product(p, weights_overwritten, 0).wrong, 0) << "what they read was changed before the wait";
}

TEST(Hopper, MisuseOfProductsIsSaid) {
  EXPECT_TRUE(says(run_product({0, 64, false}, another_descriptor, 0).fault,
                   "threads of a warpgroup order different wgmma products"));
  EXPECT_TRUE(says(run_product({0, 64, false}, a_warp_is_missing, 0).fault,
                   "wait at wgmma.wait_group for the other warps of its warpgroup"));
  EXPECT_TRUE(says(run_product({0, 64, false}, not_waited_for, 0).fault,
                   "has ended with wgmma products that it has not waited for"));
  EXPECT_TRUE(says(run_product({0, 64, false}, no_fence, 0).fault, "without wgmma.fence since the last wait"));
}

TEST(Hopper, MatricesAndTheirFragments) {
  std::vector<uint16_t> in(256), out(256);
  std::vector<uint32_t> fragments(128);
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<uint16_t>(i * 37);
  auto run = [&](int offset) {
    return fault_of([&] {
      launch_entry(planned_launch("exchange_matrices"), {1}, {32}, 528, {.order_seed = 4},
                   static_cast<const uint16_t*>(in.data()), fragments.data(), out.data(), offset);
    });
  };
  EXPECT_EQ(run(0), "");
  for (size_t m = 0; m < 4; m++)
    for (size_t row = 0; row < 8; row++)
      for (size_t column = 0; column < 8; column++) {
        uint32_t word = fragments[4 * (row * 4 + column / 2) + m];
        ASSERT_EQ(static_cast<uint16_t>(word >> column % 2 * 16), in[m * 64 + row * 8 + column]);
        ASSERT_EQ(out[m * 64 + column * 8 + row], in[m * 64 + row * 8 + column]);
      }
  EXPECT_TRUE(says(run(4), "ldmatrix at byte"));
}

// ---- blocks that wait for each other, and single instructions

TEST(Hopper, BlocksThatWaitForLowerOnesRunInTheirOrder) {
  for (uint32_t seed = 0; seed <= seeds; seed++) {
    std::vector<int> words(200), out(200);
    launch_entry(planned_launch("chain"), {200}, {1}, 0, {.workers = 4, .order_seed = seed, .in_order = true},
                 words.data(), out.data(), -1);
    for (int i = 0; i < 200; i++) ASSERT_EQ(out[static_cast<size_t>(i)], i * (i + 1) / 2);
  }
  std::vector<int> words(200), out(200);
  auto said = fault_of([&] {
    launch_entry(planned_launch("chain"), {200}, {1}, 0, {.workers = 4, .in_order = true}, words.data(), out.data(), 7);
  });
  EXPECT_TRUE(says(said, "kernel chain, block (7, 0, 0)")) << said;
}

TEST(Hopper, BytesShiftsAndMinima) {
  std::vector<unsigned> a(32), b(32), select(32), out(128);
  test::Random r(3);
  for (size_t i = 0; i < 32; i++)
    a[i] = static_cast<unsigned>(r()), b[i] = static_cast<unsigned>(r()), select[i] = static_cast<unsigned>(r());
  launch_entry(planned_launch("bits"), {1}, {32}, 0, {}, static_cast<const unsigned*>(a.data()),
               static_cast<const unsigned*>(b.data()), static_cast<const unsigned*>(select.data()), out.data());
  int least = *std::min_element(reinterpret_cast<int*>(a.data()), reinterpret_cast<int*>(a.data()) + 32);
  for (size_t i = 0; i < 32; i++) {
    unsigned want = 0;
    for (unsigned k = 0; k < 4; k++) {
      unsigned s = select[i] >> 4 * k & 15, from = s & 4 ? b[i] : a[i], byte = from >> (s & 3) * 8 & 0xff;
      if (s & 8) byte = byte >> 7 ? 0xff : 0;
      want |= byte << 8 * k;
    }
    EXPECT_EQ(out[4 * i], want);
    unsigned shift = select[i] & 31;
    EXPECT_EQ(out[4 * i + 1], shift ? a[i] >> shift | b[i] << (32 - shift) : a[i]);
    EXPECT_EQ(static_cast<int>(out[4 * i + 2]), least);
    EXPECT_EQ(out[4 * i + 3], *std::min_element(a.begin(), a.end()));
  }
}

TEST(Hopper, TheEmulatorHasItsInstructions) { EXPECT_EQ(open_emulator()->unavailable(find_kernel("test_hopper")), ""); }

}  // namespace
}  // namespace convscope
