// Kernels on a problem as one page to keep or to send: verdicts, pictures, why an element is wrong, the kernel's text.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <set>

#include "app/cli/forms.h"
#include "app/cli/kernel_case.h"
#include "app/cli/out_file.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace {

// A word as a shell takes it.
std::string shell_word(const std::string& w) {
  const bool plain = !w.empty() && std::all_of(w.begin(), w.end(), [](unsigned char c) {
    return std::isalnum(c) || std::strchr("_-./,:+=@", c);
  });
  if (plain) return w;
  std::string out = "'";
  for (char c : w) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The command that runs it again: what was given.
std::string command_for(const std::string& kernel, const CommonOptions& common, const ProblemOptions& given) {
  std::string out = "convscope run " + shell_word(kernel) + (names_file(kernel) ? " --trust" : "");
  auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) out += " --" + option + " " + shell_word(value);
  };
  add("preset", given.preset);
  for (const auto& [field, value] : given.parameters) add(kebab(field), value);
  if (given.bias) out += " --bias";
  if (given.no_bias) out += " --no-bias";
  add("dtype", given.dtype), add("accuracy", given.accuracy), add("tolerance", given.tolerance);
  add("input", given.input), add("weight", given.weight), add("bias-values", given.bias_values);
  add("seed", given.seed);
  if (common.device != "auto") add("device", common.device);
  return out;
}

std::string heading(const KernelCase& c) {
  const std::string status = json_fields::text(c.report["verdict"], "status");
  return html_escape(file_name(c.kernel)) + (status == "right" || status == "wrong" ? " is " + status
                                             : status == "not-run"                  ? " did not run"
                                                                                    : " " + status);
}

class Page {
 public:
  Page(const CommonOptions& common, const ProblemOptions& given) : common_(common), given_(given), session_(common) {}

  void add(const RunRequest& asked) {
    RunRequest r = asked;
    r.pictures = true;
    KernelCase c;
    c.problem = describe(r.problem);
    c.report = run_report(session_, r);
    c.kernel = c.report["kernel"].value("name", r.kernel);
    if (const std::string why = json_fields::text(json_fields::part(c.report, "chosen"), "reason"); !why.empty())
      c.idea = "Chosen by auto: " + why + ".";
    else if (!names_file(c.kernel))
      c.idea = find_kernel(c.kernel).idea() + ".";
    if (r.problem.dtype != DType::f32) c.type = fmt::format(" ({})", name_of(r.problem.dtype));
    put_cause(session_, r, c.report);
    c.report["warnings"] = forms::report_warnings(c.report, r.problem);
    if (c.report["result"].is_string()) draw_case(session_, c, r.problem);
    explain_case(session_, c, r);
    c.command = command_for(r.kernel, common_, given_);
    cases_.push_back(std::move(c));
  }

  std::string html() const {
    const json& device = cases_.front().report["device"];
    const bool one = cases_.size() == 1;
    std::set<std::string> names;
    for (const auto& c : cases_) names.insert(file_name(c.kernel));
    std::string h = page_begin(fmt::format("{} on {}", fmt::join(names, ", "), cases_.front().problem));
    h += "<h1>" + (one ? heading(cases_.front()) : "Which of these kernels are right?") + "</h1>";
    h += fmt::format("<p>On {}, beside a double-precision oracle. Run on {}{} by convscope {}.</p>",
                     html_escape(cases_.front().problem), html_escape(json_fields::text(device, "name")),
                     json_fields::text(device, "kind") == "emulator" ? ", where times are not GPU times," : "",
                     CONVSCOPE_VERSION);
    h += "<p class=\"dim\">A verdict does not rest on a tolerance: every element has its own rounding bound, and "
         "integer inputs must come out bit for bit. The usual gates are shown beside it.</p>";
    if (!one) {
      h += case_table_head();
      for (size_t i = 0; i < cases_.size(); i++) h += case_row(cases_[i], i);
      h += "</table>";
    }
    for (size_t i = 0; i < cases_.size(); i++) h += case_part(cases_[i], i, one || !cases_[i].right());
    return h + page_end();
  }

  json document(const std::string& file) {
    json list = json::array();
    for (auto& c : cases_) {
      for (const char* own : {"id", "type", "result"}) c.report.erase(own);
      list.push_back(c.report);
    }
    return {{"convscope", CONVSCOPE_VERSION}, {"report", file}, {"cases", list}};
  }

  // Of the kernels that are not right, the worst.
  int exit_code() const {
    int worst = 0;
    for (const auto& c : cases_) worst = std::max(worst, c.report["verdict"].value("exit_code", 1));
    return worst;
  }

  const std::vector<KernelCase>& cases() const { return cases_; }

 private:
  CommonOptions common_;
  const ProblemOptions& given_;
  Session session_;
  std::vector<KernelCase> cases_;
};

}  // namespace

int verb_report(const CommonOptions& common, const ProblemOptions& problem, const ReportOptionsCli& options) {
  std::vector<RunRequest> asked;
  for (const auto& kernel : options.kernels) asked.push_back(problem.request(kernel, common.device));
  OutFile out("out", options.out);  // said before anything is run
  Page page(common, problem);
  for (const auto& r : asked) page.add(r);
  out.write(page.html());
  out.finish();
  if (common.json) {
    print_json(page.document(options.out));
  } else {
    for (const auto& c : page.cases())
      fmt::print("  {} {}{}  {}\n", c.right() ? "✓" : "✗", c.kernel, c.type,
                 c.report["verdict"]["sentence"].get<std::string>());
    fmt::print("\nReport with pictures: {}\n", options.out);
  }
  return page.exit_code();
}

}  // namespace convscope
