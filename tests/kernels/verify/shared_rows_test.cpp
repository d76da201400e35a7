#include "kernels/verify/shared_rows.h"

#include <gtest/gtest.h>

namespace convscope {
namespace {

std::vector<int64_t> rows(int64_t count, int64_t length, int64_t pitch) {
  std::vector<int64_t> all;
  for (int64_t r = 0; r < count; r++)
    for (int64_t i = 0; i < length; i++) all.push_back(r * pitch + i);
  return all;
}

TEST(SharedRows, AreFound) {
  EXPECT_EQ(rows_of(rows(4, 32, 33)).pitch, 33);
  EXPECT_EQ(rows_of(rows(4, 32, 33)).length, 32);
  EXPECT_EQ(rows_of(rows(4, 32, 32)).pitch, 0) << "one piece";
  EXPECT_EQ(rows_of(rows(4, 32, 32)).length, 128);
  auto cut = rows(4, 32, 33);
  cut.resize(100);
  EXPECT_EQ(rows_of(cut).pitch, 33) << "the last one may end before";
  EXPECT_EQ(rows_of({}).length, 0);
  EXPECT_EQ(rows_of({0, 1, 5, 6, 20}).length, 0) << "no rows";
  EXPECT_EQ(rows_of({0, 1, 5, 10, 11}).length, 0) << "of two lengths";
  EXPECT_EQ(rows_of({0, 1, 2, 4, 5}).length, 0) << "two pieces that are not alike";
  EXPECT_EQ(rows_of({0, 1, 3, 4}).pitch, 3);
}

TEST(SharedRows, ThatDifferAreSaid) {
  const SharedRows padded{32, 33}, plain{128, 0}, other{32, 36}, row{32, 0};
  EXPECT_EQ(rows_that_differ(padded, plain, " at up.cu:22"),
            "what is written at up.cu:22 lies in rows of 32 that begin every 33 elements, and is read as one piece");
  EXPECT_EQ(rows_that_differ(plain, padded, ""),
            "what is written lies in one piece, and is read in rows of 32 that begin every 33 elements");
  EXPECT_EQ(rows_that_differ(padded, other, ""),
            "what is written lies in rows of 32 that begin every 33 elements, and is read in rows of 32 that begin "
            "every 36 elements");
  for (const auto& [written, read] : {std::pair(padded, padded),
                                      {plain, plain},
                                      {row, padded},
                                      {padded, row},
                                      {SharedRows{}, padded},
                                      {padded, SharedRows{}}})
    EXPECT_EQ(rows_that_differ(written, read, ""), "");
}

}  // namespace
}  // namespace convscope
