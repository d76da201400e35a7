// gui_tests NAME [--picture FILE]: runs one scenario; gui_tests --list: their names.
// Exit code: 0 passed, 1 failed with the words of the check, 2 no such scenario, 77 skipped.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <imgui.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>
#include <implot.h>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

#include "app/ui/platform/offscreen.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

extern char** environ;

namespace {

constexpr int skipped = 77;

struct Run {
  const Scenario* scenario = nullptr;
  bool second = false;
  std::string home, picture;
};

struct Result {
  int code = 1;
  std::string why;
};

void prepare(Gui& g, const Run& run) {
  if (run.scenario->fresh || run.second) return;
  Settings s = g.app.settings();
  s.live = true;
  g.app.apply(ui::SetSettings{s});
  g.frames(4);
  g.settle();
}

void draw(ui::Offscreen& screen, ui::App& app, Stage& stage, bool visible) {
  // Offscreen draws its whole framebuffer; a smaller window is a corner of it.
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = stage.size;
  io.DeltaTime = 1.0f / 60;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  bool capture = stage.capture;
  if (capture) ImGui::LogToBuffer();
  app.frame(1);
  if (capture) {
    stage.words = ImGui::GetCurrentContext()->LogBuffer.c_str();
    // As people read it: before a unit there is a blank.
    constexpr std::string_view no_break = "\u00a0";
    for (size_t at; (at = stage.words.find(no_break)) != stage.words.npos;)
      stage.words.replace(at, no_break.size(), " ");
    ImGui::LogFinish();
    stage.capture = false;
  }
  // Pixels are looked at only now and then: they take most of a frame on a CPU.
  if (visible)
    screen.end_frame();
  else
    ImGui::Render();
}

Result play(const Run& run) {
  Result result;
  ImGui::CreateContext();
  ImPlot::CreateContext();
  ImGuiTestEngine* engine = ImGuiTestEngine_CreateContext();
  {
    ui::Offscreen screen(1600, 1000);
    Stage stage;
    stage.home = run.home;
    std::error_code error;
    stage.engine = "'" + (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "convscope").string() +
                   "' engine";
    std::string settings_file = run.home + "/settings.json";
    if (!run.scenario->fresh && !run.second) {
      Settings quiet;  // the small document comes before the first run
      quiet.live = false;
      save_settings(settings_file, quiet);
    }
    ui::AppOptions options;
    options.engine.command = stage.engine;
    options.settings_file = settings_file;
    ui::App app(std::move(options));
    if (!run.scenario->fresh && !run.second) app.execute({ReplaceDocument{small_document(), "small"}, 0});

    ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine);
    io.ConfigSavedSettings = false;
    io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
    io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Warning;
    io.ConfigVerboseLevelOnError = ImGuiTestVerboseLevel_Info;
    io.ConfigMouseDrawCursor = false;
    io.ConfigRestoreFocusAfterTests = false;
    io.ConfigWatchdogKillTest = 240.0f * static_cast<float>(slowness);
    io.ConfigWatchdogWarning = io.ConfigWatchdogKillTest;
    ImGuiTestEngine_Start(engine, ImGui::GetCurrentContext());
    ImGuiTest* test = ImGuiTestEngine_RegisterTest(engine, "gui", run.scenario->name);
    std::string skip;
    test->TestFunc = [&](ImGuiTestContext* ctx) {
      Gui g(ctx, app, stage);
      try {
        prepare(g, run);
        (run.second ? run.scenario->second : run.scenario->run)(g);
      } catch (const Failed&) {
      } catch (const Skipped& s) {
        skip = s.why;
      } catch (const std::exception& e) {
        ImGuiTestEngine_Error(nullptr, nullptr, 0, ImGuiTestCheckFlags_None, "an exception: %s", e.what());
      }
    };
    ImGuiTestEngine_QueueTest(engine, test, ImGuiTestRunFlags_RunFromCommandLine);
    for (int n = 0; !ImGuiTestEngine_IsTestQueueEmpty(engine); n++) {
      draw(screen, app, stage, n % 16 == 0 || app.picture_pending());
      app.after_drawing([&] { return screen.read(); });
      ImGuiTestEngine_PreSwap(engine);
      ImGuiTestEngine_PostSwap(engine);
      // The engine needs the processor more than frames that wait for it.
      if (!app.settled() || app.bench().explaining().waits()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    ImGuiTestEngineResultSummary summary;
    ImGuiTestEngine_GetResultSummary(engine, &summary);
    result.code = !skip.empty() ? skipped : summary.CountTested == 1 && summary.CountSuccess == 1 ? 0 : 1;
    result.why = !skip.empty() ? "skipped: " + skip : test->Output.Log.GetText();
    if (!run.picture.empty()) {
      draw(screen, app, stage, true);
      std::filesystem::create_directories(std::filesystem::path(run.picture).parent_path(), error);
      ui::write_png(run.picture, screen.read());
    }
    ImGuiTestEngine_Stop(engine);
  }
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
  ImGuiTestEngine_DestroyContext(engine);
  return result;
}

// The second life of a scenario is another program: panels keep things in static variables.
int second_life(const char* self, const Run& run) {
  std::vector<std::string> words{self, run.scenario->name, "--second", run.home};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) return 1;
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Run run;
  for (int i = 1; i < argc; i++) {
    std::string word = argv[i];
    if (word == "--list") {
      for (const auto& s : scenarios()) std::puts(s.name);
      return 0;
    }
    if (word == "--picture" && i + 1 < argc)
      run.picture = argv[++i];
    else if (word == "--second" && i + 1 < argc)
      run.home = argv[++i], run.second = true;
    else
      for (const auto& s : scenarios())
        if (word == s.name) run.scenario = &s;
  }
  if (!run.scenario) {
    std::fprintf(stderr, "gui_tests: no such scenario; --list shows them\n");
    return 2;
  }
  try {
    std::unique_ptr<ScratchFolder> scratch;
    if (run.home.empty()) {
      scratch = std::make_unique<ScratchFolder>();
      run.home = scratch->path(".");
      run.home.resize(run.home.size() - 2);
    }
    Result result = play(run);
    if (result.code) std::printf("%s\n", result.why.c_str());
    if (result.code == 0 && run.scenario->second && !run.second) return second_life(argv[0], run);
    return result.code;
  } catch (const MissingError& e) {
    std::printf("skipped: %s\n", e.what());
    return skipped;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
