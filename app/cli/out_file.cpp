#include "app/cli/out_file.h"

#include <stdexcept>
#include <utility>

#include "kernels/base/error.h"

namespace convscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string>& known_words() {
  static std::vector<std::string> words;
  return words;
}

// How many words name this file, which is there already: "--out=FILE" does as well.
int words_that_name(const fs::path& file) {
  int n = 0;
  for (const std::string& word : known_words()) {
    const size_t value = word.starts_with("--") ? word.find('=') + 1 : 0;  // 0 where there is none
    std::error_code error;
    n += fs::equivalent(word.substr(value), file, error) && !error;
  }
  return n;
}

}  // namespace

void OutFile::know(std::vector<std::string> words) { known_words() = std::move(words); }

OutFile::OutFile(std::string field, const std::filesystem::path& file, Disk disk)
    : field_(std::move(field)), file_(file.string()) {
  if (words_that_name(file) > 1) throw InputError(field_, file_, "is read by this command: take another name");
  try {
    out_.emplace(file_, disk);
  } catch (const std::runtime_error&) {
    refuse();
  }
}

void OutFile::write(std::string_view bytes) {
  try {
    out_->write(bytes);
  } catch (const std::runtime_error&) {
    refuse();
  }
}

void OutFile::finish() {
  try {
    out_->finish();
  } catch (const std::runtime_error&) {
    refuse();
  }
}

void OutFile::refuse() const { throw InputError(field_, file_, "cannot be written"); }

}  // namespace convscope
