// The request `disassembly`: a kernel's machine code beside its lines.
#include <nlohmann/json.hpp>
#include <set>

#include "app/engine/sampling_codec.h"
#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/runtime/device_code.h"
#include "kernels/runtime/registry.h"
#include "profiling/disassembly/disassembly.h"

namespace convscope {
using nlohmann::json;
namespace {

void put_place(json& j, const SourcePlace& at) {
  if (at.line <= 0) return;
  j["line"] = at.line;
  if (!at.file.empty()) j["file"] = at.file;
}

json function_json(const FunctionCode& f) {
  json sass = json::array(), ptx = json::array();
  for (const auto& i : f.sass) {
    json j = {{"offset", i.offset}, {"text", i.text}};
    if (!i.label.empty()) j["label"] = i.label;
    put_place(j, i.at);
    sass.push_back(std::move(j));
  }
  for (const auto& l : f.ptx) {
    json j = {{"text", l.text}};
    put_place(j, l.at);
    ptx.push_back(std::move(j));
  }
  json j = {{"name", f.name},
            {"registers", f.facts.registers},
            {"static_shared_bytes", f.facts.static_shared_bytes},
            {"stack_bytes", f.facts.stack_bytes},
            {"code_bytes", f.code_bytes},
            {"code_hash", f.code_hash},
            {"sass", std::move(sass)},
            {"sass_source", f.sass_source.empty() ? json(nullptr) : json(f.sass_source)},
            {"lines_source", f.lines_source.empty() ? json(nullptr) : json(f.lines_source)},
            {"ptx", std::move(ptx)}};
  if (f.no_text) j["sass_reason"] = f.no_text.sentence();
  if (f.no_lines) j["lines_reason"] = f.no_lines.sentence();
  if (f.no_ptx) j["ptx_reason"] = f.no_ptx.sentence();
  return j;
}

}  // namespace

Service::Reply Service::disassemble_one(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  const KernelDefinition& kernel = find_kernel(r.kernel);
  if (auto why = kernel.unsupported(r.problem); !why.empty())
    throw InputError("kernel", r.kernel, "does not take this problem: " + why);
  auto& o = state_->open(r.device);
  std::vector<std::string> functions;
  std::set<std::string> seen;
  Plan plan = kernel.plan_for(r.problem);
  for (const auto& launch : plan.launches())
    if (seen.insert(launch.entry.name).second) functions.emplace_back(launch.entry.name);
  activity.phase("disassembling " + r.kernel);
  std::string architecture = o.device->is_emulator() ? "" : o.device->info().architecture;
  json list = json::array();
  int compiled_for = 0;
  for (const auto& f : disassemble(compiled_images(kernel), architecture, functions, Cupti::shared(), activity)) {
    compiled_for = f.facts.architecture;
    list.push_back(function_json(f));
  }
  json j = {{"kernel", r.kernel}, {"file", kernel.file()}, {"functions", list}};
  j["architecture"] = compiled_for ? json("sm_" + std::to_string(compiled_for)) : json(nullptr);
  if (list.empty()) {
    Gap gap{"no-device-code",
            compiled_images(kernel).empty() ? "this build has no device code of " + kernel.file()
            : kernel.kind() == KernelKind::outside
                ? "its device code has no kernel of the name " + (functions.empty() ? "" : functions.front())
                : "this build's device code of " + kernel.file() + " is for newer GPUs",
            "build with the CUDA Toolkit 13 (CONVSCOPE_CUDA_ARCHITECTURES says for which GPUs)"};
    j["reason"] = gap.sentence();
  }
  return {header_text(j), {}};
}

}  // namespace convscope
