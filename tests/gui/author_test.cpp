// Who edits a kernel's file beside the window: what an edit has changed, and ways to the lines that are named.
#include <algorithm>

#include "tests/gui/gui.h"

namespace convscope::test {
namespace {

// The sample, with other words in the place of some.
std::string sample(const std::string& from = "", const std::string& to = "") {
  std::string text = text_file(project_file("assets/kernels/gather.cu"));
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

void open_trusted(Gui& g, const std::string& name, const std::string& text) {
  g.write(name, text);
  g.app.open(g.path(name));
  g.popup("Run code from outside?");
  g.frames(3);
  g.key(ImGuiKey_Enter);
  g.until([&] { return g.document().kernel == g.path(name); }, "it is the kernel", 60);
  g.settle();
}

void save(Gui& g, const std::string& name, const std::string& text) {
  const uint64_t before = g.serial();
  g.write(name, text);
  g.until([&] { return g.serial() > before && g.bench().runs().report()->final; }, "it is judged again", 60);
  g.settle();
}

}  // namespace

SCENARIO(an_edit_is_told_by_what_the_text_before_gave) {
  open_trusted(g, "mine.cu", sample("j + p - k * d", "j - k * d"));
  CHECK(!g.says("The text before"));
  const int64_t failing = *g.bench().runs().report()->failing;
  CHECK(failing > 0);
  save(g, "mine.cu", sample());
  CHECK(g.says(fmt::format("The text before: wrong, {} of 774 elements failing", failing)));
  // Run again it is the same text still.
  g.press("run");
  g.settle();
  CHECK(g.says("The text before: wrong"));
  save(g, "mine.cu", sample("y[id] = sum", "y[id] = 2 * sum"));
  CHECK(g.says("The text before: right"));
  // Of another problem, or another kernel, it says nothing.
  auto longer = g.problem();
  longer.length += 1;
  g.app.execute({SetProblem{longer}, 0});
  g.settle();
  CHECK(!g.says("The text before"));
  g.app.execute({SetKernel{"S4"}, 0});
  g.settle();
  CHECK(!g.says("The text before"));
}

SCENARIO(a_file_that_does_not_compile_opens_at_its_line) {
  g.write("long.cu", std::string(200, '\n') + sample("float sum", "flaot sum"));
  g.app.open(g.path("long.cu"));
  g.popup("Run code from outside?");
  g.frames(3);
  g.key(ImGuiKey_Enter);
  g.until([&] { return g.says("Does not compile"); }, "it does not compile", 60);
  g.panel("Source");
  g.settle();
  CHECK(g.bench().files().of(g.path("long.cu"))->errors.front().line > 200);
  CHECK(g.says("\nE\n") || g.says(" E\n"));  // the mark beside it, which is drawn of lines that are in sight
}

// A bare kernel: what is lacking is a line, which is a click away.
SCENARIO(a_kernel_is_given_its_launch_line) {
  std::string text = text_file(project_file("assets/kernels/gather.cu"));
  const size_t line = text.find("// convscope: launch"), end = text.find('\n', line);
  text.erase(line, end + 1 - line);
  g.write("bare.cu", text);
  g.app.open(g.path("bare.cu"));
  g.popup("Run code from outside?");
  g.frames(3);
  g.key(ImGuiKey_Enter);
  g.panel("Verdict");
  g.until([&] { return g.says("How is it launched?"); }, "it is asked", 60);
  CHECK(!g.says("Does not compile"));
  g.click("//Verdict/Put this line above it");
  g.until([&] { return g.bench().runs().report() && g.bench().runs().report()->kernel == g.path("bare.cu"); },
          "it runs", 60);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  CHECK(text_file(g.path("bare.cu")).find("// convscope: launch gather grid=") != std::string::npos);
  g.panel("Verdict");
  CHECK(!g.says("Put this line above it"));
}

SCENARIO(lines_that_other_problems_name_are_a_click_away) {
  const std::string from = "y[id] = sum;";
  const std::string text = sample(from, "if (Cin != 4) sum += 0 * x[(long long)N * Cin * L + 2];\n  " + from);
  open_trusted(g, "beside.cu", text);
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  // What other problems would show is looked for by itself.
  g.until([&] { return g.says("Right here") && g.says("Not in general:"); }, "it is told so", 20);
  g.press("check");
  g.until([&] { return g.bench().checks().now().fuzz && g.bench().checks().now().fuzz->smallest(); }, "one fails", 60);
  g.settle();
  const auto line = 1 + std::count(text.data(), text.data() + text.find("if (Cin != 4)"), '\n');
  CHECK(!shown(g, "Source"));
  g.click(fmt::format("//Verdict/beside.cu:{}##others", line));
  CHECK(shown(g, "Source"));
}

SCENARIO(what_the_sentence_says_is_no_bullet_as_well) {
  open_trusted(g, "silu.cu", sample("y[id] = sum;", "y[id] = sum / (1 + expf(-sum));"));
  const std::string said = "every result goes through a SiLU (Swish), which is not of the layer";
  g.until([&] { return g.bench().causes().of(*g.bench().runs().report()) != nullptr; }, "its cause is known", 60);
  g.frames(3);
  const std::string words = g.words();
  const size_t first = words.find(said);
  CHECK(first != std::string::npos);
  CHECK_EQ(words.find("every result goes through", first + 1), std::string::npos);
  // Control: a term of the index is told below.
  save(g, "silu.cu", sample("j + p - k * d", "j + p - k"));
  g.until([&] { return g.says("the dilation is missing"); }, "the cause stands in the verdict", 20);
}

}  // namespace convscope::test
