#include "app/cli/out_file.h"

#include <stdexcept>
#include <utility>

#include "app/cli/words.h"
#include "app/engine/kernel_file.h"
#include "kernels/base/error.h"

namespace convscope {

OutFile::OutFile(std::string field, const std::filesystem::path& file, Disk disk)
    : field_(std::move(field)), file_(file.string()) {
  for (const auto& read : files_to_read())
    if (std::error_code error; std::filesystem::equivalent(read, file, error) && !error)
      throw InputError(field_, file_, "is read by this command: take another name");
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

void write_into_kernel(const std::string& file, const std::string& before, const std::string& after) {
  if (read_kernel_file(file) != before)
    throw InputError("kernel", file, "has been changed meanwhile: nothing was written");
  try {
    write_file_safely(file, after);
  } catch (const std::runtime_error& e) {
    throw InputError("kernel", file, std::string("cannot be written: ") + e.what());
  }
}

}  // namespace convscope
