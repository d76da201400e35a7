#include "kernels/runtime/registry.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/runtime/simt/trace.h"

namespace convscope {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const KernelDefinition*> plain, traced;
  std::vector<const KernelDefinition*>& list(bool t) { return t ? traced : plain; }
};

Registry& registry() {
  static Registry* r = new Registry;  // outlives every static destructor of a kernel file
  return *r;
}

thread_local Arrivals* arrivals = nullptr;

}  // namespace

Arrivals::Arrivals() { arrivals = this; }
Arrivals::~Arrivals() { arrivals = nullptr; }

void register_kernel(KernelDefinition* kernel, bool traced) {
  if (arrivals) return (traced ? arrivals->traced : arrivals->plain).push_back(kernel);
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  r.list(traced).push_back(kernel);
}

void unregister_kernel(const KernelDefinition* kernel, bool traced) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  std::erase(r.list(traced), kernel);
}

void list_outside(const std::string& name, const std::vector<KernelDefinition*>& plain,
                  const std::vector<KernelDefinition*>& traced) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  for (bool t : {false, true}) {
    std::erase_if(r.list(t), [&](const auto* k) {
      return k->kind() == KernelKind::outside && (k->name() == name || k->name().starts_with(name + ":"));
    });
    const auto& come = t ? traced : plain;
    r.list(t).insert(r.list(t).end(), come.begin(), come.end());
  }
}

bool names_file(std::string_view kernel) {
  return kernel.find('/') != kernel.npos || kernel.ends_with(".cu") || kernel.ends_with(".cuh") ||
         kernel.ends_with(".py") || kernel.find(".cu:") != kernel.npos || kernel.find(".py:") != kernel.npos;
}

std::vector<const KernelDefinition*> all_kernels() {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  auto list = r.plain;
  std::erase_if(list, [](const auto* k) { return k->kind() == KernelKind::internal; });
  std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->kind(), a->rung(), a->name()) < std::tuple(b->kind(), b->rung(), b->name());
  });
  return list;
}

const KernelDefinition& find_kernel(std::string_view name) {
  std::vector<std::string> names;
  for (const auto* k : all_kernels()) {
    if (k->name() == name) return *k;
    names.push_back(k->name());
  }
  std::string near = nearest_name(name, names);
  if (names_file(name))
    throw InputError("kernel", std::string(name),
                     "is a file that nobody has opened here, or trusted: nothing of it was compiled");
  if (name == "oracle")
    throw InputError("kernel", "oracle",
                     "is a reference and no kernel: every run of a kernel is judged by it, and `convscope run KERNEL "
                     "--save DIR` writes it to DIR/oracle.npy");
  for (const char* reference : {"onednn", "cudnn", "cudnn-tf32"})
    if (name == reference)
      throw InputError("kernel", std::string(name),
                       "is a reference and no kernel: a run of any kernel shows its error and time as well, and "
                       "`convscope bench KERNEL --against " +
                           std::string(name) + "` times both");
  throw InputError(
      "kernel", std::string(name),
      near.empty() ? "is not known: see `convscope list kernels`" : "is not known; did you mean " + near + "?");
}

const KernelDefinition& find_internal_kernel(std::string_view name) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  for (const auto* k : r.plain)
    if (k->kind() == KernelKind::internal && k->name() == name) return *k;
  throw std::logic_error("internal kernel " + std::string(name) + " is not linked in");
}

const KernelDefinition* find_traced(std::string_view name) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  for (const auto* k : r.traced)
    if (k->name() == name) return k;
  return nullptr;
}

const KernelDefinition* traced_twin(const KernelDefinition& kernel, std::string& missing) {
  if (missing = simt::load_traced_kernels(); !missing.empty()) return nullptr;
  const KernelDefinition* twin = find_traced(kernel.name());
  if (!twin) missing = "there is no traced build of " + kernel.name();
  return twin;
}

}  // namespace convscope
