// What the window opens, writes and copies: sessions, inputs, kernels' files, pictures, values.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <imgui.h>
#include <limits>

#include "app/engine/kernel_file.h"
#include "app/ui/app.h"
#include "app/ui/panels/source_edit.h"
#include "kernels/base/text.h"
#include "kernels/problem/npy.h"
#include "kernels/runtime/registry.h"

namespace convscope::ui {

void App::open(const std::string& path) {
  namespace fs = std::filesystem;
  std::string ending = fs::path(path).extension().string();
  const bool last = path == last_session();  // no file of anybody's
  try {
    if (ending == ".npy" || ending == ".npz") {
      TensorSource s = parse_source("input", path);
      s.values = convert(read_array_file(path, "x", "input"), document().problem.dtype);
      execute({SetSource{Role::input, s}, 0});
      say("Input: " + fs::path(path).filename().string());
    } else if (ending == ".lesson") {
      open_lesson(path);
    } else if (ending == ".cu" || ending == ".py") {
      const std::string text = read_kernel_file(path);
      if (options_.trust || comes_with_the_program(path)) trusted_.insert(path);
      if (trusted_.contains(path))
        bring_kernel(path);
      else
        untrusted_ = path, untrusted_text_ = text;
    } else {
      SessionFile s = load_session(path);
      bench_->open_recording(s.recording);
      execute({ReplaceDocument{s.document, path}, 0});
      views_.set(s.view, true);
      session_path_ = last ? "" : path;
      is_recording_ = !last && s.recording;
      saved_ = s.document;
      session_unknown_ = s.unknown;
      // Who saved a part of the picture or an element of it wants to see that.
      if (!s.recording && !last && !(s.view == View{}))
        show_panel_ = s.view.selected ? "Explain" : "Maps", show_beside_ = "Maps";
      // Nothing has run that there were pictures of.
      if (s.recording && bench_->rests_on_recording(document())) show_panel_ = "Ladder", show_beside_ = "Compare";
      say(last ? "As it was at the last close" : "Opened " + fs::path(path).filename().string());
      open_kernels_file(s.document);
    }
    if (last) return;
    Settings kept = settings_;
    kept.remember(fs::absolute(path).string());
    set_settings(kept);
  } catch (const std::exception& e) {
    say(e.what());
    if (opens_first_) toasts_.back().until = std::numeric_limits<double>::infinity();
    bench_->link().note(e.what(), LogLine::Kind::trouble);
  }
}

void App::open_first(const std::string& path) {
  opens_first_ = true;
  open(path);
  opens_first_ = false;
}

// A session's or a lesson's kernel may be a file, which is no part of it.
void App::open_kernels_file(const Document& d) {
  if (const std::string file = file_of_kernel(d.kernel); names_file(file) && !bench_->files().of(file)) open(file);
}

void App::trust_file(bool yes) {
  const std::string path = std::exchange(untrusted_, "");
  if (!yes) return say("Not run: " + path);
  try {
    // What is trusted is what was shown.
    if (const std::string text = read_kernel_file(path); text != untrusted_text_) {
      untrusted_ = path, untrusted_text_ = text;
      return say("It has changed on disk since it was shown: this is what would run now");
    }
    trusted_.insert(path);
    bring_kernel(path);
  } catch (const InputError& e) {
    say(e.what());
  }
}

void App::bring_kernel(const std::string& path) {
  coming_kernel_ = path;
  say("Compiling " + path);
  bench_->files().bring(path, document().device);
}

// It has compiled, for the first time or again after it was changed; or not.
void App::kernel_came(const std::string& path, const std::string& trouble) {
  const bool first = coming_kernel_ == path;
  if (first) coming_kernel_.clear();
  const bool typed = source_edit().is_on() && source_edit().path() == path;  // said beside the text
  if (!trouble.empty()) {
    if (!typed) say(trouble);
    if (!first) return;
    source_edit().wanted.clear();
    // It is the kernel that is worked on, with its line marked, and is judged as soon as it compiles.
    show_panel_ = "Source";
    bench_->show_live(true);
    execute({SetKernel{path}, 0});
    return;
  }
  const bool chosen = file_of_kernel(document().kernel) == path;
  if (!first && !chosen) return;
  if (!typed) say((first ? "Compiled " : "Compiled again: ") + path);
  bench_->show_live(true);
  if (!chosen)
    execute({SetKernel{path}, 0});
  else if (bench_->runs().owes_a_run())
    bench_->run(document());
  else
    run_by_itself();
}

std::string App::title() const {
  const std::string session = std::filesystem::path(session_path_).filename().string();
  const std::string kernel = std::filesystem::path(document().kernel).filename().string();
  if (session.empty()) return kernel + " – convscope";
  return fmt::format("{}{} – {} – convscope", session, document() == saved_ ? "" : " •", kernel);
}

void App::save(bool as) {
  if (as || session_path_.empty() || is_recording_) return ask_path(PathFor::save);
  save_to(session_path_);
}

void App::save_to(const std::string& path) {
  try {
    save_session(path, {document(), views_.now(), session_unknown_, bench_->recorded().recording()});
    // Only now: where nothing could be written, the next save goes to where the last one went.
    session_path_ = path, is_recording_ = false;
    saved_ = document();
    say("Saved " + path);
    Settings kept = settings_;
    kept.remember(std::filesystem::absolute(path).string());
    set_settings(kept);
  } catch (const std::exception& e) {
    say(e.what());
  }
}

std::string App::last_session() const {
  if (options_.settings_file.empty()) return "";
  return (std::filesystem::path(options_.settings_file).parent_path() / "last.convscope").string();
}

void App::keep_last_session() const {
  if (last_session().empty() || !only_panel_.empty() || document() == Document{}) return;
  try {
    save_session(last_session(), {document(), views_.now(), session_unknown_, {}});
  } catch (const std::exception&) {
    // The window is closing: nobody would read it, and what was saved is where it was saved.
  }
}

void App::ask_path(PathFor what) {
  path_for_ = what;
  path_text_ = first_path(what, session_path_, is_recording_, document().kernel);
  if (what == PathFor::picture) picture_area_ = {};
  if (what == PathFor::copy) bench_->sources().want(document().kernel);
}

void App::take_path(PathFor what, const std::string& path) {
  switch (what) {
    case PathFor::open:
      return open(path);
    case PathFor::save:
      return save_to(path);
    case PathFor::picture:
      shot_ = {path};
      // Nothing is hovered in a picture, and no control has the keyboard's frame.
      ImGui::GetIO().AddMousePosEvent(-FLT_MAX, -FLT_MAX);
      ImGui::SetNavCursorVisible(false);
      return;
    case PathFor::pytorch:
      return export_kernel(path, true);
    case PathFor::cuda:
      return export_kernel(path, false);
    case PathFor::copy:
      return copy_kernel(path);
  }
}

void App::ask_picture(const PictureArea& area, const std::string& file) {
  ask_path(PathFor::picture);
  path_text_ = file;
  picture_area_ = area;
}

void App::after_drawing(const std::function<Picture()>& read) {
  if (!shot_ || shot_->frames-- > 0) return;
  std::string path = std::exchange(shot_, {})->path;
  try {
    Picture p = read();
    if (!picture_area_.empty()) {
      ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
      auto pixel = [](float v) { return static_cast<int>(std::lround(v)); };
      p = cropped(p, pixel(picture_area_.x0 * scale.x), pixel(picture_area_.y0 * scale.y),
                  pixel(picture_area_.x1 * scale.x), pixel(picture_area_.y1 * scale.y));
    }
    write_png(path, p);
    say("Picture saved to " + path);
  } catch (const std::exception& e) {
    say(e.what());
  }
}

// ---- the clipboard

void App::copy_window() {
  const Report* r = picture();
  if (!r) return;
  const Extent e = extent();
  const View v = fitted(views_.now(), e);
  auto within = [](double at, double limit) { return static_cast<int64_t>(std::clamp(at, 0.0, limit)); };
  const std::array<int64_t, 4> window{within(std::floor(v.row0), e.rows), within(std::ceil(v.row1), e.rows),
                                      within(std::floor(v.column0), e.columns),
                                      within(std::ceil(v.column1), e.columns)};
  const int64_t count = (window[1] - window[0]) * (window[3] - window[2]);
  if (count > Pictures::most_numbers)
    return say(
        fmt::format("The maps show {} elements, of which {} can be copied: zoom in first (+), or take all as "
                    ".npy with `convscope run … --save DIR`",
                    grouped(count), grouped(Pictures::most_numbers)));
  const Beside* other = beside_of(*bench_, document());
  const std::string head =
      other ? fmt::format("n,co,j,{},{},difference,difference_over_bound_of_both\n", r->kernel, other->with)
            : "n,co,j,output,reference,error,error_over_bound\n";
  const int64_t cout = r->document.problem.out_channels;
  bench_->pictures().fetch_numbers(
      other ? other->difference : r->key, window, [this, head, cout](const NumberBlock* n) {
        if (!n) return say("Not copied: this result is gone. Run it again (F5)");
        std::string csv = head;
        for (int64_t row = n->row0; row < n->row1; row++)
          for (int64_t column = n->column0; column < n->column1; column++) {
            const double* at = n->at(row, column);
            csv += fmt::format("{},{},{},{},{},{},{}\n", row / cout, row % cout, column, at[0], at[1], at[2], at[3]);
          }
        ImGui::SetClipboardText(csv.c_str());
        say(grouped((n->row1 - n->row0) * (n->column1 - n->column0)) + " elements copied as CSV");
      });
}

void App::copy_verdict() {
  auto r = bench_->report_of(document());
  if (!r) return;
  std::string text = fmt::format("{} on {}: {}\n", r->kernel, convscope::describe(r->document.problem), r->sentence);
  if (!r->recorded.empty()) text += "recorded: " + r->recorded + "\n";
  if (const Cause* c = bench_->causes().of(*r); c && !c->sentence.empty()) {
    text += (r->status == "right" ? "right here, but not in general: " : "cause: ") + c->sentence + "\n";
    if (!c->formula.empty() && c->formula != c->right_formula)
      text += fmt::format("it takes: {}\nright is: {}\n", c->formula, c->right_formula);
  }
  for (const auto& l : r->layers) text += fmt::format("{}: {}: {}\n", l.name, l.status, l.evidence);
  ImGui::SetClipboardText(text.c_str());
  say("Verdict copied");
}

}  // namespace convscope::ui
