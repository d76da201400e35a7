// The request `xray`: what is wrong with a kernel's index, in words, from outside.
#include <nlohmann/json.hpp>

#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/xray.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr const char* name_of(Xray::Is is) {
  constexpr const char* names[] = {"right", "wrong", "right-here-only", "unclear", "not-mapped"};
  return names[static_cast<int>(is)];
}
constexpr const char* name_of(XrayProblem::Is is) {
  constexpr const char* names[] = {"right", "wrong", "unclear", "not-mapped"};
  return names[static_cast<int>(is)];
}

json xray_json(const Xray& x) {
  json problems = json::array();
  for (const auto& at : x.problems) {
    json j = {{"problem", problem_json(at.problem)}, {"status", name_of(at.is)}};
    if (!at.why.empty()) j["reason"] = at.why;
    problems.push_back(std::move(j));
  }
  return {{"status", name_of(x.is)},
          {"sentence", x.sentence},
          {"formula", x.formula.empty() ? json(nullptr) : json(x.formula)},
          {"right_formula", right_index()},
          {"faults", x.faults},
          {"example", x.example.empty() ? json(nullptr) : json(x.example)},
          {"problems", std::move(problems)},
          {"launches", x.launches}};
}

}  // namespace

Service::Reply Service::xray_one(const json& request, std::span<const std::byte> payload, Activity& activity) {
  constexpr double no_limit_s = 1e9;
  RunRequest r = request_from(request, payload);
  const KernelDefinition& kernel = find_kernel(r.kernel);
  double limit_s = no_limit_s;
  if (auto it = request.find("limit_s"); it != request.end() && it->is_number()) limit_s = it->get<double>();
  auto& o = state_->open(r.device);
  json j = {{"kernel", kernel.name()},
            {"problem", problem_json(r.problem)},
            {"device", device_json(o.device->info())},
            {"xray", xray_json(xray(*o.device, kernel, r.problem, limit_s, activity))}};
  return {header_text(j), {}};
}

}  // namespace convscope
