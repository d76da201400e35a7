// A kernel's text that is typed in the window itself.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/ui/panels/source_edit.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

// The file of a copy of S4, which is then the kernel.
std::string copied(Gui& g) {
  g.press("edit-copy");
  g.popup("Edit a copy of the kernel");
  const std::string file = g.path("mine.cu");
  g.type("//Edit a copy of the kernel/##path", file, false);
  g.click("//Edit a copy of the kernel/Save");
  g.until([&] { return g.document().kernel == file; }, "the copy is compiled", 60);
  g.settle();
  CHECK(shown(g, "Source"));
  CHECK(ui::source_edit().is_on());
  return file;
}

void go_to_line(Gui& g, const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  CHECK(at != text.npos);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  g.key(ImGuiKey_DownArrow, static_cast<int>(std::count(text.data(), text.data() + at, '\n')));
  g.key(ImGuiKey_Home);
}

}  // namespace

SCENARIO(a_copy_of_a_specimen_is_mended_by_typing) {
  const std::string wrong = text_file(project_file("kernels/specimens/s4.cu"));
  const std::string file = copied(g);
  CHECK_EQ(g.read("mine.cu"), wrong);
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  for (const auto& k : g.bench().inventory().kernels())
    if (k.name == file) CHECK_EQ(k.idea, std::string("begun as S4: the right index without the divisibility test"));
  go_to_line(g, wrong, "if (i >= 0");
  // Among it are keys that are the window's own elsewhere: Space, x, b, 1.
  const std::string typed = "if ((j+p-k*d) % s) continue; /*xb1*/";
  g.ctx->KeyChars(typed.c_str());
  g.until([&] { return g.bench().runs().report()->status == "right"; }, "it is compiled, run and right", 60);
  CHECK(g.read("mine.cu").find(typed) != std::string::npos);
  CHECK_EQ(g.document().kernel, file);
  CHECK(g.app.settings().live);
  g.settle();
  // Undo is the editor's own, down to the text as it was, and no further.
  for (int i = 0; i < 60 && g.read("mine.cu") != wrong; i++) {
    g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
    if (i % 20 == 19) g.frames(40);
  }
  g.until([&] { return g.bench().runs().report()->status == "wrong"; }, "and wrong again", 60);
  CHECK_EQ(g.read("mine.cu"), wrong);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z, 3);
  g.settle();
  CHECK_EQ(g.document().kernel, file);
  // What does not compile is said beside the text, and what was right before is no longer called so.
  g.ctx->KeyChars("oops");
  g.until([&] { return !g.bench().files().of(file)->trouble.empty(); }, "what does not compile is said", 60);
  g.frames(3);
  CHECK(g.says("does not compile"));
  CHECK(!g.says("As it was before; the file now: "));
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z, 4);
  // While the newer text waits or compiles nothing is said of it that was said of the one before.
  const std::string words = ui::source_edit().waits() ? g.words() : "";
  if (ui::source_edit().waits() && !words.empty()) {
    CHECK(words.find("compiling…") != words.npos);
    CHECK(words.find("does not compile") == words.npos);
  }
  g.until([&] { return g.bench().files().of(file)->trouble.empty() && g.read("mine.cu") == wrong; }, "it compiles", 60);
  g.settle();
}

// The edit that makes it right is found, put into the text by a click, and taken back by one step.
SCENARIO(an_edit_is_found_and_put_into_the_text) {
  const std::string file = copied(g);
  const std::string wrong = g.read("mine.cu");
  // Whoever does not type any more: what is put in opens the text again.
  g.click("//Source/Edit");
  g.settle();
  CHECK(!ui::source_edit().is_on());
  g.press("fix");
  const auto report = g.bench().runs().report();
  CHECK(g.bench().mending().asks_for(*report));
  CHECK(shown(g, "Verdict"));
  g.until([&] { return g.bench().mending().of(*report) != nullptr; }, "an edit is found", 120);
  const std::string mended = g.bench().mending().of(*report)->text;
  CHECK(!mended.empty());
  g.frames(3);
  CHECK(g.says("small problems, and judged so on"));
  g.click("//Verdict/Put it into the text");
  g.until([&] { return g.bench().runs().report()->status == "right"; }, "it is compiled, run and right", 60);
  CHECK_EQ(g.read("mine.cu"), mended);
  CHECK(ui::source_edit().is_on());
  g.settle();
  CHECK(g.bench().mending().of(*g.bench().runs().report()) == nullptr);
  // Its text is the editor's, which takes it back.
  go_to_line(g, mended, "__global__");
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  g.until([&] { return g.bench().runs().report()->status == "wrong"; }, "and wrong again", 60);
  CHECK_EQ(g.read("mine.cu"), wrong);
  g.settle();
}

// Who clicks into a text of one's own and types, with Edit off, gives the window no commands.
SCENARIO(signs_in_a_text_that_is_read_are_no_commands) {
  const std::string file = copied(g);
  g.click("//Source/Edit");
  g.settle();
  CHECK(!ui::source_edit().is_on());
  auto click_text = [&] {
    for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
      if (w->WasActive && std::string_view(w->Name).starts_with("Source/source_"))
        g.ctx->MouseMoveToPos({w->Pos.x + w->Size.x / 2, w->Pos.y + w->Size.y / 2});
    g.ctx->MouseClick();
    g.frames(3);
  };
  click_text();
  CHECK(ui::source_edit().is_read());
  const bool live = g.app.settings().live;
  for (ImGuiKey key : {ImGuiKey_B, ImGuiKey_X, ImGuiKey_1, ImGuiKey_Space}) {
    g.key(key);
    g.frames(3);
    CHECK_EQ(g.document().kernel, file);
    CHECK_EQ(g.app.settings().live, live);
  }
  CHECK(g.app.toast().starts_with("Typing is off: tick Edit"));
  g.key(ImGuiKey_Enter);
  g.frames(5);
  CHECK(ui::source_edit().is_on());
  CHECK(ui::source_edit().has_keys());
  g.click("//Source/Edit");
  CHECK_EQ(g.read("mine.cu"), text_file(project_file("kernels/specimens/s4.cu")));
  // The program's own text cannot be typed in, and keeps the keys as commands.
  g.load(small_document("S4"));
  g.panel("Source");
  g.settle();
  click_text();
  CHECK(!ui::source_edit().is_read());
}

// Half of the panel is too narrow for lines of code: instructions give way to what is typed, and come back behind it.
SCENARIO(who_types_has_the_panel) {
  g.load(small_document());
  g.panel("Source");
  CHECK(!g.exists("//Source/##between"));  // the text's, unless they are asked for
  g.click("//Source/Instructions");
  g.frames(3);
  CHECK(g.exists("//Source/##between"));
  copied(g);
  CHECK(!g.exists("//Source/##between"));
  // Asked for all the same, and given less of the room.
  g.click("//Source/Instructions");
  g.frames(3);
  CHECK(ui::source_edit().is_on());
  const auto middle = [&] { return g.item("//Source/##between").RectFull.GetCenter(); };
  const ImVec2 half = middle();
  g.drag(half, {half.x + 150, half.y});
  CHECK(std::abs(middle().x - half.x - 150) < 12);
  g.drag(middle(), {half.x + 2000, half.y});
  CHECK(middle().x < half.x + 500);  // what is left for them
  g.act(ImGuiTestAction_DoubleClick, "//Source/##between");
  CHECK(std::abs(middle().x - half.x) < 2);
  g.click("//Source/Instructions");
  g.click("//Source/Edit");
  g.frames(3);
  CHECK(!ui::source_edit().is_on());
  CHECK(g.exists("//Source/##between"));
}

// What was typed is written whatever comes next, and nothing else of the file changes.
SCENARIO(what_is_typed_is_not_lost) {
  const std::string file = copied(g);
  std::string text = g.read("mine.cu"), windows;
  for (char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
  windows.resize(windows.size() - 2);  // without the last end of a line
  g.write("mine.cu", windows);
  g.until([&] { return g.bench().files().of(file)->text == windows; }, "Windows' ends of lines are seen", 20);
  g.settle();
  CHECK(ui::source_edit().is_on());
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  g.ctx->KeyChars("// 1 ");
  g.click("//Source/Edit");  // within the pause
  g.until([&] { return g.read("mine.cu").starts_with("// 1 "); }, "it is written all the same", 20);
  CHECK_EQ(g.read("mine.cu"), "// 1 " + windows + "\r\n");
  // Another kernel within the pause.
  g.settle();
  g.click("//Source/Edit");
  g.frames(3);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  g.ctx->KeyChars("// 2 ");
  g.app.execute({SetKernel{"S1"}, 0});
  g.until([&] { return g.read("mine.cu").starts_with("// 2 // 1 "); }, "it is written as well", 20);
  g.settle();
  CHECK(!ui::source_edit().is_on());
  // A trace of the selected element does not take the lines away from who types.
  g.write("mine.cu", text);
  g.app.execute({SetKernel{file}, 0});
  g.until(
      [&] { return g.bench().files().of(file)->text == text && g.bench().runs().report()->document.kernel == file; },
      "it is shown", 60);
  g.settle();
  g.press("next-failing");
  g.panel("Source");
  g.settle();
  g.click("//Source/Edit");
  g.frames(3);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  for (const char* typed : {"/*a*/", "/*b*/"}) {
    g.ctx->KeyChars(typed);
    g.until(
        [&] {
          return g.bench().files().of(file)->text.find(typed) != std::string::npos &&
                 !g.bench().files().of(file)->compiling;
        },
        "it is compiled", 60);
    g.settle();
    CHECK(g.bench().explaining().traced() != nullptr);
  }
  CHECK(ui::source_edit().has_keys());
  CHECK(g.read("mine.cu").starts_with("/*a*//*b*/"));
  CHECK_EQ(g.document().kernel, file);
  // Bytes that would not come back are not typed among.
  const std::string latin = "// \xe9 caf\xe9\n" + text;
  g.write("mine.cu", latin);
  g.until([&] { return g.bench().files().of(file)->text == latin; }, "another editor's text is seen", 20);
  g.settle();
  CHECK(!ui::source_edit().is_on());
  g.click("//Source/Edit");
  g.frames(3);
  CHECK(!ui::source_edit().is_on());
  CHECK(g.app.toast().find("use another editor") != std::string::npos);
  CHECK_EQ(g.read("mine.cu"), latin);
}

SCENARIO(another_editors_text_is_not_typed_over) {
  const std::string file = copied(g), first = g.read("mine.cu"), other = "// by another editor\n" + first;
  g.write("mine.cu", other);
  g.until([&] { return g.bench().files().of(file)->text == other; }, "the other text is seen", 20);
  g.settle();
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  g.ctx->KeyChars("// and ");
  g.until([&] { return g.read("mine.cu") == "// and " + other; }, "what is typed is put into the other text", 20);
  g.settle();
  // Both at once: the file keeps what the other one wrote.
  g.ctx->KeyChars("lost? ");
  g.write("mine.cu", first);
  g.until([&] { return g.app.toast().find("was changed by another program") != std::string::npos; }, "it is said", 20);
  CHECK_EQ(g.read("mine.cu"), first);
  CHECK(std::string(g.clipboard()).find("// and lost? ") != std::string::npos);
  g.until([&] { return g.bench().files().of(file)->text == first; }, "its text is the kernel's", 20);
  g.settle();
  // Ctrl and S write at once, and save no session.
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  g.ctx->KeyChars("/*now*/");
  g.key(ImGuiMod_Ctrl | ImGuiKey_S);
  g.frames(3);
  CHECK(!g.exists("//Save session/##path"));
  CHECK(g.read("mine.cu").starts_with("/*now*/"));
  // All deleted is not written: somebody is about to paste.
  const std::string kept = g.read("mine.cu");
  g.key(ImGuiMod_Ctrl | ImGuiKey_A);
  g.key(ImGuiKey_Delete);
  g.frames(60);
  CHECK_EQ(g.read("mine.cu"), kept);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  g.settle();
  g.click("//Source/Edit");
  CHECK(!ui::source_edit().is_on());
  // A file that comes with the program stays as it is: a copy is offered.
  g.load(small_document("S4"));
  g.panel("Source");
  CHECK(g.exists("//Source/Edit a copy…"));
  CHECK(!g.exists("//Source/Edit"));
}
