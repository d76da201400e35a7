// Small pieces that every panel uses, so that figures look the same everywhere.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/panel.h"
#include "kernels/base/text.h"

namespace convscope::ui {

// "1.23 ms"; "97.3 %"; three significant digits for times. Counts are grouped() as everywhere: 1,234,567.
std::string time_text(double ms);
std::string time_tick(double ms);      // beside a tick of an axis, where digits behind the point say nothing: "10 µs"
std::string times_tick(double times);  // likewise "5×", "10,000×"
std::string percent_text(double fraction);
std::string value_text(double v);  // shortest that shows 5 significant digits
// Of an error to its bound: beyond a million digits mean nothing, where 0 is right the bound is the least number.
std::string times_bound_text(double v);
// Where all values are the same: what a scale or an axis has around it, 5 % of its magnitude to each side.
ValueRange range_around(double value);
std::string operations_text(double operations);  // "50.3 MFLOP"
std::string bytes_text(double bytes);

std::string unit_text(const std::string& unit);  // as it stands behind a figure: "×" for a ratio, "" for sectors

// What a figure is, for its tooltip: formula, unit, source.
struct About {
  const char* what = "";
  const char* formula = "";
  const char* source = "";  // measured, counted, computed, emulated, recorded
};
// A tooltip for the last item, wrapped; nothing when the item is not hovered.
void explain_item(const Theme& t, const About& about);
void tooltip(const Theme& t, std::string_view text);
// Whether what has the keyboard's focus has them as well: not while its keys turn pages, and they would cover the text.
void tooltips_of_focus(bool on);

// What of a text has room in `width`: all of it, or as much as a sign that there is more leaves.
std::string text_within(const std::string& text, float width);
// Text at the right end of what room there is.
void right_aligned(const std::string& text, const ImVec4& colour);

// Dear ImGui's own with an edge that is seen where they are off: on a stage as well.
bool checkbox(const char* label, bool* on);
bool radio_button(const char* label, bool on);

// A table row: label on the left, figure right-aligned in the code font, with its tooltip. Call inside
// begin_figures/end_figures.
bool begin_figures(const char* id);
void figure(const Theme& t, const char* label, const std::string& value, const About& about,
            const ImVec4* colour = nullptr);
void end_figures();

// What the engine tells who sits at a command line, in terms of the window: its options are choices of panels here. All
// that the functions below write is put so.
std::string in_the_window(std::string_view words);

// A number and its unit stay on one line where text wraps: "79 %" has a blank between them that is no place to break.
std::string units_kept(std::string words);
// Nor does a line end behind the dot of a name ("mine." and "cu:12"), where Dear ImGui would end it: the name begins
// the next one. For text of the font that is set, `width` pixels wide.
std::string names_kept(std::string words, float width);

// A heading inside a panel.
void heading(const Theme& t, const char* text);
void dim_text(const Theme& t, std::string_view text);
void wrapped(std::string_view text);
// The middle of an empty panel: what is missing and what to do. Returns true when its button was pressed.
bool empty_state(const Theme& t, const char* what, const char* hint, const char* button = nullptr);
// The same of a panel that needs an output, while there is none: why, and the run that would bring it. `seen`: what the
// panel would show ("to see curves").
void no_output_state(Frame& f, const char* seen);
// The run that would bring an output of what a recording holds: of all of it, or of a short piece where all of it takes
// a while. No action: why it cannot run here.
struct RunOffer {
  std::string why;
  const char *button = nullptr, *action = nullptr;
};
RunOffer run_offer(const Frame& f);
// A short piece of a problem that was refused before anything ran, as one is that is too large for the memory here. No
// action: this report is not of such a one.
RunOffer refused_offer(const Frame& f, const Report& r);
// ✓ ✗ ○ in the colour of right, wrong, dim; shape and word, never colour alone.
void status_mark(const Theme& t, std::string_view status);
// Of a headline's shade (profiling/metrics/metrics.h): good, fair, bad; anything else has the colour of text.
ImVec4 shade_colour(const Theme& t, std::string_view shade);
// A strip that says that the picture is of something else than what the document asks for; nothing when it is not.
void stale_strip(Frame& f, const Report* of = nullptr);
// Why what is shown is not of what the document says now, or "". of: whose verdict and figures are shown; the last
// run's may have come to no picture.
std::string stale_words(const Frame& f, const Report* of = nullptr);
// Whether the picture is of something else and stays so: what is being computed is there in a moment, and nothing
// changes its looks until then.
bool out_of_date(const Frame& f);
// The same for a panel of figures, above them. Recorded ones: where and when, and a way to what runs now. While a
// recording is open that does not hold the document: that, and the way back to what it holds.
void source_strip(Frame& f, const std::string& recorded, const Report* of = nullptr);
// Of it the part that speaks of an open recording beside what is not recorded, for a panel that shows no figures.
void beside_recording(Frame& f);
// What is asked for has not run, and does not run by itself: what `r` says is of something else. Then the panel is
// empty but for that, and says so by `what`.
bool waits_for_a_person(Frame& f, const Report* r, const char* what);
// How dense figures are that are of something else than what is asked for.
inline constexpr float stands_back = 0.6f;
// Where a measured figure is from, for tooltips: "measured", or "recorded: NVIDIA H200, 2026-11-22".
std::string measured_words(const std::string& recorded, const char* live = "measured");
// A table of names and figures is no wider: further apart they are not read as one row.
float figures_width();

// A combo box that filters as one types, for long lists. True when `chosen` was set to another entry.
struct Choice {
  std::string name, about;
};
bool choose(const char* label, const std::vector<Choice>& all, const std::string& now, std::string& chosen,
            float width);

// Right click on the last item or window: Copy values (CSV), save it or its panel as a picture. The text is made only
// when it is asked for.
void copy_menu(Frame& f, const char* id, const std::function<std::string()>& csv);

// The entries of a menu that save pictures: of an item (its corners), of the panel it is in, of the window.
void picture_entries(Frame& f, ImVec2 low, ImVec2 high);

}  // namespace convscope::ui
