// Scenarios: a person's steps in the window, drawn offscreen, and what the model must hold afterwards. One program runs
// one of them (main.cpp); each is a row of ctest, found by its SCENARIO line.
#pragma once
#include <fmt/format.h>
#include <functional>
#include <imgui.h>
#include <imgui_test_engine/imgui_te_context.h>
#include <imgui_test_engine/imgui_te_engine.h>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/ui/app.h"
#include "tests/support.h"

namespace convscope::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double slowness = 10;
#else
inline constexpr double slowness = 1;
#endif

// A check did not hold: the scenario ends. The engine has the words already.
struct Failed {};
// What the scenario needs is not here; said and counted as skipped.
struct Skipped {
  std::string why;
};

// What a scenario may ask of the loop that draws; done between two frames.
struct Stage {
  ImVec2 size{1600, 1000};  // of the window
  bool capture = false;     // keep all text of the next frame
  std::string words;
  std::string home;    // a folder of the scenario's own; its settings are home + "/settings.json"
  std::string engine;  // command of the engine
};

class Gui {
 public:
  Gui(ImGuiTestContext* context, ui::App& shown, Stage& on) : ctx(context), app(shown), stage(on) {}

  ImGuiTestContext* ctx;
  ui::App& app;
  Stage& stage;

  // ---- waiting ----------------------------------------------------------------------------------------------------
  void frames(int n = 2) { ctx->Yield(n); }
  void until(const std::function<bool()>& holds, const char* what, double seconds = 20);
  // Nothing is under way any more: no run, no tile, no explanation, for some frames.
  void settle(double seconds = 60);

  // ---- what stands on the screen
  // ---------------------------------------------------------------------------------------- All text of one frame,
  // also what is scrolled out of sight. Text that is painted as part of a picture is not among it.
  std::string words();
  bool says(const std::string& text) { return words().find(text) != std::string::npos; }
  ImGuiTestItemInfo item(const std::string& ref) { return ctx->ItemInfo(ref.c_str(), ImGuiTestOpFlags_NoError); }
  bool exists(const std::string& ref) { return item(ref).ID != 0; }
  bool enabled(const std::string& ref) { return !(item(ref).ItemFlags & ImGuiItemFlags_Disabled); }
  // The one item whose path below a window ends so; scrolled into view.
  void panel(const char* title);
  void popup(const char* title);  // a modal window is open and in front

  // ---- hands ------------------------------------------------------------------------------------------------------
  void click(const std::string& ref) { act(ImGuiTestAction_Click, ref); }
  void type(const std::string& ref, const std::string& text, bool enter = true);
  void choose(const std::string& combo, const std::string& entry);
  void act(ImGuiTestAction action, const std::string& ref);
  void key(ImGuiKeyChord chord, int count = 1);
  void press(const char* action);  // an action of the table by its chord
  void menu(const char* action);   // the same by its menu
  // Where an element stands on a map.
  ImVec2 place(Pictures::Map map, double row, double column);
  void click_element(Pictures::Map map, int64_t row, int64_t column);
  void drag(ImVec2 from, ImVec2 to, ImGuiMouseButton button = 0);
  const char* clipboard() { return ctx->Clipboard.empty() ? "" : ctx->Clipboard.Data; }

  // ---- the model --------------------------------------------------------------------------------------------------
  const Document& document() const { return app.document(); }
  const ConvProblem& problem() const { return app.document().problem; }
  const Workbench& bench() const { return std::as_const(app).bench(); }
  View view() const { return fitted(app.views().now(), extent()); }
  Extent extent() const;
  uint64_t serial() const { return bench().runs().report() ? bench().runs().report()->serial : 0; }
  void load(const Document& document);  // and waits for its result
  std::string path(const std::string& name) const { return stage.home + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

  // ---- checks -----------------------------------------------------------------------------------------------------
  [[noreturn]] void fail(const std::string& why, const char* file, int line);
  void check(bool holds, const char* text, const char* file, int line);
  template <class A, class B>
  void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
    bool same;
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool>)
      same = std::cmp_equal(a, b);
    else
      same = a == b;
    if (!same) fail(fmt::format("{}: {} and {}", text, shown(a), shown(b)), file, line);
  }

 private:
  template <class T>
  static std::string shown(const T& v) {
    if constexpr (fmt::is_formattable<T>::value)
      return fmt::format("{}", v);
    else
      return "a value";
  }
};

// 1 × 4→6, K 3, L 64, s 2, p 1, d 2: every specimen can run it, in milliseconds.
Document small_document(const std::string& kernel = "S4");

struct Scenario {
  const char* name;
  void (*run)(Gui&);
  bool fresh;            // as at a first start; else small_document() has run
  void (*second)(Gui&);  // in a second program, started with the same home
};
std::vector<Scenario>& scenarios();

// Whether a panel is to be seen, not only behind another tab.
bool shown(Gui& g, const char* panel);

struct AddScenario {
  AddScenario(const char* name, void (*run)(Gui&), bool fresh, void (*second)(Gui&) = nullptr) {
    scenarios().push_back({name, run, fresh, second});
  }
};

// CMakeLists.txt finds them by these words at the start of a line.
#define SCENARIO_OF(name, fresh)                                                         \
  static void scenario_##name(::convscope::test::Gui& g);                                \
  static const ::convscope::test::AddScenario add_##name(#name, scenario_##name, fresh); \
  static void scenario_##name([[maybe_unused]] ::convscope::test::Gui& g)
#define SCENARIO(name) SCENARIO_OF(name, false)
#define FRESH_SCENARIO(name) SCENARIO_OF(name, true)
#define SCENARIO_TWICE(name, second)                                                             \
  static void scenario_##name(::convscope::test::Gui& g);                                        \
  static const ::convscope::test::AddScenario add_##name(#name, scenario_##name, false, second); \
  static void scenario_##name([[maybe_unused]] ::convscope::test::Gui& g)

#define CHECK(condition) g.check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) g.check_equal((a), (b), #a " = " #b, __FILE__, __LINE__)

}  // namespace convscope::test
