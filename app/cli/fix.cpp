// The verb `fix`: which one edit of its text makes a kernel file right.
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/options.h"
#include "app/cli/out_file.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/codec.h"
#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using json_fields::text;
using json_fields::whole;
using nlohmann::json;
namespace {

// That edits are tried for. Errors: InputError.
double seconds_of(const std::string& limit) {
  if (limit.empty()) return 30;
  const double s = real_number("limit", limit);
  if (s <= 0) throw InputError("limit", limit, "must be greater than 0 seconds");
  return s;
}

std::string edits_words(int64_t n) { return n == 1 ? "this one edit" : fmt::format("these {} edits", n); }

void print(const json& answer, const ConvProblem& p, const std::string& file) {
  fmt::print("{} on {}\n\n", text(answer, "kernel"), describe(p));
  const json& fix = answer.at("fix");
  const auto tried = whole(answer, "tried").value_or(0);
  const std::string in = fmt::format("{} edit{} tried in {:.1f} s, on the emulator", grouped(tried),
                                     tried == 1 ? " was" : "s were", answer.value("seconds", 0.0));
  if (fix.is_null()) {
    fmt::print("  {} {}\n\n  {}\n", text(answer, "status") == "right" ? "✓" : "·", text(answer, "reason"), in);
    return;
  }
  for (const json& l : fix.at("lines")) {
    const std::string at = fmt::format("{}:{}", file_name(file), l.at("line").get<int>());
    if (const std::string before = text(l, "before"); !before.empty()) fmt::print("  {}  − {}\n", at, before);
    fmt::print("  {}  + {}\n", at, text(l, "after"));
  }
  fmt::print("\n  ✓ with {} it is right on {} small problems; compiled so, it was judged right on {}{}\n",
             edits_words(whole(fix, "edits").value_or(1)), whole(fix, "problems").value_or(0),
             whole(fix, "judged").value_or(0), fix.value("asked", false) ? ", the asked one among them" : "");
  if (const std::string left = text(fix, "wrong_with"); !left.empty())
    fmt::print("  ✗ with {} it is wrong as before\n", left);
  const json& drawn = fix.at("drawn");
  const auto of = whole(drawn, "of").value_or(0), right = whole(drawn, "right").value_or(0);
  if (of > 0 && right == of) fmt::print("  ✓ right on {} more that were drawn\n", of);
  if (right < of)
    fmt::print("  ✗ wrong on {} of {} more that were drawn; the first: {}\n", of - right, of,
               describe(problem_from(drawn.at("wrong"))));
  fmt::print("\n  {}\n", in);
}

}  // namespace

int verb_fix(const CommonOptions& common, const ProblemOptions& problem, const std::string& kernel, bool write,
             const std::string& limit) {
  const double most_seconds = seconds_of(limit);
  if (write && !names_file(kernel))
    throw InputError("write", kernel, "is no .cu or .py file: the program's own texts stay as they are");
  const RunRequest r = problem.request(kernel, "emulator");
  Session session(common);
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "fix", header["limit_s"] = most_seconds;
  json answer = session.ask(header, payload, "fix " + r.kernel).header;
  for (const char* own : {"id", "type"}) answer.erase(own);
  answer["convscope"] = CONVSCOPE_VERSION, answer["written"] = false;
  const bool found = !answer.at("fix").is_null();
  const std::string file = file_of_kernel(r.kernel);
  if (write && found) {
    write_into_kernel(file, session.brought_text(r.kernel), text(answer.at("fix"), "text"));
    answer["written"] = true;
  }
  if (common.json) {
    print_json(answer);
  } else {
    print(answer, r.problem, file);
    if (found && names_file(kernel))
      fmt::print("  {}\n", write ? file + " is written" : "nothing is written; --write does it");
  }
  return found || text(answer, "status") == "right" ? 0 : 1;
}

}  // namespace convscope
