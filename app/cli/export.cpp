#include <cstdio>
#include <fmt/format.h>

#include "app/cli/out_file.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "kernels/planner/activation.h"

namespace convscope {
using nlohmann::json;

int verb_export(const CommonOptions& common, const ProblemOptions& problem, const ExportOptionsCli& options) {
  RunRequest r = problem.request(options.kernel, common.device);
  if (options.format != "pytorch" && options.format != "cuda" && options.format != "source")
    throw InputError("format", options.format, "must be pytorch, cuda or source");
  const Activation then = Activation::from(options.activation);
  std::unique_ptr<OutFile> file;  // that it cannot be written is said before the work
  if (!options.out.empty()) require_no_folder("out", options.out);
  if (!options.out.empty()) file = std::make_unique<OutFile>("out", options.out);
  Session session(common);
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "export";
  header["format"] = options.format;
  if (!options.architecture.empty()) header["architecture"] = options.architecture;
  header["activation"] = then.name();
  if (!options.function.empty()) header["function"] = options.function;
  json j = session.ask(header, std::move(payload), "export " + r.kernel).header;
  for (const char* own : {"id", "type"}) j.erase(own);
  j["convscope"] = CONVSCOPE_VERSION;
  auto text = j["text"].get<std::string>();
  if (file) {
    file->write(text);
    file->finish();
    j.erase("text");
    j["file"] = options.out;
  }
  if (j.value("specimen", false))
    std::fprintf(stderr, "convscope: %s is a specimen, wrong on purpose: it is right only for some problems\n",
                 j["kernel"].get<std::string>().c_str());
  if (common.json) {
    print_json(j);
    return 0;
  }
  if (!file) std::fputs(text.c_str(), stdout);
  if (options.format == "source") {
    const std::string here = file ? options.out : "FILE.cu";
    std::fprintf(stderr,
                 "convscope: %s: %s as the program has it; change it, and: convscope run %s --trust --preset "
                 "kernelbench-79-small\n",
                 here.c_str(), j["kernel"].get<std::string>().c_str(), here.c_str());
    return 0;
  }
  std::string what = j["kernel"].get<std::string>() + ", " + j["accuracy"].get<std::string>() + " accuracy";
  if (then) what += ", then " + then.name();
  if (j["chosen"].is_object()) what += "; " + j["chosen"]["reason"].get<std::string>();
  std::fprintf(stderr, "convscope: %s%s\n", file ? (options.out + ": ").c_str() : "", what.c_str());
  return 0;
}

}  // namespace convscope
