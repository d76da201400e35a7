// convscope-window: started by `convscope` for the window and by `convscope screenshot`.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <imgui.h>
#include <implot.h>
#include <thread>

#include "app/engine/kernel_file.h"
#include "app/engine/recording.h"
#include "app/ui/actions.h"
#include "app/ui/app.h"
#include "app/ui/platform/offscreen.h"
#include "app/ui/platform/window.h"
#include "kernels/base/text.h"

using namespace convscope;

namespace {

struct ScreenshotOptions {
  std::string out, session, panel, size = "1600x1000", theme = "dark", engine;
  std::vector<std::string> actions;
  double scale = 1, timeout = 120;
  bool verbose = false, trust = false;
};

// A path, or the name of a recording that comes with the program.
std::string session_path(const std::string& given) {
  std::error_code error;
  if (std::filesystem::exists(given, error) || given.find('/') != std::string::npos || given.find('.') == 0 ||
      given.ends_with(".convscope"))
    return given;
  try {
    return recording_path(given);
  } catch (const InputError& e) {
    throw InputError("session", given, e.rule());
  }
}

// Draws until everything that was asked for has come and nothing moves, then keeps the picture.
int screenshot(const ScreenshotOptions& o) {
  int width = 0, height = 0;
  char rest = 0;
  if (std::sscanf(o.size.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 200 || height < 150 ||
      width > 8192 || height > 8192)
    throw InputError("size", o.size, "must be WIDTHxHEIGHT in pixels, from 200x150 to 8192x8192");
  if (o.theme != "dark" && o.theme != "light") throw InputError("theme", o.theme, "must be dark or light");
  if (!(o.scale >= 0.75 && o.scale <= 2)) throw InputError("scale", fmt::format("{}", o.scale), "must be 0.75 to 2");
  if (!(o.timeout > 0)) throw InputError("timeout", fmt::format("{}", o.timeout), "must be greater than 0 seconds");
  if (!o.out.ends_with(".png") && !o.out.ends_with(".PNG"))
    throw InputError("out", o.out, "must end in .png: it becomes a PNG file");
  for (const auto& action : o.actions)
    if (!ui::find_action(action)) {
      std::vector<std::string> ids;
      for (const auto& a : ui::actions()) ids.push_back(a.id);
      const std::string near = nearest_name(action, ids);
      throw InputError("action", action,
                       near.empty() ? "is not known: " + fmt::format("{}", fmt::join(ids, ", "))
                                    : "is not known; did you mean " + near + "?");
    }
  ImGui::CreateContext();
  ImPlot::CreateContext();
  {
    ui::Offscreen screen(width, height);
    ui::AppOptions options;
    options.engine.command = o.engine;
    options.trust = o.trust;
    ui::App app(std::move(options));
    Settings s = app.settings();
    s.theme = o.theme == "light" ? Settings::Theme::light : Settings::Theme::dark;
    s.scale = o.scale;
    app.apply(ui::SetSettings{s});
    if (o.session.ends_with(".lesson")) {
      load_lesson(o.session);  // its errors are this program's
      app.open(o.session);
    } else if (o.session.ends_with(".cu") || o.session.ends_with(".py")) {
      read_kernel_file(o.session);  // its errors are this program's
      app.open(o.session);
    } else if (!o.session.empty()) {
      const std::string path = session_path(o.session);
      SessionFile file = load_session(path);  // its errors are this program's
      app.open(path);
    }
    if (!o.panel.empty()) app.show_only(o.panel);
    auto start = std::chrono::steady_clock::now();
    auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    size_t next_action = 0;
    int quiet = 0;
    // Quiet: eight frames in a row with nothing under way. A tile that comes may make a new wish.
    while (quiet < 8) {
      screen.begin_frame(1.0 / 30);
      app.frame(1);
      screen.end_frame();
      const Workbench& bench = app.bench();
      const bool waits =
          bench.inventory().knows_devices() && bench.waits_for_a_person(app.document());  // no report will come
      const bool settled = app.settled() && !bench.tunings().now().running && app.lesson_shown() &&
                           (bench.report_of(app.document()) || waits) && !bench.explaining().waits();
      quiet = settled ? quiet + 1 : 0;
      if (quiet == 4 && next_action < o.actions.size()) {
        app.apply(ui::RunAction{o.actions[next_action++]});
        quiet = 0;
      }
      if (seconds() > o.timeout) {
        std::fprintf(stderr, "convscope: the picture was not complete after %.0f s; it shows what there was\n",
                     o.timeout);
        break;
      }
      if (!settled) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    // Notes of actions are not part of the picture.
    for (int i = 0; i < 600 && !app.toast().empty(); i++) screen.begin_frame(0.1), app.frame(1), screen.end_frame();
    for (int i = 0; i < 3; i++) screen.begin_frame(0.1), app.frame(1), screen.end_frame();
    write_png(o.out, screen.read());
    if (o.verbose) std::fprintf(stderr, "drawn by %s\n", screen.renderer().c_str());
  }
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli{"The window of convscope"};
  ScreenshotOptions shot;
  ui::WindowOptions window;
  double scale = 1;
  bool forget = false;
  cli.add_option("file", window.open, "A session, a kernel's .cu or .py file, or a .npy or .npz file as the input");
  cli.add_flag("--trust", window.trust, "Run what is in a .cu or .py file that is opened: it has your rights");
  cli.add_option("--engine", window.engine, "Command that starts the engine");
  cli.add_option("--screenshot", shot.out, "Draw offscreen into this PNG file and end");
  cli.add_option(
      "--session", shot.session,
      "Session or kernel's .cu or .py file to show, or a recording: a path, or a name of `convscope list recordings`");
  cli.add_option("--panel", shot.panel, "One panel alone");
  cli.add_option("--size", shot.size, "WIDTHxHEIGHT in pixels")->capture_default_str();
  cli.add_option("--theme", shot.theme, "dark or light")->capture_default_str();
  cli.add_option("--scale", scale, "Scale of everything, 0.75 to 2")->capture_default_str();
  cli.add_option("--action", shot.actions,
                 "Action to run before the picture, by id (next-failing, fit, …); may be repeated");
  cli.add_option("--timeout", shot.timeout, "Seconds to wait for the picture")->capture_default_str();
  cli.add_option("--for", window.for_seconds, "Close by itself after this many seconds");
  cli.add_flag("--forget", forget, "Neither read nor keep settings");
  cli.add_flag("--verbose", shot.verbose, "Say what draws");
  try {
    cli.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return cli.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "convscope: %s\n", e.what());
    return 2;
  }
  // The engine is the program beside this one.
  if (window.engine.empty()) {
    std::error_code error;
    auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "convscope";
    window.engine = "'" + beside.string() + "' engine";
  }
  shot.engine = window.engine;
  shot.trust = window.trust;
  shot.scale = scale;
  if (std::string folder = forget ? "" : settings_folder(); !folder.empty())
    window.settings_file = folder + "/settings.json";
  try {
    if (!shot.out.empty()) return screenshot(shot);
    return ui::run_window(window);
  } catch (const InputError& e) {
    std::fprintf(stderr, "convscope: %s\n", e.what());
    return 2;
  } catch (const MissingError& e) {
    std::fprintf(stderr, "convscope: %s\n", e.what());
    return 3;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "convscope: %s\n", e.what());
    return 1;
  }
}
