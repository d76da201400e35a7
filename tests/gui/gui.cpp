#include "tests/gui/gui.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <imgui_internal.h>
#include <sstream>

#include "app/ui/actions.h"

namespace convscope::test {

std::vector<Scenario>& scenarios() {
  static std::vector<Scenario> all;
  return all;
}

Document small_document(const std::string& kernel) {
  Document d;
  ConvProblem p;
  p.in_channels = 4, p.out_channels = 6, p.kernel_size = 3, p.length = 64, p.stride = 2, p.padding = 1, p.dilation = 2;
  d.problem = p;
  d.kernel = kernel;
  return d;
}

// ---- waiting ------------------------------------------------------------------------------------------------------

void Gui::until(const std::function<bool()>& holds, const char* what, double seconds) {
  auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    ctx->Yield();
    double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (waited < seconds * slowness && !ctx->Abort) continue;
    std::string state =
        fmt::format("running {}, waiting {}, explaining {}, phase '{}', toast '{}'", bench().runs().running(),
                    bench().link().waiting(), bench().explaining().waits(), bench().link().status().phase, app.toast());
    fail(fmt::format("not after {:.0f} s: {} ({})", waited, what, state), "", 0);
  }
}

void Gui::settle(double seconds) {
  // Something that is due soon (what a panel asks when it has been calm for a moment) comes first; what moves for ever
  // does not count.
  int quiet = 0, due = 0;
  until(
      [&] {
        bool rest = app.settled() && !bench().explaining().waits();
        if (rest && app.next_frame_in() < 0.25 && due++ < 60) rest = false;
        quiet = rest ? quiet + 1 : 0;
        return quiet > 5;
      },
      "everything that was asked for has come", seconds);
}

// ---- what stands on the screen ------------------------------------------------------------------------------------

std::string Gui::words() {
  stage.capture = true;
  until([&] { return !stage.capture; }, "a frame was drawn");
  return stage.words;
}

void Gui::panel(const char* title) {
  ImGuiWindow* window = ctx->GetWindowByRef(fmt::format("//{}", title).c_str());
  if (!window) fail(fmt::format("there is no panel {}", title), "", 0);
  ctx->WindowFocus(fmt::format("//{}", title).c_str());
  frames(3);
  settle();
  if (window->Hidden || !window->WasActive) fail(fmt::format("the panel {} is not shown", title), "", 0);
  ctx->SetRef("");
}

void Gui::popup(const char* title) {
  std::string ref = fmt::format("//{}", title);
  until(
      [&] {
        ImGuiWindow* w = ctx->GetWindowByRef(ref.c_str());
        return w && w->WasActive && ImGui::GetTopMostPopupModal() == w;
      },
      title);
}

// ---- hands --------------------------------------------------------------------------------------------------------

void Gui::act(ImGuiTestAction action, const std::string& ref) {
  ctx->ItemAction(action, ref.c_str());
  if (ctx->IsError()) throw Failed{};
  frames();
}

void Gui::type(const std::string& ref, const std::string& text, bool enter) {
  ctx->ItemInput(ref.c_str());
  if (ctx->IsError()) throw Failed{};
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_A);
  if (enter)
    ctx->KeyCharsReplaceEnter(text.c_str());
  else
    ctx->KeyCharsReplace(text.c_str());
  frames();
}

void Gui::choose(const std::string& combo, const std::string& entry) {
  click(combo);
  frames(2);
  // ImGui::Combo numbers its entries.
  std::string ref = "//$FOCUSED/" + entry;
  for (int i = 0; i < 30 && !exists(ref); i++) ref = fmt::format("//$FOCUSED/$${}/{}", i, entry);
  click(ref);
}

void Gui::key(ImGuiKeyChord chord, int count) {
  ctx->KeyPress(chord, count);
  frames();
}

void Gui::press(const char* id) {
  const ui::Action* a = ui::find_action(id);
  if (!a || !a->chord) fail(fmt::format("no action {} with keys", id), "", 0);
  key(a->chord);
}

void Gui::menu(const char* id) {
  const ui::Action* a = ui::find_action(id);
  if (!a || !*a->menu) fail(fmt::format("no action {} with a menu", id), "", 0);
  ctx->MenuClick(fmt::format("//##MainMenuBar/{}/###{}", a->menu, id).c_str());
  if (ctx->IsError()) throw Failed{};
  frames();
}

Extent Gui::extent() const {
  auto r = bench().runs().picture();
  return r ? Extent{static_cast<double>(r->rows()), static_cast<double>(r->columns())} : Extent{};
}

ImVec2 Gui::place(Pictures::Map map, double row, double column) {
  auto at = item(fmt::format("//Maps/$${}/map", static_cast<int>(map)));
  if (!at.ID) fail("the map is not drawn", "", 0);
  View v = view();
  ImRect r = at.RectFull;
  return {r.Min.x + r.GetWidth() * static_cast<float>((column - v.column0) / (v.column1 - v.column0)),
          r.Min.y + r.GetHeight() * static_cast<float>((row - v.row0) / (v.row1 - v.row0))};
}

void Gui::click_element(Pictures::Map map, int64_t row, int64_t column) {
  ctx->MouseMoveToPos(place(map, static_cast<double>(row) + 0.5, static_cast<double>(column) + 0.5));
  ctx->MouseClick(0);
  frames();
}

void Gui::drag(ImVec2 from, ImVec2 to, ImGuiMouseButton button) {
  ctx->MouseMoveToPos(from);
  ctx->MouseDown(button);
  frames();
  for (int i = 1; i <= 8; i++) {
    float t = static_cast<float>(i) / 8;
    ctx->MouseMoveToPos({from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t});
    frames(1);
  }
  ctx->MouseUp(button);
  frames();
}

// ---- the model ----------------------------------------------------------------------------------------------------

void Gui::load(const Document& document) {
  app.execute({ReplaceDocument{document, "test"}, 0});
  frames();
  settle();
}

void Gui::write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

std::string Gui::read(const std::string& name) const {
  std::ifstream in(path(name));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// ---- checks -------------------------------------------------------------------------------------------------------

void Gui::fail(const std::string& why, const char* file, int line) {
  ImGuiTestEngine_Error(*file ? file : nullptr, "scenario", line, ImGuiTestCheckFlags_None, "%s", why.c_str());
  throw Failed{};
}

void Gui::check(bool holds, const char* text, const char* file, int line) {
  if (ctx->IsError()) throw Failed{};
  if (!holds) fail(text, file, line);
}

bool shown(Gui& g, const char* panel) {
  ImGuiWindow* w = g.ctx->GetWindowByRef(fmt::format("//{}", panel).c_str());
  return w && w->WasActive && !w->Hidden;
}

}  // namespace convscope::test
