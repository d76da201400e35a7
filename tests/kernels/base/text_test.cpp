#include "kernels/base/text.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "kernels/base/error.h"

namespace convscope {
namespace {

TEST(NoiseText, HasTwoDigitsAndNoExponent) {
  EXPECT_EQ(noise_text(0.01637), "0.016 %");
  EXPECT_EQ(noise_text(1.25), "1.2 %");
  EXPECT_EQ(noise_text(12.3), "12 %");
  EXPECT_EQ(noise_text(120.4), "120 %");
  EXPECT_EQ(noise_text(0), "0 %");
}

TEST(CsvField, IsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_field("dac.d1 2.5 µs"), "dac.d1 2.5 µs");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a, b"), "\"a, b\"");
  EXPECT_EQ(csv_field("says \"no\""), "\"says \"\"no\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("ends\r"), "\"ends\r\"");
}

TEST(NearestName, FindsWhatIsMeant) {
  std::vector<std::string> names{"kernelbench-64", "kernelbench-79", "hifigan.u1", "direct", "tiled"};
  EXPECT_EQ(nearest_name("kernelbench-78", names), "kernelbench-79");
  EXPECT_EQ(nearest_name("tilled", names), "tiled");
  EXPECT_EQ(nearest_name("DIRECT", names), "direct") << "case is no difference";
  EXPECT_EQ(nearest_name("hifigan-u1", names), "hifigan.u1");
  EXPECT_EQ(nearest_name("tiled", names), "tiled");
  EXPECT_EQ(nearest_name("tilde", names), "tiled") << "neighbours exchanged are one mistake";
  EXPECT_EQ(nearest_name("itled", names), "tiled");
}

TEST(NearestName, FindsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("cublas", {"direct", "tiled"}), "");
  EXPECT_EQ(nearest_name("", {"direct"}), "");
  EXPECT_EQ(nearest_name("direct", {}), "");
  // Exactly a third of the letters may differ, one more may not.
  EXPECT_EQ(nearest_name("abcdef", {"abcdxy"}), "abcdxy");
  EXPECT_EQ(nearest_name("abcdef", {"abcxyz"}), "");
  EXPECT_EQ(nearest_name("abcde", {"adcbe"}), "") << "these are no neighbours";
}

TEST(NearestName, TakesTheNearestNotTheFirst) { EXPECT_EQ(nearest_name("S3", {"S10", "S4", "S3"}), "S3"); }

TEST(HashOf, IsTheOneOfItsAuthors) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8u);
}

TEST(Today, IsADay) {
  std::string day = today();
  ASSERT_EQ(day.size(), 10u) << day;
  EXPECT_GE(day, "2026-11-01");
  EXPECT_EQ(day[4], '-');
  EXPECT_EQ(day[7], '-');
}

TEST(Grouped, PutsACommaBeforeEachThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(std::numeric_limits<int64_t>::max()), "9,223,372,036,854,775,807");
  EXPECT_EQ(grouped(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(BytesText, ChoosesTheUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(uint64_t{4} << 30), "4.00 GiB");
  EXPECT_EQ(bytes_text(1536u << 10), "1.50 MiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<uint64_t>::max()), "16384.00 PiB");
}

TEST(TimeText, HasThreeSignificantDigits) {
  EXPECT_EQ(time_text(12.345), "12.3 ms");
  EXPECT_EQ(time_text(0.0123), "12.3 µs");
  EXPECT_EQ(time_text(1.006), "1.01 ms");
  EXPECT_EQ(time_text(4000), "4.00 s");
  EXPECT_EQ(time_text(1e-5), "10.0 ns");
  EXPECT_EQ(time_text(-2), "-2.00 ms");
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(123.4), "123 ms") << "no bare point at the end";
  EXPECT_EQ(time_text(999.9), "1.00 s") << "rounding up takes the next unit";
  EXPECT_EQ(time_text(std::nan("")), "unknown");
  EXPECT_EQ(time_text(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(NumberText, SpellsOutWhatIsNotFinite) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(number_text(std::nan("")), "NaN");
  EXPECT_EQ(number_text(infinity), "Infinity");
  EXPECT_EQ(number_text(-infinity), "-Infinity");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1234567), "1.23457e+06");
}

TEST(PercentText, NeverSaysAllOrNothingOfWhatIsNot) {
  EXPECT_EQ(percent_text(0, 10), "0 %");
  EXPECT_EQ(percent_text(10, 10), "100 %");
  EXPECT_EQ(percent_text(965, 1000), "96.5 %");
  EXPECT_EQ(percent_text(1, 1e9), "1e-07 %");
  EXPECT_EQ(percent_text(999999, 1000000), "99.9999 %");
  EXPECT_EQ(percent_text(99951, 100000), "99.95 %");
  EXPECT_EQ(percent_text(1e18 - 1000, 1e18), "just under 100 %");
  EXPECT_EQ(percent_text(0, 0), "0 %");
  for (double whole : {1e3, 1e6, 1e9, 1e12, 1e15})
    for (double part : {1.0, 2.0, whole / 2, whole - 2, whole - 1}) {
      EXPECT_NE(percent_text(part, whole), "0 %") << part << " of " << whole;
      EXPECT_NE(percent_text(part, whole).substr(0, 3), "100") << part << " of " << whole;
    }
}

TEST(InputErrors, NameFieldValueAndRule) {
  InputError e("padding", "-1", "must be at least 0");
  EXPECT_STREQ(e.what(), "padding -1 must be at least 0");
  EXPECT_EQ(e.field(), "padding");
  EXPECT_EQ(e.value(), "-1");
  EXPECT_EQ(e.rule(), "must be at least 0");
  EXPECT_STREQ(InputError("kernel", "", "is missing").what(), "kernel is missing") << "no double space without a value";
}

TEST(OtherErrors, KeepWhatTheySay) {
  EXPECT_STREQ(MissingError("no GPU", "install a driver").what(), "no GPU; install a driver");
  EXPECT_STREQ(Cancelled().what(), "cancelled");
  EXPECT_FALSE(DeviceError("x").poisoned());
  EXPECT_TRUE(DeviceError("x", true).poisoned());
}

}  // namespace
}  // namespace convscope
