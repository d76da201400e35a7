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

}  // namespace

void register_kernel(const KernelDefinition* kernel, bool traced) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  r.list(traced).push_back(kernel);
}

void unregister_kernel(const KernelDefinition* kernel, bool traced) {
  auto& r = registry();
  std::lock_guard lock(r.mutex);
  std::erase(r.list(traced), kernel);
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
  if (name.find('/') != name.npos || name.ends_with(".cu") || name.ends_with(".cuh"))
    throw InputError("kernel", std::string(name),
                     "is a file, and a kernel is compiled with the program: put it into kernels/ladder or "
                     "kernels/specimens, build, and run it by its name (ARCHITECTURE.md, \"Adding things\")");
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
