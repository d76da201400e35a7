// The demo's report.
#include <fmt/format.h>

#include "app/cli/demo.h"

namespace convscope {

std::string demo_html(const std::vector<KernelCase>& cases, const std::string& device, bool emulated, double seconds,
                      bool interrupted) {
  std::string h = page_begin("convscope demo") + "<h1>Which of these kernels are right?</h1>";
  h += fmt::format(
      "<p>Five exhibits, each wrong in its index arithmetic, and the ladder of correct kernels, beside a "
      "double-precision oracle. Run on {}{}; {} runs in {:.0f} s{}.</p>",
      html_escape(device), emulated ? ", where times are not GPU times" : "", cases.size(), seconds,
      interrupted ? ", then interrupted: what is missing was not run" : "");
  h += "<p class=\"dim\">A verdict does not rest on a tolerance: every element has its own rounding bound, and integer "
       "inputs must come out bit for bit. The usual gates are shown beside it.</p>";
  std::string problem;
  for (size_t i = 0; i < cases.size(); i++) {
    if (cases[i].problem != problem) {
      if (!problem.empty()) h += "</table>";
      problem = cases[i].problem;
      h += "<h2>" + html_escape(problem) + "</h2>" + case_table_head();
    }
    h += case_row(cases[i], i);
  }
  if (!problem.empty()) h += "</table>";
  h += "<h2>Case by case</h2>";
  bool opened = false;
  for (size_t i = 0; i < cases.size(); i++) {
    const bool open = !opened && cases[i].kernel == "S4" && !cases[i].right();
    opened |= open;
    h += case_part(cases[i], i, open);
  }
  return h + page_end();
}

}  // namespace convscope
