#include "app/ui/platform/offscreen.h"

#define EGL_NO_X11
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cstring>
#include <dlfcn.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>
#include <vector>

#include "kernels/base/error.h"

namespace convscope::ui {
namespace {

// EGL is opened at run time: without it everything but pictures still works.
struct Egl {
  void* library = nullptr;
#define EGL_FUNCTIONS(X) \
  X(GetProcAddress)      \
  X(QueryString)         \
  X(Initialize) X(Terminate) X(BindAPI) X(ChooseConfig) X(CreateContext) X(DestroyContext) X(MakeCurrent) X(GetError)
#define X(name) decltype(&egl##name) name = nullptr;
  EGL_FUNCTIONS(X)
#undef X
  PFNEGLGETPLATFORMDISPLAYEXTPROC GetPlatformDisplay = nullptr;
  PFNEGLQUERYDEVICESEXTPROC QueryDevices = nullptr;

  Egl() {
    library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw MissingError("EGL", "libEGL.so.1 cannot be opened: install libegl1 (and libegl-mesa0, or a GPU's driver)");
#define X(name)                                                         \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "egl" #name)); \
  if (!name) throw MissingError("EGL", "libEGL.so.1 has no egl" #name);
    EGL_FUNCTIONS(X)
#undef X
    GetPlatformDisplay = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(GetProcAddress("eglGetPlatformDisplayEXT"));
    QueryDevices = reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(GetProcAddress("eglQueryDevicesEXT"));
  }
};

using GLenum = unsigned;
using GLuint = unsigned;
using GLint = int;
using GLsizei = int;
constexpr GLenum gl_framebuffer = 0x8D40, gl_renderbuffer = 0x8D41, gl_colour = 0x8CE0, gl_rgba8 = 0x8058,
                 gl_rgba = 0x1908, gl_bytes = 0x1401, gl_complete = 0x8CD5, gl_renderer = 0x1F01,
                 gl_colour_bit = 0x4000, gl_pack_alignment = 0x0D05;

struct Gl {
#define GL_FUNCTIONS(X)                                                                                          \
  X(GenFramebuffers, void, GLsizei, GLuint*)                                                                     \
  X(BindFramebuffer, void, GLenum, GLuint)                                                                       \
  X(GenRenderbuffers, void, GLsizei, GLuint*)                                                                    \
  X(BindRenderbuffer, void, GLenum, GLuint)                                                                      \
  X(RenderbufferStorage, void, GLenum, GLenum, GLsizei, GLsizei)                                                 \
      X(FramebufferRenderbuffer, void, GLenum, GLenum, GLenum, GLuint) X(CheckFramebufferStatus, GLenum, GLenum) \
          X(ReadPixels, void, GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void*)                             \
              X(ClearColor, void, float, float, float, float) X(Clear, void, unsigned)                           \
                  X(Viewport, void, GLint, GLint, GLsizei, GLsizei) X(GetString, const unsigned char*, GLenum)   \
                      X(PixelStorei, void, GLenum, GLint) X(Finish, void)
#define X(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  GL_FUNCTIONS(X)
#undef X
  void load(const Egl& egl) {
#define X(name, result, ...)                                               \
  name = reinterpret_cast<decltype(name)>(egl.GetProcAddress("gl" #name)); \
  if (!name) throw MissingError("OpenGL", "the driver has no gl" #name);
    GL_FUNCTIONS(X)
#undef X
  }
};

}  // namespace

struct Offscreen::State {
  Egl egl;
  Gl gl;
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  int width, height;
  double last = 0;
  std::string renderer;

  State(int w, int h) : width(w), height(h) {
    std::string tried;
    if (!egl.GetPlatformDisplay) throw MissingError("EGL", "libEGL has no eglGetPlatformDisplayEXT");
    auto attempt = [&](const char* name, EGLenum platform, void* native) {
      display = egl.GetPlatformDisplay(platform, native, nullptr);
      if (display != EGL_NO_DISPLAY && egl.Initialize(display, nullptr, nullptr) && make_context()) return true;
      tried += std::string(tried.empty() ? "" : ", ") + name;
      if (display != EGL_NO_DISPLAY) egl.Terminate(display);
      display = EGL_NO_DISPLAY;
      return false;
    };
    // A GPU's own driver where it is asked for, or where Mesa is not there.
    const char* wanted = std::getenv("CONVSCOPE_EGL");
    bool device_first = wanted && std::strcmp(wanted, "device") == 0;
    auto surfaceless = [&] { return attempt("surfaceless Mesa", EGL_PLATFORM_SURFACELESS_MESA, nullptr); };
    auto device = [&] {
      EGLDeviceEXT devices[16];
      EGLint count = 0;
      if (!egl.QueryDevices || !egl.QueryDevices(16, devices, &count)) return tried += " no EGL device", false;
      for (EGLint i = 0; i < count; i++)
        if (attempt("EGL device", EGL_PLATFORM_DEVICE_EXT, devices[i])) return true;
      return false;
    };
    if (!(device_first ? device() || surfaceless() : surfaceless() || device()))
      throw MissingError("OpenGL 3.3 through EGL",
                         "none of these gave a context: " + tried +
                             ". Install libegl-mesa0 and libgl1-mesa-dri, or a GPU's driver with its EGL part");
    gl.load(egl);
    renderer = reinterpret_cast<const char*>(gl.GetString(gl_renderer));
    GLuint frame = 0, pixels = 0;
    gl.GenFramebuffers(1, &frame);
    gl.GenRenderbuffers(1, &pixels);
    gl.BindFramebuffer(gl_framebuffer, frame);
    gl.BindRenderbuffer(gl_renderbuffer, pixels);
    gl.RenderbufferStorage(gl_renderbuffer, gl_rgba8, width, height);
    gl.FramebufferRenderbuffer(gl_framebuffer, gl_colour, gl_renderbuffer, pixels);
    if (gl.CheckFramebufferStatus(gl_framebuffer) != gl_complete)
      throw MissingError("OpenGL", "the driver refuses a framebuffer of this size");
  }

  bool make_context() {
    egl.BindAPI(EGL_OPENGL_API);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    const EGLint any[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_DONT_CARE, EGL_NONE};
    EGLConfig config{};
    EGLint count = 0;
    if ((!egl.ChooseConfig(display, wanted, &config, 1, &count) || !count) &&
        (!egl.ChooseConfig(display, any, &config, 1, &count) || !count))
      return false;
    const EGLint version[] = {
        EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    context = egl.CreateContext(display, config, EGL_NO_CONTEXT, version);
    return context != EGL_NO_CONTEXT && egl.MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
  }

  ~State() {
    if (display == EGL_NO_DISPLAY) return;
    egl.MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context != EGL_NO_CONTEXT) egl.DestroyContext(display, context);
    egl.Terminate(display);
  }
};

Offscreen::Offscreen(int width, int height) : state_(std::make_unique<State>(width, height)) {
  if (!ImGui_ImplOpenGL3_Init("#version 330"))
    throw MissingError("OpenGL 3.3", "the drawing code does not start on " + state_->renderer);
}

Offscreen::~Offscreen() { ImGui_ImplOpenGL3_Shutdown(); }

const std::string& Offscreen::renderer() const { return state_->renderer; }

void Offscreen::begin_frame(double seconds) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(state_->width), static_cast<float>(state_->height)};
  io.DeltaTime = static_cast<float>(seconds);
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
}

void Offscreen::end_frame() {
  ImGui::Render();
  auto& gl = state_->gl;
  gl.Viewport(0, 0, state_->width, state_->height);
  gl.ClearColor(0, 0, 0, 1);
  gl.Clear(gl_colour_bit);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

Picture Offscreen::read() const {
  auto& gl = state_->gl;
  auto width = static_cast<size_t>(state_->width), height = static_cast<size_t>(state_->height);
  std::vector<uint8_t> rgba(width * height * 4);
  gl.PixelStorei(gl_pack_alignment, 1);
  gl.ReadPixels(0, 0, state_->width, state_->height, gl_rgba, gl_bytes, rgba.data());
  Picture p{state_->width, state_->height, std::vector<uint8_t>(width * height * 3)};
  for (size_t y = 0; y < height; y++)
    for (size_t x = 0; x < width; x++)
      std::memcpy(&p.rgb[(y * width + x) * 3], &rgba[((height - 1 - y) * width + x) * 4], 3);
  return p;
}

}  // namespace convscope::ui
