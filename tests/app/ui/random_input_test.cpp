// A thousand random events over the whole window with an engine behind it: whatever is pressed, it stands.
#include <filesystem>
#include <gtest/gtest.h>

#include "app/ui/actions.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"

namespace convscope::ui {
namespace {

class Hand {
 public:
  Hand(test::AppOnScreen& a, uint64_t seed) : a_(a), random_(seed) {}

  void act() {
    auto& s = a_.screen;
    auto display = s.io().DisplaySize;
    auto any = [&](float limit) { return static_cast<float>(random_() % 10001) / 10000 * limit; };
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
        s.mouse(any(display.x), any(display.y));
        break;
      case 3:
      case 4:
        s.click(*a_, any(display.x), any(display.y), random_() % 5 == 0 ? 1 : 0);
        break;
      case 5: {
        ImVec2 from{any(display.x), any(display.y)}, by{any(400) - 200, any(300) - 150};
        s.drag(*a_, from, {from.x + by.x, from.y + by.y}, 4);
        break;
      }
      case 6:
        s.io().AddMouseWheelEvent(0, any(6) - 3);
        break;
      case 7: {
        const auto& action = actions()[random_() % actions().size()];
        if (action.chord && std::string(action.id) != "quit") s.press(*a_, action.chord);
        break;
      }
      case 8: {
        const ImGuiKey keys[] = {ImGuiKey_Tab,       ImGuiKey_Enter,     ImGuiKey_Escape,     ImGuiKey_UpArrow,
                                 ImGuiKey_DownArrow, ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_Backspace,
                                 ImGuiKey_Delete,    ImGuiKey_Space,     ImGuiKey_Home,       ImGuiKey_End,
                                 ImGuiKey_PageDown};
        s.press(*a_, keys[random_() % std::size(keys)] | (random_() % 4 ? 0 : ImGuiMod_Shift));
        break;
      }
      case 9: {
        std::string text;
        for (auto n = random_() % 6; n > 0; n--) text += "0123456789-e abxyzSK"[random_() % 20];
        s.type(*a_, text);
        break;
      }
      case 10:  // a number where numbers are
        s.io().AddKeyEvent(ImGuiMod_Ctrl, true);
        s.click(*a_, any(display.x * 0.25f), any(display.y));
        s.io().AddKeyEvent(ImGuiMod_Ctrl, false);
        s.frame(*a_);
        s.type(*a_, std::to_string(static_cast<int64_t>(random_() >> (random_() % 60))));
        s.press(*a_, ImGuiKey_Enter);
        break;
      default:
        if (random_() % 6 == 0)
          s.resize(300 + any(1500), 200 + any(1000));
        else
          s.frames(*a_, 2);
    }
    s.frame(*a_);
    keep_small();
  }

 private:
  // Large problems are right to choose, and not to compute in a test.
  void keep_small() {
    const ConvProblem& p = a_->document().problem;
    double work = static_cast<double>(p.y_elements()) * static_cast<double>(p.kernel_size) *
                  static_cast<double>(p.in_per_group());
    if (work > 2e6 || p.x_elements() > 100000 || p.w_elements() > 100000)
      a_->execute({ReplaceDocument{test::quick_document(static_cast<int64_t>(20 + random_() % 40), "S4"), ""}});
  }
  test::AppOnScreen& a_;
  test::Random random_;
};

class RandomInput : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomInput, AThousandEvents) {
  // Deep in a folder of its own: what is saved by chance lies there.
  test::ScratchFolder folder;
  namespace fs = std::filesystem;
  fs::path was = fs::current_path();
  fs::create_directories(folder.path("a/b/c/d/e/f"));
  fs::current_path(folder.path("a/b/c/d/e/f"));
  {
    test::AppOnScreen a("", test::quick_document(60, "S4"));
    a.screen.settle(*a);
    Hand hand(a, GetParam());
    std::set<std::string> statuses;
    for (int i = 0; i < (test::under_sanitizer ? 300 : 1000); i++) {
      hand.act();
      ASSERT_EQ(test::why_illegal(a->document()), "") << "event " << i;
      ASSERT_TRUE(a.screen.errors.empty()) << "event " << i << ": " << a.screen.errors.front();
      if (testing::Test::HasFatalFailure()) break;
      const View v = fitted(a->views().now(), {1000, 1000});
      ASSERT_TRUE(v.row0 >= 0 && v.column0 >= 0) << "event " << i;
      if (auto r = a->bench().runs().report()) statuses.insert(r->status);
    }
    EXPECT_EQ(a->bench().link().status().deaths, 0) << a->bench().link().status().last_death;
    EXPECT_GE(statuses.size(), 2u) << "runs came to an end meanwhile";
    // It still does what it should.
    for (int i = 0; i < 3; i++) a.screen.press(*a, ImGuiKey_Escape);
    // A copy of a kernel that was asked for by chance is chosen once it has been compiled.
    ASSERT_TRUE(a.screen.until(
        *a, [&] { return a->coming_kernel().empty(); }, 60));
    a->execute({ReplaceDocument{test::quick_document(33), ""}});
    a->run();
    ASSERT_TRUE(a.screen.settle(*a));
    const Report& last = *a->bench().runs().report();
    EXPECT_EQ(last.status, "right") << last.kernel << " on " << describe(last.document.problem) << ": " << last.sentence
                                    << "\nthe document has " << a->document().kernel << " on "
                                    << describe(a->document().problem) << "; " << a->toast();
    while (a->history().can_undo()) {
      a->undo();
      ASSERT_EQ(test::why_illegal(a->document()), "");
    }
    a->bench().cancel();
  }
  fs::current_path(was);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomInput, testing::Values(1, 2));

}  // namespace
}  // namespace convscope::ui
