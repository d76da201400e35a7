#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "app/cli/forms.h"
#include "app/cli/out_file.h"
#include "app/cli/recorded.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "kernels/problem/npy.h"

namespace convscope {
using nlohmann::json;
namespace {

// Streams one tensor of a kept result into a .npy file.
void save_tensor(Session& session, const std::string& result, const std::string& what,
                 const std::filesystem::path& file) {
  OutFile unfinished("save", file, Disk::later);  // gigabytes, which the same run gives again
  int64_t at = 0, total = 1;
  DType dtype = DType::f32;
  while (at < total) {
    auto r = session.ask({{"type", "tensor"}, {"result", result}, {"what", what}, {"first", at}}, {},
                         "saving " + file.filename().string());
    auto shape = r.header["shape"].get<std::vector<int64_t>>();
    if (at == 0) {
      total = 1;
      for (int64_t n : shape) total *= n;
      dtype = *dtype_from(r.header["dtype"].get<std::string>());
      unfinished.write(npy_header(dtype, shape));
    }
    auto got = r.header["count"].get<int64_t>();
    HostTensor part = make_tensor(dtype, {got}, [&](auto* out, int64_t n) {
      std::memcpy(out, r.payload.data(), std::min(r.payload.size(), static_cast<size_t>(n) * sizeof *out));
    });
    part = convert(part, npy_type(dtype));
    unfinished.write({reinterpret_cast<const char*>(part.data()), part.size_bytes()});
    if (got == 0) unfinished.refuse();
    at += got;
  }
  unfinished.finish();
}

}  // namespace

json run_report(Session& session, const RunRequest& r) {
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "run";
  try {
    return session.ask(std::move(header), std::move(payload), "run " + r.kernel).header;
  } catch (const EngineError& e) {
    const std::string code = e.error().value("code", "");
    if (code != "crashed" && code != "hung" && code != "compile") throw;
    return lost_report(session, r, e.error());
  }
}

namespace {

// Of a kernel file that is wrong: how one looks for an edit.
std::string how_to_mend(const json& report, const RunRequest& r) {
  if (!names_file(r.kernel) || report.at("verdict").at("status") != "wrong") return "";
  return fmt::format("  mend it     convscope fix {}{} looks for one edit of the file that makes it right\n", r.kernel,
                     forms::problem_options(r));
}

}  // namespace

int verb_run(const CommonOptions& common, const ProblemOptions& problem, const RunOptionsCli& options) {
  RunRequest r = problem.request(options.kernel, common.device);
  if (!options.save.empty() && common.recording.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.save, error);
    if (!std::filesystem::is_directory(options.save, error))
      throw InputError("save", options.save, "is no folder and cannot be made one");
    for (const char* what : {"y", "x", "w", "b", "oracle"})  // said before the run, not after it
      OutFile probe("save", std::filesystem::path(options.save) / (std::string(what) + ".npy"));
  }
  if (!common.recording.empty()) {
    if (!options.save.empty()) throw InputError("save", options.save, "needs a run: a recording holds no tensors");
    json report = recorded_answer(common.recording, "run", r, problem);
    // All of it before anything is said: a damaged one has no document but that of its refusal.
    const auto [text, code] = shown_whole(common.recording, [&] {
      report["warnings"] = forms::report_warnings(report, problem_from(report.at("problem")));
      return std::pair(recorded_heading(report) + report_text(report), report.at("verdict").at("exit_code").get<int>());
    });
    if (common.json)
      print_json(report);
    else
      std::fputs(text.c_str(), stdout);
    return code;
  }
  Session session(common);
  json report = run_report(session, r);
  std::string result = report["result"].is_string() ? report["result"].get<std::string>() : "";
  for (const char* own : {"id", "type", "result"}) report.erase(own);
  put_cause(session, r, report);
  report["warnings"] = forms::report_warnings(report, r.problem);
  auto exit_code = report["verdict"].value("exit_code", 1);
  if (!options.save.empty() && result.empty()) {
    std::fprintf(stderr, "convscope: nothing is saved in %s: the kernel gave no output\n", options.save.c_str());
  } else if (!options.save.empty()) {
    std::filesystem::path folder = options.save;
    for (const char* what : {"x", "w", "y", "oracle"})
      save_tensor(session, result, what, folder / (std::string(what) + ".npy"));
    if (r.problem.bias) save_tensor(session, result, "b", folder / "b.npy");
  }
  if (common.json)
    print_json(report);
  else
    std::fputs((report_text(report) + how_to_mend(report, r)).c_str(), stdout);
  return exit_code;
}

}  // namespace convscope
