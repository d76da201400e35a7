#include "app/ui/platform/window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <implot.h>
#include <thread>
#include <unistd.h>

#include "app/ui/app.h"
#include "app/ui/key_order.h"
#include "app/ui/picture_file.h"

namespace convscope::ui {
namespace {

// After a person's last move, frames go on this long: tooltips come late, and ImGui settles over a few frames.
constexpr double settle_seconds = 0.7;
constexpr int settle_frames = 3;

struct Loop {
  App* app = nullptr;
  int fresh_frames = settle_frames;
  double last_input = 0;
};

// SIGTERM, SIGINT and SIGHUP close the window as its button does, so that the layout is kept: logging out sends them.
// The handler only writes to a pipe; a thread that waits there wakes the loop.
class Termination {
 public:
  Termination() {
    if (pipe(ends_) != 0) return;
    waiter_ = std::thread([this] {
      char c = 0;
      while (read(ends_[0], &c, 1) < 0 && errno == EINTR) {
      }
      asked_ = true;
      if (c == 't') glfwPostEmptyEvent();
    });
    struct sigaction on {};
    on.sa_handler = [](int) { [[maybe_unused]] auto n = write(ends_[1], "t", 1); };
    on.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);  // the second one ends the program at once
    for (size_t i = 0; i < 3; i++) sigaction(signals[i], &on, &before_[i]);
  }
  ~Termination() {
    if (!waiter_.joinable()) return;
    for (size_t i = 0; i < 3; i++) sigaction(signals[i], &before_[i], nullptr);
    [[maybe_unused]] auto n = write(ends_[1], "e", 1);
    waiter_.join();
    for (int end : ends_) close(end);
  }
  bool asked() const { return asked_; }

 private:
  static constexpr int signals[] = {SIGTERM, SIGINT, SIGHUP};
  static inline int ends_[2] = {-1, -1};
  struct sigaction before_[3]{};
  std::atomic<bool> asked_ = false;
  std::thread waiter_;
};

Picture read_window(int width, int height) {
  auto read =
      reinterpret_cast<void (*)(int, int, int, int, unsigned, unsigned, void*)>(glfwGetProcAddress("glReadPixels"));
  auto pack = reinterpret_cast<void (*)(unsigned, int)>(glfwGetProcAddress("glPixelStorei"));
  Picture p{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  pack(0x0D05, 1);
  std::vector<uint8_t> up(p.rgb.size());
  read(0, 0, width, height, 0x1907, 0x1401, up.data());
  size_t row = static_cast<size_t>(width) * 3;
  for (size_t y = 0; y < static_cast<size_t>(height); y++)
    std::copy_n(up.begin() + static_cast<long>((static_cast<size_t>(height) - 1 - y) * row), row,
                p.rgb.begin() + static_cast<long>(y * row));
  return p;
}

void toggle_full_screen(GLFWwindow* window, bool on, int (&place)[4]) {
  if (on) {
    glfwGetWindowPos(window, &place[0], &place[1]);
    glfwGetWindowSize(window, &place[2], &place[3]);
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    if (!monitor) return;
    const GLFWvidmode* mode = glfwGetVideoMode(monitor);
    glfwSetWindowMonitor(window, monitor, 0, 0, mode->width, mode->height, GLFW_DONT_CARE);
  } else {
    glfwSetWindowMonitor(window, nullptr, place[0], place[1], place[2], place[3], GLFW_DONT_CARE);
  }
}

}  // namespace

int run_window(const WindowOptions& options) {
  auto start = std::chrono::steady_clock::now();
  static std::string glfw_said;
  glfwSetErrorCallback([](int, const char* text) { glfw_said = text; });
  if (!glfwInit())
    throw MissingError("a display", "no window can be opened (" + glfw_said + "); `convscope demo` needs none");
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  int width = options.width, height = options.height;
  if (GLFWmonitor* monitor = glfwGetPrimaryMonitor()) {
    int x, y, w, h;
    glfwGetMonitorWorkarea(monitor, &x, &y, &w, &h);
    if (w > 0 && h > 0) width = std::min(width, w), height = std::min(height, h);
  }
  GLFWwindow* window = glfwCreateWindow(width, height, "convscope", nullptr, nullptr);
  if (!window) {
    std::string why = glfw_said;
    glfwTerminate();
    throw MissingError("OpenGL 3.3", "no window can be opened (" + why + "); `convscope demo` needs none");
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImPlot::CreateContext();
  int code = 0;
  {
    AppOptions app_options;
    app_options.engine.command = options.engine;
    app_options.settings_file = options.settings_file;
    app_options.wake = [] { glfwPostEmptyEvent(); };
    app_options.has_window = true;
    app_options.trust = options.trust;
    App app(std::move(app_options));
    Loop loop{&app};
    glfwSetWindowUserPointer(window, &loop);
    glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
      for (int i = 0; i < count; i++) static_cast<Loop*>(glfwGetWindowUserPointer(w))->app->open(paths[i]);
    });
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    ImGui_ImplOpenGL3_Init("#version 330");
    if (!options.open.empty()) app.open_first(options.open);
    bool full_screen = false, first = true;
    int place[4] = {};
    double last_input_seen = -1;
    std::string title;
    Termination termination;
    KeyOrder keys;
    while (!glfwWindowShouldClose(window) && !app.wants_to_close() && !termination.asked()) {
      ImGui_ImplOpenGL3_NewFrame();
      ImGui_ImplGlfw_NewFrame();
      float scale_x = 1, scale_y = 1;
      glfwGetWindowContentScale(window, &scale_x, &scale_y);
      keys.before_frame();
      ImGui::NewFrame();
      keys.after_frame_has_begun();
      app.frame(std::max(1.0f, scale_x));
      ImGui::Render();
      if (std::string now = app.title(); now != title) glfwSetWindowTitle(window, (title = now).c_str());
      int fw, fh;
      glfwGetFramebufferSize(window, &fw, &fh);
      ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
      app.after_drawing([&] { return read_window(fw, fh); });
      glfwSwapBuffers(window);
      if (first && std::getenv("CONVSCOPE_TRACE_START"))
        std::fprintf(stderr, "first frame after %.0f ms\n",
                     std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      first = false;
      if (full_screen != app.wants_full_screen())
        toggle_full_screen(window, full_screen = app.wants_full_screen(), place);

      // How long may it sleep?
      ImGuiIO& io = ImGui::GetIO();
      bool touched = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || ImGui::IsAnyMouseDown() ||
                     io.InputQueueCharacters.Size > 0;
      for (ImGuiKey k = ImGuiKey_NamedKey_BEGIN; k < ImGuiKey_NamedKey_END && !touched;
           k = static_cast<ImGuiKey>(k + 1))
        touched = ImGui::IsKeyDown(k);
      if (touched) last_input_seen = ImGui::GetTime(), loop.fresh_frames = settle_frames;
      double wait = app.next_frame_in();
      if (ImGui::GetTime() - last_input_seen < settle_seconds) wait = std::min(wait, 0.05);
      if (io.WantTextInput) wait = std::min(wait, 0.4);  // the cursor blinks
      if (keys.waiting()) wait = 0;
      if (loop.fresh_frames > 0) wait = 0, loop.fresh_frames--;
      if (options.for_seconds > 0) {
        double left =
            options.for_seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (left <= 0) break;
        wait = std::min(wait, left);
      }
      if (glfwGetWindowAttrib(window, GLFW_ICONIFIED)) wait = std::max(wait, 0.2);
      if (wait <= 0)
        glfwPollEvents();
      else if (wait > 1e6)
        glfwWaitEvents(), loop.fresh_frames = std::max(loop.fresh_frames, 1);
      else
        glfwWaitEventsTimeout(wait);
    }
  }
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
  glfwDestroyWindow(window);
  glfwTerminate();
  return code;
}

}  // namespace convscope::ui
