// Every way in which results leave a warpgroup: rows of any alignment, tiles that cross an end of a row, channels that
// are fewer than a tile's.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "tests/kernels/simt/test_entries.h"

namespace convscope {
namespace {

struct Form {
  const char* name;
  int period, gcd, channels;  // of a tile
};

TEST(HopperResults, EveryWordIsWhereItBelongs) {
  constexpr int zone = 64;
  for (const Form& f :
       {Form{"results_s1", 1, 1, 64}, {"results_s2_d2", 1, 2, 64}, {"results_s2", 2, 1, 32}, {"results_s4", 4, 1, 32}})
    for (bool staged : {false, true}) {
      std::string name = f.name + std::string(staged ? "_staged" : "");
      int stride = f.period * f.gcd, tile = 128 * stride;
      int cases = 0;
      for (int64_t length : {3 * tile, 3 * tile + 1, 3 * tile + 2, 3 * tile + 4, tile / 2 + 3, 5})
        for (int64_t j :
             {0, 1, -1, 2, -3, tile, tile + 4, 2 * tile + 1, 2 * tile + 5, 2 * tile + 7, -tile + 3, -tile / 2})
          for (int channels : {f.channels, f.channels + 9, f.channels - 3, 1})
            for (int shift : {0, 1, 2, 4, 7}) {
              if (j >= length || j + tile <= 0 || (cases++ + shift) % 3) continue;  // a third of them
              bool with_bias = cases % 2;
              int rows = std::min(channels, f.channels);
              std::vector<float> memory(static_cast<size_t>(zone * 2 + 8 + rows * length),
                                        std::numeric_limits<float>::quiet_NaN());
              // On a 32-byte boundary, and from there `shift` words on.
              auto at = reinterpret_cast<uintptr_t>(memory.data()) / 4;
              float* y = memory.data() + zone + (8 - at % 8) % 8 + shift - zone % 8;
              std::vector<float> bias(static_cast<size_t>(channels));
              for (int r = 0; r < channels; r++) bias[static_cast<size_t>(r)] = 0.5f - static_cast<float>(r) / 16;
              test::launch_entry(test::planned_launch(name), {1}, {128},
                                 static_cast<size_t>(f.channels * (tile + 8)) * sizeof(float), {},
                                 static_cast<const float*>(with_bias ? bias.data() : nullptr), y, length, j, channels);
              auto where = [&](int r, int64_t i) {
                return name + " length " + std::to_string(length) + " j " + std::to_string(j) + " channels " +
                       std::to_string(channels) + " shift " + std::to_string(shift) + ": row " + std::to_string(r) +
                       " word " + std::to_string(i);
              };
              for (int r = 0; r < rows; r++)
                for (int64_t i = 0; i < length; i++) {
                  float got = y[r * length + i];
                  int64_t o = i - j;
                  if (o < 0 || o >= tile) {
                    ASSERT_TRUE(std::isnan(got)) << where(r, i);
                    continue;
                  }
                  float expected = with_bias ? bias[static_cast<size_t>(r)] : 0.0f;
                  if (o % f.gcd == 0) expected += static_cast<float>(r * 2048 + o / f.gcd);
                  ASSERT_EQ(got, expected) << where(r, i);
                }
              for (float* p = memory.data(); p < memory.data() + memory.size(); p++)
                if (p < y || p >= y + rows * length) {
                  ASSERT_TRUE(std::isnan(*p)) << where(-1, p - y);
                }
            }
      EXPECT_GT(cases, 100);
    }
}

// Tiles that overlap: each output is written by one of them, and no sector by two, but at the ends of rows.
TEST(HopperResults, OverlappingTilesWriteWholeSectors) {
  struct Cut {
    const char* name;
    int gcd, tile, own, apart;  // words of a row: of a tile, until the next one begins, that rows are a multiple of
  };
  int split = 0;
  for (const Cut& f : {Cut{"results_s1_sectors", 1, 128, 124, 4}, Cut{"results_s2_d2_sectors", 2, 256, 248, 1},
                       Cut{"results_s1_staged", 1, 128, 128, 4}})
    for (int64_t length : {3 * f.own + 48, 2 * f.own + f.apart, f.own + 4, 8 - f.apart})
      for (int64_t begin : {0, -f.apart, -4})
        for (int y_after : {0, 4}) {  // words behind a boundary: y is on 16 bytes
          constexpr int channels = 64;
          std::vector<int> written(static_cast<size_t>(channels * length));
          for (int64_t j = begin; j < length; j += f.own) {
            std::vector<float> memory(written.size() + 16, std::numeric_limits<float>::quiet_NaN());
            float* y = memory.data() + (8 - reinterpret_cast<uintptr_t>(memory.data()) / 4 % 8) % 8 + y_after;
            test::launch_entry(test::planned_launch(f.name), {1}, {128},
                               static_cast<size_t>(channels * (f.tile + 8)) * sizeof(float), {},
                               static_cast<const float*>(nullptr), y, length, j, channels);
            for (int r = 0; r < channels; r++)
              for (int64_t i = 0; i < length; i++) {
                const float got = y[r * length + i];
                if (std::isnan(got)) continue;
                const auto expected = static_cast<float>((i - j) % f.gcd ? 0 : r * 2048 + (i - j) / f.gcd);
                ASSERT_EQ(got, expected) << f.name << " length " << length << " row " << r << " word " << i;
                written[static_cast<size_t>(r * length + i)]++;
                // Where a tile's part of a row begins: with the row, or at a boundary. (Sectors count from y.)
                if (i == 0 || !std::isnan(y[r * length + i - 1]) || (r * length + i) % 8 == 0) continue;
                split++;
                ASSERT_EQ(f.own, f.tile) << f.name << " length " << length << " row " << r << " begins at " << i;
              }
          }
          for (size_t k = 0; k < written.size(); k++)
            ASSERT_EQ(written[k], 1) << f.name << " length " << length << " begin " << begin << ": word " << k;
        }
  EXPECT_GT(split, 0);  // where tiles do not overlap there are some
}

// Tiles that store blocks of 256 bytes: with rows that begin anywhere behind a block, each output is there, and no
// block is written by two tiles but where a row begins or ends. Tiles that store sectors split some.
TEST(HopperResults, TilesWriteWholeBlocks) {
  constexpr int zone = 80;
  struct Tiles {
    const char* name;
    int own, row, rest;  // words until the next one begins; what a row's sums are apart; words that no tile begins in
  };
  auto split = [&](const Tiles& tiles, const char* all) {
    int blocks = 0;
    for (int64_t length : {5 * 192 + 64, 4 * 192 + 65, 3 * 192 + 99, 194, 63})
      for (int64_t begin : {0, -1, -64})
        for (int channels : {64, 41})
          for (int y_after : {0, 4, 36, 37}) {  // words behind a block
            if (!all && y_after % 4) continue;
            std::vector<float> bias(static_cast<size_t>(channels));
            for (int r = 0; r < channels; r++) bias[static_cast<size_t>(r)] = static_cast<float>(r) / 16;
            const bool with_bias = (length + channels) % 2;
            auto run = [&](const char* name, int64_t j, auto seen) {
              std::vector<float> memory(static_cast<size_t>(2 * zone + 64 + channels * length),
                                        std::numeric_limits<float>::quiet_NaN());
              float* y = memory.data() + zone;
              y += (64 - reinterpret_cast<uintptr_t>(y) / 4 % 64) % 64 + static_cast<size_t>(y_after);
              test::launch_entry(test::planned_launch(name), {1}, {128}, 64 * 264 * sizeof(float), {},
                                 static_cast<const float*>(with_bias ? bias.data() : nullptr), y, length, j, channels);
              for (size_t k = 0; k < memory.size(); k++) {
                const int64_t at = memory.data() + k - y;
                if (std::isnan(memory[k])) continue;
                ASSERT_TRUE(at >= 0 && at < channels * length) << "beside y: " << at;
                const int64_t r = at / length, o = at % length - j;
                float expected = with_bias ? bias[static_cast<size_t>(r)] : 0.0f;
                if (o % 2 == 0) expected += static_cast<float>(r * tiles.row + o / 2);
                ASSERT_EQ(memory[k], expected) << name << " length " << length << " row " << r << " + " << o;
                seen(at, (at + y_after) / 64);
              }
            };
            std::vector<int> written(static_cast<size_t>(channels * length));
            if (all) run(all, begin, [&](int64_t at, int64_t) { written[static_cast<size_t>(at)] = 1; });
            // Tile by tile: which one has written a block of a row.
            std::map<std::pair<int64_t, int64_t>, int64_t> by;
            for (int64_t j = begin; j < std::max<int64_t>(length - tiles.rest, 1); j += tiles.own)
              run(tiles.name, j, [&](int64_t at, int64_t block) {
                written[static_cast<size_t>(at)]++;
                auto [it, first] = by.insert({{at / length, block}, j});
                if (!first && it->second != j) blocks++;
              });
            for (size_t k = 0; k < written.size(); k++)
              EXPECT_EQ(written[k], all ? 2 : 1)
                  << tiles.name << " length " << length << " begin " << begin << ": word " << k;
          }
    return blocks;
  };
  EXPECT_EQ(split({"results_s2_d2_blocks", 192, 8192, 64}, "results_s2_d2_all_blocks"), 0);
  EXPECT_GT(split({"results_s2_d2_sectors", 248, 2048, 0}, nullptr), 0);
}

}  // namespace
}  // namespace convscope
