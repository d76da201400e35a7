// The best kernel for the problem, and taking a kernel away as a file.
#include <filesystem>
#include <fmt/format.h>

#include "app/model/settings.h"
#include "app/ui/app.h"

namespace convscope::ui {

void App::choose_best() {
  say("Choosing a kernel");
  const Document asked = document();
  bench_->find_best(asked, [this, asked](const BestKernel& best) {
    // It is the best of that problem, not of one that was set meanwhile.
    const Document& now = document();
    if (!(now.problem == asked.problem) || now.accuracy != asked.accuracy || now.device != asked.device) return;
    if (now.kernel != best.kernel) execute({SetKernel{best.kernel}, 0});
    say(best.reason);
  });
}

void App::export_kernel(const std::string& path, bool pytorch) {
  bench_->want_export(document(), pytorch, [this, path](const std::string& kernel, const std::string& text) {
    try {
      write_file_safely(path, text);
      say(fmt::format("{} for this problem written to {}", kernel, path));
    } catch (const std::exception& e) {
      say(e.what());
      bench_->note(e.what(), LogLine::Kind::trouble);
    }
  });
}

}  // namespace convscope::ui
