// Texts with an edit in them: compiled as the file is, and judged like any other kernel.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/edit_trials.h"
#include "kernels/verify/one_edit.h"

namespace convscope {

// While it lives kernels may be listed under its name.
struct Unlisted {
  std::string name;
  explicit Unlisted(std::string of) : name(std::move(of)) {}
  ~Unlisted();
  Unlisted(const Unlisted&) = delete;
};

class EditJudge {
 public:
  // p: the asked problem. All must outlive it.
  EditJudge(const KernelDefinition& kernel, const ConvProblem& p, Device& emulator, Activity& activity);

  std::string file() const { return file_; }
  std::string short_name() const;
  // A list of the file's own kernels, or of another form of it: the one that is this kernel; null: none.
  const KernelDefinition* own_of(const std::vector<const KernelDefinition*>& all, const std::string& file) const;
  // Whether it is judged right on all of them. Errors: Cancelled.
  bool right(const KernelDefinition& kernel, const std::vector<ConvProblem>& problems) {
    return wrong(kernel, problems).empty();
  }
  // What is wrong on the first of them that it is not judged right on; "": it is on all. Errors: Cancelled.
  std::string wrong(const KernelDefinition& kernel, const std::vector<ConvProblem>& problems);
  // Whether the asked problem is judged within some seconds.
  bool asked_is_short() const;
  // Whether a text is compiled and right on all of them, the wrong ones first.
  bool right_on(const std::string& text, const EditTrials& trials);
  // The text as an edit, where it is judged right on `problems` and the asked one; then on how many that are drawn it
  // is right too, like those of `trials`.
  std::optional<OneEdit> judged(std::string text, std::vector<ConvProblem> problems, const EditTrials& trials);

 private:
  // Null: it is not compiled, or has no such kernel.
  const KernelDefinition* brought(const std::string& name, const std::string& text);

  const KernelDefinition& kernel_;
  const ConvProblem p_;
  Device& emulator_;
  Activity& activity_;
  const std::string file_;
};

}  // namespace convscope
