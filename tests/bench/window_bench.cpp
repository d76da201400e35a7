// How quick the window is: building a frame, from a slider's step to a new picture, tiles while panning, the first
// frame. window_bench [--frames N] [--steps N] [--starts N] [--idle SECONDS] [--big] prints one table; what it prints
// was measured in this run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <imgui.h>
#include <imgui_impl_opengl3.h>
#include <implot.h>
#include <mutex>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "app/ui/app.h"
#include "app/ui/platform/offscreen.h"
#include "kernels/problem/presets.h"
#include "tests/gui/programs.h"
#include "tests/support.h"

using namespace convscope;
using Clock = std::chrono::steady_clock;

namespace {

bool failed = false;

double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

double quantile(std::vector<double> v, double q) {
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}

void row(const char* what, const std::vector<double>& ms) {
  if (ms.empty())
    std::printf("%-66s %8s\n", what, "none");
  else
    std::printf("%-66s %8zu %9.3f %9.3f %9.3f\n", what, ms.size(), quantile(ms, 0.5), quantile(ms, 0.9),
                quantile(ms, 0.99));
  std::fflush(stdout);
}

// The loop of the real window without the window: a frame when the engine has something, or when one is due.
class Stage {
 public:
  Stage(int width, int height, const std::string& settings_file, const Document& document,
        const char* engine = "convscope")
      : width_(width), height_(height) {
    ImGui::CreateContext();
    ImPlot::CreateContext();
    screen_ = std::make_unique<ui::Offscreen>(width, height);
    ui::AppOptions options;
    options.engine.command = "'" + test::built(engine) + "' engine";
    options.settings_file = settings_file;
    options.wake = [this] {
      std::lock_guard lock(mutex_);
      woken_ = true;
      ready_.notify_one();
    };
    app_ = std::make_unique<ui::App>(std::move(options));
    app_->execute({ReplaceDocument{document, "bench"}, 0});
    Settings s = app_->settings();
    s.live = true;
    app_->apply(ui::SetSettings{s});
  }
  ~Stage() {
    app_.reset();
    screen_.reset();
    ImPlot::DestroyContext();
    ImGui::DestroyContext();
  }

  ui::App& app() { return *app_; }
  const ui::Offscreen& screen() const { return *screen_; }

  struct Times {
    double build = 0, whole = 0;  // App::frame; NewFrame to Render
    double processor = 0;         // of `whole`, this thread's time on a processor
  };
  Times frame(bool visible = true) {
    auto processor_ms = [] {
      timespec t{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
    };
    double spent = processor_ms();
    auto start = Clock::now();
    screen_->begin_frame(1.0 / 60);
    app_->frame(1);
    if (!visible) {
      ImGui::Render();
      return {1000 * app_->frame_seconds(), ms_since(start), processor_ms() - spent};
    }
    screen_->end_frame();
    return {1000 * app_->frame_seconds(), 0, 0};
  }
  void sleep_until_woken(double seconds) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return woken_; });
    woken_ = false;
  }
  template <class Condition>
  bool frames_until(Condition holds, double seconds, bool visible = true) {
    auto start = Clock::now();
    while (!holds()) {
      if (ms_since(start) > 1000 * seconds) return false;
      frame(visible);
      if (!holds()) sleep_until_woken(std::clamp(app_->next_frame_in(), 0.0, 0.05));
    }
    return true;
  }
  // Until nothing is under way, in the engine or in what draws.
  bool settle(double seconds, bool visible = true) {
    int quiet = 0;
    bool quiet_at_last = frames_until(
        [&] {
          return (quiet = app_->settled() && !app_->bench().explaining().waits() && !app_->bench().measuring().waits()
                              ? quiet + 1
                              : 0) > 8;
        },
        seconds, visible);
    if (visible) screen_->read();  // waits for the pixels
    return quiet_at_last;
  }
  void mouse(int n) {
    double t = n * 0.05;
    ImGui::GetIO().AddMousePosEvent(static_cast<float>(width_ * (0.5 + 0.47 * std::sin(t))),
                                    static_cast<float>(height_ * (0.5 + 0.46 * std::sin(1.37 * t))));
  }

 private:
  int width_, height_;
  std::unique_ptr<ui::Offscreen> screen_;
  std::mutex mutex_;
  std::condition_variable ready_;
  bool woken_ = false;
  std::unique_ptr<ui::App> app_;
};

// All panels at once, as windows side by side: none is a tab behind another.
std::string every_panel(const std::string& folder, int width, int height) {
  Settings s;
  s.live = false;
  int n = 0;
  constexpr int columns = 4, rows = 3;
  int w = width / columns, h = (height - 60) / rows;
  for (const auto& p : ui::panels()) {
    s.layout += "[Window][" + std::string(p.title) + "]\nPos=" + std::to_string(n % columns * w) + "," +
                std::to_string(30 + n / columns * h) + "\nSize=" + std::to_string(w) + "," + std::to_string(h) +
                "\nCollapsed=0\n\n";
    n++;
  }
  std::string file = folder + "/settings.json";
  save_settings(file, s);
  return file;
}

void frames_of(const char* name, const std::string& folder, const Document& document, int count, bool final,
               double patience) {
  constexpr int width = 2560, height = 1600;
  Stage stage(width, height, every_panel(folder, width, height), document);
  auto picture = [&] {
    return stage.app().bench().runs().picture() && stage.app().bench().runs().picture()->document == document;
  };
  if (!stage.frames_until(picture, patience)) {
    std::printf("%s: no picture after %.0f s\n", name, patience);
    return;
  }
  if (!final) stage.app().cancel();  // its verdict takes many times as long as its picture
  stage.settle(patience);
  if (final) stage.app().find_failing(true), stage.settle(patience);
  std::printf("%s: %s, %lld elements, %dx%d pixels, every panel visible, %s\n", name,
              describe(document.problem).c_str(), static_cast<long long>(document.problem.y_elements()), width, height,
              stage.screen().renderer().c_str());
  std::vector<double> build, whole, processor;
  for (int i = 0; i < count; i++) {
    stage.mouse(i);
    auto t = stage.frame(i % 50 == 0 ? true : false);
    if (i < 20) continue;
    build.push_back(t.build);
    if (t.whole > 0) whole.push_back(t.whole), processor.push_back(t.processor);
  }
  row("  build a frame (App::frame), mouse moving", build);
  row("  the same with ImGui's NewFrame and Render", whole);
  row("  of that, processor time of the window's thread", processor);
  std::vector<double> drawn;
  for (int i = 0; i < 60; i++) {
    stage.mouse(i);
    auto start = Clock::now();
    stage.frame();
    stage.screen().read();  // waits for the pixels
    if (i >= 10) drawn.push_back(ms_since(start));
  }
  row("  the same with all pixels drawn and read back", drawn);

  std::vector<double> tiles;
  stage.app().fit();
  for (int i = 0; i < 4; i++) stage.app().zoom(1.6);
  stage.settle(patience);
  uint64_t seen = 0;
  for (int i = 0; i < 150; i++) {
    View v =
        fitted(stage.app().views().now(), {static_cast<double>(document.problem.batch * document.problem.out_channels),
                                           static_cast<double>(document.problem.out_length())});
    double step = (v.column1 - v.column0) * 0.02 * (i / 25 % 2 ? -1 : 1);
    stage.app().apply(ui::SetView{moved(v,
                                        {static_cast<double>(document.problem.batch * document.problem.out_channels),
                                         static_cast<double>(document.problem.out_length())},
                                        0, step),
                                  false});
    auto start = Clock::now();
    stage.frame(false);
    while (ms_since(start) < 16) {
      stage.sleep_until_woken(0.004);
      stage.app().bench().drain();
      const MapTile* t = stage.app().bench().pictures().tile(Pictures::Map::kernel);
      if (t && t->serial != seen) seen = t->serial, tiles.push_back(t->latency_ms);
    }
  }
  row("  a tile while panning, from the wish to its colours", tiles);
  stage.settle(patience);
}

// One wrong element among 2^28: from the wish to see the next failing one until it is selected.
void planted(double patience) {
  Document d;
  d.problem = {};
  d.problem.out_channels = 64, d.problem.length = 1 << 22;
  d.kernel = "planted";
  int64_t all = d.problem.y_elements(), wrong = all / 11 * 7;
  Stage stage(1600, 1000, "", d, "test_engine");
  auto start = Clock::now();
  auto& app = stage.app();
  if (!stage.frames_until([&] { return app.bench().runs().picture() && app.bench().runs().picture()->document == d; },
                          patience))
    throw std::runtime_error("planted: no picture");
  double first = ms_since(start);
  app.cancel();
  stage.settle(patience);
  start = Clock::now();
  app.find_failing(true);
  if (!stage.frames_until([&] { return app.views().now().selected.has_value(); }, patience))
    throw std::runtime_error("planted: not found");
  double found = ms_since(start);
  ElementIndex at = *app.views().now().selected;
  if (at.row * d.problem.length + at.column != wrong)
    throw std::runtime_error("planted: another element was found: row " + std::to_string(at.row) + ", column " +
                             std::to_string(at.column));
  stage.settle(patience);
  std::printf("one wrong element among %lld, emulator: row %lld, column %lld, %lld failing\n",
              static_cast<long long>(all), static_cast<long long>(at.row), static_cast<long long>(at.column),
              static_cast<long long>(app.bench().runs().picture()->failing.value_or(-1)));
  row("  from the start to its picture", {first});
  row("  from the key N to the selected element", {found});
}

// A display of its own, which chooses a free number itself and says which.
class Display {
 public:
  explicit Display(const std::string& folder)
      : server_(folder, {"Xvfb", "-displayfd", "1", "-screen", "0", "1600x1000x24"}) {
    auto begun = Clock::now();
    while (server_.out().find('\n') == std::string::npos && ms_since(begun) < 20000)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::string variable() const { return "DISPLAY=:" + server_.out().substr(0, server_.out().find('\n')); }

 private:
  test::Started server_;
};

// The processor's time that a window takes of one core while nothing changes, in percent.
void idle(const std::string& folder, int seconds) {
  if (!test::on_path("Xvfb")) {
    std::printf("idle: not measured, Xvfb is not installed\n");
    return;
  }
  Display display(folder);
  test::Started window(folder, {display.variable(), "WAYLAND_DISPLAY=", test::built("convscope-window"), "--forget",
                                "--for", std::to_string(seconds + 40)});
  std::this_thread::sleep_for(std::chrono::seconds(25));  // it has run and judged what it opens with
  auto all = [&] {
    double sum = test::cpu_seconds(window.pid());
    for (pid_t child : test::children_of(window.pid())) sum += test::cpu_seconds(child);
    return sum;
  };
  double before = all();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  std::printf("idle for %d s: window and engine take %.2f %% of one core (%.2f s before)\n", seconds,
              100 * (all() - before) / seconds, before);
  std::fflush(stdout);
}

// `drawn`: each frame is also rasterised, by the two cores that the engine computes on; a graphics card takes that
// away.
void steps_of(const std::string& preset, const std::string& kernel, int steps, bool drawn) {
  Document d;
  d.problem = find_preset(preset).problem;
  d.kernel = kernel;
  Stage stage(1600, 1000, "", d);
  stage.settle(120, drawn);
  const Workbench& bench = stage.app().bench();
  std::vector<double> first, shown;
  for (int i = 0; i < steps; i++) {
    ConvProblem p = stage.app().document().problem;
    p.length += i % 2 ? -1 : 1;
    auto start = Clock::now();
    stage.app().execute({SetProblem{p}, 0});
    bool came = stage.frames_until(
        [&] {
          const MapTile* t = bench.pictures().tile(Pictures::Map::kernel);
          return bench.runs().picture() && bench.runs().picture()->document.problem == p && t &&
                 t->key == bench.runs().picture()->key;
        },
        60, drawn);
    if (!came) continue;
    stage.frame(drawn);
    shown.push_back(ms_since(start));
    first.push_back(bench.runs().last_picture_ms());
    stage.settle(60, drawn);
  }
  std::string name = preset + " " + kernel + ", step: ";
  row((name + (drawn ? "result beside llvmpipe" : "result")).c_str(), first);
  row((name + (drawn ? "map drawn by llvmpipe" : "map")).c_str(), shown);
}

// From the start of the program to the first frame, in a real window under Xvfb.
void first_frames(const std::string& folder, int starts) {
  if (!test::on_path("Xvfb")) {
    std::printf("first frame: not measured, Xvfb is not installed\n");
    return;
  }
  Display display(folder);
  std::vector<double> inside, outside;
  for (int i = 0; i < starts; i++) {
    auto start = Clock::now();
    test::Started window(folder, {display.variable(), "WAYLAND_DISPLAY=", "CONVSCOPE_TRACE_START=1",
                                  test::built("convscope-window"), "--forget", "--for", "1.5"});
    std::string said;
    while (ms_since(start) < 30000 && (said = window.err()).find(" ms") == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    outside.push_back(ms_since(start));
    if (size_t at = said.find("after "); at != std::string::npos) inside.push_back(std::atof(said.c_str() + at + 6));
    window.wait(20);
  }
  row("first frame, from the start of the program (Xvfb)", outside);
  row("first frame, from the window's own start (Xvfb)", inside);
}

// Each part in a process of its own, as the window is: panels keep things in static variables.
template <class F>
void apart(F part) {
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    int code = 0;
    try {
      part();
    } catch (const std::exception& e) {
      std::printf("%s\n", e.what());
      code = 1;
    }
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status)) failed = true;
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace

int main(int argc, char** argv) {
  int frames = 2000, steps = 24, starts = 10;
  int idle_seconds = 0;
  bool big = false;
  for (int i = 1; i < argc; i++) {
    std::string word = argv[i];
    auto number = [&](int& to) {
      if (i + 1 < argc) to = std::atoi(argv[++i]);
    };
    if (word == "--frames")
      number(frames);
    else if (word == "--steps")
      number(steps);
    else if (word == "--starts")
      number(starts);
    else if (word == "--idle")
      number(idle_seconds);
    else if (word == "--big")
      big = true;
    else {
      std::fprintf(stderr, "window_bench [--frames N] [--steps N] [--starts N] [--idle SECONDS] [--big]\n");
      return 2;
    }
  }
  char date[32];
  std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  double load[3] = {};
  getloadavg(load, 3);
  std::printf("%s, %u processors, load %.1f before, %s\n", processor().c_str(), std::thread::hardware_concurrency(),
              load[0], date);
  std::string command = "window_bench";
  for (int i = 1; i < argc; i++) command += std::string(" ") + argv[i];
  std::printf("%s\n\n%-66s %8s %9s %9s %9s\n", command.c_str(), "milliseconds", "n", "median", "p90", "p99");
  try {
    test::ScratchFolder scratch;
    first_frames(scratch.path("."), starts);
    for (const char* preset : {"kernelbench-64-small", "kernelbench-74-small", "kernelbench-79-small"})
      for (const char* kernel : {"tiled", "S4"})
        for (bool drawn : {false, true}) apart([&] { steps_of(preset, kernel, steps, drawn); });
    Document d;
    apart([&] { frames_of("small", scratch.path("."), d, frames + 20, true, 120); });
    if (idle_seconds > 0) idle(scratch.path("."), idle_seconds);
    if (big) {
      apart([&] { planted(300); });
      d.problem = find_preset("kernelbench-79").problem;
      d.kernel = "tiled";
      apart([&] { frames_of("big", scratch.path("."), d, frames + 20, false, 900); });
    }
    getloadavg(load, 3);
    std::printf("load %.1f after\n", load[0]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "window_bench: %s\n", e.what());
    return 1;
  }
  return failed ? 1 : 0;
}
