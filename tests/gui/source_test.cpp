// Writing in the panel Source: finding and replacing, undo by words, lines that do not compile.
#include <cctype>
#include <imgui_internal.h>
#include <string_view>

#include "app/ui/panels/source_edit.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

// A copy of S4 that is typed in, with the caret at its beginning. Returns its text.
std::string text_of_copy(Gui& g) {
  g.press("edit-copy");
  g.popup("Edit a copy of the kernel");
  const std::string file = g.path("typed.cu");
  g.type("//Edit a copy of the kernel/##path", file, false);
  g.click("//Edit a copy of the kernel/Save");
  g.until([&] { return g.document().kernel == file; }, "the copy is compiled", 60);
  g.settle();
  CHECK(ui::source_edit().is_on());
  g.key(ImGuiMod_Ctrl | ImGuiKey_Home);
  return g.read("typed.cu");
}

std::string typed() { return ui::source_edit().text(); }

// How often these words stand on the screen with no letter and no digit beside them.
int times_said(Gui& g, const std::string& what) {
  const std::string all = g.words();
  auto joined = [&](size_t at) { return at < all.size() && std::isalnum(static_cast<unsigned char>(all[at])); };
  int times = 0;
  for (size_t at = all.find(what); at != all.npos; at = all.find(what, at + 1))
    times += !(at > 0 && joined(at - 1)) && !joined(at + what.size());
  return times;
}

float top_of_text() {
  for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
    if (w->WasActive && std::string_view(w->Name).starts_with("Source/source_")) return w->Pos.y;
  return 0;
}

// Each "sum" of a text that `which` names (from 0; −1: all) as "acc".
std::string with_other_sums(std::string text, int which) {
  int number = 0;
  for (size_t at = text.find("sum"); at != text.npos; at = text.find("sum", at + 1))
    if (which < 0 || which == number++) text.replace(at, 3, "acc");
  return text;
}

}  // namespace

// The keyboard stays where the words are typed: Enter goes on to the next match, and never into the text.
SCENARIO(words_are_found_and_replaced) {
  g.panel("Source");
  g.key(ImGuiMod_Ctrl | ImGuiKey_F);
  g.ctx->KeyChars("sum");
  g.frames(3);
  CHECK(times_said(g, "1 of 3") > 0);
  CHECK(!g.exists("//Source/##replace"));  // of a text that is only shown
  g.key(ImGuiKey_Escape);
  CHECK(!g.exists("//Source/##find"));

  const std::string text = text_of_copy(g);
  g.key(ImGuiMod_Ctrl | ImGuiKey_F);
  g.ctx->KeyChars("sum");
  g.frames(3);
  CHECK(times_said(g, "1 of 3") > 0);
  g.key(ImGuiKey_Enter);
  CHECK(times_said(g, "2 of 3") > 0);
  g.key(ImGuiKey_Enter);
  CHECK(times_said(g, "3 of 3") > 0);
  g.key(ImGuiKey_Enter);
  CHECK(times_said(g, "1 of 3") > 0);
  g.key(ImGuiMod_Shift | ImGuiKey_Enter);
  CHECK(times_said(g, "3 of 3") > 0);
  g.key(ImGuiMod_Shift | ImGuiKey_F3);
  CHECK(times_said(g, "2 of 3") > 0);
  CHECK_EQ(typed(), text);
  // Back in the text, the match is selected: what is typed takes its place, and one undo takes that back.
  g.key(ImGuiKey_Escape);
  CHECK(!g.exists("//Source/##find"));
  CHECK(ui::source_edit().has_keys());
  g.ctx->KeyChars("acc");
  g.frames(2);
  CHECK_EQ(typed(), with_other_sums(text, 1));
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), text);
  // One, and all the others; the latter are one step as well.
  g.key(ImGuiMod_Ctrl | ImGuiKey_F);
  CHECK(times_said(g, "2 of 3") > 0);
  g.type("//Source/##replace", "acc", false);
  g.click("//Source/Replace");
  CHECK_EQ(typed(), with_other_sums(text, 1));
  CHECK(times_said(g, "2 of 2") > 0);
  g.click("//Source/All");
  CHECK_EQ(typed(), with_other_sums(text, -1));
  g.click("//Source/###close find");
  g.frames(3);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), with_other_sums(text, 1));
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), text);
  g.settle();
}

SCENARIO(undo_takes_a_word_back) {
  const std::string text = text_of_copy(g);
  g.ctx->KeyChars("word");
  g.frames(2);
  CHECK_EQ(typed(), "word" + text);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), text);
  g.key(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z);
  CHECK_EQ(typed(), "word" + text);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  g.ctx->KeyChars("one two");
  g.frames(2);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), "one " + text);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), text);
  // The control: what was typed elsewhere is another step.
  g.ctx->KeyChars("ab");
  g.key(ImGuiKey_Home);
  g.ctx->KeyChars("cd");
  g.frames(2);
  CHECK_EQ(typed(), "cdab" + text);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), "ab" + text);
  g.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  CHECK_EQ(typed(), text);
  g.settle();
}

SCENARIO(lines_that_do_not_compile_are_marked_and_gone_to) {
  const std::string right = text_file(project_file("assets/kernels/gather.cu")), file = g.path("two.cu");
  g.write("two.cu", "int a = wrong_a;\nint b = wrong_b;\n" + right);
  g.app.open(file);
  g.popup("Run code from outside?");
  g.click("//Run code from outside?/Compile and run");
  g.until([&] { return g.document().kernel == file; }, "it is chosen", 60);
  g.settle();
  auto errors = [&] { return g.bench().files().of(file)->errors; };
  CHECK_EQ(errors().size(), size_t{2});
  CHECK_EQ(errors().front().line, 1);
  CHECK_EQ(errors().back().line, 2);
  g.click("//Source/Edit");
  g.frames(3);
  const int marked = times_said(g, "E");
  CHECK(g.says("does not compile, 2 errors: line 1: 'wrong_a' was not declared"));
  const float before = top_of_text();
  CHECK(before > 0);
  // The caret is in the first one's line. It goes to what the compiler names in the next.
  g.press("next-error");
  g.frames(5);
  g.ctx->KeyChars("0;//");
  g.frames(2);
  CHECK_EQ(typed(), "int a = wrong_a;\nint b = 0;//wrong_b;\n" + right);
  g.until([&] { return errors().size() == 1 && !g.bench().files().of(file)->compiling; }, "it is compiled again", 60);
  g.settle();
  CHECK_EQ(top_of_text(), before);
  CHECK_EQ(times_said(g, "E"), marked - 1);
  // A line of the log leads there as well.
  g.panel("Log");
  g.click("//Log/**/##two.cu:1");
  g.frames(5);
  CHECK(shown(g, "Source"));
  g.ctx->KeyChars("//");
  g.until([&] { return g.bench().files().of(file)->trouble.empty(); }, "it compiles", 60);
  g.settle();
  CHECK_EQ(g.read("two.cu"), "//int a = wrong_a;\nint b = 0;//wrong_b;\n" + right);
  CHECK_EQ(top_of_text(), before);
  CHECK_EQ(times_said(g, "E"), marked - 2);
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
}

// Who did not want to run it is told so where its text would stand, and may think better of it.
SCENARIO(a_file_that_was_refused_is_asked_about_again) {
  const std::string file = g.path("later.cu");
  g.write("later.cu", text_file(project_file("assets/kernels/gather.cu")));
  g.load(small_document(file));
  g.panel("Source");
  CHECK(g.says("later.cu has not been trusted yet"));
  g.click("//Source/Compile and run it…");
  g.popup("Run code from outside?");
  g.click("//Run code from outside?/Cancel");
  CHECK(g.says("later.cu has not been trusted yet"));
  g.click("//Source/Compile and run it…");
  g.popup("Run code from outside?");
  g.click("//Run code from outside?/Compile and run");
  g.until([&] { return g.bench().runs().report()->kernel == file && g.bench().runs().report()->status == "right"; },
          "it is judged", 60);
  g.settle();
  CHECK(!g.says("has not been trusted yet"));
  CHECK(g.exists("//Source/Edit"));
}
