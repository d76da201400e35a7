// The text of kernels and their machine code.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/model/engine_link.h"
#include "app/model/machine_code.h"
#include "app/model/report.h"

namespace convscope {

// Asked beside everything else. Machine code gives way to a new text of its kernel's file.
class Sources {
 public:
  explicit Sources(EngineLink& link) : link_(link) {}

  void want(const std::string& kernel);
  // The kernel's file, and the headers it includes; null until they have come.
  const std::vector<SourceText>* of(const std::string& kernel) const;

  void want_machine_code(const Document& document);  // of its kernel's launches; asked once for each document
  const MachineCode* machine_code() const { return machine_code_.get(); }  // the newest that came, or null
  bool machine_code_waiting() const { return machine_code_waiting_; }

  void stop_for_new_text();                   // the compiler would wait for machine code
  void go_on();                               // the text has been compiled: it may be asked for again
  void forget_file(const std::string& path);  // it has another text

 private:
  struct SourceWish {
    std::vector<SourceText> files;  // none until they have come
    bool waiting = false;
    int starts = -1;  // of the engine, when it was asked last: one that dies is asked once
  };

  EngineLink& link_;
  std::map<std::string, SourceWish> sources_;
  std::shared_ptr<const MachineCode> machine_code_;
  std::string machine_code_key_;
  bool machine_code_waiting_ = false, machine_code_cut_ = false;  // cut: a new text of its file is on its way
  uint64_t machine_code_id_ = 0;
};

}  // namespace convscope
