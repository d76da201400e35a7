// The request `fix`: which one edit of its text makes a kernel file right.
#include <nlohmann/json.hpp>

#include "app/engine/json_fields.h"
#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/base/text.h"
#include "kernels/runtime/compile/outside.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/sources.h"
#include "kernels/verify/one_edit.h"

namespace convscope {
using nlohmann::json;

namespace {

json drawn_json(const DrawnProblems& d) {
  return {{"right", d.right}, {"of", d.of}, {"wrong", d.wrong ? problem_json(*d.wrong) : json()}};
}

}  // namespace

Service::Reply Service::fix(const json& request, std::span<const std::byte> payload, Activity& activity) {
  const RunRequest r = request_from(request, payload);
  // An exhibit's text is brought as a file's would be.
  std::string brought;
  struct Unlist {
    const std::string& name;
    ~Unlist() {
      if (!name.empty()) list_outside(name, {}, {});
    }
  } unlist{brought};
  const KernelDefinition* own = &find_kernel(r.kernel);
  if (own->kind() == KernelKind::specimen) {
    const std::vector<KernelSource> source = with_headers(own->file());
    if (source.empty()) throw InputError("kernel", r.kernel, "has no text here");
    brought = "exhibits/" + file_name(own->file());
    own = bring_outside(brought, std::string(source.front().text), activity).kernels.front();
  } else if (own->kind() != KernelKind::outside) {
    throw InputError("kernel", r.kernel, "is the program's own: edits are tried on a .cu or .py file, and on exhibits");
  }
  const KernelDefinition& kernel = *own;
  if (const std::string why = kernel.unsupported(r.problem); !why.empty())
    throw InputError("kernel", r.kernel, "does not take this problem: " + why);
  double seconds = 20;
  if (auto it = request.find("limit_s"); it != request.end() && it->is_number()) seconds = it->get<double>();
  const OneEditSearch found = one_edit(kernel, r.problem, seconds, activity);
  json fix = nullptr;
  if (found.edit) {
    json lines = json::array();
    for (const auto& l : found.edit->lines)
      lines.push_back({{"line", l.line}, {"before", l.before}, {"after", l.after}});
    fix = {{"lines", std::move(lines)},        {"text", found.edit->text},     {"edits", found.edit->edits},
           {"problems", found.edit->problems}, {"wrong_on", found.edit->left}, {"wrong_with", found.edit->wrong_with},
           {"judged", found.edit->judged},     {"asked", found.edit->asked},   {"drawn", drawn_json(found.edit->drawn)}};
  }
  json j = {{"kernel", r.kernel},
            {"problem", problem_json(r.problem)},
            {"status", found.edit    ? "fixed"
                       : found.right ? "right"
                                     : "none"},
            {"fix", std::move(fix)},
            {"tried", found.tried},
            {"seconds", found.seconds},
            {"compiled_in_s", found.compiling}};
  if (!found.edit) j["reason"] = found.reason;
  return {header_text(j), {}};
}

}  // namespace convscope
