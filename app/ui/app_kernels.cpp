// Which kernel is looked at, and what its output stands beside.
#include <algorithm>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/ui/app.h"
#include "app/ui/panels/tuning.h"

namespace convscope::ui {

void App::choose_kernel(int number) {
  const auto& all = bench_->inventory().kernels();
  if (static_cast<size_t>(number) < all.size()) execute({SetKernel{all[static_cast<size_t>(number)].name}, 0});
}

void App::choose_reference(int number) {
  auto r = bench_->report_of(document());
  if (r && static_cast<size_t>(number) < r->references.size())
    execute({SetCompareWith{r->references[static_cast<size_t>(number)].name}, 0});
}

void App::choose_beside(int number) {
  const auto& all = bench_->inventory().kernels();
  if (static_cast<size_t>(number) >= all.size()) return;
  const std::string& name = all[static_cast<size_t>(number)].name;
  if (name == document().kernel && document().compare_with != name)
    return say(name + " is the kernel itself: another one can stand beside it");
  // Once more: the oracle again.
  execute({SetCompareWith{document().compare_with == name ? oracle_name : name}, 0});
}

bool App::stands_beside(const std::string& name) const {
  const auto& all = bench_->inventory().kernels();
  return std::any_of(all.begin(), all.end(),
                     [&](const KernelEntry& k) { return k.name == name && k.kind != "reference"; });
}

void App::exchange() {
  Document d = document();
  std::swap(d.kernel, d.compare_with);
  execute({ReplaceDocument{d, ""}, 0});
}

bool App::can_tune() const {
  return bench_->tunings().now().running ||
         (bench_->inventory().runs_on_a_gpu(document()) && bench_->files().of(file_of_kernel(document().kernel)));
}

void App::tune() {
  if (bench_->tunings().now().running) return bench_->tunings().enough();
  const OpenedFile* file = bench_->files().of(file_of_kernel(document().kernel));
  if (!file) return;
  bench_->tunings().begin(document(), file->text, tuning_choice());
  show_panel_ = "Timing";
}

}  // namespace convscope::ui
