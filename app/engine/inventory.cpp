#include "app/engine/inventory.h"

#include <dlfcn.h>
#include <link.h>
#include <nlohmann/json.hpp>

#include "app/engine/codec.h"
#include "app/engine/profile_codec.h"
#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/presets.h"
#include "kernels/runtime/registry.h"
#include "kernels/runtime/simt/trace.h"
#include "profiling/cupti/cupti.h"
#include "profiling/nvml/nvml.h"
#include "profiling/roofline/measure.h"

namespace convscope {
using nlohmann::json;

json kernel_json(const KernelDefinition& k, const Device& device) {
  std::string why = device.unavailable(k);
  json j = {{"name", k.name()},
            {"kind", k.kind() == KernelKind::specimen  ? "specimen"
                     : k.kind() == KernelKind::ladder  ? "ladder"
                     : k.kind() == KernelKind::outside ? "outside"
                                                       : "test"},
            {"idea", k.idea()},
            {"file", k.file()},
            {"requires", k.requires_hardware()},
            {"accuracy", k.accuracy()},
            {"available", why.empty()},
            {"reason", why.empty() ? json(nullptr) : json(why)}};
  if (k.kind() == KernelKind::specimen) j["written_for"] = k.home_preset();
  return j;
}

namespace {

json kernels_json(const std::string& device_name) {
  auto device = open_device(device_name);
  json list = json::array();
  for (const auto* k : all_kernels()) list.push_back(kernel_json(*k, *device));
  for (const auto& r : references_for(*device)) {
    std::string why = r->unavailable();
    list.push_back({{"name", r->name()},
                    {"kind", "reference"},
                    {"idea", r->idea()},
                    {"file", nullptr},
                    {"requires", json::array()},
                    {"available", why.empty()},
                    {"reason", why.empty() ? json(nullptr) : json(why)}});
  }
  return list;
}

json presets_json() {
  json list = json::array();
  for (const auto& p : presets()) {
    json problem = problem_json(p.problem);
    problem["out_length"] = p.problem.out_length();
    list.push_back({{"name", p.name},
                    {"about", p.about},
                    {"problem", problem},
                    {"flops", flops(p.problem)},
                    {"least_bytes", least_bytes(p.problem)}});
  }
  return list;
}

json references_json(const std::string& device_name) {
  auto device = open_device(device_name);
  json list = json::array();
  list.push_back({{"name", "oracle"},
                  {"idea", "double precision (f64 problems: as if in 106 bits), for every legal problem"},
                  {"available", true},
                  {"version", nullptr},
                  {"reason", nullptr}});
  for (const auto& r : references_for(*device)) {
    std::string why = r->unavailable();
    list.push_back({{"name", r->name()},
                    {"idea", r->idea()},
                    {"available", why.empty()},
                    {"version", r->version()},
                    {"reason", why.empty() ? json(nullptr) : json(why)}});
  }
  return list;
}

json devices_json() {
  json list = json::array();
  std::string why;
  for (const auto& d : cuda_devices(why)) {
    json j = device_json(d);
    auto measured = known_ceilings(d);
    j["ceilings"] = ceilings_json(measured ? *measured : ceilings_for(d));
    list.push_back(std::move(j));
  }
  list.push_back(device_json(open_emulator()->info()));
  return list;
}

std::string path_of(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return "";
  link_map* map = nullptr;
  std::string path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : library;
  dlclose(handle);
  return path;
}

}  // namespace

json inventory_list(const std::string& what, const std::string& device) {
  if (what == "kernels") return {{"kernels", kernels_json(device)}};
  if (what == "presets") return {{"presets", presets_json()}};
  if (what == "references") return {{"references", references_json(device)}};
  if (what == "devices") return {{"devices", devices_json()}};
  throw InputError("list", what, "must be kernels, presets, references or devices");
}

json inventory_info() {
  json out = {{"convscope", CONVSCOPE_VERSION}, {"devices", devices_json()}, {"pieces", json::array()}};
  auto piece = [&](const std::string& name, bool there, const std::string& detail, const std::string& costs,
                   const std::string& how) {
    json j = {{"name", name}, {"available", there}, {"detail", detail}};
    if (!there) j["without_it"] = costs, j["how_to_get_it"] = how;
    out["pieces"].push_back(j);
  };
  piece("CPU emulator", true, std::to_string(WorkerPool::shared().size()) + " workers", "", "");
  std::string why = simt::load_traced_kernels();
  piece("traced kernels", why.empty(), why.empty() ? "libconvscope_traced.so" : why,
        "no memory picture of a kernel on the emulator",
        "install the whole tree, with libconvscope_traced.so beside the program");
  std::string why_no_gpu;
  auto gpus = cuda_devices(why_no_gpu);
  std::string driver = path_of("libcuda.so.1");
  piece("NVIDIA driver and GPU", !gpus.empty(), gpus.empty() ? why_no_gpu : gpus[0].driver + ", " + driver,
        "kernels run on the emulator: the same results, but times are not a GPU's",
        "a GPU of compute capability 7.5 or later, and driver 580 or later");
  for (const char* device : {"emulator", "cuda"}) {
    if (std::string(device) == "cuda" && gpus.empty()) {
      std::string cudnn = path_of("libcudnn.so.9");
      piece("cuDNN", false,
            cudnn.empty() ? "libcudnn.so.9 cannot be opened" : cudnn + " is there, but no GPU to use it",
            "no comparison with cuDNN", "cuDNN 9 for CUDA 13, beside a GPU");
      continue;
    }
    auto d = open_device(device);
    for (const auto& r : references_for(*d)) {
      std::string lacks = r->unavailable();
      piece(r->name(), lacks.empty(), lacks.empty() ? r->version() : lacks, "no comparison with it",
            r->name() == "onednn" ? "the package libdnnl2" : "cuDNN 9 for CUDA 13");
    }
  }
  Cupti& cupti = Cupti::shared();
  Gap tracing = cupti.missing();
  piece("CUPTI", !tracing, tracing ? tracing.what : cupti.version() + ", " + cupti.path(),
        "profiles have times, and neither kernel records nor hardware counters", tracing.how);
  Gap counters{"no-gpu", "no GPU whose counters could be asked for", "a GPU and its driver"},
      clocks = Nvml::shared().missing();
  if (!gpus.empty()) {
    auto d = open_device("cuda");
    counters = cupti.counters_gap(d->native_context(), d->info().index);
    if (!clocks) Nvml::shared().find(d->info().pci_bus, clocks);
    cupti.forget(d->native_context());
  }
  piece("hardware counters", !counters, counters ? counters.what : "permitted",
        "profiles say how long a kernel takes, and less of why", counters.how);
  piece("NVML", !clocks, clocks ? clocks.what : "driver " + Nvml::shared().driver_version(),
        "clocks, temperature and power are not known while something is timed", clocks.how);
  return out;
}

}  // namespace convscope
