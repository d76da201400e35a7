// The instructions of a kernel beside its source: which come from a line, and where warps were found.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "app/model/machine_code.h"
#include "app/model/profile.h"
#include "app/model/sampled_code.h"
#include "app/ui/panel.h"

namespace convscope::ui {

// What the pane and the source tell each other; lines from 0, −1 for none.
struct CodeLink {
  int source_hovered = -1;  // the pointer is on this line of the source
  int source_chosen = -1;   // it was clicked
  int code_hovered = -1;    // the line that the instruction under the pointer comes from
  int code_chosen = -1;     // that was clicked, in this frame
};

class MachineCodePane {
 public:
  // Fills what room there is. `file`: that the source shows. `reason`: of the samples that are shown, "" for all.
  void draw(Frame& f, const std::string& file, const Profile* profile, const std::string& reason, CodeLink& link);
  // Asks for the code where it is not known: samples are held against it, whether it is drawn or not.
  void ask(Frame& f);

 private:
  struct Heat {
    int64_t samples = 0;
    std::string about;
  };
  void head(Frame& f, const MachineCode& m, const CodeFunction& c);
  void rows(Frame& f, const CodeFunction& c, const std::string& file, CodeLink& link);
  void take_heat(const CodeFunction& c, const std::string& architecture, const Profile* profile,
                 const std::string& reason);
  // A line of the source that was chosen and has no instructions in the function that is shown: another one is shown
  // that has, if there is one.
  void follow_line(const MachineCode& m, const std::string& file, const CodeLink& link);
  std::string csv(const CodeFunction& c) const;

  std::optional<Document> asked_;  // for
  int asked_of_ = -1;              // which of the engines
  size_t function_ = 0;
  bool function_chosen_ = false;  // by a person, or with a line of the source
  std::string function_of_;       // whose it is: another kernel begins with one of its own
  std::string followed_line_;
  std::optional<bool> chosen_ptx_;  // by a person; else instructions, or PTX where those have no text
  bool ptx_ = false;
  std::map<int64_t, Heat> heat_;  // by offset
  int64_t most_ = 0, all_ = 0;
  std::string heat_key_, scrolled_for_;
  SampledCode sampled_;  // of the function that is shown
};

}  // namespace convscope::ui
