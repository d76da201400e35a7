// Channels, rows and positions that are not the definition's, where the taps are, by name.
#include <gtest/gtest.h>

#include "kernels/verify/xray.h"
#include "tests/kernels/verify/judging.h"

namespace convscope {
namespace {

struct RowsFault {
  const char *kernel, *sentence;
};
std::ostream& operator<<(std::ostream& out, const RowsFault& f) { return out << f.kernel; }
class XrayRows : public testing::TestWithParam<RowsFault> {};

TEST_P(XrayRows, AreToldByName) {
  const RowsFault& f = GetParam();
  const Xray x = test::rayed(f.kernel, {.batch = 2,
                                        .in_channels = 9,
                                        .out_channels = 12,
                                        .kernel_size = 5,
                                        .length = 400,
                                        .stride = 3,
                                        .padding = 2,
                                        .output_padding = 1,
                                        .dilation = 2,
                                        .groups = 3,
                                        .bias = true});
  EXPECT_EQ(x.is, Xray::Is::wrong);
  EXPECT_EQ(x.sentence, f.sentence);
  EXPECT_NE(x.example, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, XrayRows,
    testing::Values(
        RowsFault{"f_group_modulo", "the group is co mod groups where co/(Cout/groups) belongs"},
        RowsFault{"f_group_by_inputs", "the group is co/(Cin/groups) where co/(Cout/groups) belongs"},
        RowsFault{"f_groups_backwards", "groups are taken in reverse order"},
        RowsFault{"f_x_rows_of_nine", "rows of x are taken to be 9 apart, and they are L apart"},
        RowsFault{"f_x_sequences_of_five", "sequences of x are taken to be 5 rows apart, and they are Cin rows apart"},
        RowsFault{"f_w_rows_of_six", "rows of w are taken to be 6 apart, and they are K apart"},
        RowsFault{"f_w_rows_of_three",
                  "rows of w are taken to be 3 apart, and they are K apart: taps from k = 3 on are left out"},
        RowsFault{"f_parts_overlap",
                  "input channels 1, 4 of 6 count twice (on 2 × 6→4, K 5, L 9, s 3, p 2, d 2, op 1, groups 2, bias)"},
        RowsFault{"f_tree_ends_early",
                  "of the Cin/groups·K = 15 products of a sum, counted by c·K + k, number 1 of every 2 is left out (on "
                  "2 × 6→4, K 5, L 9, s 3, p 2, d 2, op 1, groups 2, bias)"},
        RowsFault{"f_tail_of_products",
                  "of the Cin/groups·K = 15 products of a sum, counted by c·K + k, numbers 12–14 are left out (on 2 × "
                  "6→4, K 5, L 9, s 3, p 2, d 2, op 1, groups 2, bias)"},
        RowsFault{"f_pairs_exchanged", "of every 4 positions, 0 holds what belongs at 1, 1 holds what belongs at 0"}),
    [](const auto& info) { return std::string(info.param.kernel); });

}  // namespace
}  // namespace convscope
