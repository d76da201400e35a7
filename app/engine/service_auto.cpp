// The kernel `auto`, and the requests `choose` and `export`.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/engine/codec.h"
#include "app/engine/service.h"
#include "app/engine/service_state.h"
#include "kernels/planner/export.h"
#include "kernels/planner/planner.h"
#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/sources.h"
#include "profiling/profile/profile.h"
#include "profiling/roofline/roofline.h"

namespace convscope {
using nlohmann::json;
namespace {

json choice_json(const Choice& c) {
  json candidates = json::array();
  for (const auto& k : c.candidates)
    candidates.push_back({{"name", k.kernel->name()},
                          {"predicted_ms", k.refused.empty() ? json(k.predicted_ms) : json(nullptr)},
                          {"measured_ms", k.measured_ms ? json(*k.measured_ms) : json(nullptr)},
                          {"measured_on", k.measured_on.empty() ? json(nullptr) : json(k.measured_on)},
                          {"refused", k.refused.empty() ? json(nullptr) : json(k.refused)}});
  return {{"kernel", c.kernel->name()}, {"reason", c.reason}, {"candidates", candidates}};
}

// The least time of the problem on the GPU that the model is of.
void add_floor(json& chosen, const RunRequest& r, const Target& target) {
  const Ceilings* sheet = find_datasheet(target.name);
  const auto floor = sheet ? floor_of(*sheet, arithmetic_of(r.problem, r.accuracy, true), flops(r.problem),
                                      static_cast<double>(least_bytes(r.problem)))
                           : std::nullopt;
  if (!floor) return;
  chosen["floor_ms"] = floor->ms;
  chosen["floor_from"] = floor->by_bytes ? "bytes" : "flops";
  chosen["floor_source"] = sheet->gpu + ", " + sheet->source;
}

std::string with_choice(const std::string& header, const json& choice) {
  json j = json::parse(header);
  j["chosen"] = choice;
  return header_text(j);
}

// A kernel that was named is what is wanted: it is refused where it is less accurate than asked, or cannot run on the
// GPU that the file is for, and nothing is put in its place.
void require_named(const KernelDefinition& kernel, const RunRequest& r, const std::string& architecture) {
  auto promised = accuracy_from(kernel.accuracy());
  if (r.problem.dtype == DType::f32 && promised && *promised > r.accuracy)
    throw InputError("accuracy", std::string(name_of(r.accuracy)),
                     fmt::format("does not allow {}, which computes in {}: --accuracy {} does", kernel.name(),
                                 kernel.accuracy(), kernel.accuracy()));
  if (architecture.empty()) return;
  auto why = Target::of_architecture(architecture).unavailable(kernel, kernel.plan_for(r.problem));
  if (!why.empty())
    throw InputError("architecture", architecture, fmt::format("cannot run {}: it {}", kernel.name(), why));
}

}  // namespace

// The same request with the planner's choice in the place of `auto`; `choice` stays null where nobody asked.
json Service::resolved(const json& request, std::span<const std::byte> payload, Activity& activity, json& choice) {
  auto kernels = request.find("kernels");
  bool in_list = kernels != request.end() && kernels->is_array() &&
                 std::find(kernels->begin(), kernels->end(), json(auto_kernel)) != kernels->end();
  if (text_of(request, "kernel") != auto_kernel && !in_list) return request;
  json named = request;
  if (in_list) named["kernel"] = auto_kernel;
  RunRequest r = request_from(named, payload);
  require_legal(r.problem);
  auto& device = *state_->open(r.device).device;
  // Of one problem among many the model's choice will do: measuring takes longer than judging.
  Choice c = text_of(request, "type") == "judge" ? choose(r.problem, r.accuracy, Target::of(device.info()))
                                                 : state_->planner.choose(r.problem, r.accuracy, device, activity);
  choice = choice_json(c);
  named["kernel"] = c.kernel->name();
  if (in_list) {
    named.erase("kernel");
    json list = json::array();
    for (const auto& k : *kernels) {
      json name = k == json(auto_kernel) ? json(c.kernel->name()) : k;
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }
    named["kernels"] = list;
  }
  return named;
}

Service::Reply Service::handle(const json& request, std::span<const std::byte> payload, Activity& activity,
                               const std::function<void(const std::string&)>& partial) {
  std::string type = text_of(request, "type");
  if (type == "export") return export_one(request, payload, activity);
  if (type == "choose") {
    if (request.value("measure", json()) == false) {
      const RunRequest r = request_from(request, payload);
      require_legal(r.problem);
      const DeviceInfo device = state_->open(r.device).device->info();
      const Target target = Target::of(device);
      json chosen = choice_json(choose(r.problem, r.accuracy, target));
      chosen["target"] = target.name;
      add_floor(chosen, r, target);
      return {header_text({{"chosen", chosen}, {"device", device_json(device)}}), {}};
    }
    json named = request, chosen;
    named["kernel"] = auto_kernel;
    resolved(named, payload, activity, chosen);
    return {header_text({{"chosen", chosen}}), {}};
  }
  if (type != "run" && type != "profile" && type != "live" && type != "bench" && type != "explain" && type != "xray" &&
      type != "judge" && type != "trace" && type != "disassembly")
    return answer(request, payload, activity, partial);
  json choice;
  json named = resolved(request, payload, activity, choice);
  if (choice.is_null()) return answer(request, payload, activity, partial);
  Reply reply = answer(named, payload, activity,
                       partial ? [&](const std::string& early) { partial(with_choice(early, choice)); } : partial);
  reply.header = with_choice(reply.header, choice);
  return reply;
}

Service::Reply Service::export_one(const json& request, std::span<const std::byte> payload, Activity& activity) {
  RunRequest r = request_from(request, payload);
  require_legal(r.problem);
  std::string format = text_of(request, "format"), architecture = text_of(request, "architecture");
  if (format != "pytorch" && format != "cuda" && format != "source")
    throw InputError("format", format, "must be pytorch, cuda or source");
  const Activation then = Activation::from(text_of(request, "activation"));
  ExportedAs as;
  as.architecture = architecture, as.version = CONVSCOPE_VERSION;
  if (const std::string name = text_of(request, "function"); !name.empty()) {
    if (format != "cuda")
      throw InputError("function", name,
                       format == "source" ? "is for --format cuda: a kernel's own file has none of its own choosing"
                                          : "is for CUDA files: a Python file calls its own");
    as.function = name;
  }
  json choice;
  const KernelDefinition* kernel = nullptr;
  if (r.kernel == auto_kernel) {
    // Without a GPU here the file is for one elsewhere.
    auto& device = *state_->open(r.device).device;
    Choice c = !architecture.empty()  ? choose(r.problem, r.accuracy, Target::of_architecture(architecture), then)
               : device.is_emulator() ? choose(r.problem, r.accuracy, Target::of(device.info()), then)
                                      : state_->planner.choose(r.problem, r.accuracy, device, activity, then);
    if (architecture.empty()) as.architecture = Target::of(device.info()).architecture;
    kernel = c.kernel;
    choice = choice_json(c);
  } else {
    kernel = &find_kernel(r.kernel);
    if (!architecture.empty()) Target::of_architecture(architecture);  // refused if it is none
  }
  if (kernel->kind() == KernelKind::outside)
    throw InputError("kernel", kernel->name(), "is a file from outside: what is exported is the program's own");
  if (kernel->kind() == KernelKind::test) throw InputError("kernel", kernel->name(), "is a kernel of tests");
  if (format == "source") {
    if (then) throw InputError("activation", then.name(), "is not for --format source: that is the kernel as it is");
    const auto files = with_headers(kernel->file());
    if (files.empty()) throw InputError("kernel", kernel->name(), "was linked in without its text");
    return {header_text({{"kernel", kernel->name()},
                         {"accuracy", kernel->accuracy()},
                         {"format", format},
                         {"specimen", kernel->kind() == KernelKind::specimen},
                         {"chosen", choice},
                         {"text", files[0].text}}),
            {}};
  }
  if (auto why = kernel->unsupported(r.problem); !why.empty()) throw InputError("kernel", kernel->name(), why);
  if (r.kernel != auto_kernel) require_named(*kernel, r, architecture);
  if (auto why = then.refused_by(*kernel); !why.empty()) throw InputError("activation", then.name(), why);
  if (kernel->plan_for(r.problem).out_length() != r.problem.out_length())
    throw InputError("kernel", kernel->name(), "works out another output length: its output would not fit");
  json j = {{"kernel", kernel->name()},
            {"accuracy", kernel->accuracy()},
            {"problem", problem_json(r.problem)},
            {"format", format},
            {"activation", then.name()},
            {"architecture", as.architecture.empty() ? json(nullptr) : json(as.architecture)},
            {"function", format == "cuda" ? json(as.function) : json(nullptr)},
            {"specimen", kernel->kind() == KernelKind::specimen},
            {"chosen", choice},
            {"text", format == "cuda" ? exported_cuda(*kernel, r.problem, then, as)
                                      : exported_pytorch(*kernel, r.problem, then, as)}};
  return {header_text(j), {}};
}

}  // namespace convscope
