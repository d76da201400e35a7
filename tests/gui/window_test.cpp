// What only a real window has: it opens, is resized, gets keys, sleeps and closes. Under Xvfb, with a hand from
// xdotool.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#if __has_include(<X11/Xlib.h>)
#include <X11/Xlib.h>
#endif

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/gui/picture.h"
#include "tests/gui/programs.h"
#include "tests/support.h"

namespace convscope::test {
namespace {
namespace fs = std::filesystem;

bool wait_until(const std::function<bool()>& holds, double seconds) {
  auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds * program_slowness)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool all_end(const std::vector<pid_t>& processes) {
  return wait_until(
      [&] { return std::none_of(processes.begin(), processes.end(), [](pid_t p) { return kill(p, 0) == 0; }); }, 10);
}

class RealWindow : public testing::Test {
 protected:
  void SetUp() override {
    if (!on_path("Xvfb")) GTEST_SKIP() << "Xvfb is not installed (package xvfb)";
    if (!on_path("xdotool")) GTEST_SKIP() << "xdotool is not installed";
    fs::create_directories(scratch.path("config/convscope"));
    // It chooses a free display itself and says which: tests may run side by side.
    server = std::make_unique<Started>(
        scratch.path("."),
        std::vector<std::string>{"Xvfb", "-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"});
    ASSERT_TRUE(wait_until([&] { return !server->out().empty() && server->out().back() == '\n'; }, 20))
        << server->err();
    std::string number = server->out();
    number.pop_back();
    display = "DISPLAY=:" + number;
    std::string text = R"({"type": "convscope-session", "version": 1, "kernel": "S4",
      "problem": {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "length": 64, "stride": 2, "padding": 1, "dilation": 2}})";
    session = scratch.write("small.convscope", text.data(), text.size());
  }
  void TearDown() override {
    window.reset();
    server.reset();
  }

  // Opens it and waits until it is on the screen and has drawn.
  void open(std::vector<std::string> words = {}) {
    words.insert(words.begin(),
                 {display, "WAYLAND_DISPLAY=", "CUDA_VISIBLE_DEVICES=", "XDG_CONFIG_HOME=" + scratch.path("config"),
                  "CONVSCOPE_TRACE_START=1", built("convscope-window")});
    window = std::make_unique<Started>(scratch.path("."), words);
    ASSERT_TRUE(
        wait_until([&] { return window->err().find("first frame") != std::string::npos || window->ended(); }, 60))
        << window->err();
    ASSERT_FALSE(window->ended()) << window->err();
    id = tool({"search", "--sync", "--onlyvisible", "--name", "convscope$"});
    while (!id.empty() && id.back() == '\n') id.pop_back();
    ASSERT_FALSE(id.empty());
    // There is no window manager: the focus is ours to give, and the window may still be settling when it gets it
    // first.
    ASSERT_TRUE(wait_until(
        [&] {
          tool({"mousemove", "--window", id, "5", "400"});
          tool({"windowfocus", id});
          sleep_for(0.5);
          return tool({"getwindowfocus", "-f"}).starts_with(id);
        },
        20));
    sleep_for(0.5);
  }
  std::string tool(std::vector<std::string> words) {
    words.insert(words.begin(), {display, "xdotool"});
    Started s(scratch.path("."), words);
    EXPECT_EQ(s.wait(30), 0) << s.err();
    return s.out();
  }
  void key(const std::string& chord) {
    tool({"key", "--delay", "60", chord});
    sleep_for(0.4);
  }
  // As a window manager does when its close button is pressed. "" or why that cannot be done here.
  std::string ask_to_close() const {
#if __has_include(<X11/Xlib.h>)
    void* library = dlopen("libX11.so.6", RTLD_NOW | RTLD_LOCAL);
    if (!library) return "libX11.so.6 cannot be opened";
    auto open_display = reinterpret_cast<decltype(&XOpenDisplay)>(dlsym(library, "XOpenDisplay"));
    auto atom = reinterpret_cast<decltype(&XInternAtom)>(dlsym(library, "XInternAtom"));
    auto send = reinterpret_cast<decltype(&XSendEvent)>(dlsym(library, "XSendEvent"));
    auto close_display = reinterpret_cast<decltype(&XCloseDisplay)>(dlsym(library, "XCloseDisplay"));
    Display* to = open_display(display.substr(display.find(':')).c_str());
    if (!to) return "the display cannot be opened";
    XEvent e{};
    e.xclient.type = ClientMessage;
    e.xclient.window = std::stoul(id);
    e.xclient.message_type = atom(to, "WM_PROTOCOLS", False);
    e.xclient.format = 32;
    e.xclient.data.l[0] = static_cast<long>(atom(to, "WM_DELETE_WINDOW", False));
    send(to, e.xclient.window, False, NoEventMask, &e);
    close_display(to);  // which also sends what is waiting
    return "";
#else
    return "the headers of X11 were not there when this was built";
#endif
  }
  nlohmann::json settings() const {
    std::ifstream in(scratch.path("config/convscope/settings.json"));
    return nlohmann::json::parse(in, nullptr, false);
  }
  std::string theme() const {
    auto j = settings();
    return j.is_object() ? j.value("theme", "dark") : "dark";
  }

  ScratchFolder scratch;
  std::unique_ptr<Started> server, window;
  std::string display, id, session;
};

TEST_F(RealWindow, OpensAndClosesByItself) {
  auto start = std::chrono::steady_clock::now();
  open({session, "--for", "3"});
  EXPECT_EQ(window->wait(30), 0) << window->err();
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2.9);
}

// Not in the run: on a busy machine xdotool's keys get lost now and then; keys are tested in ui_tests and gui_tests.
TEST_F(RealWindow, KeysReachIt) {
  open({session});
  key("ctrl+t");
  EXPECT_TRUE(wait_until([&] { return theme() == "light"; }, 10));
  // Help is in front: keys are its own until it is closed.
  key("F1");
  key("ctrl+t");
  EXPECT_EQ(theme(), "light");
  key("Escape");
  sleep_for(0.5);
  key("ctrl+t");
  EXPECT_TRUE(wait_until([&] { return theme() == "dark"; }, 10));
  key("ctrl+q");
  EXPECT_EQ(window->wait(20), 0) << window->err();
  EXPECT_FALSE(settings().value("layout", "").empty());
}

TEST_F(RealWindow, IsResizedAndSavesItsPicture) {
  open({session});
  tool({"windowsize", "--sync", id, "1010", "720"});
  sleep_for(1);
  key("ctrl+shift+e");
  key("ctrl+a");
  std::string file = scratch.path("window.png");
  tool({"type", "--delay", "30", file});
  key("Return");
  ASSERT_TRUE(wait_until([&] { return fs::exists(file); }, 20));
  PngPicture p = read_png(file);
  EXPECT_EQ(p.width, 1010);
  EXPECT_EQ(p.height, 720);
  EXPECT_FALSE(p.blank());
  tool({"windowsize", "--sync", id, "300", "200"});
  sleep_for(0.5);
  tool({"windowsize", "--sync", id, "1600", "1000"});
  sleep_for(0.5);
  // Without a window manager nobody gives the keyboard back to a window that became another one.
  for (int i = 0; i < 2; i++) {
    key("F11");
    tool({"windowfocus", id});
    sleep_for(0.3);
  }
  key("ctrl+q");
  EXPECT_EQ(window->wait(20), 0) << window->err();
}

TEST_F(RealWindow, ClosesWhenTheWindowManagerAsks) {
  open({session});
  auto engine = children_of(window->pid());
  EXPECT_GE(engine.size(), 1u);
  if (std::string why = ask_to_close(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(window->wait(20), 0) << window->err();
  EXPECT_TRUE(all_end(engine)) << "the engine is left behind";
}

TEST_F(RealWindow, ClosesInOrderWhenItIsTerminated) {
  for (int number : {SIGTERM, SIGINT, SIGHUP}) {
    open({session});
    auto engine = children_of(window->pid());
    fs::remove(scratch.path("config/convscope/settings.json"));
    window->signal(number);
    EXPECT_EQ(window->wait(20), 0) << "signal " << number << ": " << window->err();
    EXPECT_FALSE(settings().is_discarded()) << "signal " << number << ": the layout is not kept";
    EXPECT_TRUE(all_end(engine)) << "the engine is left behind";
  }
}

TEST_F(RealWindow, SleepsWhenNothingHappens) {
  open({session});
  sleep_for(8);  // the first run, its notes and its tooltips are over
  double before = cpu_seconds(window->pid());
  constexpr double span = 4;
  sleep_for(span);
  double share = (cpu_seconds(window->pid()) - before) / span;
  EXPECT_LE(share, 0.05 * program_slowness) << "of one processor while idle";
  EXPECT_FALSE(window->ended());
}

TEST_F(RealWindow, WithoutADisplayItSaysSo) {
  Started s(scratch.path("."), {"DISPLAY=:9999", "WAYLAND_DISPLAY=", built("convscope-window"), "--forget"});
  EXPECT_EQ(s.wait(20), 3);
  EXPECT_EQ(lines_of(s.err()), 1u) << s.err();
  EXPECT_NE(s.err().find("no window can be opened"), std::string::npos) << s.err();
}

}  // namespace
}  // namespace convscope::test
