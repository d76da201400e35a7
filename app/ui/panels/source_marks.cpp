#include "app/ui/panels/source_marks.h"

#include <fmt/format.h>

#include "app/engine/kernel_file.h"
#include "app/ui/panels/explain_words.h"
#include "app/ui/panels/source_place.h"
#include "app/ui/widgets.h"

namespace convscope::ui {

Marks mark_lines(TextEditor& editor, const std::string& file, const Theme& theme, const Traced* t, bool differs,
                 const std::string& told) {
  editor.ClearMarkers();
  Marks marks;
  auto here = [&](const std::string& other) { return file_name(other) == file_name(file); };
  struct Line {
    int64_t writers = 0;
    std::map<char, int64_t> reads;
    std::string who, stray, fills, told;
  };
  std::map<int, Line> lines;
  for (const auto& place : places_in(told))
    if (here(place.file)) lines[place.line - 1].told = "\n" + told + "\nsource: the verdict";
  if (t) {
    for (const auto& w : t->writers) {
      if (w.line <= 0 || !here(w.file)) continue;
      Line& l = lines[w.line - 1];
      if (!l.writers++) l.who = fmt::format("block {}, thread {}", w.block, w.thread);
    }
    for (const auto& r : t->reads)
      if (r.line > 0 && here(r.file)) lines[r.line - 1].reads[r.tensor]++;
    // A right kernel may read more than it uses: that is no fault.
    if (differs)
      for (const auto& stray : t->strays) {
        if (stray.line > 0 && here(stray.file))
          lines[stray.line - 1].stray +=
              stray.words.starts_with("writes ") || stray.reads == 0
                  ? "\n" + stray.words
                  : fmt::format("\n{}: {} of {}", stray.words, grouped(stray.stray), grouped(stray.reads));
        if (stray.from_line > 0 && here(stray.from_file))
          lines[stray.from_line - 1].fills += fmt::format("\nbrings to shared memory what line {} reads: {}",
                                                          stray.line, stray.words.substr(stray.words.find(' ') + 1));
      }
    if (here(t->writers[0].file)) marks.writes = t->writers[0].line - 1;
  }
  const std::string element = t ? fmt::format("y[{}, {}, {}]", t->n, t->co, t->j) : "";
  for (const auto& [line, l] : lines) {
    if (static_cast<size_t>(line) >= editor.GetLineCount()) continue;
    std::string about;
    if (l.writers)
      about = fmt::format("writes {}: {}{}", element, l.who,
                          l.writers > 1 ? fmt::format(" and {} more", l.writers - 1) : "");
    for (const auto& [tensor, count] : l.reads)
      about += fmt::format("{}reads {} {} time{} for {}", about.empty() ? "" : "\n", read_name(tensor), grouped(count),
                           count == 1 ? "" : "s", element);
    if (l.writers || !l.reads.empty() || !l.stray.empty() || !l.fills.empty())
      about += l.stray + l.fills + "\nsource: traced on the emulator";
    about += l.told;
    if (about.starts_with("\n")) about.erase(0, 1);
    const bool wrong = !l.stray.empty() || !l.told.empty();
    const ImVec4& c = wrong ? theme.wrong : !l.fills.empty() ? theme.warning : l.writers ? theme.kernel : theme.accent;
    editor.AddMarker(static_cast<size_t>(line), packed(c, 0.35f), packed(c, l.writers || wrong ? 0.22f : 0.13f), about,
                     about);
    marks.letters[line] = wrong ? '!' : !l.fills.empty() ? 'F' : l.writers ? 'W' : 'R';
  }
  return marks;
}

void mark_errors(TextEditor& editor, Marks& marks, const Theme& theme, const std::vector<ErrorLine>& errors) {
  std::map<int, std::string> lines;
  for (const auto& e : errors) {
    std::string& all = lines[e.line - 1];
    all += (all.empty() ? "" : "\n") + e.text;
  }
  for (const auto& [line, text] : lines) {
    if (static_cast<size_t>(line) >= editor.GetLineCount()) continue;
    editor.AddMarker(static_cast<size_t>(line), packed(theme.wrong, 0.5f), packed(theme.wrong, 0.25f), text, text);
    marks.letters[line] = 'E';
  }
}

}  // namespace convscope::ui
