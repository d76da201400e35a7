// What every panel gets and what it may answer. A panel is a function void(Frame&): it draws from const values and puts
// what a person wants into frame.out; the App applies that after all panels are drawn, and nothing else changes
// anything.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/model/document.h"
#include "app/model/settings.h"
#include "app/model/view.h"
#include "app/model/workbench.h"
#include "app/ui/theme.h"

namespace convscope::ui {

class MapTextures;

struct SetView {
  View view;
  bool keep = true;  // a new place for back/forward; false while dragging
};
struct RunAction {  // a row of the action table, by id
  std::string id;
};
struct Wish {  // something the window wants to see
  std::function<void(Workbench&)> ask;
};
struct SetSettings {
  Settings settings;
};
struct OpenFile {
  std::string path;
};
struct WriteFile {  // of a kernel that was typed in
  std::string path, text;
  std::string before;  // what the file has, as far as who writes it knows
};
struct Toast {
  std::string text;
};
struct ShowPanel {
  std::string title;
};
struct PictureArea {  // in the window's coordinates; empty: all of it
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool empty() const { return x1 <= x0 || y1 <= y0; }
};
struct AskPicture {  // asks for a file and saves what the area shows
  PictureArea area;
  std::string file;  // a first guess at its name
};
using Event =
    std::variant<Command, SetView, RunAction, Wish, SetSettings, Toast, OpenFile, ShowPanel, AskPicture, WriteFile>;

// What a person types before it is legal: kept beside the document, shown in the warning colour with its rule.
struct Draft {
  std::optional<ConvProblem> problem;  // illegal
  ConvProblem of;                      // the legal one that it was made from: it goes when that is another
  std::string field;                   // the first that is refused
};

// How many elements a map has room for when each shows its number; the panel Maps keeps it up. Until it has been drawn:
// what fits a window of the usual size.
struct CellRoom {
  int rows = 12, columns = 4;
};

// The picture that stands for this document; null for figures of a recording while the newest picture is of another
// problem: it would be taken for theirs.
inline const Report* picture_of(const Workbench& bench, const Document& document) {
  const Report *picture = bench.runs().picture().get(), *report = bench.report_of(document);
  const bool other = picture && report && !report->recorded.empty() && !bench.runs().running() &&
                     !(picture->document.problem == document.problem);
  return other ? nullptr : picture;
}

// What stands in the oracle's place in maps and lines; null: the oracle does, or the other is not there (yet).
inline const Beside* beside_of(const Workbench& bench, const Document& document) {
  const Report* r = picture_of(bench, document);
  const Beside* b = r ? bench.beside().of(document, *r) : nullptr;
  return b && b->trouble.empty() ? b : nullptr;
}

struct Frame {
  const Document& document;
  const Workbench& bench;
  const View& view;
  const Settings& settings;
  const Theme& theme;
  MapTextures& textures;
  Draft& draft;
  uint64_t& gesture;  // of what is being dragged now; a panel in which another one begins counts on
  std::vector<Event>& out;
  bool& compare;  // a comparison was asked for by its action: the panel that knows with whom starts it
  const std::string& kernel_before;  // the kernel that was chosen before this one; "": none
  double& next_frame;                // seconds until something moves by itself; a panel that plays lowers it
  CellRoom& cells;

  void again_in(double seconds) const { next_frame = std::min(next_frame, seconds); }
  // The report of what is shown, or null; never another problem's figures without its stale mark, and never recorded
  // ones without theirs (source_strip).
  const Report* report() const { return bench.report_of(document); }
  const Report* picture() const { return picture_of(bench, document); }
  Extent extent() const {
    const Report* r = picture();
    return r ? Extent{static_cast<double>(r->rows()), static_cast<double>(r->columns())} : Extent{};
  }

  const Beside* beside() const { return beside_of(bench, document); }
  // Whose numbers the maps show: the picture's, or those of the difference.
  std::string shown_key() const {
    const Beside* b = beside();
    return b ? b->difference : picture() ? picture()->key : "";
  }

  template <class C>
  void command(C change, bool continues = false) const {
    out.push_back(Command{std::move(change), continues ? gesture : 0});
  }
  void view_to(const View& v, bool keep = true) const { out.push_back(SetView{v, keep}); }
  void act(const char* id) const { out.push_back(RunAction{id}); }
  void wish(std::function<void(Workbench&)> ask) const { out.push_back(Wish{std::move(ask)}); }
  void toast(std::string text) const { out.push_back(Toast{std::move(text)}); }
  void show(const char* title) const { out.push_back(ShowPanel{title}); }
};

// One panel: its window's title (which is also its name for `screenshot --panel`), and how it is drawn.
struct Panel {
  const char* title;
  const char* about;
  void (*draw)(Frame&);
  bool open_at_first;
};
const std::vector<Panel>& panels();

void draw_problem(Frame&);
void draw_kernels(Frame&);
void draw_maps(Frame&);
void draw_ladder(Frame&);
void draw_sweep(Frame&);
void draw_lines(Frame&);
void draw_statistics(Frame&);
void draw_explain(Frame&);
void draw_source(Frame&);
void draw_verdict(Frame&);
void draw_timing(Frame&);
void draw_occupancy(Frame&);
void draw_compare(Frame&);
void draw_counters(Frame&);
void draw_roofline(Frame&);
void draw_timeline(Frame&);
void draw_log(Frame&);
void draw_devices(Frame&);

}  // namespace convscope::ui
