#include "app/cli/out_file.h"

#include "kernels/base/error.h"

namespace convscope {

OutFile::OutFile(std::string field, const std::filesystem::path& file)
    : field_(std::move(field)), file_(file), part_(file.string() + ".part"), out(part_, std::ios::binary) {
  if (!out) refuse();
}

OutFile::~OutFile() {
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void OutFile::finish() {
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(part_, file_, error);
  if (!out || error) refuse();
}

void OutFile::refuse() const { throw InputError(field_, file_.string(), "cannot be written"); }

}  // namespace convscope
