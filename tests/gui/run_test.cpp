// Live, run, cancel; an engine that dies.
#include <csignal>

#include "tests/gui/gui.h"

using namespace convscope;
using namespace convscope::test;

namespace {

// Minutes on the emulator.
Document long_document() {
  Document d = small_document("direct");
  d.problem.in_channels = d.problem.out_channels = 256;
  d.problem.length = 16384;
  return d;
}

void start_long_run(Gui& g) {
  g.app.execute({ReplaceDocument{long_document(), "long"}, 0});
  g.frames(2);
  CHECK(!g.bench().runs().running());  // what takes long does not run by itself
  CHECK(g.says("Not judged yet"));
  CHECK(!g.says("nothing asks whether the stride divides"));  // of what ran before
  g.press("run");
  g.until(
      [&] {
        return g.bench().runs().running() && g.bench().link().status().phase != "waiting for the engine" &&
               !g.bench().link().status().phase.empty();
      },
      "the long run has begun");
}

}  // namespace

FRESH_SCENARIO(first_start_shows_a_wrong_kernel_by_itself) {
  g.until([&] { return g.bench().runs().picture() != nullptr; }, "the first picture", 60);
  g.settle();
  CHECK_EQ(g.document().kernel, std::string("S4"));
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  CHECK_EQ(g.bench().runs().report()->document.problem.length, 4096);
  for (auto map : {Pictures::Map::kernel, Pictures::Map::reference, Pictures::Map::difference, Pictures::Map::minimap})
    CHECK(g.bench().pictures().tile(map) && g.bench().pictures().tile(map)->key == g.bench().runs().picture()->key);
  CHECK_EQ(g.app.toast(), std::string());
}

SCENARIO(live_off_waits_for_f5) {
  g.press("live");
  CHECK(!g.app.settings().live);
  uint64_t before = g.serial();
  g.click("//Problem/parameters/stride/+");
  CHECK_EQ(g.problem().stride, 3);
  g.frames(20);
  g.settle();
  CHECK_EQ(g.serial(), before);
  CHECK(!g.bench().runs().stale(g.document()).empty());
  CHECK(g.says("stale: this is of stride 2; now: stride 3"));
  g.press("run");
  g.settle();
  CHECK(g.serial() > before);
  CHECK_EQ(g.bench().runs().report()->document.problem.stride, 3);
  CHECK_EQ(g.bench().runs().stale(g.document()), std::string());
}

SCENARIO(live_on_again_runs_what_was_missed) {
  g.click("//##MainMenuBar/##MenuBar/live");
  CHECK(!g.app.settings().live);
  g.click("//Problem/parameters/stride/+");
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.stride, 2);
  g.click("//##MainMenuBar/##MenuBar/live");
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.stride, 3);
}

SCENARIO(run_runs_again_though_nothing_has_changed) {
  uint64_t before = g.serial();
  g.click("//##MainMenuBar/##MenuBar/Run##now");
  g.settle();
  CHECK(g.serial() > before);
  before = g.serial();
  g.menu("run");
  g.settle();
  CHECK(g.serial() > before);
}

SCENARIO(escape_cancels_a_long_run) {
  auto picture = g.bench().runs().picture();
  start_long_run(g);
  CHECK(g.exists("//##status/##MenuBar/Cancel (Esc)"));
  CHECK(g.bench().runs().picture() == picture);  // kept, and said to be old
  CHECK(g.says("stale: the newest result is being computed"));
  g.press("cancel");
  g.until([&] { return !g.bench().runs().running(); }, "the run has ended", 10);
  g.settle();
  CHECK(g.bench().runs().picture() != nullptr);
  CHECK(!g.bench().runs().stale(g.document()).empty());
  CHECK(g.bench().runs().report() == nullptr || g.bench().runs().report()->final);
  // What was there before is no verdict of this one.
  g.panel("Verdict");
  CHECK(g.says("It was stopped before its verdict had come"));
  CHECK(g.exists("//Verdict/Run again"));
  // And the engine is in order.
  g.load(small_document("tiled"));
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
}

SCENARIO(cancel_button_of_the_menu_bar) {
  start_long_run(g);
  g.click("//##MainMenuBar/##MenuBar/Cancel");
  g.until([&] { return !g.bench().runs().running(); }, "the run has ended", 10);
  g.settle();
}

SCENARIO(newest_of_many_changes_wins) {
  for (int length = 65; length <= 90; length++) {
    ConvProblem p = g.problem();
    p.length = length;
    g.app.execute({SetProblem{p}, 0});
    g.frames(1);
    CHECK(g.bench().runs().picture() != nullptr);  // never blank while it works
  }
  g.settle();
  CHECK_EQ(g.bench().runs().report()->document.problem.length, 90);
  CHECK(g.bench().runs().report()->final);
  CHECK(g.bench().pictures().tile(Pictures::Map::kernel)->key == g.bench().runs().picture()->key);
}

SCENARIO(engine_killed_while_it_works) {
  auto picture = g.bench().runs().picture();
  start_long_run(g);
  int pid = g.bench().link().pid();
  CHECK(pid > 0);
  kill(pid, SIGKILL);
  g.until([&] { return g.bench().link().status().deaths > 0; }, "the death is seen", 10);
  CHECK_EQ(g.bench().link().status().deaths, 1);
  CHECK(g.bench().runs().report() && g.bench().runs().report()->status == "crashed");
  CHECK(g.bench().runs().picture() != nullptr);
  CHECK(g.says("engine restarted 1 time"));
  g.settle();
  // The last good picture was made again in the next engine: it can be zoomed.
  CHECK(g.bench().runs().picture()->document == picture->document);
  g.panel("Maps");
  g.press("zoom-in");
  g.settle();
  CHECK(g.bench().pictures().tile(Pictures::Map::kernel)->key == g.bench().runs().picture()->key);
  CHECK_EQ(g.bench().pictures().tile(Pictures::Map::kernel)->row1, std::ceil(g.view().row1));
  g.load(small_document("tiled"));
  CHECK_EQ(g.bench().runs().report()->status, std::string("right"));
  CHECK(g.bench().link().pid() != pid);
}

SCENARIO(engine_killed_while_it_waits) {
  int pid = g.bench().link().pid(), starts = g.bench().link().status().starts;
  kill(pid, SIGKILL);
  g.frames(30);
  CHECK(g.bench().runs().picture() != nullptr);
  g.press("run");
  g.settle();
  CHECK_EQ(g.bench().runs().report()->status, std::string("wrong"));
  CHECK(g.bench().runs().report()->final);
  CHECK(g.bench().link().status().starts > starts);
  CHECK(g.bench().pictures().tile(Pictures::Map::kernel)->key == g.bench().runs().picture()->key);
  g.panel("Maps");
  g.press("next-failing");
  g.settle();
  CHECK(g.view().selected.has_value());
  CHECK(g.bench().pictures().numbers() != nullptr);
}

SCENARIO(killed_engine_and_then_only_the_view_moves) {
  kill(g.bench().link().pid(), SIGKILL);
  g.frames(30);
  g.panel("Maps");
  g.press("zoom-in");
  g.frames(10);
  g.settle();
  // What is zoomed into must be seen, whoever has to make it again.
  const MapTile* t = g.bench().pictures().tile(Pictures::Map::kernel);
  CHECK_EQ(t->row1, std::ceil(g.view().row1));
  CHECK_EQ(t->column1, std::ceil(g.view().column1));
}

SCENARIO(idle_window_draws_nothing) {
  g.ctx->MouseMoveToPos({2, 500});
  g.until([&] { return g.app.next_frame_in() > 1e6; }, "no frame is due", 20);
  for (int i = 0; i < 30; i++) {
    g.frames(1);
    CHECK(g.app.next_frame_in() > 1e6);
  }
  CHECK(g.app.frame_seconds() > 0);
}

SCENARIO(toasts_go_by_themselves) {
  g.app.apply(ui::Toast{"one"});
  g.app.apply(ui::Toast{"two"});
  g.frames();
  CHECK_EQ(g.app.toast(), std::string("two"));
  CHECK(g.says("one"));
  CHECK(g.app.next_frame_in() < 10);
  g.until([&] { return g.app.toast().empty(); }, "the toasts have gone", 30);
}
