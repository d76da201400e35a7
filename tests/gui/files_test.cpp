// Sessions, arrays, pictures: one way in, and what is wrong is said.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/ui/actions.h"
#include "kernels/problem/npy.h"
#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

SCENARIO(a_session_brings_problem_and_view_back) {
  Document d = small_document("S2");
  d.inputs.seed = 42;
  d.problem.bias = true;
  d.atol = 1e-3;
  g.load(d);
  g.click_element(Pictures::Map::kernel, 2, 40);
  g.press("zoom-in");
  g.press("classes");
  View view = g.app.views().now();
  g.press("save");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("one.convscope"), false);
  g.click("//Save session/Save");
  CHECK_EQ(g.app.toast(), "Saved " + g.path("one.convscope"));
  g.load(small_document("tiled"));
  g.press("fit");
  g.press("classes");
  g.press("open");
  g.popup("Open");
  g.type("//Open/##path", g.path("one.convscope"), false);
  g.click("//Open/Open");
  g.settle();
  CHECK(g.document() == d);
  CHECK(g.app.views().now() == view);
  CHECK_EQ(g.bench().runs().report()->document.kernel, std::string("S2"));
  CHECK_EQ(g.app.settings().recent.front(), g.path("one.convscope"));
  g.press("undo");  // opening is a step like any other
  CHECK_EQ(g.document().kernel, std::string("tiled"));
  g.settle();
}

SCENARIO(saving_again_asks_nothing_and_keeps_what_it_does_not_know) {
  g.press("save");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("two.convscope"), false);
  g.click("//Save session/Save");
  auto j = nlohmann::json::parse(g.read("two.convscope"));
  j["of_another_version"] = {1, 2};
  g.write("two.convscope", j.dump());
  g.app.open(g.path("two.convscope"));
  g.frames();
  CHECK_EQ(g.app.title(), std::string("two.convscope – S4 – convscope"));
  g.app.execute({SetKernel{"tiled"}, 0});
  CHECK_EQ(g.app.title(), std::string("two.convscope • – tiled – convscope"));
  g.press("save");
  g.frames(3);
  CHECK_EQ(g.app.title(), std::string("two.convscope – tiled – convscope"));
  j = nlohmann::json::parse(g.read("two.convscope"));
  CHECK_EQ(j["kernel"].get<std::string>(), std::string("tiled"));
  CHECK(j["of_another_version"] == nlohmann::json({1, 2}));
  // Save as goes elsewhere.
  g.menu("save-as");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("three.convscope"), false);
  g.key(ImGuiKey_Enter);
  g.frames(3);
  CHECK(std::filesystem::exists(g.path("three.convscope")));
  // Without an ending it gets the one by which it is listed.
  g.menu("save-as");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("four"), false);
  g.frames(2);
  CHECK(g.says("Saved as four.convscope"));
  g.key(ImGuiKey_Enter);
  g.frames(3);
  CHECK(std::filesystem::exists(g.path("four.convscope")) && !std::filesystem::exists(g.path("four")));
  g.settle();
}

SCENARIO(a_broken_session_is_said_with_its_rule) {
  Document before = g.document();
  auto refused = [&](const std::string& text, const std::string& says) {
    g.write("broken.convscope", text);
    g.app.open(g.path("broken.convscope"));
    g.frames();
    CHECK(g.app.toast().find(says) != std::string::npos);
    CHECK(g.document() == before);
  };
  refused("not json", "is no convscope session");
  refused(R"({"type": "convscope-session", "version": 9, "problem": {}})", "is of version 9");
  refused(
      R"({"type": "convscope-session", "version": 1, "problem": {"in_channels": 1, "out_channels": 1, "kernel_size": 1, "length": 0}})",
      "length");
  refused(
      R"({"type": "convscope-session", "version": 1, "seed": "many", "problem": {"in_channels": 1, "out_channels": 1, "kernel_size": 1, "length": 4}})",
      "seed");
  g.app.open(g.path("not-there.convscope"));
  g.frames();
  CHECK(g.app.toast().find("cannot be opened") != std::string::npos);
  CHECK(g.app.settings().recent.empty());
  CHECK(!g.bench().link().log().empty() && g.bench().link().log().back().kind == LogLine::Kind::trouble);
}

SCENARIO(a_dropped_array_becomes_the_input) {
  g.write("x.npy", npy_header(DType::f32, {2, 4, 10}) + std::string(2 * 4 * 10 * sizeof(float), '\0'));
  g.app.open(g.path("x.npy"));
  g.frames();
  CHECK_EQ(g.problem().batch, 2);
  CHECK_EQ(g.problem().in_channels, 4);
  CHECK_EQ(g.problem().length, 10);
  CHECK_EQ(g.app.toast(), std::string("Input: x.npy"));
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.length, 10);
  // Its shape stands against the sliders, in words.
  Document with_file = g.document();
  g.click("//Problem/parameters/length/+");
  CHECK(g.document() == with_file);
  CHECK(g.app.toast().find("has shape [2, 4, 10]") != std::string::npos);
  g.press("undo");
  CHECK(g.document() == small_document());
  g.settle();
}

SCENARIO(what_cannot_be_opened_is_said) {
  Document before = g.document();
  g.app.open(g.path("none.cu"));
  g.frames();
  CHECK(g.app.toast().find("none.cu is no file that is there") != std::string::npos);
  g.write("x.npy", "no array");
  g.app.open(g.path("x.npy"));
  g.frames();
  CHECK(g.app.toast().find("x.npy") != std::string::npos);
  CHECK(g.document() == before);
}

// By the keyboard alone: what is marked is taken by Enter, and Tab marks the other one.
SCENARIO(a_file_is_trusted_by_the_keyboard) {
  const std::string file = g.path("keys.cu");
  g.write("keys.cu", text_file(project_file("assets/kernels/gather.cu")));
  g.app.open(file);
  g.popup("Run code from outside?");
  g.frames(3);
  g.key(ImGuiKey_Tab);
  g.frames(3);
  g.key(ImGuiKey_Enter);
  g.frames(3);
  CHECK_EQ(g.app.toast(), "Not run: " + file);
  g.app.open(file);
  g.popup("Run code from outside?");
  g.frames(3);
  g.key(ImGuiKey_Enter);
  g.until([&] { return g.document().kernel == file; }, "it is compiled", 60);
  g.settle();
}

// A kernel's file: asked about, compiled, judged, and again when an editor writes it.
SCENARIO(a_kernels_file_follows_its_editor) {
  const std::string right = text_file(project_file("assets/kernels/gather.cu")), term = "j + p - k * d";
  std::string wrong = right;
  wrong.replace(wrong.find(term), term.size(), "j + p - k");
  const std::string file = g.path("mine.cu");
  g.write("mine.cu", right);
  Document d = small_document();
  d.problem.dilation = 2;
  g.load(d);
  g.press("open");
  g.popup("Open");
  g.type("//Open/##path", file, false);
  g.click("//Open/Open");
  g.popup("Run code from outside?");
  CHECK(g.says("__global__ void gather("));
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.click("//Run code from outside?/Cancel");
  CHECK_EQ(g.app.toast(), "Not run: " + file);
  CHECK_EQ(g.document().kernel, std::string("S4"));
  // What runs is what was shown: not what somebody has put there meanwhile.
  g.write("mine.cu", wrong);
  g.app.open(file);
  g.popup("Run code from outside?");
  g.write("mine.cu", right);
  g.click("//Run code from outside?/Compile and run");
  g.frames(5);
  CHECK_EQ(g.document().kernel, std::string("S4"));
  CHECK(g.app.toast().find("changed on disk since it was shown") != std::string::npos);
  g.popup("Run code from outside?");
  CHECK(g.says("j + p - k * d"));
  g.click("//Run code from outside?/Compile and run");
  g.until([&] { return g.document().kernel == file; }, "it is compiled", 60);
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.kernel, file);
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  CHECK(g.says("From outside"));
  g.write("mine.cu", wrong);
  g.until([&] { return g.bench().runs().report()->status == "wrong"; }, "it is compiled and run again", 60);
  g.until([&] { return g.says("the dilation is missing"); }, "the cause stands in the verdict", 20);
  // What is explained of an element is of the file as it is now.
  g.press("next-failing");
  auto explains = [&](bool wrong_one) {
    const Explained* e = g.bench().explaining().explained();
    return e && g.says("expected") && (std::fabs(e->got - e->expected) > 1e-3) == wrong_one &&
           !g.bench().explaining().waits();
  };
  g.until([&] { return explains(true); }, "a failing element is explained", 60);
  g.write("mine.cu", right);
  g.until([&] { return g.bench().runs().report()->status == "right"; }, "it is right for once", 60);
  g.until([&] { return explains(false); }, "the same element is explained anew", 60);
  CHECK(!g.says("This is of before"));
  g.write("mine.cu", wrong);
  g.until([&] { return g.bench().runs().report()->status == "wrong"; }, "and wrong again", 60);
  g.write("mine.cu", right + "oops");
  g.until([&] { return !g.bench().files().of(file)->trouble.empty(); }, "what does not compile is said", 60);
  g.frames(3);
  CHECK(g.says("as it was before; the file now: "));
  g.panel("Source");
  // The text that it has is seen, with what does not compile in it, and not the one that runs.
  CHECK(g.says("What runs is the text before; this one: "));
  g.click("//Source/Copy");
  CHECK_EQ(std::string(ImGui::GetClipboardText()), right + "oops");
  g.panel("Maps");
  CHECK(g.says("stale: this is of the file as it was before"));
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  g.panel("Verdict");
  CHECK(g.says("Does not compile"));
  CHECK(g.says("stale: "));  // the status bar's count
  std::filesystem::remove(file);
  g.until([&] { return g.says("The file is gone"); }, "that the file is gone is said", 20);
  CHECK(!g.says("Does not compile"));
  // A run that comes to no result leaves the picture of the one before, and says so.
  std::string far = right;
  far.replace(far.find("y[id]"), 5, "y[id + (1LL << 40)]");
  g.write("mine.cu", far);
  g.until([&] { return g.bench().runs().report()->status == "crashed"; }, "a crash is seen", 60);
  g.settle();
  g.panel("Maps");
  CHECK(g.says("stale: this is of the run before; the last one: crashed"));
  const auto line = 1 + std::count(far.data(), far.data() + far.find("y[id"), '\n');
  g.click("//Verdict/mine.cu:" + std::to_string(line));
  CHECK(shown(g, "Source"));
  g.write("mine.cu", right);
  g.until([&] { return g.bench().runs().report()->status == "right"; }, "and right again", 60);
  g.frames(3);
  CHECK(!g.says("stale: this is of the run before"));
  g.settle();
  g.press("undo");  // choosing it is a step like any other
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.settle();
}

// It is the kernel that is worked on from the first, and judged as soon as it compiles.
SCENARIO(a_file_that_does_not_compile_is_worked_on) {
  const std::string right = text_file(project_file("assets/kernels/gather.cu"));
  g.write("broken.cu", right + "oops");
  g.panel("Verdict");
  g.app.open(g.path("broken.cu"));
  g.popup("Run code from outside?");
  g.click("//Run code from outside?/Compile and run");
  g.until([&] { return g.document().kernel == g.path("broken.cu"); }, "it is chosen", 60);
  g.settle();
  CHECK(g.app.toast().find("'oops' does not name a type") != std::string::npos);
  CHECK(shown(g, "Source"));
  CHECK(!g.says("As it was before"));
  g.panel("Verdict");
  CHECK(g.says("Does not compile"));
  CHECK(!g.says("quotients are cut off"));  // of S4
  g.click("//Verdict/Show the log");
  g.until([&] { return g.exists("//Log/##filter"); }, "the log is seen");
  g.write("broken.cu", right);
  g.until(
      [&] {
        return g.bench().runs().report()->status == "right" && g.bench().runs().report()->kernel == g.path("broken.cu");
      },
      "it is judged", 60);
  g.settle();
  g.press("undo");
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.settle();
}

SCENARIO(enter_alone_replaces_no_file) {
  g.write("mine.convscope", "kept");
  auto ask = [&] {
    g.menu("save-as");
    g.popup("Save session");
    g.type("//Save session/##path", g.path("mine.convscope"), false);
  };
  ask();
  g.key(ImGuiKey_Enter);
  g.frames(4);
  CHECK_EQ(g.read("mine.convscope"), std::string("kept"));
  CHECK(g.says("Enter once more replaces it"));
  g.key(ImGuiKey_Enter);
  g.frames(4);
  CHECK(g.read("mine.convscope").find("\"kernel\"") != std::string::npos);
  g.write("mine.convscope", "kept");
  ask();
  g.click("//Save session/Replace");
  g.frames(3);
  CHECK(g.read("mine.convscope").find("\"kernel\"") != std::string::npos);
  g.settle();
}

// PageDown is the lesson's: it neither scrolls a panel nor begins a walk through the controls, which would take the
// arrows. The control: where no lesson is open it does.
SCENARIO(page_down_in_a_lesson_is_its_next_step) {
  g.app.open_lesson(project_file("assets/lessons/2-the-divisibility-test.lesson"));
  g.until([&] { return g.app.lesson() && g.app.lesson_shown(); }, "the first step is shown", 60);
  g.settle();
  g.panel("Verdict");
  g.key(ImGuiKey_PageDown);
  g.frames(3);
  CHECK_EQ(g.app.lesson_step(), size_t{1});
  CHECK(!ImGui::GetIO().NavVisible);
  // A kernel's text that is only read has the keyboard, which turns its pages elsewhere.
  g.panel("Source");
  g.settle();
  for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
    if (w->WasActive && std::string_view(w->Name).starts_with("Source/source_"))
      g.ctx->MouseMoveToPos({w->Pos.x + w->Size.x / 2, w->Pos.y + w->Size.y / 2});
  g.ctx->MouseClick();
  g.frames(3);
  const ImGuiWindow* focused = ImGui::GetCurrentContext()->NavWindow;
  CHECK(focused && std::string_view(focused->Name).starts_with("Source/source_"));
  g.key(ImGuiKey_PageDown);
  g.frames(3);
  CHECK_EQ(g.app.lesson_step(), size_t{2});
  g.app.end_lesson();
  g.settle();
  g.panel("Verdict");
  g.key(ImGuiKey_PageDown);
  g.frames(3);
  CHECK(ImGui::GetIO().NavVisible);
  g.key(ImGuiKey_Escape);
  g.settle();
}

SCENARIO(recent_files_are_in_the_menu) {
  g.app.execute({SetKernel{"tiled"}, 0});
  g.press("save");
  g.popup("Save session");
  g.type("//Save session/##path", g.path("recent.convscope"), false);
  g.click("//Save session/Save");
  g.app.execute({SetKernel{"S1"}, 0});
  g.settle();
  g.click("//##MainMenuBar/##MenuBar/File");
  g.frames(3);
  CHECK(g.exists("//$FOCUSED/Open recent"));
  g.ctx->PopupCloseAll();
  CHECK_EQ(g.app.settings().recent.front(), g.path("recent.convscope"));
  g.app.open(g.app.settings().recent.front());
  g.settle();
  CHECK_EQ(g.document().kernel, std::string("tiled"));
}

// A recording is what was measured: whatever is saved beside it goes to another file.
SCENARIO(nothing_is_saved_into_a_recording) {
  namespace fs = std::filesystem;
  const std::string own = g.path("h200-kernelbench-79.convscope");
  fs::copy_file(test::project_file("assets/recordings/h200-kernelbench-79.convscope"), own,
                fs::copy_options::overwrite_existing);
  const std::string before = test::text_file(own);
  g.app.open(own);
  g.settle();
  CHECK(g.bench().recorded().is_open());
  g.press("save");
  g.popup("Save session");
  CHECK(g.says("h200-kernelbench-79-session.convscope"));
  g.click("//Save session/Cancel");
  g.settle();
  g.menu("close-recording");
  g.settle();
  CHECK(!g.bench().recorded().is_open());
  g.press("save");
  g.popup("Save session");
  CHECK(!g.says("h200-kernelbench-79-session") && g.says("experiment.convscope"));
  g.type("//Save session/##path", g.path("mine.convscope"), false);
  g.click("//Save session/Save");
  g.settle();
  CHECK_EQ(g.app.toast(), "Saved " + g.path("mine.convscope"));
  CHECK(test::text_file(own) == before);
  g.press("save");  // the control: a file of one's own is saved to without a question
  g.settle();
  CHECK_EQ(g.app.toast(), "Saved " + g.path("mine.convscope"));
}

SCENARIO(a_recording_is_opened_from_the_menu) {
  const auto& shipped = ui::App::recordings();
  auto it = std::find_if(shipped.begin(), shipped.end(), [](const auto& r) { return r.name == "h200-kernelbench-79"; });
  CHECK(it != shipped.end());
  CHECK(!g.bench().recorded().recording());
  CHECK(!g.says("recorded: NVIDIA H200"));
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.settle();
  CHECK(g.bench().recorded().source().starts_with("NVIDIA H200, 20"));
  CHECK_EQ(g.problem().batch, find_preset("kernelbench-79").problem.batch);
  CHECK_EQ(g.problem().length, find_preset("kernelbench-79").problem.length);
  // Each figure says where it was measured, and nothing runs here for it.
  auto report = [&] { return g.bench().report_of(g.document()); };
  CHECK(report() && report()->recorded.starts_with("NVIDIA H200"));
  g.panel("Counters");
  CHECK(g.says("recorded: NVIDIA H200"));
  // Another kernel of it, without a run.
  g.app.execute({SetKernel{"hopper_tf32"}, 0});
  g.settle();
  CHECK(report() && report()->kernel == "hopper_tf32" && report()->recorded.starts_with("NVIDIA H200"));
}

// A class without a GPU: the figures are recorded, and a short piece shows where the kernel is wrong.
SCENARIO(a_short_piece_of_a_recorded_problem_has_pictures) {
  CHECK(!ui::find_action("shorten")->enabled(g.app));  // the first problem is small
  g.ctx->MenuClick("//##MainMenuBar/File/Recordings/h200-kernelbench-79");
  if (g.ctx->IsError()) throw Failed{};
  g.until([&] { return g.bench().recorded().recording() != nullptr; }, "the recording");
  g.app.execute({SetKernel{"S4"}, 0});
  g.settle();
  const ConvProblem whole = g.problem();
  CHECK_EQ(whole.batch, find_preset("kernelbench-79").problem.batch);
  CHECK(!g.bench().report_of(g.document())->recorded.empty());
  CHECK(!g.bench().runs().stale(g.document()).empty());
  g.press("shorten");
  g.settle();
  CHECK_EQ(g.problem().batch, 1);
  CHECK_EQ(g.problem().out_channels, whole.out_channels);
  CHECK(g.bench().runs().picture() && g.bench().runs().stale(g.document()).empty());
  CHECK(g.bench().report_of(g.document())->recorded.empty());
  g.press("undo");
  g.settle();
  CHECK(g.problem() == whole);
  CHECK(!g.bench().report_of(g.document())->recorded.empty());
}

SCENARIO(the_open_dialog_lists_the_folder_and_escape_closes_it) {
  g.write("a.convscope", "{}");
  g.write("b.txt", "");
  g.press("open");
  g.popup("Open");
  g.type("//Open/##path", g.stage.home + "/", false);
  g.frames(2);
  CHECK(g.exists("//Open/**/a.convscope"));
  CHECK(!g.exists("//Open/**/b.txt"));
  CHECK(!g.enabled("//Open/Open"));  // a folder is not opened
  g.click("//Open/**/a.convscope");
  CHECK(g.enabled("//Open/Open"));
  Document before = g.document();
  g.key(ImGuiKey_Escape);
  g.until([&] { return ImGui::GetTopMostPopupModal() == nullptr; }, "the dialog is closed");
  CHECK(g.document() == before);
}

SCENARIO(plain_keys_belong_to_the_field_that_is_typed_into) {
  g.press("open");
  g.popup("Open");
  g.frames(2);
  g.ctx->KeyChars("n1f tiled");
  g.frames(3);
  g.key(ImGuiKey_Escape);
  g.frames(3);
  CHECK_EQ(g.document().kernel, std::string("S4"));
  CHECK(!g.view().selected.has_value());
  CHECK(g.app.settings().live);
  // Nor do they in a panel's own field.
  g.ctx->ItemInput("//Problem/inputs/##seed");
  g.ctx->KeyChars("12");
  g.frames(2);
  g.key(ImGuiKey_Enter);
  CHECK_EQ(g.document().kernel, std::string("S4"));
  g.settle();
}

SCENARIO(the_window_is_saved_as_a_picture) {
  g.menu("save-picture");
  g.popup("Save picture");
  g.type("//Save picture/##path", g.path("window.png"), false);
  g.click("//Save picture/Save");
  g.until([&] { return std::filesystem::exists(g.path("window.png")); }, "the file is there");
  CHECK(g.read("window.png").starts_with("\x89PNG"));
  CHECK_EQ(g.app.toast(), "Picture saved to " + g.path("window.png"));
}

SCENARIO(a_kernel_is_taken_away_as_a_file) {
  g.app.execute({SetKernel{"tiled"}, 0});
  g.settle();
  g.menu("export-pytorch");
  g.popup("Export as a PyTorch module");
  g.type("//Export as a PyTorch module/##path", g.path("mine.py"), false);
  g.click("//Export as a PyTorch module/Save");
  g.until([&] { return std::filesystem::exists(g.path("mine.py")); }, "the file is there");
  CHECK(g.read("mine.py").find("class ModelNew(nn.Module)") != std::string::npos);
  CHECK(g.read("mine.py").find("Kernel tiled") != std::string::npos);
  g.frames(2);
  CHECK_EQ(g.app.toast(), "tiled for this problem written to " + g.path("mine.py"));
  g.app.execute({SetKernel{"S4"}, 0});
  g.settle();
  g.menu("export-pytorch");
  g.popup("Export as a PyTorch module");
  g.type("//Export as a PyTorch module/##path", g.path("wrong.py"), false);
  g.click("//Export as a PyTorch module/Save");
  g.until([&] { return std::filesystem::exists(g.path("wrong.py")); }, "it is there");
  g.frames(2);
  CHECK_EQ(g.app.toast(), "S4 for this problem written to " + g.path("wrong.py") + ". It is wrong on this problem");
  g.app.execute({SetKernel{"tiled"}, 0});
  g.settle();
  CHECK(g.read("mine.py").find("#define CONVSCOPE_LEAKY_RELU") == std::string::npos);
  g.menu("export-cuda");
  g.popup("Export as CUDA C++");
  g.type("//Export as CUDA C++/##path", g.path("mine.cu"), false);
  g.choose("//Export as CUDA C++/##then", "LeakyReLU 0.1");
  g.click("//Export as CUDA C++/Save");
  g.until([&] { return std::filesystem::exists(g.path("mine.cu")); }, "the file is there");
  CHECK(g.read("mine.cu").find("extern \"C\" int conv_transpose1d(") != std::string::npos);
  CHECK(g.read("mine.cu").find("#define CONVSCOPE_LEAKY_RELU 0.1\n") != std::string::npos);
  CHECK_EQ(g.app.toast(), "tiled for this problem, then LeakyReLU 0.1, written to " + g.path("mine.cu"));
  // The control: where nothing can be written it says so, and nothing is there.
  g.menu("export-cuda");
  g.popup("Export as CUDA C++");
  g.type("//Export as CUDA C++/##path", g.path("no/such/folder.cu"), false);
  g.click("//Export as CUDA C++/Save");
  g.until([&] { return g.app.toast().find("cannot be written") != std::string::npos; }, "it says so");
}
