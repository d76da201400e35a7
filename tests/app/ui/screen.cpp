#include "tests/app/ui/screen.h"

#include <cmath>
#include <gtest/gtest.h>
#include <implot.h>
#include <thread>

#include "tests/app/model/benches.h"

namespace convscope::test {

Screen::Screen(float width, float height) {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImPlot::CreateContext();
  resize(width, height);
  io().BackendFlags |= ImGuiBackendFlags_RendererHasTextures | ImGuiBackendFlags_RendererHasVtxOffset;
  io().IniFilename = nullptr;
  io().ConfigInputTrickleEventQueue = false;  // an event is seen by the next frame
  auto& platform = ImGui::GetPlatformIO();
  platform.Platform_ClipboardUserData = this;
  platform.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) {
    static_cast<Screen*>(ImGui::GetPlatformIO().Platform_ClipboardUserData)->clipboard = text;
  };
  platform.Platform_GetClipboardTextFn = [](ImGuiContext*) {
    return static_cast<Screen*>(ImGui::GetPlatformIO().Platform_ClipboardUserData)->clipboard.c_str();
  };
  auto& g = *ImGui::GetCurrentContext();
  g.ErrorCallbackUserData = this;
  g.ErrorCallback = [](ImGuiContext*, void* self, const char* message) {
    static_cast<Screen*>(self)->errors.push_back(message);
  };
}

Screen::~Screen() {
  EXPECT_TRUE(errors.empty()) << errors.size() << " errors, the first: " << errors.front();
  // As a backend that ends: it lets go of what it is told about.
  for (ImTextureData* t : ImGui::GetPlatformIO().Textures) {
    t->SetTexID(ImTextureID_Invalid);
    t->SetStatus(ImTextureStatus_Destroyed);
  }
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
}

void Screen::resize(float width, float height) { io().DisplaySize = {width, height}; }

void Screen::frame(const std::function<void()>& draw, double seconds) {
  io().DeltaTime = static_cast<float>(seconds);
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  answer_textures();
  check_drawing();
}

void Screen::answer_textures() {
  for (ImTextureData* t : ImGui::GetPlatformIO().Textures) {
    if (t->Status == ImTextureStatus_WantCreate) {
      EXPECT_NE(t->GetPixels(), nullptr);
      EXPECT_EQ(t->TexID, ImTextureID_Invalid);
      made_.insert(next_texture_);
      t->SetTexID(next_texture_++);
      t->SetStatus(ImTextureStatus_OK);
    } else if (t->Status == ImTextureStatus_WantUpdates) {
      EXPECT_TRUE(made_.count(t->TexID));
      t->SetStatus(ImTextureStatus_OK);
    } else if (t->Status == ImTextureStatus_WantDestroy && t->UnusedFrames > 0) {
      EXPECT_TRUE(made_.erase(t->TexID));
      t->SetTexID(ImTextureID_Invalid);
      t->SetStatus(ImTextureStatus_Destroyed);
    }
  }
}

// What a graphics card would be given: finite places, indices of vertices that are there, textures that are made.
void Screen::check_drawing() {
  const ImDrawData* data = ImGui::GetDrawData();
  ASSERT_TRUE(data && data->Valid);
  for (const ImDrawList* list : data->CmdLists) {
    for (const ImDrawVert& v : list->VtxBuffer)
      ASSERT_TRUE(std::isfinite(v.pos.x) && std::isfinite(v.pos.y))
          << list->_OwnerName << ": " << v.pos.x << ", " << v.pos.y << ", colour " << std::hex << v.col << ", vertex "
          << std::dec << (&v - list->VtxBuffer.Data) << " of " << list->VtxBuffer.Size;
    for (const ImDrawCmd& c : list->CmdBuffer) {
      if (c.UserCallback) continue;
      ASSERT_LE(c.IdxOffset + c.ElemCount, static_cast<unsigned>(list->IdxBuffer.Size));
      for (unsigned i = c.IdxOffset; i < c.IdxOffset + c.ElemCount; i++)
        ASSERT_LT(c.VtxOffset + list->IdxBuffer[static_cast<int>(i)], static_cast<unsigned>(list->VtxBuffer.Size));
      if (c.ElemCount) {
        ASSERT_TRUE(made_.count(c.GetTexID())) << "a texture that is not there, in " << list->_OwnerName;
      }
    }
  }
}

bool Screen::until(ui::App& app, const std::function<bool()>& condition, double seconds) {
  for (Stopwatch watch; watch.seconds() < seconds * slowness;) {
    frame(app);
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool Screen::settle(ui::App& app) {
  // What is due soon (a panel asks when it has been calm for a moment) comes first; what moves for ever does not count.
  int quiet = 0, due = 0;
  bool done = until(app, [&] {
    bool rest = app.settled() && !app.bench().explaining().waits();
    if (rest && app.next_frame_in() < 0.25 && due++ < 60) rest = false;
    quiet = rest ? quiet + 1 : 0;
    return quiet > 4;
  });
  if (done) return true;
  const Workbench& b = app.bench();
  ADD_FAILURE() << "running " << b.runs().running() << ", waiting for " << b.link().waiting() << ", phase '"
                << b.link().status().phase << "', starts " << b.link().status().starts << ", the log ends '"
                << (b.link().log().empty() ? "" : b.link().log().back().text) << "'";
  return false;
}

std::string Screen::text(ui::App& app) {
  std::string out;
  frame([&] {
    ImGui::LogToBuffer();
    app.frame(scale);
    out = ImGui::GetCurrentContext()->LogBuffer.c_str();
    ImGui::LogFinish();
  });
  // Tests look for words as people read them: before a unit there is a blank.
  constexpr std::string_view no_break = "\u00a0";
  for (size_t at; (at = out.find(no_break)) != out.npos;) out.replace(at, no_break.size(), " ");
  return out;
}

void Screen::click(ui::App& app, float x, float y, int which) {
  mouse(x, y);
  frames(app, 2);  // what lies under the mouse is known one frame later
  button(true, which);
  frame(app);
  button(false, which);
  frame(app);
}

void Screen::drag(ui::App& app, ImVec2 from, ImVec2 to, int steps) {
  mouse(from.x, from.y);
  frames(app, 2);
  button(true);
  frame(app);
  for (int i = 1; i <= steps; i++) {
    float t = static_cast<float>(i) / static_cast<float>(steps);
    mouse(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t);
    frame(app);
  }
  button(false);
  frames(app, 2);
}

void Screen::wheel(ui::App& app, float by) {
  io().AddMouseWheelEvent(0, by);
  frame(app);
}

void Screen::press(ui::App& app, ImGuiKeyChord chord) {
  auto modifiers = [&](bool down) {
    for (auto m : {ImGuiMod_Ctrl, ImGuiMod_Shift, ImGuiMod_Alt})
      if (chord & m) io().AddKeyEvent(static_cast<ImGuiKey>(m), down);
  };
  auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  modifiers(true);
  io().AddKeyEvent(key, true);
  frame(app);
  io().AddKeyEvent(key, false);
  modifiers(false);
  frame(app);
}

void Screen::type(ui::App& app, const std::string& text) {
  for (char c : text) {
    io().AddInputCharacter(static_cast<unsigned char>(c));
    frame(app);
  }
}

ImRect Screen::find(ui::App& app, const std::string& window, ImGuiID item, float across) {
  ImGuiWindow* w = ImGui::FindWindowByName(window.c_str());
  if (!w) return {};
  auto hovers = [&](float x, float y) {
    mouse(x, y);
    frame(app);
    return ImGui::GetCurrentContext()->HoveredId == item;
  };
  ImRect found(FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX);
  float x = w->Pos.x + w->Size.x * across;
  for (float y = w->Pos.y + 2; y < w->Pos.y + w->Size.y; y += 4)
    if (hovers(x, y))
      found.Add(ImVec2(x, y));
    else if (found.Max.x > 0)
      break;
  if (found.Max.x < 0) return {};
  float y = found.GetCenter().y;
  for (float step : {-6.0f, 6.0f})
    for (float at = x + step; at > w->Pos.x && at < w->Pos.x + w->Size.x && hovers(at, y); at += step)
      found.Add(ImVec2(at, y));
  return found;
}

ImGuiID Screen::id(const std::string& window, const std::vector<std::string>& path) {
  ImGuiWindow* w = ImGui::FindWindowByName(window.c_str());
  ImGuiID id = w ? w->ID : 0;
  for (const auto& p : path) {
    // "#3": a number, as PushID(3) takes.
    int number = p.size() > 1 && p[0] == '#' && p[1] != '#' ? std::stoi(p.substr(1)) : -1;
    id = number >= 0 ? ImHashData(&number, sizeof number, id) : ImHashStr(p.c_str(), 0, id);
  }
  return id;
}

AppOnScreen::AppOnScreen(const std::string& engine, const Document& first, bool live) {
  ui::AppOptions options;
  options.engine.command = engine.empty() ? real_engine() : engine;
  app = std::make_unique<ui::App>(std::move(options));
  Settings s = app->settings();
  s.live = live;
  if (!live) app->bench().cancel();
  app->apply(ui::SetSettings{s});
  app->execute({ReplaceDocument{first, ""}});
}

bool AppOnScreen::open_recording(const std::string& name) {
  if (!screen.settle(*app)) return false;
  for (const auto& r : ui::App::recordings())
    if (r.name == name) {
      app->open(r.path);
      return screen.settle(*app);
    }
  return false;
}

std::string AppOnScreen::said(const char* panel) {
  app->show_only(panel);
  screen.frames(*app, 3);
  std::string text;
  for (char c : screen.text(*app)) {
    if (c == '\n') c = ' ';
    if (c != ' ' || !text.ends_with(' ')) text += c;
  }
  return text;
}

}  // namespace convscope::test
