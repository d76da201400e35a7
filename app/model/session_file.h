// NAME.convscope: a document and a view as JSON; one that holds a recording is packed.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/engine/recording.h"
#include "app/model/document.h"
#include "app/model/view.h"

namespace convscope {

struct SessionFile {
  Document document;
  View view;
  nlohmann::json unknown;  // fields of other versions and of other programs: kept when it is saved again
  std::shared_ptr<const Recording> recording = {};  // what was measured on a GPU; null for a plain session
};

// Reads a session; values in .npy files are read beside it (relative paths are relative to the session). So are those
// of kernels' files, where there is such a file: sessions of before have them as they were typed.
// Errors: InputError naming the file and what is wrong with it.
SessionFile load_session(const std::string& path);

// Files of values and of kernels are written as relative paths where they lie below the session's folder.
// Errors: std::runtime_error.
void save_session(const std::string& path, const SessionFile& s);

}  // namespace convscope
