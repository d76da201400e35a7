// The best kernel for the problem, and taking a kernel away as a file.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <imgui.h>
#include <iterator>

#include "app/engine/kernel_file.h"
#include "app/model/ladder.h"
#include "app/ui/app.h"
#include "app/ui/panels/source_edit.h"
#include "app/ui/widgets.h"
#include "kernels/base/cache.h"
#include "kernels/base/safe_file.h"
#include "kernels/base/text.h"

namespace convscope::ui {
namespace {

// What may follow a layer: vocoders and GANs have LeakyReLU with a slope of 0.1 or 0.2 (PyTorch's default is 0.01).
struct Following {
  const char *title, *name;
};
constexpr Following activations[] = {{"nothing", ""},
                                     {"ReLU", "relu"},
                                     {"LeakyReLU 0.01", "leaky_relu:0.01"},
                                     {"LeakyReLU 0.1", "leaky_relu:0.1"},
                                     {"LeakyReLU 0.2", "leaky_relu:0.2"}};

}  // namespace

void App::choose_best() {
  // Of a recording: who was the fastest there.
  if (bench_->shows_recorded(document())) {
    const Ladder l = ladder_of(*bench_, document());
    const LadderRow* best = l.fastest(LadderRow::From::recorded);
    if (best && best->kind != "reference") {
      if (document().kernel != best->name) execute({SetKernel{best->name}, 0});
      return say(fmt::format("{}: the fastest of those that were recorded on this problem and are accurate enough, {}",
                             best->name, time_text(best->ms)));
    }
  }
  say("Choosing a kernel");
  const Document asked = document();
  bench_->planning().find_best(asked, [this, asked](const BestKernel& best) {
    // It is the best of that problem, not of one that was set meanwhile.
    const Document& now = document();
    if (!(now.problem == asked.problem) || now.accuracy != asked.accuracy || now.device != asked.device) return;
    if (now.kernel != best.kernel) execute({SetKernel{best.kernel}, 0});
    say(best.reason);
  });
}

void App::export_kernel(const std::string& path, bool pytorch) {
  const auto& then = activations[static_cast<size_t>(activation_)];
  const std::string what = activation_ ? fmt::format(" for this problem, then {},", then.title) : " for this problem";
  const auto r = bench_->runs().report();
  const bool wrong =
      r && r->final && r->status != "right" && r->status != "not-run" && !needs_run(r->document, document());
  const std::string warning = wrong ? fmt::format(". It is {} on this problem", r->status) : "";
  bench_->planning().want_export(document(), pytorch, then.name,
                                 [this, path, what, warning](const std::string& kernel, const std::string& text) {
                                   try {
                                     write_file_safely(path, text);
                                     say(fmt::format("{}{} written to {}{}", kernel, what, path, warning));
                                   } catch (const std::exception& e) {
                                     say(e.what());
                                     bench_->link().note(e.what(), LogLine::Kind::trouble);
                                   }
                                 });
}

bool App::can_copy_kernel() const {
  const auto& all = bench_->inventory().kernels();
  return std::any_of(all.begin(), all.end(), [&](const KernelEntry& k) { return k.name == document().kernel; });
}

void App::copy_kernel(const std::string& path) {
  const std::string own = file_of_kernel(document().kernel);
  const OpenedFile* file = bench_->files().of(document().kernel);
  const auto* files = bench_->sources().of(document().kernel);
  if (!file && (!files || files->front().file.empty()))
    return say("The kernel's text is not there yet: try again in a moment");
  std::error_code none;
  if (file && (path == own || std::filesystem::equivalent(path, own, none)))
    return say(path + " is the kernel's file itself: a copy needs another name");
  const bool typed = source_edit().is_on() && source_edit().path() == own;
  try {
    write_file_safely(path, typed ? source_edit().text() : file ? file->text : files->front().text);
  } catch (const std::exception& e) {
    say(e.what());
    return bench_->link().note(e.what(), LogLine::Kind::trouble);
  }
  trusted_.insert(path);  // a text that ran already
  source_edit().wanted = path;
  show_panel_ = "Source";
  open(path);
}

void App::write_kernel(const WriteFile& w) {
  std::string why = w.path + " was changed by another program, whose text is shown";
  try {
    if (bench_->files().rewrite(w.path, w.text, w.before)) return;
  } catch (const std::exception& e) {
    why = e.what();
    if (source_edit().not_written(w, why)) return bench_->link().note(why, LogLine::Kind::trouble);
  }
  // Nobody else has what was typed.
  ImGui::SetClipboardText(w.text.c_str());
  const std::string name = std::filesystem::path(w.path).filename().string(), kept = cache_file("typed-" + name);
  cache_text(kept, w.text);
  why += "; what was typed here is in the clipboard";
  if (!kept.empty()) why += " and in " + kept;
  say(why);
  bench_->link().note(why, LogLine::Kind::trouble);
}

void App::ask_activation() {
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("then:");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(theme_.em * 12);
  if (ImGui::BeginCombo("##then", activations[static_cast<size_t>(activation_)].title)) {
    for (int i = 0; i < static_cast<int>(std::size(activations)); i++)
      if (ImGui::Selectable(activations[static_cast<size_t>(i)].title, i == activation_)) activation_ = i;
    ImGui::EndCombo();
  }
  tooltip(theme_,
          "What follows the layer, fused into the kernel: each value goes through it before it is stored. Kernels that "
          "cannot have it say so in the log");
}

}  // namespace convscope::ui
