// Every panel alone, in every size, scale and theme, whatever there is to show.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>

#include "app/ui/actions.h"
#include "app/ui/widgets.h"
#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"

namespace convscope::ui {
namespace {

using test::holds;

struct Size {
  float width, height;
};
constexpr Size sizes[] = {{1600, 1000}, {1366, 768}, {300, 400}};

// Draws all panels in all sizes, scales and themes; Screen looks at what is drawn.
void draw_all(test::AppOnScreen& a) {
  int before = ImGui::GetFrameCount();
  for (bool light : {false, true}) {
    Settings s = a->settings();
    s.theme = light ? Settings::Theme::light : Settings::Theme::dark;
    a->apply(SetSettings{s});
    for (float scale : {0.75f, 1.0f, 2.0f}) {
      a.screen.scale = scale;
      for (Size size : sizes) {
        a.screen.resize(size.width, size.height);
        for (const auto& p : panels()) {
          a->show_only(p.title);
          for (int i = 0; i < 5; i++) {
            // Somewhere over it, where its tooltips are.
            a.screen.mouse(size.width * (0.15f + 0.17f * static_cast<float>(i)),
                           size.height * (0.2f + 0.15f * static_cast<float>(i)));
            a.screen.frame(*a, 0.2);
          }
          ASSERT_GT(ImGui::GetDrawData()->TotalVtxCount, 0) << p.title;
          ASSERT_TRUE(a.screen.errors.empty()) << p.title << ": " << a.screen.errors.front();
        }
      }
    }
  }
  a.screen.scale = 1;
  a.screen.resize(1600, 1000);
  EXPECT_EQ(ImGui::GetFrameCount() - before, 2 * 3 * 3 * 5 * static_cast<int>(panels().size()));
}

Document wrong() {
  Document d = test::quick_document(60, "S4");
  d.problem.dilation = 2;
  return d;
}

TEST(Panels, TitlesAreUnique) {
  std::set<std::string> titles;
  for (const auto& p : panels()) {
    EXPECT_TRUE(titles.insert(p.title).second);
    EXPECT_STRNE(p.about, "");
  }
}

TEST(Panels, OneThatIsNotThere) {
  test::AppOnScreen a(test::silent_engine);
  EXPECT_NE(
      test::error_of<InputError>([&] { a->show_only("Map"); }).find("panel Map is not a panel: Problem, Kernels, Maps"),
      std::string::npos);
}

TEST(Panels, WithNoResult) {
  test::AppOnScreen a(test::silent_engine);
  draw_all(a);
  EXPECT_EQ(a->bench().runs().report(), nullptr);
  // What is empty says what to wait for.
  EXPECT_TRUE(holds(a.said("Maps"), "Computing the first picture")) << a.said("Maps");
  EXPECT_TRUE(holds(a.said("Kernels"), "No kernels yet")) << a.said("Kernels");
}

// Recorded figures have no picture: panels offer a short piece of the problem, of Hopper's kernels as well.
TEST(Panels, WithFiguresOfARecordingAlone) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(), false);
  ASSERT_TRUE(a.open_recording("h200-kernelbench-79"));
  a->execute({SetKernel{"S4"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_EQ(a->bench().runs().picture(), nullptr);
  for (const char* panel : {"Maps", "Lines", "Error statistics", "Explain"}) {
    std::string text = a.said(panel);
    EXPECT_TRUE(holds(text, "Run a short piece of it")) << panel << ": " << text;
  }
  a->execute({SetKernel{"hopper_tf32"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  std::string text = a.said("Maps");
  EXPECT_TRUE(holds(text, "Run a short piece of it")) << text;
}

std::string shipped(const std::string& name) { return test::project_file("assets/recordings/" + name + ".convscope"); }

// A number is turned beside a recording, of a problem that is too large to run by itself: figures of what ran before
// are not in the place of those of the recording.
TEST(Panels, WithANumberTurnedBesideARecording) {
  test::AppOnScreen a(test::full_engine(), test::quick_document());
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_TRUE(a->bench().runs().report()->timing.median_ms);
  a->open(shipped("h200-kernelbench-79"));
  a->execute({SetKernel{"hopper_tf32"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  ConvProblem p = a->document().problem;
  p.length -= 2;
  a->execute({SetProblem{p}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_FALSE(a->bench().shows_recorded(a->document()));
  for (auto [panel, what] : {std::pair{"Verdict", "Not judged yet"},
                             {"Timing", "Not timed yet"},
                             {"Roofline", "Nothing to place under the roof yet"},
                             {"Occupancy", "Not launched yet"}}) {
    const std::string text = a.said(panel);
    for (const char* words : {what, "not recorded: this is length 131070", "Back to the recorded", "Run a short piece"})
      EXPECT_TRUE(holds(text, words)) << panel << ": " << text;
    EXPECT_FALSE(holds(text, "median")) << panel << ": " << text;
  }
  for (const char* panel : {"Counters", "Compare"}) {
    const std::string text = a.said(panel);
    EXPECT_TRUE(holds(text, "Back to the recorded")) << panel << ": " << text;
    EXPECT_FALSE(holds(text, "stale")) << "there are no figures in " << panel << ": " << text;
  }
}

// A recording that is opened after other work: the pictures of that work are not taken for the recording's.
TEST(Panels, WithARecordingAfterOtherWork) {
  test::AppOnScreen a(test::full_engine(), test::quick_document());
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_NE(a->bench().runs().picture(), nullptr);
  a->open(shipped("h200-kernelbench-79"));
  a->execute({SetKernel{"S4"}, 0});
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_NE(a->bench().runs().picture(), nullptr) << "it is kept";
  ASSERT_FALSE(a->bench().report_of(a->document())->recorded.empty());
  EXPECT_EQ(a->picture(), nullptr);
  EXPECT_FALSE(find_action("next-failing")->enabled(*a));
  for (const char* panel : {"Maps", "Lines", "Error statistics", "Explain"}) {
    std::string text = a.said(panel);
    EXPECT_TRUE(holds(text, "Run a short piece")) << panel << ": " << text;
    EXPECT_FALSE(holds(text, "stale")) << panel << ": " << text;
    EXPECT_FALSE(holds(text, "none of")) << panel << ": " << text;
  }
  // The piece is not what was recorded: what each is of is said of each.
  a->shorten();
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_NE(a->picture(), nullptr);
  std::string text = a.said("Verdict");
  EXPECT_TRUE(holds(text, "not recorded: this is batch 1, length 4096; the recording (")) << text;
  EXPECT_TRUE(holds(text, ") has batch 16, length 131072")) << text;
  EXPECT_TRUE(holds(a.said("Lines"), "wheel zooms, click selects")) << a.said("Lines");
}

// Times and counters of a kernel that was not judged: nothing is said of a run, and what is offered does not take long.
TEST(Panels, OfAKernelThatWasNotJudged) {
  test::AppOnScreen a(test::full_engine(), test::quick_document(), false);
  ASSERT_TRUE(a.screen.settle(*a));
  int met = 0;
  for (const char* name : {"h200-kernelbench-74", "h200-kernelbench-79"}) {
    a->open(shipped(name));
    for (const auto& k : a->bench().inventory().kernels()) {
      a->execute({SetKernel{k.name}, 0});
      const Report* r = a->bench().report_of(a->document());
      if (!r || r->status != "not-judged") continue;
      met++;
      std::string text = a.said("Verdict");
      EXPECT_TRUE(holds(text, "No figures: the kernel has not been run against the oracle.")) << k.name << text;
      EXPECT_FALSE(holds(text, "Run (F5)")) << k.name << ": " << text;
      EXPECT_TRUE(holds(text, k.available ? "Run a short piece (Shift+F5)" : "cannot run on this machine")) << text;
    }
  }
  if (!met) GTEST_SKIP() << "every kernel of these recordings was judged";
}

TEST(Panels, WithNoEngine) {
  test::AppOnScreen a("/nothing/here");
  ASSERT_TRUE(a.screen.settle(*a));
  draw_all(a);
  EXPECT_TRUE(holds(a.said("Verdict"), "its command must start `convscope engine`")) << a.said("Verdict");
  const auto& log = a->bench().link().log();
  EXPECT_TRUE(
      std::any_of(log.begin(), log.end(), [](const LogLine& l) { return holds(l.text, "the engine does not start"); }));
}

// The engine is stopped when its first pictures have come and its verdict has not.
TEST(Panels, WithAPartialResult) {
  Document d = wrong();
  d.problem.length = 20000;
  test::AppOnScreen a(test::full_engine(), d);
  bool partial = false;
  for (int i = 0; i < 20 && !partial; i++) {
    a->run();
    partial = a.screen.until(
        *a,
        [&] {
          auto r = a->bench().runs().report();
          return r && !r->final && r->document == d;
        },
        3);
  }
  ASSERT_TRUE(partial);
  pid_t engine = a->bench().link().pid();
  kill(engine, SIGSTOP);
  draw_all(a);
  if (auto r = a->bench().runs().report(); r && !r->final) {
    EXPECT_TRUE(a->bench().runs().running());
    EXPECT_TRUE(holds(a.said("Maps"), "S4 (kernel)")) << a.said("Maps");
  }
  kill(engine, SIGCONT);
  ASSERT_TRUE(a.screen.settle(*a));
}

TEST(Panels, WithAFinalResult) {
  test::AppOnScreen a("", wrong());
  ASSERT_TRUE(a.screen.settle(*a));
  View v = a->views().now();
  auto first = a->bench().runs().report()->first_failing;
  ASSERT_TRUE(first);
  v.selected = ElementIndex{first->co, first->j};
  v.show_classes = true;
  a->apply(SetView{v, true});
  for (const char* panel : {"Explain", "Error statistics", "Source", "Lines", "Maps"}) {
    a->show_only(panel);
    ASSERT_TRUE(a.screen.settle(*a)) << panel;
    if (panel == std::string_view("Source")) {
      ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().sources().of("S4") != nullptr; }));
    }
  }
  draw_all(a);
  const std::string& sentence = a->bench().runs().report()->sentence;  // "wrong: …": the word stands above it
  EXPECT_TRUE(holds(a.said("Verdict"), "Wrong")) << a.said("Verdict");
  EXPECT_TRUE(holds(a.said("Verdict"), sentence.substr(sentence.find(": ") + 2))) << a.said("Verdict");
  EXPECT_TRUE(holds(a.said("Source"), "s4.cu")) << a.said("Source");
  EXPECT_TRUE(holds(a.said("Maps"), grouped(*a->bench().runs().report()->failing))) << a.said("Maps");
  EXPECT_TRUE(holds(a.said("Kernels"), "Our ladder")) << a.said("Kernels");
  EXPECT_TRUE(holds(a.said("Problem"), "Lout")) << a.said("Problem");
}

TEST(Panels, WithACrashedOne) {
  Document healthy = test::quick_document(64, "healthy");
  healthy.problem = {};
  healthy.problem.length = 64;
  test::AppOnScreen a(test::test_engine_with("CONVSCOPE_LIBDNNL=none"), healthy);
  ASSERT_TRUE(a.screen.settle(*a));
  a->execute({SetKernel{"wild_write"}});
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().runs().report()->status == "crashed"; }));
  ASSERT_TRUE(a.screen.settle(*a));
  draw_all(a);
  EXPECT_TRUE(holds(a.said("Verdict"), "Crashed")) << a.said("Verdict");
  EXPECT_FALSE(holds(a.said("Verdict"), "stale")) << "it is of this kernel: " << a.said("Verdict");
  EXPECT_TRUE(holds(a.said("Maps"), "healthy (kernel)")) << "the last good picture stays";
  EXPECT_TRUE(holds(a.said("Maps"), "stale: this is of kernel healthy; now: kernel wild_write")) << a.said("Maps");
}

// A result that is all NaN, one that was never written, and one of a single element.
TEST(Panels, WithOddResults) {
  test::AppOnScreen a("", test::quick_document());
  Document one = test::quick_document(1);
  one.problem = {};
  one.problem.length = 1;
  Document zeros = test::quick_document(9);
  zeros.problem.stride = 7;
  Document wide = test::quick_document(12);
  wide.inputs.x = {InputKind::wide, {}, {}};
  Document f64 = test::quick_document(12);
  f64.problem.dtype = DType::f64;
  for (const Document& d : {one, zeros, wide, f64}) {
    a->execute({ReplaceDocument{d, ""}});
    ASSERT_TRUE(a.screen.settle(*a));
    ASSERT_EQ(a->bench().runs().report()->status, "right") << a->bench().runs().report()->sentence;
    for (Size size : sizes) {
      a.screen.resize(size.width, size.height);
      for (const auto& p : panels()) {
        a->show_only(p.title);
        a.screen.frames(*a, 3);
      }
    }
  }
}

// The text with its marks beside numbers that need more than the width there is.
TEST(Panels, SourceInNoWidth) {
  test::AppOnScreen a("", wrong());
  ASSERT_TRUE(a.screen.settle(*a));
  View v = a->views().now();
  auto first = a->bench().runs().report()->first_failing;
  ASSERT_TRUE(first);
  v.selected = ElementIndex{first->co, first->j};
  a->apply(SetView{v, true});
  a->show_only("Source");
  ASSERT_TRUE(a.screen.settle(*a));
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().sources().of("S4") != nullptr; }));
  for (float width = 150; width > 20; width -= 15) {
    a.screen.resize(width, 1600);
    a.screen.frames(*a, 4);
  }
}

// A GPU of fakes: instructions, samples and lanes, in every size.
TEST(Panels, OfAProfileWithSamples) {
  auto fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
  test::Setting cuda("CONVSCOPE_LIBCUDA", fakes + "/libfake_cuda.so"),
      cupti("CONVSCOPE_LIBCUPTI", fakes + "/whole/libcupti.so.13"),
      nvml("CONVSCOPE_LIBNVML", fakes + "/libfake_nvml.so"), cudnn("CONVSCOPE_LIBCUDNN", "/nowhere"),
      us("FAKE_CUDA_KERNEL_US", "2000"), kernels("FAKE_CUPTI_KERNELS", "direct_f32"),
      tool("CONVSCOPE_NVDISASM", "/nowhere/nvdisasm");
  if (!std::filesystem::exists(fakes + "/libfake_cuda.so") || !std::filesystem::exists(fakes + "/whole/libcupti.so.13"))
    GTEST_SKIP() << "this build has no GPU side";
  Document d = test::quick_document(64, "direct");
  d.device = "cuda";
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.settle(*a));
  a->apply(RunAction{"profile-full"});
  auto there = [&] {
    const Profile* p = a->bench().measuring().profile();
    return p && p->full && !a->bench().measuring().waits();
  };
  ASSERT_TRUE(a.screen.until(*a, there, 60)) << a->bench().measuring().trouble();
  ASSERT_EQ(a->bench().measuring().profile()->device_kind, "cuda");
  ASSERT_GT(a->bench().measuring().profile()->samples.samples, 0) << a->bench().measuring().profile()->samples.reason;
  a.said("Source");
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().sources().machine_code() != nullptr; }));
  for (const char* said : {"Instructions", "Hottest: 26", "direct_f32, sm_90", "instructions have no text"})
    EXPECT_TRUE(holds(a.said("Source"), said)) << said << a.said("Source");
  for (const char* said : {"Launches", "Memory busy", "Multiprocessors at work", "Warps", "L2 traffic",
                           "calls back to back", "counted by hardware"})
    EXPECT_TRUE(holds(a.said("Timeline"), said)) << said << a.said("Timeline");
  draw_all(a);
}

TEST(Panels, ATimelineWithoutAGpuSaysWhy) {
  test::AppOnScreen a("", test::quick_document(64, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  a->apply(RunAction{"profile"});
  ASSERT_TRUE(a.screen.until(
      *a, [&] { return a->bench().measuring().profile() && !a->bench().measuring().waits(); }, 60));
  for (const char* said : {"What the engine did", "a timeline is a GPU's", "Here would be memory"})
    EXPECT_TRUE(holds(a.said("Timeline"), said)) << said << a.said("Timeline");
  for (const char* panel : {"Timeline", "Source", "Occupancy", "Counters", "Devices"})
    EXPECT_FALSE(holds(a.said(panel), "--device")) << "an option of the command line: " << a.said(panel);
}

TEST(Panels, SayChoicesWhereTheEngineSaysOptions) {
  EXPECT_EQ(in_the_window("none is used: run with --device cuda"), "none is used: run it on a GPU (panel Devices)");
  EXPECT_EQ(in_the_window("check nvidia-smi, or use --device emulator"),
            "check nvidia-smi, or choose the emulator in Devices");
  EXPECT_EQ(in_the_window("use --device cuda on a machine with one"), "choose a GPU in Devices, on a machine with one");
  EXPECT_EQ(in_the_window("a container needs --cap-add=SYS_ADMIN"), "a container needs --cap-add=SYS_ADMIN");
  EXPECT_EQ(in_the_window(""), "");
}

// ---- the whole window -----------------------------------------------------------------------------------------------

// A note of seconds is not seen by who looks away: the default problem would be taken for what was asked for.
TEST(Window, WhyWhatWasNamedAtTheStartIsNotShownStays) {
  test::AppOnScreen a("", test::quick_document(64, "direct"));
  ASSERT_TRUE(a.screen.settle(*a));
  auto later = [&] {
    for (int i = 0; i < 60; i++) a.screen.frame(*a, 0.5);
    return a->toast();
  };
  a->open("/nowhere/one.convscope");
  EXPECT_FALSE(a->toast().empty());
  EXPECT_EQ(later(), "");
  a->open_first("/nowhere/two.convscope");
  EXPECT_TRUE(holds(later(), "/nowhere/two.convscope"));
  for (int i = 0; i < 6; i++) a->open("/nowhere/three.convscope");
  EXPECT_TRUE(holds(later(), "/nowhere/two.convscope")) << "others do not push it away";
}

TEST(Window, DrawsInEverySize) {
  test::AppOnScreen a("", wrong());
  ASSERT_TRUE(a.screen.settle(*a));
  for (Size size : {Size{1600, 1000}, Size{1366, 768}, Size{1000, 700}, Size{300, 400}, Size{200, 150},
                    Size{3840, 2160}, Size{1600, 1000}})
    for (float scale : {0.75f, 1.0f, 2.0f}) {
      a.screen.scale = scale;
      a.screen.resize(size.width, size.height);
      a.screen.frames(*a, 4);
      ASSERT_TRUE(a.screen.errors.empty()) << a.screen.errors.front();
    }
}

TEST(Window, EveryActionThatIsEnabledCanBeRun) {
  test::AppOnScreen a("", wrong());
  ASSERT_TRUE(a.screen.settle(*a));
  for (const auto& action : actions()) {
    if (std::string(action.id) == "quit" || !action.enabled(*a)) continue;
    a->apply(RunAction{action.id});
    a.screen.frames(*a, 3);
    // What it has opened is closed again.
    for (int i = 0; i < 2; i++) a.screen.press(*a, ImGuiKey_Escape);
    ASSERT_EQ(test::why_illegal(a->document()), "") << action.id;
    ASSERT_TRUE(a.screen.errors.empty()) << action.id << ": " << a.screen.errors.front();
  }
  EXPECT_TRUE(a.screen.settle(*a));
}

// The window sleeps where no frame is due: what comes last must lie where it belongs by then.
TEST(Window, WhatArrivesIsDrawnAgain) {
  test::AppOnScreen a(test::full_engine(), wrong());
  auto arrived = [&] {
    return a->bench().runs().report() && a->bench().runs().report()->final && !a->bench().runs().running();
  };
  ASSERT_FALSE(arrived());
  ASSERT_TRUE(a.screen.until(*a, arrived, 30));
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(a->next_frame_in(), 0) << i;
    a.screen.frames(*a, 1);
  }
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.frames(*a, 5);
  EXPECT_GT(a->next_frame_in(), 0) << "and then no more";
}

TEST(Window, NothingMovesWhenNothingChanges) {
  test::AppOnScreen a("", wrong());
  ASSERT_TRUE(a.screen.settle(*a));
  a.screen.mouse(-100, -100);
  a.screen.frames(*a, 20);
  ASSERT_TRUE(a.screen.settle(*a));
  EXPECT_EQ(a->toast(), "");
  EXPECT_TRUE(std::isinf(a->next_frame_in())) << a->next_frame_in();
  // No wish is sent again, either.
  int busy = 0;
  for (int i = 0; i < 50; i++) {
    a.screen.frame(*a);
    busy += a->bench().link().waiting();
  }
  EXPECT_EQ(busy, 0);
}

// What a dead engine cannot answer is not asked at every frame.
TEST(Window, IsCalmBehindADeadEngine) {
  test::AppOnScreen a(test::silent_engine);
  a.screen.frames(*a, 10);
  int before = a->bench().link().waiting();
  a.screen.frames(*a, 30);
  EXPECT_EQ(a->bench().link().waiting(), before);
}

TEST(Window, SettingsComeBack) {
  test::ScratchFolder folder;
  std::string layout;
  for (int round = 0; round < 2; round++) {
    test::AppWithSettings start_of(folder.path("settings.json"));
    auto& [screen, app] = start_of;
    screen.frames(app, 5);
    if (round == 0) {
      app.apply(RunAction{"theme"});
      app.apply(RunAction{"larger"});
      screen.frames(app, 2);
    } else {
      EXPECT_EQ(app.settings().theme, Settings::Theme::light);
      EXPECT_NEAR(app.settings().scale, 1.1, 1e-9);
      EXPECT_NE(app.settings().layout, "");
    }
  }
}

// What was not saved when the window was closed is not lost.
TEST(Window, WhatWasThereAtTheLastClose) {
  test::ScratchFolder folder;
  auto is_enabled = [](const App& app) {
    for (const auto& a : actions())
      if (std::string_view(a.id) == "open-last") return a.enabled(app);
    ADD_FAILURE() << "no such action";
    return false;
  };
  for (int start = 0; start < 3; start++) {
    test::AppWithSettings start_of(folder.path("settings.json"));
    auto& [screen, app] = start_of;
    screen.frames(app, 3);
    EXPECT_EQ(is_enabled(app), start > 0) << "start " << start;
    if (start == 0) {
      ConvProblem p = app.document().problem;
      p.stride = 5;
      app.execute({SetProblem{p}});
      app.execute({SetKernel{"tiled"}});
    } else {
      EXPECT_NE(app.document().kernel, "tiled") << "nobody has asked for it";
      app.apply(RunAction{"open-last"});
      screen.frames(app, 2);
      EXPECT_EQ(app.document().kernel, "tiled");
      EXPECT_EQ(app.document().problem.stride, 5);
      EXPECT_TRUE(app.settings().recent.empty()) << "it is no file of anybody's";
    }
  }
}

// A file of settings that somebody has spoilt does not keep the window from drawing.
TEST(Window, AnySettingsFile) {
  test::ScratchFolder folder;
  std::string good;
  {
    test::AppWithSettings start_of(folder.path("settings.json"));
    auto& [screen, app] = start_of;
    screen.frames(app, 5);
  }
  good = [&] {
    auto bytes = test::file_bytes(folder.path("settings.json"));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  test::Random r(4);
  for (int i = 0; i < 20; i++) {
    std::string text = good;
    for (int64_t n = test::between(r, 0, 12); n > 0; n--) text[r() % text.size()] = static_cast<char>(' ' + r() % 95);
    std::string file = folder.write("spoilt" + std::to_string(i) + ".json", text.data(), text.size());
    test::AppWithSettings start_of(file);
    auto& [screen, app] = start_of;
    screen.frames(app, 4);
    EXPECT_TRUE(screen.errors.empty()) << screen.errors.front() << text;
  }
}

}  // namespace
}  // namespace convscope::ui
