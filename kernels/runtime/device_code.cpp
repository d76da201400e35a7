#include "kernels/runtime/device_code.h"

#include <map>
#include <mutex>

namespace convscope {
namespace {

struct Kept {
  std::mutex mutex;
  std::map<const KernelDefinition*, std::map<int, std::shared_ptr<const std::string>>> images;
};
Kept& kept() {
  static auto* k = new Kept;
  return *k;
}

}  // namespace

std::vector<DeviceImage> compiled_images(const KernelDefinition& kernel) {
  // A file from outside may be called like one of the program's.
  if (kernel.kind() != KernelKind::outside) return compiled_images(kernel.file());
  std::vector<DeviceImage> list;
  std::lock_guard lock(kept().mutex);
  for (const auto& [architecture, elf] : kept().images[&kernel]) list.push_back({architecture, *elf});
  return list;
}

std::vector<BinaryFacts> compiled_facts(const KernelDefinition& kernel) {
  if (kernel.kind() != KernelKind::outside) return compiled_facts(kernel.file());
  std::vector<BinaryFacts> list;
  for (const auto& image : compiled_images(kernel))
    for (auto& f : image_facts(image)) list.push_back(std::move(f));
  return list;
}

void keep_image(const KernelDefinition& kernel, int architecture, std::shared_ptr<const std::string> elf) {
  std::lock_guard lock(kept().mutex);
  auto& place = kept().images[&kernel][architecture];
  if (!place) place = std::move(elf);  // another may be in use
}

std::string_view kept_image(const KernelDefinition& kernel, int architecture) {
  std::lock_guard lock(kept().mutex);
  auto of = kept().images.find(&kernel);
  if (of == kept().images.end()) return {};
  auto it = of->second.find(architecture);
  return it == of->second.end() ? std::string_view() : *it->second;
}

}  // namespace convscope
