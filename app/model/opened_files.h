// Kernels from outside: files that a person opened and trusts. Each is given to the engine, and again whenever it
// changes on disk.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "app/engine/file_watch.h"
#include "app/model/engine_link.h"
#include "app/model/inventory.h"
#include "app/model/kernel_file.h"
#include "app/model/report.h"

namespace convscope {

// What the others are told of a file, by its path.
struct FileNews {
  std::function<void(const std::string& path)> text = {};    // it has a new one, which is given to the compiler next
  std::function<void(const std::string& path)> answer = {};  // the compiler has answered, whatever
  std::function<void(const std::string& path, bool again)> kernel = {};  // it is a kernel; again: of the same text
};

// What is done with a text gives way to the one that comes after it.
class OpenedFiles {
 public:
  OpenedFiles(EngineLink& link, Inventory& inventory) : link_(link), inventory_(inventory) {}
  void tell(FileNews news) { news_ = std::move(news); }

  // Gives the engine a kernel's file, which a person trusts, and from then on again whenever it changes on disk: the
  // kernel is called by its path. Errors: InputError when it cannot be read.
  void bring(const std::string& path, const std::string& device);
  // Called when a file that was brought has become a kernel, or not: then with the trouble in a line.
  void on_came(std::function<void(const std::string& path, const std::string& trouble)> came) {
    came_ = std::move(came);
  }
  // A file that was brought gets this text, and is compiled. False, and the file stays as it is, where it has another
  // text than `before`: somebody else has written it. Throws std::runtime_error where it cannot be written.
  bool rewrite(const std::string& path, const std::string& text, const std::string& before);

  const OpenedFile* of(const std::string& kernel) const;  // null: of no file that was brought
  // Of a text that its kernel's file does not have any more.
  bool is_of_before(const Report& r) const { return is_of_before(r.document.kernel, r.text); }
  bool is_of_before(const std::string& kernel, uint64_t text) const {
    const OpenedFile* file = of(kernel);
    return file && text > 0 && text < file->texts;
  }

 private:
  void took(const std::string& path, uint64_t serial, bool again, Answer answer);
  void took_kernels(const std::string& path, OpenedFile& file, bool again, const nlohmann::json& answer);
  void took_trouble(const std::string& path, OpenedFile& file, const Answer& answer);
  void read_again(const std::string& path);

  EngineLink& link_;
  Inventory& inventory_;
  FileNews news_;
  std::map<std::string, OpenedFile> files_;  // by path
  std::function<void(const std::string&, const std::string&)> came_;
  std::unique_ptr<FileWatch> watch_;  // last: its thread ends before the rest goes
};

}  // namespace convscope
