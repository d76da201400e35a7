#include "tests/kernels/simt/test_entries.h"

#include "kernels/runtime/registry.h"

namespace convscope::test {

Launch planned_launch(std::string_view function, bool traced) {
  for (const auto* k : all_kernels()) {
    if (k->kind() != KernelKind::test) continue;
    const auto* kernel = traced ? find_traced(k->name()) : k;
    if (!kernel) continue;
    Plan plan = kernel->plan_for({});
    for (const auto& l : plan.launches())
      if (l.entry.name == function) return l;
  }
  throw std::logic_error("no test kernel launches " + std::string(function));
}

}  // namespace convscope::test
