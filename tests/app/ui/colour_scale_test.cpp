// Ranges of the maps' colours that a person sets: by the bar below a map, by numbers, by keys.
#include "app/ui/panels/colour_scale.h"

#include <cmath>
#include <gtest/gtest.h>

#include "app/ui/actions.h"
#include "kernels/base/text.h"
#include "tests/app/ui/screen.h"
#include "tests/support.h"

namespace convscope::ui {
namespace {

constexpr size_t value_scale = static_cast<size_t>(ColourScale::values),
                 error_scale = static_cast<size_t>(ColourScale::error);

class MapColours : public testing::Test {
 protected:
  MapColours() : a_("", wrong()) {}
  void SetUp() override {
    ASSERT_TRUE(a_.screen.settle(*a_));
    a_.screen.frames(*a_, 5);
    bar_ = a_.screen.find(*a_, "Maps", bar(0), 0.15f);
    ASSERT_GT(bar_.GetWidth(), 100);
    first_ = automatic_range(ColourScale::values, *a_->picture(), nullptr);
  }
  static Document wrong() {
    Document d = test::quick_document(200, "S4");
    d.problem.dilation = 2, d.problem.out_channels = 40;
    return d;
  }
  static ImGuiID bar(int map, const char* item = "scale") {
    return test::Screen::id("Maps", {"#" + std::to_string(map), item});
  }
  const std::optional<ColourRange>& own(size_t scale = value_scale) { return a_->views().now().colours[scale]; }
  const Paint& paint(Pictures::Map map) { return std::as_const(*a_).bench().pictures().tile(map)->paint; }
  // From a part of the bar's width to another one.
  void drag(float from, float to) {
    const float y = bar_.Min.y + 2;
    a_.screen.drag(*a_, {bar_.Min.x + bar_.GetWidth() * from, y}, {bar_.Min.x + bar_.GetWidth() * to, y}, 12);
    ASSERT_TRUE(a_.screen.settle(*a_));
    a_.screen.frames(*a_, 40);  // the next press is no double click
  }
  void type(const char* number, ImGuiKey end) {
    ASSERT_TRUE(a_.screen.io().WantTextInput);
    a_.screen.press(*a_, ImGuiMod_Ctrl | ImGuiKey_A);
    a_.screen.type(*a_, number);
    a_.screen.press(*a_, end);
    a_.screen.frames(*a_, 3);
  }
  void open_numbers() {
    const float x = bar_.GetCenter().x, y = bar_.Min.y + 2;
    a_.screen.click(*a_, x, y);
    a_.screen.click(*a_, x, y);
    a_.screen.frames(*a_, 4);
  }
  static bool popup_is_open() { return ImGui::GetCurrentContext()->OpenPopupStack.Size > 0; }
  test::AppOnScreen a_;
  ImRect bar_;
  ColourRange first_;
};

TEST_F(MapColours, AnEndIsDraggedAndBothMapsFollow) {
  const double span = first_.high - first_.low;
  ASSERT_FALSE(own());
  EXPECT_EQ(paint(Pictures::Map::kernel).low, first_.low);
  drag(0.05f, 0.3f);
  ASSERT_TRUE(own());
  EXPECT_NEAR(own()->low, first_.low + 0.25 * span, 0.03 * span);
  EXPECT_EQ(own()->high, first_.high) << "the other end stays";
  for (auto map : {Pictures::Map::kernel, Pictures::Map::reference}) {
    EXPECT_EQ(paint(map).low, own()->low) << "one scale for both";
    EXPECT_EQ(paint(map).high, own()->high);
  }
  EXPECT_EQ(paint(Pictures::Map::difference), (Paint{ColourMap::excess, 0, 1, false}));
  // The whole drag is one place to come back to.
  a_->view_back();
  EXPECT_FALSE(own());
  a_->view_forward();
  EXPECT_TRUE(own());
}

TEST_F(MapColours, TheMiddleMovesBothEnds) {
  const double span = first_.high - first_.low;
  drag(0.5f, 0.7f);
  ASSERT_TRUE(own());
  EXPECT_NEAR(own()->low, first_.low - 0.2 * span, 0.03 * span);
  EXPECT_NEAR(own()->high - own()->low, span, 1e-6 * span);
}

TEST_F(MapColours, AClickOnOwnRangeEndsIt) {
  drag(0.95f, 0.6f);
  ASSERT_TRUE(own());
  a_.screen.click(*a_, bar_.GetCenter().x, bar_.Max.y - 4);
  a_.screen.frames(*a_, 2);
  EXPECT_FALSE(own());
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(paint(Pictures::Map::kernel).high, first_.high);
  // The control: without a range of one's own there is nothing to click on.
  const View before = a_->views().now();
  a_.screen.frames(*a_, 40);
  a_.screen.click(*a_, bar_.GetCenter().x, bar_.Max.y - 4);
  EXPECT_EQ(a_->views().now(), before);
}

TEST_F(MapColours, TheTooltipCountsWhatIsBeyond) {
  auto said = [&] {
    a_.screen.mouse(bar_.Min.x + 8, bar_.Min.y + 2);
    a_.screen.frames(*a_, 60);
    return a_.screen.text(*a_);
  };
  EXPECT_NE(said().find("Drag an end for a range of your own"), std::string::npos);
  EXPECT_EQ(said().find("Own range:"), std::string::npos);
  View v = a_->views().now();
  v.colours[value_scale] = ColourRange{first_.low, first_.low / 2 + first_.high / 2};
  a_->apply(SetView{v, true});
  ASSERT_TRUE(a_.screen.settle(*a_));
  const MapTile& tile = *std::as_const(*a_).bench().pictures().tile(Pictures::Map::kernel);
  const BeyondScale beyond = beyond_scale(tile.cells, tile.paint);
  ASSERT_GT(beyond.above, 0u);
  const std::string text = said();
  const std::string count =
      grouped(static_cast<int64_t>(beyond.below + beyond.above)) + " of " + grouped(static_cast<int64_t>(beyond.cells));
  EXPECT_NE(text.find("Own range: " + count), std::string::npos) << text;
}

TEST_F(MapColours, ADoubleClickTypesTheEnds) {
  open_numbers();
  ASSERT_TRUE(popup_is_open());
  type("-0.01", ImGuiKey_Tab);
  type("0.02", ImGuiKey_Enter);
  ASSERT_TRUE(own());
  EXPECT_EQ(*own(), (ColourRange{-0.01, 0.02}));
  EXPECT_FALSE(popup_is_open()) << "Enter in the last number closes it";
  // What is no range says why, and changes nothing.
  a_.screen.frames(*a_, 40);
  open_numbers();
  type("5", ImGuiKey_Enter);
  EXPECT_NE(a_.screen.text(*a_).find("the range must go up"), std::string::npos);
  EXPECT_EQ(*own(), (ColourRange{-0.01, 0.02}));
}

TEST_F(MapColours, KeysHalveDoubleAndReset) {
  auto press = [&](ImGuiKeyChord c) { a_.screen.press(*a_, c), a_.screen.frames(*a_, 2); };
  EXPECT_FALSE(find_action("colours-automatic")->enabled(*a_)) << "it is automatic";
  press(ImGuiKey_E);
  ASSERT_TRUE(own());
  EXPECT_EQ(*own(), stretched(ColourScale::values, first_, 0.5));
  EXPECT_FALSE(own(error_scale)) << "which is not shown";
  press(ImGuiMod_Shift | ImGuiKey_E);
  EXPECT_EQ(*own(), first_);
  press(ImGuiKey_R);
  EXPECT_FALSE(own());
  View v = a_->views().now();
  v.difference_is_ratio = false;
  a_->apply(SetView{v, true});
  press(ImGuiKey_E);
  ASSERT_TRUE(own(error_scale));
  EXPECT_EQ(own(error_scale)->low, -own(error_scale)->high);
  ASSERT_TRUE(a_.screen.settle(*a_));
  EXPECT_EQ(paint(Pictures::Map::difference).high, own(error_scale)->high);
  EXPECT_LT(own(error_scale)->high, automatic_range(ColourScale::error, *a_->picture(), nullptr).high);
}

TEST_F(MapColours, FitToWhatIsVisible) {
  View v = focused({}, {40, static_cast<double>(a_->picture()->columns())}, {5, 60}, 4, 4);
  v.difference_is_ratio = false;
  a_->apply(SetView{v, true});
  ASSERT_TRUE(a_.screen.settle(*a_));
  const NumberBlock* numbers = std::as_const(*a_).bench().pictures().numbers();
  ASSERT_TRUE(numbers);
  ColourRange values{1e30, -1e30};
  double error = 0;
  for (int64_t r = numbers->row0; r < numbers->row1; r++)
    for (int64_t c = numbers->column0; c < numbers->column1; c++) {
      const double* n = numbers->at(r, c);
      values = {std::min(values.low, n[1]), std::max(values.high, n[1])};
      error = std::max(error, std::fabs(n[2]));
    }
  ASSERT_GT(error, 0);
  a_.screen.press(*a_, ImGuiMod_Shift | ImGuiKey_R);
  ASSERT_TRUE(own());
  EXPECT_NEAR(own()->low, values.low, 1e-6);
  EXPECT_NEAR(own()->high, values.high, 1e-6);
  EXPECT_LT(own()->high - own()->low, first_.high - first_.low) << "a part has not all";
  ASSERT_TRUE(own(error_scale));
  EXPECT_NEAR(own(error_scale)->high, error, 1e-6);
}

// Who turns a parameter compares; of another problem everything is shown.
TEST_F(MapColours, AnotherProblemIsAutomatic) {
  View v = a_->views().now();
  v.colours[value_scale] = ColourRange{-1, 1};
  a_->apply(SetView{v, true});
  Document d = wrong();
  d.problem.length += 3;
  a_->execute({ReplaceDocument{d, ""}});
  EXPECT_TRUE(own());
  d.problem.length = 20, d.problem.out_channels = 3;
  a_->execute({ReplaceDocument{d, ""}});
  EXPECT_FALSE(own());
}

}  // namespace
}  // namespace convscope::ui
