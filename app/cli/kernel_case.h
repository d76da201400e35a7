// A kernel on a problem with all that a page shows of it: its report, pictures, the taps of an element, its text.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli/session.h"

namespace convscope {

struct CasePicture {
  std::string caption, file, png, gradient, low, high;  // gradient: CSS; low, high: what its ends mean
};

struct KernelCase {
  std::string kernel, kind, idea;
  std::string problem;                             // a preset's name, or the problem in words
  std::string type;                                // of the elements where that is worth saying, " (f16)"
  bool expected_right = true, as_expected = true;  // of the demo's
  nlohmann::json report;
  std::vector<CasePicture> pictures;           // in pairs: the whole result, and a part close up
  std::string plot, error_plot, plot_caption;  // SVG
  // Of a page about kernels, not of the demo's: why an element is wrong, and the kernel's text. Null, "": none.
  nlohmann::json explanation, stray_reads;
  std::string source_file, source_text, command;

  bool right() const { return report["verdict"]["status"] == "right"; }
};

// Pictures of the result that the engine keeps for c.report, and the lines of a channel: from the first failing element
// on, else from the start. Errors: EngineError.
void draw_case(Session& session, KernelCase& c, const ConvProblem& p);
// Why the first failing element is wrong, and the text of the kernel. What cannot be had is left out.
void explain_case(Session& session, KernelCase& c, const RunRequest& asked);

// One file without anything around it: a page's head, each case as a part that can be folded, its end.
std::string page_begin(const std::string& title);
std::string page_end();
// Rows of a table of cases: a link to each part, its verdict, error and time.
std::string case_row(const KernelCase& c, size_t number);
std::string case_table_head();
std::string case_part(const KernelCase& c, size_t number, bool open);
std::string html_escape(const std::string& s);

}  // namespace convscope
