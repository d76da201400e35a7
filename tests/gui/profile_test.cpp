// What is counted and what the GPU allows: the panels Counters and Roofline.
#include <cmath>
#include <filesystem>
#include <imgui_internal.h>
#include <map>

#include "kernels/problem/presets.h"
#include "tests/gui/gui.h"
#include "tests/gui/picture.h"

using namespace convscope;
using namespace convscope::test;

namespace {

const Profile* profiled(Gui& g, const char* kernel) {
  g.app.execute({SetKernel{kernel}, 0});
  g.panel("Counters");
  g.click("//Counters/Profile");
  g.until(
      [&] {
        return g.bench().measuring().profile() && g.bench().measuring().profile()->kernel == kernel &&
               !g.bench().measuring().waits();
      },
      "the profile", 120);
  return g.bench().measuring().profile();
}

const ProfileHeadline& headline(const Profile& p, const std::string& name) {
  for (const auto& h : p.headlines)
    if (h.name == name) return h;
  static const ProfileHeadline none{};
  return none;
}

// What the panel of the source calls the hottest line; 0: none.
int hottest_line(Gui& g) {
  const std::string label = "Hottest: ", words = g.words();
  size_t at = words.find(label);
  return at == std::string::npos ? 0 : std::atoi(words.c_str() + at + label.size());
}

// What has begun ends by Escape, and the engine is whole afterwards.
void escape(Gui& g, const std::function<bool()>& there_already) {
  g.until([&] { return g.bench().measuring().waits() || there_already(); }, "it has begun");
  g.key(ImGuiKey_Escape);
  g.until([&] { return !g.bench().measuring().waits(); }, "it is cancelled or done");
  g.settle();
  g.press("run");
  g.settle();
  CHECK(g.bench().runs().report() && g.bench().runs().report()->final);
}

void right_click_plot(Gui& g) {
  ImRect at = g.item("//Roofline/##roofline").RectFull;
  g.ctx->MouseMoveToPos({at.Min.x + at.GetWidth() * 0.3f, at.Min.y + at.GetHeight() * 0.7f});
  g.frames(2);
  g.ctx->MouseClick(ImGuiMouseButton_Right);
}

}  // namespace

SCENARIO(counters_come_when_they_are_asked_for) {
  g.settle();
  const Profile* p = profiled(g, "tiled");
  CHECK_EQ(p->headlines.size(), 12u);
  CHECK(p->counted_by.starts_with("emulated"));
  CHECK(headline(*p, "sectors-per-load").value.has_value());
  CHECK(headline(*p, "bank-conflicts").value.has_value());
  CHECK(!headline(*p, "l2-hits").value.has_value());
  CHECK(!headline(*p, "l2-hits").reason.empty());
  g.panel("Counters");
  std::string words = g.words();
  for (const char* said : {"Sectors per load", "Counters of tiled", "only a GPU counts it"})
    CHECK(words.find(said) != std::string::npos);
  // A kernel without shared memory says why there are no conflicts.
  const Profile* q = profiled(g, "direct");
  CHECK(!headline(*q, "bank-conflicts").value.has_value());
  CHECK(g.bench().measuring().trail().size() >= 2);
}

SCENARIO(source_lines_show_what_they_ask_of_memory) {
  g.settle();
  profiled(g, "tiled");
  const Profile* p = g.bench().measuring().profile();
  if (p->lines.empty()) throw Skipped{"not counted: " + p->lines_reason};
  g.panel("Source");
  g.frames(3);
  CHECK(g.exists("//Source/###hottest"));
  int by_sectors = hottest_line(g);
  CHECK(by_sectors > 0);
  g.click("//Source/###hottest");
  g.frames(3);
  // Another measure, another line.
  g.choose("//Source/##heat", "shared memory");
  g.frames(3);
  CHECK(hottest_line(g) > 0 && hottest_line(g) != by_sectors);
  // A kernel that was not counted offers to.
  g.app.execute({SetKernel{"polyphase"}, 0});
  if (g.app.settings().live) g.press("live");
  g.frames(3);
  g.panel("Source");
  g.click("//Source/Count lines");
  g.until([&] { return g.bench().measuring().profile()->kernel == "polyphase" && !g.bench().measuring().waits(); },
          "the profile", 120);
  g.frames(3);
  CHECK(!g.exists("//Source/###hottest"));  // it has no shared memory, and says so
  CHECK(g.says("none"));
  g.choose("//Source/##heat", "sectors");
  g.frames(3);
  CHECK(g.exists("//Source/###hottest"));
}

// Live, another stride: the bars beside the lines are those of that one, without a click.
SCENARIO(source_lines_follow_the_stride) {
  g.settle();
  ConvProblem short_one = find_preset("kernelbench-79-small").problem;
  short_one.length = 512;  // profiles follow what takes no longer than 0.4 s, also on a busy machine
  g.app.execute({SetProblem{short_one}, 0});
  g.app.execute({SetKernel{"tiled"}, 0});
  g.panel("Source");
  auto here = [&] { return g.bench().profile_of(g.document()) && !g.bench().measuring().waits(); };
  g.until(here, "the profile of the first stride", 120);
  if (g.bench().measuring().profile()->lines.empty())
    throw Skipped{"not counted: " + g.bench().measuring().profile()->lines_reason};
  g.choose("//Source/##heat", "sectors");
  g.frames(3);
  CHECK(hottest_line(g) > 0);
  auto sectors = [&] {
    double sum = 0;
    for (const auto& l : g.bench().profile_of(g.document())->lines) sum += l.value("load_sectors");
    return sum;
  };
  const double before = sectors();
  ConvProblem p = g.problem();
  p.stride += 3;
  g.app.execute({SetProblem{p}, 0});
  g.frames(2);
  CHECK(!g.bench().profile_of(g.document()));
  g.until(here, "the profile of the other stride", 120);
  g.frames(3);
  CHECK(g.bench().profile_of(g.document())->document.problem == p);
  CHECK(sectors() > 0 && sectors() != before);
  CHECK(!g.exists("//Source/Count lines"));
  CHECK(hottest_line(g) > 0);
}

// Hopper's kernels live in headers: the hottest line is in one, and leads there.
SCENARIO(the_hottest_line_may_be_in_a_header) {
  Document d = small_document("hopper_tf32");
  d.problem = find_preset("kernelbench-79-small").problem, d.accuracy = Accuracy::tf32;
  d.problem.length = 512;
  g.load(d);
  profiled(g, "hopper_tf32");
  const Profile* p = g.bench().measuring().profile();
  if (p->lines.empty()) throw Skipped{"not counted: " + p->lines_reason};
  g.panel("Source");
  g.choose("//Source/##heat", "sectors");
  g.frames(3);
  CHECK(g.says("Hottest: hopper_"));
  g.click("//Source/###hottest");
  g.frames(5);
  CHECK(hottest_line(g) > 0);  // it is in this file now
  CHECK(!g.says("Hottest: hopper_"));
  // And back, by another kernel.
  g.app.execute({SetKernel{"tiled"}, 0});
  g.settle();
  g.frames(3);
  CHECK(g.says("tiled.cu"));
}

// A click on an instruction brings its line into view, a click on a line its first instruction.
SCENARIO(lines_and_instructions_lead_to_each_other) {
  g.settle();
  g.app.execute({SetKernel{"tiled"}, 0});
  g.settle();
  g.panel("Source");
  if (!g.exists("//Source/instructions")) g.click("//Source/Instructions");
  g.until([&] { return g.bench().sources().machine_code() && !g.bench().sources().machine_code_waiting(); },
          "the device code");
  if (g.bench().sources().machine_code()->functions.empty()) throw Skipped{g.bench().sources().machine_code()->reason};
  g.frames(5);
  const CodeFunction& f = g.bench().sources().machine_code()->functions[0];
  if (!f.sass_reason.empty() && !f.ptx.empty()) {  // instructions that have no text are not what is shown first
    auto high = [&] { return g.ctx->WindowInfo("//Source/instructions/code").Window->ContentSize.y; };
    const float ptx = high();
    g.click("//Source/**/SASS");
    g.frames(3);
    const auto rows = static_cast<float>(f.ptx.size()) / static_cast<float>(f.sass.size());
    CHECK(std::fabs(rows - 1) > 0.02f && std::fabs(ptx / high() - rows) < 0.01f);
  }
  ImGuiWindow* code = g.ctx->WindowInfo("//Source/instructions/code").Window;
  ImGuiWindow* source = g.ctx->WindowInfo("//Source/source").Window;
  CHECK(code && source);
  std::map<int64_t, size_t> first;  // instruction of each line
  for (size_t i = 0; i < f.sass.size(); i++)
    if (f.sass[i].line > 0 && f.sass[i].file.ends_with("tiled.cu")) first.try_emplace(f.sass[i].line, i);
  CHECK(first.size() > 5);
  struct Rows {
    ImGuiWindow* window;
    float high;
    ImVec2 place(float row) const {
      return {window->InnerRect.Min.x + window->InnerRect.GetWidth() * 0.5f,
              window->InnerRect.Min.y + (row + 0.5f) * high - window->Scroll.y};
    }
    bool shows(float row) const {
      return window->InnerRect.Min.y - high <= place(row).y && place(row).y <= window->InnerRect.Max.y + high;
    }
  };
  const Rows in_source{source, ImGui::GetFontSize()},
      in_code{code, code->ContentSize.y / static_cast<float>(f.sass.size())};
  // A line far down whose instructions are in the middle: neither is on the screen at first.
  int64_t line = 0;
  for (const auto& [l, i] : first)
    if (i < f.sass.size() / 2) line = l;
  const size_t at = first.at(line);
  ImGui::SetScrollY(source, 0);
  g.frames(3);
  CHECK(!in_source.shows(static_cast<float>(line - 1)));
  ImGui::SetScrollY(code, in_code.high * (static_cast<float>(at) - 3));
  g.frames(3);
  g.ctx->MouseMoveToPos(in_code.place(static_cast<float>(at)));
  g.frames(3);
  g.ctx->MouseClick(0);
  g.frames(10);
  CHECK(in_source.shows(static_cast<float>(line - 1)));
  // Back: a line beside it whose instructions are out of sight.
  ImGui::SetScrollY(code, 0);
  g.frames(3);
  int64_t other = 0;
  for (const auto& [l, i] : first)
    if (l != line && in_source.shows(static_cast<float>(l + 1)) && in_source.shows(static_cast<float>(l - 3)) &&
        !in_code.shows(static_cast<float>(i)))
      other = l;
  CHECK(other > 0);
  g.ctx->MouseMoveToPos(in_source.place(static_cast<float>(other - 1)));
  g.ctx->MouseClick(0);
  g.frames(10);
  CHECK(in_code.shows(static_cast<float>(first.at(other))));
}

SCENARIO(two_kernels_side_by_side) {
  g.settle();
  if (g.app.settings().live) g.press("live");
  g.app.execute({LoadPreset{"kernelbench-79-small"}, 0});
  for (const char* kernel : {"scatter", "tiled"}) {
    g.app.execute({SetKernel{kernel}, 0});
    g.panel("Compare");
    g.frames(2);
  }
  g.press("run");
  g.settle();
  g.panel("Compare");
  CHECK(g.says("Nothing compared yet"));
  g.key(ImGuiKey_F7);
  auto there = [&] {
    const KernelComparison* c = g.bench().measuring().comparison();
    return c && !g.bench().measuring().waits() && g.bench().measuring().trail().size() >= 2;
  };
  g.until(there, "times and counters of both", 240);
  const KernelComparison& c = *g.bench().measuring().comparison();
  CHECK_EQ(c.first.name, std::string("tiled"));
  CHECK_EQ(c.second.name, std::string("scatter"));  // the kernel before this one
  CHECK_EQ(c.first.hot.verdict, std::string("FASTER"));
  CHECK(*c.first.hot.speedup > 2);
  g.frames(3);
  std::string words = g.words();
  for (const char* said : {"times as fast as scatter", "Median, hot", "Sectors per load", "Loads from global memory",
                           "better", "says nothing of a GPU"})
    CHECK(words.find(said) != std::string::npos);
  // With another: of what was measured before, nothing is passed off as its own.
  g.choose("//Compare/##other", "polyphase");
  g.click("//Compare/Compare");
  g.until(
      [&] { return g.bench().measuring().comparison()->second.name == "polyphase" && !g.bench().measuring().waits(); },
      "the other one", 240);
  // Another problem: marked.
  ConvProblem p = g.problem();
  p.stride += 1;
  g.app.execute({SetProblem{p}, 0});
  g.frames(3);
  g.panel("Compare");
  CHECK(g.says("of stride"));
}

SCENARIO(a_comparison_can_be_cancelled) {
  g.settle();
  g.panel("Compare");
  g.click("//Compare/Compare");
  escape(g, [&] { return g.bench().measuring().comparison() != nullptr; });
}

SCENARIO(a_profile_of_another_problem_is_marked) {
  g.settle();
  if (g.app.settings().live) g.press("live");  // else the next one follows by itself
  profiled(g, "direct");
  CHECK(!g.says("of stride"));
  ConvProblem p = g.problem();
  p.stride += 1;
  g.app.execute({SetProblem{p}, 0});
  g.frames(3);
  g.panel("Counters");
  CHECK(g.says("of stride"));
}

SCENARIO(profile_by_key_and_cancel) {
  g.settle();
  g.key(ImGuiKey_F6);
  escape(g, [&] { return g.bench().measuring().profile() != nullptr; });
}

SCENARIO(the_roof_is_there_without_a_gpu) {
  g.settle();
  g.panel("Roofline");
  g.frames(3);
  std::string words = g.words();
  for (const char* said : {"FLOP a byte: at most", "datasheet of another machine", "emulated time is no point"})
    CHECK(words.find(said) != std::string::npos);
  CHECK(words.find("roof: H200") != std::string::npos);
  // The same through the menu, and its values as text.
  right_click_plot(g);
  g.frames(3);
  g.ctx->ItemClick("//$FOCUSED/Copy values (CSV)");
  g.frames();
  std::string csv = g.clipboard();
  CHECK(csv.starts_with("name,flop_per_byte,gflops,source"));
  CHECK(csv.find("roof memory GB/s") != std::string::npos);
}

// A part of the window as a picture: the plot alone, and its panel.
SCENARIO(a_plot_is_saved_as_a_picture) {
  g.settle();
  g.panel("Roofline");
  g.frames(3);
  const std::pair<const char*, const char*> entries[] = {{"Save this as PNG…", "plot.png"},
                                                         {"Save the panel Roofline as PNG…", "panel.png"}};
  for (const auto& [entry, name] : entries) {
    right_click_plot(g);
    g.frames(3);
    g.ctx->ItemClick(fmt::format("//$FOCUSED/{}", entry).c_str());
    g.popup("Save picture");
    std::string file = g.path(name);
    g.type("//Save picture/##path", file, false);
    g.click("//Save picture/Save");
    g.until([&] { return std::filesystem::exists(file); }, "the file is there");
    g.frames(2);
  }
  PngPicture plot = read_png(g.path("plot.png")), panel = read_png(g.path("panel.png"));
  CHECK(plot.width > 100 && plot.width < 1000 && plot.height > 100);
  CHECK(panel.width >= plot.width && panel.height > plot.height);
  CHECK(!plot.blank() && !panel.blank());
}
