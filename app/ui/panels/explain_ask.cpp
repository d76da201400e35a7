#include "app/ui/panels/explain_ask.h"

#include <algorithm>
#include <imgui.h>

namespace convscope::ui {
namespace {

constexpr double long_wait_seconds = 30;
constexpr int64_t most_taps_tried = 128;  // kernels/verify/explain.h

constexpr double calm_seconds = 0.2;  // a slider that moves or a key that repeats shall not fill the engine's queue

struct Asked {
  std::optional<Document> document;
  ElementIndex at;
  const Workbench* bench = nullptr;
  uint64_t serial = 0;  // of the picture
  std::string key;      // of its result: another one when the kernel's file has changed
  // What there was then: another element's, or of the file before.
  const Explained* explained_before = nullptr;
  const Traced* traced_before = nullptr;
};
// What would be asked for next, and since when.
struct Next {
  ElementIndex at;
  uint64_t serial = 0;
  double since = 0;
};
Asked& last() {
  static Asked a;
  return a;
}

int64_t blocks_of(const ReportLaunch& l) { return l.grid[0] * l.grid[1] * l.grid[2]; }

template <class T>
bool same_place(const T& t, const Report& r, ElementIndex at) {
  return t.j == at.column && t.n * r.document.problem.out_channels + t.co == at.row;
}

}  // namespace

void ask_explanation(Frame& f, const Report& r, ElementIndex at) {
  last() = {r.document, at, &f.bench, r.serial, r.key, f.bench.explaining().explained(), f.bench.explaining().traced()};
  int64_t channels = r.document.problem.out_channels;
  f.wish([d = r.document, n = at.row / channels, co = at.row % channels, j = at.column](Workbench& b) {
    b.explaining().want(d, n, co, j);
  });
}

ExplainAsked keep_explained(Frame& f, const Report& r, ElementIndex at) {
  ExplainAsked out;
  const Asked& a = last();
  // A crash does not ask again by itself: it would crash again.
  out.asked = a.document && a.at == at && a.bench == &f.bench && r.serial >= a.serial && a.key == r.key &&
              !needs_run(*a.document, r.document);
  const Explained* e = f.bench.explaining().explained();
  if (out.asked && e && e != a.explained_before && same_place(*e, r, at)) out.explained = e;
  const Traced* t = f.bench.explaining().traced();
  if (out.asked && t && t != a.traced_before && same_place(*t, r, at)) out.traced = t;
  // About two runs a tap, and some for bias, channels, weights and batch.
  out.runs = 2 * static_cast<int>(std::min(r.document.problem.kernel_size, most_taps_tried)) + 6;
  // On the emulator, of a kernel without launches before it, mostly one block alone: a run, one to find the block, and
  // the traced ones.
  if (r.device_kind == "emulator" && r.launches.size() == 1 && r.unwritten == 0 && blocks_of(r.launches[0]) >= 8)
    out.runs = std::min(out.runs, 5);
  if (out.asked || f.bench.runs().running()) return out;
  static Next next;
  double now = ImGui::GetTime();
  if (!(next.at == at) || next.serial != r.serial || next.since > now) next = {at, r.serial, now};
  if (double left = next.since + calm_seconds - now; left > 0 || ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
    if (left > 0) f.again_in(left);
    return out;
  }
  double seconds = out.runs * r.timing.median_ms.value_or(0) / 1000;
  if (seconds < long_wait_seconds)
    ask_explanation(f, r, at);
  else
    out.seconds = seconds;
  return out;
}

}  // namespace convscope::ui
